/*
 * since: a difference to a mark on page H, and the sums of it by a test's own
 * copy of the list.  Shared by the tests of the comparison and of the page.
 */
#ifndef TESTS_DIFFERENCE_RIG_H
#define TESTS_DIFFERENCE_RIG_H

#include "../src/pagek/panels/difference_page.h"
#include "../src/pagek/difference/difference.h"
#include "harness.h"
#include "naive.h"

static struct page_diff diff;

static inline void
setup_difference(void)
{
	setup_naive();
	diff = (struct page_diff){ 0 };
	page.medium = PAGE_SCREEN;
}

/* A picture of page K below, and of page H over it. */
static inline void
look(int cols, int rows)
{
	compose(cols, rows);
	ck_assert_int_eq(page_diff_compose(&diff, &page, &scene.view, cols,
	    rows, &pic), 0);
}

/* As often as it takes for all of it to be there. */
static inline struct difference *
settle(void)
{
	struct difference *s;
	int i;

	for (i = 0; i < 100; i++) {
		later();
		look(124, 24);
		s = difference_ensure(&page);
		if (i > 1 && s->step == COMPARE_IDLE && s->known)
			return s;
	}
	ck_abort_msg("no end of comparing");
	return NULL;
}

/* Those that were late are there now, and it is compared anew with them. */
static inline void
names_come(void)
{
	uint64_t no = scene.view.names_no + 1;

	scene_late = 0;
	for (unsigned i = 0; i < 4; i++) {
		later();
		scene.view.names_no = ++no;
		look(124, 24);
	}
}

struct sums {
	double came, came_bytes, went, went_bytes;
};

/* Of the places that the group means. */
static inline struct sums
naive_sums(bool (*in)(unsigned at, uint64_t of), uint64_t of)
{
	struct sums s = { 0 };
	unsigned at;

	for (at = 0; at < PLACES; at++) {
		if (!in(at, of) || is_still(marked_place, at))
			continue;
		if (place[at].live) {
			s.came++;
			s.came_bytes += (double)place[at].size;
		}
		if (marked_place[at].live) {
			s.went++;
			s.went_bytes += (double)marked_place[at].size;
		}
	}
	return s;
}

static inline bool
is_any(unsigned at, uint64_t of)
{
	(void)at;
	(void)of;
	return true;
}

static inline bool
has_caller(unsigned at, uint64_t of)
{
	return caller_of(at) == of;
}

static inline void
assert_sums(const struct difference_sum *is, struct sums want)
{
	ck_assert_double_eq(is->new.blocks, want.came);
	ck_assert_double_eq(is->new.bytes, want.came_bytes);
	ck_assert_double_eq(is->freed.blocks, want.went);
	ck_assert_double_eq(is->freed.bytes, want.went_bytes);
	ck_assert_uint_eq(is->new.listed, want.came);
	ck_assert_uint_eq(is->new.listed_bytes, want.came_bytes);
	ck_assert_uint_eq(is->freed.listed, want.went);
	ck_assert_uint_eq(is->freed.listed_bytes, want.went_bytes);
}

/* More than one portion of a comparison. */
#define MANY_BLOCKS 150000u

static inline uint64_t
many_addr(unsigned i)
{
	return 0x100000000 + i * 0x10ul;
}

static inline void
mark_many(void)
{
	for (unsigned i = 0; i < MANY_BLOCKS; i++)
		scene_alloc(&scene, many_addr(i), 32, TYPE_MALLOC, 1,
		    rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	mark();
}

#endif

/*
 * The difference since a mark under a filter: of what it means, at once, and
 * unsure where nobody can know.
 */

#include "../src/pagek/panels/difference_page.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/rows/rows.h"
#include "difference_rig.h"

/* --- filters -------------------------------------------------------------- */

static bool
is_large(unsigned at, const struct naive *n, int64_t age)
{
	(void)at;
	(void)age;
	return n->size >= 2048;
}

static bool
is_of_thread_2(unsigned at, const struct naive *n, int64_t age)
{
	(void)n;
	(void)age;
	return thread_of_place(at) == 2;
}

static bool
is_by_foo(unsigned at, const struct naive *n, int64_t age)
{
	(void)n;
	(void)age;
	return caller_of(at) == rec_site_caller(3);
}

static bool
is_old(unsigned at, const struct naive *n, int64_t age)
{
	(void)at;
	(void)n;
	return age >= 40000;
}

static bool
is_none(unsigned at, const struct naive *n, int64_t age)
{
	(void)at;
	(void)n;
	(void)age;
	return false;
}

static const struct {
	const char *filter;
	bool (*means)(unsigned at, const struct naive *, int64_t age);
} filters[] = {
	{ "size>=2k", is_large },
	{ "tid=2", is_of_thread_2 },
	{ "module=/usr/lib/libfoo.so", is_by_foo },
	{ "age>=40s", is_old },
	{ "size<0", is_none },
};

struct chosen {
	struct sums sums;
	uint64_t was, was_bytes, is, is_bytes;
};

/* What was there is judged as it was at the mark, what came as it is. */
static struct chosen
naive_chosen(bool (*means)(unsigned at, const struct naive *, int64_t age),
    bool (*in)(unsigned at, uint64_t of), uint64_t of)
{
	struct chosen c = { 0 };
	unsigned at;

	for (at = 0; at < PLACES; at++) {
		const struct naive *was = &marked_place[at], *is = &place[at];
		bool same = is_still(marked_place, at);
		bool let_was = was->live && in(at, of) &&
		    means(at, was, marked_ms - was->ms);
		bool let_is = same ? let_was : is->live && in(at, of) &&
		    means(at, is, scene.look.now_ms - is->ms);

		c.was += let_was;
		c.was_bytes += let_was ? was->size : 0;
		c.is += let_is;
		c.is_bytes += let_is ? is->size : 0;
		if (same)
			continue;
		c.sums.came += let_is;
		c.sums.came_bytes += let_is ? (double)is->size : 0;
		c.sums.went += let_was;
		c.sums.went_bytes += let_was ? (double)was->size : 0;
	}
	return c;
}

CASE("sums", .setup = setup_difference, .teardown = teardown);

LOOP_TEST(the_difference_is_of_what_the_filter_means, 0, BASE_NELEM(filters))
{
	const struct difference_group *g;
	struct page_chosen sums;
	struct filter_error e;
	struct difference *s;
	struct sums all;
	struct chosen want;
	unsigned round;
	size_t i;

	page_set_group(&page, page_group_kind_called("site"));
	live_on(300);
	scene.look.now_ms += 30000;
	live_on(300);
	mark();
	ck_assert_int_eq(page_choice_filter(&page, filters[_i].filter, &e), 0);
	for (round = 0; round < 20; round++) {
		live_on(1 + any(60));
		s = settle();
		want = naive_chosen(filters[_i].means, is_any, 0);
		assert_sums(&s->shown.total, want.sums);
		ck_assert_uint_eq(s->shown.was, want.was);
		ck_assert_uint_eq(s->shown.was_bytes, want.was_bytes);
		ck_assert_uint_eq(s->shown.blocks, want.is);
		ck_assert_uint_eq(s->shown.bytes, want.is_bytes);
		ck_assert_uint_eq(want.is, want.was +
		    (uint64_t)want.sums.came - (uint64_t)want.sums.went);
		difference_filter_sums(&page, s, &sums);
		all = naive_sums(is_any, 0);
		ck_assert(sums.known && sums.unsure == 0);
		ck_assert_uint_eq(sums.blocks, (uint64_t)(want.sums.came +
		    want.sums.went));
		ck_assert_uint_eq(sums.of, (uint64_t)(all.came + all.went));
		for (i = 0; (g = difference_group(s, i)) != NULL; i++)
			assert_sums(&g->sum, naive_chosen(filters[_i].means,
			    has_caller, g->caller).sums);
		ck_assert(shows(filters[_i].filter) && shows(", filtered"));
		scene.look.now_ms += 3000;
	}
}

/* Nothing of what another filter has found is shown under this one. */
TEST(another_filter_is_another_difference_at_once)
{
	struct filter_error e;
	struct difference *s;
	struct blk b;
	bool live;

	page_set_group(&page, page_group_kind_called("site"));
	mark();
	put(0, 1000);
	put(5, 3000);
	s = settle();
	ck_assert_double_eq(s->shown.total.new.blocks, 2);
	scene.look.now_ms += 30000;
	s = settle();
	ck_assert_uint_gt(s->points.n, 0);
	page_diff_toggle(&diff);
	settle();
	ck_assert_int_eq(page_choice_filter(&page, "size>2k", &e), 0);
	ck_assert(!difference_is_current(&page, s));
	compose(124, 24);
	s = difference_ensure(&page);
	ck_assert(!page_diff_block(&diff, &page, &b, &live) ||
	    b.size == 3000);
	settle();
	ck_assert_double_eq(s->shown.total.new.blocks, 1);
	ck_assert_double_eq(s->groups.row[0].net[0], 3000);
	ck_assert(page_diff_block(&diff, &page, &b, &live) &&
	    b.size == 3000);
	page_choice_none(&page);
	settle();
	ck_assert_double_eq(s->shown.total.new.blocks, 2);
	ck_assert(!shows("filter size") && !shows("filtered"));
}

TEST(names_on_their_way_are_unsure_and_judged_when_they_come)
{
	struct filter_error e;
	struct difference *s;

	scene_late = ~0u;
	put(0, 1000);
	put(2, 1000);
	later();
	mark();
	take(0);
	put(7, 500);
	ck_assert_int_eq(page_choice_filter(&page, "function=zmalloc", &e),
	    0);
	s = settle();
	ck_assert_uint_ge(s->shown.unsure, 2);
	ck_assert(shows(" unsure"));
	ck_assert_double_eq(s->shown.total.freed.blocks, 0);
	names_come();
	ck_assert_uint_eq(s->shown.unsure, 0);
	ck_assert_double_eq(s->shown.total.freed.blocks, 1);
	ck_assert_double_eq(s->shown.total.new.blocks, 0);
}

/* Block i of so many that all of this is done in portions. */

TEST(what_was_freed_before_it_was_copied_is_unsure_under_a_filter)
{
	struct page_chosen sums;
	struct filter_error e;
	struct difference *s;
	unsigned i;

	mark_many();
	for (i = MANY_BLOCKS - 100; i < MANY_BLOCKS; i++)
		scene_free(&scene, many_addr(i));
	ck_assert_int_eq(page_choice_filter(&page, "size=32", &e), 0);
	s = settle();
	difference_filter_sums(&page, s, &sums);
	ck_assert_uint_eq(sums.of, 100);
	ck_assert_uint_eq(sums.unsure, 100);
	ck_assert(shows("0 of 100 new and freed, 0 B, 100 unsure"));
}

TEST(groups_of_the_page_have_the_change_of_what_the_filter_means)
{
	struct filter_error e;

	page_set_group(&page, page_group_kind_called("site"));
	put(0, 1000);
	later();
	mark();
	put(5, 2048);
	for (unsigned i = 0; i < 2; i++) {
		later();
		compose(124, 24);
	}
	ck_assert(shows(" +2.0 KiB "));
	ck_assert_int_eq(page_choice_filter(&page, "size<1500", &e), 0);
	later();
	compose(124, 24);
	ck_assert(shows("SINCE MK") && !shows(" +2.0 KiB "));
	put(10, 512);
	for (unsigned i = 0; i < 2; i++) {
		later();
		compose(124, 24);
	}
	ck_assert(shows(" +512 B "));
	page_choice_none(&page);
	later();
	compose(124, 24);
	ck_assert(shows(" +2.5 KiB "));
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	later();
	compose(124, 24);
	ck_assert(shows("SINCE MK") && !shows(" +2.5 KiB "));
}

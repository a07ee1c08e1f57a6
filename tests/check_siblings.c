/* Which blocks are siblings, and their key. */
#include <stdlib.h>

#include "../src/nodes/nodes.h"
#include "../src/pagek/groups/siblings.h"
#include "harness.h"

static struct blk
allocated(int64_t ms, unsigned thread, uint64_t caller)
{
	return (struct blk){ .ms = ms, .thread = (uint16_t)thread,
		.caller = caller };
}

CASE("key");

LOOP_TEST(second_has_as_many_cycles_as_the_page, -3, 4)
{
	struct blk a = allocated(_i * INT64_C(1000), 0, 0);
	struct blk b = allocated(_i * INT64_C(1000) + 999, 0, 0);
	struct blk c = allocated(_i * INT64_C(1000) + 1000, 0, 0);

	ck_assert_int_eq(page_alloc_cycle(&b) - page_alloc_cycle(&a),
	    NODES_HZ - 1);
	ck_assert_int_eq(page_alloc_cycle(&c) - page_alloc_cycle(&a), NODES_HZ);
}

TEST(cycle_is_a_fifteenth_of_a_second_on_either_side_of_0)
{
	int64_t ms, began = -2000, last = 0;
	struct blk b;

	for (ms = -2000; ms < 2000; ms++) {
		b = allocated(ms, 0, 0);
		if (ms > -2000 && page_alloc_cycle(&b) != last) {
			ck_assert_int_eq(page_alloc_cycle(&b), last + 1);
			ck_assert(ms - began == 66 || ms - began == 67);
			began = ms;
		}
		last = page_alloc_cycle(&b);
	}
}

TEST(no_time_is_too_far_away)
{
	struct blk a = allocated(INT64_MAX, 0, 0), b = allocated(INT64_MIN, 0, 0);

	/* .807 s behind the second, and .192 s. */
	ck_assert_int_eq(page_alloc_cycle(&a), INT64_MAX / 1000 * NODES_HZ +
	    12);
	ck_assert_int_eq(page_alloc_cycle(&b), (INT64_MIN / 1000 - 1) *
	    NODES_HZ + 2);
}

TEST(siblings_share_cycle_thread_and_caller)
{
	struct blk a = allocated(100000, 3, 0x401000), b = a, c;

	b.addr = 0x1000;
	b.size = 77;
	b.type = TYPE_MALLOC;
	b.ms++;
	ck_assert(page_are_siblings(&a, &b));
	ck_assert_uint_eq(page_sibling_key(&a), page_sibling_key(&b));
	c = b;
	c.ms += 67;
	ck_assert(!page_are_siblings(&a, &c));
	c = b;
	c.thread++;
	ck_assert(!page_are_siblings(&a, &c));
	c = b;
	c.caller++;
	ck_assert(!page_are_siblings(&a, &c));
}

/* Threads and callers are small numbers side by side, cycles too. */
TEST(the_key_differs_for_other_blocks)
{
	enum { CYCLES = 24, THREADS = 24, CALLERS = 24 };
	static uint64_t seen[CYCLES * THREADS * CALLERS];
	size_t n = 0, i, j;
	struct blk b;
	int c, t, s;

	for (c = 0; c < CYCLES; c++)
		for (t = 0; t < THREADS; t++)
			for (s = 0; s < CALLERS; s++) {
				b = allocated(1000 + c * 67, (unsigned)t, s % 2 ?
				    rec_site_caller((uint32_t)s) :
				    0x401000u + (unsigned)s);
				seen[n++] = page_sibling_key(&b);
			}
	for (i = 0; i < n; i++) {
		ck_assert_uint_ne(seen[i], 0);
		for (j = i % 97 + 1; i + j < n; j += 97)
			ck_assert_uint_ne(seen[i], seen[i + j]);
	}
	for (i = 0; i + 1 < n; i++)
		for (j = i + 1; j < n && j < i + 2 * CALLERS; j++)
			ck_assert_uint_ne(seen[i], seen[j]);
}

/* --- who else was ------------------------------------------------------- */

#define BLOCKS 20000

static struct blklist *list;
static struct page_siblings found;

static void
setup_list(void)
{
	ck_assert_int_eq(blklist_new(&list, BLKLIST_INDEXED, 2 * BLOCKS), 0);
}

static void
teardown_list(void)
{
	blklist_free(list);
}

static void
put(uint64_t n, int64_t ms, unsigned thread, uint64_t caller)
{
	struct blk b = allocated(ms, thread, caller);

	b.addr = 0x10000 + n * 32;
	b.seq = n + 1;
	b.size = 24;
	b.flags = (uint8_t)REC_FLAGS(REC_ALLOC, 1);
	ck_assert_int_eq(blklist_put(list, &b), 0);
}

/* About as a busy program does it: times are out of order by a little. */
static void
fill(unsigned seed)
{
	int64_t ms = 1000000;
	uint64_t i;

	srand((unsigned)check_seed(seed));
	for (i = 0; i < BLOCKS; i++) {
		ms += rand() % 40 == 0;
		put(i, ms - rand() % 70, (unsigned)rand() % 3,
		    0x401000u + (unsigned)rand() % 3);
	}
}

static void
search(const struct blk *of, int64_t now_ms)
{
	int pictures = 0;

	page_siblings_begin(&found, of);
	do {
		page_siblings_next(&found, list, now_ms);
		ck_assert_int_lt(pictures++, 20);
	} while (!found.known);
}

/* One block after the other of all, in the order of age. */
static void
assert_found(const struct blk *of)
{
	struct blk row;
	size_t all = 0, at = 0;
	uint64_t i;

	for (i = 0; blklist_window(list, BLKLIST_BY_AGE, false, i, &row, 1) ==
	    1; i++) {
		if (row.seq == of->seq || row.thread != of->thread ||
		    row.caller != of->caller ||
		    page_alloc_cycle(&row) != page_alloc_cycle(of))
			continue;
		all++;
		if (at < found.shown.n &&
		    found.shown.blk[at].seq == row.seq)
			at++;
	}
	ck_assert_uint_eq(found.shown.all, all);
	ck_assert_uint_eq(found.shown.n, all < PAGE_SIBLINGS_MAX ? all :
	    PAGE_SIBLINGS_MAX);
	ck_assert_uint_eq(at, found.shown.n);
}

CASE("others", .setup = setup_list, .teardown = teardown_list);

LOOP_TEST(all_siblings_are_found, 0, 6)
{
	struct blk of;
	int i;

	fill((unsigned)_i);
	for (i = 0; i < 20; i++) {
		ck_assert_uint_eq(blklist_window(list, BLKLIST_BY_AGE, false,
		    (uint64_t)(rand() % BLOCKS), &of, 1), 1);
		search(&of, 0);
		assert_found(&of);
	}
}

TEST(those_of_a_block_that_was_freed_are_found_as_well)
{
	struct blk of;

	fill(7);
	ck_assert_uint_eq(blklist_window(list, BLKLIST_BY_AGE, false,
	    BLOCKS / 2, &of, 1), 1);
	ck_assert_int_eq(blklist_take(list, 0, of.addr), 0);
	search(&of, 0);
	ck_assert_uint_gt(found.shown.n, 0);
	assert_found(&of);
}

TEST(more_than_there_is_room_for_are_counted)
{
	struct blk of;
	uint64_t i;

	for (i = 0; i < 3 * PAGE_SIBLINGS_MAX; i++)
		put(i, 1000000, 1, 0x401000);
	ck_assert_uint_eq(blklist_window(list, BLKLIST_BY_AGE, false, 0, &of,
	    1), 1);
	search(&of, 0);
	ck_assert_uint_eq(found.shown.n, PAGE_SIBLINGS_MAX);
	ck_assert_uint_eq(found.shown.all, 3 * PAGE_SIBLINGS_MAX - 1);
}

TEST(search_goes_on_in_a_list_that_changes)
{
	struct blk of, other;
	uint64_t i, n, next = BLOCKS;

	for (i = 0; i < BLOCKS; i++)
		put(i, 1000000, 1, i % 1000 == 500 ? 0x77 : 0x401000);
	ck_assert_uint_eq(blklist_window(list, BLKLIST_BY_AGE, false, 10500,
	    &of, 1), 1);
	page_siblings_begin(&found, &of);
	for (i = 0; !found.known; i++) {
		page_siblings_next(&found, list, 0);
		ck_assert_uint_lt(i, 20);
		/* So that rows are elsewhere, from whichever end one counts. */
		for (n = 0; n < 990; n++) {
			blklist_window(list, BLKLIST_BY_AGE, false, n / 300,
			    &other, 1);
			if (other.caller == 0x401000)
				blklist_take(list, 0, other.addr);
			put(next++, 1000000, 1, 0x401000);
		}
	}
	ck_assert_uint_gt(i, 2);
	ck_assert_uint_eq(found.shown.n, 19);
}

TEST(blocks_that_come_late_are_found_after_a_while)
{
	struct blk of;

	put(0, 1000000, 1, 0x401000);
	ck_assert_uint_eq(blklist_window(list, BLKLIST_BY_AGE, false, 0, &of,
	    1), 1);
	search(&of, 1000010);
	ck_assert_uint_eq(found.shown.n, 0);
	put(1, 1000001, 1, 0x401000);
	page_siblings_next(&found, list, 1000100);
	ck_assert_uint_eq(found.shown.n, 0);
	page_siblings_next(&found, list, 1005000);
	ck_assert_uint_eq(found.shown.n, 1);
}

/*
 * The windowed list against the whole one that its rows come from.
 */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "blklist_both.h"

#define BLOCKS 300
#define HELD 40

static struct blklist *whole, *part;
static struct blk held[HELD];

/* Blocks in no order of address, some of them freed again. */
static void
setup(void)
{
	struct rec r;
	struct blklist_batch b = { .rec = &r, .n = 1, .seq = 1 };

	seed = check_seed(88172645463325252u);
	ck_assert_int_eq(blklist_new(&whole, BLKLIST_INDEXED, 1024), 0);
	ck_assert_int_eq(blklist_new(&part, BLKLIST_WINDOWED, 1024), 0);
	while (blklist_counts(whole)->aRecActive < BLOCKS) {
		r = (struct rec)ALLOC(0x1000 + 16 * below(4096));
		blklist_apply(whole, &b);
		b.seq++;
	}
}

static void
teardown(void)
{
	blklist_free(whole);
	blklist_free(part);
}

static size_t
show(enum blklist_order order, bool reverse, uint64_t offs, size_t n)
{
	char why[128];

	n = blklist_window(whole, order, reverse, offs, held, n);
	blklist_set_window(part, blklist_counts(whole), order, reverse, offs,
	    held, n);
	ck_assert_int_eq(blklist_check(part, why, sizeof why), 0);
	return n;
}

CASE("Core", .setup = setup, .teardown = teardown);

/* Rows of the window are those of the list, up to where the window ends. */
LOOP_TEST(rows_that_are_held_stand_where_the_list_has_them, 0, 8)
{
	enum blklist_order order = _i & 1 ? BLKLIST_BY_ADDRESS :
	    BLKLIST_BY_AGE;
	bool reverse = (_i & 2) != 0, other = (_i & 4) != 0;
	struct blk want[ROWS], have[ROWS];

	for (int round = 0; round < 2000; round++) {
		uint64_t at = below(BLOCKS + 10), offs = below(BLOCKS + 10);
		size_t n = show(order, other, at, below(HELD + 1));
		uint64_t from = other == reverse ? at : BLOCKS - at - n;
		size_t k = below(ROWS + 1), left, got;

		got = blklist_window(part, order, reverse, offs, have, k);
		if (n == 0 || offs < from || offs >= from + n) {
			ck_assert_uint_eq(got, 0);
			continue;
		}
		left = (size_t)(from + n - offs);
		ck_assert_uint_eq(got, k < left ? k : left);
		ck_assert_uint_eq(blklist_window(whole, order, reverse, offs,
		    want, got), got);
		same_rows(want, have, got, "window");
	}
}

TEST(rows_of_the_other_order_are_not_there)
{
	struct blk b;

	show(BLKLIST_BY_AGE, false, 0, HELD);
	ck_assert_uint_eq(blklist_window(part, BLKLIST_BY_ADDRESS, false, 0,
	    &b, 1), 0);
	ck_assert_int_eq(blklist_rank(part, BLKLIST_BY_ADDRESS, 0,
	    held[0].addr), -ENOENT);
}

LOOP_TEST(a_block_is_found_while_it_is_one_of_the_rows, 0, 2)
{
	bool reverse = _i != 0;
	size_t n = show(BLKLIST_BY_ADDRESS, reverse, 100, HELD);
	struct blk b, out;

	ck_assert_uint_eq(n, HELD);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(blklist_get(part, 0, held[i].addr, &b), 0);
		same_rows(&held[i], &b, 1, "get");
		ck_assert_int_eq(blklist_rank(part, BLKLIST_BY_ADDRESS, 0,
		    held[i].addr), blklist_rank(whole, BLKLIST_BY_ADDRESS, 0,
		    held[i].addr));
	}
	ck_assert_uint_eq(blklist_window(whole, BLKLIST_BY_ADDRESS, reverse,
	    99, &out, 1), 1);
	ck_assert_int_eq(blklist_get(part, 0, out.addr, &b), -ENOENT);
	ck_assert_int_eq(blklist_get(part, 1, held[0].addr, &b), -ENOENT);
	ck_assert_int_eq(blklist_rank(part, BLKLIST_BY_ADDRESS, 0, out.addr),
	    -ENOENT);
}

TEST(counters_are_those_of_the_whole_list)
{
	show(BLKLIST_BY_AGE, true, 7, 3);
	ck_assert_mem_eq(blklist_counts(part), blklist_counts(whole),
	    sizeof(struct blklist_counts));
}

TEST(it_is_not_written_to_but_as_a_whole)
{
	struct blk b;

	show(BLKLIST_BY_AGE, false, 0, HELD);
	ck_assert_int_eq(blklist_put(part, &held[0]), -ENOTSUP);
	ck_assert_int_eq(blklist_take(part, 0, held[0].addr), -ENOTSUP);
	ck_assert_uint_eq(blklist_after(part, true, 0, 0, &b, 1), 0);
	ck_assert_uint_eq(blklist_counts(part)->aRecActive, BLOCKS);
	blklist_clear(part);
	ck_assert_uint_eq(blklist_counts(part)->aRecActive, 0);
	ck_assert_uint_eq(blklist_window(part, BLKLIST_BY_AGE, false, 0, &b,
	    1), 0);
}

/* A node that counts wrong must not lead out of the window. */
TEST(more_rows_than_the_counters_say_are_cut)
{
	struct blklist_counts few = *blklist_counts(whole);
	struct blk out[HELD];

	few.aRecActive = 10;
	ck_assert_uint_eq(blklist_window(whole, BLKLIST_BY_AGE, false, 0,
	    held, HELD), HELD);
	blklist_set_window(part, &few, BLKLIST_BY_AGE, true, 4, held, HELD);
	ck_assert_uint_eq(blklist_window(part, BLKLIST_BY_AGE, true, 4, out,
	    HELD), 6);
	same_rows(held, out, 6, "cut");
	blklist_set_window(part, &few, BLKLIST_BY_AGE, true, UINT64_MAX, held,
	    HELD);
	ck_assert_uint_eq(blklist_window(part, BLKLIST_BY_AGE, true, 0, out,
	    HELD), 0);
}

/*
 * A list looked through in portions while it changes: walk.h says what is
 * passed.  Lists are changed at random between portions, in every order.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/pagek/blocks/list_walk.h"
#include "blklist_recs.h"
#include "harness.h"

#define BLOCKS 600
#define ADDRS 4096

static struct blklist *list;
static uint64_t seed;
static bool live[ADDRS];

static uint64_t
draw(uint64_t below)
{
	seed = check_seed(seed * UINT64_C(6364136223846793005) + 1442695040888963407);
	return (seed >> 33) % below;
}

static uint64_t
address(unsigned i)
{
	return 0x10000 + i * UINT64_C(0x40);
}

/* One record; the list itself is checked elsewhere. */
static void
apply_to(struct blklist *l, struct rec r)
{
	struct blklist_batch b = { .rec = &r, .n = 1, .seq = next_seq++,
		.near_ms = 1000 };

	blklist_apply(l, &b);
}

static void
apply(struct rec r)
{
	apply_to(list, r);
}

static void
allocate_one(void)
{
	unsigned i = (unsigned)draw(ADDRS);

	if (live[i])
		return;
	live[i] = true;
	apply(ALLOC(address(i)));
}

static void
free_one(bool *gone)
{
	unsigned i = (unsigned)draw(ADDRS);

	while (!live[i])
		i = (i + 1) % ADDRS;
	live[i] = false;
	gone[i] = true;
	apply(FREE(address(i)));
}

static void
setup(void)
{
	unsigned n;

	seed = check_seed(7);
	memset(live, 0, sizeof live);
	list = list_of(BLKLIST_INDEXED, ADDRS);
	for (n = 0; n < BLOCKS; n++)
		allocate_one();
}

static void
teardown(void)
{
	blklist_free(list);
}

static const struct {
	enum blklist_order order;
	bool reverse;
} orders[] = {
	{ BLKLIST_BY_AGE, false },
	{ BLKLIST_BY_AGE, true },
	{ BLKLIST_BY_ADDRESS, false },
	{ BLKLIST_BY_ADDRESS, true },
};

static unsigned
number(const struct blk *b)
{
	return (unsigned)((b->addr - 0x10000) / 0x40);
}

CASE("walk", .setup = setup, .teardown = teardown);

LOOP_TEST(every_block_that_stays_is_passed_and_none_twice, 0,
    (int)NELEM(orders))
{
	static bool seen[64 * ADDRS];	/* by sequence number */
	bool before[ADDRS], gone[ADDRS] = { false }, met[ADDRS] = { false };
	struct page_walk w;
	struct blk rows[16], last;
	size_t n, i, portions = 0;
	int k;

	memset(seen, 0, sizeof seen);
	memcpy(before, live, sizeof live);
	page_walk_begin(&w, list, orders[_i].order, orders[_i].reverse);
	while ((n = page_walk_next(&w, list, rows, NELEM(rows))) > 0) {
		for (i = 0; i < n; i++) {
			ck_assert_uint_lt(rows[i].seq, sizeof seen);
			ck_assert(!seen[rows[i].seq]);
			seen[rows[i].seq] = true;
			met[number(&rows[i])] = true;
		}
		last = rows[n - 1];
		/* Its own row too, the one that it is looked for by. */
		if (portions++ % 3 == 0) {
			live[number(&last)] = false;
			gone[number(&last)] = true;
			apply(FREE(last.addr));
		}
		/* A portion ends behind its last row, and not before. */
		for (k = 0; k < 12 && n == NELEM(rows); k++) {
			free_one(gone);
			allocate_one();
		}
		page_walk_resume(&w, list);
	}
	ck_assert_uint_gt(portions, 10);
	for (i = 0; i < ADDRS; i++)
		if (before[i] && !gone[i])
			ck_assert_msg(met[i], "block %zu was missed", i);
}

/* Blocks that came by and were freed since are not counted beside those in their place. */
TEST(oldest_first_a_list_that_stays_as_large_is_counted_as_large)
{
	bool gone[ADDRS] = { false };
	uint64_t size = blklist_counts(list)->aRecActive, passed = 0;
	struct page_walk w;
	struct blk rows[16];
	size_t n;
	int k;

	page_walk_begin(&w, list, BLKLIST_BY_AGE, false);
	while ((n = page_walk_next(&w, list, rows, NELEM(rows))) > 0) {
		passed += n;
		for (k = 0; k < 8; k++) {
			free_one(gone);
			while (blklist_counts(list)->aRecActive < size)
				allocate_one();
		}
		page_walk_resume(&w, list);
	}
	ck_assert_uint_eq(passed, size);
}

TEST(list_that_grows_faster_is_not_followed_for_ever)
{
	struct blklist *small = list_of(BLKLIST_INDEXED, 1 << 20);
	struct page_walk w;
	struct blk rows[64];
	uint64_t addr = 0x10000;
	size_t n, i, passed = 0;

	for (i = 0; i < 100; i++) {
		apply_to(small, ALLOC(addr += 0x40));
	}
	page_walk_begin(&w, small, BLKLIST_BY_AGE, false);
	while ((n = page_walk_next(&w, small, rows, 64)) > 0) {
		passed += n;
		for (i = 0; i < 70; i++) {
			apply_to(small, ALLOC(addr += 0x40));
		}
		page_walk_resume(&w, small);
		ck_assert_uint_lt(passed, 100000);
	}
	ck_assert_uint_ge(passed, 100);
	blklist_free(small);
}

LOOP_TEST(walk_goes_on_in_another_list_of_the_same_blocks, 0,
    (int)NELEM(orders))
{
	struct page_walk w;
	struct blk rows[100];
	struct blklist *other;
	size_t n, i, all = 0;

	ck_assert_int_eq(blklist_new(&other, BLKLIST_INDEXED, ADDRS), 0);
	page_walk_begin(&w, list, orders[_i].order, orders[_i].reverse);
	all += page_walk_next(&w, list, rows, 100);
	n = blklist_window(list, BLKLIST_BY_ADDRESS, false, 0, rows, 0);
	for (i = 0; i < BLOCKS; i += n) {
		n = blklist_window(list, BLKLIST_BY_ADDRESS, false, i, rows,
		    100);
		if (n == 0)
			break;
		for (size_t k = 0; k < n; k++)
			ck_assert_int_eq(blklist_put(other, &rows[k]), 0);
	}
	page_walk_resume(&w, other);
	while ((n = page_walk_next(&w, other, rows, 100)) > 0)
		all += n;
	ck_assert_uint_eq(all, blklist_counts(list)->aRecActive);
	blklist_free(other);
}

LOOP_TEST(portion_ends_before_the_walk_and_the_next_goes_on, 0,
    (int)NELEM(orders))
{
	uint64_t blocks = blklist_counts(list)->aRecActive;
	size_t n, all = 0, portions = 0, some;
	struct page_walk w;
	struct blk rows[100];

	page_walk_begin(&w, list, orders[_i].order, orders[_i].reverse);
	while (!w.over) {
		page_walk_portion(&w, list, 150);
		some = 0;
		while ((n = page_walk_next(&w, list, rows, 100)) > 0)
			some += n;
		ck_assert_uint_eq(some, blocks - all < 200 ? blocks - all : 200);
		all += some;
		portions++;
	}
	ck_assert_uint_eq(all, blocks);
	ck_assert_uint_gt(portions, 2);
	page_walk_begin(&w, list, orders[_i].order, orders[_i].reverse);
	page_walk_portion(&w, list, UINT64_MAX);
	for (all = 0; (n = page_walk_next(&w, list, rows, 100)) > 0;)
		all += n;
	ck_assert(w.over);
	ck_assert_uint_eq(all, blocks);
}

LOOP_TEST(empty_list_is_over_at_once, 0, (int)NELEM(orders))
{
	struct page_walk w;
	struct blk row;

	blklist_clear(list);
	page_walk_begin(&w, list, orders[_i].order, orders[_i].reverse);
	page_walk_resume(&w, list);
	ck_assert_uint_eq(page_walk_next(&w, list, &row, 1), 0);
	apply(ALLOC(address(1)));
	ck_assert_uint_eq(page_walk_next(&w, list, &row, 1), 0);
}

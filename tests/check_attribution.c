/*
 * Attribution of counts to blocks: pages that a block fills are its own,
 * others are shared, and counts are never divided.
 */
#include <string.h>

#include "../src/base/base.h"
#include "../src/refcnt/attribution.h"
#include "harness.h"

#define NELEM BASE_NELEM
#define PAGE ((uint64_t)REFCNT_PAGE)
#define BASE UINT64_C(0x7f3c00400000)

static struct refcnt_copy copy;
static struct blklist *list;
static uint64_t seq;

/* Page i of 8 was referenced 10 * i times, the last time at i seconds; counted since 100 ms. */
static void
begin(void)
{
	struct refcnt_page page[8];

	memset(page, 0, sizeof page);
	for (unsigned i = 0; i < NELEM(page); i++)
		page[i] = (struct refcnt_page){ .vaddr = BASE + i * PAGE,
			.counters = 2, .counter = { 7 * i, 3 * i },
			.reads = 10 * i, .since_ms = 100, .source = REFCNT_REFS,
			.last_ms = i > 0 ? (int64_t)i * 1000 : -1, .cnodeid = -1,
			.flags = REFCNT_VALID };
	ck_assert_int_eq(refcnt_copy_set_ranges(&copy, &(struct refcnt_range){
	    .vaddr = BASE, .len = NELEM(page) * PAGE, .source = REFCNT_REFS,
	    .since_ms = 100 }, 1), 0);
	ck_assert_int_eq(refcnt_copy_add(&copy, page, NELEM(page)), 0);
	copy.now_ms = 10000;
	seq = 0;
	ck_assert_int_eq(blklist_new(&list, BLKLIST_INDEXED, 4096), 0);
}

static void
end(void)
{
	refcnt_copy_fini(&copy);
	blklist_free(list);
}

static struct blk
put(unsigned layer, uint64_t addr, uint64_t size)
{
	struct blk b = { .addr = addr, .size = size, .seq = ++seq,
		.flags = (uint8_t)REC_FLAGS(REC_ALLOC, layer != 0 ?
		    REC_LAYER_API : 0) };

	ck_assert_int_eq(blklist_put(list, &b), 0);
	return b;
}

CASE("the copy", .setup = begin, .teardown = end);

TEST(pages_are_found_by_their_address)
{
	ck_assert_uint_eq(refcnt_copy_find(&copy, BASE), 0);
	ck_assert_uint_eq(refcnt_copy_find(&copy, BASE + 1), 1);
	ck_assert_uint_eq(refcnt_copy_find(&copy, BASE + 8 * PAGE), 8);
	ck_assert_uint_eq(copy.page[3].count, 30);
	ck_assert_uint_eq(refcnt_copy_counters(&copy, 3)[1], 9);
	ck_assert_ptr_nonnull(refcnt_copy_range(&copy, BASE + 8 * PAGE - 1));
	ck_assert_ptr_null(refcnt_copy_range(&copy, BASE + 8 * PAGE));
	ck_assert_ptr_null(refcnt_copy_range(&copy, BASE - 1));
}

/* Rows of a node may be in any order; what is out of order is not believed. */
TEST(pages_that_do_not_follow_are_left_out)
{
	struct refcnt_page page[2] = { { .vaddr = BASE, .counters = 2 },
		{ .vaddr = BASE + 100 * PAGE, .counters = 64 } };

	ck_assert_int_eq(refcnt_copy_add(&copy, page, 2), 0);
	ck_assert_uint_eq(copy.n, 9);
	ck_assert_uint_eq(copy.counters, 2);
}

/* The counters keep the last place of such a page. */
TEST(a_page_that_is_not_in_memory_has_no_place)
{
	struct refcnt_page page = { .vaddr = BASE + 100 * PAGE, .counters = 2,
		.paddr = 0x5000, .cnodeid = 1,
		.flags = REFCNT_VALID | REFCNT_NOT_PRESENT };

	ck_assert_int_eq(refcnt_copy_add(&copy, &page, 1), 0);
	ck_assert_int_eq(copy.page[8].home, -1);
	ck_assert_uint_eq(copy.page[8].paddr, 0);
	ck_assert((copy.page[8].flags & REFCNT_NO_PADDR) != 0);
}

/* --- blocks ------------------------------------------------------------------------ */

static const struct {
	uint64_t at, size;
	int64_t born_ms;
	bool counted;
	struct refcnt_touch t;
} blocks[] = {
	/* one page, filled: its own */
	{ 2 * PAGE, PAGE, 0, true, { .count = 20, .idle_ms = 8000,
	    .since_ms = 100, .exact = true } },
	/* pages 3 and 4 filled; page 5, which it shares, was referenced later */
	{ 2 * PAGE + 100, 3 * PAGE, 0, true, { .count = 70, .idle_ms = 6000,
	    .since_ms = 100, .exact = true, .edge = true } },
	/* page 6 filled, and an edge that was referenced before */
	{ 5 * PAGE + 100, 2 * PAGE - 100, 0, true, { .count = 60,
	    .idle_ms = 4000, .since_ms = 100, .exact = true } },
	/* parts of pages 2 and 3 */
	{ 3 * PAGE - 8, 16, 0, true, { .count = 50, .idle_ms = 7000,
	    .since_ms = 100 } },
	{ 4 * PAGE + 8, 100, 0, true, { .count = 40, .idle_ms = 6000,
	    .since_ms = 100 } },
	{ 4 * PAGE + 8, 0, 0, true, { .count = 40, .idle_ms = 6000,
	    .since_ms = 100 } },
	/* never referenced: since counting began, or since it was born */
	{ 0, PAGE, 0, true, { .count = 0, .idle_ms = 9900, .since_ms = 100,
	    .never = true, .exact = true } },
	{ 0, PAGE, 7000, true, { .count = 0, .idle_ms = 3000, .since_ms = 100,
	    .never = true, .exact = true } },
	/* the reference was before its birth: another block had the page */
	{ 2 * PAGE, PAGE, 7000, true, { .count = 20, .idle_ms = 3000,
	    .since_ms = 100, .never = true, .exact = true } },
	/* some pages are not counted */
	{ 7 * PAGE, 2 * PAGE, 0, false, { 0 } },
	{ 8 * PAGE - 8, 16, 0, false, { 0 } },
	{ 20 * PAGE, 16, 0, false, { 0 } },
	/* its own pages are, and its edge is not */
	{ 7 * PAGE, PAGE + 8, 0, true, { .count = 70, .idle_ms = 3000,
	    .since_ms = 100, .exact = true } },
};

CASE("blocks", .setup = begin, .teardown = end);

LOOP_TEST(a_block_has_the_counts_of_its_pages, 0, NELEM(blocks))
{
	const struct refcnt_touch *want = &blocks[_i].t;
	struct refcnt_touch t;
	bool counted = refcnt_touch_of(&copy, BASE + blocks[_i].at,
	    blocks[_i].size, blocks[_i].born_ms, &t);

	ck_assert_int_eq(counted, blocks[_i].counted);
	if (!counted)
		return;
	ck_assert_uint_eq(t.count, want->count);
	ck_assert_int_eq(t.idle_ms, want->idle_ms);
	ck_assert_int_eq(t.since_ms, want->since_ms);
	ck_assert_int_eq(t.never, want->never);
	ck_assert_int_eq(t.exact, want->exact);
	ck_assert_int_eq(t.edge, want->edge);
}

static const struct {
	uint64_t addr, size;
} edges[] = {
	{ UINT64_MAX - 15, 16 }, { UINT64_MAX - 15, 17 }, { UINT64_MAX, 0 },
	{ 0, 0 }, { 0, UINT64_MAX }, { BASE, UINT64_MAX },
};

LOOP_TEST(the_ends_of_the_address_space_are_not_counted, 0, NELEM(edges))
{
	struct refcnt_touch t;

	ck_assert(!refcnt_touch_of(&copy, edges[_i].addr, edges[_i].size, 0,
	    &t));
	refcnt_copy_fini(&copy);
	ck_assert(!refcnt_touch_of(&copy, edges[_i].addr, edges[_i].size, 0,
	    &t));
}

/* A range that was widened is as old as its youngest page. */
/* A page may be read all the time. */
TEST(a_block_is_not_counted_by_writes_alone)
{
	struct refcnt_touch t;

	copy.page[3].source = REFCNT_WP;
	ck_assert(!refcnt_touch_of(&copy, BASE + 3 * PAGE, PAGE, 0, &t));
	ck_assert(!refcnt_touch_of(&copy, BASE + 3 * PAGE - 8, 16, 0, &t));
	copy.page[3].source = 200;
	ck_assert(!refcnt_touch_of(&copy, BASE + 3 * PAGE, PAGE, 0, &t));
	copy.page[3].source = REFCNT_REFS;
	ck_assert(refcnt_touch_of(&copy, BASE + 3 * PAGE, PAGE, 0, &t));
}

TEST(a_page_is_counted_since_its_own_beginning)
{
	struct refcnt_page page[2] = {
		{ .vaddr = BASE, .counters = 1, .since_ms = 100, .last_ms = 2000,
		    .counter = { 3 }, .flags = REFCNT_VALID },
		{ .vaddr = BASE + PAGE, .counters = 1, .since_ms = 8000,
		    .last_ms = -1, .flags = REFCNT_VALID } };
	struct refcnt_touch t;

	refcnt_copy_fini(&copy);
	ck_assert_int_eq(refcnt_copy_set_ranges(&copy, &(struct refcnt_range){
	    .vaddr = BASE, .len = 2 * PAGE, .since_ms = 8000 }, 1), 0);
	ck_assert_int_eq(refcnt_copy_add(&copy, page, 2), 0);
	copy.now_ms = 10000;
	ck_assert(refcnt_touch_of(&copy, BASE, PAGE, 0, &t));
	ck_assert_int_eq(t.idle_ms, 8000);
	ck_assert(!t.never);
	/* Both: since the younger one. */
	ck_assert(refcnt_touch_of(&copy, BASE, 2 * PAGE, 0, &t));
	ck_assert_int_eq(t.since_ms, 8000);
}

/* --- how many share a page ------------------------------------------------------------- */

TEST(all_blocks_of_a_page_share_it)
{
	struct blk before = put(0, BASE - 32, 64), first, b, in_page, behind;

	for (unsigned i = 0; i < 100; i++)
		put(0, BASE + 64 + 32 * i, 16);
	in_page = put(0, BASE + PAGE - 16, 16);
	behind = put(0, BASE + PAGE, 16);
	put(1, BASE + 128, 16);
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, BASE, BASE + PAGE, &first),
	    102);
	ck_assert_uint_eq(first.addr, before.addr);
	ck_assert_uint_eq(refcnt_sharers(list, &in_page), 102);
	ck_assert_uint_eq(refcnt_sharers(list, &behind), 1);
	ck_assert_uint_eq(refcnt_blocks_on(list, 1, BASE, BASE + PAGE, &first),
	    1);
	ck_assert_uint_eq(first.addr, BASE + 128);
	b = put(0, BASE + 2 * PAGE, 10 * PAGE);
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, BASE + 5 * PAGE,
	    BASE + 6 * PAGE, &first), 1);
	ck_assert_uint_eq(first.addr, b.addr);
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, BASE + 12 * PAGE,
	    BASE + 13 * PAGE, NULL), 0);
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, 0, UINT64_MAX, NULL), 104);
}

static uint32_t
some(uint32_t below)
{
	static uint32_t seed = 7;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Any range of a list with two layers, against a look at all blocks. */
TEST(blocks_of_any_range_are_counted)
{
	static struct blk row[1024];
	uint64_t at = BASE;
	size_t n;

	for (unsigned i = 0; i < 400; i++)
		put(i % 5 == 0, at += 96 + some(9000), some(96));
	n = blklist_window(list, BLKLIST_BY_ADDRESS, false, 0, row, NELEM(row));
	for (unsigned i = 0; i < 4000; i++) {
		unsigned layer = i % 2;
		uint64_t from = BASE + some(2000000);
		uint64_t to = from + (i % 3 == 0 ? 64 : some(2000000));
		struct blk first = { .addr = 1 };
		uint64_t lowest = 1;
		size_t want = 0;

		for (size_t k = n; k-- > 0;)
			if (blk_layer(&row[k]) == layer && row[k].addr < to &&
			    row[k].addr + (row[k].size > 0 ? row[k].size : 1) >
			    from) {
				want++;
				lowest = row[k].addr;
			}
		ck_assert_uint_eq(refcnt_blocks_on(list, layer, from, to,
		    &first), want);
		ck_assert_uint_eq(first.addr, lowest);
	}
}

/* A pool of the program, of which the API has told blocks; and one that is not listed. */
TEST(blocks_in_a_block_do_not_share_its_pages_with_it)
{
	struct blk first;

	put(0, BASE, 4 * PAGE);
	for (unsigned i = 0; i < 40; i++) {
		put(1, BASE + PAGE + 100 * i, 100);
		put(1, BASE + 8 * PAGE + 100 * i, 100);
	}
	ck_assert_uint_eq(refcnt_blocks_there(list, BASE + PAGE, BASE + 2 * PAGE,
	    &first), 1);
	ck_assert_uint_eq(first.addr, BASE);
	ck_assert_uint_eq(refcnt_blocks_there(list, BASE + 8 * PAGE,
	    BASE + 9 * PAGE, &first), 40);
	ck_assert_uint_eq(first.addr, BASE + 8 * PAGE);
	ck_assert_uint_eq(refcnt_blocks_there(list, BASE + 5 * PAGE,
	    BASE + 8 * PAGE, NULL), 0);
}

TEST(an_empty_list_has_no_block_on_any_page)
{
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, 0, PAGE, NULL), 0);
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, BASE, BASE + PAGE, NULL), 0);
	put(1, 16, 16);
	ck_assert_uint_eq(refcnt_blocks_on(list, 0, 0, PAGE, NULL), 0);
	ck_assert_uint_eq(refcnt_blocks_on(list, 1, 0, PAGE, NULL), 1);
}

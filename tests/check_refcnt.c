/*
 * refcnt: the counters of pages, beside plain 64-bit ones; ranges, flags and heat.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/refcnt/refcnt.h"
#include "chance.h"
#include "harness.h"

#define NELEM BASE_NELEM
#define PAGE ((uint64_t)REFCNT_PAGE)
#define BASE UINT64_C(0x7f0000000000)

static struct refcnt *counts;

static void
start(void)
{
	ck_assert_int_eq(refcnt_new(&counts, 2, REFCNT_STANDARD), 0);
}

static void
stop(void)
{
	refcnt_free(counts);
	counts = NULL;
}

static struct refcnt_page
page_of(const struct refcnt *r, uint64_t vaddr, enum refcnt_plane plane)
{
	struct refcnt_page p;

	refcnt_page(r, vaddr, plane, &p);
	return p;
}

static size_t
pages(void)
{
	struct refcnt_sums s;

	refcnt_sums(counts, &s);
	return s.pages;
}

/* --- counters ------------------------------------------------------------------ */

CASE("counters", .setup = start, .teardown = stop, .seconds = 120);

#define RUNS 2000
#define CHUNK 50
#define RUN_PAGES 3

struct run {
	struct refcnt *bulk, *single;	/* given at once, and one by one */
	unsigned nodes, counters;
	uint32_t hw_max, slack, latency;
	uint64_t truth[RUN_PAGES][REFCNT_COUNTERS];
};

static void
begin_run(struct run *t)
{
	static const unsigned nodes[] = { 1, 2, 15, 16, 17, 63, 64, 65, 66, 128,
	    511, 512 };
	enum refcnt_memory memory = (enum refcnt_memory)any(2);
	bool high = any(4) == 0;

	memset(t, 0, sizeof *t);
	t->nodes = any(2) ? nodes[any(NELEM(nodes))] : 1 + any(512);
	t->counters = t->nodes <= 64 ? t->nodes : (t->nodes + 7) / 8;
	t->hw_max = t->nodes > 16 || memory == REFCNT_PREMIUM ? 0x7ffff : 0x7ff;
	t->slack = t->hw_max / 8;
	t->latency = any(3) ? any(2 * t->slack) : any(2) ? 0 : t->slack;
	ck_assert_int_eq(refcnt_new(&t->bulk, t->nodes, memory), 0);
	ck_assert_int_eq(refcnt_new(&t->single, t->nodes, memory), 0);
	refcnt_enable(t->bulk, BASE, RUN_PAGES * PAGE, REFCNT_IMPORT, 1);
	refcnt_enable(t->single, BASE, RUN_PAGES * PAGE, REFCNT_IMPORT, 1);
	for (unsigned i = 0; high && i < 2; i++) {
		uint64_t most = UINT32_MAX - any(2 * t->hw_max);
		unsigned node = any(t->nodes);

		refcnt_count(t->bulk, BASE, node, most, 0, 1);
		refcnt_count(t->single, BASE, node, most, 0, 1);
		t->truth[0][t->nodes <= 64 ? node : node / 8] += most;
	}
	refcnt_set_latency(t->bulk, t->latency);
	refcnt_set_latency(t->single, t->latency);
}

static void
add(struct run *t, unsigned page, unsigned node, unsigned reads, unsigned writes)
{
	uint64_t at = BASE + page * PAGE + any(REFCNT_PAGE);

	ck_assert(refcnt_count(t->bulk, at, node, reads, writes, 2));
	while (reads-- > 0) {
		refcnt_count(t->single, at, node, 1, 0, 2);
		t->truth[page][t->nodes <= 64 ? node : node / 8]++;
	}
	while (writes-- > 0) {
		refcnt_count(t->single, at, node, 0, 1, 2);
		t->truth[page][t->nodes <= 64 ? node : node / 8]++;
	}
}

static void
compare(const struct run *t, unsigned page)
{
	uint64_t at = BASE + page * PAGE;
	struct refcnt_page hw = page_of(t->bulk, at, REFCNT_HW);
	struct refcnt_page ext = page_of(t->bulk, at, REFCNT_EXT);
	struct refcnt_page wide = page_of(t->bulk, at, REFCNT_WIDE);
	struct refcnt_page one = page_of(t->single, at, REFCNT_HW);

	ck_assert_uint_eq(hw.counters, t->counters);
	ck_assert(memcmp(&hw, &one, sizeof hw) == 0);
	one = page_of(t->single, at, REFCNT_EXT);
	ck_assert(memcmp(&ext, &one, sizeof ext) == 0);
	for (unsigned i = 0; i < t->counters; i++) {
		uint64_t truth = t->truth[page][i];

		ck_assert_uint_eq(wide.counter[i], truth);
		ck_assert_uint_le(hw.counter[i], t->hw_max);
		ck_assert_uint_le(ext.counter[i], UINT32_MAX);
		ck_assert_uint_le(ext.counter[i] + hw.counter[i], truth);
		if (t->latency > t->slack || ext.counter[i] == UINT32_MAX)
			continue;
		ck_assert_uint_eq(ext.counter[i] + hw.counter[i], truth);
		ck_assert_uint_le(truth - ext.counter[i], t->hw_max);
	}
}

static void
random_run(int no)
{
	struct run t;
	unsigned bursts;

	chance_begin(no);
	begin_run(&t);
	bursts = 1 + any(40);
	for (unsigned k = 0; k < bursts; k++) {
		unsigned hot = any(3) ? any(t.nodes) : 0;

		add(&t, any(RUN_PAGES), hot, any(t.hw_max > 0x7ff && any(8) ?
		    500 : 3000), any(700));
		compare(&t, any(RUN_PAGES));
	}
	for (unsigned page = 0; page < RUN_PAGES; page++)
		compare(&t, page);
	refcnt_free(t.bulk);
	refcnt_free(t.single);
}

/* A run needs most of a counter's width, hence more references where it is 19 bits. */
LOOP_TEST(planes_agree_with_plain_counts, 0, RUNS / CHUNK)
{
	if (_i % check_stride(5) != 0)
		return;
	for (int i = 0; i < check_rounds(CHUNK); i++)
		random_run(_i * CHUNK + i);
}

static const struct {
	unsigned nodes;
	enum refcnt_memory memory;
	uint32_t hw_max;
	unsigned counters;
} widths[] = {
	{ 1, REFCNT_STANDARD, 0x7ff, 1 },
	{ 15, REFCNT_PREMIUM, 0x7ffff, 15 },
	{ 16, REFCNT_STANDARD, 0x7ff, 16 },
	{ 16, REFCNT_PREMIUM, 0x7ffff, 16 },
	{ 17, REFCNT_STANDARD, 0x7ffff, 17 },
	{ 64, REFCNT_STANDARD, 0x7ffff, 64 },
	{ 65, REFCNT_STANDARD, 0x7ffff, 9 },
	{ 512, REFCNT_PREMIUM, 0x7ffff, 64 },
};

LOOP_TEST(width_and_set_follow_the_nodes, 0, NELEM(widths))
{
	struct refcnt_sums s;
	struct refcnt_page p;
	struct refcnt *r;

	ck_assert_int_eq(refcnt_new(&r, widths[_i].nodes, widths[_i].memory), 0);
	refcnt_sums(r, &s);
	ck_assert_uint_eq(s.hw_max, widths[_i].hw_max);
	ck_assert_uint_eq(s.counters, widths[_i].counters);
	refcnt_enable(r, BASE, 1, REFCNT_IMPORT, 1);
	ck_assert(refcnt_count(r, BASE, widths[_i].nodes - 1, 5, 0, 2));
	ck_assert(!refcnt_count(r, BASE, widths[_i].nodes, 5, 0, 2));
	p = page_of(r, BASE, REFCNT_WIDE);
	ck_assert_uint_eq(p.counter[widths[_i].counters - 1], 5);
	ck_assert_uint_eq((p.flags & REFCNT_GROUPED) != 0, widths[_i].nodes > 64);
	refcnt_free(r);
}

TEST(no_nodes_and_too_many_are_refused)
{
	struct refcnt *none = NULL;

	ck_assert_int_eq(refcnt_new(&none, 0, REFCNT_STANDARD), -EINVAL);
	ck_assert_int_eq(refcnt_new(&none, 513, REFCNT_STANDARD), -EINVAL);
	ck_assert_ptr_null(none);
}

/* 0x7ff pegs only if the interrupt is late. */
TEST(a_pegged_counter_is_marked)
{
	struct refcnt_page p;

	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	refcnt_set_latency(counts, 1000);
	refcnt_count(counts, BASE, 1, 2046, 0, 2);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_HW).flags &
	    REFCNT_SATURATED, 0);
	refcnt_count(counts, BASE, 1, 10, 10, 2);
	p = page_of(counts, BASE, REFCNT_HW);
	ck_assert_uint_eq(p.counter[1], 0x7ff);
	ck_assert_uint_ne(p.flags & REFCNT_SATURATED, 0);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_WIDE).counter[1], 2066);
	refcnt_count(counts, BASE, 0, 1000, 0, 2);
	p = page_of(counts, BASE, REFCNT_HW);
	ck_assert_uint_eq(p.counter[1], 0);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_EXT).counter[1], 0x7ff);
}

/* The interrupt of one counter takes all of its set along, and no other set. */
TEST(an_interrupt_takes_the_whole_set)
{
	refcnt_enable(counts, BASE, 2 * PAGE, REFCNT_IMPORT, 1);
	refcnt_count(counts, BASE, 0, 7, 0, 2);
	refcnt_count(counts, BASE + PAGE, 0, 9, 0, 2);
	refcnt_count(counts, BASE, 1, 2047 - 255, 0, 2);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_EXT).counter[0], 7);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_HW).counter[0], 0);
	ck_assert_uint_eq(page_of(counts, BASE + PAGE, REFCNT_EXT).counter[0], 0);
	ck_assert_uint_eq(page_of(counts, BASE + PAGE, REFCNT_HW).counter[0], 9);
}

TEST(the_widest_counts_stay_at_their_maximum)
{
	struct refcnt_page p;

	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	refcnt_count(counts, BASE, 0, UINT64_MAX - 1, UINT64_MAX, 2);
	refcnt_period(counts, 3);
	p = page_of(counts, BASE, REFCNT_WIDE);
	ck_assert_uint_eq(p.counter[0], UINT64_MAX);
	ck_assert_uint_ne(p.flags & REFCNT_SATURATED, 0);
	ck_assert_uint_eq(p.heat, 9);
	p = page_of(counts, BASE, REFCNT_EXT);
	ck_assert_uint_eq(p.counter[0], UINT32_MAX);
	ck_assert_uint_ne(p.flags & REFCNT_SATURATED, 0);
}

/* --- ranges -------------------------------------------------------------------- */

CASE("ranges", .setup = start, .teardown = stop, .seconds = 60);

TEST(nothing_is_counted_until_somebody_asks)
{
	struct refcnt_page p;

	ck_assert(!refcnt_count(counts, BASE, 0, 1, 0, 1));
	ck_assert(!refcnt_counts(counts, BASE));
	ck_assert(!refcnt_page(counts, BASE + 5, REFCNT_WIDE, &p));
	ck_assert_uint_eq(p.flags & REFCNT_VALID, 0);
	ck_assert_uint_eq(p.vaddr, BASE);
	ck_assert_uint_eq(p.counter[0] + p.reads + p.heat, 0);
	ck_assert_uint_eq(refcnt_read(counts, 0, UINT64_MAX, REFCNT_HW, &p, 1), 0);
	ck_assert_uint_eq(refcnt_ranges(counts, NULL, 0), 0);
}

TEST(a_range_is_widened_to_whole_pages)
{
	struct refcnt_range range;

	ck_assert_int_eq(refcnt_enable(counts, BASE + 4095, 2, REFCNT_REFS, 1), 0);
	ck_assert_uint_eq(refcnt_ranges(counts, &range, 1), 1);
	ck_assert_uint_eq(range.vaddr, BASE);
	ck_assert_uint_eq(range.len, 2 * PAGE);
	ck_assert(!refcnt_counts(counts, BASE - 1));
	ck_assert(refcnt_counts(counts, BASE));
	ck_assert(refcnt_counts(counts, BASE + 2 * PAGE - 1));
	ck_assert(!refcnt_counts(counts, BASE + 2 * PAGE));
}

TEST(the_last_page_of_all_is_counted)
{
	struct refcnt_page p[2];
	struct refcnt_range range;

	ck_assert_int_eq(refcnt_enable(counts, UINT64_MAX, 1, REFCNT_IMPORT, 1),
	    0);
	ck_assert(refcnt_count(counts, UINT64_MAX - 7, 0, 3, 0, 2));
	ck_assert_uint_eq(refcnt_read(counts, 0, UINT64_MAX, REFCNT_WIDE, p, 2), 1);
	ck_assert_uint_eq(p[0].vaddr, UINT64_MAX - PAGE + 1);
	ck_assert_uint_eq(p[0].counter[0], 3);
	ck_assert_uint_eq(refcnt_ranges(counts, &range, 1), 1);
	ck_assert_int_eq(refcnt_disable(counts, UINT64_MAX - 1, 2), 0);
	ck_assert_uint_eq(pages(), 0);
}

static const struct {
	uint64_t vaddr, len;
	unsigned source;
	int err;
} refused[] = {
	{ BASE, 0, REFCNT_REFS, -EINVAL },
	{ UINT64_MAX, 2, REFCNT_REFS, -EINVAL },
	{ BASE, UINT64_MAX, REFCNT_REFS, -EINVAL },
	{ BASE, PAGE, REFCNT_SOURCES, -EINVAL },
	{ 0, UINT64_MAX, REFCNT_REFS, -E2BIG },
	{ BASE, (REFCNT_PAGES_MAX + UINT64_C(1)) * PAGE, REFCNT_REFS, -E2BIG },
	{ BASE, REFCNT_PAGES_MAX * PAGE - 1, REFCNT_REFS, -EBUSY },
	{ BASE + 64 * PAGE, REFCNT_PAGES_MAX * PAGE, REFCNT_REFS, -E2BIG },
	{ BASE - PAGE, PAGE + 1, REFCNT_GUARD, -EBUSY },
};

LOOP_TEST(a_bad_range_changes_nothing, 0, NELEM(refused))
{
	struct refcnt_range range;

	ck_assert_int_eq(refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1), 0);
	refcnt_count(counts, BASE, 1, 4, 0, 2);
	ck_assert_int_eq(refcnt_enable(counts, refused[_i].vaddr, refused[_i].len,
	    (enum refcnt_source)refused[_i].source, 3), refused[_i].err);
	ck_assert_uint_eq(refcnt_ranges(counts, &range, 1), 1);
	ck_assert_uint_eq(range.len, PAGE);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_WIDE).counter[1], 4);
}

TEST(a_range_within_another_goes_on_counting)
{
	struct refcnt_range range[2];

	refcnt_enable(counts, BASE + PAGE, PAGE, REFCNT_IMPORT, 1);
	refcnt_count(counts, BASE + PAGE, 0, 6, 0, 2);
	refcnt_enable(counts, BASE, 200 * PAGE, REFCNT_IMPORT, 5);
	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 6);
	ck_assert_uint_eq(pages(), 200);
	ck_assert_uint_eq(page_of(counts, BASE + PAGE, REFCNT_WIDE).counter[0], 6);
	ck_assert_int_eq(page_of(counts, BASE + PAGE, REFCNT_WIDE).since_ms, 1);
	ck_assert_int_eq(page_of(counts, BASE, REFCNT_WIDE).since_ms, 5);
	ck_assert_uint_eq(refcnt_ranges(counts, range, 2), 1);
	ck_assert_int_eq(range[0].since_ms, 5);
}

TEST(neighbours_of_two_sources_are_two_ranges)
{
	struct refcnt_range range[3];

	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	refcnt_enable(counts, BASE + PAGE, PAGE, REFCNT_REFS, 1);
	refcnt_enable(counts, BASE + 70 * PAGE, PAGE, REFCNT_REFS, 1);
	ck_assert_uint_eq(refcnt_ranges(counts, range, 3), 3);
	ck_assert_int_eq(range[0].source, REFCNT_IMPORT);
	ck_assert_int_eq(range[1].source, REFCNT_REFS);
	ck_assert_uint_eq(refcnt_ranges(counts, range, 1), 3);
}

/* The same pages in an array of bytes: 0, or 1 + references to it. */
#define MAP 700

static void
compare_map(const uint64_t map[MAP])
{
	static struct refcnt_page page[MAP];
	size_t n = 0, got;
	uint64_t at = 0;

	for (size_t i = 0; (got = refcnt_read(counts, at, UINT64_MAX,
	    REFCNT_WIDE, page, 1 + any(MAP))) > 0; ) {
		for (size_t k = 0; k < got; k++, i++, n++) {
			while (i < MAP && map[i] == 0)
				i++;
			ck_assert_uint_lt(i, MAP);
			ck_assert_uint_eq(page[k].vaddr, BASE + i * PAGE);
			ck_assert_uint_eq(page[k].counter[0], map[i] - 1);
		}
		at = page[got - 1].vaddr + PAGE;
	}
	at = any(MAP);
	ck_assert_uint_eq(n, pages());
	for (size_t i = 0; i < MAP; i++)
		n -= map[i] != 0;
	ck_assert_uint_eq(n, 0);
	ck_assert_uint_eq(refcnt_spans(counts), refcnt_ranges(counts, NULL, 0));
	for (size_t i = 0; i < MAP; i++)
		n += i >= at && map[i] != 0;
	ck_assert_uint_eq(refcnt_counted(counts, BASE + at * PAGE + 7,
	    (MAP - at) * PAGE - 7), n);
}

LOOP_TEST(ranges_are_those_of_a_plain_map, 0, 20)
{
	uint64_t map[MAP] = { 0 };

	chance_begin(_i);
	for (unsigned step = 0; step < 200; step++) {
		unsigned from = any(MAP), len = 1 + any(MAP - from);
		unsigned what = any(4);

		if (any(2))
			len = len < 8 ? len : 8;
		if (what == 0)
			refcnt_disable(counts, BASE + from * PAGE, len * PAGE);
		if (what == 1)
			ck_assert_int_eq(refcnt_enable(counts, BASE + from * PAGE,
			    len * PAGE, REFCNT_IMPORT, 1), 0);
		for (unsigned i = from; i < from + len; i++) {
			if (what == 0)
				map[i] = 0;
			if (what == 1 && map[i] == 0)
				map[i] = 1;
			if (what > 1)
				map[i] += refcnt_count(counts, BASE + i * PAGE, 0,
				    i, 1, 1) ? i + 1 : 0;
		}
		compare_map(map);
	}
}

/* --- flags, places and heat ---------------------------------------------------- */

CASE("pages", .setup = start, .teardown = stop);

TEST(a_source_without_nodes_counts_in_the_first_counter)
{
	struct refcnt_page p;

	refcnt_enable(counts, BASE, PAGE, REFCNT_REFS, 1);
	ck_assert(refcnt_count(counts, BASE, 1, 1, 0, 2));
	p = page_of(counts, BASE, REFCNT_WIDE);
	ck_assert_uint_eq(p.counter[0], 1);
	ck_assert_uint_eq(p.counter[1], 0);
	ck_assert_uint_eq(p.flags, REFCNT_VALID | REFCNT_SAMPLED |
	    REFCNT_NO_PADDR | REFCNT_NO_NODE);
	ck_assert_int_eq(p.last_ms, 2);
}

TEST(exact_references_are_not_sampled)
{
	struct refcnt_page p;

	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	p = page_of(counts, BASE, REFCNT_WIDE);
	ck_assert_uint_eq(p.flags, REFCNT_VALID | REFCNT_NO_PADDR);
	ck_assert_int_eq(p.last_ms, -1);
	refcnt_count(counts, BASE, 1, 0, 0, 2);
	ck_assert_int_eq(page_of(counts, BASE, REFCNT_WIDE).last_ms, -1);
}

TEST(a_page_in_another_frame_has_moved)
{
	struct refcnt_page p;

	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	refcnt_place(counts, BASE, 0x5000, PAGE, 0, 0);
	refcnt_place(counts, BASE, 0x5000, PAGE, 0, REFCNT_NOT_PRESENT);
	p = page_of(counts, BASE, REFCNT_EXT);
	ck_assert_uint_eq(p.flags, REFCNT_VALID | REFCNT_NOT_PRESENT);
	ck_assert_uint_eq(p.paddr, 0x5000);
	refcnt_place(counts, BASE, 0x5000, PAGE, 0, 0);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_EXT).flags, REFCNT_VALID);
	refcnt_place(counts, BASE, 0x9000, UINT64_C(2) << 20, 0, REFCNT_VALID);
	p = page_of(counts, BASE, REFCNT_EXT);
	ck_assert_uint_eq(p.flags, REFCNT_VALID | REFCNT_MOVED);
	ck_assert_uint_eq(p.page_size, UINT64_C(2) << 20);
}

TEST(a_page_on_another_node_has_moved_even_without_a_frame)
{
	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	refcnt_place(counts, BASE, 0x1234, PAGE, 0, REFCNT_NO_PADDR);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_EXT).paddr, 0);
	refcnt_place(counts, BASE, 0, PAGE, 1, REFCNT_NO_PADDR);
	refcnt_place(counts, BASE, 0, PAGE, 1, REFCNT_NO_PADDR);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_EXT).flags, REFCNT_VALID |
	    REFCNT_NO_PADDR | REFCNT_MOVED);
}

TEST(coarse_counts_stay_coarse)
{
	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	refcnt_coarse(counts, BASE + 9);
	refcnt_place(counts, BASE, 0x1000, PAGE, 0, 0);
	ck_assert_uint_ne(page_of(counts, BASE, REFCNT_EXT).flags & REFCNT_COARSE,
	    0);
	refcnt_disable(counts, BASE, 1);
	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 2);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_EXT).flags & REFCNT_COARSE,
	    0);
}

TEST(heat_is_in_proportion_to_the_hottest_page_of_a_source)
{
	refcnt_enable(counts, BASE, 4 * PAGE, REFCNT_IMPORT, 1);
	refcnt_enable(counts, BASE + 4 * PAGE, PAGE, REFCNT_REFS, 1);
	refcnt_count(counts, BASE, 0, 900, 100, 2);
	refcnt_count(counts, BASE + PAGE, 0, 500, 0, 2);
	refcnt_count(counts, BASE + 2 * PAGE, 1, 1, 0, 2);
	refcnt_count(counts, BASE + 4 * PAGE, 0, 1, 0, 2);
	refcnt_period(counts, 1000);
	refcnt_count(counts, BASE + PAGE, 0, 1, 0, 2);
	refcnt_period(counts, 2000);
	ck_assert_uint_eq(page_of(counts, BASE, REFCNT_HW).heat, 0x90);
	ck_assert_uint_eq(page_of(counts, BASE + PAGE, REFCNT_HW).heat, 0x59);
	ck_assert_uint_eq(page_of(counts, BASE + 2 * PAGE, REFCNT_HW).heat, 0x10);
	ck_assert_uint_eq(page_of(counts, BASE + 3 * PAGE, REFCNT_HW).heat, 0);
	ck_assert_uint_eq(page_of(counts, BASE + 4 * PAGE, REFCNT_HW).heat, 0x90);
	ck_assert_uint_eq(refcnt_heat(0x59, 0), 9);
	ck_assert_uint_eq(refcnt_heat(0x59, 1), 5);
}

/* --- threads ------------------------------------------------------------------- */

CASE("threads", .setup = start, .teardown = stop, .seconds = 60);

#define THREAD_ROUNDS 20000

static atomic_bool counted;

static void *
count_all(void *arg)
{
	(void)arg;
	for (int i = 0; i < THREAD_ROUNDS; i++) {
		refcnt_count(counts, BASE + (uint64_t)(i % 64) * PAGE, 0, 100, 0, i);
		refcnt_count(counts, BASE + (uint64_t)(i % 64) * PAGE, 1, 1, 0, i);
		if (i % 100 == 0)
			refcnt_period(counts, i);
	}
	atomic_store(&counted, true);
	return NULL;
}

/* A set is never seen half flushed: nothing of it is in neither plane or in both. */
TEST(readers_see_whole_sets_while_a_worker_counts)
{
	struct refcnt_page page[64];
	pthread_t thread;
	bool last = false;

	atomic_store(&counted, false);
	refcnt_enable(counts, BASE, 64 * PAGE, REFCNT_IMPORT, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, count_all, NULL), 0);
	while (!last) {
		last = atomic_load(&counted);
		ck_assert_uint_eq(refcnt_read(counts, BASE, BASE + 64 * PAGE,
		    REFCNT_WIDE, page, 64), 64);
		for (size_t i = 0; i < 64; i++)
			ck_assert_uint_eq(page[i].counter[0] +
			    page[i].counter[1], page[i].reads);
		refcnt_enable(counts, BASE + 64 * PAGE, PAGE, REFCNT_REFS, 1);
		refcnt_disable(counts, BASE + 64 * PAGE, PAGE);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(page[0].counter[1], (THREAD_ROUNDS + 63) / 64);
}

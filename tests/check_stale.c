/* Results of `pagek stale`: old blocks whose pages were not referenced. */
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/commands/stale/stale.h"
#include "harness.h"
#include "scene.h"

#define NELEM BASE_NELEM
#define PAGE ((uint64_t)REFCNT_PAGE)
#define BASE UINT64_C(0x7f3c00400000)
#define NOW 400000000
#define OLD_MS 600000

static struct refcnt_copy copy;
static struct stale_found found;
static const struct stale_since since_counting = { .counting = true };

/* Pages 0 to 15 are counted; odd ones were referenced 5 s ago. */
static void
begin(void)
{
	struct refcnt_page counted[16];

	memset(counted, 0, sizeof counted);
	for (unsigned i = 0; i < NELEM(counted); i++)
		counted[i] = (struct refcnt_page){ .vaddr = BASE + i * PAGE,
			.counters = 1, .counter = { i % 2 * 3 },
			.last_ms = i % 2 != 0 ? NOW - 5000 : -1, .since_ms =
			NOW - 60000, .cnodeid = -1, .source = REFCNT_REFS,
			.flags = REFCNT_VALID };
	memset(&copy, 0, sizeof copy);
	ck_assert_int_eq(refcnt_copy_set_ranges(&copy, &(struct refcnt_range){
	    .vaddr = BASE, .len = NELEM(counted) * PAGE, .source = REFCNT_REFS,
	    .since_ms = NOW - 60000 }, 1), 0);
	ck_assert_int_eq(refcnt_copy_add(&copy, counted, NELEM(counted)), 0);
	copy.now_ms = NOW;
	copy.period_ms = 1000;
	scene_target(&scene, 0);
	scene.view.refcnt = &copy;
}

static void
end(void)
{
	scene.view.refcnt = NULL;
	refcnt_copy_fini(&copy);
	scene_fini(&scene);
}

static void
put(uint64_t at, uint64_t size, bool old)
{
	scene_alloc(&scene, BASE + at, size, TYPE_MALLOC, 1, 0, old ?
	    NOW - OLD_MS : NOW - 70000);
}

static void
find(const struct stale_since *since)
{
	scene_refresh(&scene);
	stale_find(&found, &scene.view, NULL, since, OLD_MS);
}

CASE("stale", .setup = begin, .teardown = end);

TEST(a_block_that_fills_pages_is_judged_by_these)
{
	put(0, PAGE, true);			/* not referenced */
	put(1 * PAGE, PAGE, true);		/* referenced */
	put(2 * PAGE - 16, PAGE + 32, true);	/* fills 2; 1 and 3 were referenced */
	put(4 * PAGE, 2 * PAGE, true);		/* 5 was referenced */
	put(6 * PAGE, PAGE, false);		/* young */
	find(&since_counting);
	ck_assert_uint_eq(found.all.old, 4);
	ck_assert_uint_eq(found.all.stale, 2);
	ck_assert_uint_eq(found.exact.old, 4);
	ck_assert_uint_eq(found.exact.stale, 2);
	ck_assert_uint_eq(found.edges, 1);
	ck_assert_uint_eq(found.stale_bytes, 2 * PAGE + 32);
	ck_assert_int_eq(found.since_ms, NOW - 60000);
}

TEST(blocks_that_share_a_page_are_judged_together)
{
	for (unsigned i = 0; i < 32; i++)
		put(i * 128, 100, true);
	for (unsigned i = 0; i < 32; i++)
		put(PAGE + i * 128, 100, true);
	/* A young one: the page is none whose blocks are all old. */
	put(2 * PAGE, 100, true);
	put(2 * PAGE + 128, 100, false);
	find(&since_counting);
	ck_assert_uint_eq(found.shared.old, 65);
	ck_assert_uint_eq(found.shared.stale, 33);
	ck_assert_uint_eq(found.pages, 3);
	ck_assert_uint_eq(found.stale_pages, 1);
	ck_assert_uint_eq(found.page_blocks, 66);
}

TEST(a_block_over_a_border_needs_both_pages)
{
	put(PAGE - 50, 100, true);		/* 0 and 1 */
	put(14 * PAGE + 10, 100, true);
	find(&since_counting);
	ck_assert_uint_eq(found.shared.stale, 1);
	ck_assert_uint_eq(found.pages, 3);
}

TEST(what_is_not_counted_is_not_stale)
{
	put(100 * PAGE, 100, true);
	put(15 * PAGE, 2 * PAGE, true);
	find(&since_counting);
	ck_assert_uint_eq(found.uncounted, 2);
	ck_assert_uint_eq(found.all.stale, 0);
	ck_assert_uint_eq(found.pages, 0);
}

static const struct {
	int64_t idle_ms;
	uint64_t stale;
} idles[] = { { 5000, 2 }, { 5001, 1 }, { 60000, 1 }, { 60001, 0 } };

LOOP_TEST(a_time_is_that_since_the_last_reference, 0, NELEM(idles))
{
	struct stale_since since = { .idle_ms = idles[_i].idle_ms };

	put(0, PAGE, true);
	put(PAGE, PAGE, true);
	find(&since);
	ck_assert_uint_eq(found.all.stale, idles[_i].stale);
	ck_assert_int_eq(found.since_ms, NOW - idles[_i].idle_ms);
}

/* The list and the sums have the same blocks. */
static const struct stale_since moments[] = { { .counting = true },
	{ .idle_ms = 5000 }, { .idle_ms = 5500 }, { .idle_ms = 60000 } };

LOOP_TEST(the_filter_lets_these_blocks_through, 0, NELEM(moments))
{
	struct page_row_filter *filter;
	struct filter_error e;
	char text[FILTER_MAX];
	uint64_t n = 0;

	for (unsigned i = 0; i < 100; i++)
		put(i * 700, 16 + i * 6, i % 7 != 0);
	find(&moments[_i]);
	stale_filter(&moments[_i], OLD_MS, "size>0 | size=0", text, sizeof text);
	ck_assert_msg(page_row_filter_new(&filter, text, &e) == 0, "%s: %s", text,
	    e.why);
	page_row_filter_begin(filter, &scene.view);
	for (uint64_t at = 0; at < blklist_counts(scene.list)->aRecActive; at++) {
		struct blk b;

		ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_AGE,
		    false, at, &b, 1), 1);
		n += page_row_filter_matches(filter, &b);
	}
	page_row_filter_free(filter);
	ck_assert_uint_eq(n, found.all.stale);
}

/* Counts that were there already belong to somebody else, and go on afterwards. */
TEST(pages_that_are_counted_are_not_asked_for)
{
	struct refcnt_switch wish = { .at = 0 };
	uint64_t pages;

	put(14 * PAGE, 4 * PAGE, true);		/* 14 and 15 are counted */
	put(-(2 * PAGE), 2 * PAGE, true);	/* joined with it */
	put(15 * PAGE - 8, 16, true);		/* counted, both */
	put(40 * PAGE, PAGE, false);
	scene_refresh(&scene);
	ck_assert_int_eq(refcnt_switch_blocks(&wish, &scene.view, OLD_MS, &pages),
	    0);
	ck_assert_uint_eq(pages, 4);
	ck_assert_uint_eq(wish.ranges.n, 2);
	ck_assert_uint_eq(wish.ranges.range[0].vaddr, BASE - 2 * PAGE);
	ck_assert_uint_eq(wish.ranges.range[0].len, 2 * PAGE);
	ck_assert_uint_eq(wish.ranges.range[1].vaddr, BASE + 16 * PAGE);
	ck_assert_uint_eq(wish.ranges.range[1].len, 2 * PAGE);
	refcnt_switch_fini(&wish);
}

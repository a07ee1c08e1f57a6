/*
 * Drains: of the blocks that were there at the mark those that still are,
 * whatever else the page is asked for.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/rows/frozen_order.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "naive.h"

/* --- draining ------------------------------------------------------------ */

static struct naive drained_place[PLACES];

/* Each row is one of then that is still there, once, by age. */
static void
assert_drained(bool reverse)
{
	struct blk b[PLACES + 1];
	size_t n, i;

	n = page_rows_blocks(&page, &scene.view, 0, b, PLACES + 1);
	ck_assert_uint_eq(n, still_in(drained_place));
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), n);
	for (i = 0; i < n; i++) {
		ck_assert(is_still(drained_place,
		    (unsigned)((b[i].addr - addr_of(0)) / 0x100)));
		if (i > 0)
			ck_assert((b[i].seq > b[i - 1].seq) != reverse);
	}
}

CASE("drain", .setup = setup_naive, .teardown = teardown);

LOOP_TEST(drain_lists_what_was_there_and_still_is, 0, 2)
{
	unsigned i;

	page_set_order(&page, BLKLIST_BY_ADDRESS, _i != 0);
	live_on(800);
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	memcpy(drained_place, place, sizeof place);
	for (i = 0; i < 500; i++) {
		live_on(1 + any(5));
		assert_drained(page_list_reverse(&page.opts));
	}
	ck_assert_uint_lt(still_in(drained_place), live_in(drained_place));
	page_drain_end(&page);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view),
	    live_in(place));
	ck_assert_int_eq(page_list_order(&page.opts), BLKLIST_BY_ADDRESS);
}

LOOP_TEST(cursor_stays_on_its_block_while_others_drain, 0, 2)
{
	struct blk b;

	page_set_order(&page, page_list_order(&page.opts), _i != 0);
	for (unsigned i = 0; i < 100; i++)
		put(i, 100);
	later();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	compose(80, 24);
	page_move_to(&page, 50);
	page_remember_cursor(&page, &scene.view);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	for (unsigned i = 0; i < 40; i++) {
		take(i);
		take(99 - i);
		put(200 + i, 100);
	}
	later();
	compose(80, 24);
	ck_assert(page_cursor_is_on(&page, &b));
	ck_assert_uint_eq(page.cursor.at, 10);
	ck_assert_uint_eq(page.found.total, 20);
}

TEST(drain_says_how_many_are_left)
{
	static const struct {
		int cols;
		const char *text;
	} forms[] = {
		{ 80, "drain since 15:02:24: 60 left of 100" },
		{ 34, "drain 15:02:24: 60 of 100" },
	};
	size_t f;
	int cols, rows;

	for (unsigned i = 0; i < 100; i++)
		put(i, 100);
	later();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	for (unsigned i = 0; i < 40; i++)
		take(i);
	put(3, 77);
	later();
	for (f = 0; f < BASE_NELEM(forms); f++) {
		compose(forms[f].cols, 24);
		ck_assert_msg(shows(forms[f].text), "%s", forms[f].text);
	}
	for (cols = 1; cols < 130; cols += 3)
		for (rows = 1; rows < 30; rows++) {
			compose(cols, rows);
			assert_fits(cols, rows);
		}
}

/* How many blocks those are is not kept, so it is said that they are the sample's. */
TEST(counts_of_a_sample_that_are_no_estimates_are_called_sampled)
{
	static const struct {
		int cols;
		const char *text;
	} forms[] = {
		{ 80, "drain since 15:02:24: 6 left of 10 sampled blocks" },
		{ 40, "drain 15:02:24: 6 of 10 sampled" },
	};
	char text[PAGE_MARK_TEXT];

	setup_sample();
	for (unsigned i = 0; i < 10; i++)
		put(i, 100);
	later();
	mark();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	for (unsigned i = 0; i < 4; i++)
		take(i);
	put(3, 77);
	later();
	page_mark_text(&page, &scene.view, text);
	ck_assert_str_eq(text, "15:02:24 +1 -4 sampled");
	for (size_t f = 0; f < BASE_NELEM(forms); f++) {
		compose(forms[f].cols, 24);
		ck_assert_msg(shows(forms[f].text), "%s", forms[f].text);
	}
}

LOOP_TEST(order_of_before_a_drain_comes_back, 0, 5)
{
	static const char *const orders[] = { "Ns", "size", "address", "age",
		"thread" };
	struct page_sorting before, after;

	for (unsigned i = 0; i < 100; i++)
		put(i, 100);
	later();
	ck_assert(page_sorting_parse(orders[_i], &before));
	page_choice_sort(&page, &before);
	page_sorting_get(&page.opts, &before);
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	compose(80, 24);
	page_drain_end(&page);
	page_sorting_get(&page.opts, &after);
	ck_assert_uint_eq(after.n, before.n);
	ck_assert_int_eq(memcmp(after.by, before.by, before.n *
	    sizeof before.by[0]), 0);
	/* One that was asked for meanwhile stays. */
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	ck_assert(page_sorting_parse("descr", &before));
	page_choice_sort(&page, &before);
	page_drain_end(&page);
	page_sorting_get(&page.opts, &after);
	ck_assert_int_eq(after.by[0].sort, PAGE_SORT_DESCR);
}

/* --- a drain, and whatever else the page can be told --------------------- */

static void
with_filter(void)
{
	struct filter_error e;

	ck_assert_int_eq(page_choice_filter(&page, "size>=200",
	    &e), 0);
}

static void
with_sort(const char *text)
{
	struct page_sorting s;

	ck_assert(page_sorting_parse(text, &s));
	page_choice_sort(&page, &s);
}

static void
with_size(void)
{
	with_sort("size");
}

static void
with_address(void)
{
	with_sort("address");
}

static void
with_reverse(void)
{
	page_set_order(&page, page_list_order(&page.opts), true);
}

static void
with_groups(void)
{
	page_set_group(&page, page_group_kind_called("type"));
}

static void
with_group_open(void)
{
	with_groups();
	compose(80, 60);
	ck_assert(page_open_group(&page, &scene.view));
}

static void
with_free(void)
{
	page.opts.free = true;
}

static void
with_still(void)
{
	compose(80, 60);
	page_freeze_toggle(&page, &scene.view);
}

static void
with_mark(void)
{
	mark();
}

static void
with_strict(void)
{
	page.layout = PAGE_CLASSIC_STRICT;
}

static void
with_drain(void)
{
	if (!page_is_draining(&page))
		ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
}

static void (*const with[])(void) = {
	with_drain, with_filter, with_size, with_address, with_reverse,
	with_groups, with_group_open, with_free, with_still, with_mark,
	with_strict,
};

#define WITHS BASE_NELEM(with)

/* Two of them, before and after it began to drain: no row is a new block. */
LOOP_TEST(a_drain_lists_no_new_block_whatever_else_is_asked_for, 0,
    (int)(WITHS * WITHS))
{
	size_t first = (size_t)_i / WITHS, second = (size_t)_i % WITHS, n, i;
	struct blk b[PLACES];
	unsigned k, drained = 0;

	for (k = 0; k < 60; k++)
		put(59 - k, 100 + k % 7 * 50);
	later();
	compose(80, 60);
	with[first]();
	compose(80, 60);
	with_drain();
	compose(80, 60);
	with[second]();
	compose(80, 60);
	for (k = 0; k < 20; k++)
		take(k * 3);
	for (k = 0; k < 100; k++)
		put(100 + k, 300);
	later();
	compose(80, 60);
	later();
	compose(80, 60);
	n = page_rows_blocks(&page, &scene.view, 0, b, BASE_NELEM(b));
	ck_assert(n > 0 || page_shows_groups(&page));
	for (i = 0; i < n; i++)
		if (b[i].seq != 0) {
			ck_assert(!page_moment_is_new(&page.drain->from,
			    &b[i]));
			drained++;
		}
	ck_assert_uint_le(drained, 60);
	/* And they stand in the order that the heading names. */
	for (i = 1; i < n && page.group.kind == 0 && !page_rows_are_frozen(&page); i++)
		if (!page_sorting_native(&page.opts))
			ck_assert_uint_ge(b[i - 1].size, b[i].size);
		else if (page_list_order(&page.opts) == BLKLIST_BY_ADDRESS)
			ck_assert_uint_lt(b[i - 1].addr, b[i].addr);
		else
			ck_assert((b[i - 1].seq > b[i].seq) ==
			    page_list_reverse(&page.opts));
	if (page_shows_groups(&page))
		for (i = 0, n = 0; i < page.groups->nrow; i++)
			n += page_groups_row(page.groups, i)->total.blocks;
	ck_assert_uint_le(n, 60);
	ck_assert(shows("drain"));
}

LOOP_TEST(groups_of_a_drain_sum_its_blocks, 1, 5)
{
	uint64_t blocks = 0;
	size_t i;

	for (unsigned at = 0; at < 100; at++)
		put(at, 100);
	later();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	for (unsigned at = 0; at < 40; at++) {
		take(at);
		put(200 + at, 100);
		put(300 + at, 100);
	}
	later();
	page_set_group(&page, (unsigned)_i);
	compose(80, 24);
	for (i = 0; i < page.groups->nrow; i++)
		blocks += page_groups_row(page.groups, i)->total.blocks;
	ck_assert_uint_eq(blocks, 60);
	blocks = page_groups_row(page.groups, 0)->total.blocks;
	ck_assert(page_open_group(&page, &scene.view));
	compose(80, 24);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), blocks);
}

TEST(paused_picture_drains_and_is_marked_as_it_stands)
{
	struct page_view v;
	struct page_mark_counts c;

	for (unsigned i = 0; i < 100; i++)
		put(i, 100);
	later();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	mark();
	for (unsigned i = 0; i < 10; i++)
		take(i);
	later();
	pause_now();
	for (unsigned i = 10; i < 30; i++)
		take(i);
	later();
	v = scene.view;
	page_view_paused(&v, &page);
	ck_assert_uint_eq(page_rows_total(&page, &v), 90);
	ck_assert(page_mark_counts(&page, &v, &c));
	ck_assert_uint_eq(c.freed, 10);
	page_resume(&page);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), 70);
}

TEST(picture_of_before_a_mark_has_no_difference_to_it)
{
	struct page_view v;
	struct page_mark_counts c;
	char text[PAGE_MARK_TEXT];

	for (unsigned i = 0; i < 100; i++)
		put(i, 100);
	later();
	pause_now();
	for (unsigned i = 0; i < 10; i++)
		take(i);
	scene.look.now_ms += 2000;
	later();
	mark();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	v = scene.view;
	page_view_paused(&v, &page);
	ck_assert(!page_mark_counts(&page, &v, &c));
	page_mark_text(&page, &v, text);
	ck_assert_ptr_nonnull(strstr(text, ", later"));
	page_set_group(&page, 1);
	ck_assert_int_eq(page_compose_view(&page, &v, 120, 24, &pic), 0);
	ck_assert(shows("later than this picture"));
	ck_assert(!shows(" left of "));
	page_drain_end(&page);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(page_compose_view(&page, &v, 120, 24, &pic),
		    0);
	ck_assert(shows("SINCE MK"));
	ck_assert(!shows("KiB  0s"));
	page_resume(&page);
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.freed, 0);
}

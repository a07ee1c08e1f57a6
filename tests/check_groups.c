/*
 * Groups on the page: what they sum, how the cursor holds on to one, when they
 * are taken, and the blocks of an open one.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/rows/rows.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

enum { NONE, BY_FUNCTION, BY_SITE, BY_LINE, BY_MODULE, BY_FRAME,
	BY_TYPE, BY_CTYPE, BY_THREAD, BY_AGE, BY_BORN, KINDS };

static struct symbol_wrappers *wrappers;

static void
setup_groups(void)
{
	setup_stacks();
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	scene.view.wrappers = page.opts.wrappers = wrappers;
	page.medium = PAGE_SCREEN;
}

static void
teardown_groups(void)
{
	teardown();
	symbol_wrappers_free(wrappers);
}

static bool
row_is(uint64_t at, const char *name)
{
	return at < page.groups->nrow &&
	    strcmp(page_groups_row(page.groups, at)->name, name) == 0;
}

/* --- sums --------------------------------------------------------------- */

CASE("sums", .setup = setup_groups, .teardown = teardown_groups);

LOOP_TEST(every_block_is_in_one_group_of_each_kind_but_frames, BY_FUNCTION,
    KINDS)
{
	uint64_t blocks = 0, bytes = 0;
	size_t i;

	if (_i == BY_FRAME)
		return;
	page_set_group(&page, (unsigned)_i);
	compose(80, 24);
	for (i = 0; i < page.groups->nrow; i++) {
		blocks += page_groups_row(page.groups, i)->total.blocks;
		bytes += page_groups_row(page.groups, i)->total.bytes;
		ck_assert(i == 0 || page_groups_row(page.groups, i)->total.bytes <=
		    page_groups_row(page.groups, i - 1)->total.bytes);
	}
	ck_assert_uint_eq(blocks, 40);
	ck_assert_uint_eq(bytes, scene.view.counts->live_bytes);
	ck_assert_uint_eq(page.groups->total.bytes, bytes);
}

TEST(kinds_follow_each_other_and_end_in_none)
{
	unsigned i;

	for (i = 1; i < KINDS; i++) {
		ck_assert_ptr_nonnull(page_group_kind(i));
		page_set_group(&page, i);
		ck_assert_uint_eq(page.group.kind, i);
	}
	ck_assert_ptr_null(page_group_kind(KINDS));
	page_set_group(&page, KINDS);
	ck_assert_uint_eq(page.group.kind, NONE);
	compose(80, 24);
	ck_assert(shows("ADDRESS"));
}

static const struct {
	const char *name;
	unsigned kind;
	int cols, rows;
} golden[] = {
	{ "groups-function-33", BY_FUNCTION, 33, 12 },
	{ "groups-function-40", BY_FUNCTION, 40, 10 },
	{ "groups-function-80", BY_FUNCTION, 80, 24 },
	{ "groups-function-124", BY_FUNCTION, 124, 30 },
	{ "groups-site-80", BY_SITE, 80, 16 },
	{ "groups-line-80", BY_LINE, 80, 16 },
	{ "groups-module-80", BY_MODULE, 80, 16 },
	{ "groups-frame-80", BY_FRAME, 80, 16 },
	{ "groups-frame-124", BY_FRAME, 124, 16 },
};

LOOP_TEST(picture_of_groups_is_golden, 0, (int)BASE_NELEM(golden))
{
	page.numbers.cost_us = 82;
	page.numbers.hz = 15;
	page.numbers.sampled = true;
	page.numbers.sample_at = scene.view.now;
	page_set_group(&page, golden[_i].kind);
	compose(golden[_i].cols, golden[_i].rows);
	assert_fits(golden[_i].cols, golden[_i].rows);
	assert_golden(&pic, golden[_i].name);
}

LOOP_TEST(no_group_is_wider_than_the_terminal, 33, 130)
{
	static char name[4200];
	unsigned kind;

	if (_i > 40 && _i % check_stride(7) != 0)
		return;
	memset(name, 'x', sizeof name - 1);
	memcpy(name, "a\033[2J<b\xff\n", 9);
	for (kind = BY_FUNCTION; kind < KINDS; kind++) {
		page_set_group(&page, kind);
		scene_symbol_override = NULL;
		page.round++;
		compose(_i, 12);
		assert_fits(_i, 12);
		/* Words that are known are not asked for again. */
		page_fini(&page);
		scene_symbol_override = name;
		compose(_i, 12);
		assert_fits(_i, 12);
		ck_assert(!shows("\033") && !shows("\xff"));
		ck_assert(page_open_group(&page, &scene.view));
		compose(_i, 12);
		assert_fits(_i, 12);
		compose(_i, 5);
		assert_fits(_i, 5);
		compose(_i, 0);
		assert_fits(_i, 0);
		page_fini(&page);
	}
}

/* --- the cursor --------------------------------------------------------- */

CASE("hold", .setup = setup_groups, .teardown = teardown_groups);

TEST(cursor_stays_on_its_group)
{
	unsigned i;

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	ck_assert(row_is(1, "processCommand"));
	page_move_to(&page, 1);
	page_remember_cursor(&page, &scene.view);
	for (i = 0; i < 20; i++)
		scene_alloc(&scene, 0x10000 + i * 0x1000u, 5000, TYPE_MALLOC,
		    1, rec_site_caller(1 + i % 3), scene.look.now_ms);
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.cursor.at, 4);
	ck_assert(row_is(4, "processCommand"));
	for (i = 0; i < 20; i++)
		scene_free(&scene, 0x10000 + i * 0x1000u);
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.cursor.at, 1);
}

/* What the eye was on: names change, sums join, the row moves. */
LOOP_TEST(names_that_come_late_do_not_make_the_cursor_jump, 0, 3)
{
	unsigned kinds[] = { BY_FUNCTION, BY_LINE, BY_FRAME };
	unsigned kind = kinds[_i];
	size_t at;

	scene_late = 1u << SCENE_F_DICT | 1u << SCENE_F_ZMALLOC |
	    1u << SCENE_F_MAIN;
	page_set_group(&page, kind);
	compose(80, 24);
	for (at = 0; !row_is(at, kind == BY_FRAME ? "0x55d0c2a01200" :
	    "0x55d0c2a01000"); at++)
		ck_assert_uint_lt(at, page.groups->nrow);
	page_move_to(&page, at);
	page_remember_cursor(&page, &scene.view);
	compose(80, 24);
	scene_late = 0;
	later();
	compose(80, 24);
	if (kind == BY_FRAME)
		ck_assert(row_is(page.cursor.at, "dictAdd"));
	else	/* the heaviest of the three that had become one */
		ck_assert(row_is(page.cursor.at, "processCommand"));
}

TEST(groups_under_an_address_become_one_with_their_function)
{
	size_t before;

	scene_late = ~0u;
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	before = page.groups->nrow;
	ck_assert(shows("0x55d0c2a01000"));
	scene_late = 0;
	later();
	compose(80, 24);
	ck_assert(!shows("0x55d0c2a01000"));
	ck_assert(shows("dictAdd"));
	ck_assert_uint_ge(page.groups->nrow, before);
}

TEST(skipping_anew_groups_anew)
{
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	ck_assert(!shows("zmalloc"));
	ck_assert_int_eq(symbol_wrappers_add(wrappers, "none"), 0);
	page.round++;
	compose(80, 24);
	ck_assert(shows("zmalloc"));
	ck_assert(!shows("dictAdd"));
}

/* --- when --------------------------------------------------------------- */

CASE("when", .setup = setup_groups, .teardown = teardown_groups);

TEST(take_serves_ten_times_as_long_as_it_took)
{
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	page.groups->pass.scan.cost_ns = 1000000;
	page.groups->pass.scan.ended = scene.view.now;
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	scene.view.now.ns += 9999999;
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 40);
	scene.view.now.ns += 1;
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 39);
}

TEST(what_has_not_changed_is_not_taken_again)
{
	uint64_t serial;

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	serial = page.groups->serial;
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.groups->serial, serial);
	/* The names of what there is may still come. */
	scene_late = 1u << SCENE_F_DICT;
	page.round++;
	later();
	compose(80, 24);
	scene_late = 0;
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.groups->missing, 0);
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 39);
}

TEST(pause_stops_groups_too)
{
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	pause_now();
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	later();
	page_view_paused(&scene.view, &page);
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 40);
	page_set_group(&page, BY_MODULE);
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 40);
	page_resume(&page);
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 39);
}

TEST(another_stream_is_taken_at_once)
{
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	scene.look.stream_no++;
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, 39);
}

TEST(without_a_list_there_are_no_groups)
{
	scene.look.list = NULL;
	scene_refresh(&scene);
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	ck_assert_uint_eq(page.groups->nrow, 0);
	ck_assert(!page_open_group(&page, &scene.view));
}

/* --- the blocks of one -------------------------------------------------- */

static void
open_row(uint64_t at)
{
	page_move_to(&page, at);
	page_remember_cursor(&page, &scene.view);
	ck_assert(page_open_group(&page, &scene.view));
	compose(80, 24);
}

CASE("open", .setup = setup_groups, .teardown = teardown_groups);

LOOP_TEST(open_group_lists_its_blocks_and_no_others, 0, 5)
{
	static const char *const names[] = { "libbar.so.1+0x77",
		"processCommand", "libfoo.so+0x1f30", "dictAdd",
		"robj::make(int)" };
	struct blk b[64];
	size_t n, i;

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	ck_assert(row_is((uint64_t)_i, names[_i]));
	open_row((uint64_t)_i);
	ck_assert(shows("8 of 40 blocks"));
	ck_assert(shows(names[_i]));
	n = page_rows_blocks(&page, &scene.view, 0, b, BASE_NELEM(b));
	ck_assert_uint_eq(n, 8);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(b[i].size, (5 - (unsigned)_i) * 100);
		ck_assert(i == 0 || b[i].seq > b[i - 1].seq);
	}
}

TEST(group_opened_ahead_of_its_picture_is_of_the_kind_wanted)
{
	page_set_group(&page, BY_FRAME);
	compose(80, 24);
	page_set_group(&page, BY_FUNCTION);
	ck_assert(page_open_group(&page, &scene.view));
	compose(80, 24);
	ck_assert(shows("libbar.so.1+0x77"));
	ck_assert(shows("8 of 40 blocks"));
	page_set_group(&page, BY_TYPE);
	page_move_to(&page, 0);
	page_remember_cursor(&page, &scene.view);
	ck_assert(!page.cursor.known);
	ck_assert_int_eq(page_expand_group(&page, &scene.view), 0);
	ck_assert_uint_eq(page.groups->shown.kind, BY_TYPE);
}

TEST(open_group_of_any_frame_has_every_block_through_it)
{
	size_t at;

	page_set_group(&page, BY_FRAME);
	compose(80, 24);
	for (at = 0; !row_is(at, "processCommand"); at++)
		continue;
	ck_assert_uint_eq(page_groups_row(page.groups, at)->total.blocks, 32);
	ck_assert_uint_eq(page_groups_row(page.groups, at)->self.blocks, 8);
	open_row(at);
	ck_assert(shows("32 of 40 blocks"));
	ck_assert_uint_eq(page.found.total, 32);
}

TEST(order_of_the_page_is_that_of_an_open_group)
{
	struct blk b[2];

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	open_row(0);
	page_set_order(&page, BLKLIST_BY_AGE, true);
	compose(80, 24);
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, b, 2), 2);
	ck_assert_uint_gt(b[0].seq, b[1].seq);
}

TEST(cursor_stays_on_its_block_in_an_open_group)
{
	struct blk b;
	uint64_t addr;

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	open_row(0);
	page_move_to(&page, 5);
	compose(80, 24);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	addr = b.addr;
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, &b, 1), 1);
	scene_free(&scene, b.addr);
	later();
	compose(80, 24);
	ck_assert_uint_eq(page.cursor.at, 4);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	ck_assert_uint_eq(b.addr, addr);
}

/* Between two takes of a large list. */
TEST(block_freed_since_the_take_is_dimmed)
{
	struct blk b;

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	open_row(0);
	page.groups->pass.scan.cost_ns = INT64_MAX / 100;
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, &b, 1), 1);
	scene_free(&scene, b.addr);
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 8);
	ck_assert(marked(4, PAGE_STALE));
	ck_assert(!marked(5, PAGE_STALE));
}

TEST(closing_a_group_goes_back_to_it)
{
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	open_row(2);
	page_close_group(&page);
	compose(80, 24);
	ck_assert(page_shows_groups(&page));
	ck_assert(page.cursor.on);
	ck_assert_uint_eq(page.cursor.at, 2);
	/* Also when it has moved meanwhile. */
	open_row(2);
	scene_alloc(&scene, 0x1000, 1 << 20, TYPE_MALLOC, 1,
	    rec_site_caller(3), scene.look.now_ms);
	later();
	compose(80, 24);
	ck_assert(shows("9 of 41 blocks"));
	page_close_group(&page);
	compose(80, 24);
	ck_assert_uint_eq(page.cursor.at, 0);
	ck_assert(row_is(0, "libfoo.so+0x1f30"));
}

TEST(open_group_follows_its_name)
{
	scene_late = ~0u;
	page_set_group(&page, BY_SITE);
	compose(80, 24);
	open_row(0);
	ck_assert(shows("8 of 40 blocks"));
	scene_late = 0;
	later();
	compose(80, 24);
	ck_assert(shows("8 of 40 blocks"));
}

TEST(open_group_of_which_nothing_is_left_is_empty)
{
	unsigned i;

	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	open_row(0);
	for (i = 4; i < 40; i += 5)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x1000);
	later();
	compose(80, 24);
	ck_assert(shows("0 of 32 blocks"));
	ck_assert_uint_eq(page.found.total, 0);
	page_close_group(&page);
	compose(80, 24);
	ck_assert_uint_lt(page.cursor.at, page.groups->nrow);
}

TEST(leaving_groups_comes_back_to_where_the_blocks_were)
{
	compose(80, 12);
	page.offs = 7;
	page_set_group(&page, BY_FUNCTION);
	compose(80, 12);
	page_set_group(&page, BY_SITE);
	compose(80, 12);
	page_set_group(&page, NONE);
	compose(80, 12);
	ck_assert_uint_eq(page.offs, 7);
}

/* --- what is waited for ------------------------------------------------- */

CASE("when");

TEST(fetching_stands_beside_the_keys)
{
	compose(80, 24);
	ck_assert(!shows("symbols:"));
	scene.view.fetching = "libfoo.so 812 of 4,096 kB";
	compose(80, 24);
	ck_assert(shows("symbols: fetching libfoo.so 812 of 4,096 kB"));
	ck_assert(shows("? help"));
	compose(40, 24);
	assert_fits(40, 24);
	ck_assert(shows("symbols: fetching libfoo.so 812 of"));
	scene.view.fetching = "a\033[2Jb";
	compose(80, 24);
	ck_assert(!shows("\033"));
}

TEST(names_to_come_are_counted_where_groups_wait_for_them)
{
	scene_late = ~0u;
	scene.view.pending = 8;
	page_set_group(&page, BY_FUNCTION);
	compose(80, 24);
	ck_assert(shows("symbols: waiting for 5 stacks"));
	scene.view.pending = 0;
	compose(80, 24);
	ck_assert(!shows("waiting for"));
}

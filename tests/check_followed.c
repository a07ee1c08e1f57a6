/* The cursor follows a block or a group, in any order, until it is freed. */
#include <errno.h>

#include "../src/pagek/rows/follow.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define ROWS 24

static void
setup_follow(void)
{
	setup_stacks();
	page.medium = PAGE_SCREEN;
	compose(100, ROWS);
}

static void
cursor_on(uint64_t at)
{
	page_move_to(&page, at);
	page_remember_cursor(&page, &scene.view);
	compose(100, ROWS);
}

static uint64_t
addr_at_cursor(void)
{
	struct blk b = { 0 };

	ck_assert(page.cursor.on);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	ck_assert_uint_ge(page.cursor.at, page.offs);
	ck_assert_uint_lt(page.cursor.at, page.offs + (uint64_t)page.found.window);
	return b.addr;
}

static void
again(void)
{
	later();
	compose(100, ROWS);
}

static uint64_t
follow(uint64_t at)
{
	cursor_on(at);
	ck_assert_int_eq(page_follow_toggle(&page, &scene.view), 1);
	return addr_at_cursor();
}

CASE("followed", .setup = setup_follow, .teardown = teardown);

TEST(cursor_is_on_the_block_in_every_order)
{
	uint64_t addr = follow(17);
	int i;

	for (i = 0; i < 6; i++) {
		page_set_order(&page, i % 2 == 0 ? BLKLIST_BY_ADDRESS :
		    BLKLIST_BY_AGE, i % 3 == 0);
		scene_alloc(&scene, 0x1000 + (unsigned)i * 64, 1, TYPE_NEW, 1,
		    0, scene.look.now_ms);
		again();
		ck_assert_uint_eq(addr_at_cursor(), addr);
	}
	ck_assert(shows("follow 7f3c04012040"));
}

LOOP_TEST(cursor_is_on_its_group_whatever_the_kind_and_then_on_it, 1, 10)
{
	uint64_t addr = follow(13);
	struct page_groups *g;
	struct blk b[64];
	size_t n, i;

	page_set_group(&page, (unsigned)_i);
	again();
	again();
	g = page.groups;
	ck_assert(page.cursor.on);
	ck_assert_uint_lt(page.cursor.at, g->nrow);
	ck_assert(page_open_group(&page, &scene.view));
	again();
	n = page_rows_blocks(&page, &scene.view, 0, b, BASE_NELEM(b));
	for (i = 0; i < n && b[i].addr != addr; i++)
		continue;
	ck_assert_uint_lt(i, n);
	ck_assert_uint_eq(addr_at_cursor(), addr);
	page_close_group(&page);
	again();
	page_set_group(&page, 0);
	again();
	ck_assert_uint_eq(addr_at_cursor(), addr);
}

TEST(group_is_followed_where_its_callers_are)
{
	struct page_groups *g;
	uint64_t caller;

	page_set_group(&page, page_group_kind_called("site"));
	again();
	cursor_on(2);
	g = page.groups;
	caller = page_groups_row(g, 2)->caller;
	ck_assert_int_eq(page_follow_toggle(&page, &scene.view), 1);
	page_set_group(&page, page_group_kind_called("function"));
	again();
	again();
	ck_assert(page.cursor.on);
	ck_assert(profile_in_group(g->profile, PROFILE_FUNCTION,
	    page_groups_row(g, page.cursor.at)->key, caller));
	page_set_group(&page, page_group_kind_called("site"));
	again();
	again();
	ck_assert_uint_eq(page.cursor.at, 2);
}

TEST(end_is_told_with_its_time)
{
	uint64_t addr = follow(5);

	scene_free(&scene, addr);
	again();
	ck_assert_str_eq(page.message,
	    "7f3c04006040 was freed at 15:02:24: it is no longer followed");
	ck_assert(!shows("follow 7f"));
	ck_assert(!page_follow_stop(&page));
}

TEST(address_that_is_taken_again_is_not_followed)
{
	uint64_t addr = follow(5);

	scene_free(&scene, addr);
	scene_alloc(&scene, addr, 1, TYPE_NEW, 1, 0, scene.look.now_ms);
	again();
	ck_assert(!page_follow_stop(&page));
}

TEST(what_is_not_among_some_rows_has_not_ended)
{
	follow(5);
	scene.look.window = true;
	scene_free(&scene, UINT64_C(0x7f3c04006040));
	again();
	ck_assert(page_follow_stop(&page));
}

TEST(key_ends_it_again)
{
	follow(5);
	ck_assert_int_eq(page_follow_toggle(&page, &scene.view), 0);
	again();
	ck_assert(!shows("follow"));
}

TEST(nothing_can_be_followed_where_nothing_is)
{
	unsigned i;

	for (i = 0; i < 40; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x1000ul);
	again();
	ck_assert_int_eq(page_follow_toggle(&page, &scene.view), -ENOENT);
	page_set_group(&page, 1);
	again();
	ck_assert_int_eq(page_follow_toggle(&page, &scene.view), -ENOENT);
}

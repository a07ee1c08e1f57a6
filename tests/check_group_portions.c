/*
 * Groups of a list so large that a picture has no time for all of it: what is
 * shown while they are taken portion by portion.
 */
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

enum { BY_SITE = 2, BY_MODULE = 4 };

static struct symbol_wrappers *wrappers;

#define MANY 300000

/* So many blocks that no picture has the time for all. */
static void
setup_many(void)
{
	int64_t ms;
	unsigned i;

	setup();
	scene_target(&scene, 0);
	ms = scene.look.now_ms;
	scene_fini(&scene);
	scene_init(&scene, BLKLIST_INDEXED, 1 << 20);
	stream_types_init(&scene.types);
	scene.look.now_ms = ms;
	for (i = 0; i < MANY; i++)
		scene_alloc(&scene, 0x100000 + i * 0x40u, 100, TYPE_MALLOC, 1,
		    rec_site_caller(1 + i % 4), ms);
	scene_refresh(&scene);
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	scene.view.wrappers = page.opts.wrappers = wrappers;
	page.medium = PAGE_SCREEN;
}

static void
teardown_many(void)
{
	teardown();
	symbol_wrappers_free(wrappers);
}

/* Pictures until nothing is to be done for the groups. */
static unsigned
settle(void)
{
	unsigned n = 0;

	do {
		compose(80, 24);
		ck_assert_uint_lt(++n, 100);
	} while (page.groups->pass.step != GROUPS_IDLE);
	return n;
}

CASE("portions", .setup = setup_many, .teardown = teardown_many, .seconds = 60);

TEST(first_groups_of_a_large_list_are_waited_for_with_a_figure)
{
	page_set_group(&page, BY_SITE);
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 0);
	ck_assert(shows("groups: "));
	ck_assert(shows(" %"));
	ck_assert_uint_gt(settle(), 1);
	ck_assert(!shows("groups: "));
	ck_assert_uint_eq(page.groups->total.blocks, MANY);
	ck_assert_uint_eq(page.found.total, 4);
}

TEST(rows_of_a_large_list_stay_until_the_next_take_is_whole)
{
	unsigned i, pictures = 0;

	page_set_group(&page, BY_SITE);
	settle();
	for (i = 0; i < MANY; i += 4)
		scene_free(&scene, 0x100000 + i * 0x40u);
	later();
	for (;;) {
		compose(80, 24);
		if (page.groups->pass.step == GROUPS_IDLE)
			break;
		ck_assert_uint_eq(page.groups->total.blocks, MANY);
		ck_assert_uint_eq(page_groups_row(page.groups,
		    0)->total.blocks, MANY / 4);
		ck_assert_uint_eq(page.found.total, 4);
		ck_assert_uint_lt(++pictures, 100);
	}
	ck_assert_uint_gt(pictures, 1);
	ck_assert_uint_eq(page.groups->total.blocks, MANY / 4 * 3);
	ck_assert_uint_eq(page.found.total, 3);
}

/* Rows of the filter before have its last minute, and the others begin. */
TEST(last_minute_is_of_the_blocks_that_the_rows_sum)
{
	uint64_t point[PAGE_TREND_POINTS], before, bytes;
	const struct profile_group *row;
	struct filter_error e;
	unsigned pictures = 0;
	size_t n;

	page_set_group(&page, BY_SITE);
	settle();
	before = page_groups_row(page.groups, 0)->total.bytes;
	scene.look.now_ms += PAGE_TREND_MS;
	later();
	settle();
	ck_assert_int_eq(page_choice_filter(&page, "address<0x800000", &e), 0);
	do {
		scene.look.now_ms += PAGE_TREND_MS;
		later();
		compose(80, 24);
		row = page_groups_row(page.groups, 0);
		bytes = row->total.bytes;
		n = page_trends_get(page.groups->trends, row->key, bytes, point);
		for (size_t i = 0; i < n; i++)
			ck_assert_uint_eq(point[i], bytes);
		ck_assert_uint_ge(n, bytes == before ? 3 : 2);
		ck_assert_uint_lt(++pictures, 100);
	} while (bytes == before);
	ck_assert_uint_gt(pictures, 1);
	ck_assert_uint_eq(n, 2);
}

TEST(blocks_of_a_large_list_that_go_during_a_take_cost_no_others)
{
	unsigned i = 0, n;

	page_set_group(&page, BY_SITE);
	do {
		compose(80, 24);
		/* The oldest, which the take has come by. */
		for (n = 0; n < 4 * 500; n++, i++)
			scene_free(&scene, 0x100000 + i * 0x40u);
	} while (page.groups->pass.step != GROUPS_IDLE);
	ck_assert_uint_eq(page.groups->total.blocks, MANY);
}

TEST(members_of_a_large_group_are_shown_as_they_are_found)
{
	uint64_t before = 0;
	unsigned pictures = 0;

	page_set_group(&page, BY_SITE);
	settle();
	page_move_to(&page, 0);
	ck_assert(page_open_group(&page, &scene.view));
	do {
		compose(80, 24);
		ck_assert_uint_gt(page.found.total, 0);
		ck_assert_uint_ge(page.found.total, before);
		before = page.found.total;
		pictures++;
	} while (page.groups->pass.step != GROUPS_IDLE);
	ck_assert_uint_gt(pictures, 1);
	ck_assert(shows("75,000 of 300,000"));
	ck_assert(shows("65,536 listed"));
}

TEST(another_kind_is_never_shown_under_the_heading_of_one)
{
	page_set_group(&page, BY_SITE);
	settle();
	scene_free(&scene, 0x100000);
	later();
	compose(80, 24);
	ck_assert_int_eq(page.groups->pass.step, GROUPS_WALK);
	page_set_group(&page, BY_MODULE);
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 0);
	settle();
	ck_assert_uint_eq(page.groups->shown.kind, BY_MODULE);
	ck_assert_uint_gt(page.found.total, 0);
}

TEST(another_stream_during_a_take_begins_anew)
{
	page_set_group(&page, BY_SITE);
	settle();
	scene_free(&scene, 0x100000);
	later();
	compose(80, 24);
	ck_assert_int_eq(page.groups->pass.step, GROUPS_WALK);
	scene.look.stream_no++;
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 0);
	settle();
	ck_assert_uint_eq(page.groups->total.blocks, MANY - 1);
	ck_assert_uint_eq(page.found.total, 4);
}

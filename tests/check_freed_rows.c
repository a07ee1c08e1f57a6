/*
 * Freed rows: they stay for a second, have no offset, and leave the cursor in
 * sight; scrolling makes none.
 */
#include "../src/pagek/rows/freed_rows.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define COLS 80
#define ROWS 24

/* Blocks of the scene, in order of address. */
#define BLOCK(i) (UINT64_C(0x7f3c04001040) + (i) * 0x10020ul)

static void
setup_freed(void)
{
	setup_target();
	page.medium = PAGE_SCREEN;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
}

static void
after(int ms)
{
	int64_t ns = scene.view.now.ns + INT64_C(1000000) * ms;

	scene_refresh(&scene);
	scene.view.now.ns = ns;
	compose(COLS, ROWS);
	assert_fits(COLS, ROWS);
}

/* The line of the block, from 0 on; -1: it is not shown. */
static int
line_of(uint64_t addr)
{
	char digits[16];
	int i;

	snprintf(digits, sizeof digits, "%012llx", (unsigned long long)addr);
	for (i = 0; i < pic.rows; i++)
		if (strncmp(pic.line[i].text, digits, 12) == 0)
			return i;
	return -1;
}

static bool
left(uint64_t addr)
{
	int i = line_of(addr);

	return i >= 0 && strstr(pic.line[i].text, "freed") != NULL &&
	    marked(i, PAGE_STALE);
}

CASE("rows", .setup = setup_freed, .teardown = teardown);

TEST(freed_row_stays_a_second_where_it_was)
{
	int was;

	after(0);
	was = line_of(BLOCK(5));
	ck_assert_int_ge(was, 3);
	scene_free(&scene, BLOCK(5));
	after(66);
	ck_assert(left(BLOCK(5)));
	ck_assert_int_eq(line_of(BLOCK(5)), was);
	ck_assert_int_eq(line_of(BLOCK(6)), was + 1);
	after(999);
	ck_assert(left(BLOCK(5)));
	after(1);
	ck_assert_int_eq(line_of(BLOCK(5)), -1);
	ck_assert_int_eq(line_of(BLOCK(6)), was);
}

TEST(first_and_last_row_stay_too)
{
	unsigned i;

	for (i = 10; i < 60; i++)
		scene_free(&scene, BLOCK(i));
	after(0);
	scene_free(&scene, BLOCK(0));
	scene_free(&scene, BLOCK(9));
	after(66);
	ck_assert(left(BLOCK(0)));
	ck_assert_int_eq(line_of(BLOCK(0)), 3);
	ck_assert(left(BLOCK(9)));
	ck_assert_int_eq(line_of(BLOCK(9)), 12);
}

TEST(what_has_left_has_no_offset)
{
	struct blk b;

	after(0);
	page_move_to(&page, 7);
	page_remember_cursor(&page, &scene.view);
	after(66);
	scene_free(&scene, BLOCK(5));
	after(66);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), 59);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	ck_assert_uint_eq(b.addr, BLOCK(7));
	ck_assert(marked(line_of(BLOCK(7)), PAGE_CURSOR));
}

/* For who points at a row. */
TEST(row_of_what_has_left_is_none_of_the_list)
{
	uint64_t at;

	after(0);
	ck_assert(page_freed_rows_offset(&page, 6, &at));
	ck_assert_uint_eq(at, 6);
	scene_free(&scene, BLOCK(5));
	after(66);
	ck_assert(page_freed_rows_offset(&page, 4, &at));
	ck_assert_uint_eq(at, 4);
	ck_assert(!page_freed_rows_offset(&page, 5, &at));
	ck_assert(page_freed_rows_offset(&page, 6, &at));
	ck_assert_uint_eq(at, 5);
	ck_assert(!page_freed_rows_offset(&page, 4000, &at));
	page.opts.free = true;
	page.medium = PAGE_READY;
	after(66);
	ck_assert(page_freed_rows_offset(&page, 6, &at));
	ck_assert_uint_eq(at, 6);
}

TEST(cursor_is_never_pushed_out_of_sight)
{
	unsigned i;
	int k, found = 0;

	after(0);
	page_move_to(&page, (uint64_t)page.found.window - 1);
	after(66);
	for (i = 0; i < 5; i++)
		scene_free(&scene, BLOCK(2 + 2 * i));
	page.cursor.known = false;
	after(66);
	for (k = 0; k < pic.rows; k++)
		found += marked(k, PAGE_CURSOR);
	ck_assert_int_eq(found, 1);
}

TEST(at_most_a_quarter_are_freed_rows)
{
	unsigned i, n = 0;

	after(0);
	for (i = 1; i < 20; i++)
		if (i % 2 != 0)
			scene_free(&scene, BLOCK(i));
	after(66);
	for (i = 0; i < 20; i++)
		n += left(BLOCK(i));
	ck_assert_uint_eq(n, (unsigned)page.found.window / 4);
}

TEST(what_is_scrolled_away_has_not_left)
{
	after(0);
	page.offs = 5;
	after(66);
	ck_assert(!shows("freed"));
	page.offs = 0;
	after(66);
	ck_assert(!shows("freed"));
	page_set_order(&page, BLKLIST_BY_AGE, true);
	after(66);
	ck_assert(!shows("freed"));
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	after(66);
	ck_assert(!shows("freed"));
}

/* Rows of a window alone: what is missing at its edges may be elsewhere. */
TEST(window_shows_what_left_between_its_rows)
{
	after(0);
	scene.look.window = true;
	scene_free(&scene, BLOCK(0));
	scene_free(&scene, BLOCK(4));
	after(66);
	ck_assert(left(BLOCK(4)));
	ck_assert_int_eq(line_of(BLOCK(0)), -1);
}

TEST(address_that_is_used_again_has_two_rows)
{
	int at;

	after(0);
	scene_free(&scene, BLOCK(4));
	scene_alloc(&scene, BLOCK(4), 77, TYPE_MALLOC, 1, 0,
	    scene.look.now_ms);
	after(66);
	at = line_of(BLOCK(4));
	ck_assert_ptr_null(strstr(pic.line[at].text, "freed"));
	ck_assert_ptr_nonnull(strstr(pic.line[at + 1].text, "freed"));
	ck_assert_int_eq(strncmp(pic.line[at].text, pic.line[at + 1].text,
	    12), 0);
	after(1000);
	ck_assert_int_eq(line_of(BLOCK(4)), at);
	ck_assert_int_eq(line_of(BLOCK(5)), at + 1);
}

LOOP_TEST(list_that_is_lost_or_taken_anew_leaves_nothing, 0, 3)
{
	unsigned i;

	after(0);
	if (_i == 0)
		scene.look.state = NODES_UNREACHABLE;
	else if (_i == 1)
		scene.look.settled = false;
	else
		scene.look.stream_no++;
	for (i = 0; i < 10; i++)
		scene_free(&scene, BLOCK(i * 2 + 1));
	after(66);
	for (i = 0; i < 20; i++)
		ck_assert(!left(BLOCK(i)));
}

LOOP_TEST(text_output_strict_and_slow_pages_have_live_rows_alone, 0, 3)
{
	if (_i == 0)
		page.medium = PAGE_READY;
	else if (_i == 1)
		page.layout = PAGE_CLASSIC_STRICT;
	else
		page.opts.fps = 1;
	after(0);
	scene_free(&scene, BLOCK(5));
	after(66);
	ck_assert(!shows("freed"));
	ck_assert(!shows("04051"));
}

/* What was in the rows before means nothing in those of another layout. */
TEST(row_of_the_strict_page_is_the_one_that_it_shows)
{
	uint64_t at;

	after(0);
	scene_free(&scene, BLOCK(5));
	after(66);
	page.layout = PAGE_CLASSIC_STRICT;
	page.offs = 3;
	after(66);
	ck_assert(page_freed_rows_offset(&page, 0, &at));
	ck_assert_uint_eq(at, page.offs);
}

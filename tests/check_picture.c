/*
 * The pictures of page K: the note's to the byte, every size.
 * Pictures that are wanted as they are lie in tests/golden (golden.h).
 */
#include "../src/pagek/rows/rows.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

/* --- the note's page ---------------------------------------------------- */

static const char *const note_lines[] = {
	"K MEMORY BLOCKS    07/13/04 1330",
	"NODE<0590> *L<0509>    6 OFFS=  0",
	"  ADDRESS SIZE TY DESCR  RNOD AGE",
	"008E6588 0040 09 AHDRMSG        0",
	"008E65D0 0050 09 AHDRMSG       13",
	"008E6628 0030 01 LOCREQ        39",
	"008E6660 0030 01 LOCREQ         0",
	"008E6698 0018 0E INTPTRS       13",
	"008E66B8 0048 0C ACREQ   AB86  13",
};

CASE("note", .setup = setup_note, .teardown = teardown);

LOOP_TEST(strict_page_is_the_notes_nine_lines, 0, 4)
{
	static const int cols[] = { 33, 40, 80, 124 };
	size_t i;

	page.layout = PAGE_CLASSIC_STRICT;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(cols[_i], 0);
	ck_assert_int_eq(pic.rows, BASE_NELEM(note_lines));
	for (i = 0; i < BASE_NELEM(note_lines); i++)
		ck_assert_str_eq(pic.line[i].text, note_lines[i]);
	compose(cols[_i], 24);
	ck_assert_int_eq(pic.rows, 24);
	for (i = 0; i < 24; i++)
		ck_assert_str_eq(pic.line[i].text,
		    i < BASE_NELEM(note_lines) ? note_lines[i] : "");
}

TEST(age_order_begins_with_the_oldest)
{
	page.layout = PAGE_CLASSIC_STRICT;
	compose(33, 24);
	ck_assert_str_eq(pic.line[3].text, note_lines[5]);
	page_set_order(&page, BLKLIST_BY_AGE, true);
	compose(33, 24);
	ck_assert_str_eq(pic.line[8].text, note_lines[5]);
}

TEST(status_line_holds_the_notes_seven_counters)
{
	page.layout = PAGE_CLASSIC;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(33, 24);
	ck_assert_str_eq(pic.line[23].text,
	    "LIVE 82us r9 a6 f2042 t0 d0 o0 l0");
	ck_assert_str_eq(pic.line[22].text, "");
	compose(33, 0);
	ck_assert_int_eq(pic.rows, 10);
	ck_assert_str_eq(pic.line[9].text,
	    "LIVE 82us r9 a6 f2042 t0 d0 o0 l0");
}

TEST(offs_scrolls_and_stops_at_the_last_row)
{
	page.layout = PAGE_CLASSIC_STRICT;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	page.offs = 2;
	compose(33, 5);
	ck_assert_str_eq(pic.line[1].text,
	    "NODE<0590> *L<0509>    6 OFFS=  2");
	ck_assert_str_eq(pic.line[3].text, note_lines[5]);
	page.offs = 2000;
	compose(33, 5);
	ck_assert_str_eq(pic.line[1].text,
	    "NODE<0590> *L<0509>    6 OFFS=  4");
	ck_assert_str_eq(pic.line[4].text, note_lines[8]);
}

TEST(longer_listing_name_moves_nothing)
{
	page.layout = PAGE_CLASSIC_STRICT;
	page.opts.listing = "spool-of-mine";
	compose(33, 24);
	ck_assert_str_eq(pic.line[1].text,
	    "NODE<0590> *L<spoo>    6 OFFS=  0");
	page.opts.listing = "";
	compose(33, 24);
	ck_assert_str_eq(pic.line[1].text,
	    "NODE<0590> *L<>        6 OFFS=  0");
}

/* --- golden pictures ---------------------------------------------------- */

static const struct {
	const char *name;
	int cols, rows;
	enum page_layout layout;
	enum page_medium medium;
} golden_note[] = {
	{ "note-strict-80", 80, 24, PAGE_CLASSIC_STRICT, PAGE_SCREEN },
	{ "note-33", 33, 24, PAGE_AUTO, PAGE_SCREEN },
	{ "note-33x7", 33, 7, PAGE_AUTO, PAGE_SCREEN },
	{ "note-40", 40, 12, PAGE_AUTO, PAGE_SCREEN },
	{ "note-80", 80, 24, PAGE_AUTO, PAGE_SCREEN },
	{ "note-80-classic", 80, 24, PAGE_CLASSIC, PAGE_SCREEN },
	{ "note-124", 124, 30, PAGE_AUTO, PAGE_SCREEN },
	{ "note-20x5", 20, 5, PAGE_AUTO, PAGE_SCREEN },
	{ "note-6x3", 6, 3, PAGE_AUTO, PAGE_SCREEN },
	{ "note-1x1", 1, 1, PAGE_AUTO, PAGE_SCREEN },
	{ "note-text", 80, 0, PAGE_AUTO, PAGE_READY },
};

LOOP_TEST(picture_of_the_note_is_golden, 0, (int)BASE_NELEM(golden_note))
{
	page.layout = golden_note[_i].layout;
	page.medium = golden_note[_i].medium;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(golden_note[_i].cols, golden_note[_i].rows);
	assert_fits(golden_note[_i].cols, golden_note[_i].rows);
	assert_golden(&pic, golden_note[_i].name);
}

static const struct {
	const char *name;
	int cols, rows;
	enum page_layout layout;
} golden_target[] = {
	{ "target-33", 33, 12, PAGE_AUTO },
	{ "target-40", 40, 12, PAGE_AUTO },
	{ "target-60", 60, 12, PAGE_AUTO },
	{ "target-60-wide", 60, 12, PAGE_WIDE },
	{ "target-80", 80, 24, PAGE_AUTO },
	{ "target-124", 124, 30, PAGE_AUTO },
	{ "target-300", 300, 12, PAGE_AUTO },
};

CASE("target", .setup = setup_target, .teardown = teardown);

LOOP_TEST(picture_of_a_target_is_golden, 0, (int)BASE_NELEM(golden_target))
{
	page.layout = golden_target[_i].layout;
	page.medium = PAGE_SCREEN;
	page.numbers.hz = 15;
	page.numbers.rated = page.numbers.sampled = true;
	page.numbers.rate = 8123;
	page.numbers.cost_us = 82;
	page.numbers.sample_at = scene.view.now;
	page.message[0] = '\0';
	compose(golden_target[_i].cols, golden_target[_i].rows);
	assert_fits(golden_target[_i].cols, golden_target[_i].rows);
	assert_golden(&pic, golden_target[_i].name);
}

/* --- widths ------------------------------------------------------------- */

static const enum page_layout layouts[] = {
	PAGE_AUTO, PAGE_CLASSIC, PAGE_CLASSIC_STRICT, PAGE_WIDE,
};

LOOP_TEST(no_line_is_wider_than_the_terminal, 1, 301)
{
	int cols = _i;
	size_t l;

	if (_i > 40 && _i % check_stride(7) != 0)
		return;
	page.medium = PAGE_SCREEN;
	page.numbers.hz = 15;
	page.numbers.rated = page.numbers.sampled = true;
	page.numbers.sample_at = scene.view.now;
	page.numbers.rate = UINT64_MAX;
	scene.look.work.cycle_records = UINT64_MAX;
	scene.look.work.cycle_us = UINT32_MAX;
	scene.look.loss.bad_records = UINT64_MAX;
	scene.look.loss.lost[STREAM_LINK] = UINT64_MAX;
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		compose(cols, 24);
		assert_fits(cols, 24);
		compose(cols, 5);
		assert_fits(cols, 5);
		compose(cols, 0);
		assert_fits(cols, 0);
		scene.look.target.name = "a target with a very long name "
		    "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97";
		snprintf(page.message, sizeof page.message,
		    "a message that is longer than many terminals are wide, "
		    "and says little else that one would have to know");
		compose(cols, 24);
		assert_fits(cols, 24);
		page.prompt.text = ":target \xe6\xbc\xa2\xe5\xad\x97 and so on and "
		    "so on and so on, longer than the line it is typed on";
		compose(cols, 24);
		assert_fits(cols, 24);
		ck_assert_int_lt(pic.cursor_col, cols);
		page.prompt.text = NULL;
		page.message[0] = '\0';
	}
}

LOOP_TEST(every_height_is_filled_exactly, 1, 70)
{
	size_t l;

	page.medium = PAGE_SCREEN;
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		compose(80, _i);
		assert_fits(80, _i);
		compose(33, _i);
		assert_fits(33, _i);
	}
}

LOOP_TEST(classic_rows_are_whole_from_33_columns, 33, 80)
{
	int cols = _i, i, rows = 0;

	for (i = 0; i < 8; i++)
		scene_alloc(&scene, 0x1000 + (uint64_t)i * 16, 16,
		    TYPE_MALLOC, 1, 0, scene.look.now_ms);
	scene_refresh(&scene);
	page.layout = PAGE_CLASSIC;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(cols, 16);
	for (i = 3; i < 11; i++)
		rows += strstr(pic.line[i].text,
		    cols >= 37 ? "000000001" : "00001") != NULL &&
		    strstr(pic.line[i].text, "0010 80 malloc         0") !=
		    NULL;
	ck_assert_int_eq(rows, 8);
}

TEST(cells_do_not_widen_the_row)
{
	static const struct {
		uint64_t size;
		int64_t age_ms;
		const char *row;
	} cells[] = {
		{ 0xffff, 999000, "00008000 FFFF 80 malloc       999" },
		{ 0x10000, 1000000, "00008000  64K 80 malloc       16m" },
		{ 1258291, 18000000, "00008000 1.2M 80 malloc        5h" },
		{ UINT64_C(1) << 47, 259200000,
		    "00008000 128T 80 malloc        3d" },
	};
	size_t i;

	page.layout = PAGE_CLASSIC_STRICT;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	for (i = 0; i < BASE_NELEM(cells); i++) {
		scene_alloc(&scene, 0x8000, cells[i].size, TYPE_MALLOC, 1, 0,
		    scene.look.now_ms - cells[i].age_ms);
		scene_refresh(&scene);
		compose(33, 10);
		ck_assert_str_eq(pic.line[3].text, cells[i].row);
		scene_free(&scene, 0x8000);
	}
}

TEST(high_half_of_an_address_stands_in_the_status_line)
{
	page.layout = PAGE_CLASSIC;
	compose(34, 12);
	ck_assert(shows("LIVE 7F3C "));
	ck_assert(shows("04001040 "));
	compose(37, 12);
	ck_assert(shows("7F3C04001040 "));
	ck_assert(!shows("LIVE 7F3C "));
}

TEST(block_from_the_future_is_new)
{
	page.layout = PAGE_CLASSIC_STRICT;
	scene_alloc(&scene, 0x8000, 16, TYPE_MALLOC, 1, 0,
	    scene.look.now_ms + 5000);
	scene_refresh(&scene);
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(33, 10);
	ck_assert_str_eq(pic.line[3].text,
	    "00008000 0010 80 malloc         0");
}

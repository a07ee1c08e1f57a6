/*
 * Page K as it is used: outside text, moving, pausing, counters, keys, and
 * the lines that all of it is written with.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/picture/keys.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

/* --- outside text ------------------------------------------------------- */

CASE("target", .setup = setup_target, .teardown = teardown);

TEST(hostile_names_are_escaped_and_clipped)
{
	static char symbol[4200];
	int i;

	memset(symbol, 'x', sizeof symbol - 1);
	memcpy(symbol, "a\033[2Jb\n\r\t\xff", 10);
	scene_symbol_override = symbol;
	scene.look.node.name = "a\033[2Jb";
	scene.look.target.name = "\xe2\x80\xae" "evil\x9b";
	scene.look.state = NODES_NO_DATA;
	scene.look.reason = "because\033]0;title\007 of\nthis";
	scene_refresh(&scene);
	page.medium = PAGE_SCREEN;
	snprintf(page.message, sizeof page.message, "no target x\033[2Jy");
	compose(124, 20);
	assert_fits(124, 20);
	for (i = 0; i < pic.rows; i++)
		ck_assert_ptr_null(strpbrk(pic.line[i].text,
		    "\033\n\r\t\007"));
	ck_assert(shows("a\\x1B[2Jb") || shows("a\\x1b[2Jb"));
	/* The neighbours of the long name are where they always are. */
	ck_assert(strstr(pic.line[8].text, "7f3c04") == pic.line[8].text);
}

TEST(list_row_is_whole_and_safe)
{
	char row[512], small[16];
	struct blk b;

	scene_symbol_override = "f\033(int)  file.c:3";
	ck_assert_int_eq(blklist_window(scene.list, BLKLIST_BY_AGE, false, 0,
	    &b, 1), 1);
	page_row_text_view(&page, &scene.view, &b, row, sizeof row);
	ck_assert(strstr(row, "7f3c04001040       65,536 80 malloc") == row);
	ck_assert_ptr_nonnull(strstr(row, "(int)  file.c:3"));
	ck_assert_ptr_null(strchr(row, '\033'));
	page_row_text_view(&page, &scene.view, &b, small, sizeof small);
	ck_assert_int_eq(strlen(small), sizeof small - 1);
	page.layout = PAGE_CLASSIC;
	page_row_text_view(&page, &scene.view, &b, row, sizeof row);
	ck_assert_int_eq(strlen(row), 33);
}

TEST(ascii_page_is_pure_ascii)
{
	int i;

	page.opts.ascii = true;
	scene_symbol_override = "caf\xc3\xa9 \xe6\xbc\xa2";
	scene.look.target.name = "\xe6\xbc\xa2";
	compose(124, 20);
	for (i = 0; i < pic.rows; i++)
		ck_assert_int_eq(strlen(pic.line[i].text),
		    strspn(pic.line[i].text, " !\"#$%&'()*+,-./0123456789:;<=>?"
		    "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuv"
		    "wxyz{|}~"));
}

TEST(without_utf8_the_page_is_ascii)
{
	setlocale(LC_ALL, "C");
	page_init(&page, &(struct page_opts){ 0 });
	ck_assert(page.opts.ascii);
	setlocale(LC_ALL, "C.UTF-8");
	page_init(&page, &(struct page_opts){ 0 });
	ck_assert(!page.opts.ascii);
}

/* --- moving and pausing ------------------------------------------------- */

TEST(cursor_stays_on_its_block)
{
	char held[64];

	compose(80, 24);
	page_move_to(&page, 10);
	compose(80, 24);
	ck_assert(marked(3 + 10, PAGE_CURSOR));
	snprintf(held, sizeof held, "%.12s", pic.line[3 + 10].text);
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	scene_free(&scene, UINT64_C(0x7f3c04001040) + 2 * 0x10020ul);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 8);
	ck_assert(marked(3 + 8, PAGE_CURSOR));
	ck_assert_int_eq(strncmp(pic.line[3 + 8].text, held, 12), 0);
	page_set_order(&page, BLKLIST_BY_AGE, true);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 58 - 1 - 8);
	ck_assert(shows(held));
}

TEST(scrolled_rows_do_not_jump)
{
	char held[64];

	compose(80, 24);
	page_move_to(&page, 40);
	compose(80, 24);
	snprintf(held, sizeof held, "%.12s", pic.line[22].text);
	ck_assert(marked(22, PAGE_CURSOR));
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(marked(22, PAGE_CURSOR));
	ck_assert_int_eq(strncmp(pic.line[22].text, held, 12), 0);
}

TEST(cursor_of_a_freed_block_takes_its_place)
{
	compose(80, 24);
	page_move_to(&page, 59);
	compose(80, 24);
	scene_free(&scene, UINT64_C(0x7f3c04001040) + 59 * 0x10020ul);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 58);
	page_move(&page, -1000000);
	ck_assert_int_eq(page.cursor.at, 0);
	page_move(&page, INT64_MAX);
	ck_assert_int_eq(page.cursor.at, 58);
}

TEST(cursor_does_not_follow_a_new_block_at_an_old_address)
{
	compose(80, 24);
	page_move_to(&page, 10);
	compose(80, 24);
	scene_free(&scene, page.cursor.addr);
	scene_alloc(&scene, page.cursor.addr, 64, TYPE_MALLOC, 1, 0,
	    scene.look.now_ms);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 10);
	ck_assert_int_eq(page.offs, 0);
}

TEST(paused_picture_stands_still_and_counts)
{
	char before[24][128];
	int i;

	compose(80, 24);
	for (i = 0; i < 24; i++)
		snprintf(before[i], sizeof before[i], "%.127s",
		    pic.line[i].text);
	pause_now();
	for (i = 0; i < 30; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) +
		    (unsigned)i * 0x10020ul);
	scene.look.now_ms += 60000;
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
	compose(80, 24);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "PAUSED +30"));
	for (i = 1; i < 24; i++)
		ck_assert_str_eq(pic.line[i].text, before[i]);
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	compose(80, 24);
	ck_assert(strncmp(pic.line[3].text, "7f3c043b", 8) == 0);
	page_resume(&page);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert_ptr_null(strstr(pic.line[0].text, "PAUSED"));
	ck_assert(shows("30 blocks"));
}

CASE("note", .setup = setup_note, .teardown = teardown);

TEST(paused_picture_keeps_its_requesters)
{
	pause_now();
	scene_free(&scene, 0x008e66b8);
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
	page.layout = PAGE_CLASSIC;
	compose(40, 16);
	ck_assert(shows("008E66B8 0048 0C ACREQ   AB86  13"));
	ck_assert(shows("PAUSED +1"));
}

static const char *
status_line(int cols, int rows)
{
	compose(cols, rows);
	return pic.line[pic.rows - 1].text;
}

CASE("target");

/* Below line 1 too, and where there is room for one word only. */
TEST(paused_or_stale_picture_is_live_on_no_line)
{
	static const int cols[] = { 6, 33, 40, 79 };
	size_t i;

	page.layout = PAGE_CLASSIC;
	ck_assert_ptr_nonnull(strstr(status_line(40, 24), "LIVE "));
	pause_now();
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
	ck_assert_ptr_nonnull(strstr(status_line(40, 24), "PAUSED "));
	for (i = 0; i < BASE_NELEM(cols); i++) {
		compose(cols[i], 24);
		ck_assert(shows("PAUSED"));
		ck_assert(!shows("LIVE"));
	}
	page_resume(&page);
	scene.look.stale_ms = 12000;
	scene_refresh(&scene);
	ck_assert_ptr_nonnull(strstr(status_line(40, 24), "STALE "));
	for (i = 0; i < BASE_NELEM(cols) - 1; i++) {
		compose(cols[i], 24);
		ck_assert(shows("STALE"));
		ck_assert(!shows("LIVE"));
	}
}

TEST(end_of_a_target_shows_through_a_pause)
{
	pause_now();
	scene.look.state = NODES_ENDED;
	scene.look.target.status = 9;
	scene.look.target.ended_wall_ms = INT64_C(1795187038000);
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
	compose(80, 24);
	ck_assert(shows("PAUSED +0  ENDED 15:03:58 signal 9"));
}

TEST(end_while_paused_tells_what_was_live_in_the_end)
{
	pause_now();
	scene_free(&scene, UINT64_C(0x7f3c04001040));
	scene.look.state = NODES_ENDED;
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
	compose(80, 24);
	ck_assert(shows("; 59 blocks were live"));
}

/* --- what is said ------------------------------------------------------- */

TEST(what_is_said_is_told_to_its_end_on_a_narrow_screen)
{
	char all[512];
	int cols, i;

	page.medium = PAGE_SCREEN;
	snprintf(page.message, sizeof page.message, "follow 7f3c04106dc0: until "
	    "it ends, F or the cursor is moved");
	for (cols = 33; cols < 100; cols++) {
		compose(cols, 10);
		assert_fits(cols, 10);
		all[0] = '\0';
		for (i = 10 - pic.said; i < 10; i++) {
			strcat(all, pic.line[i].text);
			strcat(all, " ");
		}
		all[strlen(page.message)] = '\0';
		ck_assert_str_eq(all, page.message);
	}
	for (i = 1; i < 10; i++) {
		compose(33, i);
		assert_fits(33, i);
		ck_assert_int_lt(pic.said, i < 2 ? 2 : i);
	}
}

/* --- counters ----------------------------------------------------------- */

TEST(counter_that_moved_is_marked_for_ten_seconds)
{
	page.layout = PAGE_WIDE;
	compose(80, 24);
	ck_assert(!marked(23, PAGE_STATUS));
	scene_free(&scene, 0xdead0);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(shows("unk 1"));
	ck_assert(marked(23, PAGE_STATUS));
	scene.look.now_ms += 9999;
	compose(80, 24);
	ck_assert(marked(23, PAGE_STATUS));
	scene.look.now_ms += 1;
	compose(80, 24);
	ck_assert(!marked(23, PAGE_STATUS));
}

TEST(rate_and_cost_are_taken_once_a_second)
{
	page.layout = PAGE_WIDE;
	scene.view.now.ns = 5000000000;
	compose(80, 24);
	scene.look.work.total_records += 4000;
	scene.look.work.cycle_us = 999;
	scene.view.now.ns += 500000000;
	compose(80, 24);
	ck_assert(!shows("999us"));
	ck_assert(!shows("/s "));
	scene.view.now.ns += 500000000;
	compose(80, 24);
	ck_assert(shows("999us"));
	ck_assert(shows("4.0 k/s"));
}

TEST(rate_is_not_told_while_records_are_skipped)
{
	page.layout = PAGE_WIDE;
	compose(80, 24);
	scene.look.work.total_records += 4000;
	scene.look.behind = true;
	scene.view.now.ns += 1000000000;
	compose(80, 24);
	ck_assert(!shows("/s "));
	scene.look.behind = false;
	scene.look.settled = false;
	scene.view.now.ns += 1000000000;
	compose(80, 24);
	ck_assert(!shows("/s "));
	scene.look.settled = true;
	scene.view.now.ns += 1000000000;
	compose(80, 24);
	ck_assert(shows("0 /s "));
}

CASE("line", .setup = setup_note, .teardown = teardown);

TEST(rate_text_has_four_digits_at_most)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rates[] = {
		{ 0, "0 /s" }, { 999, "999 /s" }, { 1000, "1.0 k/s" },
		{ 8123, "8.1 k/s" }, { 99999, "99.9 k/s" },
		{ 100000, "100 k/s" }, { 1000000, "1.0 M/s" },
		{ 60000000, "60.0 M/s" }, { UINT64_MAX, "*" },
	};
	char out[16];
	size_t i;

	for (i = 0; i < BASE_NELEM(rates); i++) {
		page_rate_text(out, rates[i].n);
		ck_assert_str_eq(out, rates[i].text);
	}
}

/* --- keys --------------------------------------------------------------- */

LOOP_TEST(key_bar_fits_and_always_tells_help_and_quit, 16, 200)
{
	picture_begin(&pic, _i, true);
	picture_line(&pic);
	page_key_bar(&pic, _i, false);
	ck_assert_int_eq(picture_end(&pic), 0);
	assert_fits(_i, 1);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "? help"));
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "q quit"));
}

/* Each of its keys does there what it says, and q quits nothing. */
TEST(key_bar_of_what_lies_over_the_page_has_no_others)
{
	picture_begin(&pic, 120, true);
	picture_line(&pic);
	page_key_bar(&pic, 120, true);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert_str_eq(pic.line[0].text, "? help  Space pause  6 nodes");
	ck_assert_int_eq(page_key_bar_code(120, 9, true), ' ');
	ck_assert_int_eq(page_key_bar_code(120, 30, true), PAGE_KEY_NONE);
}

static void
put_help(void)
{
	int i;

	for (i = 0; i < PAGE_KEYS; i++)
		page_keys_help(&pic, (enum page_keys)i);
}

static void
put_bar(void)
{
	picture_begin(&pic, 120, true);
	picture_line(&pic);
	page_key_bar(&pic, 120, false);
	ck_assert_int_eq(picture_end(&pic), 0);
}

/* In the help and in the bar; a key of its own has the first word there. */
TEST(keys_are_told_as_they_are_bound)
{
	put_bar();
	ck_assert(shows("s sort"));
	ck_assert(page_key_bind(PAGE_KEY_F0 + 5, PAGE_DO_SORT));
	ck_assert(page_key_bind('s', PAGE_DO_NOTHING));
	ck_assert(page_key_bind('e', PAGE_DO_NOTHING));
	ck_assert(page_key_bind('a', PAGE_DO_DOWN));
	put_bar();
	ck_assert(shows("F5 sort"));
	ck_assert(!shows("save"));
	picture_begin(&pic, 120, true);
	put_help();
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert(shows("  F6 F5      choose the sort"));
	ck_assert(shows("  (no key)   save"));
	ck_assert(shows("  j Down a   move"));
	page_keys_unbind();
	picture_begin(&pic, 120, true);
	put_help();
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert(shows("  j Down     move"));
	put_bar();
	ck_assert(shows("s sort"));
	ck_assert(!shows("F5 sort"));
}

/* Of xterm, the console and rxvt, where TERM does not know them. */
static const struct {
	const char *bytes;
	int code;
} sequences[] = {
	{ "[A", PAGE_KEY_UP }, { "OB", PAGE_KEY_DOWN },
	{ "[C", PAGE_KEY_RIGHT }, { "OD", PAGE_KEY_LEFT },
	{ "[H", PAGE_KEY_HOME }, { "OF", PAGE_KEY_END },
	{ "[1~", PAGE_KEY_HOME }, { "[4~", PAGE_KEY_END },
	{ "[5~", PAGE_KEY_PGUP }, { "[6~", PAGE_KEY_PGDN },
	{ "[7~", PAGE_KEY_HOME }, { "[8~", PAGE_KEY_END },
	{ "OP", PAGE_KEY_F0 + 1 }, { "OS", PAGE_KEY_F0 + 4 },
	{ "[[A", PAGE_KEY_F0 + 1 }, { "[[E", PAGE_KEY_F0 + 5 },
	{ "[11~", PAGE_KEY_F0 + 1 }, { "[15~", PAGE_KEY_F0 + 5 },
	{ "[17~", PAGE_KEY_F0 + 6 }, { "[20~", PAGE_KEY_F0 + 9 },
	{ "[21~", PAGE_KEY_F0 + 10 }, { "[24~", PAGE_KEY_F0 + 12 },
	{ "[1;5A", PAGE_KEY_OTHER }, { "[5;5~", PAGE_KEY_OTHER },
	{ "[200~", PAGE_KEY_OTHER }, { "[9~", PAGE_KEY_OTHER },
	{ "[16~", PAGE_KEY_OTHER }, { "[99999999999999999999~", PAGE_KEY_OTHER },
	{ "[E", PAGE_KEY_OTHER }, { "[G", PAGE_KEY_OTHER },
	{ "OA", PAGE_KEY_UP }, { "OM", PAGE_KEY_OTHER },
	{ "[Z", PAGE_KEY_OTHER }, { "[[F", PAGE_KEY_OTHER },
	{ "[-5~", PAGE_KEY_OTHER }, { "[~", PAGE_KEY_OTHER },
	{ "[?1;2c", PAGE_KEY_OTHER }, { "[", PAGE_KEY_OTHER },
};

LOOP_TEST(sequence_of_a_key_is_one_key, 0, (int)BASE_NELEM(sequences))
{
	const char *bytes = sequences[_i].bytes;
	size_t n, len = strlen(bytes);

	ck_assert_int_eq(page_key_sequence(bytes), sequences[_i].code);
	for (n = 1; n < len; n++)
		ck_assert(page_key_goes_on(bytes, n));
	ck_assert(len == 1 || !page_key_goes_on(bytes, len));
	/* No other key behind Esc begins one. */
	ck_assert(!page_key_goes_on("q", 1) && !page_key_goes_on("1", 1));
}

TEST(help_names_every_key_once)
{
	static const char *const names[] = {
		"j Down", "k Up", "PgDn ^F", "PgUp ^B", "^D", "^U", "g Home",
		"G End", "Enter", "s F6", "r", "f \\ F4", "/ F3", "b", "t F5",
		"c", "Space", "e", "^L", ":", "l", "T", "Q F9",
		"? h F1", "Esc", "q F10", "^Z", "^C",
	};
	char line[32];
	size_t i;

	picture_begin(&pic, 120, true);
	put_help();
	ck_assert_int_eq(picture_end(&pic), 0);
	for (i = 0; i < BASE_NELEM(names); i++) {
		snprintf(line, sizeof line, "  %-9s  ", names[i]);
		ck_assert_msg(shows(line), "%s", names[i]);
	}
}

/* Every word of it is there, however narrow the page. */
TEST(help_is_whole_on_40_columns)
{
	char all[16384] = "";
	size_t len = 0;
	int i, words = 0;

	picture_begin(&pic, 40, true);
	put_help();
	page_counters_help(&pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	assert_fits(40, pic.rows);
	for (i = 0; i < pic.rows; i++)
		base_append(all, sizeof all, &len, "%s ",
		    pic.line[i].text + strspn(pic.line[i].text, " "));
	words += strstr(all, "Tab completes it ") != NULL;
	words += strstr(all, "to *L<>: ") != NULL;
	words += strstr(all, "pager ") != NULL;
	ck_assert_int_eq(words, 3);
}

TEST(keys_do_what_the_table_says)
{
	char name[16];

	ck_assert_int_eq(page_key_action('j'), PAGE_DO_DOWN);
	ck_assert_int_eq(page_key_action(PAGE_KEY_F10), PAGE_DO_QUIT);
	ck_assert_int_eq(page_key_action(27), PAGE_DO_CLOSE);
	ck_assert_int_eq(page_key_action('Z'), PAGE_DO_NOTHING);
	ck_assert_int_eq(page_key_action(0), PAGE_DO_NOTHING);
	ck_assert_int_eq(page_key_action(-1), PAGE_DO_NOTHING);
	page_key_name('z', name);
	ck_assert_str_eq(name, "z");
	page_key_name(24, name);
	ck_assert_str_eq(name, "^X");
	page_key_name(PAGE_KEY_F0 + 5, name);
	ck_assert_str_eq(name, "F5");
	page_key_name(0x1f600, name);
	ck_assert_str_eq(name, "U+1F600");
}

/* --- the picture itself ------------------------------------------------- */

TEST(clipped_text_leaves_a_trace)
{
	picture_begin(&pic, 10, false);
	picture_line(&pic);
	picture_text(&pic, "abcdefgh", 5, PICTURE_LEFT);
	picture_text(&pic, "\xe6\xbc\xa2\xe5\xad\x97", 3, PICTURE_LEFT);
	picture_printf(&pic, "%s", "0123456789");
	picture_line(&pic);
	picture_clip(&pic, "AHDRMSGS", 7, PICTURE_LEFT);
	picture_text(&pic, "12", 3, PICTURE_RIGHT);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert_str_eq(pic.line[0].text, "abcd~\xe6\xbc\xa2~01");
	ck_assert_str_eq(pic.line[1].text, "AHDRMSG 12");
}

TEST(long_sentence_wraps_at_blanks)
{
	picture_begin(&pic, 10, false);
	ck_assert_int_eq(picture_wrap(&pic, "one two three  four five six", 3,
	    PAGE_WARN), 3);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert_str_eq(pic.line[0].text, "one two");
	ck_assert_str_eq(pic.line[1].text, "three ");
	ck_assert_str_eq(pic.line[2].text, "four five~");
	picture_begin(&pic, 4, false);
	ck_assert_int_eq(picture_wrap(&pic, "abcdefghij", 9, PAGE_WARN), 3);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert_str_eq(pic.line[2].text, "ij");
}

TEST(many_rows_and_reuse_keep_their_text)
{
	int i, round;
	char want[32];

	for (round = 0; round < 3; round++) {
		picture_begin(&pic, 100, false);
		for (i = 0; i < 20000; i++) {
			picture_line(&pic);
			picture_printf(&pic, "row %d of %d", i, round);
			picture_mark_line(&pic, PAGE_NEW);
		}
		ck_assert_int_eq(picture_end(&pic), 0);
		ck_assert_int_eq(pic.rows, 20000);
		for (i = 0; i < 20000; i += 777) {
			snprintf(want, sizeof want, "row %d of %d", i, round);
			ck_assert_str_eq(pic.line[i].text, want);
			ck_assert_int_eq(pic.line[i].nspan, 1);
		}
	}
}

TEST(age_text_is_five_columns_at_most)
{
	static const struct {
		uint64_t s;
		const char *text;
	} ages[] = {
		{ 0, "0s" }, { 59, "59s" }, { 60, "1m00s" },
		{ 599, "9m59s" }, { 3599, "59m" }, { 127, "2m07s" }, { 3600, "1h00m" },
		{ 4380, "1h13m" }, { 86399, "23h" }, { 86400, "1d00h" },
		{ 273600, "3d04h" }, { 864000, "10d" }, { 8640000, "100d" },
		{ UINT64_MAX, "*" },
	};
	char out[8];
	size_t i;

	for (i = 0; i < BASE_NELEM(ages); i++) {
		page_cell_age(out, ages[i].s);
		ck_assert_int_le(strlen(out), 5);
		ck_assert_str_eq(out, ages[i].text);
	}
}

static const struct {
	int64_t s;	/* the first second that shows `text` */
	const char *before, *text;
} age_steps[] = {
	{ 1, "0s", "1s" }, { 59, "58s", "59s" }, { 60, "59s", "1m00s" },
	{ 70, "1m00s", "1m10s" }, { 600, "9m50s", "10m" },
	{ 3600, "59m", "1h00m" }, { 3660, "1h00m", "1h01m" },
	{ 86400, "23h", "1d00h" }, { 864000, "9d23h", "10d" },
};

CASE("target");

/* From one minute on the wide row's age advances in steps of ten seconds. */
LOOP_TEST(an_age_changes_when_its_next_step_begins, 0, BASE_NELEM(age_steps))
{
	char text[16];
	struct blk b;

	page.medium = PAGE_SCREEN;
	compose(80, 24);
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, &b, 1), 1);
	scene.look.now_ms = b.ms + age_steps[_i].s * 1000 - 1;
	compose(80, 24);
	snprintf(text, sizeof text, " %s ", age_steps[_i].before);
	ck_assert_ptr_nonnull(strstr(pic.line[page.found.spots.first].text, text));
	scene.look.now_ms++;
	compose(80, 24);
	snprintf(text, sizeof text, " %s ", age_steps[_i].text);
	ck_assert_ptr_nonnull(strstr(pic.line[page.found.spots.first].text, text));
}

#ifndef SANITIZED
/* All that can be had; the limit goes first, or it would be the machine's. */
static void
use_up_memory(void)
{
	/* The kernel takes 0 for no limit. */
	struct rlimit none = { 1, RLIM_INFINITY };
	size_t bytes;

	(void)setrlimit(RLIMIT_DATA, &none);
	for (bytes = 1 << 20; bytes > 0; bytes /= 2)
		while (malloc(bytes) != NULL)
			;
}

static const int heights[] = { 2, 10, 24, 60 };

CASE("memory", .setup = setup_note, .teardown = teardown, .tags = TAG_KERNEL);

LOOP_TEST(a_picture_without_memory_comes_to_an_end, 0,
    2 * (int)BASE_NELEM(heights))
{
	struct rlimit had;
	int r;

	ck_assert_int_eq(getrlimit(RLIMIT_DATA, &had), 0);
	use_up_memory();
	r = page_compose_view(&page, &scene.view, _i % 2 == 0 ? 80 : 124,
	    heights[_i / 2], &pic);
	/* What tells of it wants some. */
	(void)setrlimit(RLIMIT_DATA, &had);
	ck_assert_int_eq(r, -ENOMEM);
	ck_assert_int_eq(pic.rows, 0);
}
#endif

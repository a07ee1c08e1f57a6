/*
 * The pictures of page K: the note's to the byte, every size, every state,
 * outside text.  Pictures that are wanted as they are lie in tests/golden;
 * with PAGEK_GOLDEN=write they are written anew, to be read before they are
 * kept.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "../src/pagek/keys.h"
#include "harness.h"
#include "scene.h"

static struct scene scene;
static struct page page;
static struct page_picture pic;

static void
setup(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setenv("TZ", "UTC", 1);
	scene_symbol_override = NULL;
	pic = (struct page_picture){ 0 };
	page_init(&page, &(struct page_opts){ .listing = "0509" });
}

static void
teardown(void)
{
	page_thaw(&page);
	page_picture_fini(&pic);
	scene_fini(&scene);
}

static void
setup_note(void)
{
	setup();
	scene_note(&scene);
}

static void
setup_target(void)
{
	setup();
	scene_target(&scene, 60);
}

static void
compose(int cols, int rows)
{
	ck_assert_int_eq(page_compose_view(&page, &scene.view, cols, rows,
	    &pic), 0);
}

/* Columns of a line as the terminal counts them; -1 for what it cannot show. */
static int
columns_of(const char *text)
{
	wchar_t wide[4096];
	size_t n = mbstowcs(wide, text, BASE_NELEM(wide));

	return n == (size_t)-1 ? -1 : wcswidth(wide, n);
}

static void
assert_fits(int cols, int rows)
{
	int i, w;

	if (rows > 0)
		ck_assert_int_eq(pic.rows, rows);
	for (i = 0; i < pic.rows; i++) {
		w = columns_of(pic.line[i].text);
		ck_assert_msg(w >= 0 && w <= cols, "%d of %d columns: %s", w,
		    cols, pic.line[i].text);
	}
}

static void
assert_golden(const char *name)
{
	const char *mode = getenv("PAGEK_GOLDEN");
	char path[128], want[PAGE_COLS_MAX * 4 + 2];
	FILE *f;
	int i;

	snprintf(path, sizeof path, "tests/golden/%s.ok", name);
	if (mode != NULL && strcmp(mode, "write") == 0) {
		f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		for (i = 0; i < pic.rows; i++)
			fprintf(f, "%s\n", pic.line[i].text);
		fclose(f);
		return;
	}
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s is missing", path);
	for (i = 0; i < pic.rows; i++) {
		ck_assert_msg(fgets(want, sizeof want, f) != NULL,
		    "%s has but %d lines", path, i);
		want[strcspn(want, "\n")] = '\0';
		ck_assert_str_eq(pic.line[i].text, want);
	}
	ck_assert_msg(fgets(want, sizeof want, f) == NULL,
	    "%s has more than %d lines", path, i);
	fclose(f);
}

static bool
shows(const char *text)
{
	int i;

	for (i = 0; i < pic.rows; i++)
		if (strstr(pic.line[i].text, text) != NULL)
			return true;
	return false;
}

static bool
marked(int row, enum page_mark mark)
{
	int i;

	for (i = 0; i < pic.line[row].nspan; i++)
		if (pic.line[row].span[i].mark == mark)
			return true;
	return false;
}

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

START_TEST(strict_page_is_the_notes_nine_lines)
{
	static const int cols[] = { 33, 40, 80, 124 };
	size_t i;

	page.layout = PAGE_CLASSIC_STRICT;
	page.opts.order = BLKLIST_BY_ADDRESS;
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
END_TEST

START_TEST(age_order_begins_with_the_oldest)
{
	page.layout = PAGE_CLASSIC_STRICT;
	compose(33, 24);
	ck_assert_str_eq(pic.line[3].text, note_lines[5]);
	page_set_order(&page, BLKLIST_BY_AGE, true);
	compose(33, 24);
	ck_assert_str_eq(pic.line[8].text, note_lines[5]);
}
END_TEST

START_TEST(status_line_holds_the_notes_seven_counters)
{
	page.layout = PAGE_CLASSIC;
	page.opts.order = BLKLIST_BY_ADDRESS;
	compose(33, 24);
	ck_assert_str_eq(pic.line[23].text,
	    "LIVE 82us r9 a6 f2042 t0 d0 o0 l0");
	ck_assert_str_eq(pic.line[22].text, "");
	compose(33, 0);
	ck_assert_int_eq(pic.rows, 10);
	ck_assert_str_eq(pic.line[9].text,
	    "LIVE 82us r9 a6 f2042 t0 d0 o0 l0");
}
END_TEST

START_TEST(offs_scrolls_and_stops_at_the_last_row)
{
	page.layout = PAGE_CLASSIC_STRICT;
	page.opts.order = BLKLIST_BY_ADDRESS;
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
END_TEST

START_TEST(longer_listing_name_moves_nothing)
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
END_TEST

/* --- golden pictures ---------------------------------------------------- */

static const struct {
	const char *name;
	int cols, rows;
	enum page_layout layout;
	bool on_screen;
} golden_note[] = {
	{ "note-strict-80", 80, 24, PAGE_CLASSIC_STRICT, true },
	{ "note-33", 33, 24, PAGE_AUTO, true },
	{ "note-33x7", 33, 7, PAGE_AUTO, true },
	{ "note-40", 40, 12, PAGE_AUTO, true },
	{ "note-80", 80, 24, PAGE_AUTO, true },
	{ "note-80-classic", 80, 24, PAGE_CLASSIC, true },
	{ "note-124", 124, 30, PAGE_AUTO, true },
	{ "note-20x5", 20, 5, PAGE_AUTO, true },
	{ "note-6x3", 6, 3, PAGE_AUTO, true },
	{ "note-1x1", 1, 1, PAGE_AUTO, true },
	{ "note-text", 80, 0, PAGE_AUTO, false },
};

START_TEST(picture_of_the_note_is_golden)
{
	page.layout = golden_note[_i].layout;
	page.on_screen = golden_note[_i].on_screen;
	page.opts.order = BLKLIST_BY_ADDRESS;
	compose(golden_note[_i].cols, golden_note[_i].rows);
	assert_fits(golden_note[_i].cols, golden_note[_i].rows);
	assert_golden(golden_note[_i].name);
}
END_TEST

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

START_TEST(picture_of_a_target_is_golden)
{
	page.layout = golden_target[_i].layout;
	page.on_screen = true;
	page.hz = 15;
	page.rated = page.sampled = true;
	page.rate = 8123;
	page.cost_us = 82;
	page.sample_at = scene.view.now;
	page.message[0] = '\0';
	compose(golden_target[_i].cols, golden_target[_i].rows);
	assert_fits(golden_target[_i].cols, golden_target[_i].rows);
	assert_golden(golden_target[_i].name);
}
END_TEST

/* --- states ------------------------------------------------------------- */

struct state_case {
	const char *name;
	enum nodes_state state;
	const char *word;	/* in line 1 */
	const char *reason;
	int32_t status;
	bool incomplete;
	bool unsettled;
	bool no_list;
	int exec_error;
};

static const struct state_case state_cases[] = {
	{ .name = "live", .state = NODES_LIVE, .word = "LIVE" },
	{ .name = "connecting", .state = NODES_CONNECTING,
	    .word = "CONNECTING", .no_list = true },
	{ .name = "ended-signal", .state = NODES_ENDED,
	    .word = "ENDED 15:03:58 signal 11", .status = 11 },
	{ .name = "ended-exit", .state = NODES_ENDED,
	    .word = "ENDED 15:03:58 exit 3", .status = 3 << 8 },
	{ .name = "ended-unknown", .state = NODES_ENDED,
	    .word = "ENDED 15:03:58", .status = -1 },
	{ .name = "ended-lossy", .state = NODES_ENDED, .word = "LOSSY +412",
	    .status = 0, .incomplete = true },
	{ .name = "corrupt", .state = NODES_CORRUPT, .word = "CORRUPT" },
	{ .name = "no-data", .state = NODES_NO_DATA, .word = "NO DATA",
	    .reason = "redis-server is linked statically: nothing to preload",
	    .no_list = true },
	{ .name = "no-alloclog", .state = NODES_NO_ALLOCLOG,
	    .word = "NO ALLOCLOG", .no_list = true },
	{ .name = "unreachable", .state = NODES_UNREACHABLE,
	    .word = "UNREACHABLE 12s", .reason = "the node has closed the "
	    "link" },
	{ .name = "denied", .state = NODES_DENIED, .word = "DENIED",
	    .reason = "the node belongs to uid 1001", .no_list = true },
	{ .name = "version", .state = NODES_VERSION, .word = "VERSION",
	    .reason = "the node speaks version 2, this page 1",
	    .no_list = true },
	{ .name = "lossy", .state = NODES_LIVE, .word = "LOSSY +412 lost",
	    .incomplete = true },
	{ .name = "loading", .state = NODES_LIVE, .word = "LOADING",
	    .unsettled = true },
	{ .name = "not-run", .state = NODES_NO_DATA, .word = "NO DATA",
	    .no_list = true, .exec_error = 2 },
};

static void
set_state(const struct state_case *c)
{
	struct nodes_look *look = &scene.look;

	look->state = c->state;
	look->reason = c->reason != NULL ? c->reason : "";
	look->status = c->status;
	look->exec_error = c->exec_error;
	look->settled = !c->unsettled;
	if (c->state == NODES_ENDED)
		look->ended_wall_ms = INT64_C(1795187038000);
	if (c->incomplete) {
		look->complete = false;
		look->incomplete_wall_ms = INT64_C(1795187060000);
		look->lost[STREAM_RING_FULL] = 400;
		look->lost[STREAM_WRITER_DIED] = 12;
	}
	if (c->no_list)
		look->list = NULL;
	scene_refresh(&scene);
	page.stated = true;
	page.state = c->state;
	page.state_at = (struct mono){ .ns = 1000000000 };
	scene.view.now = (struct mono){ .ns = INT64_C(13000000000) };
}

START_TEST(state_word_is_in_line_1)
{
	const struct state_case *c = &state_cases[_i];
	char file[64];

	page.on_screen = true;
	set_state(c);
	compose(80, 16);
	ck_assert_msg(strstr(pic.line[0].text, c->word) != NULL,
	    "%s not in: %s", c->word, pic.line[0].text);
	snprintf(file, sizeof file, "state-%s-80", c->name);
	assert_golden(file);
	compose(33, 10);
	snprintf(file, sizeof file, "state-%s-33", c->name);
	assert_golden(file);
}
END_TEST

START_TEST(state_is_told_at_every_size)
{
	const struct state_case *c = &state_cases[_i];
	struct page_state st;
	int cols;

	page.on_screen = true;
	set_state(c);
	page_state_get(&page, &scene.view, &st);
	for (cols = 1; cols < 150; cols += cols < 40 ? 1 : 13) {
		compose(cols, 10);
		assert_fits(cols, 10);
		if (cols >= 11)
			ck_assert(shows(st.name) || shows(st.brief));
		compose(cols, 3);
		assert_fits(cols, 3);
	}
}
END_TEST

START_TEST(lost_link_keeps_the_picture_and_greys_it)
{
	set_state(&(struct state_case){ .state = NODES_UNREACHABLE });
	compose(80, 24);
	ck_assert(shows("7f3c04001040"));
	ck_assert(marked(10, PAGE_STALE));
}
END_TEST

START_TEST(empty_list_and_lost_link_do_not_look_alike)
{
	char empty[128];
	unsigned i;

	for (i = 0; i < 60; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x10020ul);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(shows("EMPTY"));
	ck_assert(shows("connected, 0 blocks since"));
	snprintf(empty, sizeof empty, "%.127s", pic.line[0].text);
	set_state(&(struct state_case){ .state = NODES_UNREACHABLE });
	compose(80, 24);
	ck_assert(!shows("EMPTY"));
	ck_assert_str_ne(pic.line[0].text, empty);
}
END_TEST

START_TEST(mended_loss_says_that_the_list_is_taken_anew)
{
	scene.look.settled = false;
	scene.look.lost[STREAM_OVERWRITTEN] = 2031;
	compose(80, 24);
	ck_assert(shows("LOSSY +2,031 lost"));
	ck_assert(shows("taken anew"));
	ck_assert(!shows("INCOMPLETE"));
}
END_TEST

/* --- widths ------------------------------------------------------------- */

static const enum page_layout layouts[] = {
	PAGE_AUTO, PAGE_CLASSIC, PAGE_CLASSIC_STRICT, PAGE_WIDE,
};

START_TEST(no_line_is_wider_than_the_terminal)
{
	int cols = _i;
	size_t l;

	page.on_screen = true;
	page.hz = 15;
	page.rated = page.sampled = true;
	page.sample_at = scene.view.now;
	page.rate = UINT64_MAX;
	scene.look.cycle_records = UINT64_MAX;
	scene.look.cycle_us = UINT32_MAX;
	scene.look.bad_records = UINT64_MAX;
	scene.look.lost[STREAM_LINK] = UINT64_MAX;
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		compose(cols, 24);
		assert_fits(cols, 24);
		compose(cols, 5);
		assert_fits(cols, 5);
		compose(cols, 0);
		assert_fits(cols, 0);
		scene.look.target_name = "a target with a very long name "
		    "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97";
		snprintf(page.message, sizeof page.message,
		    "a message that is longer than many terminals are wide, "
		    "and says little else that one would have to know");
		compose(cols, 24);
		assert_fits(cols, 24);
		page.prompt = ":target \xe6\xbc\xa2\xe5\xad\x97 and so on and "
		    "so on and so on, longer than the line it is typed on";
		compose(cols, 24);
		assert_fits(cols, 24);
		ck_assert_int_lt(pic.cursor_col, cols);
		page.prompt = NULL;
		page.message[0] = '\0';
	}
}
END_TEST

START_TEST(every_height_is_filled_exactly)
{
	size_t l;

	page.on_screen = true;
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		compose(80, _i);
		assert_fits(80, _i);
		compose(33, _i);
		assert_fits(33, _i);
	}
}
END_TEST

START_TEST(classic_rows_are_whole_from_33_columns)
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
END_TEST

START_TEST(cells_do_not_widen_the_row)
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
END_TEST

START_TEST(high_half_of_an_address_stands_in_the_status_line)
{
	page.layout = PAGE_CLASSIC;
	compose(34, 12);
	ck_assert(shows("LIVE 7F3C "));
	ck_assert(shows("04001040 "));
	compose(37, 12);
	ck_assert(shows("7F3C04001040 "));
	ck_assert(!shows("LIVE 7F3C "));
}
END_TEST

START_TEST(age_text_is_five_columns_at_most)
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
END_TEST

/* --- outside text ------------------------------------------------------- */

START_TEST(hostile_names_are_escaped_and_clipped)
{
	static char symbol[4200];
	int i;

	memset(symbol, 'x', sizeof symbol - 1);
	memcpy(symbol, "a\033[2Jb\n\r\t\xff", 10);
	scene_symbol_override = symbol;
	scene.look.node_name = "a\033[2Jb";
	scene.look.target_name = "\xe2\x80\xae" "evil\x9b";
	scene.look.state = NODES_NO_DATA;
	scene.look.reason = "because\033]0;title\007 of\nthis";
	scene_refresh(&scene);
	page.on_screen = true;
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
END_TEST

START_TEST(list_row_is_whole_and_safe)
{
	char row[512], small[16];
	struct blk b;

	scene_symbol_override = "f\033(int)  file.c:3";
	ck_assert_int_eq(blklist_window(scene.list, BLKLIST_BY_AGE, false, 0,
	    &b, 1), 1);
	page_row_text_view(&page, &scene.view, &b, row, sizeof row);
	ck_assert(strstr(row, "7f3c04001040        65536 80 malloc") == row);
	ck_assert_ptr_nonnull(strstr(row, "(int)  file.c:3"));
	ck_assert_ptr_null(strchr(row, '\033'));
	page_row_text_view(&page, &scene.view, &b, small, sizeof small);
	ck_assert_int_eq(strlen(small), sizeof small - 1);
	page.layout = PAGE_CLASSIC;
	page_row_text_view(&page, &scene.view, &b, row, sizeof row);
	ck_assert_int_eq(strlen(row), 33);
}
END_TEST

START_TEST(ascii_page_is_pure_ascii)
{
	int i;

	page.opts.ascii = true;
	scene_symbol_override = "caf\xc3\xa9 \xe6\xbc\xa2";
	scene.look.target_name = "\xe6\xbc\xa2";
	compose(124, 20);
	for (i = 0; i < pic.rows; i++)
		ck_assert_int_eq(strlen(pic.line[i].text),
		    strspn(pic.line[i].text, " !\"#$%&'()*+,-./0123456789:;<=>?"
		    "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuv"
		    "wxyz{|}~"));
}
END_TEST

START_TEST(without_utf8_the_page_is_ascii)
{
	setlocale(LC_ALL, "C");
	page_init(&page, &(struct page_opts){ 0 });
	ck_assert(page.opts.ascii);
	setlocale(LC_ALL, "C.UTF-8");
	page_init(&page, &(struct page_opts){ 0 });
	ck_assert(!page.opts.ascii);
}
END_TEST

/* --- moving and pausing ------------------------------------------------- */

START_TEST(cursor_stays_on_its_block)
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
	ck_assert_int_eq(page.cursor, 8);
	ck_assert(marked(3 + 8, PAGE_CURSOR));
	ck_assert_int_eq(strncmp(pic.line[3 + 8].text, held, 12), 0);
	page_set_order(&page, BLKLIST_BY_AGE, true);
	compose(80, 24);
	ck_assert_int_eq(page.cursor, 58 - 1 - 8);
	ck_assert(shows(held));
}
END_TEST

START_TEST(scrolled_rows_do_not_jump)
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
END_TEST

START_TEST(cursor_of_a_freed_block_takes_its_place)
{
	compose(80, 24);
	page_move_to(&page, 59);
	compose(80, 24);
	scene_free(&scene, UINT64_C(0x7f3c04001040) + 59 * 0x10020ul);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert_int_eq(page.cursor, 58);
	page_move(&page, -1000000);
	ck_assert_int_eq(page.cursor, 0);
	page_move(&page, INT64_MAX);
	ck_assert_int_eq(page.cursor, 58);
}
END_TEST

START_TEST(paused_picture_stands_still_and_counts)
{
	char before[24][128];
	int i;

	compose(80, 24);
	for (i = 0; i < 24; i++)
		snprintf(before[i], sizeof before[i], "%.127s",
		    pic.line[i].text);
	ck_assert_int_eq(page_freeze(&page, &scene.view), 0);
	for (i = 0; i < 30; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) +
		    (unsigned)i * 0x10020ul);
	scene.look.now_ms += 60000;
	scene_refresh(&scene);
	page_view_frozen(&scene.view, &page);
	compose(80, 24);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "PAUSED +30"));
	for (i = 1; i < 24; i++)
		ck_assert_str_eq(pic.line[i].text, before[i]);
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	compose(80, 24);
	ck_assert(strncmp(pic.line[3].text, "7f3c043b", 8) == 0);
	page_thaw(&page);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert_ptr_null(strstr(pic.line[0].text, "PAUSED"));
	ck_assert(shows("30 blocks"));
}
END_TEST

START_TEST(paused_picture_keeps_its_requesters)
{
	ck_assert_int_eq(page_freeze(&page, &scene.view), 0);
	scene_free(&scene, 0x008e66b8);
	scene_refresh(&scene);
	page_view_frozen(&scene.view, &page);
	page.layout = PAGE_CLASSIC;
	compose(40, 16);
	ck_assert(shows("008E66B8 0048 0C ACREQ   AB86  13"));
	ck_assert(shows("PAUSED +1"));
}
END_TEST

START_TEST(end_of_a_target_shows_through_a_pause)
{
	ck_assert_int_eq(page_freeze(&page, &scene.view), 0);
	set_state(&(struct state_case){ .state = NODES_ENDED, .status = 9 });
	page_view_frozen(&scene.view, &page);
	compose(80, 24);
	ck_assert(shows("PAUSED +0  ENDED 15:03:58 signal 9"));
}
END_TEST

/* --- counters ----------------------------------------------------------- */

START_TEST(counter_that_moved_is_marked_for_ten_seconds)
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
END_TEST

START_TEST(rate_and_cost_are_taken_once_a_second)
{
	page.layout = PAGE_WIDE;
	scene.view.now.ns = 5000000000;
	compose(80, 24);
	scene.look.total_records += 4000;
	scene.look.cycle_us = 999;
	scene.view.now.ns += 500000000;
	compose(80, 24);
	ck_assert(!shows("999us"));
	ck_assert(!shows("/s "));
	scene.view.now.ns += 500000000;
	compose(80, 24);
	ck_assert(shows("999us"));
	ck_assert(shows("4.0 k/s"));
}
END_TEST

START_TEST(rate_text_has_four_digits_at_most)
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
END_TEST

/* --- keys --------------------------------------------------------------- */

START_TEST(key_bar_fits_and_always_tells_help_and_quit)
{
	picture_begin(&pic, _i, true);
	picture_line(&pic);
	page_key_bar(&pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	assert_fits(_i, 1);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "? help"));
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "q quit"));
}
END_TEST

START_TEST(help_names_every_key_once)
{
	static const char *const names[] = {
		"j Down", "k Up", "PgDn", "PgUp", "g Home", "G End", "s", "r",
		"c", "Space", "e", "^L", ":", "l", "Q", "? h F1", "Esc",
		"q F10", "^Z", "^C",
	};
	char line[32];
	size_t i;

	picture_begin(&pic, 120, true);
	page_keys_help(&pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	for (i = 0; i < BASE_NELEM(names); i++) {
		snprintf(line, sizeof line, "  %-8s  ", names[i]);
		ck_assert_msg(shows(line), "%s", names[i]);
	}
}
END_TEST

START_TEST(keys_do_what_the_table_says)
{
	char name[16];

	ck_assert_int_eq(page_key_action('j'), PAGE_DO_DOWN);
	ck_assert_int_eq(page_key_action(PAGE_KEY_F10), PAGE_DO_QUIT);
	ck_assert_int_eq(page_key_action(27), PAGE_DO_CLOSE);
	ck_assert_int_eq(page_key_action('z'), PAGE_DO_NOTHING);
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
END_TEST

/* --- the picture itself ------------------------------------------------- */

START_TEST(clipped_text_leaves_a_trace)
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
END_TEST

START_TEST(long_sentence_wraps_at_blanks)
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
END_TEST

START_TEST(many_rows_and_reuse_keep_their_text)
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
END_TEST

static Suite *
picture_suite(void)
{
	Suite *s = suite_create("picture");
	TCase *note = tcase_create("note"), *target = tcase_create("target");
	TCase *line = tcase_create("line");

	tcase_add_checked_fixture(note, setup_note, teardown);
	tcase_add_loop_test(note, strict_page_is_the_notes_nine_lines, 0, 4);
	tcase_add_test(note, age_order_begins_with_the_oldest);
	tcase_add_test(note, status_line_holds_the_notes_seven_counters);
	tcase_add_test(note, offs_scrolls_and_stops_at_the_last_row);
	tcase_add_test(note, longer_listing_name_moves_nothing);
	tcase_add_loop_test(note, picture_of_the_note_is_golden, 0,
	    (int)BASE_NELEM(golden_note));
	tcase_add_test(note, paused_picture_keeps_its_requesters);
	suite_add_tcase(s, note);

	tcase_add_checked_fixture(target, setup_target, teardown);
	tcase_add_loop_test(target, picture_of_a_target_is_golden, 0,
	    (int)BASE_NELEM(golden_target));
	tcase_add_loop_test(target, state_word_is_in_line_1, 0,
	    (int)BASE_NELEM(state_cases));
	tcase_add_loop_test(target, state_is_told_at_every_size, 0,
	    (int)BASE_NELEM(state_cases));
	tcase_add_test(target, lost_link_keeps_the_picture_and_greys_it);
	tcase_add_test(target, empty_list_and_lost_link_do_not_look_alike);
	tcase_add_test(target, mended_loss_says_that_the_list_is_taken_anew);
	tcase_add_loop_test(target, no_line_is_wider_than_the_terminal, 1,
	    301);
	tcase_add_loop_test(target, every_height_is_filled_exactly, 1, 70);
	tcase_add_loop_test(target, classic_rows_are_whole_from_33_columns,
	    33, 80);
	tcase_add_test(target, cells_do_not_widen_the_row);
	tcase_add_test(target,
	    high_half_of_an_address_stands_in_the_status_line);
	tcase_add_test(target, hostile_names_are_escaped_and_clipped);
	tcase_add_test(target, list_row_is_whole_and_safe);
	tcase_add_test(target, ascii_page_is_pure_ascii);
	tcase_add_test(target, without_utf8_the_page_is_ascii);
	tcase_add_test(target, cursor_stays_on_its_block);
	tcase_add_test(target, scrolled_rows_do_not_jump);
	tcase_add_test(target, cursor_of_a_freed_block_takes_its_place);
	tcase_add_test(target, paused_picture_stands_still_and_counts);
	tcase_add_test(target, end_of_a_target_shows_through_a_pause);
	tcase_add_test(target, counter_that_moved_is_marked_for_ten_seconds);
	tcase_add_test(target, rate_and_cost_are_taken_once_a_second);
	suite_add_tcase(s, target);

	tcase_add_test(line, age_text_is_five_columns_at_most);
	tcase_add_test(line, rate_text_has_four_digits_at_most);
	tcase_add_loop_test(line, key_bar_fits_and_always_tells_help_and_quit,
	    16, 200);
	tcase_add_test(line, help_names_every_key_once);
	tcase_add_test(line, keys_do_what_the_table_says);
	tcase_add_test(line, clipped_text_leaves_a_trace);
	tcase_add_test(line, long_sentence_wraps_at_blanks);
	tcase_add_test(line, many_rows_and_reuse_keep_their_text);
	tcase_add_checked_fixture(line, setup_note, teardown);
	suite_add_tcase(s, line);
	return s;
}

CHECK_MAIN(picture_suite)

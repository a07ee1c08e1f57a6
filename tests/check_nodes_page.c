/*
 * Page G as text: what each column shows at which width, what the cursor stays
 * on, and what Enter would go to.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "../src/pagek/panels/nodes_page.h"
#include "harness.h"

#define DAY_MS INT64_C(86400000)

/* The sample of the manual: one that is up, one without a node, one slow ... */
static struct nodes_surveyed_target acqd[3], rawd[1];
static struct nodes_surveyed rows[5];
static const struct nodes_surveyed *row[5];
static struct page_nodes nodes;
static struct page_opts opts;
static struct page_picture pic;

static struct nodes_surveyed_target
make_target(const char *comm, pid_t pid, uint64_t bytes, uint64_t rate)
{
	struct nodes_surveyed_target t = { .pid = pid, .state = WIRE_S_LIVE,
	    .bytes = bytes, .blocks = bytes / 64, .rated = true,
	    .rate = rate };

	snprintf(t.comm, sizeof t.comm, "%s", comm);
	snprintf(t.name, sizeof t.name, "ALLOCLOG.%s.%d", comm, (int)pid);
	return t;
}

static void
begin(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	acqd[0] = make_target("acqd", 4711, UINT64_C(134637158), 15800);
	acqd[1] = make_target("logd", 4712, 4096, 200);
	acqd[2] = make_target("sh", 4713, 64, 0);
	acqd[2].state = WIRE_S_ENDED;
	acqd[2].ended = true;
	rawd[0] = make_target("rawd", 88, 2202010, 41);
	rows[0] = (struct nodes_surveyed){ .number = 0x0590,
	    .name = "linac-a", .word = "0590", .where = "local",
	    .how = NODES_HOW_UP, .how_ms = 3 * DAY_MS, .seen_ms = 100,
	    .trip_us = 1000, .reason = "", .counted = true, .targets = 3,
	    .live = 2, .blocks = 2103770, .bytes = UINT64_C(134641254),
	    .rated = true, .rate = 16000, .target = acqd, .ntarget = 3 };
	rows[1] = (struct nodes_surveyed){ .number = 0x0509,
	    .name = "linac-b", .word = "0509", .where = "ssh:linac-b",
	    .how = NODES_HOW_NO_NODE, .how_ms = 500, .seen_ms = -1,
	    .trip_us = -1, .reason = "ssh linac-b: no node of ops runs here" };
	rows[2] = (struct nodes_surveyed){ .number = 0x0A12, .name = "gw-2",
	    .word = "0A12", .where = "unix:/run/gw", .how = NODES_HOW_SLOW,
	    .how_ms = 900, .seen_ms = 1200, .trip_us = 900000, .reason = "",
	    .counted = true, .targets = 1, .live = 1, .blocks = 34406,
	    .bytes = 2202010, .rated = true, .rate = 41, .target = rawd,
	    .ntarget = 1 };
	rows[3] = (struct nodes_surveyed){ .number = 0xAB86,
	    .name = "far-away-and-long-named", .word = "AB86",
	    .where = "ssh:far", .how = NODES_HOW_UNREACHABLE,
	    .how_ms = 12000, .seen_ms = 12000, .trip_us = 30000,
	    .reason = "ssh far: no route to host", .counted = true,
	    .blocks = 7, .bytes = 7, .targets = 1, .live = 1,
	    .target = rawd, .ntarget = 1 };
	rows[4] = (struct nodes_surveyed){ .number = 0, .word = "local",
	    .where = "local", .how = NODES_HOW_ASKED, .seen_ms = -1,
	    .trip_us = -1, .reason = "" };
	for (size_t i = 0; i < BASE_NELEM(rows); i++)
		row[i] = &rows[i];
	memset(&nodes, 0, sizeof nodes);
	memset(&opts, 0, sizeof opts);
	memset(&pic, 0, sizeof pic);
}

static void
end(void)
{
	page_picture_fini(&pic);
}

static void
compose(int cols, int lines)
{
	ck_assert_int_eq(page_nodes_compose(&nodes, row, BASE_NELEM(row),
	    &opts, cols, lines, &pic), 0);
}

static void
expect_line(int y, const char *text)
{
	char got[1024];
	size_t len;

	ck_assert_int_lt(y, pic.rows);
	snprintf(got, sizeof got, "%s", pic.line[y].text);
	/* What pads the last column is no difference. */
	for (len = strlen(got); len > 0 && got[len - 1] == ' '; len--)
		got[len - 1] = '\0';
	ck_assert_str_eq(got, text);
}

/* --- words -------------------------------------------------------------------- */

static const struct {
	enum nodes_how how;
	int64_t how_ms, seen_ms;
	const char *text;
} hows[] = {
	{ NODES_HOW_WAITING, 4000, -1, "waiting" },
	{ NODES_HOW_ASKED, 400, -1, "asking" },
	{ NODES_HOW_UP, 3 * DAY_MS, 0, "up 3d00h" },
	{ NODES_HOW_UP, 41000, 900, "up 41s" },
	{ NODES_HOW_UP, 41000, 40000, "up 41s seen 40s" },
	{ NODES_HOW_SLOW, 900, 900, "slow 900ms" },
	{ NODES_HOW_SLOW, 1250, 900, "slow 1.2s" },
	{ NODES_HOW_NO_NODE, 9999, -1, "no node" },
	{ NODES_HOW_UNREACHABLE, 12000, 99000, "unreachable 12s" },
	{ NODES_HOW_UNREACHABLE, 127000, -1, "unreachable 2m07s" },
	{ NODES_HOW_DENIED, 127000, -1, "denied" },
	{ NODES_HOW_VERSION, 127000, -1, "version" },
};

CASE("text", .setup = begin, .teardown = end);

LOOP_TEST(each_state_has_a_word, 0, BASE_NELEM(hows))
{
	struct nodes_surveyed r = { .how = hows[_i].how,
	    .how_ms = hows[_i].how_ms, .seen_ms = hows[_i].seen_ms };
	char text[PAGE_HOW_TEXT];

	page_how_text(&r, text);
	ck_assert_str_eq(text, hows[_i].text);
}

/* --- columns -------------------------------------------------------------------- */

TEST(the_page_at_65_columns)
{
	compose(65, 10);
	expect_line(0, "G NODES  1 up 1 slow 1 without node 1 unreachable "
	    "1 asked");
	expect_line(1, "  NODE NAME     TARGET               LIVE REC/s STATE");
	expect_line(2, "> 0590 linac-a  acqd[4711] +1   128.4 MiB 16.0K up 3d00h");
	expect_line(3, "  0509 linac-b  -                       -     - no node");
	expect_line(4, "  0A12 gw-2     rawd[88]          2.1 MiB    41 slow 900ms");
	expect_line(5, "  AB86 far-awa~ -                       -     - unreachable 12s");
	expect_line(6, "       -        -                       -     - asking");
	expect_line(8, "0590 linac-a  local  2 live of 3 targets");
}

/* Where there is room, they stand above the names. */
TEST(the_counts_have_their_place)
{
	compose(80, 10);
	expect_line(0, "G NODES           1 up 1 slow 1 without node "
	    "1 unreachable 1 asked");
}

TEST(the_cursors_node_says_why_there_is_no_answer)
{
	page_nodes_move(&nodes, row, BASE_NELEM(row), 3);
	compose(80, 10);
	expect_line(8, "AB86 far-away-and-long-named: ssh far: no route to "
	    "host");
	/* A tall page has two lines for that. */
	compose(40, 16);
	expect_line(13, "AB86 far-away-and-long-named: ssh far:");
	expect_line(14, "no route to host");
}

TEST(the_page_at_33_columns)
{
	compose(33, 8);
	expect_line(0, "G NODES 1 up 1 slow 1 no node 1 ~");
	expect_line(1, "  NODE NAME     STATE");
	expect_line(2, "> 0590 linac-a  up 3d00h");
	expect_line(5, "  AB86 far-awa~ unreachable 12s v");
}

TEST(the_page_at_120_columns_says_where_and_why)
{
	compose(120, 10);
	ck_assert_ptr_nonnull(strstr(pic.line[1].text, "WHERE, OR WHY NOT"));
	ck_assert_ptr_nonnull(strstr(pic.line[2].text, "2,103,770"));
	ck_assert_ptr_nonnull(strstr(pic.line[2].text, "local"));
	ck_assert_ptr_nonnull(strstr(pic.line[3].text, "ssh linac-b: no"));
}

/* Each size shows the cursor's node, and no line is wider than the screen. */
TEST(no_line_is_too_long_at_any_size)
{
	int cols, lines, y;
	bool found;

	page_nodes_unfold_all(&nodes, row, BASE_NELEM(row));
	page_nodes_move(&nodes, row, BASE_NELEM(row), 5);
	for (cols = 1; cols <= 200; cols++)
		for (lines = 1; lines <= 14; lines++) {
			compose(cols, lines);
			ck_assert_int_eq(pic.rows, lines);
			found = false;
			for (y = 0; y < pic.rows; y++) {
				ck_assert_int_le(picture_width(
				    pic.line[y].text, false), cols);
				found = found || pic.line[y].text[0] == '>';
			}
			ck_assert_msg(found, "no cursor at %dx%d", cols, lines);
		}
}

TEST(what_is_down_shows_no_numbers_of_before)
{
	compose(80, 0);
	ck_assert_int_eq(pic.rows, 7);
	/* AB86 had seven blocks when it was last seen. */
	ck_assert_ptr_null(strchr(pic.line[5].text + 24, '7'));
}

TEST(text_has_all_lines_and_no_cursor)
{
	compose(80, 0);
	for (int y = 0; y < pic.rows; y++)
		ck_assert_int_ne(pic.line[y].text[0], '>');
	expect_line(2, "  0590 linac-a      acqd[4711] +1     128.4 MiB    2.1M "
	    "16.0K up 3d00h");
}

TEST(names_from_outside_are_safe)
{
	strcpy(rows[2].name, "a\033[2Jb");
	rows[3].reason = "no\nway\x9b";
	page_nodes_move(&nodes, row, BASE_NELEM(row), 3);
	compose(124, 12);
	for (int y = 0; y < pic.rows; y++)
		for (const char *s = pic.line[y].text; *s != '\0'; s++)
			ck_assert_uint_ge((unsigned char)*s, ' ');
}

/* --- moving ---------------------------------------------------------------------- */

static const char *
word(void)
{
	static char out[PAGE_NODES_WORD];

	return page_nodes_word(&nodes, row, BASE_NELEM(row), out) ? out : NULL;
}

CASE("moving", .setup = begin, .teardown = end);

TEST(enter_goes_to_the_node_or_to_one_of_its_targets)
{
	ck_assert_str_eq(word(), "0590");
	ck_assert(page_nodes_unfold(&nodes, row, BASE_NELEM(row)));
	page_nodes_move(&nodes, row, BASE_NELEM(row), 2);
	ck_assert_str_eq(word(), "0590/ALLOCLOG.logd.4712");
	compose(80, 12);
	expect_line(2, "- 0590 linac-a      acqd[4711] +1     128.4 MiB    2.1M "
	    "16.0K up 3d00h");
	expect_line(4, ">                   logd[4712]          4.0 KiB      64 "
	    "  200 LIVE");
	page_nodes_move(&nodes, row, BASE_NELEM(row), 2);
	ck_assert_str_eq(word(), "0509");
	/* Nothing is there to be opened. */
	ck_assert(!page_nodes_unfold(&nodes, row, BASE_NELEM(row)));
	page_nodes_move(&nodes, row, BASE_NELEM(row), 99);
	ck_assert_str_eq(word(), "local");
	page_nodes_move(&nodes, row, BASE_NELEM(row), -99);
	ck_assert_str_eq(word(), "0590");
}

TEST(of_the_node_without_an_entry_a_target_is_its_process)
{
	rows[4].how = NODES_HOW_UP;
	rows[4].counted = true;
	rows[4].target = rawd;
	rows[4].ntarget = 1;
	page_nodes_move(&nodes, row, BASE_NELEM(row), 99);
	ck_assert(page_nodes_unfold(&nodes, row, BASE_NELEM(row)));
	page_nodes_move(&nodes, row, BASE_NELEM(row), 1);
	ck_assert_str_eq(word(), "pid:88");
}

TEST(folding_takes_the_cursor_back_to_the_node)
{
	page_nodes_unfold(&nodes, row, BASE_NELEM(row));
	page_nodes_move(&nodes, row, BASE_NELEM(row), 3);
	ck_assert(page_nodes_fold(&nodes, row, BASE_NELEM(row)));
	ck_assert_str_eq(word(), "0590");
	page_nodes_move(&nodes, row, BASE_NELEM(row), 1);
	ck_assert_str_eq(word(), "0509");
}

TEST(the_cursor_stays_on_its_node_when_others_come_and_go)
{
	const struct nodes_surveyed *fewer[] = { &rows[1], &rows[2] };

	page_nodes_move(&nodes, row, BASE_NELEM(row), 2);
	ck_assert_str_eq(word(), "0A12");
	ck_assert_ptr_eq(page_nodes_row(&nodes, fewer, 2), &rows[2]);
	/* Its own has gone: the one in its place, or the last. */
	ck_assert_ptr_eq(page_nodes_row(&nodes, fewer, 1), &rows[1]);
	ck_assert_ptr_null(page_nodes_row(&nodes, fewer, 0));
	ck_assert_str_eq(word(), "0A12");
}

TEST(a_target_that_goes_leaves_the_cursor_on_its_node)
{
	page_nodes_unfold(&nodes, row, BASE_NELEM(row));
	page_nodes_move(&nodes, row, BASE_NELEM(row), 2);
	strcpy(acqd[1].name, "ALLOCLOG.other.5");
	ck_assert_str_eq(word(), "0590");
	rows[0].how = NODES_HOW_UNREACHABLE;
	ck_assert_str_eq(word(), "0590");
}

TEST(it_begins_with_the_node_that_is_watched)
{
	page_nodes_begin(&nodes, 0x0A12);
	ck_assert_str_eq(word(), "0A12");
	page_nodes_begin(&nodes, 0x7777);
	ck_assert_str_eq(word(), "0590");
}

CASE("text");

TEST(a_table_without_nodes_is_a_page_too)
{
	for (int lines = 0; lines < 12; lines++) {
		ck_assert_int_eq(page_nodes_compose(&nodes, row, 0, &opts, 80,
		    lines, &pic), 0);
		if (lines != 1)
			expect_line(0, "G NODES           none");
	}
	page_nodes_move(&nodes, row, 0, 1);
	ck_assert(!page_nodes_fold(&nodes, row, 0));
	ck_assert(!page_nodes_unfold(&nodes, row, 0));
}

/*
 * Keys as in vi, less and htop: how far they scroll, how long their messages
 * stay, and the marks of lists longer than the screen.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "../src/pagek/app/pages.h"
#include "../src/pagek/blocks/order.h"

#include "app_rig.h"
#include "golden.h"

#define ESC PAGE_CTRL('[')
#define TARGETS 60

/* --- scrolling ------------------------------------------------------------ */

static struct model others[2];

/* The rig is in a folder of its own, golden pictures are not. */
static int start = -1;

static void __attribute__((constructor))
keep_start(void)
{
	start = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
assert_picture(const char *name, int cols, int rows)
{
	rig_compose(cols, rows, true);
	ck_assert_int_eq(fchdir(start), 0);
	assert_golden(&rig_pic, name);
	ck_assert_int_eq(chdir(rig_home), 0);
}

/* As many as no screen shows. */
static void
open_targets(void)
{
	struct nodes_target *list = calloc(TARGETS, sizeof *list);
	int i;

	ck_assert_ptr_nonnull(list);
	for (i = 0; i < TARGETS; i++) {
		list[i] = (struct nodes_target){ .pid = 1000 + i,
			.state = WIRE_S_LIVE, .reason = "" };
		snprintf(list[i].comm, sizeof list[i].comm, "worker-%d", i);
	}
	ck_assert_int_eq(app_targets_take(&rig, list, TARGETS), 0);
	free(list);
	app_targets_open(&rig);
}

static void
write_nodes(void)
{
	char path[96];
	FILE *f;
	int i;

	snprintf(path, sizeof path, "%s/pagek", rig_home);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/pagek/nodes", rig_home);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (i = 0; i < TARGETS; i++)
		fprintf(f, "%04X node-%d unix:%s/none-%d\n", 0x100 + i, i,
		    rig_home, i);
	ck_assert_int_eq(fclose(f), 0);
}

static void
open_nodes(void)
{
	write_nodes();
	rig_key('6');
}

/* Blocks that are new since the mark. */
static void
open_diff(void)
{
	uint64_t i;

	rig_key('m');
	rig_cycle();
	for (i = 0; i < RIG_BLOCKS; i++)
		model_alloc(&model, 0x7f3d04000000 + i * 0x100, 16);
	for (i = 0; i < 5; i++)
		rig_cycle();
	rig_key('d');
	rig_key('t');
	for (i = 0; i < 5; i++) {
		rig_compose(80, 24, true);
		rig_cycle();
	}
}

/* Lines above and below the list. */
static const struct {
	void (*open)(void);
	int above, below;
	int tall;		/* below, where there is room for more */
} lists[] = {
	{ rig_open_help, 1, 0, 0 },
	{ rig_open_costs, 1, 0, 0 },
	{ rig_open_settings, 1, 0, 0 },
	{ rig_open_sort, 1, 0, 0 },
	{ rig_open_detail, 1, 0, 3 },
	{ open_targets, 1, 2, 2 },
	{ open_nodes, 2, 2, 3 },
	{ open_diff, 3, 1, 1 },
};

#define NLISTS (sizeof lists / sizeof *lists)
#define LINE_MAX_TEXT 256

static char whole[1000][LINE_MAX_TEXT];
static int nwhole;

/* Without the cursor and the mark in the last column. */
static void
copy_line(char out[LINE_MAX_TEXT], int row)
{
	size_t len;

	snprintf(out, LINE_MAX_TEXT, "%s", rig_pic.line[row].text);
	if (out[0] == '>')
		out[0] = ' ';
	len = strlen(out);
	if (len == 40 && (out[39] == 'v' || out[39] == '^'))
		len = 38;
	while (len > 0 && out[len - 1] == ' ')
		len--;
	out[len < 38 ? len : 38] = '\0';
}

static void
learn(size_t list)
{
	int i, rows;

	rig_compose(40, 1000, true);
	rows = rig_pic.rows - lists[list].tall;
	for (i = lists[list].above, nwhole = 0; i < rows; i++)
		copy_line(whole[nwhole++], i);
	while (nwhole > 0 && whole[nwhole - 1][0] == '\0')
		nwhole--;
}

/* The first line shown is line `at` of the whole. */
static bool
begins_at(size_t list, int at, int lines)
{
	char line[LINE_MAX_TEXT];
	int i;

	for (i = 0; i < lines; i++) {
		copy_line(line, lists[list].above + i);
		if (strcmp(line, whole[at + i]) != 0)
			return false;
	}
	return true;
}

static int
lines_shown(size_t list)
{
	return rig_pic.rows - lists[list].above - lists[list].below;
}

static const int scrolling[][2] = {
	{ PAGE_KEY_PGDN, PAGE_KEY_PGUP },
	{ PAGE_CTRL('F'), PAGE_CTRL('B') },
};

CASE("scrolling", .setup = rig_up, .teardown = rig_down, .seconds = 60);

/* The first PgDn shows what was below the edge, and skips nothing. */
LOOP_TEST(next_screen_begins_where_the_last_one_ended, 0, 2 * (int)NLISTS)
{
	size_t list = (size_t)_i / 2;
	const int *key = scrolling[_i % 2];
	int n, at;

	lists[list].open();
	learn(list);
	rig_compose(40, 10, true);
	n = lines_shown(list);
	ck_assert_int_gt(nwhole, n);
	ck_assert(begins_at(list, 0, n));
	rig_key(key[0]);
	rig_compose(40, 10, true);
	for (at = n < nwhole - n ? n : nwhole - n; at > 0 &&
	    !begins_at(list, at, n); at--)
		continue;
	/* Where a row takes several lines, one is shown twice. */
	ck_assert_msg(at >= n - 2 || at == nwhole - n, "list %zu begins at "
	    "line %d of %d behind %d", list, at, nwhole, n);
	rig_key(key[1]);
	rig_compose(40, 10, true);
	ck_assert(begins_at(list, 0, n));
}

/* The last of 40 columns; "": the line is shorter. */
static const char *
edge(int row)
{
	const char *text = rig_pic.line[row].text;

	return strlen(text) < 40 ? "" : text + 39;
}

/* The whole list is gone through. */
LOOP_TEST(edge_is_marked_where_lines_are_beyond_it, 0, (int)NLISTS)
{
	size_t list = (size_t)_i, i;
	int n, last;

	lists[list].open();
	learn(list);
	rig_compose(40, 10, true);
	n = lines_shown(list);
	last = lists[list].above + n - 1;
	ck_assert_str_eq(edge(last), "v");
	ck_assert_str_ne(edge(lists[list].above), "^");
	for (i = 0; i < 200; i++) {
		rig_key(PAGE_KEY_PGDN);
		rig_compose(40, 10, true);
	}
	ck_assert_str_ne(edge(last), "v");
	ck_assert_str_eq(edge(lists[list].above), "^");
	ck_assert(begins_at(list, nwhole - n, n));
}

static void
assert_at(uint64_t offs, uint64_t cursor)
{
	rig_compose(80, 24, false);
	ck_assert_uint_eq(rig_page.offs, offs);
	ck_assert(rig_page.cursor.on);
	ck_assert_uint_eq(rig_page.cursor.at, cursor);
}

LOOP_TEST(blocks_scroll_with_the_first_key, 0, 2)
{
	uint64_t window = (uint64_t)rig_page.found.window;
	const int *key = scrolling[_i];

	ck_assert_uint_gt(window, 10);
	rig_key(key[0]);
	assert_at(window, window);
	rig_key('j');
	rig_key(key[0]);
	assert_at(2 * window, 2 * window + 1);
	rig_key(key[1]);
	assert_at(window, window + 1);
	rig_key('G');
	assert_at(RIG_BLOCKS - window, RIG_BLOCKS - 1);
	rig_key(key[1]);
	assert_at(RIG_BLOCKS - 2 * window, RIG_BLOCKS - 1 - window);
	rig_key(key[0]);
	rig_key(key[0]);
	assert_at(RIG_BLOCKS - window, RIG_BLOCKS - 1);
	rig_key('g');
	rig_key(key[1]);
	assert_at(0, 0);
}

TEST(half_a_screen_is_scrolled_by_ctrl_d_and_ctrl_u)
{
	uint64_t half = (uint64_t)rig_page.found.window / 2;

	rig_key('j');
	rig_key(PAGE_CTRL('D'));
	assert_at(half, half);
	rig_key(PAGE_CTRL('D'));
	assert_at(2 * half, 2 * half);
	rig_key(PAGE_CTRL('U'));
	assert_at(half, half);
	rig_key(PAGE_CTRL('U'));
	rig_key(PAGE_CTRL('U'));
	assert_at(0, 0);
	/* In a list that is as high as the screen they move the cursor alone. */
	rig_open_sort();
	rig_compose(80, 60, true);
	rig_key(PAGE_CTRL('D'));
	ck_assert_uint_gt(*(size_t *)app_panel_state(&rig, APP_SORT), 2);
}

/* --- keys of htop ----------------------------------------------------------- */

static const struct {
	int f;
	int letter;
} same[] = {
	{ 1, '?' }, { 3, '/' }, { 4, 'f' }, { 5, 't' }, { 6, 's' }, { 9, 'Q' },
};

CASE("keys of htop", .setup = rig_up, .teardown = rig_down);

LOOP_TEST(function_key_does_as_its_letter, 0,
    (int)(sizeof same / sizeof *same))
{
	int f = PAGE_KEY_F0 + same[_i].f;
	enum app_panel top;
	enum app_mode mode;
	unsigned kind;
	char text[64] = "";

	ck_assert_int_eq(page_key_action(f), page_key_action(same[_i].letter));
	rig_key(same[_i].letter);
	top = app_panel_top(&rig);
	mode = rig.mode;
	kind = rig_page.group.kind;
	if (rig_page.prompt.text != NULL)
		snprintf(text, sizeof text, "%s", rig_page.prompt.text);
	ck_assert(top != APP_PAGE_K || mode != APP_PAGE || kind != 0);
	rig_down();
	rig_up();
	rig_key(f);
	ck_assert_int_eq(app_panel_top(&rig), top);
	ck_assert_int_eq(rig.mode, mode);
	ck_assert_uint_eq(rig_page.group.kind, kind);
	if (text[0] != '\0')
		ck_assert_str_eq(rig_page.prompt.text, text);
}

/* Pages that show the target can end it. */
TEST(f9_asks_on_page_h_too)
{
	open_diff();
	rig_key(PAGE_KEY_F0 + 9);
	ck_assert_int_eq(rig.mode, APP_CONFIRM);
	rig_key('n');
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_H);
	rig_key('6');
	rig_key(PAGE_KEY_F0 + 9);
	ck_assert_str_eq(rig_page.message, "F9 is none of page G; 1: page K");
}

TEST(f10_quits_from_wherever_it_is_pressed)
{
	rig_open_detail();
	rig_open_help();
	rig_key(PAGE_KEY_F10);
	ck_assert(rig.over);
}

/* The list, :sort and what is said of an order have one name for it. */
LOOP_TEST(a_sort_key_of_groups_has_one_name, 0, 2)
{
	const struct page_sort_ops *ops;
	size_t i;

	app_group_by(&rig, _i == 0 ? "function" : "frame");
	ops = app_page_sorts(&rig);
	for (i = 0; i < ops->n; i++) {
		char said[64];

		app_sort(&rig, ops->keys[i].word);
		snprintf(said, sizeof said, "groups by %s", ops->keys[i].word);
		ck_assert_str_eq(rig_page.message, said);
	}
}

/* Their sort keys differ from those of blocks. */
LOOP_TEST(groups_are_sorted_from_a_list, 0, 2)
{
	static const char *const kind[] = { "function", "frame" };
	static const char *const name[] = { "sort-groups", "sort-frames" };
	static const int cols[] = { 80, 124 }, rows[] = { 24, 35 };
	char golden[64];
	int i;

	app_group_by(&rig, kind[_i]);
	for (i = 0; i < 2; i++) {
		rig_key('s');
		ck_assert_int_eq(app_panel_top(&rig), APP_SORT);
		snprintf(golden, sizeof golden, "%s-%d", name[_i], cols[i]);
		assert_picture(golden, cols[i], rows[i]);
		rig_key(ESC);
	}
	rig_type("sc");
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_K);
	ck_assert_str_eq(rig_page.message, "groups by blocks");
	ck_assert_uint_eq(rig_page.group.sort, PROFILE_BLOCKS);
	ck_assert(!rig_page.group.reverse);
	rig_type("sn");
	ck_assert_uint_eq(rig_page.group.sort, PROFILE_BYTES);
	ck_assert(rig_page.group.reverse);
	/* The cursor of the list is on the key in use. */
	rig_type("sr");
	ck_assert(!rig_page.group.reverse);
	rig_type("sj\r");
	ck_assert_uint_eq(rig_page.group.sort, PROFILE_AGE);
	rig_key('s');
	rig_key('G');
	rig_key('\r');
	ck_assert_uint_eq(rig_page.group.sort, _i == 1 ? PROFILE_SELF :
	    PROFILE_OF_LINE);
	/* Letters of `:sort` are the blocks', as without groups. */
	app_sort(&rig, "ps");
	ck_assert_uint_eq(rig_page.opts.sorting.by[0].sort, PAGE_SORT_ADDRESS);
}

/* --- messages --------------------------------------------------------------- */

static struct mono rig_clock;

static struct mono
tell_clock(void)
{
	return rig_clock;
}

static void
wait_ms(int64_t ms)
{
	rig_clock.ns += ms * 1000000;
	rig_cycle();
}

static bool
shows_bar(void)
{
	rig_compose(80, 24, false);
	return strstr(rig_pic.line[23].text, "? help") != NULL;
}

static void
messages_up(void)
{
	rig_up();
	rig_clock = mono_now();
	rig.said.now = tell_clock;
}

CASE("messages", .setup = messages_up, .teardown = rig_down);

TEST(message_gives_the_key_bar_back_after_five_seconds)
{
	ck_assert(shows_bar());
	rig_key('y');
	rig_cycle();
	wait_ms(4900);
	ck_assert(!shows_bar());
	/* The same one again begins anew. */
	rig_key('y');
	rig_cycle();
	wait_ms(4900);
	ck_assert(!shows_bar());
	wait_ms(200);
	ck_assert(shows_bar());
	/* Also over a panel, and where the picture is paused. */
	rig_key(' ');
	rig_key('\r');
	rig_key('c');
	ck_assert(!shows_bar());
	rig_cycle();
	wait_ms(5000);
	ck_assert(shows_bar());
}

TEST(message_stays_while_a_line_is_typed)
{
	rig_type("ffrob==");
	rig_key('\r');
	rig_cycle();
	ck_assert_int_eq(rig.mode, APP_PROMPT);
	ck_assert_int_ne(rig_page.message[0], '\0');
	wait_ms(60000);
	ck_assert_int_ne(rig_page.message[0], '\0');
	rig_key(ESC);
	ck_assert(shows_bar());
	/* A question is no message. */
	rig_key('Q');
	rig_cycle();
	wait_ms(60000);
	ck_assert(!shows_bar());
	rig_key('n');
	ck_assert_str_eq(rig_page.message, "the target goes on");
	rig_cycle();
	wait_ms(5000);
	ck_assert(shows_bar());
}

/* --- targets ---------------------------------------------------------------- */

static void
targets_up(void)
{
	rig_up();
	model_init(&others[0], "ALLOCLOG.server.43", 43);
	model_alloc(&others[0], 0x7000, 4096);
	peer.model[peer.models++] = &others[0];
}

static void
targets_down(void)
{
	rig_down();
	model_fini(&others[0]);
}

CASE("targets", .setup = targets_up, .teardown = targets_down);

TEST(targets_are_listed_and_enter_goes_to_one)
{
	int i;

	rig_key('T');
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_K);
	for (i = 0; i < 3; i++)
		rig_cycle();
	ck_assert_int_eq(app_panel_top(&rig), APP_TARGETS);
	ck_assert_str_eq(rig_page.message, "");
	assert_picture("targets-80", 80, 24);
	assert_picture("targets-124", 124, 35);
	assert_picture("targets-40", 40, 10);
	/* Again: the list of now. */
	others[0].gone = true;
	rig_key('T');
	for (i = 0; i < 3; i++)
		rig_cycle();
	ck_assert_uint_eq(rig.targets.n, 1);
	others[0].gone = false;
	rig_key('T');
	for (i = 0; i < 3; i++)
		rig_cycle();
	rig_type("j\r");
	for (i = 0; i < 5; i++)
		rig_cycle();
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_K);
	ck_assert_int_eq(nodes_session_look(rig.session)->target.pid, 43);
}

static struct nodes_target family[] = {
	{ .pid = 12, .starter = 11, .started_ms = 3000, .comm = "worker",
	    .state = WIRE_S_LIVE, .n = { [WIRE_N_EST_BLOCKS] = 1200,
	    [WIRE_N_EST_BYTES] = 5 << 20, [WIRE_N_LIVE_BYTES] = 5 << 20,
	    [WIRE_N_PEAK_BYTES] = 6 << 20 } },
	{ .pid = 10, .starter = 1, .started_ms = 1000, .comm = "script",
	    .state = WIRE_S_LIVE, .n = { [WIRE_N_EST_BLOCKS] = 51,
	    [WIRE_N_EST_BYTES] = 1701, [WIRE_N_LIVE_BYTES] = 1701,
	    [WIRE_N_PEAK_BYTES] = 2000 } },
	{ .pid = 11, .starter = 10, .started_ms = 2000, .comm = "server",
	    .state = WIRE_S_ENDED, .ended = true, .ended_ms = 4000,
	    .n = { [WIRE_N_EST_BLOCKS] = 3, [WIRE_N_EST_BYTES] = 300 } },
	{ .pid = 13, .starter = 11, .started_ms = 3500, .comm = "worker",
	    .state = WIRE_S_LIVE, .n = { [WIRE_N_EST_BLOCKS] = 7,
	    [WIRE_N_EST_BYTES] = 70000, [WIRE_N_LIVE_BYTES] = 70000,
	    [WIRE_N_PEAK_BYTES] = 70000, [WIRE_N_LOST] = 12 } },
	{ .pid = 14, .starter = 10, .started_ms = 2500, .comm = "fixed",
	    .state = WIRE_S_NO_DATA,
	    .reason = "a statically linked program: nothing can be preloaded" },
};

static pid_t
selected_pid(void)
{
	const struct app_targets *t = &rig.targets;

	return t->list[t->branch[t->order[t->selected]].at].pid;
}

TEST(targets_are_a_tree_with_sums_and_t_flattens_it)
{
	for (size_t i = 0; i < BASE_NELEM(family); i++)
		family[i].index = (uint32_t)i;
	ck_assert_int_eq(app_targets_take(&rig, family, BASE_NELEM(family)), 0);
	app_targets_open(&rig);
	rig_key('g');
	assert_picture("targets-tree-80", 80, 24);
	assert_picture("targets-tree-124", 124, 35);
	assert_picture("targets-tree-40", 40, 10);
	rig_type("jjj");
	ck_assert_int_eq(selected_pid(), 13);
	assert_picture("targets-tree-lost-80", 80, 24);
	rig_key('t');
	/* The cursor stays on its target. */
	ck_assert_int_eq(selected_pid(), 13);
	assert_picture("targets-flat-80", 80, 24);
	assert_picture("targets-flat-124", 124, 35);
	rig_key('g');
	ck_assert_int_eq(selected_pid(), 12);
	rig_key(PAGE_KEY_F0 + 5);
	ck_assert_int_eq(selected_pid(), 12);
}

TEST(target_of_a_name_is_the_newest_that_lives)
{
	int i;

	/* 44 comes later in the table, and was started before. */
	model_init(&others[1], "ALLOCLOG.server.44", 44);
	peer.model[peer.models++] = &others[1];
	for (i = 0; i < 2; i++)
		snprintf(others[i].comm, sizeof others[i].comm, "server");
	others[0].started_ms = 2000;
	others[1].started_ms = 1000;
	rig_type(":target server\r");
	for (i = 0; i < 8; i++)
		rig_cycle();
	ck_assert_int_eq(nodes_session_look(rig.session)->target.pid, 43);
	others[0].state = WIRE_S_ENDED;
	rig_type(":target server\r");
	for (i = 0; i < 8; i++)
		rig_cycle();
	ck_assert_int_eq(nodes_session_look(rig.session)->target.pid, 44);
	model_fini(&others[1]);
}

/* Another session may have the same number of streams behind it. */
TEST(references_are_not_those_of_the_target_before)
{
	struct refcnt_page page = { .vaddr = 0x10000, .counters = 1,
		.counter = { 7 }, .last_ms = 4000, .since_ms = 900,
		.source = REFCNT_REFS, .flags = REFCNT_VALID | REFCNT_NO_NODE };
	struct nodes_session *other;
	int i;

	model.touch = &page;
	model.touches = model.touch_rows = 1;
	for (i = 0; i < 8; i++)
		rig_cycle();
	ck_assert_ptr_nonnull(rig_page.opts.refcnt);
	other = open_session(&peer, &(struct nodes_session_opts){ .pid = 43 });
	peer_cycles(&peer, other, 3);
	ck_assert_int_eq(nodes_session_look(other)->target.pid, 43);
	ck_assert_uint_eq(nodes_session_look(other)->stream_no,
	    nodes_session_look(rig.session)->stream_no);
	rig.session = other;
	app_tick(&rig);
	ck_assert_ptr_null(rig_page.opts.refcnt);
	rig.session = session;
	nodes_session_close(other);
}

static bool
shows_over(const char *text)
{
	rig_compose(80, 24, true);
	for (int i = 0; i < rig_pic.rows; i++)
		if (strstr(rig_pic.line[i].text, text) != NULL)
			return true;
	return false;
}

TEST(counts_by_type_are_not_those_of_the_target_before)
{
	struct usage_row row = { .caller = 0x401000, .size = 4242, .allocs = 1,
		.alloc_bytes = 4242, .live = 1, .live_bytes = 4242, .most = 1,
		.type = TYPE_MALLOC };
	struct nodes_session *other;
	int i;

	model.usage = &row;
	model.usages = model.usage_no = 1;
	rig_key('3');
	for (i = 0; i < 4; i++)
		rig_cycle();
	ck_assert(shows_over("4,242"));
	other = open_session(&peer, &(struct nodes_session_opts){ .pid = 43 });
	peer_cycles(&peer, other, 3);
	rig.session = other;
	app_tick(&rig);
	ck_assert(!shows_over("4,242"));
	rig.session = session;
	nodes_session_close(other);
}

/* Two targets of one name are one word; the node's own stream is none. */
TEST(target_completes_each_name_once)
{
	int i;

	model_init(&others[1], "ALLOCLOG.server.44", 44);
	peer.model[peer.models++] = &others[1];
	for (i = 0; i < 2; i++)
		snprintf(others[i].comm, sizeof others[i].comm, "server");
	rig_key(':');
	for (i = 0; i < 8; i++)
		rig_cycle();
	rig_type("target s\t");
	ck_assert_str_eq(rig.prompt.line.text, "target server ");
	model_fini(&others[1]);
}

TEST(targets_are_listed_from_other_pages_too)
{
	int i;

	rig_key('6');
	rig_key('T');
	for (i = 0; i < 3; i++)
		rig_cycle();
	ck_assert_int_eq(app_panel_top(&rig), APP_TARGETS);
	rig_key(ESC);
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_G);
}

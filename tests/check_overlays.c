/*
 * What lies over the page, on screens of every width: words, numbers and
 * columns are whole, for half a number is another number.
 */
#include "../src/pagek/app/pages.h"
#include "../src/pagek/layout/layout.h"
#include "app_rig.h"

static struct nodes_target targets[2];

static void
open_targets(void)
{
	targets[0] = (struct nodes_target){ .pid = 4711, .comm = "redis-server",
		.state = WIRE_S_LIVE, .reason = "" };
	targets[0].n[WIRE_N_EST_BYTES] = 1234567;
	targets[0].n[WIRE_N_EST_BLOCKS] = 41331;
	targets[1] = (struct nodes_target){ .pid = 88, .comm = "rawd",
		.state = WIRE_S_NO_DATA, .reason = "" };
	ck_assert_int_eq(app_targets_take(&rig, targets, 2), 0);
	app_targets_open(&rig);
}

static void
close_targets(void)
{
	app_forget_targets(&rig);
}

/* The mark is set when the whole list is there: with the next cycle. */
static void
open_diff(void)
{
	rig_key('m');
	rig_cycle();
	rig_key('d');
}

static void
open_nodes(void)
{
	rig_key('6');
}

static void
open_stress(void)
{
	rig_key('2');
	rig_cycle();
	rig_cycle();
}

static const struct {
	void (*open)(void), (*close)(void);
	enum app_panel overlay;
} overlays[] = {
	{ rig_open_sort, NULL, APP_SORT },
	{ rig_open_help, NULL, APP_HELP },
	{ rig_open_costs, NULL, APP_DIAGNOSTICS },
	{ rig_open_settings, NULL, APP_SETTINGS },
	{ rig_open_detail, NULL, APP_DETAIL },
	{ open_targets, close_targets, APP_TARGETS },
	{ open_diff, NULL, APP_PAGE_H },
	{ open_nodes, NULL, APP_PAGE_G },
	{ open_stress, NULL, APP_PAGE_S },
};

/* All that the overlay says where there is room for it. */
static char known[1 << 17];

static void
learn(void)
{
	size_t len = 0;
	int i;

	rig_compose(200, 1000, true);
	for (i = 0; i < rig_pic.rows; i++)
		base_append(known, sizeof known, &len, " %s ",
		    rig_pic.line[i].text);
}

static void
assert_whole_words(int cols, const char *line)
{
	char text[1024], padded[1024], *word, *save;

	snprintf(text, sizeof text, "%s", line);
	for (word = strtok_r(text, " ", &save); word != NULL;
	    word = strtok_r(NULL, " ", &save)) {
		snprintf(padded, sizeof padded, " %s ", word);
		ck_assert_msg(strchr(word, '~') != NULL ||
		    strstr(known, padded) != NULL, "%d columns: '%s' is cut "
		    "in '%s'", cols, word, line);
	}
}

CASE("widths", .setup = rig_up, .teardown = rig_down, .seconds = 60);

/* Nothing is counted meanwhile, so the numbers are the same at each width. */
LOOP_TEST(no_word_or_number_is_cut, 0,
    (int)(sizeof overlays / sizeof *overlays))
{
	int cols, i;

	overlays[_i].open();
	ck_assert_int_eq(app_panel_top(&rig), overlays[_i].overlay);
	if (_i >= 5)
		rig_cycle();
	learn();
	for (cols = PAGE_MIN_COLS; cols < 160; cols += check_stride(3)) {
		/* The picture contains the age of the last answer. */
		if (_i >= 5)
			rig_cycle();
		rig_compose(cols, 1000, true);
		/* That of the targets is their columns' too; pages have a bar. */
		if (_i < 5)
			ck_assert_ptr_nonnull(strstr(rig_pic.line[0].text,
			    "Esc "));
		for (i = 0; i < rig_pic.rows; i++)
			/* Its seconds go on while this is looked at. */
			if (strstr(rig_pic.line[i].text, " cycles in ") == NULL)
				assert_whole_words(cols, rig_pic.line[i].text);
	}
	if (overlays[_i].close != NULL)
		overlays[_i].close();
}

/* A row of some lines is in sight with all of them. */
TEST(order_under_the_cursor_is_in_sight_on_a_low_screen)
{
	static const int cols[] = { 33, 40, 80 };
	size_t c, i;
	int k, n;

	for (c = 0; c < 3; c++) {
		rig_key('s');
		for (i = 0; i < 20; i++) {
			rig_compose(cols[c], 10, true);
			for (k = n = 0; k < rig_pic.rows; k++)
				n += rig_pic.line[k].nspan > 0 &&
				    rig_pic.line[k].span[0].mark ==
				    PAGE_CURSOR;
			ck_assert_int_ge(n, 1);
			rig_key('j');
		}
		rig_key(PAGE_CTRL('['));
	}
}

static void
assert_bottom_line(const char *text)
{
	rig_compose(80, 24, false);
	ck_assert_str_eq(rig_pic.line[23].text, text);
}

TEST(y_shows_the_address_in_the_bottom_line)
{
	rig_key('j');
	rig_key('y');
	assert_bottom_line("address 0x7f3c04000000");
	ck_assert_str_eq(rig.clip.text, "");
	rig_key('\r');
	rig_key('y');
	ck_assert_int_eq(app_panel_top(&rig), APP_DETAIL);
	assert_bottom_line("address 0x7f3c04000000");
	/* The option alone does not make the terminal one that takes it. */
	rig_page.opts.clipboard = true;
	rig_key('y');
	ck_assert_str_eq(rig.clip.text, "");
	rig.clip.available = true;
	rig_key('y');
	assert_bottom_line("address 0x7f3c04000000, sent to the clipboard");
	ck_assert_str_eq(rig.clip.text, "0x7f3c04000000");
}

/* The heading of the help's first keys, over what is open. */
static void
assert_help_begins(const char *title, int *lines)
{
	rig_key('?');
	rig_compose(80, 1000, true);
	ck_assert_str_eq(rig_pic.line[1].text, title);
	if (*lines == 0)
		*lines = rig_pic.rows;
	ck_assert_int_eq(rig_pic.rows, *lines);
	rig_key('?');
}

TEST(help_begins_with_the_keys_of_what_lies_below_it)
{
	int lines = 0;

	assert_help_begins("moving", &lines);
	rig_open_detail();
	assert_help_begins("in the detail of a block", &lines);
	open_nodes();
	assert_help_begins("on page G", &lines);
	open_diff();
	rig_key('1');
	open_diff();
	assert_help_begins("on page H", &lines);
}

/* By its key and by its command, from wherever one is. */
TEST(each_page_opens_from_each_other)
{
	int from, to;

	open_diff();
	for (from = 0; from < PAGES; from++)
		for (to = 0; to < PAGES; to++) {
			rig_key(pages[from].key[0]);
			rig_key(pages[to].key[0]);
			ck_assert_int_eq(app_panel_top(&rig), to);
			ck_assert(from != to || strncmp(rig_page.message,
			    "this is page ", 13) == 0);
			rig_key(pages[from].key[0]);
			app_command(&rig, pages[to].letter);
			ck_assert_int_eq(app_panel_top(&rig), to);
		}
}

static void
close_and_assert(int code, enum app_panel top)
{
	rig_key(code);
	ck_assert_int_eq(app_panel_top(&rig), top);
}

/* q does so as well, but on page G it leaves. */
TEST(esc_goes_back_through_what_is_open_each_once)
{
	open_diff();
	rig_key('1');
	rig_open_detail();
	open_nodes();
	rig_key('?');
	rig_key('5');
	ck_assert_int_eq(rig.panels.n, 5);
	open_nodes();
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_G);
	ck_assert_int_eq(rig.panels.n, 5);
	close_and_assert(PAGE_CTRL('['), APP_PAGE_H);
	close_and_assert('q', APP_HELP);
	close_and_assert(PAGE_CTRL('['), APP_DETAIL);
	close_and_assert('q', APP_PAGE_K);
}

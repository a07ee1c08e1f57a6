/*
 * Every layout at every size: no line is wider than the terminal, no row is
 * lost, and none is shown that does not belong there, whatever names have in
 * them.
 */
#include <strings.h>

#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/fields.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/rows/frozen_order.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define TARGET_BLOCKS 60

static const enum page_layout layouts[] = {
	PAGE_AUTO, PAGE_CLASSIC, PAGE_CLASSIC_STRICT, PAGE_WIDE,
};

static const int wide[] = { 141, 200, 300, 1000 };
static const int some_rows[] = { 1, 2, 4, 5, 7, 8, 12, 15, 16, 17, 24, 60 };

/* Two columns wide, combining, of no width, right to left, and controls. */
static const char *const names[] = {
	"plain",
	"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2",
	"e\xcc\x81\xcc\x81\xcc\x81 a\xcc\x8a o\xcc\x88 combined",
	"zero\xe2\x80\x8bwidth\xe2\x80\x8d\xef\xbb\xbf joined",
	"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\xaeoverride",
	"\x1b[2J\x1b]0;title\x07\r\n\t",
	"\xff\xfe broken \xe6\xbc",
	"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\xf0\x9f\x91\xa9",
};

static const char *name_now;

static const char *
thread_name(void *arg, uint16_t index)
{
	(void)arg;
	(void)index;
	return name_now;
}

static void
set_name(const char *name)
{
	name_now = scene_symbol_override = name;
	scene.look.target.name = name;
	scene.look.node.name = name;
	scene.look.reason = name;
	scene.view.thread = thread_name;
	scene.view.fetching = name;
	page.round++;
}

static void
setup_layouts(void)
{
	setup_target();
	page.medium = PAGE_SCREEN;
	page.numbers.hz = 15;
	page.numbers.rated = page.numbers.sampled = true;
	page.numbers.sample_at = scene.view.now;
	page.numbers.rate = 8123;
}

static void
setup_groups(void)
{
	setup_stacks();
	page.medium = PAGE_SCREEN;
	page_set_group(&page, 1);
}

static bool
starts_with_block(const struct page_line *line, const struct blk *b)
{
	char digits[16];

	snprintf(digits, sizeof digits, "%012llx",
	    (unsigned long long)b->addr);
	return strncasecmp(line->text, digits, 12) == 0 ||
	    strncasecmp(line->text, digits + 4, 8) == 0;
}

/* Rows stand one below another under the heading, as many as there is room. */
static void
assert_rows(int cols, int rows)
{
	struct blk b[TARGET_BLOCKS];
	size_t n;
	int window = rows > 0 ? page.found.window : TARGET_BLOCKS, first, i;

	if (cols < PAGE_MIN_COLS || (rows > 0 && rows < PAGE_MIN_ROWS))
		return;
	ck_assert_int_gt(window, 0);
	n = page_rows_blocks(&page, &scene.view, page.offs, b,
	    BASE_NELEM(b));
	for (first = 0; first < pic.rows; first++)
		if (starts_with_block(&pic.line[first], &b[0]))
			break;
	ck_assert_msg(first >= 3 && first <= 8, "%dx%d: first row in line %d",
	    cols, rows, first + 1);
	for (i = 0; i < (int)n && i < window; i++)
		ck_assert_msg(first + i < pic.rows &&
		    starts_with_block(&pic.line[first + i], &b[i]),
		    "%dx%d: row %d is not of %llx", cols, rows, i,
		    (unsigned long long)b[i].addr);
	for (; i < (int)n && first + i < pic.rows; i++)
		ck_assert(!starts_with_block(&pic.line[first + i], &b[i]));
}

static void
check_size(int cols, int rows)
{
	compose(cols, rows);
	assert_fits(cols, rows);
	if (!page_shows_groups(&page))
		assert_rows(cols, rows);
}

static void
check_some_sizes(void)
{
	size_t i, k;
	int cols;

	for (cols = 1; cols <= 140; cols += cols < 45 ? check_stride(2) : check_is_shortened() ? 11 : 3)
		for (i = 0; i < BASE_NELEM(some_rows); i++)
			check_size(cols, some_rows[i]);
	for (k = 0; k < BASE_NELEM(wide); k++)
		for (i = 0; i < BASE_NELEM(some_rows); i++)
			check_size(wide[k], some_rows[i]);
}

CASE("blocks", .setup = setup_layouts, .teardown = teardown, .seconds = 120);

LOOP_TEST(every_size_is_filled_and_no_row_is_lost, 0, (int)BASE_NELEM(layouts))
{
	int cols, rows;
	size_t k;

	page.layout = layouts[_i];
	for (rows = 0; rows <= 60; rows += rows < 12 ? 1 : check_stride(7)) {
		for (cols = 1; cols <= 140; cols++)
			check_size(cols, rows);
		for (k = 0; k < BASE_NELEM(wide); k++)
			check_size(wide[k], rows);
	}
}

LOOP_TEST(names_with_tricks_in_them_move_nothing, 0, 2 * (int)BASE_NELEM(names))
{
	size_t l;

	set_name(names[_i % (int)BASE_NELEM(names)]);
	page.opts.ascii = _i >= (int)BASE_NELEM(names);
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		check_some_sizes();
	}
}

TEST(ascii_pictures_are_ascii_at_every_width)
{
	const char *c;
	int cols, i;

	set_name(names[1]);
	page.opts.ascii = true;
	for (cols = 1; cols <= 300; cols++) {
		compose(cols, 24);
		for (i = 0; i < pic.rows; i++)
			for (c = pic.line[i].text; *c != '\0'; c++)
				ck_assert_int_gt(*c, 0);
	}
}

CASE("groups", .setup = setup_groups, .teardown = teardown, .seconds = 120);

LOOP_TEST(groups_fit_at_every_size, 0, 2 * (int)BASE_NELEM(names) + 2)
{
	size_t l;

	page.opts.ascii = (_i & 1) != 0;
	if (_i >= 2)
		set_name(names[_i / 2 - 1]);
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		check_some_sizes();
	}
}

CASE("blocks");

TEST(cursor_at_the_end_is_in_sight_at_every_size)
{
	size_t l;
	int cols, rows, i, found;

	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		for (cols = PAGE_MIN_COLS; cols <= 140; cols += 7)
			for (rows = PAGE_MIN_ROWS; rows <= 60;
			    rows += check_stride(11)) {
				compose(cols, rows);
				page_move_to(&page, UINT64_MAX);
				check_size(cols, rows);
				for (found = i = 0; i < rows; i++)
					found += marked(i, PAGE_CURSOR);
				ck_assert_msg(found == 1, "%dx%d: %d", cols,
				    rows, found);
				page_move_to(&page, 0);
			}
	}
}

LOOP_TEST(what_the_page_says_leaves_the_size_as_it_is, 0,
    (int)BASE_NELEM(names))
{
	size_t l;

	snprintf(page.message, sizeof page.message, "%s", names[_i]);
	scene.look.state = NODES_UNREACHABLE;
	scene.look.stale_ms = 12345;
	scene.look.link.retry_ms = 3000;
	set_name(names[_i]);
	for (l = 0; l < BASE_NELEM(layouts); l++) {
		page.layout = layouts[l];
		for (int cols = 1; cols <= 140; cols += check_stride(7))
			for (size_t i = 0; i < BASE_NELEM(some_rows); i++) {
				compose(cols, some_rows[i]);
				assert_fits(cols, some_rows[i]);
			}
	}
}

/* Numbers stay where they are: what is wider goes to the last column. */
TEST(numbers_stay_together_on_a_very_wide_terminal)
{
	char line[512];
	int cols, i, first = 4;

	compose(140, 24);
	snprintf(line, sizeof line, "%.75s", pic.line[first].text);
	for (i = 0; i < (int)BASE_NELEM(wide); i++) {
		cols = wide[i];
		compose(cols, 24);
		ck_assert_int_eq(strncmp(pic.line[first].text, line,
		    strlen(line)), 0);
	}
}

/* On the node's clock, to the millisecond for a day; digits that stand still. */
TEST(born_is_the_time_of_day_where_there_is_room)
{
	char before[PAGE_COLS_MAX];
	int row;

	page_set_order(&page, page_list_order(&page.opts), true);
	compose(149, 24);
	ck_assert(!shows("BORN"));
	compose(150, 24);
	ck_assert(shows("BORN"));
	ck_assert(shows(" 15:02:15.000  "));
	ck_assert(shows(" 15:02:23.500  "));
	row = page.found.spots.first;
	snprintf(before, sizeof before, "%s", strstr(pic.line[row].text, " 15:02"));
	scene.look.now_ms += 700;
	scene.look.node_wall_ms += 700;
	scene_refresh(&scene);
	compose(150, 24);
	ck_assert_str_eq(strstr(pic.line[row].text, " 15:02"), before);
	page_set_order(&page, page_list_order(&page.opts), false);
	compose(150, 24);
	ck_assert(shows(" 11-17 10:02  "));
	/* A click on it sorts by what it is: the age. */
	ck_assert_str_eq(page_columns_title(&scene.view, 150, 80), "AGE");
}

/* --- words -------------------------------------------------------------- */

/* What the lines above the rows may say, from where there is room for it. */
static char known[8192];

static void
learn(enum page_layout layout, int cols)
{
	size_t len = strlen(known);
	int i;

	page.layout = layout;
	compose(cols, 12);
	for (i = 0; i <= page.found.spots.heading; i++)
		base_append(known, sizeof known, &len, " %s ",
		    pic.line[i].text);
}

static void
assert_whole_words(const char *line)
{
	char text[1024], padded[256], *word, *save;

	snprintf(text, sizeof text, "%s", line);
	for (word = strtok_r(text, " ", &save); word != NULL;
	    word = strtok_r(NULL, " ", &save)) {
		snprintf(padded, sizeof padded, " %s ", word);
		ck_assert_msg(strchr(word, '~') != NULL ||
		    strstr(known, padded) != NULL, "'%s' is cut in '%s'",
		    word, line);
	}
}

static void
as_it_comes(void)
{
}

static void
reversed(void)
{
	page_set_order(&page, page_list_order(&page.opts), true);
}

static void
by_function(void)
{
	struct page_sorting s;

	ck_assert(page_sorting_parse("function", &s));
	page_choice_sort(&page, &s);
}

static void
paused(void)
{
	pause_now();
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
}

static void
frozen(void)
{
	compose(80, 12);
	page_freeze_toggle(&page, &scene.view);
}

static void
ended(void)
{
	scene.look.state = NODES_ENDED;
	scene.look.target.status = 9;
	scene.look.target.ended_wall_ms = INT64_C(1795187038000);
	scene.look.complete = false;
	scene.look.loss.lost[STREAM_RING_FULL] = 412345;
}

static void
grouped(void)
{
	page_set_group(&page, page_group_kind_called("site"));
	page_set_group_below(&page, page_group_kind_called("thread"));
}

static void (*const looks[])(void) = {
	as_it_comes, reversed, by_function, paused, frozen, ended, grouped,
};

/* Columns and words go as a whole, and OFFS stays: it may be what is edited. */
LOOP_TEST(wide_layout_cuts_no_word_on_a_narrow_screen, 0,
    (int)BASE_NELEM(looks))
{
	const char *offs;
	int cols, i;

	looks[_i]();
	snprintf(known, sizeof known, " rev ");
	learn(PAGE_WIDE, PAGE_FULL_COLS - 1);
	learn(PAGE_WIDE, 1000);
	learn(PAGE_CLASSIC, 33);
	page.layout = PAGE_WIDE;
	for (cols = PAGE_MIN_COLS; cols < 200; cols++) {
		compose(cols, 12);
		offs = strstr(pic.line[1].text, "OFFS=");
		ck_assert_msg(offs != NULL && strlen(offs) >= strlen("OFFS=  0"),
		    "%d columns: %s", cols, pic.line[1].text);
		for (i = 0; i <= page.found.spots.heading; i++)
			assert_whole_words(pic.line[i].text);
	}
}

/* A colour says what the glyph below it says, and nothing else is coloured. */
LOOP_TEST(glyph_of_an_age_has_the_mark_of_its_step, 0, 32)
{
	static const char glyphs[] = ".:-=+#";
	const struct page_span *span;
	unsigned seen = 0;
	int cols = _i < 2 ? 79 + _i : 108 + _i, i, k, step;

	page_set_order(&page, page_list_order(&page.opts), true);
	compose(cols, 60);
	for (i = 0; i < pic.rows; i++)
		for (k = 0; k < pic.line[i].nspan; k++) {
			span = &pic.line[i].span[k];
			if (span->mark < PAGE_AGE)
				continue;
			step = (int)span->mark - PAGE_AGE;
			ck_assert_int_eq(span->to - span->from, 1);
			ck_assert_int_eq(pic.line[i].text[span->from],
			    glyphs[step]);
			seen |= 1u << step;
		}
	/* One that is new is bold all over. */
	ck_assert_uint_eq(seen, cols < 100 ? 0 : 0x2e);
}

/*
 * The line editor: what each key does to a text, where the cursor is in it,
 * which part of it is shown, and what Tab puts there.
 */
#include "../src/pagek/picture/keys.h"
#include "../src/pagek/picture/typed_line.h"
#include "harness.h"
#include "scene.h"

static struct typed_line line;

static void
keys(const char *text)
{
	for (; *text != '\0'; text++)
		ck_assert_int_eq(line_key(&line, *text), LINE_CHANGED);
}

static void
press(int code, int times)
{
	while (times-- > 0)
		ck_assert_int_eq(line_key(&line, code), LINE_MOVED);
}

static void
assert_line(const char *text, size_t at)
{
	ck_assert_str_eq(line.text, text);
	ck_assert_uint_eq(line.at, at);
}

static void
begin(void)
{
	setup_target();
	line = (struct typed_line){ 0 };
}

CASE("Line", .setup = begin, .teardown = teardown);

TEST(a_character_goes_in_where_the_cursor_is)
{
	keys("srt");
	press(PAGE_KEY_LEFT, 2);
	keys("o");
	assert_line("sort", 2);
	press(PAGE_KEY_END, 1);
	keys(" p");
	assert_line("sort p", 6);
	press(PAGE_KEY_HOME, 1);
	keys(":");
	assert_line(":sort p", 1);
}

TEST(the_cursor_stays_within_the_line)
{
	press(PAGE_KEY_LEFT, 2);
	press(PAGE_KEY_RIGHT, 2);
	keys("ab");
	press(PAGE_KEY_RIGHT, 3);
	assert_line("ab", 2);
	press(PAGE_KEY_LEFT, 5);
	assert_line("ab", 0);
	press(PAGE_KEY_BACKSPACE, 1);
	press(PAGE_CTRL('W'), 1);
	press(PAGE_CTRL('U'), 1);
	assert_line("ab", 0);
}

static const struct {
	int code;
	size_t left;		/* times that Left is pressed before */
	const char *text;
	size_t at;
} erasing[] = {
	{ PAGE_KEY_BACKSPACE, 0, "sort by siz", 11 },
	{ PAGE_KEY_BACKSPACE, 4, "sort bysize", 7 },
	{ PAGE_CTRL('H'), 4, "sort bysize", 7 },
	{ 0x7f, 4, "sort bysize", 7 },
	{ PAGE_KEY_DELETE, 4, "sort by ize", 8 },
	{ PAGE_CTRL('D'), 4, "sort by ize", 8 },
	{ PAGE_CTRL('U'), 4, "size", 0 },
	{ PAGE_CTRL('K'), 4, "sort by ", 8 },
	{ PAGE_CTRL('W'), 0, "sort by ", 8 },
	{ PAGE_CTRL('W'), 4, "sort size", 5 },
	{ PAGE_CTRL('W'), 2, "sort by ze", 8 },
};

LOOP_TEST(each_key_that_erases_takes_what_it_should, 0,
    (int)BASE_NELEM(erasing))
{
	line_set(&line, "sort by size");
	press(PAGE_KEY_LEFT, (int)erasing[_i].left);
	/* The cursor is before the last word's first letter after four. */
	ck_assert_int_eq(line_key(&line, erasing[_i].code), LINE_CHANGED);
	assert_line(erasing[_i].text, erasing[_i].at);
}

TEST(a_character_of_several_bytes_is_never_cut)
{
	line_key(&line, 0x6f22);
	line_key(&line, 0x20ac);
	line_key(&line, 'x');
	press(PAGE_KEY_LEFT, 2);
	ck_assert_uint_eq(line.at, 3);
	line_key(&line, PAGE_KEY_DELETE);
	assert_line("\xe6\xbc\xa2x", 3);
	line_key(&line, PAGE_KEY_BACKSPACE);
	assert_line("x", 0);
}

TEST(a_mark_stays_with_what_it_combines_with)
{
	keys("ae");
	line_key(&line, 0x0301);
	keys("b");
	press(PAGE_KEY_LEFT, 2);
	ck_assert_uint_eq(line.at, 1);
	press(PAGE_KEY_RIGHT, 1);
	ck_assert_uint_eq(line.at, 4);
	line_key(&line, PAGE_KEY_BACKSPACE);
	assert_line("ab", 1);
}

TEST(a_full_line_takes_no_more_and_no_half_character)
{
	size_t i;

	for (i = 0; i < LINE_TEXT + 5; i++)
		line_key(&line, i % 7 == 0 ? 0x20ac : 'a');
	ck_assert_uint_lt(strlen(line.text), LINE_TEXT);
	ck_assert_int_ge(columns_of(line.text), 0);
	/* The last character stayed out as a whole. */
	line.at = 0;
	for (i = 0; i < 3; i++)
		line_key(&line, 0x10ffff);
	ck_assert_uint_lt(strlen(line.text), LINE_TEXT);
}

TEST(other_keys_are_left_to_others)
{
	static const int codes[] = { PAGE_KEY_UP, PAGE_KEY_F1, '\t', '\r',
		PAGE_CTRL('C'), PAGE_CTRL('['), PAGE_KEY_OTHER, 0 };
	size_t i;

	for (i = 0; i < BASE_NELEM(codes); i++)
		ck_assert_int_eq(line_key(&line, codes[i]), LINE_NOT_MINE);
	assert_line("", 0);
}

/* --- what is shown ------------------------------------------------------ */

TEST(the_cursor_is_in_sight_wherever_it_is)
{
	int cols, at;
	size_t from;

	for (cols = 1; cols < 40; cols++) {
		line_set(&line, "\xe6\xbc\xa2 a long line e\xcc\x81 of text, "
		    "longer than that \xe2\x82\xac.");
		for (;;) {
			from = line_shown(&line, cols, false);
			at = line_cursor(&line, from, false);
			ck_assert_uint_le(from, line.at);
			ck_assert_int_ge(at, 0);
			ck_assert_msg(at < cols, "%d of %d", at, cols);
			if (line.at == 0)
				break;
			line_key(&line, PAGE_KEY_LEFT);
		}
		ck_assert_uint_eq(from, 0);
	}
}

TEST(what_is_behind_the_cursor_is_seen_too)
{
	line_set(&line, "0123456789012345678901234567890123456789");
	press(PAGE_KEY_LEFT, 10);
	ck_assert_int_le(line_cursor(&line, line_shown(&line, 20, false),
	    false), 15);
}

LOOP_TEST(a_prompt_fits_into_every_screen, 0, 8)
{
	static const struct { int cols, rows; } sizes[] = {
		{ 124, 30 }, { 80, 24 }, { 40, 10 }, { 33, 6 }, { 20, 5 },
		{ 10, 3 }, { 2, 2 }, { 1, 1 },
	};
	int cols = sizes[_i].cols, rows = sizes[_i].rows;

	page.medium = PAGE_SCREEN;
	page.prompt.text = ":";
	page.prompt.line = &line;
	page.prompt.choices = "age  address  and\x1b[2J so many more that they do not "
	    "stand in one line of this screen, whatever its size may be, "
	    "I should think";
	line_set(&line, "target \xe6\xbc\xa2\xe5\xad\x97 and so on and so on "
	    "until the line is longer than any of the screens that it is "
	    "shown on; and this is the end of it, which is where one types");
	compose(cols, rows);
	assert_fits(cols, rows);
	ck_assert_int_eq(pic.cursor_row, rows - 1);
	ck_assert_int_lt(pic.cursor_col, cols);
	if (rows >= 5)
		ck_assert(shows("age  address"));
	if (cols >= 20)
		ck_assert(strstr(pic.line[rows - 1].text, "types") != NULL);
	press(PAGE_KEY_HOME, 1);
	compose(cols, rows);
	assert_fits(cols, rows);
	ck_assert_int_eq(pic.cursor_col, cols > 2 ? 1 : 0);
	if (cols >= 20)
		ck_assert(strncmp(pic.line[rows - 1].text, ":target", 7) == 0);
	page.prompt.text = NULL;
	page.prompt.line = NULL;
	page.prompt.choices = NULL;
}

/* --- completion --------------------------------------------------------- */

static char told[64];

static void
complete(const char *begun, const char *const *words, size_t n)
{
	struct line_words w = { .begun = begun };
	size_t i;

	for (i = 0; i < n; i++)
		line_words_add(&w, words[i]);
	line_complete(&line, &w, told, sizeof told);
	line_words_fini(&w);
}

static const char *const commands[] = { "sort", "skip", "source", "target" };

TEST(the_only_word_is_put_there_with_a_blank)
{
	keys("ta");
	complete("ta", commands, 4);
	assert_line("target ", 7);
	ck_assert_str_eq(told, "");
}

TEST(of_several_what_they_have_in_common_and_a_list)
{
	keys("s");
	complete("s", commands, 4);
	assert_line("s", 1);
	ck_assert_str_eq(told, "skip  sort  source");
	keys("o");
	complete("so", commands, 4);
	assert_line("so", 2);
	ck_assert_str_eq(told, "sort  source");
}

TEST(in_the_middle_of_a_line_too)
{
	line_set(&line, "ta 4711");
	line.at = 2;
	complete("ta", commands, 4);
	assert_line("target 4711", 6);
}

TEST(behind_a_folder_comes_no_blank)
{
	static const char *const paths[] = { "/tmp/one/", "/tmp/one/" };
	static const char *const two[] = { "/tmp/a\xc3\xa9", "/tmp/a\xc3\xa8" };

	line_set(&line, "/tmp/o");
	complete("/tmp/o", paths, 1);
	assert_line("/tmp/one/", 9);
	/* Half a character is nothing in common. */
	line_set(&line, "/t");
	complete("/t", two, 2);
	assert_line("/tmp/a", 6);
	ck_assert_str_eq(told, "a\xc3\xa8  a\xc3\xa9");
}

TEST(nothing_is_put_there_when_nothing_fits)
{
	keys("x");
	complete("x", commands, 4);
	assert_line("x", 1);
	ck_assert_str_eq(told, "");
}

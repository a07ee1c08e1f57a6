/*
 * The fields of line 2: where the cursor is, what is typed into them, and what
 * the line looks like meanwhile.
 */
#include "../src/pagek/app/app.h"
#include "../src/pagek/app/panel.h"
#include "../src/pagek/layout/edit_fields.h"
#include "../src/pagek/picture/keys.h"
#include "harness.h"
#include "scene.h"

static void
type(const char *text)
{
	while (*text != '\0')
		ck_assert_int_eq(page_fields_type(&page, *text++),
		    PAGE_FIELD_TYPING);
}

static void
go_to(enum page_field field)
{
	while (page.fields.at != field)
		page_fields_next(&page);
}

static const char *
line_2(int cols)
{
	compose(cols, 12);
	assert_fits(cols, 12);
	return pic.line[1].text;
}

/* --- the cursor --------------------------------------------------------- */

CASE("the note's line", .setup = setup_note, .teardown = teardown);

TEST(with_no_field_chosen_the_line_is_the_notes)
{
	ck_assert_str_eq(line_2(33), "NODE<0590> *L<0509>    6 OFFS=  0");
	ck_assert_int_eq(pic.line[1].nspan, 0);
	ck_assert_int_eq(pic.cursor_row, -1);
}

TEST(tab_goes_from_field_to_field_and_begins_again)
{
	static const char *const lines[] = {
		"*NODE<0590> L<0509>    6 OFFS=  0",
		"NODE<0590> *L<0509>    6 OFFS=  0",
		"NODE<0590>  L<0509>    6*OFFS=  0",
		"*NODE<0590> L<0509>    6 OFFS=  0",
	};
	size_t i;

	for (i = 0; i < BASE_NELEM(lines); i++) {
		page_fields_next(&page);
		ck_assert_str_eq(line_2(33), lines[i]);
		/* Who sees no reverse still has the star; and the reverse. */
		ck_assert(marked(1, PAGE_CURSOR));
	}
	page_fields_leave(&page);
	ck_assert_str_eq(line_2(33), "NODE<0590> *L<0509>    6 OFFS=  0");
}

CASE("the wide line", .setup = setup_target, .teardown = teardown);

TEST(the_wide_line_has_the_same_fields)
{
	page_fields_next(&page);
	ck_assert_ptr_eq(strstr(line_2(80), "*NODE<0590> L<0509>   60"),
	    pic.line[1].text);
	go_to(PAGE_FIELD_OFFS);
	ck_assert_ptr_eq(strstr(line_2(80), "NODE<0590>  L<0509>   60"),
	    pic.line[1].text);
	ck_assert_str_eq(pic.line[1].text + 68, "*OFFS=     0");
}

/* --- typing ------------------------------------------------------------- */

CASE("the note's line");

TEST(the_first_character_replaces_what_stood_there)
{
	go_to(PAGE_FIELD_NODE);
	page_fields_edit(&page, "0590");
	ck_assert_str_eq(line_2(33), "*NODE<0590> L<0509>    6 OFFS=  0");
	ck_assert_int_eq(pic.cursor_row, 1);
	ck_assert_int_eq(pic.cursor_col, 10);
	type("0a");
	ck_assert_str_eq(line_2(33), "*NODE<0a> L<0509>      6 OFFS=  0");
	ck_assert_int_eq(pic.cursor_col, 8);
	ck_assert_int_eq(page_fields_type(&page, PAGE_KEY_ENTER),
	    PAGE_FIELD_SUBMITTED);
	ck_assert_str_eq(page.fields.typed.text, "0a");
	ck_assert(page.fields.changed && !page.fields.editing);
}

TEST(backspace_takes_from_what_stood_there)
{
	go_to(PAGE_FIELD_LISTING);
	page_fields_edit(&page, "0509");
	page_fields_type(&page, PAGE_KEY_BACKSPACE);
	page_fields_type(&page, 0x7f);
	type("12");
	ck_assert_str_eq(page.fields.typed.text, "0512");
	page_fields_type(&page, PAGE_CTRL('U'));
	ck_assert_str_eq(page.fields.typed.text, "");
	page_fields_type(&page, PAGE_KEY_BACKSPACE);
	ck_assert_str_eq(page.fields.typed.text, "");
}

TEST(enter_alone_touches_nothing)
{
	go_to(PAGE_FIELD_LISTING);
	page_fields_edit(&page, "0509");
	page_fields_type(&page, PAGE_KEY_LEFT);
	page_fields_type(&page, '\t');
	ck_assert_int_eq(page_fields_type(&page, '\r'), PAGE_FIELD_SUBMITTED);
	ck_assert(!page.fields.changed);
	ck_assert_str_eq(page.fields.typed.text, "0509");
}

/* The keys are those of every line that is typed into. */
TEST(a_field_is_edited_as_a_prompt_is)
{
	static const struct {
		int code;
		const char *text;
		int cursor;		/* in it */
	} steps[] = {
		{ PAGE_KEY_LEFT, "my/old/list", 10 },
		{ 'X', "my/old/lisXt", 11 },
		{ PAGE_KEY_DELETE, "my/old/lisX", 11 },
		{ PAGE_KEY_HOME, "my/old/lisX", 0 },
		{ '/', "/my/old/lisX", 1 },
		{ PAGE_KEY_END, "/my/old/lisX", 12 },
		{ PAGE_KEY_BACKSPACE, "/my/old/lis", 11 },
		{ ' ', "/my/old/lis ", 12 },
		{ 'y', "/my/old/lis y", 13 },
		{ PAGE_CTRL('W'), "/my/old/lis ", 12 },
		{ PAGE_CTRL('A'), "/my/old/lis ", 0 },
		{ PAGE_KEY_RIGHT, "/my/old/lis ", 1 },
		{ PAGE_CTRL('K'), "/", 1 },
		{ PAGE_CTRL('U'), "", 0 },
	};
	size_t i;

	go_to(PAGE_FIELD_LISTING);
	page_fields_edit(&page, "my/old/list");
	for (i = 0; i < BASE_NELEM(steps); i++) {
		ck_assert_int_eq(page_fields_type(&page, steps[i].code),
		    PAGE_FIELD_TYPING);
		ck_assert_str_eq(page.fields.typed.text, steps[i].text);
		line_2(124);
		ck_assert_int_eq(pic.cursor_col, (int)strlen("NODE<0590> *L<") +
		    steps[i].cursor);
		/* The cursor is in sight also where the text is not whole. */
		line_2(33);
		ck_assert_int_ge(pic.cursor_col, 14);
		ck_assert_int_le(pic.cursor_col, 18);
	}
	ck_assert(page.fields.changed);
}

TEST(escape_leaves_the_line_as_it_was)
{
	go_to(PAGE_FIELD_OFFS);
	page_fields_edit(&page, "0");
	type("44");
	ck_assert_int_eq(page_fields_type(&page, PAGE_CTRL('[')),
	    PAGE_FIELD_LEFT);
	page_fields_leave(&page);
	ck_assert_str_eq(line_2(33), "NODE<0590> *L<0509>    6 OFFS=  0");
}

TEST(of_a_long_word_the_end_is_seen)
{
	go_to(PAGE_FIELD_LISTING);
	page_fields_edit(&page, "");
	type("/tmp/caf");
	page_fields_type(&page, 0xe9);
	type("-listing");
	ck_assert_str_eq(line_2(33), "NODE<0590> *L<ting>    6 OFFS=  0");
	ck_assert_int_eq(pic.cursor_col, 18);
	ck_assert_ptr_nonnull(strstr(line_2(124), "*L</tmp/café-listing>"));
	page_fields_type(&page, PAGE_CTRL('U'));
	page_fields_type(&page, 0xe9);
	page_fields_type(&page, 0x1f600);
	ck_assert_str_eq(page.fields.typed.text, "\xc3\xa9\xf0\x9f\x98\x80");
	page_fields_type(&page, PAGE_KEY_BACKSPACE);
	ck_assert_str_eq(page.fields.typed.text, "\xc3\xa9");
}

TEST(what_is_typed_never_overflows)
{
	int i, cols;

	for (i = 0; i < 2 * LINE_TEXT; i++) {
		go_to(PAGE_FIELD_NODE + (enum page_field)(i % 3));
		page.fields.editing = true;
		page_fields_type(&page, i % 5 == 0 ? 0x6f22 : 'a' + i % 26);
		for (cols = 33; i % 37 == 0 && cols < 130; cols++) {
			line_2(cols);
			ck_assert_int_lt(pic.cursor_col, cols);
		}
	}
	ck_assert_int_lt(strlen(page.fields.typed.text), LINE_TEXT);
}

TEST(a_low_or_narrow_page_bears_it)
{
	go_to(PAGE_FIELD_OFFS);
	page_fields_edit(&page, "0");
	type("123456789");
	compose(20, 5);
	compose(6, 3);
	compose(1, 1);
	assert_fits(1, 1);
	line_2(33);
	ck_assert_int_eq(pic.cursor_row, 1);
	ck_assert_int_eq(pic.cursor_col, 32);
}

/* --- what was typed ----------------------------------------------------- */

CASE("what was typed");

TEST(offs_is_a_decimal_number_of_a_row)
{
	static const struct {
		const char *typed;
		bool good;
		uint64_t offs;
		const char *why;
	} cases[] = {
		{ "0", true, 0, NULL },
		{ "59", true, 59, NULL },
		{ "007", true, 7, NULL },
		{ "60", false, 0, "60 rows: OFFS 60 is past the end" },
		{ "99999999999999999999999", false, 0, "past the end" },
		{ "4x", false, 0, "no digit at position 2" },
		{ "-1", false, 0, "no digit at position 1" },
		{ " 1", false, 0, "no digit at position 1" },
		{ "", false, 0, "a decimal number" },
	};
	uint64_t offs;
	char why[256];
	size_t i;

	for (i = 0; i < BASE_NELEM(cases); i++) {
		offs = 4711;
		ck_assert(page_field_offs(cases[i].typed, 60, &offs, why,
		    sizeof why) == cases[i].good);
		ck_assert_int_eq(offs, cases[i].good ? cases[i].offs : 4711);
		if (!cases[i].good)
			ck_assert_msg(strstr(why, cases[i].why) != NULL, "%s",
			    why);
	}
	ck_assert(page_field_offs("0", 0, &offs, why, sizeof why));
}

TEST(words_are_refused_with_the_position)
{
	static const struct {
		enum page_field field;
		const char *typed;
		const char *why;
	} cases[] = {
		{ PAGE_FIELD_NODE, "linac-a/pid:4", NULL },
		{ PAGE_FIELD_NODE, "05 90", "blank is allowed at position 3" },
		{ PAGE_FIELD_NODE, "", "a number of the table" },
		{ PAGE_FIELD_LISTING, "pager", NULL },
		{ PAGE_FIELD_LISTING, "|less -S", NULL },
		{ PAGE_FIELD_LISTING, "/tmp/my list", NULL },
		{ PAGE_FIELD_LISTING, "my list", "position 3" },
		{ PAGE_FIELD_LISTING, "", "a path with a slash" },
	};
	char why[256];
	size_t i;

	for (i = 0; i < BASE_NELEM(cases); i++) {
		ck_assert(page_field_word(cases[i].field, cases[i].typed, why,
		    sizeof why) == (cases[i].why == NULL));
		if (cases[i].why != NULL)
			ck_assert_msg(strstr(why, cases[i].why) != NULL, "%s",
			    why);
	}
}

/* --- keys --------------------------------------------------------------- */

static struct app app;

static void
setup_app(void)
{
	setup_target();
	compose(80, 24);
	page.medium = PAGE_SCREEN;
	app = (struct app){ .page = &page, .cols = 80, .rows = 24 };
	ck_assert_int_eq(app_panels_init(&app), 0);
}

static void
teardown_app(void)
{
	app_panels_fini(&app);
	teardown();
}

CASE("keys", .setup = setup_app, .teardown = teardown_app);

TEST(with_the_cursor_in_a_field_other_keys_mean_what_they_did)
{
	app_key(&app, '\t');
	ck_assert_int_eq(page.fields.at, PAGE_FIELD_NODE);
	ck_assert(strstr(page.message, "Enter edits") != NULL);
	app_key(&app, 'c');
	ck_assert_int_eq(page.layout, PAGE_CLASSIC);
	ck_assert_int_eq(page.fields.at, PAGE_FIELD_NODE);
	app_key(&app, PAGE_CTRL('['));
	ck_assert_int_eq(page.fields.at, PAGE_NO_FIELD);
	ck_assert(!app.over);
}

TEST(a_listing_node_is_not_lost_by_a_wrong_one)
{
	const char *p;

	app_key(&app, '\t');
	app_key(&app, '\t');
	app_key(&app, PAGE_KEY_ENTER);
	ck_assert_int_eq(app.mode, APP_FIELD);
	for (p = "my q"; *p != '\0'; p++)
		app_key(&app, *p);
	ck_assert(!app.over);
	app_key(&app, PAGE_KEY_ENTER);
	ck_assert_str_eq(page.opts.listing, "0509");
	ck_assert(strstr(page.message, "position 3") != NULL);
	ck_assert_int_eq(app.mode, APP_PAGE);
	/* Enter edits it again. */
	ck_assert_int_eq(page.fields.at, PAGE_FIELD_LISTING);
	app_key(&app, PAGE_KEY_ENTER);
	for (p = "/tmp/l"; *p != '\0'; p++)
		app_key(&app, *p);
	app_key(&app, PAGE_KEY_ENTER);
	ck_assert_str_eq(page.opts.listing, "/tmp/l");
	ck_assert_int_eq(page.fields.at, PAGE_NO_FIELD);
	ck_assert_ptr_nonnull(strstr(line_2(80), "*L</tmp/l>"));
}

static void
enter_offs(const char *digits)
{
	page_fields_leave(&page);
	page.fields.at = PAGE_FIELD_OFFS;
	app_key(&app, PAGE_KEY_ENTER);
	for (; *digits != '\0'; digits++)
		app_key(&app, *digits);
}

TEST(up_and_down_bring_back_what_was_typed_into_that_field)
{
	struct history *h = &app.prompt.history;

	app.prompt.loaded = true;
	enter_offs("17\r");
	enter_offs("25\r");
	history_add(h, "listing", "/tmp/l");
	enter_offs("");
	app_key(&app, PAGE_KEY_UP);
	ck_assert_str_eq(page.fields.typed.text, "25");
	app_key(&app, PAGE_CTRL('P'));
	ck_assert_str_eq(page.fields.typed.text, "17");
	app_key(&app, PAGE_KEY_UP);
	ck_assert_str_eq(page.fields.typed.text, "17");
	app_key(&app, PAGE_KEY_DOWN);
	ck_assert_str_eq(page.fields.typed.text, "25");
	app_key(&app, PAGE_KEY_ENTER);
	ck_assert_int_eq(page.offs, 25);
	/* Of those that begin like what is typed. */
	enter_offs("1");
	app_key(&app, PAGE_KEY_UP);
	ck_assert_str_eq(page.fields.typed.text, "17");
	app_key(&app, PAGE_KEY_ENTER);
	ck_assert_int_eq(page.offs, 17);
	history_fini(h);
}

TEST(offs_moves_the_rows)
{
	app_key(&app, '\t');
	app_key(&app, '\t');
	app_key(&app, '\t');
	app_key(&app, PAGE_KEY_ENTER);
	app_key(&app, '1');
	app_key(&app, '7');
	app_key(&app, PAGE_KEY_ENTER);
	compose(80, 24);
	ck_assert_int_eq(page.offs, 17);
	ck_assert(!page.cursor.on);
	app_key(&app, '\t');
	app_key(&app, '\t');
	app_key(&app, '\t');
	app_key(&app, PAGE_KEY_ENTER);
	app_key(&app, '7');
	app_key(&app, '7');
	app_key(&app, PAGE_KEY_ENTER);
	ck_assert_int_eq(page.offs, 17);
	ck_assert(strstr(page.message, "there are 60 rows") != NULL);
}

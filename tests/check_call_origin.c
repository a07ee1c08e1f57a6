/*
 * Who asked, as rows show it: the origin of a stack, what is skipped, what a
 * narrow column leaves out, and what a pause keeps of all that.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/page/calls.h"
#include "harness.h"
#include "scene.h"

static struct symbol_wrappers *wrappers;

static void
setup_wrappers(void)
{
	setup_stacks();
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	scene.view.wrappers = page.opts.wrappers = wrappers;
}

static void
teardown_wrappers(void)
{
	teardown();
	symbol_wrappers_free(wrappers);
}

static const char *
origin(unsigned site)
{
	static char text[PAGE_NAME_MAX];
	struct page_call call;

	if (!page_calls_origin(&scene.view, rec_site_caller(site), &call))
		return NULL;
	page_call_function(&call, text, sizeof text);
	return text;
}

/* --- origins ------------------------------------------------------------ */

CASE("origins", .setup = setup_wrappers, .teardown = teardown_wrappers);

TEST(origin_is_the_innermost_that_is_not_skipped)
{
	ck_assert_str_eq(origin(1), "robj::make(int)");
	ck_assert_str_eq(origin(2), "dictAdd");
	ck_assert_str_eq(origin(3), "libfoo.so+0x1f30");
	ck_assert_str_eq(origin(4), "processCommand");
	scene.view.wrappers = NULL;
	ck_assert_str_eq(origin(2), "zmalloc");
}

TEST(when_all_are_skipped_the_outermost_has_asked)
{
	ck_assert_int_eq(symbol_wrappers_add(wrappers, "*"), 0);
	ck_assert_str_eq(origin(2), "main");
}

TEST(what_is_skipped_ends_with_the_first_that_is_not)
{
	static const bool want[] = { true, false, false, false, false };
	struct page_calls calls;
	struct page_call c;
	size_t i = 0;

	/* processCommand is further out than createObject's inlined callee. */
	ck_assert_int_eq(symbol_wrappers_add(wrappers, "processCommand"), 0);
	ck_assert(page_calls_begin(&calls, &scene.view, rec_site_caller(1)));
	for (; page_calls_next(&calls, &c); i++) {
		ck_assert_uint_lt(i, BASE_NELEM(want));
		ck_assert_int_eq(c.skipped, want[i]);
		ck_assert_int_eq(c.inlined, i == 1);
		ck_assert_uint_eq(c.frame, i < 2 ? i : i - 1);
	}
	ck_assert_uint_eq(i, BASE_NELEM(want));
}

/* Whether a frame passes requests on is not known before its name is. */
TEST(origin_behind_a_frame_without_words_is_not_known)
{
	scene_late = 1u << SCENE_F_ZMALLOC;
	ck_assert_ptr_null(origin(1));
	compose(80, 24);
	ck_assert(!shows("zmalloc"));
	ck_assert(!shows("robj::make"));
	scene_late = 1u << SCENE_F_MAIN;
	ck_assert_str_eq(origin(2), "dictAdd");
	scene_deaf = true;
	ck_assert_ptr_null(origin(2));
}

TEST(code_in_no_file_is_its_address)
{
	struct page_calls calls;
	struct page_call c;
	char text[64];

	ck_assert(page_calls_begin(&calls, &scene.view, rec_site_caller(5)));
	ck_assert(page_calls_next(&calls, &c));
	page_call_function(&c, text, sizeof text);
	ck_assert_str_eq(text, "libbar.so.1+0x77");
	ck_assert(page_calls_next(&calls, &c));
	page_call_function(&c, text, sizeof text);
	ck_assert_str_eq(text, "0x55d0c2a01700");
	page_call_where(&c, true, text, sizeof text);
	ck_assert_str_eq(text, "");
}

/* --- in so many columns ------------------------------------------------- */

static const struct {
	int width;
	const char *function, *where, *text;
} widths[] = {
	{ 60, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vector<int>::push_back(int&&)  vector.h:12" },
	{ 47, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vector<int>::push_back(int&&)  vector.h:12" },
	{ 46, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vector::push_back  vector.h:12" },
	{ 34, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vector::push_ba~  vector.h:12" },
	{ 25, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vector~  vector.h:12" },
	{ 24, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vector::push_back" },
	{ 10, "std::vector<int>::push_back(int&&)", "vector.h:12",
	    "std::vect~" },
	{ 19, "zmalloc", "zmalloc.c:112", "zmalloc" },
	{ 22, "zmalloc", "zmalloc.c:112", "zmalloc  zmalloc.c:112" },
	{ 22, "zmalloc", "", "zmalloc" },
	{ 1, "zmalloc", "zmalloc.c:112", "~" },
	{ 0, "zmalloc", "zmalloc.c:112", "" },
};

CASE("cols", .setup = setup_wrappers, .teardown = teardown_wrappers);

LOOP_TEST(function_is_cut_before_its_line_and_shown_before_it, 0,
    (int)BASE_NELEM(widths))
{
	picture_begin(&pic, 80, true);
	picture_line(&pic);
	page_put_name(widths[_i].function, widths[_i].where, widths[_i].width,
	    &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert_str_eq(pic.line[0].text, widths[_i].text);
}

TEST(rows_name_function_and_line_where_there_is_room)
{
	compose(124, 24);
	ck_assert(shows("  dictAdd  dict.c:300"));
	ck_assert(shows("  robj::make(int)  object.h:12"));
	ck_assert(shows("  libfoo.so+0x1f30"));
	ck_assert(!shows("src/dict.c"));
	compose(80, 24);
	ck_assert(shows("  dictAdd  dict.c:300"));
	compose(60, 24);
	ck_assert(shows(" dictAdd"));
	page.layout = PAGE_CLASSIC_STRICT;
	compose(80, 24);
	ck_assert(!shows("dictAdd"));
}

TEST(text_of_the_wire_is_clipped_to_whole_characters)
{
	char out[8];

	page_text_copy(out, sizeof out, (struct wire_text){ "a\0b", 3 });
	ck_assert_str_eq(out, "a?b");
	page_text_copy(out, sizeof out, (struct wire_text){
	    "123456\xe6\xbc\xa2", 9 });
	ck_assert_str_eq(out, "123456");
	page_text_copy(out, sizeof out, (struct wire_text){ "\xff\xfe", 2 });
	ck_assert_str_eq(out, "\xff\xfe");
	page_text_copy(out, sizeof out, (struct wire_text){ NULL, 0 });
	ck_assert_str_eq(out, "");
	ck_assert_uint_eq(page_text_base(wire_text("/usr/lib/")).len, 9);
	ck_assert_uint_eq(page_text_base(wire_text("/usr/lib/x")).len, 1);
}

/* --- pausing ------------------------------------------------------------ */

static void
pause_page(void)
{
	pause_now();
	page_view_paused(&scene.view, &page);
}

CASE("pauses", .setup = setup_wrappers, .teardown = teardown_wrappers);

TEST(paused_picture_keeps_stacks_and_words_that_it_shows)
{
	char before[24][128];
	int i;

	pause_page();
	compose(80, 24);
	for (i = 1; i < 24; i++)
		snprintf(before[i], sizeof before[i], "%.127s",
		    pic.line[i].text);
	scene_deaf = true;
	scene_late = ~0u;
	compose(80, 24);
	ck_assert(shows("dictAdd  dict.c:300"));
	for (i = 1; i < 24; i++)
		ck_assert_str_eq(pic.line[i].text, before[i]);
}

TEST(name_may_still_come_into_a_paused_picture)
{
	scene_late = 1u << SCENE_F_DICT;
	pause_page();
	compose(80, 24);
	ck_assert(!shows("dictAdd"));
	scene_late = 0;
	compose(80, 24);
	ck_assert(shows("dictAdd"));
}

TEST(another_stream_is_not_asked_for_a_paused_picture)
{
	pause_page();
	scene.look.stream_no++;
	scene_refresh(&scene);
	page_view_paused(&scene.view, &page);
	compose(80, 24);
	ck_assert(!shows("dictAdd"));
	page_resume(&page);
	scene_refresh(&scene);
	scene.view.wrappers = wrappers;
	compose(80, 24);
	ck_assert(shows("dictAdd"));
}

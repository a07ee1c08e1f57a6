/*
 * The callers and callees of one function, over the page.
 */
#include "detail_rig.h"
#include "golden.h"

static struct page_callers callers;

static void
look_callers(int cols, int rows)
{
	ck_assert_int_eq(page_callers_compose(&callers, &page, &scene.view, cols,
	    rows, &pic), 0);
	assert_fits(cols, 0);
	ck_assert_int_le(pic.rows, rows > 2 ? rows : 2);
}

/* Of the call so many lines down the stack of the site. */
static void
open_callers(unsigned site, int at)
{
	struct page_call c;

	open_site(site);
	page_detail_move(&detail, &scene.view, at);
	ck_assert(page_detail_call(&detail, &scene.view, &c));
	page_callers_open(&callers, detail.blk.caller, &c);
}

static int
line_with(const char *text)
{
	int i;

	for (i = 1; i < pic.rows; i++)
		if (strstr(pic.line[i].text, text) != NULL)
			return i;
	return -1;
}

CASE("callers", .setup = setup_detail, .teardown = teardown_detail);

TEST(picture_of_kin_is_golden)
{
	open_callers(2, 2);
	look_callers(100, 22);
	assert_golden(&pic, "callers-100");
	look_callers(40, 8);
	assert_golden(&pic, "callers-40");
}

TEST(callers_stand_above_and_callees_below)
{
	open_callers(2, 2);
	look_callers(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert_int_lt(line_with("callers"), line_with("main"));
	ck_assert_int_lt(line_with("main"), line_with("callees"));
	ck_assert_int_lt(line_with("callees"), line_with("dictAdd"));
	ck_assert_int_lt(line_with("callees"), line_with("createObject"));
	ck_assert_int_lt(line_with("callees"), line_with("libfoo.so+0x1f30"));
	ck_assert_int_eq(line_with("robj::make"), -1);
	ck_assert_int_eq(line_with("zmalloc"), -1);
}

TEST(one_goes_from_kin_to_kin_and_back)
{
	open_callers(2, 2);
	look_callers(100, 22);
	page_callers_move(&callers, 3);
	ck_assert(page_callers_go(&callers, &scene.view));
	look_callers(100, 22);
	ck_assert(strstr(pic.line[2].text, "createObject") != NULL ||
	    strstr(pic.line[2].text, "dictAdd") != NULL);
	ck_assert(page_callers_go(&callers, &scene.view));
	look_callers(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert(page_callers_back(&callers));
	ck_assert(page_callers_back(&callers));
	look_callers(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert_int_eq(callers.step[0].selected, 3);
	ck_assert(!page_callers_back(&callers));
}

TEST(who_walks_in_circles_is_not_stopped)
{
	int i, back = 0;

	open_callers(2, 2);
	for (i = 0; i < 5 * PAGE_CALLERS_DEPTH; i++) {
		look_callers(100, 22);
		page_callers_move(&callers, 1);
		if (!page_callers_go(&callers, &scene.view))
			break;
	}
	while (page_callers_back(&callers)) {
		look_callers(100, 22);
		back++;
	}
	ck_assert_int_le(back, PAGE_CALLERS_DEPTH - 1);
}

TEST(wrapper_has_kin_too)
{
	open_callers(2, 0);
	look_callers(100, 22);
	ck_assert(strstr(pic.line[2].text, "zmalloc") != NULL);
	ck_assert_int_lt(line_with("callers"), line_with("dictAdd"));
	ck_assert_int_eq(strcmp(pic.line[pic.rows - 1].text, "  none"), 0);
}

TEST(function_of_which_nothing_lives_has_no_kin)
{
	unsigned i;

	open_callers(2, 1);
	for (i = 1; i < 40; i += 5)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x1000);
	later();
	look_callers(100, 22);
	ck_assert(shows("dictAdd"));
	ck_assert(!page_callers_go(&callers, &scene.view));
}

TEST(cursor_stays_on_its_kin)
{
	open_callers(2, 2);
	look_callers(100, 22);
	while (!marked(line_with("dictAdd"), PAGE_CURSOR)) {
		ck_assert_int_lt(callers.step[0].selected, 9);
		page_callers_move(&callers, 1);
		look_callers(100, 22);
	}
	scene_alloc(&scene, 0x1000, 1 << 20, TYPE_MALLOC, 1,
	    rec_site_caller(1), scene.look.now_ms);
	later();
	look_callers(100, 22);
	ck_assert(marked(line_with("dictAdd"), PAGE_CURSOR));
}

TEST(kin_of_a_name_that_comes_late_are_its_own)
{
	scene_late = 1u << SCENE_F_COMMAND;
	open_callers(2, 2);
	look_callers(100, 22);
	ck_assert(shows("0x55d0c2a01300"));
	scene_late = 0;
	later();
	look_callers(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert(shows("dictAdd"));
}

/*
 * The next row that is meant, against a plain loop over the rows; and a search
 * in a list that changes meanwhile.
 */
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/rows/find.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#include <ctype.h>

#define BLOCKS 2000

static struct filter_error wrong;

static uint64_t
address(unsigned i)
{
	return UINT64_C(0x7f3c04000000) + i * 0x1000u;
}

/* Every 500th is larger than all others. */
static void
setup_many(void)
{
	unsigned i;

	setup();
	scene_target(&scene, 0);
	for (i = 0; i < BLOCKS; i++)
		scene_alloc(&scene, address(i), i % 500 == 250 ? 5000 + i : 16,
		    i % 2 ? TYPE_MALLOC : TYPE_NEW, 1 + i % 4,
		    rec_site_caller(1 + i % 5),
		    scene.look.now_ms - (int64_t)(BLOCKS - i) * 10);
	scene_refresh(&scene);
	page.medium = PAGE_SCREEN;
}

static enum page_find_state
whole(void)
{
	enum page_find_state s;
	int steps = 0;

	while ((s = page_find_step(&page, &scene.view, 0)) == PAGE_FIND_ON)
		ck_assert_int_lt(steps++, BLOCKS);
	return s;
}

static enum page_find_state
find(const char *text, bool back)
{
	int r = page_find_begin(&page, &scene.view, text, back, &wrong);

	ck_assert_int_eq(r, 0);
	return whole();
}

static void
assert_cursor_at(unsigned block)
{
	struct blk b;

	ck_assert(page.cursor.on);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	ck_assert_uint_eq(b.addr, address(block));
}

CASE("rows", .setup = setup_many, .teardown = teardown);

TEST(next_is_the_next_row_that_matches_round_the_end)
{
	unsigned i;

	for (i = 0; i < 9; i++) {
		ck_assert_int_eq(find(i == 0 ? "size>=1k" : NULL, false),
		    PAGE_FIND_HERE);
		assert_cursor_at(i % 4 * 500 + 250);
		ck_assert_int_eq(page_find_went_round(&page), i != 0 &&
		    i % 4 == 0);
		scene_refresh(&scene);
	}
}

TEST(back_is_the_row_before_that_matches_round_the_start)
{
	unsigned i;

	for (i = 0; i < 9; i++) {
		ck_assert_int_eq(find(i == 0 ? "size>=1k" : NULL, true),
		    PAGE_FIND_HERE);
		assert_cursor_at((3 - i % 4) * 500 + 250);
		scene_refresh(&scene);
	}
}

TEST(no_row_is_hidden)
{
	ck_assert_int_eq(find("size>=1k", false), PAGE_FIND_HERE);
	scene_refresh(&scene);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), BLOCKS);
	ck_assert(!page_choice_filters(&page));
}

TEST(a_single_row_is_found_again_and_none_is_said)
{
	ck_assert_int_eq(find("size=5250", false), PAGE_FIND_HERE);
	scene_refresh(&scene);
	ck_assert_int_eq(find(NULL, false), PAGE_FIND_HERE);
	assert_cursor_at(250);
	ck_assert(page_find_went_round(&page));
	ck_assert_int_eq(find("size=77", false), PAGE_FIND_NONE);
	ck_assert(!page_find_is_on(&page));
	assert_cursor_at(250);
}

TEST(a_word_an_address_and_a_quoted_text_are_looked_for)
{
	ck_assert_int_eq(find("zmalloc", false), PAGE_FIND_HERE);
	ck_assert_int_eq(find("7f3c04007000", false), PAGE_FIND_HERE);
	assert_cursor_at(7);
	ck_assert_int_eq(find("0x7f3c04005000", false), PAGE_FIND_HERE);
	assert_cursor_at(5);
	ck_assert_int_eq(find("nobody(", false), PAGE_FIND_NONE);
}

TEST(a_wrong_expression_leaves_the_last_one)
{
	ck_assert_int_eq(find("size>=1k", false), PAGE_FIND_HERE);
	ck_assert_int_eq(page_find_begin(&page, &scene.view, "sise>=1k",
	    false, &wrong), -EINVAL);
	ck_assert_uint_eq(wrong.at, 0);
	ck_assert_str_eq(page_find_text(&page), "size>=1k");
	ck_assert_int_eq(page_find_begin(&page, &scene.view, "  ", false,
	    &wrong), -EINVAL);
	ck_assert_int_eq(find(NULL, false), PAGE_FIND_HERE);
	assert_cursor_at(750);
}

TEST(nothing_looked_for_yet_is_told)
{
	ck_assert_int_eq(page_find_begin(&page, &scene.view, NULL, false,
	    &wrong), -ENOENT);
	ck_assert_int_eq(page_find_step(&page, &scene.view, 0),
	    PAGE_FIND_OFF);
}

/* Rows before the search are freed by the hundred: none that stays is missed. */
TEST(a_list_that_changes_hides_no_row_from_a_search)
{
	enum page_find_state s;
	unsigned freed = 0;

	ck_assert_int_eq(page_find_begin(&page, &scene.view, "size>=6700",
	    false, &wrong), 0);
	while ((s = page_find_step(&page, &scene.view, 0)) == PAGE_FIND_ON)
		/* Up to five in eight of the row that is looked at. */
		for (unsigned i = 0; i < 40 && freed < 1700; i++, freed++) {
			scene_free(&scene, address(freed));
			scene_refresh(&scene);
		}
	ck_assert_int_eq(s, PAGE_FIND_HERE);
	assert_cursor_at(1750);
	ck_assert(!page_find_went_round(&page));
}

/* Its portions end with the clock: a slow machine needs several pictures. */
static void
compose_choice(void)
{
	do
		compose(80, 24);
	while (page_choice_waits(&page));
}

TEST(rows_of_a_filter_and_of_another_order_are_searched)
{
	struct page_sorting by = { .n = 1 };
	struct filter_error e;

	ck_assert_int_eq(page_choice_filter(&page, "size>=1k", &e), 0);
	compose_choice();
	ck_assert_int_eq(find("size>6000", false), PAGE_FIND_HERE);
	assert_cursor_at(1250);
	by.by[0].sort = PAGE_SORT_SIZE;
	page_choice_sort(&page, &by);
	compose_choice();
	/* The largest first: behind 1250 comes 750, which is too small. */
	ck_assert_int_eq(find(NULL, false), PAGE_FIND_HERE);
	assert_cursor_at(1750);
}

/* The name that the row with the cursor shows. */
static const char *
name_at_cursor(void)
{
	static struct page_group_words words;
	struct page_group_at at;

	ck_assert(page.cursor.on);
	ck_assert(page_groups_at(page.groups, page.cursor.at, &at));
	page_group_say(&page, &scene.view, page_group_level(&page, 0),
	    page_groups_at_row(page.groups, &at), &words);
	return words.name;
}

TEST(groups_are_found_by_a_part_of_their_name_in_either_case)
{
	char first[PAGE_NAME_MAX], part[8];

	scene_fini(&scene);
	scene_target(&scene, 60);
	page_set_group(&page, page_group_kind_called("function"));
	compose(80, 24);
	ck_assert_uint_gt(page.groups->nrow, 2);
	page_move_to(&page, page.groups->nrow - 1);
	snprintf(first, sizeof first, "%s", name_at_cursor());
	snprintf(part, sizeof part, "%.4s", first);
	for (char *c = part; *c != '\0'; c++)
		*c = (char)toupper((unsigned char)*c);
	page_move_to(&page, 0);
	ck_assert_int_eq(find(part, false), PAGE_FIND_HERE);
	ck_assert_ptr_nonnull(strcasestr(name_at_cursor(), part));
	/* Once round, back to the only one, or on to the next. */
	ck_assert_int_eq(find(NULL, true), PAGE_FIND_HERE);
	ck_assert_ptr_nonnull(strcasestr(name_at_cursor(), part));
	ck_assert_int_eq(find("no such name", false), PAGE_FIND_NONE);
	/* What blocks would refuse is a part of a name here. */
	ck_assert_int_eq(find("size>=", false), PAGE_FIND_NONE);
	page_set_group(&page, 0);
	compose(80, 24);
	ck_assert_int_eq(page_find_begin(&page, &scene.view, NULL, false,
	    &wrong), -ENOENT);
}

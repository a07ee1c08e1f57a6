/*
 * The blocks that are chosen, against those that a plain loop over the whole
 * list chooses; and when they are taken.
 */
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/difference/difference.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

static struct filter_error wrong;

static void
filter(const char *expression)
{
	ck_assert_int_eq(page_choice_filter(&page, expression, &wrong), 0);
}

/* What takes more than a picture is shown as far as it is. */
static void
on_screen(void)
{
	page.medium = PAGE_SCREEN;
}

/* Many blocks of random sizes, ages and threads, some freed and some anew. */
static void
setup_random(void)
{
	unsigned i;

	setup();
	page.medium = PAGE_WHOLE;
	scene_target(&scene, 0);
	srand(17);
	for (i = 0; i < 3000; i++) {
		uint64_t addr = UINT64_C(0x7f3c04000000) +
		    (unsigned)(rand() % 1500) * 0x100u;

		scene_alloc(&scene, addr, (unsigned)rand() % 5000,
		    i % 2 ? TYPE_MALLOC : TYPE_NEW, 1 + i % 4,
		    rec_site_caller(1 + i % 5),
		    scene.look.now_ms - rand() % 100000);
		if (i % 5 == 0)
			scene_free(&scene, addr);
	}
	scene_refresh(&scene);
}

/* --- against a plain loop ----------------------------------------------- */

static bool
is_large(const struct blk *b)
{
	return b->size >= 1024;
}

static bool
is_old_malloc(const struct blk *b)
{
	return b->type == TYPE_MALLOC &&
	    (scene.look.now_ms - b->ms) / 1000 > 50;
}

static bool
is_of_zmalloc(const struct blk *b)
{
	unsigned site = rec_site(b->caller);

	return site == 1 || site == 2 || site == 4;
}

static bool
is_neither(const struct blk *b)
{
	return b->thread == 2 || b->size == 77;
}

static const struct {
	const char *expression;
	bool (*means)(const struct blk *);
} filters[] = {
	{ "size>=1k", is_large },
	{ "type=malloc & age>50s", is_old_malloc },
	{ "function=zmalloc", is_of_zmalloc },
	{ "thread=rx-0 | size=77", is_neither },
};

static void
assert_rows(bool (*means)(const struct blk *))
{
	struct page_chosen sums;
	struct blk b, row;
	uint64_t at = 0, n = 0, bytes = 0, of = 0;

	while (blklist_window(scene.list, page_list_order(&page.opts),
	    page_list_reverse(&page.opts), at++, &b, 1) == 1) {
		of += page_drain_keep(&page, &b, 1);
		if (!means(&b))
			continue;
		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, n++,
		    &row, 1), 1);
		ck_assert_mem_eq(&row, &b, sizeof b);
		bytes += b.size;
	}
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), n);
	page_choice_sums(&page, &sums);
	ck_assert(sums.known && !sums.cut);
	ck_assert_uint_eq(sums.blocks, n);
	ck_assert_uint_eq(sums.listed, n);
	ck_assert_uint_eq(sums.bytes, bytes);
	ck_assert_uint_eq(sums.of, of);
}

CASE("Rows", .setup = setup_random, .teardown = teardown);

LOOP_TEST(rows_are_the_blocks_that_the_filter_means, 0,
    (int)BASE_NELEM(filters))
{
	filter(filters[_i].expression);
	compose(80, 24);
	assert_rows(filters[_i].means);
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	page.round++;
	compose(124, 30);
	assert_rows(filters[_i].means);
}

TEST(rows_follow_the_list)
{
	filter("size>=1k");
	compose(80, 24);
	scene_alloc(&scene, 0x1000, 4096, TYPE_NEW, 1, 0, scene.look.now_ms);
	scene_alloc(&scene, 0x2000, 100, TYPE_NEW, 1, 0, scene.look.now_ms);
	scene_refresh(&scene);
	compose(80, 24);
	assert_rows(is_large);
	scene.look.now_ms += 60000;
	filter("type=malloc & age>50s");
	compose(80, 24);
	scene.look.now_ms += 7000;
	compose(80, 24);
	assert_rows(is_old_malloc);
}

/* Until a take has counted the list as it is: a slow machine needs some pictures. */
static void
compose_until_taken(void)
{
	struct page_chosen sums;
	unsigned pictures = 0;

	do {
		ck_assert_uint_lt(pictures++, 10000);
		later();
		compose(80, 24);
		page_choice_sums(&page, &sums);
	} while (!sums.known || sums.of != page_view_total(&scene.view));
}

TEST(groups_and_their_blocks_are_of_what_the_filter_means)
{
	uint64_t blocks = 0, at;
	struct page_chosen sums;
	struct blk b;

	filter("size>=1k");
	page_set_group(&page, 1);
	on_screen();
	compose_until_taken();
	page_choice_sums(&page, &sums);
	for (at = 0; at < page.groups->nrow; at++)
		blocks += page_groups_row(page.groups, at)->total.blocks;
	ck_assert_uint_gt(blocks, 0);
	ck_assert_uint_eq(blocks, sums.blocks);
	ck_assert(page_open_group(&page, &scene.view));
	compose(80, 24);
	for (at = 0; page_rows_blocks(&page, &scene.view, at, &b, 1) == 1;
	    at++)
		ck_assert_uint_ge(b.size, 1024);
	ck_assert_uint_eq(at, page_groups_row(page.groups, 0)->total.blocks);
}

static uint64_t drained;	/* number of the last record before the drain */

static bool
is_large_and_drained(const struct blk *b)
{
	return is_large(b) && b->seq <= drained;
}

TEST(second_line_counts_what_the_line_of_the_filter_counts)
{
	char count[128], n[32], of[32], bytes[24];
	struct page_chosen sums;

	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	scene_alloc(&scene, 0x1000, 4096, TYPE_NEW, 1, 0, scene.look.now_ms);
	scene_refresh(&scene);
	filter("size>=1k");
	compose(80, 24);
	page_choice_sums(&page, &sums);
	base_group_digits(n, sizeof n, sums.blocks);
	base_group_digits(of, sizeof of, sums.of);
	base_human_bytes(bytes, sizeof bytes, sums.bytes);
	snprintf(count, sizeof count, "%s of %s blocks  %s", n, of, bytes);
	ck_assert_msg(strstr(pic.line[1].text, count) != NULL, "%s: %s",
	    count, pic.line[1].text);
}

TEST(drained_page_is_asked_for_blocks_of_the_drain)
{
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	drained = scene.look.work.total_records;
	scene_alloc(&scene, 0x1000, 4096, TYPE_NEW, 1, 0, scene.look.now_ms);
	scene_refresh(&scene);
	filter("size>=1k");
	compose(80, 24);
	assert_rows(is_large_and_drained);
	page_drain_end(&page);
	compose(80, 24);
	assert_rows(is_large);
}

/* --- the filter --------------------------------------------------------- */

CASE("Filter", .setup = setup_random, .teardown = teardown);

TEST(wrong_expression_leaves_the_old_one)
{
	filter("size>=1k");
	ck_assert_int_lt(page_choice_filter(&page, "sise>1", &wrong), 0);
	ck_assert_str_eq(page_choice_filter_text(&page), "size>=1k");
	compose(80, 24);
	assert_rows(is_large);
}

TEST(without_a_filter_nothing_is_taken)
{
	uint64_t total;

	filter("size>=1k");
	compose(80, 24);
	filter("  ");
	ck_assert_ptr_null(page_choice_filter_text(&page));
	compose(80, 24);
	total = page_rows_total(&page, &scene.view);
	ck_assert_uint_eq(total, scene.view.counts->aRecActive);
	ck_assert(!shows("filter"));
}

TEST(strict_page_shows_all_blocks)
{
	filter("size>=1k");
	page.layout = PAGE_CLASSIC_STRICT;
	compose(33, 24);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view),
	    scene.view.counts->aRecActive);
	ck_assert(!shows("filter"));
}

TEST(how_many_match_is_always_shown)
{
	static const struct {
		int cols, rows;
	} sizes[] = { { 80, 24 }, { 124, 30 }, { 40, 10 }, { 33, 5 },
		{ 79, 8 }, { 300, 100 } };
	size_t i;

	filter("function=zmalloc & size>=1k & size<1m & age<1d & type!=free");
	for (i = 0; i < BASE_NELEM(sizes); i++) {
		compose(sizes[i].cols, sizes[i].rows);
		assert_fits(sizes[i].cols, sizes[i].rows);
		ck_assert(shows("filter") && shows(" of "));
	}
}

LOOP_TEST(no_size_is_too_small, 1, 130)
{
	int rows;

	filter("size>=1k");
	for (rows = 0; rows < 12; rows++) {
		compose(_i, rows);
		assert_fits(_i, rows);
	}
}

LOOP_TEST(wide_characters_are_cut_whole, 33, 60)
{
	filter("descr~\"\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c\"");
	compose(_i, 24);
	assert_fits(_i, 24);
	ck_assert(shows("filter descr~"));
}

/* --- when --------------------------------------------------------------- */

CASE("When", .setup = setup_random, .teardown = teardown);

TEST(cursor_stays_on_its_block)
{
	struct blk b, now;

	compose(80, 24);
	ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_AGE, false,
	    300, &b, 1), 1);
	page_move_to(&page, 300);
	page_remember_cursor(&page, &scene.view);
	filter(is_large(&b) ? "size>=1k" : "size<1k");
	compose(80, 24);
	ck_assert(page_block_at_cursor(&page, &scene.view, &now));
	ck_assert_mem_eq(&now, &b, sizeof b);
	ck_assert_uint_lt(page.cursor.at, 300);
	filter("");
	compose(80, 24);
	ck_assert_uint_eq(page.cursor.at, 300);
}

/* The clock stands: a slow machine needs some pictures for the first row. */
static void
compose_until_shown(struct blk *first)
{
	unsigned pictures = 0;

	do {
		ck_assert_uint_lt(pictures++, 10000);
		compose(80, 24);
	} while (page_rows_blocks(&page, &scene.view, 0, first, 1) == 0);
}

TEST(block_that_has_ended_is_greyed_until_the_next_take)
{
	struct blk b;

	on_screen();
	filter("size>=1k");
	compose_until_shown(&b);
	/* The page's clock stands: no take is due. */
	scene_free(&scene, b.addr);
	scene_refresh(&scene);
	compose(80, 24);
	if (page_rows_total(&page, &scene.view) > 0) {
		struct blk row;

		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0,
		    &row, 1), 1);
		ck_assert(row.seq != b.seq || marked(4, PAGE_STALE));
	}
	compose_until_taken();
	assert_rows(is_large);
}

TEST(another_stream_is_taken_at_once)
{
	filter("size>=1k");
	on_screen();
	compose(80, 24);
	scene_fini(&scene);
	scene_target(&scene, 60);
	scene.look.stream_no = 2;
	compose_until_taken();
	assert_rows(is_large);
}

TEST(window_of_a_list_waits_for_all_of_it)
{
	struct page_chosen sums;

	scene.look.window = true;
	filter("size>=1k");
	compose(80, 24);
	page_choice_sums(&page, &sums);
	ck_assert(!sums.known && page_choice_waits(&page));
	ck_assert(shows("searched 0 %"));
	scene.look.window = false;
	compose(80, 24);
	assert_rows(is_large);
}

CASE("Filter");

/* Drained, filtered, of one group, and a notice besides. */
LOOP_TEST(low_screen_has_no_more_lines_than_rows, 2 * PAGE_MIN_ROWS, 2 * 20)
{
	on_screen();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	drained = scene.look.work.total_records;
	scene_alloc(&scene, 0x1000, 4096, TYPE_NEW, 1, 0, scene.look.now_ms);
	scene.look.state = NODES_UNREACHABLE;
	scene_refresh(&scene);
	filter("size>=1");
	if (_i % 2 != 0) {
		page_set_group(&page, 1);
		compose(80, 24);
		page_move_to(&page, 0);
		ck_assert(page_open_group(&page, &scene.view));
	}
	compose(34, _i / 2);
	ck_assert_int_eq(pic.rows, _i / 2);
	page_drain_end(&page);
	compose(34, _i / 2);
	ck_assert_int_eq(pic.rows, _i / 2);
}

CASE("When");

/* A first take that does not fit into one picture. */
TEST(large_list_is_looked_through_in_portions)
{
	struct page_chosen sums;
	unsigned pictures = 0;

	scene_fini(&scene);
	scene_many(&scene, 300000);
	on_screen();
	filter("size<10 & function!=nobody");
	do {
		compose(80, 24);
		page_choice_sums(&page, &sums);
		if (!sums.known)
			ck_assert(page_choice_waits(&page) &&
			    shows("searched"));
	} while (!sums.known && ++pictures < 10000);
	ck_assert_uint_gt(pictures, 0);
	ck_assert_uint_eq(sums.of, 300000);
	ck_assert_uint_eq(sums.blocks, 30000);
	ck_assert(shows("30,000 of 300,000 blocks"));
}

#define MANY (PAGE_CHOICE_MAX + 9000)

/* A file is not to be cut because a screen is. */
LOOP_TEST(screen_has_the_first_rows_and_a_whole_take_all_of_them, 0, 2)
{
	struct page_sorting by_size;
	struct page_chosen sums;
	struct page_collection all;
	struct blk b;
	size_t i;

	scene_fini(&scene);
	scene_many(&scene, MANY);
	on_screen();
	if (_i == 0) {
		ck_assert(page_sorting_parse("size", &by_size));
		page_choice_sort(&page, &by_size);
	} else {
		filter("size>=0");
	}
	compose_until_taken();
	ck_assert_int_eq(page_choice_whole(&page, &scene.view, &all), 0);
	ck_assert_uint_eq(all.n, MANY);
	ck_assert_uint_eq(all.all, MANY);
	page_collection_sums(&all, &sums);
	ck_assert(!sums.cut);
	for (i = 1; i < all.n && _i == 0; i++)
		ck_assert_uint_ge(page_collection_row(&all, i - 1)->size,
		    page_collection_row(&all, i)->size);
	/* The screen's rows are what they were. */
	page_choice_sums(&page, &sums);
	ck_assert(sums.cut);
	ck_assert_uint_eq(sums.blocks, MANY);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), PAGE_CHOICE_MAX);
	for (i = 0; i < PAGE_CHOICE_MAX; i += 1000) {
		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, i, &b,
		    1), 1);
		ck_assert_mem_eq(&b, page_collection_row(&all, i), sizeof b);
	}
	page_collection_fini(&all);
}

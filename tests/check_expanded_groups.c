/*
 * Groups of two levels, open in their place: what stands in them, what each
 * row is, and where the cursor is when all that changes.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/groups/expanded_groups.h"
#include "../src/pagek/rows/rows.h"
#include "chance.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

#define BLOCKS 900

static unsigned kind_type, kind_thread, kind_function, kind_frame;

static void
setup_branches(void)
{
	static const unsigned types[] = { TYPE_MALLOC, TYPE_NEW, TYPE_CALLOC,
		TYPE_REALLOC };
	uint64_t x = 88172645463325252u;
	unsigned i;

	setup();
	scene_target(&scene, 0);
	page.medium = PAGE_SCREEN;
	for (i = 0; i < BLOCKS; i++) {
		chance_next(&x);
		scene_alloc(&scene, 0x10000 + i * 0x100u, 1 + x % 5000,
		    types[x >> 20 & 3], (unsigned)(1 + (x >> 24 & 3)),
		    rec_site_caller((unsigned)(1 + (x >> 30) % 5)),
		    scene.look.now_ms - (int64_t)(BLOCKS - i) * 100);
	}
	scene_refresh(&scene);
	kind_type = page_group_kind_called("type");
	kind_thread = page_group_kind_called("thread");
	kind_function = page_group_kind_called("function");
	kind_frame = page_group_kind_called("frame");
}

/* As many pictures as what has been begun takes. */
static void
settle(void)
{
	int i;

	for (i = 0; i < 500; i++) {
		compose(100, 40);
		if (page.groups == NULL || page.groups->pass.step == GROUPS_IDLE)
			return;
	}
	ck_abort_msg("it does not come to an end");
}

static void
group_by(unsigned first, unsigned second)
{
	page_set_group(&page, first);
	page_set_group_below(&page, second);
	settle();
}

static void
cursor_to(uint64_t at)
{
	page_move_to(&page, at);
	page_remember_cursor(&page, &scene.view);
}

static void
open_at(uint64_t at)
{
	cursor_to(at);
	ck_assert_int_eq(page_expand_group(&page, &scene.view), 0);
	settle();
}

static struct page_group_at
row_at(uint64_t at)
{
	struct page_group_at row;

	ck_assert(page_groups_at(page.groups, at, &row));
	return row;
}

/* --- what is in them -------------------------------------------------------- */

static uint64_t
tag_of(unsigned kind, const struct blk *b)
{
	return kind == kind_type ? b->type : b->thread;
}

CASE("in", .setup = setup_branches, .teardown = teardown);

LOOP_TEST(groups_of_the_second_level_are_those_of_the_blocks_in_the_first, 0, 2)
{
	static struct blk b[BLOCKS];
	unsigned kinds[2] = { _i ? kind_type : kind_thread,
		_i ? kind_thread : kind_type };
	size_t n = blklist_window(scene.list, BLKLIST_BY_AGE, false, 0, b,
	    BLOCKS), i, k, j, seen = 0;
	const struct profile_group *row, *in;
	struct page_branch *branch;
	uint64_t blocks, bytes;

	group_by(kinds[0], kinds[1]);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	ck_assert_uint_eq(page.groups->nrow, 4);
	for (k = 0; k < page.groups->nrow; k++) {
		row = page_groups_row(page.groups, k);
		branch = page_branch_find(page.groups, row->key, NULL);
		ck_assert_ptr_nonnull(branch);
		for (j = 0; (in = page_branch_row(branch, j)) != NULL; j++) {
			blocks = bytes = 0;
			for (i = 0; i < n; i++) {
				if (tag_of(kinds[0], &b[i]) != row->tag ||
				    tag_of(kinds[1], &b[i]) != in->tag)
					continue;
				blocks++;
				bytes += b[i].size;
			}
			ck_assert_uint_eq(in->total.blocks, blocks);
			ck_assert_uint_eq(in->total.bytes, bytes);
			seen += blocks;
		}
	}
	ck_assert_uint_eq(seen, BLOCKS);
	ck_assert_uint_eq(page.groups->rows, 4 + 16);
}

/* Functions of a stack are groups that have blocks in common. */
LOOP_TEST(group_by_any_frame_has_all_of_its_blocks_in_the_second_level, 0, 2)
{
	const struct profile_group *row, *in;
	struct page_branch *b;
	uint64_t blocks;
	size_t k, j;

	group_by(kind_frame, _i ? kind_type : kind_function);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	for (k = 0; k < page.groups->nrow; k++) {
		row = page_groups_row(page.groups, k);
		b = page_branch_find(page.groups, row->key, NULL);
		blocks = 0;
		for (j = 0; (in = page_branch_row(b, j)) != NULL; j++)
			blocks += in->total.blocks;
		ck_assert_uint_eq(blocks, row->total.blocks);
	}
}

LOOP_TEST(blocks_of_an_open_group_are_its_own_in_the_order_of_the_page, 0, 2)
{
	static struct blk b[BLOCKS], got[BLOCKS];
	const struct profile_group *row, *in;
	struct page_branch *branch;
	size_t n, i, shown, at = 0;
	uint64_t tag;

	page_set_order(&page, BLKLIST_BY_AGE, _i);
	n = blklist_window(scene.list, BLKLIST_BY_AGE, _i, 0, b, BLOCKS);
	group_by(kind_thread, kind_type);
	open_at(1);
	ck_assert_int_eq(row_at(2).what, ROW_BELOW);
	open_at(3);
	row = page_groups_row(page.groups, 1);
	tag = row->tag;
	branch = page_branch_find(page.groups, row->key, NULL);
	in = page_branch_row(branch, 1);
	ck_assert_int_eq(row_at(4).what, ROW_BLOCK);
	shown = page_rows_blocks(&page, &scene.view, 4, got, BLOCKS);
	ck_assert_uint_eq(shown, in->total.blocks);
	for (i = 0; i < n; i++)
		if (b[i].thread == tag && b[i].type == in->tag)
			ck_assert_uint_eq(got[at++].addr, b[i].addr);
	ck_assert_uint_eq(at, shown);
	/* Behind them the groups go on. */
	ck_assert_int_eq(row_at(4 + shown).what, ROW_BELOW);
	ck_assert_uint_eq(page.groups->rows, 4 + 4 + shown);
}

TEST(what_is_not_listed_of_an_open_group_is_counted)
{
	struct page_group_at row;
	unsigned i;

	for (i = 0; i < PAGE_BRANCH_ROWS; i++)
		scene_alloc(&scene, 0x10000000 + i * 0x100u, 5000, TYPE_NEW, 1,
		    rec_site_caller(1), scene.look.now_ms);
	later();
	group_by(kind_thread, 0);
	open_at(0);
	row = row_at(1);
	ck_assert_int_eq(row.what, ROW_BLOCK);
	ck_assert_uint_eq(row.left, PAGE_BRANCH_ROWS);
	row = row_at(1 + PAGE_BRANCH_ROWS);
	ck_assert_int_eq(row.what, ROW_OMITTED);
	ck_assert_uint_eq(row.omitted, page_groups_row(page.groups,
	    0)->total.blocks - PAGE_BRANCH_ROWS);
	cursor_to(1 + PAGE_BRANCH_ROWS);
	compose(100, 40);
	ck_assert(shows(" more"));
	/* Enter on it lists them all. */
	ck_assert(page_open_group(&page, &scene.view));
	settle();
	ck_assert_uint_eq(page.found.total, page_groups_row(page.groups,
	    0)->total.blocks);
}

TEST(group_of_the_second_level_opens_alone_with_its_own_blocks)
{
	struct blk b;
	uint64_t i, type, thread;

	group_by(kind_thread, kind_type);
	open_at(0);
	cursor_to(2);
	thread = page_groups_row(page.groups, 0)->tag;
	type = page_branch_row(row_at(2).branch, row_at(2).index)->tag;
	ck_assert(page_open_group(&page, &scene.view));
	settle();
	ck_assert_uint_gt(page.found.total, 10);
	for (i = 0; i < page.found.total; i++) {
		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, i, &b,
		    1), 1);
		ck_assert(b.thread == thread && b.type == type);
	}
	page_close_group(&page);
	settle();
	ck_assert_uint_eq(page.cursor.at, 2);
	ck_assert_int_eq(row_at(2).what, ROW_BELOW);
}

/* --- the cursor -------------------------------------------------------------- */

/* Blocks come in such amounts that groups change their places. */
static void
shuffle(unsigned round)
{
	unsigned i, thread = 1 + round % 4;

	for (i = 0; i < 100; i++)
		scene_alloc(&scene, 0x20000000 + (round * 100 + i) * 0x100u,
		    4000 + round * 1000, i % 2 ? TYPE_NEW : TYPE_CALLOC,
		    thread, rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	settle();
}

CASE("cursor", .setup = setup_branches, .teardown = teardown);

LOOP_TEST(cursor_stays_on_what_it_is_on_while_sums_change, 0, 10)
{
	uint64_t at = (uint64_t)_i, addr = 0, tag = 0, tag2 = 0;
	struct page_group_at row;
	struct blk b;
	unsigned round;

	group_by(kind_thread, kind_type);
	open_at(1);
	open_at(3);
	cursor_to(at);
	row = row_at(at);
	if (row.what == ROW_BLOCK) {
		ck_assert(page_block_at_cursor(&page, &scene.view, &b));
		addr = b.addr;
	} else if (row.what == ROW_BELOW) {
		tag = page_branch_row(row.branch, row.index)->tag;
		tag2 = row.branch->of.key;
	} else {
		tag = page_groups_row(page.groups, row.index)->tag;
	}
	for (round = 0; round < 12; round++) {
		shuffle(round);
		ck_assert_int_eq(row_at(page.cursor.at).what, row.what);
		if (row.what == ROW_BLOCK) {
			ck_assert(page_block_at_cursor(&page, &scene.view,
			    &b));
			ck_assert_uint_eq(b.addr, addr);
		} else if (row.what == ROW_BELOW) {
			ck_assert_uint_eq(page_branch_row(row_at(
			    page.cursor.at).branch, row_at(
			    page.cursor.at).index)->tag, tag);
			ck_assert_uint_eq(row_at(page.cursor.at).branch->of.key,
			    tag2);
		} else {
			ck_assert_uint_eq(page_groups_row(page.groups, row_at(
			    page.cursor.at).index)->tag, tag);
		}
	}
}

TEST(closing_goes_back_to_the_group_that_it_was)
{
	group_by(kind_thread, kind_type);
	open_at(1);
	open_at(3);
	cursor_to(7);
	ck_assert_int_eq(row_at(7).what, ROW_BLOCK);
	ck_assert(page_collapse_group(&page));
	settle();
	ck_assert_uint_eq(page.cursor.at, 3);
	ck_assert_uint_eq(page.groups->rows, 4 + 4);
	ck_assert(page_collapse_group(&page));
	settle();
	ck_assert_uint_eq(page.cursor.at, 1);
	ck_assert_uint_eq(page.groups->rows, 4);
	ck_assert(!page_collapse_group(&page));
}

TEST(what_was_closed_opens_again_at_once)
{
	uint64_t rows;

	group_by(kind_thread, kind_type);
	open_at(0);
	rows = page.groups->rows;
	cursor_to(0);
	ck_assert(page_collapse_group(&page));
	open_at(0);
	ck_assert_uint_eq(page.groups->rows, rows);
}

CASE("when", .setup = setup_branches, .teardown = teardown);

/* Text has no keys to open anything with, and no time between. */
TEST(text_has_both_levels_in_one_picture)
{
	page.medium = PAGE_WHOLE;
	page_set_group(&page, kind_thread);
	page_set_group_below(&page, kind_type);
	compose(100, 0);
	ck_assert_uint_eq(page.groups->rows, 4 + 16);
	ck_assert(shows("  + calloc"));
}

CASE("cursor");

TEST(all_open_are_all_closed_by_the_next)
{
	group_by(kind_thread, 0);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	ck_assert_uint_eq(page.groups->rows, 4 + BLOCKS);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 1);
	settle();
	ck_assert_uint_eq(page.groups->rows, 4);
}

TEST(no_more_are_open_than_can_be)
{
	unsigned i;

	for (i = 0; i < 2 * PAGE_BRANCHES_MAX; i++)
		scene_alloc(&scene, 0x30000000 + i * 0x100u, 10, TYPE_NEW,
		    1 + i, rec_site_caller(1), scene.look.now_ms);
	later();
	group_by(kind_thread, 0);
	for (i = 0; i < PAGE_BRANCHES_MAX; i++) {
		cursor_to(page.groups->rows - 1 - i * 2);
		ck_assert_int_eq(page_expand_group(&page, &scene.view), 0);
		settle();
	}
	cursor_to(0);
	ck_assert_int_eq(page_expand_group(&page, &scene.view), -ENOSPC);
	settle();
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 1);
	ck_assert_int_eq(page_expand_group(&page, &scene.view), 0);
}

/* --- when ---------------------------------------------------------------------- */

CASE("when");

TEST(group_that_has_gone_is_open_again_when_it_comes_back)
{
	unsigned i;

	group_by(kind_thread, kind_type);
	for (i = 0; i < 10; i++)
		scene_alloc(&scene, 0x40000000 + i * 0x100u, 100000, TYPE_NEW,
		    9, rec_site_caller(1), scene.look.now_ms);
	later();
	settle();
	open_at(0);
	ck_assert_uint_eq(page.groups->rows, 5 + 1);
	for (i = 0; i < 10; i++)
		scene_free(&scene, 0x40000000 + i * 0x100u);
	later();
	settle();
	ck_assert_uint_eq(page.groups->rows, 4);
	scene_alloc(&scene, 0x40000000, 100, TYPE_NEW, 9, rec_site_caller(1),
	    scene.look.now_ms);
	later();
	settle();
	ck_assert_uint_eq(page.groups->rows, 5 + 1);
}

TEST(open_group_follows_its_name)
{
	size_t i;

	scene_late = 1u << SCENE_F_DICT | 1u << SCENE_F_ZMALLOC;
	group_by(kind_function, kind_type);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	scene_late = 0;
	later();
	settle();
	for (i = 0; i < page.groups->nrow; i++)
		ck_assert(page_group_is_expanded(&page, i));
	/* Two that have become one are open once. */
	ck_assert_uint_eq(page.groups->branches->n, page.groups->nrow);
}

TEST(pause_and_another_stream_leave_nothing_dangling)
{
	group_by(kind_thread, kind_type);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	open_at(1);
	pause_now();
	scene_free(&scene, 0x10000);
	later();
	page_view_paused(&scene.view, &page);
	settle();
	ck_assert_uint_gt(page.groups->rows, 20);
	page_resume(&page);
	later();
	settle();
	ck_assert_uint_gt(page.groups->rows, 20);
	scene.look.stream_no++;
	later();
	settle();
	ck_assert_uint_eq(page.groups->rows, 4);
}

CASE("in");

TEST(rows_fit_whatever_is_open)
{
	int cols;

	group_by(kind_function, kind_thread);
	ck_assert_int_eq(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	open_at(2);
	for (cols = 33; cols < 140; cols++) {
		compose(cols, 30);
		assert_fits(cols, 30);
	}
	compose(80, 0);
	assert_fits(80, 0);
	compose(20, 3);
	assert_fits(20, 3);
}

static const struct {
	const char *name;
	int cols, rows;
} golden[] = {
	{ "groups-two-levels-40", 40, 14 },
	{ "groups-two-levels-80", 80, 24 },
	{ "groups-two-levels-124", 124, 24 },
};

LOOP_TEST(picture_of_two_levels_is_golden, 0, (int)BASE_NELEM(golden))
{
	page.numbers.cost_us = 82;
	page.numbers.hz = 15;
	page.numbers.sampled = true;
	page.numbers.sample_at = scene.view.now;
	group_by(kind_function, kind_thread);
	open_at(1);
	open_at(3);
	open_at(0);
	cursor_to(0);
	compose(golden[_i].cols, golden[_i].rows);
	assert_fits(golden[_i].cols, golden[_i].rows);
	assert_golden(&pic, golden[_i].name);
}

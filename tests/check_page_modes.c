/*
 * What the page says of a target that sleeps, was armed, is sampled, or logs
 * more than is read: never a word that lies, at any width.
 */
#include <signal.h>

#include "../src/pagek/history/history.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define PERIOD (512 * 1024)

/* The same blocks, of a sample. */
static void
sample(void)
{
	struct blklist *list;
	struct blk rows[64];
	size_t n, i;

	n = blklist_window(scene.list, BLKLIST_BY_ADDRESS, false, 0, rows, 64);
	ck_assert_int_eq(blklist_new(&list, BLKLIST_LITERAL, 2048), 0);
	blklist_sample(list, PERIOD);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(blklist_put(list, &rows[i]), 0);
	blklist_free(scene.list);
	scene.list = list;
	scene.look.list = list;
	scene.look.sample = PERIOD;
	scene_refresh(&scene);
}

static const struct { int cols, rows; } sizes[] = {
	{ 80, 24 }, { 124, 30 }, { 40, 10 }, { 33, 7 }, { 20, 5 }, { 1, 1 },
};

CASE("words", .setup = setup_target, .teardown = teardown);

LOOP_TEST(dormant_target_is_not_an_empty_list, 0, BASE_NELEM(sizes))
{
	int cols = sizes[_i].cols, rows = sizes[_i].rows;

	blklist_clear(scene.list);
	scene.look.state = NODES_DORMANT;
	scene_refresh(&scene);
	compose(cols, rows);
	assert_fits(cols, rows);
	ck_assert(cols < 7 || shows("DORMANT"));
	ck_assert(!shows(" 0 blocks"));
	ck_assert(!shows("EMPTY"));
	ck_assert(!shows("LIVE"));
	if (cols == 80)
		ck_assert(shows("- blocks") && shows("pagek arm"));
}

LOOP_TEST(armed_target_says_since_when, 0, BASE_NELEM(sizes))
{
	int cols = sizes[_i].cols, rows = sizes[_i].rows;

	scene.look.arming.since_wall_ms = TARGET_MS - 1000;
	scene_refresh(&scene);
	compose(cols, rows);
	assert_fits(cols, rows);
	if (cols >= 40)
		ck_assert(shows("armed 15:02:23, earlier blocks not"));
	/* Also when it has ended, for the list is as it was. */
	scene.look.state = NODES_ENDED;
	compose(cols, rows);
	if (rows >= 24)
		ck_assert(shows("armed 15:02:23, earlier blocks not"));
}

LOOP_TEST(totals_of_a_sample_are_marked_and_its_rows_are_real, 0,
    BASE_NELEM(sizes))
{
	int cols = sizes[_i].cols, rows = sizes[_i].rows;
	char blocks[32];

	sample();
	compose(cols, rows);
	assert_fits(cols, rows);
	ck_assert_uint_eq(page_view_total(&scene.view), 60);
	ck_assert_uint_gt(page_view_blocks(&scene.view), 10000);
	base_group_digits(blocks, sizeof blocks,
	    page_view_blocks(&scene.view));
	if (cols >= 80) {
		ck_assert(shows("sampled 1/512k"));
		ck_assert(shows("~"));
		ck_assert(shows(blocks));
		ck_assert(shows("7f3c04001040  65,536"));
		ck_assert(!shows("   60 blocks"));
	} else if (cols >= 33) {
		ck_assert(shows("SAMPLED 1/512k"));
		ck_assert(shows("~"));
	}
}

TEST(end_of_a_sampled_target_tells_an_estimate)
{
	sample();
	scene.look.state = NODES_ENDED;
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(shows("ENDED"));
	ck_assert(shows("sampled 1/512k"));
	ck_assert(shows(" blocks were live"));
	ck_assert(!shows("; 60 blocks"));
}

CASE("sums", .setup = setup_stacks, .teardown = teardown);

TEST(paused_picture_of_a_sample_has_its_estimates)
{
	uint64_t blocks, bytes;

	sample();
	blocks = page_view_blocks(&scene.view);
	bytes = page_view_bytes(&scene.view);
	pause_now();
	page_view_paused(&scene.view, &page);
	ck_assert_uint_eq(page_view_blocks(&scene.view), blocks);
	ck_assert_uint_eq(page_view_bytes(&scene.view), bytes);
	/* Groups are made from the copy. */
	page_set_group(&page, 1);
	compose(80, 24);
	ck_assert_uint_eq(page.groups->total.blocks, blocks);
	ck_assert_uint_eq(page.groups->total.bytes, bytes);
}

LOOP_TEST(groups_of_a_sample_add_up_to_its_estimate, 0, 4)
{
	uint64_t sum = 0;
	size_t i;

	sample();
	page_set_group(&page, 1);
	compose(sizes[_i].cols, sizes[_i].rows);
	assert_fits(sizes[_i].cols, sizes[_i].rows);
	ck_assert_uint_eq(page.groups->total.blocks,
	    scene.view.counts->est_blocks);
	for (i = 0; i < page.groups->nrow; i++)
		sum += page.groups->window.row[i].total.blocks;
	ck_assert_uint_ge(sum + page.groups->nrow,
	    page.groups->total.blocks);
	ck_assert_uint_le(sum, page.groups->total.blocks +
	    page.groups->nrow);
	if (sizes[_i].cols < 80)
		return;
	ck_assert(shows("%"));
	for (i = 4; i < 6; i++)
		ck_assert_ptr_nonnull(strchr(pic.line[i].text, '~'));
	/* The open group's sums too. */
	ck_assert(page_open_group(&page, &scene.view));
	compose(80, 24);
	ck_assert(shows(" of ~"));
	ck_assert(shows(" listed"));
}

CASE("words");

TEST(period_reads_as_it_was_given)
{
	static const struct { uint64_t period; const char *text; } t[] = {
		{ 512 * 1024, "1/512k" }, { 1 << 20, "1/1M" },
		{ 1000, "1/1000" }, { 1, "1/1" }, { 1536, "1/1536" },
		{ UINT64_C(1) << 40, "1/1T" },
		{ (UINT64_C(1) << 40) - 1, "1/1099511627775" },
	};
	char text[PAGE_SAMPLE_TEXT];

	for (size_t i = 0; i < BASE_NELEM(t); i++) {
		page_sample_text(t[i].period, text);
		ck_assert_str_eq(text, t[i].text);
	}
	ck_assert_str_eq(page_about(0), "");
	ck_assert_str_eq(page_about(1), "~");
}

/* --- a window of the list ----------------------------------------------- */

/* Rows [from, from + n) of the order, and the totals of all blocks. */
static void
window(enum blklist_order order, uint64_t from, size_t n)
{
	struct blklist *list;
	struct blk rows[64];

	ck_assert_int_eq(blklist_new(&list, BLKLIST_WINDOWED, 1), 0);
	n = blklist_window(scene.list, order, false, from, rows,
	    n);
	blklist_set_window(list, blklist_counts(scene.list),
	    order, false, from, rows, n);
	blklist_free(scene.list);
	scene.list = list;
	scene.look.list = list;
	scene.look.window = true;
	page_set_order(&page, order, false);
	scene_refresh(&scene);
}

LOOP_TEST(a_window_is_told_and_its_totals_are_the_lists, 0, BASE_NELEM(sizes))
{
	int cols = sizes[_i].cols, rows = sizes[_i].rows;
	char total[32];

	base_group_digits(total, sizeof total,
	    blklist_counts(scene.list)->aRecActive);
	window(BLKLIST_BY_ADDRESS, 0, 64);
	compose(cols, rows);
	assert_fits(cols, rows);
	ck_assert(cols < 33 || shows("WINDOW"));
	ck_assert(!shows("INCOMPLETE"));
	if (cols >= 80) {
		ck_assert(shows("visible rows and totals only"));
		ck_assert(shows(total));
	}
	ck_assert(!page.found.rows_missing);
}

TEST(a_list_on_its_way_is_told_instead)
{
	window(BLKLIST_BY_ADDRESS, 0, 64);
	page.found.all_blocks = true;
	compose(80, 24);
	ck_assert(shows("LOADING") && !shows("WINDOW"));
	ck_assert(shows("the whole list is being taken"));
}

/* A list of millions is not here in a moment; what it lists lives no more. */
TEST(a_target_that_has_ended_is_not_live_while_its_list_comes)
{
	window(BLKLIST_BY_ADDRESS, 0, 64);
	scene.look.target.ended_wall_ms = INT64_C(1795187038000);
	scene.look.target.status = SIGKILL;
	compose(80, 24);
	ck_assert(shows("ENDED ") && shows("signal 9  LOADING"));
	ck_assert(!shows("LIVE") && !shows("WINDOW"));
	ck_assert(shows("the whole list is being taken"));
	compose(40, 10);
	ck_assert(shows("ENDED") && !shows("LIVE"));
	/* The whole list is as it was: what follows is said when it is read. */
	scene.look.window = false;
	compose(80, 24);
	ck_assert(shows("LIVE"));
}

TEST(rows_that_are_not_there_yet_are_blank)
{
	char addr[2][24];
	struct blk b[2];

	ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_ADDRESS,
	    false, 1, b, 2), 2);
	for (int i = 0; i < 2; i++)
		snprintf(addr[i], sizeof addr[i], "%012llx",
		    (unsigned long long)b[i].addr);
	window(BLKLIST_BY_ADDRESS, 0, 2);
	page.layout = PAGE_WIDE;
	compose(80, 24);
	ck_assert(shows(addr[0]) && !shows(addr[1]));
	ck_assert(page.found.rows_missing);
}

TEST(rows_that_begin_elsewhere_are_none)
{
	window(BLKLIST_BY_ADDRESS, 2, 64);
	page.layout = PAGE_WIDE;
	compose(80, 24);
	ck_assert(page.found.rows_missing);
	ck_assert(!shows(" malloc "));
}

TEST(groups_are_not_made_of_a_window)
{
	window(BLKLIST_BY_AGE, 0, 2);
	page_set_group(&page, 1);
	page.found.all_blocks = true;
	compose(80, 24);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), 0);
	ck_assert(!shows("%"));
}

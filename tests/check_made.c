/*
 * What the page does not do again: rows that say what they said.  And what it
 * counts of its own cycles.
 */
#include "../src/page/costs.h"
#include "../src/page/made.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

/* --- rows ---------------------------------------------------------------- */

/* The widest page on which nothing but rows tells of a block. */
#define COLS (PAGE_FULL_COLS - 1)

static unsigned asked;

static const char *
counted_thread(void *arg, uint16_t index)
{
	asked++;
	return scene_thread(arg, index);
}

static void
setup_made(void)
{
	setup_target();
	page.on_screen = true;
	scene.view.thread = counted_thread;
	asked = 0;
}

/* How many rows were made of those in a picture. */
static unsigned
made(void)
{
	asked = 0;
	compose(COLS, 24);
	return asked;
}

static unsigned rows;	/* of which the thread is asked for when they are made */

static void
first_picture(void)
{
	rows = made();
	ck_assert_uint_gt(rows, 10);
}

START_TEST(row_that_says_the_same_is_not_made_again)
{
	struct page_picture before = { 0 };
	int i;

	first_picture();
	ck_assert_int_eq(page_compose_view(&page, &scene.view, COLS, 24,
	    &before), 0);
	ck_assert_uint_eq(made(), 0);
	for (i = 0; i < before.rows; i++)
		ck_assert_str_eq(before.line[i].text, pic.line[i].text);
	page_picture_fini(&before);
}
END_TEST

START_TEST(row_is_made_again_after_a_second)
{
	first_picture();
	scene.view.now.ns += 999999999;
	ck_assert_uint_eq(made(), 0);
	scene.view.now.ns += 1;
	ck_assert_uint_eq(made(), rows);
}
END_TEST

/* What is the same for all rows, each of it by itself. */
START_TEST(row_is_made_again_when_what_holds_for_all_has_changed)
{
	first_picture();
	switch (_i) {
	case 0:
		scene.view.names_no++;
		break;
	case 1:
		scene.look.stream_no++;
		break;
	case 2:
		page.round++;
		break;
	case 3:
		page.opts.ascii = !page.opts.ascii;
		break;
	}
	ck_assert_uint_eq(made(), rows);
}
END_TEST

START_TEST(another_width_makes_other_rows)
{
	first_picture();
	asked = 0;
	compose(COLS - 1, 24);
	ck_assert_uint_eq(asked, rows);
	assert_fits(COLS - 1, 24);
}
END_TEST

/* Every age that any cell shows, second by second where it shows seconds. */
START_TEST(age_is_never_that_of_an_earlier_picture)
{
	static const int64_t steps[] = { 1, 59, 60, 599, 600, 999, 1000, 3599,
		3600, 35999, 36000, 86399, 86400, 863999, 864000, 8640000 };
	struct page_picture want = { 0 };
	struct page fresh;
	int64_t ms = scene.look.now_ms;
	size_t i;
	int k, row, cols = _i == 0 ? 124 : 60;

	page.opts.reverse = true;	/* the youngest: those that show seconds */
	page_init(&fresh, &page.opts);
	for (i = 0; i < BASE_NELEM(steps) * 3; i++) {
		k = (int)(i % 3) - 1;
		scene.look.now_ms = ms + (steps[i / 3] + k) * 1000;
		ck_assert_int_eq(page_compose_view(&fresh, &scene.view, cols,
		    24, &want), 0);
		compose(cols, 24);
		for (row = 3; row < 20; row++)
			ck_assert_str_eq(want.line[row].text,
			    pic.line[row].text);
	}
	page_picture_fini(&want);
	page_fini(&fresh);
}
END_TEST

START_TEST(block_in_the_place_of_another_has_a_row_of_its_own)
{
	struct blk b;
	char was[512];

	first_picture();
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, &b, 1), 1);
	snprintf(was, sizeof was, "%s", pic.line[3].text);
	scene_free(&scene, b.addr);
	scene_alloc(&scene, b.addr, b.size + 1, TYPE_MALLOC, 1, b.caller,
	    b.ms);
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	page.round--;
	compose(COLS, 24);
	ck_assert_str_ne(was, pic.line[3].text);
}
END_TEST

START_TEST(text_output_makes_each_row)
{
	page.on_screen = false;
	rows = made();
	ck_assert_uint_gt(rows, 10);
	ck_assert_uint_eq(made(), rows);
}
END_TEST

/* --- costs --------------------------------------------------------------- */

START_TEST(cost_is_right_to_a_sixteenth)
{
	static struct cost c;
	uint64_t us, at;

	for (us = 1; us < UINT64_C(4000000000); us += 1 + us / 7) {
		memset(&c, 0, sizeof c);
		cost_add(&c, us);
		cost_add(&c, us);
		cost_add(&c, us * 2);
		at = cost_at(&c, 500);
		ck_assert_uint_ge(at, us);
		ck_assert_uint_le(at, us + us / 16);
		ck_assert_uint_eq(cost_at(&c, 1000), us * 2);
		ck_assert_uint_eq(c.worst_us, us * 2);
	}
}
END_TEST

START_TEST(share_of_the_cycles_is_rounded_up)
{
	static struct cost c;
	int i;

	ck_assert_uint_eq(cost_at(&c, 990), 0);
	for (i = 0; i < 99; i++)
		cost_add(&c, 5);
	ck_assert_uint_eq(cost_at(&c, 990), 5);
	cost_add(&c, 1000);
	ck_assert_uint_eq(cost_at(&c, 990), 5);
	cost_add(&c, 1000);
	ck_assert_uint_eq(cost_at(&c, 990), 1000);
	ck_assert_uint_eq(cost_at(&c, 500), 5);
}
END_TEST

START_TEST(longest_there_is_has_a_bucket)
{
	static struct cost c;

	cost_add(&c, UINT64_MAX);
	ck_assert_uint_gt(cost_at(&c, 500), UINT64_C(3600000000));
}
END_TEST

START_TEST(counting_anew_forgets_the_maximum)
{
	static struct page_costs costs;

	scene.look.cycle_us = 10;
	scene.look.cycle_us_max = 5000;
	compose(COLS, 24);
	ck_assert_uint_eq(page.cost_max_us, 5000);
	page_costs_begin(&costs, &page, &scene.look);
	compose(COLS, 24);
	ck_assert_uint_eq(page.cost_max_us, 10);
	scene.look.cycle_us_max = 6000;
	compose(COLS, 24);
	ck_assert_uint_eq(page.cost_max_us, 6000);
}
END_TEST

START_TEST(peak_is_the_targets_until_it_is_counted_anew)
{
	static struct blklist_counts counts;

	compose(COLS, 24);
	counts = *scene.view.counts;
	scene.view.counts = &counts;
	counts.peak_bytes = counts.live_bytes + 1000;
	compose(COLS, 24);
	ck_assert_uint_eq(page_view_peak(&page, &scene.view),
	    counts.live_bytes + 1000);
	page_peak_anew(&page, &scene.view);
	compose(COLS, 24);
	ck_assert_uint_eq(page_view_peak(&page, &scene.view),
	    page_view_bytes(&scene.view));
	counts.live_bytes += 50;
	counts.est_bytes += 50;
	compose(COLS, 24);
	counts.live_bytes -= 70;
	counts.est_bytes -= 70;
	compose(COLS, 24);
	ck_assert_uint_eq(page_view_peak(&page, &scene.view),
	    page_view_bytes(&scene.view) + 70);
	/* Another stream has another peak. */
	scene.look.stream_no++;
	compose(COLS, 24);
	ck_assert_uint_eq(page_view_peak(&page, &scene.view),
	    counts.peak_bytes);
}
END_TEST

/* Unless the page shows nothing of before it came. */
START_TEST(peak_is_also_of_before_the_page_came)
{
	static uint64_t keeper[WIRE_STATS_COUNT];
	uint64_t own;

	compose(COLS, 24);
	own = scene.view.counts->peak_bytes;
	scene.look.keeper = keeper;
	ck_assert_uint_eq(page_view_peak(&page, &scene.view), own);
	keeper[WIRE_N_PEAK_BYTES] = own + 5000;
	keeper[WIRE_N_EST_PEAK_BYTES] = own + 7000;
	ck_assert_uint_eq(page_view_peak(&page, &scene.view), own + 5000);
	scene.look.sample = 4096;
	ck_assert_uint_eq(page_view_peak(&page, &scene.view), own + 7000);
	scene.look.sample = 0;
	page.opts.session.since_click = true;
	ck_assert_uint_eq(page_view_peak(&page, &scene.view), own);
}
END_TEST

START_TEST(missed_cycles_are_those_since_it_was_counted_anew)
{
	static struct page_costs costs;

	page.missed = 3;
	scene.look.missed_cycles = 4;
	page_costs_begin(&costs, &page, &scene.look);
	scene.look.missed_cycles = 6;
	cost_add(&costs.of[COST_CYCLE], 1200);
	cost_add(&costs.of[COST_CYCLE], 12);
	cost_add(&costs.of[COST_PAINTED], 1200);
	picture_begin(&pic, 80, false);
	page_costs_put(&costs, &page, &scene.look, &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert(shows("2 cycles in 0 s, 1 painted, 2 missed"));
	ck_assert(shows("cycle      12us  1.2ms  1.2ms"));
	/* Of what found a picture to make, and nothing else. */
	ck_assert(shows("painted   1.2ms  1.2ms  1.2ms"));
}
END_TEST

static void
panel(void)
{
	static struct page_costs costs;

	picture_begin(&pic, 80, false);
	page_costs_put(&costs, &page, &scene.look, &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
}

/* Where rows of free memory are looked for, and nowhere else. */
START_TEST(why_free_memory_is_not_shown_stands_there_in_address_order)
{
	strcpy(scene.look.regions_why, "records were lost");
	page.opts.free = true;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	panel();
	ck_assert(shows("free     not shown: records were lost"));
	page_set_order(&page, BLKLIST_BY_AGE, false);
	panel();
	ck_assert(!shows("not shown"));
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	scene.look.regions_why[0] = '\0';
	panel();
	ck_assert(!shows("not shown"));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("made");
	TCase *t = tcase_create("rows");

	tcase_add_checked_fixture(t, setup_made, teardown);
	tcase_add_test(t, row_that_says_the_same_is_not_made_again);
	tcase_add_test(t, row_is_made_again_after_a_second);
	tcase_add_loop_test(t,
	    row_is_made_again_when_what_holds_for_all_has_changed, 0, 4);
	tcase_add_test(t, another_width_makes_other_rows);
	tcase_add_loop_test(t, age_is_never_that_of_an_earlier_picture, 0, 2);
	tcase_add_test(t, block_in_the_place_of_another_has_a_row_of_its_own);
	tcase_add_test(t, text_output_makes_each_row);
	suite_add_tcase(s, t);
	t = tcase_create("costs");
	tcase_add_checked_fixture(t, setup_made, teardown);
	tcase_add_test(t, cost_is_right_to_a_sixteenth);
	tcase_add_test(t, share_of_the_cycles_is_rounded_up);
	tcase_add_test(t, longest_there_is_has_a_bucket);
	tcase_add_test(t, counting_anew_forgets_the_maximum);
	tcase_add_test(t,
	    peak_is_the_targets_until_it_is_counted_anew);
	tcase_add_test(t, peak_is_also_of_before_the_page_came);
	tcase_add_test(t, missed_cycles_are_those_since_it_was_counted_anew);
	tcase_add_test(t,
	    why_free_memory_is_not_shown_stands_there_in_address_order);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)

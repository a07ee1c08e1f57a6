/*
 * The panel of what the page's cycles cost, and the peak of bytes that it can
 * reset.
 */
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/panels/diagnostics.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define COLS (PAGE_FULL_COLS - 1)

static void
setup_costs(void)
{
	setup_target();
	page.medium = PAGE_SCREEN;
}

CASE("costs", .setup = setup_costs, .teardown = teardown);

TEST(cost_is_right_to_a_sixteenth)
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

TEST(share_of_the_cycles_is_rounded_up)
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

TEST(longest_there_is_has_a_bucket)
{
	static struct cost c;

	cost_add(&c, UINT64_MAX);
	ck_assert_uint_gt(cost_at(&c, 500), UINT64_C(3600000000));
}

TEST(counting_anew_forgets_the_maximum)
{
	static struct page_costs costs;

	scene.look.work.cycle_us = 10;
	scene.look.work.cycle_us_max = 5000;
	compose(COLS, 24);
	ck_assert_uint_eq(page.numbers.cost_max_us, 5000);
	page_costs_begin(&costs, &page, &scene.look);
	compose(COLS, 24);
	ck_assert_uint_eq(page.numbers.cost_max_us, 10);
	scene.look.work.cycle_us_max = 6000;
	compose(COLS, 24);
	ck_assert_uint_eq(page.numbers.cost_max_us, 6000);
}

TEST(peak_is_the_targets_until_it_is_counted_anew)
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

/* Unless the page shows nothing of before it came. */
TEST(peak_is_also_of_before_the_page_came)
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

TEST(missed_cycles_are_those_since_it_was_counted_anew)
{
	static struct page_costs costs;

	page.numbers.missed = 3;
	scene.look.work.missed_cycles = 4;
	page_costs_begin(&costs, &page, &scene.look);
	scene.look.work.missed_cycles = 6;
	cost_add(&costs.of[COST_CYCLE], 1200);
	cost_add(&costs.of[COST_CYCLE], 12);
	cost_add(&costs.of[COST_PICTURE], 1100);
	picture_begin(&pic, 80, false);
	page_costs_put(&costs, &page, &scene.look, &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert(shows("2 cycles in 0 s, 1 drawn, 2 missed"));
	ck_assert(shows("cycle      12us  1.2ms  1.2ms"));
	/* The cycles that painted, and no others. */
	ck_assert(shows("picture   1.1ms  1.1ms  1.1ms"));
}

static void
panel(void)
{
	static struct page_costs costs;

	picture_begin(&pic, 80, false);
	page_costs_put(&costs, &page, &scene.look, &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
}

/* Where rows of free memory are looked for, and nowhere else. */
TEST(why_free_memory_is_not_shown_stands_there_in_address_order)
{
	strcpy(scene.look.regions.why, "records were lost");
	page.opts.free = true;
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	panel();
	ck_assert(shows("free     not shown: records were lost"));
	page_set_order(&page, BLKLIST_BY_AGE, false);
	panel();
	ck_assert(!shows("not shown"));
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	scene.look.regions.why[0] = '\0';
	panel();
	ck_assert(!shows("not shown"));
}

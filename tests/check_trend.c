/*
 * The last minute: what a sample is, how samples become points, and that a
 * paused picture keeps its own.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/layout.h"
#include "harness.h"
#include "scene.h"

static uint64_t keeper[WIRE_STATS_COUNT];

static void
setup_trend(void)
{
	setup_target();
	memset(keeper, 0, sizeof keeper);
}

/* So many milliseconds later. */
static void
after(int ms)
{
	scene.view.now.ns += INT64_C(1000000) * ms;
	page_trend_sample(&page, &scene.view);
}

static void
asked(uint64_t allocs, uint64_t frees)
{
	keeper[WIRE_N_ALLOCS] += allocs;
	keeper[WIRE_N_FREES] += frees;
	scene.look.keeper_no++;
}

static uint64_t
last(enum page_trend_of of)
{
	uint64_t n = 0;

	ck_assert(page_trend_last(page.trend, of, &n));
	return n;
}

CASE("samples", .setup = setup_trend, .teardown = teardown);

TEST(sample_is_what_came_in_a_second)
{
	uint64_t n;
	unsigned i;

	after(0);
	ck_assert(!page_trend_last(page.trend, TREND_ALLOCS, &n));
	for (i = 0; i < 10; i++)
		scene_alloc(&scene, 0x1000 + i * 0x100, 100, TYPE_MALLOC, 1,
		    0, scene.look.now_ms);
	scene_free(&scene, 0x1000);
	after(999);
	ck_assert(!page_trend_last(page.trend, TREND_ALLOCS, &n));
	after(1);
	ck_assert_uint_eq(last(TREND_ALLOCS), 10);
	ck_assert_uint_eq(last(TREND_FREES), 1);
	ck_assert_uint_eq(last(TREND_LIVE),
	    blklist_counts(scene.list)->live_bytes);
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 0);
}

TEST(keepers_numbers_are_taken_when_they_are_told)
{
	uint64_t n;

	scene.look.keeper = keeper;
	after(0);
	asked(5000, 4000);
	after(66);
	ck_assert(!page_trend_last(page.trend, TREND_ALLOCS, &n));
	after(934);
	ck_assert_uint_eq(last(TREND_ALLOCS), 5000);
	ck_assert_uint_eq(last(TREND_FREES), 4000);
	/* Nothing was told: that is not a second without requests. */
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 5000);
	asked(6000, 2000);
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 3000);
	ck_assert_uint_eq(last(TREND_FREES), 1000);
}

TEST(points_are_means_of_five_seconds)
{
	uint64_t point[TREND_POINTS];
	unsigned i;

	scene.look.keeper = keeper;
	after(0);
	for (i = 1; i <= 7; i++) {
		asked(i * 10, 0);
		after(1000);
	}
	ck_assert_uint_eq(page_trend_points(page.trend, TREND_ALLOCS, point),
	    2);
	ck_assert_uint_eq(point[0], 30);
	ck_assert_uint_eq(point[1], 65);
}

TEST(only_the_newest_point_changes_within_it)
{
	uint64_t was[TREND_POINTS], is[TREND_POINTS];
	unsigned i, same;
	size_t n;

	scene.look.keeper = keeper;
	after(0);
	for (i = 0; i < 200; i++) {
		n = page_trend_points(page.trend, TREND_ALLOCS, was);
		asked(i * i * 100, 0);
		after(1000);
		if (i < TREND_SAMPLES)
			continue;
		ck_assert_uint_eq(page_trend_points(page.trend, TREND_ALLOCS,
		    is), TREND_POINTS);
		ck_assert_uint_eq(n, TREND_POINTS);
		for (same = 0; same < TREND_POINTS - 1; same++)
			if (was[same + (i % TREND_FOLD == 0)] != is[same])
				break;
		ck_assert_uint_eq(same, TREND_POINTS - 1);
	}
}

TEST(long_gap_is_a_plain)
{
	uint64_t point[TREND_POINTS];

	scene.look.keeper = keeper;
	after(0);
	asked(600, 0);
	after(6000);
	ck_assert_uint_eq(page_trend_points(page.trend, TREND_ALLOCS, point),
	    2);
	ck_assert_uint_eq(point[0], 100);
	ck_assert_uint_eq(point[1], 100);
	asked(3600000, 0);
	after(3600000);
	ck_assert_uint_eq(page_trend_points(page.trend, TREND_ALLOCS, point),
	    TREND_POINTS);
	ck_assert_uint_eq(point[0], 1000);
}

LOOP_TEST(another_stream_begins_anew, 0, 2)
{
	uint64_t n;

	scene.look.keeper = keeper;
	after(0);
	asked(1000, 0);
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 1000);
	if (_i == 0)
		scene.look.stream_no++;
	else
		keeper[WIRE_N_ALLOCS] = 3;
	asked(1, 0);
	after(1000);
	ck_assert(!page_trend_last(page.trend, TREND_ALLOCS, &n));
	asked(7, 0);
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 7);
}

TEST(lost_link_is_no_second_without_requests)
{
	after(0);
	scene_alloc(&scene, 0x1000, 100, TYPE_MALLOC, 1, 0,
	    scene.look.now_ms);
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 1);
	scene.look.state = NODES_UNREACHABLE;
	after(5000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 1);
}

/* Neither while a list is being taken nor while records wait to be read. */
LOOP_TEST(what_is_not_read_yet_is_no_second_without_requests, 0, 2)
{
	after(0);
	after(1000);
	scene.look.settled = _i != 0;
	scene.look.behind = _i != 0;
	after(1000);
	scene.look.settled = true;
	scene.look.behind = false;
	for (unsigned i = 0; i < 30; i++)
		scene_alloc(&scene, 0x1000 + i * 0x100, 100, TYPE_MALLOC, 1,
		    0, scene.look.now_ms);
	after(1000);
	/* They came in two seconds, of which none was one without. */
	ck_assert_uint_eq(last(TREND_ALLOCS), 15);
}

TEST(paused_picture_keeps_its_minute)
{
	scene.look.keeper = keeper;
	after(0);
	asked(1000, 0);
	after(1000);
	pause_now();
	page_view_paused(&scene.view, &page);
	asked(7, 0);
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 1000);
	page_resume(&page);
	scene.view.look = scene.view.live;
	page_trend_sample(&page, &scene.view);
	ck_assert_uint_eq(last(TREND_ALLOCS), 7);
}

LOOP_TEST(paused_picture_keeps_its_minute_when_the_list_is_lost, 0, 2)
{
	uint64_t n;

	scene.look.keeper = keeper;
	after(0);
	asked(1000, 0);
	after(1000);
	pause_now();
	page_view_paused(&scene.view, &page);
	if (_i == 0)
		scene.look.list = NULL;
	else
		scene.look.stream_no++;
	after(1000);
	ck_assert_uint_eq(last(TREND_ALLOCS), 1000);
	page_resume(&page);
	scene.view.look = scene.view.live;
	page_trend_sample(&page, &scene.view);
	ck_assert(!page_trend_last(page.trend, TREND_ALLOCS, &n));
}

TEST(full_page_shows_the_minute_and_the_wide_one_does_not)
{
	scene.look.keeper = keeper;
	page.medium = PAGE_SCREEN;
	after(0);
	asked(8123, 7900);
	after(1000);
	compose(124, 24);
	ck_assert_ptr_nonnull(strstr(pic.line[1].text, "allocs  8.1 k/s "));
	ck_assert_ptr_nonnull(strstr(pic.line[1].text, "█"));
	ck_assert_int_eq(pic.rows, 24);
	compose(119, 24);
	ck_assert_ptr_null(strstr(pic.line[1].text, "allocs"));
	/* Where it is low, rows are worth more. */
	compose(124, 12);
	ck_assert_ptr_null(strstr(pic.line[1].text, "allocs"));
	ck_assert_int_eq(pic.rows, 12);
}

TEST(without_memory_or_samples_nothing_is_shown)
{
	uint64_t point[TREND_POINTS], n;

	ck_assert_uint_eq(page_trend_points(NULL, TREND_LIVE, point), 0);
	ck_assert(!page_trend_last(NULL, TREND_LIVE, &n));
	page_trend_free(NULL);
	scene.look.list = NULL;
	after(0);
	after(1000);
	ck_assert(!page_trend_last(page.trend, TREND_LIVE, &n));
}

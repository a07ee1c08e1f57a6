/*
 * How often a target is visited: how full its rings are, and what follows of it.
 */
#include "../src/nodes/drain.h"
#include "feed_rig.h"

#define LARGE_RING 8		/* the first of its class: behind the small ones */

static void
write_some(struct hand *h, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		hand_event(h, i % 2 == 0 ? REC_ALLOC : REC_FREE, 7);
}

START_TEST(a_feed_is_as_full_as_its_fullest_ring)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, 0);
	struct hand large = hand_open(rig, LARGE_RING);

	write_some(&small, RING_SMALL / 4);
	write_some(&large, RING_LARGE / 8);
	ck_assert_int_eq(rig_pass(rig), RING_SMALL / 4 + RING_LARGE / 8);
	ck_assert_uint_eq(stream_feed_fill(rig->feed), STREAM_FILL_FULL / 4);
	write_some(&large, RING_LARGE / 8);
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(stream_feed_fill(rig->feed), STREAM_FILL_FULL / 8);
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(stream_feed_fill(rig->feed), 0);
	rig_free(rig);
}
END_TEST

START_TEST(a_pass_in_parts_is_as_full_as_it_began)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	write_some(&a, RING_SMALL / 2);
	do {
		ck_assert_int_ge(stream_feed_pass_some(rig->feed, ++rig->now,
		    300), 0);
		ck_assert_uint_eq(stream_feed_fill(rig->feed),
		    STREAM_FILL_FULL / 2);
	} while (stream_feed_is_behind(rig->feed));
	rig_free(rig);
}
END_TEST

START_TEST(a_ring_that_is_half_full_is_visited_again_at_once)
{
	for (int i = 0; i <= DRAIN_CYCLE_MS; i++)
		ck_assert_int_eq(drain_interval(i, STREAM_FILL_FULL / 2), 0);
}
END_TEST

START_TEST(a_ring_that_is_a_quarter_full_is_visited_sooner)
{
	for (int i = 1; i <= DRAIN_CYCLE_MS; i++)
		ck_assert_int_lt(drain_interval(i, STREAM_FILL_FULL / 4), i);
}
END_TEST

START_TEST(a_calm_target_is_visited_once_a_cycle)
{
	int interval = 0, visits = 0;

	for (; interval < DRAIN_CYCLE_MS; visits++)
		interval = drain_interval(interval, STREAM_FILL_FULL / 32);
	ck_assert_int_eq(interval, DRAIN_CYCLE_MS);
	ck_assert_int_le(visits, 8);
	ck_assert_int_eq(drain_interval(interval, 0), DRAIN_CYCLE_MS);
}
END_TEST

/* Whatever the rate, below one that needs a visit each millisecond. */
START_TEST(at_an_even_rate_few_visits_find_no_ring_more_than_a_quarter_full)
{
	for (unsigned rate = 1; rate <= RING_LARGE / 4; rate += rate / 7 + 1) {
		int interval = 0, visits = 0;

		for (int ms = 0; ms < 10000; visits++) {
			uint64_t fill = (uint64_t)rate * (unsigned)interval *
			    STREAM_FILL_FULL / RING_LARGE;

			ck_assert_uint_le(fill, STREAM_FILL_FULL / 4);
			interval = drain_interval(interval, (unsigned)fill);
			ms += interval > 0 ? interval : 1;
		}
		/* A sixteenth of a ring each, or one a cycle. */
		if (rate < RING_LARGE / 16)
			ck_assert_uint_le((unsigned)visits, 20 +
			    10000 / DRAIN_CYCLE_MS +
			    rate * UINT64_C(10000) / (RING_LARGE / 16));
	}
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("visits");
	TCase *t = tcase_create("fill");

	tcase_add_test(t, a_feed_is_as_full_as_its_fullest_ring);
	tcase_add_test(t, a_pass_in_parts_is_as_full_as_it_began);
	suite_add_tcase(s, t);
	t = tcase_create("intervals");
	tcase_add_test(t, a_ring_that_is_half_full_is_visited_again_at_once);
	tcase_add_test(t, a_ring_that_is_a_quarter_full_is_visited_sooner);
	tcase_add_test(t, a_calm_target_is_visited_once_a_cycle);
	tcase_add_test(t,
	    at_an_even_rate_few_visits_find_no_ring_more_than_a_quarter_full);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)

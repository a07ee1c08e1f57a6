/*
 * The order of a feed: what is delivered, when, and in which order, from
 * producers whose steps are taken one at a time; then the same from threads.
 */
#include <errno.h>

#include "feed_rig.h"

/* --- the merge ------------------------------------------------------------ */

CASE("order");

TEST(rings_are_merged_by_ticket)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);

	/* One address from hand to hand; a feed that goes ring by ring lies. */
	for (int i = 0; i < 100; i++) {
		hand_event(&a, REC_ALLOC, 7);
		hand_event(&b, REC_FREE, 7);
		hand_event(&b, REC_ALLOC, 7);
		hand_event(&a, REC_FREE, 7);
	}
	ck_assert_int_eq(rig_pass(rig), 400);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held_max, 0);
	rig_free(rig);
}

TEST(a_pass_that_takes_some_is_behind_until_all_that_was_seen_is_taken)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	int n = 0, passes = 0;

	for (int i = 0; i < 1000; i++) {
		hand_event(&a, REC_ALLOC, 7);
		hand_event(&b, REC_FREE, 7);
	}
	do {
		int some = stream_feed_pass(rig->feed, ++rig->now, 300);

		ck_assert_int_ge(some, 0);
		ck_assert_int_le(some, 300 + 2 * 64);	/* a chunk each */
		ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
		if (n == 0)		/* not seen by the look that was had */
			hand_event(&a, REC_ALLOC, 7);
		n += some;
		passes++;
	} while (stream_feed_is_behind(rig->feed));
	ck_assert_int_ge(passes, 6);
	ck_assert_int_eq(n, 2000);
	ck_assert_int_eq(rig_pass(rig), 1);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}

TEST(the_end_takes_what_a_pass_left)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);

	for (int i = 0; i < 1000; i++) {
		hand_event(&a, REC_ALLOC, 7);
		hand_event(&b, REC_FREE, 7);
	}
	hand_draw(rig_shard_of(7));		/* and its thread died */
	hand_event(&a, REC_ALLOC, 7);
	ck_assert_int_gt(stream_feed_pass(rig->feed, ++rig->now, 1), 0);
	ck_assert(stream_feed_is_behind(rig->feed));
	ck_assert_int_gt(stream_feed_finish(rig->feed, ++rig->now), 0);
	ck_assert_uint_eq(rig->records, 2001);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	rig_free(rig);
}

TEST(tickets_compare_across_their_wrap)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	uint32_t start[REC_SHARDS];

	for (unsigned s = 0; s < REC_SHARDS; s++) {
		start[s] = UINT32_MAX - 50;
		atomic_store(&produce_tickets_now()[s].next, start[s]);
	}
	stream_feed_start_at(rig->feed, start);
	for (int i = 0; i < 100; i++) {
		hand_event(&a, REC_ALLOC, 7);
		hand_event(&b, REC_FREE, 7);
		hand_event(&b, REC_ALLOC, 7);
		hand_event(&a, REC_FREE, 7);
	}
	ck_assert_int_eq(rig_pass(rig), 400);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(stream_feed_due(rig->feed)[rig_shard_of(7)],
	    UINT32_MAX - 50 + 400);
	rig_free(rig);
}

/* --- holes ---------------------------------------------------------------- */

CASE("holes");

TEST(a_thread_frozen_in_flight_holds_others_for_one_pass_at_most)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned other = rig_same_shard(7), s = rig_shard_of(7);
	uint32_t frozen;

	hand_inflight(&a, s);
	frozen = hand_draw(s);
	for (int i = 0; i < 10; i++) {
		hand_event(&b, REC_ALLOC, other);
		hand_event(&b, REC_FREE, other);
	}
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->records, 20);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 1);

	/* It thaws: late, but not lost, and the shard goes on as before. */
	hand_write(&a, REC_ALLOC, 7, frozen);
	hand_publish(&a);
	rig_drain(rig);
	hand_event(&b, REC_FREE, 7);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 22);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->late, 1);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	rig_free(rig);
}

TEST(an_owed_ticket_goes_before_what_followed_it)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned other = rig_same_shard(7), s = rig_shard_of(7);
	uint32_t frozen;

	hand_inflight(&b, s);
	frozen = hand_draw(s);
	hand_event(&a, REC_ALLOC, other);
	rig_drain(rig);
	/* The later ticket lies in the ring that is read first. */
	hand_write(&b, REC_ALLOC, 7, frozen);
	hand_publish(&b);
	hand_event(&a, REC_FREE, 7);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 3);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}

TEST(a_ticket_whose_thread_is_in_flight_no_more_is_lost)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = rig_shard_of(7);

	hand_inflight(&a, s);
	(void)hand_draw(s);
	hand_event(&b, REC_ALLOC, rig_same_shard(7));
	for (int i = 0; i < 5; i++)
		ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	atomic_store(&a.ring->inflight, 0);
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	/* And the shard is whole again. */
	hand_event(&b, REC_FREE, rig_same_shard(7));
	ck_assert_int_eq(rig_pass(rig), 1);
	rig_free(rig);
}

TEST(a_thread_in_flight_on_another_shard_does_not_excuse_a_ticket)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = rig_shard_of(7);

	(void)hand_draw(s);
	hand_inflight(&a, (s + 1) % REC_SHARDS);
	hand_event(&b, REC_ALLOC, rig_same_shard(7));
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	rig_free(rig);
}

TEST(records_of_a_ring_never_overtake_each_other)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = rig_shard_of(7);

	hand_inflight(&a, s);
	(void)hand_draw(s);
	hand_event(&b, REC_ALLOC, 1);
	hand_event(&b, REC_ALLOC, rig_same_shard(7));	/* behind the hole */
	hand_event(&b, REC_ALLOC, 2);
	hand_event(&b, REC_ALLOC, 3);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 4);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 1);
	ck_assert_uint_eq(rig_log_slot(rig, 1), rig_same_shard(7));
	ck_assert_uint_eq(rig_log_slot(rig, 2), 2);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 3);
	rig_free(rig);
}

TEST(holes_in_many_shards_are_passed_in_one_pass)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 8), b = hand_open(rig, 9),
		    c = hand_open(rig, 2);

	/* Each of a thousand shards misses a ticket, all on one frozen range. */
	atomic_store(&c.ring->inflight, RING_INFLIGHT_ALL);
	for (unsigned s = 0; s < REC_SHARDS; s++)
		(void)hand_draw(s);
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++) {
		hand_event(slot % 2 ? &a : &b, REC_ALLOC, slot);
		hand_event(slot % 3 ? &a : &b, REC_FREE, slot);
	}
	ck_assert_int_eq(rig_pass(rig), 2 * RIG_SLOTS);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, REC_SHARDS);
	rig_free(rig);
}

TEST(the_end_applies_what_is_held_and_counts_what_never_came)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = rig_shard_of(7);

	hand_inflight(&a, s);
	(void)hand_draw(s);
	hand_event(&b, REC_ALLOC, rig_same_shard(7));
	ck_assert_int_eq(stream_feed_finish(rig->feed, 2000), 1);
	ck_assert_uint_eq(rig->records, 1);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	ck_assert_uint_eq(rig->lost[STREAM_CORRUPT], 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
	rig_free(rig);
}

TEST(a_ticket_drawn_twice_is_what_no_producer_writes)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);

	hand_write(&a, REC_ALLOC, 7, 0);
	hand_publish(&a);
	hand_write(&b, REC_ALLOC, 7, 0);
	hand_publish(&b);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

TEST(more_holes_than_threads_is_what_no_producer_writes)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	hand_write(&a, REC_ALLOC, 7, 5000);
	hand_publish(&a);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

/* --- records without a ticket ---------------------------------------------- */

CASE("without tickets");

TEST(controls_and_failures_keep_their_place_in_the_ring)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	struct hand frozen = hand_open(rig, 5);
	unsigned s = rig_shard_of(7);

	hand_inflight(&frozen, s);
	(void)hand_draw(s);
	produce_open(&p, 4711);
	produce_alloc(&p, rig_addr(rig_same_shard(7)), 16, 24, TYPE_MALLOC, 0, 0);
	produce_control(&p, REC_CTL_REQUESTER, 0, 0x616263);
	produce_alloc(&p, rig_addr(1), 16, 24, TYPE_MALLOC, 0, 0);
	produce_failed(&p, 1 << 30, TYPE_MALLOC, 0, 0);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 5);
	ck_assert_uint_eq(rec_type(&rig->log[0]), REC_CTL_THREAD);
	ck_assert_uint_eq(rec_addr(&rig->log[0]), 4711);
	ck_assert_uint_eq(rec_thread(&rig->log[0]), p.thread);
	ck_assert_uint_eq(rig_log_slot(rig, 1), rig_same_shard(7));
	ck_assert_uint_eq(rec_type(&rig->log[2]), REC_CTL_REQUESTER);
	ck_assert_uint_eq(rig->log[2].w[2], 0x616263);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 1);
	ck_assert_uint_eq(rec_level(&rig->log[4]), REC_LEVEL_FAILED);
	ck_assert_uint_eq(rec_size(&rig->log[4]), 1 << 30);
	ck_assert_uint_eq(rig->failed, 1);
	rig_free(rig);
}

TEST(a_record_is_no_older_than_the_last_visit_and_not_of_the_future)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);
	static const struct {
		uint32_t written, shown;
	} times[] = {
		{ 10, 2000 }, { 2000, 2000 }, { 2030, 2030 }, { 2066, 2066 },
		{ 9999, 2066 }, { UINT32_MAX, 2000 },
	};

	stream_feed_pass(rig->feed, 2000, UINT64_MAX);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		hand_write(&a, REC_ALLOC, (unsigned)i, 0);
		a.recs[i].w[2] = rec_w2(
		    hand_draw(rig_shard_of((unsigned)i)), times[i].written);
	}
	hand_publish(&a);
	stream_feed_pass(rig->feed, 2066, UINT64_MAX);
	ck_assert_uint_eq(rig->nlog, sizeof(times) / sizeof(times[0]));
	for (size_t i = 0; i < rig->nlog; i++)
		ck_assert_uint_eq(rec_ms(&rig->log[i]), times[i].shown);
	rig_free(rig);
}

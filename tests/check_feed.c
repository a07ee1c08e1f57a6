/*
 * The order of a feed: what is delivered, when, and in which order, from
 * producers whose steps are taken one at a time; then the same from threads.
 */
#include <errno.h>

#include "feed_rig.h"

/* Two slots of one shard, the first that differ from `slot`. */
static unsigned
same_shard(unsigned slot)
{
	for (unsigned k = slot + 1; k < RIG_SLOTS; k++)
		if (rec_shard(rig_addr(k)) == rec_shard(rig_addr(slot)))
			return k;
	ck_abort();
}

static unsigned
shard_of(unsigned slot)
{
	return rec_shard(rig_addr(slot));
}

/* --- the merge ------------------------------------------------------------ */

START_TEST(rings_are_merged_by_ticket)
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
END_TEST

START_TEST(a_pass_that_takes_some_is_behind_until_all_that_was_seen_is_taken)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	int n = 0, passes = 0;

	for (int i = 0; i < 1000; i++) {
		hand_event(&a, REC_ALLOC, 7);
		hand_event(&b, REC_FREE, 7);
	}
	do {
		int some = stream_feed_pass_some(rig->feed, ++rig->now, 300);

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
END_TEST

START_TEST(the_end_takes_what_a_pass_left)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);

	for (int i = 0; i < 1000; i++) {
		hand_event(&a, REC_ALLOC, 7);
		hand_event(&b, REC_FREE, 7);
	}
	hand_draw(shard_of(7));		/* and its thread died */
	hand_event(&a, REC_ALLOC, 7);
	ck_assert_int_gt(stream_feed_pass_some(rig->feed, ++rig->now, 1), 0);
	ck_assert(stream_feed_is_behind(rig->feed));
	ck_assert_int_gt(stream_feed_finish(rig->feed, ++rig->now), 0);
	ck_assert_uint_eq(rig->records, 2001);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	rig_free(rig);
}
END_TEST

START_TEST(tickets_compare_across_their_wrap)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	uint32_t start[REC_SHARDS];

	for (unsigned s = 0; s < REC_SHARDS; s++) {
		start[s] = UINT32_MAX - 50;
		atomic_store(&produce_tickets[s].next, start[s]);
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
	ck_assert_uint_eq(stream_feed_due(rig->feed)[shard_of(7)],
	    UINT32_MAX - 50 + 400);
	rig_free(rig);
}
END_TEST

/* --- holes ---------------------------------------------------------------- */

START_TEST(a_thread_frozen_in_flight_holds_others_for_one_pass_at_most)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned other = same_shard(7), s = shard_of(7);
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
END_TEST

START_TEST(an_owed_ticket_goes_before_what_followed_it)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned other = same_shard(7), s = shard_of(7);
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
END_TEST

START_TEST(a_ticket_whose_thread_is_in_flight_no_more_is_lost)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = shard_of(7);

	hand_inflight(&a, s);
	(void)hand_draw(s);
	hand_event(&b, REC_ALLOC, same_shard(7));
	for (int i = 0; i < 5; i++)
		ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	atomic_store(&a.ring->inflight, 0);
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	/* And the shard is whole again. */
	hand_event(&b, REC_FREE, same_shard(7));
	ck_assert_int_eq(rig_pass(rig), 1);
	rig_free(rig);
}
END_TEST

START_TEST(a_thread_in_flight_on_another_shard_does_not_excuse_a_ticket)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = shard_of(7);

	(void)hand_draw(s);
	hand_inflight(&a, (s + 1) % REC_SHARDS);
	hand_event(&b, REC_ALLOC, same_shard(7));
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	rig_free(rig);
}
END_TEST

START_TEST(records_of_a_ring_never_overtake_each_other)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = shard_of(7);

	hand_inflight(&a, s);
	(void)hand_draw(s);
	hand_event(&b, REC_ALLOC, 1);
	hand_event(&b, REC_ALLOC, same_shard(7));	/* behind the hole */
	hand_event(&b, REC_ALLOC, 2);
	hand_event(&b, REC_ALLOC, 3);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 4);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 1);
	ck_assert_uint_eq(rig_log_slot(rig, 1), same_shard(7));
	ck_assert_uint_eq(rig_log_slot(rig, 2), 2);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 3);
	rig_free(rig);
}
END_TEST

START_TEST(holes_in_many_shards_are_passed_in_one_pass)
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
END_TEST

START_TEST(the_end_applies_what_is_held_and_counts_what_never_came)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	unsigned s = shard_of(7);

	hand_inflight(&a, s);
	(void)hand_draw(s);
	hand_event(&b, REC_ALLOC, same_shard(7));
	ck_assert_int_eq(stream_feed_finish(rig->feed, 2000), 1);
	ck_assert_uint_eq(rig->records, 1);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	ck_assert_uint_eq(rig->lost[STREAM_CORRUPT], 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
	rig_free(rig);
}
END_TEST

START_TEST(a_ticket_drawn_twice_is_what_no_producer_writes)
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
END_TEST

START_TEST(more_holes_than_threads_is_what_no_producer_writes)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	hand_write(&a, REC_ALLOC, 7, 5000);
	hand_publish(&a);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}
END_TEST

/* --- records without a ticket ---------------------------------------------- */

START_TEST(controls_and_failures_keep_their_place_in_the_ring)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	struct hand frozen = hand_open(rig, 5);
	unsigned s = shard_of(7);

	hand_inflight(&frozen, s);
	(void)hand_draw(s);
	produce_open(&p, 4711);
	produce_alloc(&p, rig_addr(same_shard(7)), 16, 24, TYPE_MALLOC, 0, 0);
	produce_control(&p, REC_CTL_REQUESTER, 0, 0x616263);
	produce_alloc(&p, rig_addr(1), 16, 24, TYPE_MALLOC, 0, 0);
	produce_failed(&p, 1 << 30, TYPE_MALLOC, 0, 0);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 5);
	ck_assert_uint_eq(rec_type(&rig->log[0]), REC_CTL_THREAD);
	ck_assert_uint_eq(rec_addr(&rig->log[0]), 4711);
	ck_assert_uint_eq(rec_thread(&rig->log[0]), p.thread);
	ck_assert_uint_eq(rig_log_slot(rig, 1), same_shard(7));
	ck_assert_uint_eq(rec_type(&rig->log[2]), REC_CTL_REQUESTER);
	ck_assert_uint_eq(rig->log[2].w[2], 0x616263);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 1);
	ck_assert_uint_eq(rec_level(&rig->log[4]), REC_LEVEL_FAILED);
	ck_assert_uint_eq(rec_size(&rig->log[4]), 1 << 30);
	ck_assert_uint_eq(rig->failed, 1);
	rig_free(rig);
}
END_TEST

START_TEST(a_record_is_no_older_than_the_last_visit_and_not_of_the_future)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);
	static const struct {
		uint32_t written, shown;
	} times[] = {
		{ 10, 2000 }, { 2000, 2000 }, { 2030, 2030 }, { 2066, 2066 },
		{ 9999, 2066 }, { UINT32_MAX, 2000 },
	};

	stream_feed_pass(rig->feed, 2000);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		hand_write(&a, REC_ALLOC, (unsigned)i, 0);
		a.recs[i].w[2] = rec_w2(
		    hand_draw(shard_of((unsigned)i)), times[i].written);
	}
	hand_publish(&a);
	stream_feed_pass(rig->feed, 2066);
	ck_assert_uint_eq(rig->nlog, sizeof(times) / sizeof(times[0]));
	for (size_t i = 0; i < rig->nlog; i++)
		ck_assert_uint_eq(rec_ms(&rig->log[i]), times[i].shown);
	rig_free(rig);
}
END_TEST

/* --- the common ring ------------------------------------------------------- */

START_TEST(without_a_ring_events_go_by_the_common_one)
{
	struct rig *rig = rig_attached(false);

	for (int i = 0; i < 3 * RING_COMMON_SLOTS; i++) {
		produce_alloc(NULL, rig_addr(7), 16, 0, TYPE_MALLOC, 0, 0);
		produce_free(NULL, rig_addr(7), TYPE_FREE, 0, 0);
		if (i % 1000 == 0)
			rig_drain(rig);
	}
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 6 * RING_COMMON_SLOTS);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 0);
	rig_free(rig);
}
END_TEST

static struct ring_slot *
common_slot(struct rig *rig, uint64_t n)
{
	return (struct ring_slot *)((char *)rig->area + RING_SLOTS_OFFSET) + n;
}

static void
common_write(struct rig *rig, uint64_t n, unsigned op, unsigned slot,
    uint32_t ticket)
{
	struct ring_slot *s = common_slot(rig, n);

	s->rec.w[0] = rec_w0(rig_addr(slot), REC_FLAGS(op, 0), TYPE_MALLOC);
	s->rec.w[1] = 0;
	s->rec.w[2] = rec_w2(ticket, 0);
	s->rec.w[3] = 0;
	atomic_store(&s->lap, n + 1);
}

START_TEST(claims_of_the_common_ring_need_not_be_in_order_of_tickets)
{
	struct rig *rig = rig_attached(false);

	atomic_store(&rig->area->rings[RING_COMMON].head, 3);
	common_write(rig, 0, REC_ALLOC, 7, 2);
	common_write(rig, 1, REC_FREE, 7, 1);
	common_write(rig, 2, REC_ALLOC, 7, 0);
	ck_assert_int_eq(rig_pass(rig), 3);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}
END_TEST

/*
 * The list undoes a thread's realloc by what its last one freed.  Here the
 * undoing waits for a ticket, and the next realloc has one that is due.
 */
START_TEST(reallocs_of_a_thread_without_a_ring_come_in_its_order)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	struct hand other = hand_open(rig, 1);
	uint32_t ticket;

	take_all_rings(rig->area);
	produce_open(&p, 1);
	ck_assert_ptr_null(p.ring);
	produce_alloc(&p, rig_addr(7), 1, 0, TYPE_MALLOC, 0, 0);
	produce_alloc(&p, rig_addr(1), 1, 0, TYPE_MALLOC, 0, 0);
	rig_drain(rig);
	rig->nlog = 0;

	produce_free(&p, rig_addr(7), TYPE_BY_REALLOC, 0, 0);
	hand_inflight(&other, shard_of(7));
	ticket = hand_draw(shard_of(7));
	produce_undo(&p, rig_addr(7), 0, 0);
	produce_free(&p, rig_addr(1), TYPE_BY_REALLOC, 0, 0);
	produce_undo(&p, rig_addr(1), 0, 0);
	/* One look, and the holes are not passed. */
	ck_assert_int_ge(stream_feed_pass_some(rig->feed, 2000, 1), 0);
	hand_write(&other, REC_ALLOC, same_shard(7), ticket);
	hand_publish(&other);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 5);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 7);
	ck_assert_uint_eq(rig_log_slot(rig, 1), same_shard(7));
	ck_assert_uint_eq(rec_op(&rig->log[2]), REC_UNDO);
	ck_assert_uint_eq(rig_log_slot(rig, 2), 7);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 1);
	ck_assert_uint_eq(rec_op(&rig->log[4]), REC_UNDO);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}
END_TEST

/* Here an allocation waits, and the next realloc's free has a ticket that is due. */
START_TEST(a_realloc_without_a_ring_ends_before_the_next_one_begins)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	struct hand other = hand_open(rig, 1);
	uint32_t ticket;

	take_all_rings(rig->area);
	produce_open(&p, 1);
	produce_alloc(&p, rig_addr(1), 1, 0, TYPE_MALLOC, 0, 0);
	produce_alloc(&p, rig_addr(2), 1, 0, TYPE_MALLOC, 0, 0);
	rig_drain(rig);
	rig->nlog = 0;

	produce_moving(&p, rig_addr(1), 40, 0);
	hand_inflight(&other, shard_of(7));
	ticket = hand_draw(shard_of(7));
	produce_alloc(&p, rig_addr(7), 40, 0, TYPE_REALLOC, 0, 0);
	produce_moving(&p, rig_addr(2), 40, 0);
	ck_assert_int_ge(stream_feed_pass_some(rig->feed, 2000, 1), 0);
	hand_write(&other, REC_ALLOC, same_shard(7), ticket);
	hand_publish(&other);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 4);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 1);
	ck_assert_uint_eq(rec_size(&rig->log[0]), rec_told(40));
	ck_assert_uint_eq(rig_log_slot(rig, 1), same_shard(7));
	ck_assert_uint_eq(rig_log_slot(rig, 2), 7);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 2);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}
END_TEST

START_TEST(a_claim_that_is_not_valid_is_in_flight_on_every_shard)
{
	struct rig *rig = rig_attached(false);
	struct hand b = hand_open(rig, 1);
	unsigned s = shard_of(7);
	uint32_t ticket;

	/* Claimed and drawn, not yet written; what follows is valid. */
	atomic_store(&rig->area->rings[RING_COMMON].head, 1);
	ticket = hand_draw(s);
	produce_alloc(NULL, rig_addr(1), 16, 0, TYPE_MALLOC, 0, 0);
	hand_event(&b, REC_ALLOC, same_shard(7));
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 2);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	common_write(rig, 0, REC_ALLOC, 7, ticket);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 3);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(atomic_load(&rig->keeper->tails[RING_COMMON].tail), 2);
	rig_free(rig);
}
END_TEST

/* --- ranges ---------------------------------------------------------------- */

static void
api(struct producer *p, unsigned op, unsigned slot)
{
	if (op == REC_ALLOC)
		produce_alloc(p, rig_addr(slot), 16, 0, TYPE_API_FIRST,
		    REC_LAYER_API, 0);
	else
		produce_free(p, rig_addr(slot), TYPE_FREE, REC_LAYER_API, 0);
}

static const struct {
	unsigned slots;		/* of the range */
	bool common;
} range_cases[] = {
	{ 1, false }, { 9, false }, { 100, false }, { RIG_SLOTS, false },
	{ 1, true }, { 9, true }, { 100, true }, { RIG_SLOTS, true },
};

START_TEST(a_range_ends_what_was_before_it_and_not_what_came_after)
{
	struct rig *rig = rig_attached(false);
	struct producer p[3] = { 0 };
	unsigned slots = range_cases[_i].slots;

	for (int i = 0; i < 3; i++)
		produce_open(&p[i], 1);
	for (int round = 0; round < 20; round++) {
		for (unsigned k = 0; k < slots; k++)
			api(&p[(k + 1) % 3], REC_ALLOC, k);
		produce_alloc(&p[0], rig_addr(0), 1, 0, TYPE_MALLOC, 0, 0);
		produce_range(range_cases[_i].common ? NULL : &p[2],
		    rig_addr(0), slots * UINT64_C(16), 0);
		api(&p[0], REC_ALLOC, 0);	/* the arena's next life */
		if (round % 3 != 0)
			rig_drain(rig);
		produce_free(&p[1], rig_addr(0), TYPE_FREE, 0, 0);
		api(&p[1], REC_FREE, 0);
	}
	rig_drain(rig);
	ck_assert_uint_eq(rig->ranges, 20);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(rig_live(rig), 0);
	for (int i = 0; i < 3; i++)
		produce_close(&p[i]);
	rig_free(rig);
}
END_TEST

/* The range of slots [first, first + n) with these tickets, by hand. */
static void
hand_range(struct hand *h, unsigned first, unsigned n, const uint32_t *tickets)
{
	struct rec *r = &h->recs[h->head & h->mask];
	uint64_t set[RING_RANGE_WORDS];
	unsigned k = 0;

	hand_write(h, REC_RANGE, first, tickets[rec_shard(rig_addr(first))]);
	r->w[0] = rec_w0(rig_addr(first), REC_FLAGS(REC_RANGE, REC_LAYER_API),
	    0);
	r->w[1] = rec_w1(16 * n, rec_thread(r));
	ring_range_shards(rig_addr(first), 16 * n, set);
	for (unsigned s = 0; s < REC_SHARDS; s++) {
		if (!(set[s / 64] >> s % 64 & 1))
			continue;
		if (k % 8 == 0)
			r = &h->recs[h->head++ & h->mask];
		if (k % 2 == 0)
			r->w[k / 2 % 4] = tickets[s];
		else
			r->w[k / 2 % 4] |= (uint64_t)tickets[s] << 32;
		k++;
	}
	hand_publish(h);
}

START_TEST(ranges_that_drew_their_tickets_crosswise_do_not_lock_each_other)
{
	struct rig *rig = rig_attached(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	struct producer p = { 0 };
	uint32_t first[REC_SHARDS], second[REC_SHARDS];

	produce_open(&p, 1);
	for (unsigned k = 0; k < RIG_SLOTS; k++)
		api(&p, REC_ALLOC, k);
	for (unsigned s = 0; s < REC_SHARDS; s++) {
		first[s] = hand_draw(s);
		second[s] = hand_draw(s);
		if (s % 2) {
			uint32_t t = first[s];

			first[s] = second[s];
			second[s] = t;
		}
	}
	hand_range(&a, 0, RIG_SLOTS / 2, first);
	hand_range(&b, RIG_SLOTS / 2, RIG_SLOTS / 2, second);
	for (unsigned k = 0; k < RIG_SLOTS; k++)
		api(&p, REC_ALLOC, k);
	ck_assert_int_eq(rig_pass(rig), 2 * RIG_SLOTS + 2);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(rig_live(rig), RIG_SLOTS);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	rig_free(rig);
}
END_TEST

START_TEST(a_range_frozen_among_its_tickets_holds_nobody_and_comes_late)
{
	struct rig *rig = rig_attached(false);
	struct hand a = hand_open(rig, 0);
	struct producer p = { 0 };
	uint32_t tickets[REC_SHARDS];

	produce_open(&p, 1);
	for (unsigned k = 0; k < RIG_SLOTS; k++)
		api(&p, REC_ALLOC, k);
	atomic_store(&a.ring->inflight, RING_INFLIGHT_ALL);
	for (unsigned s = 0; s < REC_SHARDS; s++)
		tickets[s] = hand_draw(s);
	for (unsigned k = 0; k < RIG_SLOTS; k++)
		produce_alloc(&p, rig_addr(k), 16, 0, TYPE_MALLOC, 0, 0);
	ck_assert_int_eq(rig_pass(rig), 2 * RIG_SLOTS);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, REC_SHARDS);
	hand_range(&a, 0, RIG_SLOTS, tickets);
	rig_drain(rig);
	ck_assert_uint_eq(rig->ranges, 1);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(rig_live(rig), RIG_SLOTS);	/* the heap's */
	rig_free(rig);
}
END_TEST

static Suite *
feed_suite(void)
{
	Suite *s = suite_create("feed");
	TCase *tc = tcase_create("order");

	tcase_add_test(tc, rings_are_merged_by_ticket);
	tcase_add_test(tc,
	    a_pass_that_takes_some_is_behind_until_all_that_was_seen_is_taken);
	tcase_add_test(tc, the_end_takes_what_a_pass_left);
	tcase_add_test(tc, tickets_compare_across_their_wrap);
	suite_add_tcase(s, tc);

	tc = tcase_create("holes");
	tcase_add_test(tc,
	    a_thread_frozen_in_flight_holds_others_for_one_pass_at_most);
	tcase_add_test(tc, an_owed_ticket_goes_before_what_followed_it);
	tcase_add_test(tc, a_ticket_whose_thread_is_in_flight_no_more_is_lost);
	tcase_add_test(tc,
	    a_thread_in_flight_on_another_shard_does_not_excuse_a_ticket);
	tcase_add_test(tc, records_of_a_ring_never_overtake_each_other);
	tcase_add_test(tc, holes_in_many_shards_are_passed_in_one_pass);
	tcase_add_test(tc,
	    the_end_applies_what_is_held_and_counts_what_never_came);
	tcase_add_test(tc, a_ticket_drawn_twice_is_what_no_producer_writes);
	tcase_add_test(tc, more_holes_than_threads_is_what_no_producer_writes);
	suite_add_tcase(s, tc);

	tc = tcase_create("without tickets");
	tcase_add_test(tc, controls_and_failures_keep_their_place_in_the_ring);
	tcase_add_test(tc,
	    a_record_is_no_older_than_the_last_visit_and_not_of_the_future);
	suite_add_tcase(s, tc);

	tc = tcase_create("common ring");
	tcase_add_test(tc, without_a_ring_events_go_by_the_common_one);
	tcase_add_test(tc,
	    claims_of_the_common_ring_need_not_be_in_order_of_tickets);
	tcase_add_test(tc,
	    reallocs_of_a_thread_without_a_ring_come_in_its_order);
	tcase_add_test(tc,
	    a_realloc_without_a_ring_ends_before_the_next_one_begins);
	tcase_add_test(tc,
	    a_claim_that_is_not_valid_is_in_flight_on_every_shard);
	suite_add_tcase(s, tc);

	tc = tcase_create("ranges");
	tcase_add_loop_test(tc,
	    a_range_ends_what_was_before_it_and_not_what_came_after, 0,
	    sizeof(range_cases) / sizeof(range_cases[0]));
	tcase_add_test(tc,
	    ranges_that_drew_their_tickets_crosswise_do_not_lock_each_other);
	tcase_add_test(tc,
	    a_range_frozen_among_its_tickets_holds_nobody_and_comes_late);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(feed_suite)

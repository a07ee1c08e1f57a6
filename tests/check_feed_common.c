/*
 * The order of a feed where threads have no ring of their own, and of ranges,
 * which draw a ticket on every shard.
 */
#include "feed_rig.h"
#include "../src/stream/feed/order.h"

/* --- the common ring ------------------------------------------------------- */

CASE("common ring");

TEST(without_a_ring_events_go_by_the_common_one)
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

TEST(claims_of_the_common_ring_need_not_be_in_order_of_tickets)
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

/*
 * The list undoes a thread's realloc by what its last one freed.  Here the
 * undoing waits for a ticket, and the next realloc has one that is due.
 */
TEST(reallocs_of_a_thread_without_a_ring_come_in_its_order)
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
	hand_inflight(&other, rig_shard_of(7));
	ticket = hand_draw(rig_shard_of(7));
	produce_undo(&p, rig_addr(7), 0, 0);
	produce_free(&p, rig_addr(1), TYPE_BY_REALLOC, 0, 0);
	produce_undo(&p, rig_addr(1), 0, 0);
	/* One look, and the holes are not passed. */
	ck_assert_int_ge(stream_feed_pass(rig->feed, 2000, 1), 0);
	hand_write(&other, REC_ALLOC, rig_same_shard(7), ticket);
	hand_publish(&other);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 5);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 7);
	ck_assert_uint_eq(rig_log_slot(rig, 1), rig_same_shard(7));
	ck_assert_uint_eq(rec_op(&rig->log[2]), REC_UNDO);
	ck_assert_uint_eq(rig_log_slot(rig, 2), 7);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 1);
	ck_assert_uint_eq(rec_op(&rig->log[4]), REC_UNDO);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}

/* Here an allocation waits, and the next realloc's free has a ticket that is due. */
TEST(a_realloc_without_a_ring_ends_before_the_next_one_begins)
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

	produce_realloc_free(&p, rig_addr(1), 40, 0);
	hand_inflight(&other, rig_shard_of(7));
	ticket = hand_draw(rig_shard_of(7));
	produce_alloc(&p, rig_addr(7), 40, 0, TYPE_REALLOC, 0, 0);
	produce_realloc_free(&p, rig_addr(2), 40, 0);
	ck_assert_int_ge(stream_feed_pass(rig->feed, 2000, 1), 0);
	hand_write(&other, REC_ALLOC, rig_same_shard(7), ticket);
	hand_publish(&other);
	rig_drain(rig);
	ck_assert_uint_eq(rig->nlog, 4);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 1);
	ck_assert_uint_eq(rec_size(&rig->log[0]), rec_told(40));
	ck_assert_uint_eq(rig_log_slot(rig, 1), rig_same_shard(7));
	ck_assert_uint_eq(rig_log_slot(rig, 2), 7);
	ck_assert_uint_eq(rig_log_slot(rig, 3), 2);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	rig_free(rig);
}

TEST(a_claim_that_is_not_valid_is_in_flight_on_every_shard)
{
	struct rig *rig = rig_attached(false);
	struct hand b = hand_open(rig, 1);
	unsigned s = rig_shard_of(7);
	uint32_t ticket;

	/* Claimed and drawn, not yet written; what follows is valid. */
	atomic_store(&rig->area->rings[RING_COMMON].head, 1);
	ticket = hand_draw(s);
	produce_alloc(NULL, rig_addr(1), 16, 0, TYPE_MALLOC, 0, 0);
	hand_event(&b, REC_ALLOC, rig_same_shard(7));
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

CASE("ranges", .seconds = 60);

LOOP_TEST(a_range_ends_what_was_before_it_and_not_what_came_after, 0,
    sizeof(range_cases) / sizeof(range_cases[0]))
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

/* An event of a named block, not published yet. */
static void
hand_api(struct hand *h, unsigned op, unsigned slot)
{
	struct rec *r = &h->recs[h->head & h->mask];

	hand_write(h, op, slot, hand_draw(rig_shard_of(slot)));
	r->w[0] = rec_w0(rig_addr(slot), REC_FLAGS(op, REC_LAYER_API),
	    TYPE_API_FIRST);
}

TEST(ranges_that_drew_their_tickets_crosswise_do_not_lock_each_other)
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

/*
 * A thread logs a block in the range and then an event that the range waits for,
 * both while the range draws its tickets; once for each of so many blocks.
 */
LOOP_TEST(a_range_and_records_that_wait_for_each_other_go_on, 1, 4)
{
	struct rig *rig = rig_attached(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	const unsigned last = RIG_SLOTS - 1, s = rig_shard_of(last);
	uint32_t tickets[REC_SHARDS];
	struct producer p = { 0 };

	produce_open(&p, 1);
	for (unsigned k = 0; k < RIG_SLOTS; k++)
		api(&p, REC_ALLOC, k);
	for (unsigned k = 0; k < REC_SHARDS; k++)
		if (k != s)
			tickets[k] = hand_draw(k);
	for (unsigned k = 1, n = 0; n < (unsigned)_i; k++) {
		if (rig_shard_of(k) == s)
			continue;
		hand_api(&b, REC_ALLOC, k);
		n++;
	}
	hand_api(&b, REC_FREE, last);
	tickets[s] = hand_draw(s);
	hand_range(&a, 0, RIG_SLOTS, tickets);
	hand_publish(&b);
	rig_drain(rig);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
	ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	ck_assert_uint_eq(rig_live(rig), (unsigned)_i);
	ck_assert_uint_ge(rig->ranges, (unsigned)_i + 2);
	/* The next one is whole. */
	produce_range(&p, rig_addr(0), RIG_SLOTS * UINT64_C(16), 0);
	rig->ranges = 0;
	rig_drain(rig);
	ck_assert_uint_eq(rig->ranges, 1);
	ck_assert_uint_eq(rig_live(rig), 0);
	rig_free(rig);
}

/* Its ticket waits for two records that stand the wrong way round, for ever. */
TEST(records_that_pass_a_range_without_end_are_held_back)
{
	struct rig *rig = rig_attached(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1),
	    c = hand_open(rig, 8);
	const unsigned last = RIG_SLOTS - 1, s = rig_shard_of(last);
	const unsigned all = ORDER_PASSES + 10000;
	uint32_t tickets[REC_SHARDS], first = hand_draw(s), next = hand_draw(s);

	if (check_is_shortened()) {	/* it takes all passes that there are */
		rig_free(rig);
		return;
	}

	for (unsigned k = 0; k < REC_SHARDS; k++)
		tickets[k] = hand_draw(k);
	hand_write(&b, REC_ALLOC, last, next);
	hand_write(&b, REC_ALLOC, last, first);
	hand_publish(&b);
	hand_range(&a, 0, all, tickets);
	ck_assert_int_ge(rig_pass(rig), 0);
	for (unsigned k = 0, n = 0; n < all; k++) {
		if (rig_shard_of(k) == s)
			continue;
		hand_api(&c, REC_ALLOC, k % all);
		if (++n % 4096 != 0 && n < all)
			continue;
		hand_publish(&c);
		ck_assert_int_ge(rig_pass(rig), 0);
	}
	ck_assert_uint_gt(rig->ranges, 0);
	ck_assert_uint_le(rig->ranges, ORDER_PASSES);
	ck_assert_uint_gt(stream_feed_counts(rig->feed)->held, 0);
	rig_free(rig);
}

TEST(a_range_frozen_among_its_tickets_holds_nobody_and_comes_late)
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

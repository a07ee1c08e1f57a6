/*
 * Pairs: an allocation whose free is put into its own record.  What a keeper
 * delivers is the same as if each had one.
 */
#include <errno.h>

#include "../src/stream/feed/order.h"
#include "feed_rig.h"

/* A target of one thread, its keeper, and the thread's ring. */
struct target {
	struct rig *rig;
	struct producer p;
};

static struct target t;

static void
begin(void)
{
	memset(&t, 0, sizeof(t));
	t.rig = rig_attached(false);
	produce_open(&t.p, 1);
	rig_drain(t.rig);
	t.rig->nlog = 0;
}

static void
end(void)
{
	rig_free(t.rig);
}

static void
born(unsigned slot)
{
	produce_alloc(&t.p, rig_addr(slot), 100, 104, TYPE_CALLOC, 0, 0x1234);
}

static void
gone(unsigned slot)
{
	produce_free(&t.p, rig_addr(slot), TYPE_FREE, 0, 0x5678);
}

/* A pass comes with a new millisecond: as if it had come just before this. */
static void
renew(uint64_t at)
{
	struct rec *r = &t.p.recs[at & t.p.mask];

	r->w[2] = rec_w2(rec_ticket(r),
	    (uint32_t)atomic_load(&t.rig->keeper->ms));
}

static uint32_t
pairs(void)
{
	return atomic_load(&t.p.ring->pairs);
}

static uint64_t
head(void)
{
	return atomic_load(&t.p.ring->head);
}

/* All came through, and nothing else: each address in turn. */
static void
assert_whole(uint64_t allocs, uint64_t frees)
{
	rig_drain(t.rig);
	ck_assert_uint_eq(t.rig->allocs, allocs);
	ck_assert_uint_eq(t.rig->frees, frees);
	ck_assert_uint_eq(t.rig->duplicates + t.rig->unknown, 0);
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(t.rig->lost[c], 0);
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->held, 0);
}

/* --- what becomes a pair --------------------------------------------------- */

#define TURNS (2 * RING_PAIRS)	/* each place that a byte can say, and once more */

CASE("pairs", .setup = begin, .teardown = end);

/* What else was held when a large one was freed is to be known. */
LOOP_TEST(a_large_block_makes_no_pair, 0, 3)
{
	static const uint64_t sizes[] = { RING_PAIR_SIZE - 1, RING_PAIR_SIZE,
		UINT64_C(1) << 40 };

	for (int again = 0; again < TURNS; again++) {
		produce_alloc(&t.p, rig_addr(7), sizes[_i], 0, TYPE_MALLOC, 0,
		    0x1234);
		gone(7);
		rig_drain(t.rig);
	}
	/* At a limit there are none either. */
	ck_assert(_i == 0 ? pairs() > TURNS / 2 : pairs() == 0);
	assert_whole(TURNS, TURNS);
}

TEST(there_are_none_where_the_keeper_wants_each_event_apart)
{
	produce_close(&t.p);
	stream_feed_forbid_pairs(t.rig->feed, true);
	produce_open(&t.p, 1);
	for (unsigned i = 0; i < TURNS; i++) {
		born(i);
		gone(i);
		rig_drain(t.rig);
	}
	ck_assert_uint_eq(pairs(), 0);
	assert_whole(TURNS, TURNS);
}

/* --- what is delivered ----------------------------------------------------- */

/* Read before the free or behind it. */
LOOP_TEST(a_pair_is_delivered_as_what_it_is_of, 0, 6)
{
	static const unsigned frees[] = { TYPE_FREE, TYPE_DELETE,
		TYPE_DELETE_ARRAY };
	const struct rec *alloc = &t.rig->log[0], *free = &t.rig->log[1];
	unsigned type = frees[_i % 3];
	uint64_t at = head();

	produce_alloc(&t.p, rig_addr(7), 100, 148, TYPE_NEW, 0, 0x1234);
	if (_i >= 3)
		ck_assert_int_eq(rig_pass(t.rig), 1);
	renew(at);
	produce_free(&t.p, rig_addr(7), type, 0, 0x5678);
	ck_assert_uint_eq(pairs(), 1);
	ck_assert_uint_eq(head(), at + 1);
	assert_whole(1, 1);
	ck_assert_uint_eq(rec_addr(alloc), rig_addr(7));
	ck_assert_uint_eq(rec_size(alloc), 100);
	ck_assert_uint_eq(rec_type(alloc), TYPE_NEW);
	ck_assert_uint_eq(rec_overhead(alloc), 48);
	ck_assert_uint_eq(rec_caller(alloc), 0x1234);
	ck_assert_uint_eq(rec_thread(alloc), 1);
	ck_assert_uint_eq(rec_addr(free), rig_addr(7));
	ck_assert_uint_eq(rec_flags(free), REC_FLAGS(REC_FREE, 0));
	ck_assert_uint_eq(rec_type(free), type);
	ck_assert_uint_eq(rec_thread(free), 1);
	ck_assert_uint_eq(rec_ticket(free), rec_ticket(alloc) + 1);
	ck_assert_uint_eq(rec_size(free) + rec_caller(free), 0);
	ck_assert_uint_eq(atomic_load(&t.p.ring->inflight), 0);
}

TEST(pairs_before_and_behind_a_look_leave_what_lives)
{
	uint64_t allocs = 0, frees = 0;

	for (unsigned i = 0; i < 2000; i++) {
		born(i);
		allocs++;
		if (i % 3 != 0) {
			gone(i);
			frees++;
		}
		if (i % 7 == 0)
			ck_assert_int_ge(rig_pass(t.rig), 0);
	}
	ck_assert_uint_gt(pairs(), 1000);
	assert_whole(allocs, frees);
	ck_assert_uint_eq(rig_live(t.rig), allocs - frees);
}

/* The same address again and again, and only the last one lives. */
TEST(an_address_is_in_many_pairs)
{
	for (unsigned i = 0; i < 5000; i++) {
		born(7);
		if (i % 100 == 50)
			ck_assert_int_ge(rig_pass(t.rig), 0);
		renew(head() - 1);
		gone(7);
	}
	born(7);
	ck_assert_uint_gt(pairs(), 4900);	/* not where it looks for room */
	assert_whole(5001, 5000);
	ck_assert_uint_eq(t.rig->live[0][7], 1);
}

/* All around where a batch ends: one with an odd number is a record short. */
LOOP_TEST(no_batch_is_longer_than_a_sink_is_told, 0, 11)
{
	const unsigned half = STREAM_SINK_MAX / 2, more = 10;
	unsigned n = STREAM_SINK_MAX - more + (unsigned)_i;

	for (unsigned i = 0; i < n; i++)
		if (i < half)
			born(i);
		else
			gone(i - half);
	ck_assert_uint_eq(pairs(), 0);
	for (unsigned i = 0; i < more; i++) {
		born(half + i);
		renew(head() - 1);
		gone(half + i);
	}
	ck_assert_uint_eq(pairs(), more);
	assert_whole(half + more, n - half + more);
}

/* --- what is none ---------------------------------------------------------- */

TEST(a_free_of_another_millisecond_has_its_own_record)
{
	born(7);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	gone(7);
	ck_assert_uint_eq(pairs(), 0);
	assert_whole(1, 1);
	ck_assert_uint_eq(rec_caller(&t.rig->log[1]), 0x5678);
}

TEST(an_event_of_the_shard_in_between_leaves_no_pair)
{
	unsigned other = 8;

	while (rec_shard(rig_addr(other)) != rec_shard(rig_addr(7)))
		other++;
	born(7);
	born(other);
	gone(7);
	ck_assert_uint_eq(pairs(), 0);
	gone(other);
	ck_assert_uint_eq(pairs(), 0);
	assert_whole(2, 2);
}

LOOP_TEST(only_the_last_records_become_pairs, 0, 2)
{
	unsigned n = RING_PAIRS - 1 + (unsigned)_i;

	born(7);
	for (unsigned i = 0; i < n; i++)
		produce_failed(&t.p, 1, TYPE_MALLOC, 0, 0);
	gone(7);
	ck_assert_uint_eq(pairs(), _i == 0);
	assert_whole(1, 1);
}

/* Whatever place in the ring the record of the one before has. */
LOOP_TEST(what_another_thread_had_in_the_ring_makes_no_pair, RING_PAIRS - 4,
    RING_PAIRS + 4)
{
	struct ring_head *ring = t.p.ring;

	for (int i = 0; i < _i; i++)
		produce_failed(&t.p, 1, TYPE_MALLOC, 0, 0);
	born(7);
	produce_close(&t.p);
	rig_drain(t.rig);
	produce_open(&t.p, 2);
	ck_assert_ptr_eq(t.p.ring, ring);
	renew(head() - 2);
	gone(7);
	ck_assert_uint_eq(pairs(), 0);
	rig_drain(t.rig);
	ck_assert_uint_eq(t.rig->frees, 1);
}

TEST(a_free_of_another_thread_has_its_own_record)
{
	struct producer other = { 0 };

	produce_open(&other, 2);
	born(7);
	produce_free(&other, rig_addr(7), TYPE_FREE, 0, 0);
	ck_assert_uint_eq(pairs() + atomic_load(&other.ring->pairs), 0);
	assert_whole(1, 1);
}

/* Freed and allocated by another thread meanwhile: it is not the same block. */
TEST(what_another_thread_has_allocated_makes_no_pair_of_ours)
{
	struct producer other = { 0 };

	produce_open(&other, 2);
	born(7);
	produce_free(&other, rig_addr(7), TYPE_FREE, 0, 0);
	produce_alloc(&other, rig_addr(7), 5, 8, TYPE_MALLOC, 0, 0);
	gone(7);
	ck_assert_uint_eq(pairs() + atomic_load(&other.ring->pairs), 0);
	assert_whole(2, 2);
	ck_assert_uint_eq(rig_live(t.rig), 0);
}

LOOP_TEST(what_tells_more_than_that_it_was_has_its_own_record, 0, 3)
{
	born(7);
	if (_i == 0)
		produce_realloc_free(&t.p, rig_addr(7), 20, 0);
	else if (_i == 1) {
		t.p.frees = true;
		gone(7);
	} else
		produce_free(&t.p, rig_addr(7), TYPE_BY_REALLOC, 0, 0);
	ck_assert_uint_eq(pairs(), 0);
	assert_whole(1, 1);
}

/* At the mark it lived, however far away that is. */
LOOP_TEST(a_mark_between_the_two_leaves_no_pair, 0, 5)
{
	int between = _i == 0 ? 0 : RING_PAIRS - 5 + _i;

	born(7);
	for (int i = 0; i < between; i++)
		produce_failed(&t.p, 1, TYPE_MALLOC, 0, 0);
	produce_control(&t.p, REC_CTL_MARK, 0, 0);
	gone(7);
	ck_assert_uint_eq(pairs(), 0);
	born(8);
	gone(8);
	ck_assert_uint_eq(pairs(), 1);
	assert_whole(2, 2);
}

TEST(a_block_of_the_api_is_in_no_pair)
{
	produce_alloc(&t.p, rig_addr(7), 9, 0, TYPE_API_FIRST, REC_LAYER_API,
	    0);
	produce_free(&t.p, rig_addr(7), TYPE_FREE, REC_LAYER_API, 0);
	produce_alloc(&t.p, rig_addr(7), 9, 0, TYPE_API_FIRST, REC_LAYER_API,
	    0);
	produce_free(&t.p, rig_addr(7), TYPE_FREE, 0, 0);
	ck_assert_uint_eq(pairs(), 0);
}

/* Which attempt of the allocator it was is rarely told. */
TEST(a_block_with_a_level_is_in_no_pair)
{
	produce_alloc(&t.p, rig_addr(7), 9, 0, TYPE_MALLOC, 2, 0);
	gone(7);
	ck_assert_uint_eq(pairs(), 0);
	assert_whole(1, 1);
}

TEST(a_double_free_is_delivered)
{
	born(7);
	gone(7);
	gone(7);
	ck_assert_uint_eq(pairs(), 1);
	rig_drain(t.rig);
	ck_assert_uint_eq(t.rig->frees, 2);
	ck_assert_uint_eq(t.rig->unknown, 1);
}

/* --- what the producer is told ---------------------------------------------- */

/* By it the thread knows when nobody looks at its ring any more. */
TEST(a_producer_is_told_of_pairs_that_have_been_delivered)
{
	const struct ring_tail *tail =
	    &t.rig->keeper->tails[t.p.ring - t.rig->area->rings];

	born(7);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	renew(head() - 1);
	gone(7);
	ck_assert_uint_eq(atomic_load(&tail->tail), head());
	ck_assert_uint_eq(atomic_load(&tail->pairs), 0);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	ck_assert_uint_eq(atomic_load(&tail->pairs), 1);
}

/*
 * A thread that has become calm gives the pages of its large ring back: not
 * before what has become a pair there has been looked at again.
 */
TEST(a_ring_is_not_cleared_before_its_pairs_are_delivered)
{
	struct ring_head *small = t.p.ring;

	alloc_many(&t.p, 2500);
	ck_assert_ptr_ne(t.p.ring, small);
	rig_drain(t.rig);
	born(3000);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	renew(head() - 1);
	gone(3000);
	ck_assert_uint_eq(pairs(), 1);
	t.rig->now += 5000;
	stream_feed_beat(t.rig->feed, t.rig->now);
	t.p.limit = 0;		/* as where it looks for calm */
	born(3001);
	ck_assert_ptr_eq(t.p.ring, small);
	rig_drain(t.rig);
	ck_assert_uint_eq(t.rig->live[0][3000], 0);
	ck_assert_uint_eq(t.rig->live[0][3001], 1);
}

/* --- while another thread is in flight -------------------------------------- */

static struct hand walker;
static uint64_t walker_at;		/* its allocation of slot 7 ... */
static uint32_t walker_ticket;		/* ... and the ticket of the free, or 0 */

/* In the middle of the round, behind the script that has the allocation. */
static void
make_a_pair(struct rig *rig)
{
	struct rec *r = &walker.recs[walker_at & walker.mask];

	(void)rig;
	if (walker_ticket == 0)
		walker_ticket = hand_draw(rec_shard(rig_addr(7)));
	__atomic_store_n(&r->w[0], r->w[0] ^
	    (uint64_t)(REC_ALLOC ^ REC_PAIR) << 52, __ATOMIC_RELAXED);
	atomic_fetch_add(&walker.ring->pairs, 1);
	atomic_store(&walker.ring->inflight, 0);
}

/* The allocation is due, the free behind it is not in the round's script. */
TEST(halves_that_a_script_parts_come_together)
{
	struct hand frozen = hand_open(t.rig, 9);
	unsigned s = rec_shard(rig_addr(7)), other = 8, filler = 9;

	walker = hand_open(t.rig, 10);
	while (rec_shard(rig_addr(other)) != s)
		other++;
	while (rec_shard(rig_addr(filler)) == s)
		filler++;
	hand_inflight(&frozen, s);
	(void)hand_draw(s);
	hand_event(&walker, REC_ALLOC, other);
	/* The control is in the second chunk, the allocation in the third. */
	for (unsigned i = 0; i < 2 * READER_CHUNK; i++) {
		hand_event(&walker, i % 2 == 0 ? REC_ALLOC : REC_FREE, filler);
		if (i == READER_CHUNK)
			hand_event(&walker, REC_CONTROL, filler);
	}
	walker_at = walker.head;
	hand_event(&walker, REC_ALLOC, 7);
	t.rig->on_control = make_a_pair;
	ck_assert_int_ge(rig_pass(t.rig), 0);
	t.rig->on_control = NULL;
	ck_assert_int_ge(rig_pass(t.rig), 0);
	ck_assert_uint_eq(atomic_load(&walker.ring->pairs), 1);
	ck_assert_uint_eq(t.rig->allocs, READER_CHUNK + 2);
	ck_assert_uint_eq(t.rig->frees, READER_CHUNK + 1);
	ck_assert_uint_eq(t.rig->duplicates + t.rig->unknown, 0);
	ck_assert_uint_eq(t.rig->live[0][7], 0);
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->held, 0);
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->pairs, 1);
}

/* It has been taken and stands behind the hole, so its copy has to change. */
TEST(an_allocation_that_waits_becomes_a_pair)
{
	struct hand frozen = hand_open(t.rig, 9), teller;
	unsigned s = rec_shard(rig_addr(7));

	walker = hand_open(t.rig, 10);
	teller = hand_open(t.rig, 11);
	hand_inflight(&frozen, s);
	(void)hand_draw(s);
	walker_at = walker.head;
	hand_event(&walker, REC_ALLOC, 7);
	hand_event(&teller, REC_CONTROL, 8);
	t.rig->on_control = make_a_pair;
	ck_assert_int_ge(rig_pass(t.rig), 0);
	t.rig->on_control = NULL;
	ck_assert_uint_eq(t.rig->allocs, 1);
	ck_assert_uint_eq(t.rig->frees, 1);
	ck_assert_uint_eq(t.rig->duplicates + t.rig->unknown, 0);
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->pairs, 1);
}

/* By a longjmp: nobody has counted its pair. */
TEST(a_thread_thrown_out_of_a_free_leaves_no_hole)
{
	struct producer *p = &t.p;
	struct rec *r = &p->recs[head() & p->mask];

	born(7);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	atomic_store(&p->ring->inflight, rec_shard(rig_addr(7)) + 1);
	(void)hand_draw(rec_shard(rig_addr(7)));
	__atomic_store_n(&r->w[0], r->w[0] ^
	    (uint64_t)(REC_ALLOC ^ REC_PAIR) << 52, __ATOMIC_RELAXED);
	produce_close(p);
	assert_whole(1, 1);
	produce_open(p, 2);
	born(7);
	gone(7);
	assert_whole(2, 2);
}

/* It waits for the free's ticket, which comes by no record of its own. */
TEST(what_waits_for_a_pair_goes_on)
{
	struct hand teller = hand_open(t.rig, 12), next = hand_open(t.rig, 11);
	unsigned s = rec_shard(rig_addr(7)), other = 8;

	walker = hand_open(t.rig, 10);
	while (rec_shard(rig_addr(other)) != s)
		other++;
	walker_at = walker.head;
	hand_event(&walker, REC_ALLOC, 7);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	hand_inflight(&walker, s);
	walker_ticket = hand_draw(s);
	hand_event(&next, REC_ALLOC, other);
	hand_event(&teller, REC_CONTROL, 9);
	t.rig->on_control = make_a_pair;
	ck_assert_int_ge(rig_pass(t.rig), 0);
	t.rig->on_control = NULL;
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->held, 0);
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->late, 0);
	ck_assert_uint_eq(t.rig->allocs, 2);
	ck_assert_uint_eq(t.rig->frees, 1);
}

TEST(a_pair_that_a_sleeping_target_has_made_is_void)
{
	born(7);
	ck_assert_int_eq(rig_pass(t.rig), 1);
	renew(head() - 1);
	gone(7);
	stream_feed_arm(t.rig->feed, false, ++t.rig->now);
	rig_drain(t.rig);
	ck_assert_uint_eq(pairs(), 1);
	ck_assert_uint_eq(t.rig->frees, 0);
	ck_assert_uint_eq(stream_feed_counts(t.rig->feed)->dormant, 1);
}

/* --- data that no producer writes ------------------------------------------- */

LOOP_TEST(a_pair_that_cannot_be_is_refused, 0, 4)
{
	struct hand h = hand_open(t.rig, 10);
	struct rec *r = &h.recs[0];

	hand_event(&h, REC_ALLOC, 7);
	if (_i == 3)		/* has been taken as what it was */
		ck_assert_int_eq(rig_pass(t.rig), 1);
	atomic_store(&h.ring->pairs, 1);
	r->w[0] ^= (uint64_t)(REC_ALLOC ^ REC_PAIR) << 52;
	if (_i == 0)
		r->w[0] |= (uint64_t)REC_LAYER_API << 48;
	else if (_i == 1)
		r->w[0] |= (uint64_t)REC_LEVEL_FAILED << 48;
	else
		r->w[1] = rec_w1(16, 4711);
	ck_assert_int_eq(rig_pass(t.rig), -EPROTO);
}

TEST(the_common_ring_has_no_pairs)
{
	struct ring_slot *slots = (struct ring_slot *)(void *)
	    ((char *)t.rig->area + RING_SLOTS_OFFSET);

	produce_alloc(NULL, rig_addr(7), 16, 0, TYPE_MALLOC, 0, 0);
	slots[0].rec.w[0] ^= (uint64_t)(REC_ALLOC ^ REC_PAIR) << 52;
	ck_assert_int_eq(rig_pass(t.rig), -EPROTO);
}

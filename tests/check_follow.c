/*
 * Rings that come after other rings: the records of a thread that has two stay
 * in its own order, and what a hostile target says of that harms nobody else.
 * Each thread here is made by hand; real ones are in check_thread_rings.
 */
#include <errno.h>

#include "feed_rig.h"

#define SMALL 0
#define LARGE 8
#define OTHER 2

/* Slot 7, and one more in the shard of it. */
static unsigned
same_shard(void)
{
	for (unsigned k = 8; k < RIG_SLOTS; k++)
		if (rec_shard(rig_addr(k)) == rec_shard(rig_addr(7)))
			return k;
	ck_abort_msg("no two addresses share a shard");
}

/* A thread in flight that has drawn a ticket of slot 7's shard. */
static uint32_t
freeze(struct hand *h)
{
	unsigned s = rec_shard(rig_addr(7));

	hand_inflight(h, s);
	return hand_draw(s);
}

static void
thaw(struct hand *h, uint32_t ticket)
{
	hand_write(h, REC_ALLOC, 7, ticket);
	hand_publish(h);
}

/* The thread goes on in `to`. */
static void
change(const struct hand *from, struct hand *to)
{
	unsigned i = (unsigned)(from->ring - from->rig->area->rings);

	atomic_store(&to->ring->from, to->head);
	atomic_store(&to->ring->after, ring_after(i, from->head));
}

static void
expect_slots(const struct rig *rig, const unsigned *slots, size_t n)
{
	ck_assert_uint_eq(rig->nlog, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(rig_log_slot(rig, i), slots[i]);
}

/* --- order ---------------------------------------------------------------- */

CASE("order");

TEST(what_a_thread_did_in_its_second_ring_comes_after_its_first)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE),
		    other = hand_open(rig, OTHER);
	unsigned waits = same_shard();
	const unsigned slots[] = { 1, 7, waits, 2, 3 };
	uint32_t ticket = freeze(&other);

	hand_event(&small, REC_ALLOC, 1);
	hand_event(&small, REC_ALLOC, waits);
	hand_event(&small, REC_ALLOC, 2);
	change(&small, &large);
	hand_event(&large, REC_ALLOC, 3);
	/* A merge of what is due alone: the small ring waits, so does the large. */
	ck_assert_int_eq(stream_feed_pass(rig->feed, 1001, 1), 1);
	thaw(&other, ticket);
	rig_drain(rig);
	expect_slots(rig, slots, 5);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	rig_free(rig);
}

/* A look reads the leader's head, then what is published after it. */
TEST(what_was_seen_before_its_leader_waits_for_the_next_look)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE),
		    other = hand_open(rig, OTHER);
	const unsigned slots[] = { 5, 1, 2 };

	hand_event(&other, REC_ALLOC, 5);
	hand_write(&small, REC_ALLOC, 1, hand_draw(rec_shard(rig_addr(1))));
	change(&small, &large);
	hand_event(&large, REC_ALLOC, 2);
	ck_assert_int_eq(stream_feed_pass(rig->feed, 1001, 1), 1);
	hand_publish(&small);
	rig_drain(rig);
	expect_slots(rig, slots, 3);
	rig_free(rig);
}

TEST(what_was_in_the_second_ring_before_waits_for_nobody)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE);
	const unsigned slots[] = { 1, 2, 3, 4, 5 };

	/* Large, small, and large again before anything is drained. */
	hand_event(&large, REC_ALLOC, 1);
	hand_event(&large, REC_ALLOC, 2);
	change(&large, &small);
	hand_event(&small, REC_ALLOC, 3);
	hand_event(&small, REC_ALLOC, 4);
	change(&small, &large);
	hand_event(&large, REC_ALLOC, 5);
	rig_drain(rig);
	expect_slots(rig, slots, 5);
	rig_free(rig);
}

/*
 * The small ring has gone to a new thread, which waits for a ticket in the
 * large ring of the old one.  In one chunk with what the large one waits for.
 */
TEST(a_leader_that_waits_for_its_follower_behind_the_end_locks_nobody)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE);
	const unsigned slots[] = { 1, 7, same_shard() };

	hand_event(&small, REC_ALLOC, 1);
	change(&small, &large);
	hand_event(&large, REC_ALLOC, 7);
	hand_event(&small, REC_ALLOC, slots[2]);
	rig_drain(rig);
	expect_slots(rig, slots, 3);
	rig_free(rig);
}

TEST(what_a_ring_came_after_once_holds_no_new_thread)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE),
		    other = hand_open(rig, OTHER);

	hand_event(&large, REC_ALLOC, 1);
	change(&large, &small);
	hand_event(&small, REC_ALLOC, 2);
	rig_drain(rig);
	/* New threads in both, of which one waits. */
	(void)freeze(&other);
	hand_event(&large, REC_ALLOC, same_shard());
	hand_event(&small, REC_ALLOC, 3);
	ck_assert_int_eq(stream_feed_pass(rig->feed, 1005, 1), 1);
	ck_assert_uint_eq(rig_log_slot(rig, 2), 3);
	rig_free(rig);
}

static uint64_t tail_then;

static void
note_tail(struct rig *rig)
{
	tail_then = atomic_load(&rig->keeper->tails[SMALL].tail);
}

/*
 * A tail shows what has been delivered: a thread that finds its ring drained
 * may say of another what it comes after anew.
 */
TEST(a_ring_is_drained_when_its_records_are_delivered)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, SMALL), b = hand_open(rig, LARGE);

	/* All of them are taken in the first round, and one is delivered. */
	(void)freeze(&b);
	hand_event(&a, REC_ALLOC, 1);
	hand_event(&a, REC_ALLOC, same_shard());
	hand_write(&a, REC_CONTROL, 0, 0);
	hand_publish(&a);
	rig->on_control = note_tail;
	rig_drain(rig);
	ck_assert_uint_eq(rig->controls, 1);
	ck_assert_uint_eq(tail_then, 1);
	ck_assert_uint_eq(atomic_load(&rig->keeper->tails[SMALL].tail), 3);
	rig_free(rig);
}

/* To and fro, more records than a chunk holds, in passes that are cut short. */
LOOP_TEST(a_thread_that_changes_often_is_in_its_own_order, 0, 10)
{
	struct rig *rig = rig_new(false);
	struct hand ring[2] = { hand_open(rig, SMALL), hand_open(rig, LARGE) };
	unsigned n = 0, at = 0;

	rig->piecemeal = true;
	for (unsigned k = 0; k < 300; k++) {
		unsigned stint = (k * 37 + (unsigned)_i) % 150;
		struct hand *to = &ring[at ^ 1];
		unsigned left = at == 0 ? SMALL : LARGE;

		for (unsigned i = 0; i < stint; i++)
			hand_event(&ring[at], REC_ALLOC, n++ % RIG_SLOTS);
		ck_assert_int_ge(rig_pass(rig), 0);
		/* As a thread does: not back before the small one is drained. */
		if (left == LARGE && atomic_load(&rig->keeper->tails[SMALL].tail) !=
		    ring[0].head)
			continue;
		change(&ring[at], to);
		at ^= 1;
	}
	rig_drain(rig);
	ck_assert_uint_gt(n, 10000);
	ck_assert_uint_eq(rig->nlog, n);
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_eq(rig_log_slot(rig, i), i % RIG_SLOTS);
	rig_free(rig);
}

/* --- the end of a target --------------------------------------------------- */

/* Killed at each step of a change. */
LOOP_TEST(a_target_that_is_killed_between_two_rings_is_exact, 0, 5)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE);

	hand_event(&small, REC_ALLOC, 1);
	if (_i >= 1)
		atomic_store(&large.ring->from, 0);
	if (_i >= 2)
		change(&small, &large);
	if (_i >= 3)
		hand_inflight(&large, 3);
	if (_i >= 4)
		hand_event(&large, REC_ALLOC, 2);
	ck_assert_int_eq(stream_feed_finish(rig->feed, 2000), _i >= 4 ? 2 : 1);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(rig->lost[STREAM_CORRUPT], 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
	rig_free(rig);
}

TEST(the_end_passes_a_hole_that_kept_both_rings)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE),
		    other = hand_open(rig, OTHER);
	const unsigned slots[] = { same_shard(), 3 };

	(void)freeze(&other);
	hand_event(&small, REC_ALLOC, slots[0]);
	change(&small, &large);
	hand_event(&large, REC_ALLOC, 3);
	ck_assert_int_eq(stream_feed_finish(rig->feed, 2000), 2);
	expect_slots(rig, slots, 2);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 1);
	ck_assert_uint_eq(rig->lost[STREAM_CORRUPT], 0);
	rig_free(rig);
}

/* --- what no producer writes ------------------------------------------------ */

static const struct lie {
	uint64_t after, from;
} lies[] = {
	{ .after = 1 },				/* no ring */
	{ .after = UINT64_MAX },
	{ .after = (uint64_t)(RING_COUNT + 1) << RING_AFTER_SHIFT },
	{ .after = (uint64_t)(LARGE + 1) << RING_AFTER_SHIFT },	/* itself */
	{ .after = (uint64_t)(SMALL + 1) << RING_AFTER_SHIFT | 2 }, /* not published */
	{ .after = (uint64_t)(SMALL + 2) << RING_AFTER_SHIFT | 1 }, /* never taken */
	{ .after = (uint64_t)(SMALL + 1) << RING_AFTER_SHIFT | 2,
		.from = UINT64_MAX },
};

CASE("lies");

LOOP_TEST(a_ring_that_comes_after_what_is_not_is_refused, 0,
    sizeof(lies) / sizeof(lies[0]))
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE);

	hand_event(&small, REC_ALLOC, 1);
	hand_event(&large, REC_ALLOC, 2);
	atomic_store(&large.ring->from, lies[_i].from);
	atomic_store(&large.ring->after, lies[_i].after);
	if (rig_pass(rig) >= 0)
		ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

TEST(who_comes_after_something_else_before_it_may_is_refused)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE);

	atomic_store(&large.ring->after, ring_after(SMALL, 3));
	hand_event(&large, REC_ALLOC, 2);
	hand_event(&small, REC_ALLOC, 1);
	(void)stream_feed_pass(rig->feed, 1001, 1);
	atomic_store(&large.ring->after, ring_after(SMALL, 1));
	for (int i = 0; i < 2; i++)
		if (rig_pass(rig) < 0)
			break;
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

LOOP_TEST(rings_that_follow_each_other_in_a_circle_are_refused, 2, 6)
{
	const unsigned n = (unsigned)_i;
	struct rig *rig = rig_new(false);
	struct hand h[RING_COUNT];

	for (unsigned i = 0; i < n; i++) {
		h[i] = hand_open(rig, i);
		hand_event(&h[i], REC_ALLOC, i);
		atomic_store(&h[i].ring->after, ring_after((i + 1) % n, 1));
	}
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	ck_assert_uint_eq(rig->records, 0);
	rig_free(rig);
}

/* The leader waits for a ticket that its follower keeps behind itself. */
TEST(a_standstill_is_the_targets_own_and_the_end_counts_it)
{
	struct rig *rig = rig_new(false);
	struct hand small = hand_open(rig, SMALL), large = hand_open(rig, LARGE),
		    other = hand_open(rig, OTHER);

	hand_event(&large, REC_ALLOC, 7);
	hand_event(&small, REC_ALLOC, same_shard());
	atomic_store(&large.ring->after, ring_after(SMALL, 1));
	hand_event(&other, REC_ALLOC, 1);
	for (int i = 0; i < 10; i++)
		ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->records, 1);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 2);
	ck_assert_int_eq(stream_feed_finish(rig->feed, 2000), 0);
	ck_assert_uint_eq(rig->lost[STREAM_CORRUPT], 2);
	rig_free(rig);
}

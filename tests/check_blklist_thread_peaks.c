/*
 * How much several threads may have held at once: whatever order their events
 * had, it was no more than what the list says, and in some order it was that.
 */
#include "blklist_both.h"

#define THREADS 5
#define EVENTS 40		/* of each thread */
#define ORDERS 200

/* A thread's own events, in its order. */
struct event {
	bool frees;
	uint64_t addr, size;
};

static struct event events[THREADS][EVENTS];

/* Blocks are allocated by one thread and freed by the same, at random. */
static void
make_events(unsigned t)
{
	uint64_t held[EVENTS], size[EVENTS], next = (t + 1) * 0x100000u;
	unsigned n = 0;

	for (unsigned i = 0; i < EVENTS; i++) {
		struct event *e = &events[t][i];

		e->frees = n > 0 && below(2) == 0;
		if (e->frees) {
			unsigned k = below(n);

			e->addr = held[k];
			e->size = size[k];
			held[k] = held[--n];
			size[k] = size[n];
		} else {
			e->addr = next;
			e->size = 1 + below(100000);
			next += 0x10;
			held[n] = e->addr;
			size[n++] = e->size;
		}
	}
}

/* Each one's own highest, added up. */
static uint64_t
highest_of_all(void)
{
	uint64_t all = 0;

	for (unsigned t = 0; t < THREADS; t++) {
		int64_t sum = 0, highest = 0;

		for (unsigned i = 0; i < EVENTS; i++) {
			sum += events[t][i].frees ? -(int64_t)events[t][i].size :
			    (int64_t)events[t][i].size;
			if (sum > highest)
				highest = sum;
		}
		all += (uint64_t)highest;
	}
	return all;
}

static struct rec
rec_of_event(unsigned t, const struct event *e)
{
	return e->frees ? FREE(e->addr, .thread = t + 1) :
	    REC(.op = REC_ALLOC, .type = TYPE_MALLOC, .addr = e->addr,
	    .size = e->size, .thread = t + 1);
}

/* All events in some order that keeps each thread's; as many at a time as come. */
static void
apply_in_some_order(struct blklist *l)
{
	struct rec batch[THREADS * EVENTS];
	struct blklist_batch b = { .rec = batch, .seq = 1, .cancel = true };
	unsigned at[THREADS] = { 0 };

	for (unsigned left = THREADS * EVENTS; left > 0;) {
		unsigned t = below(THREADS);

		if (at[t] == EVENTS)
			continue;
		batch[b.n++] = rec_of_event(t, &events[t][at[t]++]);
		left--;
		if (left > 0 && below(20) != 0)
			continue;
		blklist_apply(l, &b);
		b.seq += b.n;
		b.n = 0;
	}
}

CASE("by threads", .seconds = 60);

LOOP_TEST(threads_held_no_more_than_their_highest_together, 0, check_rounds(20))
{
	struct blklist *l;
	uint64_t all, base;

	seed = check_seed((uint64_t)_i + 1);
	ck_assert_int_eq(blklist_new(&l, _i % 2 == 0 ? BLKLIST_INDEXED :
	    BLKLIST_LITERAL, 1000), 0);
	ck_assert_int_eq(blklist_follow_thread_peaks(l), 0);
	for (unsigned t = 0; t < THREADS; t++)
		make_events(t);
	all = highest_of_all();
	for (unsigned i = 0; i < ORDERS; i++) {
		blklist_clear(l);
		blklist_thread_peaks_begin(l);
		base = blklist_counts(l)->live_bytes;
		apply_in_some_order(l);
		ck_assert_uint_eq(blklist_thread_peaks(l), all);
		ck_assert_uint_le(blklist_counts(l)->peak_bytes, base + all);
	}
	blklist_free(l);
}

/* In a round of its own each one's events raise nothing but what they add. */
TEST(a_round_begins_at_nothing)
{
	struct blklist *l;

	seed = check_seed(7);
	ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, 1000), 0);
	ck_assert_uint_eq(blklist_thread_peaks(l), 0);
	for (unsigned t = 0; t < THREADS; t++)
		make_events(t);
	apply_in_some_order(l);
	ck_assert_uint_eq(blklist_thread_peaks(l), 0);
	blklist_clear(l);
	ck_assert_int_eq(blklist_follow_thread_peaks(l), 0);
	apply_in_some_order(l);
	ck_assert_uint_gt(blklist_thread_peaks(l), 0);
	blklist_thread_peaks_begin(l);
	ck_assert_uint_eq(blklist_thread_peaks(l), 0);
	blklist_clear(l);
	apply_in_some_order(l);
	ck_assert_uint_eq(blklist_thread_peaks(l), highest_of_all());
	blklist_free(l);
}

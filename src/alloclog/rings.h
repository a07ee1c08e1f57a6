/*
 * rings: the rings that a thread has, what happens when one is full, and the bell.
 * Private to the producer.
 *
 * Vocabulary
 *	small	the ring that a thread takes when it begins.
 *	large	the ring that it takes besides when the keeper leaves more
 *		undrained than the small one holds.
 *	calm	for CALM_MS the small ring of a thread that writes into its large
 *		one would have been enough.
 *
 * A thread changes rings between two of its events and keeps both until it ends:
 * an event that a handler interrupted before it was in flight may go on in the
 * thread's other ring.
 */
#ifndef ALLOCLOG_RINGS_H
#define ALLOCLOG_RINGS_H

#include "produce.h"

#pragma GCC visibility push(hidden)

#define ERAS_KEPT 16	/* so many later a reader has long copied it */

struct era {
	struct ring_area *area;
	const struct keeper_area *keeper;
	struct ticket *tickets;
	uint64_t stream;
	uint64_t sample;		/* keeper->sample, read once */
	uint32_t number;		/* from 1 on, in this process and those that it forks */
};

/* On a page that fork wipes. */
struct shared {
	_Atomic(const struct era *) now;	/* NULL: has not joined */
	struct era eras[ERAS_KEPT];		/* by number */
	_Atomic uint32_t stalled;	/* the common ring's producers drop */
	_Atomic uint64_t beat;		/* the heartbeat, and when it was first seen (keeper_watch.c) */
	_Atomic int64_t again_ms;	/* no hello before then */
	struct produce_gate gate;
};

/*
 * The era of this process, from one read: a handler may fork, or another thread
 * attach, at any time.
 */
struct joined {
	struct shared *sh;
	const struct keeper_area *keeper;
	struct ring_area *area;
	struct ticket *tickets;
	uint32_t era;
};

bool joined_get(struct joined *);

/* True when a handler has interrupted an event of p. */
bool rings_inflight(const struct producer *p);

/*
 * Slots in a row, claimed in p's ring or in the common one, for one record and
 * what follows it.
 */
struct claim {
	struct joined j;
	struct ring_head *ring;		/* NULL: in the common ring */
	struct rec *recs;
	uint64_t at;
	uint32_t mask, need;
	uint16_t thread;
};

enum room {
	ROOM_NONE,		/* dropped and counted */
	ROOM_HERE,
	ROOM_ELSEWHERE,		/* p writes into another ring now */
};

/*
 * Makes sure of room for c->need records behind c->at in c->ring, which is p's
 * and in flight, and sets the limit up to which nobody needs to look again.
 */
enum room rings_find_room(const struct claim *, struct producer *);

/*
 * Rings the keeper and waits until the ring's tail has reached `wanted`.
 * *stalled is set when that was in vain: then nobody waits until half of the
 * ring is drained.
 */
bool rings_wait(const struct joined *, struct ring_head *,
    const struct ring_tail *, uint64_t wanted, bool *stalled);

/* Counts a record as dropped; false. */
bool rings_drop(struct ring_head *);

void rings_bell(struct ring_area *);

/*
 * Gives access to all rings that are larger than a thread begins with; whether a
 * thread has had one of them.
 */
void rings_show_larger(struct ring_area *);
bool rings_larger_taken(const struct ring_area *);
/* The area that was mapped with access to all of it; NULL: none. */
void rings_is_open(struct ring_area *);

/*
 * Milliseconds, to a few, never by a system call, for which a sandboxed program
 * might be killed.  False where there is no such clock.
 */
bool rings_clock(int64_t *ms);

#pragma GCC visibility pop

#endif

/*
 * room: where a thread's next records go.  Private to produce: the rings that
 * a thread has, the full one, and the bell.
 *
 * Vocabulary
 *	small	the ring that a thread takes when it begins.
 *	large	the one that it takes beside that when the keeper leaves more
 *		undrained than the small one holds.
 *	calm	of a thread that writes into its large ring: for CALM_MS the
 *		small one would have done.
 *
 * A thread changes rings between two of its events and keeps both until it
 * ends, so an event that a handler has interrupted before it was in flight may
 * go on in a ring that is the thread's second by then.
 */
#ifndef ALLOCLOG_ROOM_H
#define ALLOCLOG_ROOM_H

#include "produce.h"

#pragma GCC visibility push(hidden)

/* On a page that fork wipes. */
struct shared {
	_Atomic(struct ring_area *) area;
	_Atomic(const struct keeper_area *) keeper;
	uint64_t sample;		/* keeper->sample, read once; before area is set */
	_Atomic uint32_t stalled;	/* the common ring's producers drop */
	struct produce_gate gate;
};

/*
 * The areas that this process has joined: both or none, also when a handler
 * forks, or another thread attaches, between the two reads.
 */
struct joined {
	struct shared *sh;
	const struct keeper_area *keeper;
	struct ring_area *area;
};

bool joined_get(struct joined *);

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
enum room room_find(const struct claim *, struct producer *);

/*
 * Rings the keeper and waits until the ring's tail has reached `wanted`.
 * *stalled is set when that was in vain: then nobody waits until half of the
 * ring is drained.
 */
bool room_wait(const struct joined *, struct ring_head *,
    const struct ring_tail *, uint64_t wanted, bool *stalled);

/* Counts a record as dropped; false. */
bool room_drop(struct ring_head *);

void room_bell(struct ring_area *);

#pragma GCC visibility pop

#endif

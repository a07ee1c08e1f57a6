/*
 * rings: the rings of a thread, what happens when one is full, and the bell.
 * Private to this room.
 *
 * Vocabulary
 *	small	the ring that a thread takes when it begins.
 *	large	its second ring, taken when the keeper leaves more undrained
 *		than the small one holds.
 *	calm	for CALM_MS the small ring would have been enough.
 *
 * A thread changes rings between two events and keeps both until it ends: an
 * event that a handler interrupted before its in-flight mark may go on in the
 * other ring.
 */
#ifndef ALLOCLOG_RINGS_H
#define ALLOCLOG_RINGS_H

#include "produce.h"

#pragma GCC visibility push(hidden)

#define ERAS_KEPT 16	/* an era that much older is no longer read */

struct era {
	struct ring_area *area;
	const struct keeper_area *keeper;
	struct ticket *tickets;
	uint64_t stream;
	uint64_t sample;		/* keeper->sample, read once */
	uint32_t number;		/* from 1 on, also across forks */
};

/* Progress on the keeper's request for cuts (cuts.c). */
struct cutting {
	_Atomic uint32_t busy;	/* a thread is at it */
	_Atomic uint32_t era;	/* in which the cuts were made */
	uint32_t entry, at;	/* the cut in progress; pages of it that are done */
};

/* On a page that fork wipes. */
struct shared {
	_Atomic(const struct era *) now;	/* NULL: not attached */
	struct era eras[ERAS_KEPT];		/* by number */
	_Atomic uint32_t stalled;	/* the common ring drops */
	_Atomic uint64_t beat;		/* heartbeat, and when it was first seen (keeper_watch.c) */
	_Atomic int64_t rejoin_ms;	/* no hello before then */
	struct cutting cutting;
	struct produce_gate gate;
};

/* The era, from one read: a handler may fork, another thread attach. */
struct joined {
	struct shared *sh;
	const struct keeper_area *keeper;
	struct ring_area *area;
	struct ticket *tickets;
	uint32_t era;
};

bool joined_get(struct joined *);

/* Populates the pages of the tickets.  Call it at the first event of a process. */
void areas_populate_tickets(void);

/* True when the keeper has asked for cuts, or others' are to be undone. */
bool cuts_due(const struct joined *);
/* Events until a thread should look again: there may be the next request soon. */
uint64_t cuts_pace(const struct joined *);
/* Makes some of them.  Keeps errno. */
void cuts_heed(const struct joined *);

/* True when a handler has interrupted an event of p. */
bool rings_inflight(const struct producer *p);

/* Slots in a row, in p's ring or the common one. */
struct claim {
	struct joined j;
	struct ring_head *ring;		/* NULL: the common ring */
	struct rec *recs;
	uint64_t at;
	uint32_t mask, need;
	uint16_t thread;
};

enum room {
	ROOM_NONE,		/* dropped and counted */
	ROOM_HERE,
	ROOM_ELSEWHERE,		/* p now writes into another ring */
};

/* Makes room for c->need records at c->at, in flight; sets p's limit. */
enum room rings_find_room(const struct claim *, struct producer *);

/*
 * Waits until the tail has reached `wanted`.  *stalled: in vain; do not wait
 * again until half of the ring is drained.
 */
bool rings_wait(const struct joined *, struct ring_head *,
    const struct ring_tail *, uint64_t wanted, bool *stalled);

/* Counts a dropped record; returns false. */
bool rings_drop(struct ring_head *);

void rings_bell(struct ring_area *);

/* The next index of a thread in that area. */
uint16_t rings_thread_index(struct ring_area *);

/* Gives access to all large rings; true when a thread has taken one. */
void rings_open_large(struct ring_area *);
bool rings_large_taken(const struct ring_area *);
/* Sets the area that has access to all of it; NULL: none. */
void rings_set_open(struct ring_area *);

#pragma GCC visibility pop

#endif

/*
 * produce: how a thread of the target puts its records into a ring.  Private
 * to the target side; free of malloc, stdio and locks, so that the linked
 * tests drive it just as the preload does.
 *
 * Vocabulary
 *	producer	what one thread needs to log: lives on pages marked
 *			MADV_WIPEONFORK, so that after any kind of fork it reads
 *			as zeros and the first event of the child finds out.
 *	shared		what the process knows of its two areas; wiped likewise.
 *	tickets		REC_SHARDS counters in private memory that a fork copies:
 *			their values in the child are the cut between what it
 *			inherited and what its parent did later.
 *
 * Example (an allocation, after the real call)
 *	struct producer *p = produce_self();
 *	produce_alloc(p, addr, size, usable, TYPE_MALLOC, 0, caller);
 *
 * Nothing here fails for the caller: an event that finds no room is counted.
 * errno is kept.  Everything here may be called from a signal handler.
 */
#ifndef ALLOCLOG_PRODUCE_H
#define ALLOCLOG_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../stream/ring.h"

/* One thread's side of its ring.  All zeros: has no ring (yet, or any more). */
struct producer {
	struct rec *recs;		/* records of the ring; NULL: no ring */
	struct ring_head *ring;
	const struct ring_tail *tailp;
	const _Atomic uint64_t *msp;	/* keeper's millisecond */
	uint64_t head;			/* the producer's own copy of ring->head */
	uint64_t tail;			/* last tail seen */
	uint64_t bell_at;		/* head at which the keeper is next rung */
	uint32_t mask;			/* capacity - 1 */
	uint16_t thread;		/* thread index */
	uint8_t level;			/* what alloclog_level() last said, 0 not known */
	uint8_t stalled;		/* dropping until half of the ring is drained */
};

struct ticket {
	_Alignas(64) _Atomic uint32_t next;
};

/* REC_SHARDS of them; private to the process, inherited by a fork. */
extern struct ticket produce_tickets[REC_SHARDS];

/*
 * Joins the two areas, mapped by the caller and kept mapped until the process
 * ends.  `stream` is the id that the keeper gave.  Called once per image, and
 * once in a forked child.
 */
void produce_attach(struct ring_area *, const struct keeper_area *,
    uint64_t stream);

/* False before produce_attach() and in a forked child that has not attached. */
bool produce_attached(void);

/*
 * The id of the stream that this process or, in a forked child that has not
 * attached yet, its parent was given; 0 if there was none.  Not wiped by fork.
 */
uint64_t produce_stream(void);

/*
 * Takes a free ring of the area for `p` and logs REC_CTL_THREAD; when none is
 * left, p stays without and its events go to the common ring.  p lies on a
 * page that fork wipes; the caller owns it.
 */
void produce_open(struct producer *p, uint32_t tid);

/* Gives p's ring back; what it published stays to be drained.  p is zeroed. */
void produce_close(struct producer *p);

/*
 * The events.  `p` may be NULL or without a ring: the common ring is used, as
 * it is when p is interrupted between two of its own steps.
 *
 * usable	bytes that the allocator reserved, or 0 when not known.
 * low		level and layer, as REC_FLAGS has them.
 */
void produce_alloc(struct producer *p, uint64_t addr, uint64_t size,
    uint64_t usable, unsigned type, unsigned low, uint64_t caller);
void produce_failed(struct producer *p, uint64_t size, unsigned type,
    unsigned low, uint64_t caller);
void produce_free(struct producer *p, uint64_t addr, unsigned type,
    unsigned low, uint64_t caller);
void produce_undo(struct producer *p, uint64_t addr, unsigned low,
    uint64_t caller);
/* One ticket of every shard: a barrier.  See alloclog_free_range(). */
void produce_range(struct producer *p, uint64_t addr, uint64_t len,
    uint64_t caller);
/* w2 as enum rec_control says; takes no ticket. */
void produce_control(struct producer *p, unsigned control, uint64_t w1,
    uint64_t w2);

#endif

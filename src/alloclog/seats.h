/*
 * seats: where threads have their producers.
 *
 * Vocabulary
 *	producer	on pages that a fork wipes, whatever call made it, so
 *			that the child's first event finds zeros where a ring
 *			should be, and not its parent's.
 *	seat		who has which: ordinary memory, which a fork copies.  So
 *			the child's one thread keeps the seat that it points at,
 *			and no other thread of the child gets that one.
 *	kept cache	of the first few seats: it stays there when its thread
 *			ends, for the next one.
 *
 * Example
 *	s = seat_take();
 *	produce_open(s->producer, tid);
 *	...
 *	seat_leave(s);
 *
 * No lock; from any signal handler.  errno is kept.
 */
#ifndef ALLOCLOG_SEATS_H
#define ALLOCLOG_SEATS_H

#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

struct producer;

struct seat {
	_Atomic uint32_t taken;
	struct producer *producer;	/* of zeros where nobody sits */
	struct stack_cache *stack;	/* of who sits or sat here; NULL none yet */
};

/* The first that is free.  NULL: there is none, or no memory for more. */
struct seat *seat_take(void);

/* By who sits there, whose producer is closed. */
void seat_leave(struct seat *);

/*
 * In the child of a fork(3), which has one thread: the seats of those that it has
 * not are free.  `mine` is its own, NULL if it has none.  A child of _Fork(3) or
 * clone(2) goes without them.
 */
void seats_forked(const struct seat *mine);

#pragma GCC visibility pop

#endif

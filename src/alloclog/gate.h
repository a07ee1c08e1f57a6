/*
 * gate: the word that an event looks at first, which says whether to log at all.
 * A part of produce.h; areas.c moves it.
 *
 * Vocabulary
 *	gate		where the word is that says whether to log at all.
 *	straight	how most events go: that word is all that a hook looks at
 *			where it says no, and the producer where it says yes.
 *	alien		a block that the real functions do not know.
 *	left		asleep, and the keeper has gone; see ring.h.
 *
 * Example
 *	const struct keeper_area *way = produce_straight();
 *
 *	if (way != NULL && produce_area_asleep(way))
 *		return real.malloc(size);
 */
#ifndef ALLOCLOG_GATE_H
#define ALLOCLOG_GATE_H

#include <stdbool.h>

#include "../stream/ring.h"

#pragma GCC visibility push(hidden)

/*
 * On a page that fork wipes.  The area stands here when every event is to be
 * logged; a process that samples keeps account of its blocks while it is
 * dormant, so it has no short cut.  Nor has one that is left.
 */
struct produce_gate {
	_Atomic(const struct keeper_area *) keeper;
	/* The same or, where there has been an alien, one that is armed and nobody's. */
	_Atomic(const struct keeper_area *) straight;
};

extern _Atomic(const struct produce_gate *) produce_gate;

static inline bool
produce_area_armed(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->armed, memory_order_relaxed) ==
	    RING_ARMED;
}

/* Not the contrary: there is RING_LEFT. */
static inline bool
produce_area_asleep(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->armed, memory_order_relaxed) ==
	    RING_DORMANT;
}

/* The area, where every event is to be logged when that is armed; or NULL. */
static inline const struct keeper_area *
produce_whole(void)
{
	return atomic_load_explicit(&atomic_load_explicit(&produce_gate,
	    memory_order_acquire)->keeper, memory_order_acquire);
}

/* True where nothing is to be logged or kept account of. */
static inline bool
produce_asleep(void)
{
	const struct keeper_area *keeper = produce_whole();

	return keeper != NULL && produce_area_asleep(keeper);
}

/*
 * The area that says whether to log an event, where nothing else has a say in
 * it; NULL: look closer.  While the way is being opened it is one that says yes,
 * and no producer is of it.
 */
static inline const struct keeper_area *
produce_straight(void)
{
	return atomic_load_explicit(&atomic_load_explicit(&produce_gate,
	    memory_order_acquire)->straight, memory_order_acquire);
}

/*
 * There is an alien, until produce_alien_gone(): no event that begins when this
 * has returned goes straight, in this era.
 */
void produce_alien(void);
void produce_alien_gone(void);

/* Whether this process has joined and its keeper wants events now. */
bool produce_wanted(void);

/*
 * Whether it is left.  From then on no event goes straight or is asleep, until
 * there is another keeper.
 */
bool produce_left(void);

/* Nobody is to listen, ever: asleep from now on, also in children.  One at a time. */
void produce_never(void);

#pragma GCC visibility pop

#endif

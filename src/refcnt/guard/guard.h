/*
 * guard: the node's side of a target's guard (../../stream/guard.h): it says which pages
 * are guarded and reads who has touched them, by reading or writing and from which
 * node, once in an epoch of a fifteenth of a second.
 *
 * All that comes from the target is outside data: it can tell wrong counts of its own
 * pages, and nothing else.
 *
 * Example
 *	guard_open(&g, descriptor, topology);
 *	guard_begin(g, counted);
 *	... a second later ...
 *	guard_end(g, note_touches, NULL);
 *	guard_close(g);
 */
#ifndef REFCNT_GUARD_H
#define REFCNT_GUARD_H

#include "../refcnt.h"

struct guard;

/*
 * Owns the descriptor, also on failure.  -EBADF: it is no area of a guard; -ENOMEM,
 * and errors of mmap(2).  The topology outlives it.
 */
int guard_open(struct guard **, int descriptor, const struct refcnt_topology *);
/* The target opens all pages within an epoch, and is as without a guard. */
void guard_close(struct guard *);

/*
 * Gives the target the REFCNT_GUARD ranges, if they have changed.  -E2BIG: there are
 * more than GUARD_RANGES or GUARD_PAGES; the first ones are guarded.
 */
int guard_begin(struct guard *, const struct refcnt *counted);

/*
 * Twice a second: without it, as after a kill of the node, the target opens all pages
 * within seconds.
 */
#define GUARD_BEAT_MS 500
void guard_beat(struct guard *);

/* A page was touched in so many epochs, from that node. */
typedef void guard_touched(void *arg, uint64_t vaddr, unsigned node,
    uint64_t reads, uint64_t writes);

/* Calls touched() for what has been counted since the last call. */
void guard_end(struct guard *, guard_touched *, void *arg);

/*
 * The guard's state, as a sentence; "" if there is nothing to say.  False: it has
 * ended, or refuses; `again`: another one may be asked for at once.
 */
bool guard_explain(const struct guard *, char why[REFCNT_WHY], bool *again);

#endif

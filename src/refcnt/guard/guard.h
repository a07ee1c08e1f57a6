/*
 * guard: the node's side of a target's guard (../../stream/guard.h).  The node chooses
 * the pages to guard and reads the counts of their touches: at most one per page in each
 * epoch of a fifteenth of a second, or each reference of an instruction if it is exact; a
 * read or a write, from a memory node.
 *
 * All data of the target is outside data: a target can give wrong counts of its own
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
 * Takes ownership of the descriptor, also on failure.  -EBADF: it is no area of a guard;
 * -ENOMEM, and errors of mmap(2).  The topology must outlive the guard.
 */
int guard_open(struct guard **, int descriptor, const struct refcnt_topology *);
/* The target then opens all pages within an epoch and ends the guard. */
void guard_close(struct guard *);

/*
 * Gives the target the REFCNT_GUARD or the REFCNT_EXACT ranges, if they have changed.  A
 * target has ranges of one of the two at a time.  -E2BIG: there are more than GUARD_RANGES
 * or GUARD_PAGES; the first ones are guarded.  -ESTALE: the ranges are of the other source
 * now: close the guard and open another one.
 */
int guard_begin(struct guard *, const struct refcnt *counted);

/*
 * The heartbeat: call it twice a second.  Without it, as after a kill of the node, the
 * target opens all pages within seconds.
 */
#define GUARD_BEAT_MS 500
void guard_beat(struct guard *);

/*
 * The numbers of epochs in which the page was read first, or written first, from `node`;
 * exact: of references.
 */
typedef void guard_touched(void *arg, uint64_t vaddr, unsigned node,
    uint64_t reads, uint64_t writes);

/* Calls touched() for each page with counts since the last call. */
void guard_end(struct guard *, guard_touched *, void *arg);

/*
 * A sentence about the guard's state, or "".  False: the guard has ended, or the target
 * refuses it; `again`: another guard may be requested at once.
 */
bool guard_explain(const struct guard *, char why[REFCNT_WHY], bool *again);

#endif

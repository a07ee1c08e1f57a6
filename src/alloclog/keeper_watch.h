/*
 * alone: whether the keeper is gone, and when something is to be done about
 * it.  Private to the target side.
 *
 * Looked for where a producer does more than log anyhow: where it must look
 * at its ring's tail again, which who logs little does after fewer records, or
 * finds the ring full, where a thread begins, where a sampled block is logged,
 * before a fork; and by who is left, with each stride of what he allocates.  A look costs a reading of the clock, without a system call:
 * where the kernel maps no clock into its processes nobody looks.
 *
 * Nothing is done where the keeper has seen that the target is locked (ring.h),
 * or has not seen that it is not.
 *
 * Known limits
 *	A privileged target can lock itself in without a call that locked.c sees.
 *	It is then not seen before the keeper's next look, within a second; and
 *	nobody looks while there is no keeper.  Before it says hello it asks the
 *	kernel too: it comes to harm when its filter kills for that,
 *	prctl(PR_GET_SECCOMP).
 *	For a child the keeper looks three times (keeper_watch_sandbox()), two seconds at
 *	least.  A parent that gives up its privileges and locks itself in later
 *	than that, without a call that locked.c sees, has been found free, until
 *	the next look.
 *	A dormant target whose keeper was killed, and could not say that it goes,
 *	comes to none of these but a fork and a use of the API: nothing is looked
 *	for in its allocations, which is what makes them free.
 */
#ifndef ALLOCLOG_KEEPER_WATCH_H
#define ALLOCLOG_KEEPER_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "produce.h"

#pragma GCC visibility push(hidden)

/*
 * What to do: called when the keeper is gone, for one thread at a time and
 * at most once in KEEPER_WATCH_PAUSE_MS, when the thread has no event in flight.  Set
 * once; NULL: nothing.
 */
#define KEEPER_WATCH_PAUSE_MS 1000
extern void (*_Atomic keeper_watch_call)(void);

/*
 * The process is about to lock itself in, or may be, or has: it says hello to no
 * other keeper from here on.
 */
void keeper_watch_sandbox(void);

/*
 * Whether a child that was forked may say hello: not where the keeper of its
 * parent has seen that one locked, or has not looked so often since
 * keeper_watch_sandbox().  True holds for the child's own children too: what is asked for
 * is forgotten.
 */
bool keeper_watch_child_may(void);

/* From that call: not again for so long. */
void keeper_watch_pause(int64_t ms);

/* Whether the keeper is still gone. */
bool keeper_watch_gone(void);

#pragma GCC visibility pop

#endif

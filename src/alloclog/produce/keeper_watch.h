/*
 * keeper_watch: notices that the keeper is gone and calls for another.
 * Private to the target side.
 *
 * A producer checks when it does more than log: when it reads the tail of its
 * ring (sooner in a thread that logs little), finds it full, opens one, logs a
 * sample or forks; and, if the keeper has left, at each stride of allocated
 * bytes.  A check reads the clock without a system call; without such a clock
 * there are none.  Nothing is done unless the keeper has seen that the target
 * is not sandboxed (enum ring_sandbox).
 *
 * Known limits
 *	A privileged target can install a seccomp filter without a call that
 *	attach.c sees.  The keeper sees it within a second; without a keeper
 *	nobody does.  A hello first asks the kernel by prctl(PR_GET_SECCOMP),
 *	which harms a target whose filter kills for that.
 *	For a child the keeper looks three times (keeper_watch_sandbox()), two
 *	seconds at least.  A parent that gives up privileges and installs its
 *	filter later, unseen by attach.c, counts as free until the next look.
 *	A dormant target checks only when its keeper, or the kernel in its
 *	place, has stored RING_LEFT, at a fork and at a use of the API: its
 *	allocations check nothing, and so cost nothing.
 */
#ifndef ALLOCLOG_KEEPER_WATCH_H
#define ALLOCLOG_KEEPER_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "produce.h"

#pragma GCC visibility push(hidden)

/*
 * Called when the keeper is gone, by one thread at a time that has no event in
 * flight, at most once in KEEPER_WATCH_PAUSE_MS.  Set once; NULL: none.
 */
#define KEEPER_WATCH_PAUSE_MS 1000
extern void (*_Atomic keeper_watch_callback)(void);
/*
 * Called when the keeper wants a struct ring_writes: of RING_CUT_WRITES or
 * RING_CUT_GUARD.  Set once; NULL: it gets none.
 */
extern void (*_Atomic keeper_watch_give)(uint32_t);

/* The process has a sandbox, or may have one soon: no more hellos. */
void keeper_watch_sandbox(void);

/*
 * True when a forked child may say hello: its parent's keeper has seen no
 * sandbox, and has looked often enough since keeper_watch_sandbox().  Then its
 * own children may too.
 */
bool keeper_watch_child_may_join(void);

/*
 * True if the library may make system calls of its own: no seccomp filter is
 * known that might kill for them.
 */
bool keeper_watch_allows_calls(void);

/*
 * True if a system call that the program itself does not make may have it killed.
 * Unlike the one above it needs no keeper: without one, a process that has not
 * called prctl(2) for it counts as free.
 */
bool keeper_watch_locked(void);

/* Called by the callback: no further call for so long. */
void keeper_watch_pause(int64_t ms);

/* True when the keeper is still gone. */
bool keeper_watch_gone(void);

#pragma GCC visibility pop

#endif

/*
 * keeper_watch: finds out that the keeper is gone, and calls for another.  Private
 * to the target side.
 *
 * A producer looks when it does more than log anyhow: when it reads the tail of
 * its ring again (sooner in a thread that logs little), finds the ring full, opens
 * a ring, logs a sampled block, or forks; and, where the keeper has left, at each
 * stride of what it allocates.  A look reads the clock without a system call;
 * where the kernel maps no clock into its processes nobody looks.
 *
 * Nothing is done unless the keeper has seen that the target is not sandboxed
 * (enum ring_sandbox in ring.h).
 *
 * Known limits
 *	A privileged target can install a seccomp filter without a call that
 *	attach.c sees.  The keeper sees it at its next look, within a second;
 *	nobody looks while there is no keeper.  A hello asks the kernel first, by
 *	prctl(PR_GET_SECCOMP), which harms a target whose filter kills for that.
 *	For a child the keeper looks three times (keeper_watch_sandbox()), for two
 *	seconds at least.  A parent that gives up its privileges and installs its
 *	filter later than that, unseen by attach.c, counts as free until the next
 *	look.
 *	A dormant target whose keeper was killed looks only at a fork or a use of
 *	the API: its allocations look at nothing, which is what makes them free.
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
 * flight, and at most once in KEEPER_WATCH_PAUSE_MS.  Set once; NULL: nothing.
 */
#define KEEPER_WATCH_PAUSE_MS 1000
extern void (*_Atomic keeper_watch_call)(void);

/* The process has a sandbox now, or may have one soon: it says no hello any more. */
void keeper_watch_sandbox(void);

/*
 * True when a forked child may say hello: its parent's keeper has not seen a
 * sandbox, and has looked often enough since keeper_watch_sandbox().  True holds
 * for the child's own children too.
 */
bool keeper_watch_child_may(void);

/* Called from keeper_watch_call: no further call for so long. */
void keeper_watch_pause(int64_t ms);

/* True when the keeper is still gone. */
bool keeper_watch_gone(void);

#pragma GCC visibility pop

#endif

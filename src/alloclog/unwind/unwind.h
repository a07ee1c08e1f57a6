/*
 * stack: the call stack of an event, recognised rather than walked.
 *
 * Vocabulary
 *	origin		where the program called us: the frame address of the
 *			hook, at which lie the caller's rbp and the return
 *			address, and above which lies the caller's frame.
 *	level		one function on the way out: its return address and the
 *			registers that it goes on with.
 *	slot		where a return address, or a saved rbp that the place of
 *			a frame hangs on, lies on the stack.
 *	chain		a stack as it was walked: its slots with what they held,
 *			and its site.
 *	verified	every slot of a chain holds what it held.  From the
 *			innermost out, the rules make the place of each slot
 *			follow from those before, so a chain whose slots agree
 *			is what a walk would find.
 *	trail		the levels of the thread's last walks.
 *	joined		a walk has come to a level of the trail: what lies
 *			outside of it need only be verified.
 *	rules		a table, shared by all threads, from return address to
 *			its rule; void when an object has been unloaded.
 *
 * Example
 *	c = stack_cache_new(16, false);
 *	caller = stack_caller(c, (uintptr_t)__builtin_frame_address(0));
 *	produce_alloc(p, addr, size, usable, type, level, caller);
 *
 * Reads nothing below the origin, and nothing that is not known to be mapped
 * or that a verified slot does not vouch for: a damaged stack ends the walk,
 * never the program.  No lock, no allocation through the program; from any
 * signal handler, also one that interrupts this.  errno is kept.
 *
 * Known limits
 *	A longjmp out of a handler that had interrupted stack_caller() leaves the
 *	cache busy: that thread's stacks are walked from then on.
 */
#ifndef ALLOCLOG_UNWIND_H
#define ALLOCLOG_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sites.h"

#pragma GCC visibility push(hidden)

/* What one thread remembers.  On pages that a fork wipes. */
struct stack_cache;

/*
 * For stacks of `depth` frames, 1 to RING_STACK_MAX; `frees`: of frees too.  A
 * depth that a handler's fork has wiped reads 0 and gives one frame.
 * NULL: there is no memory for it.
 */
struct stack_cache *stack_cache_new(unsigned depth, bool frees);
/*
 * In a forked child: the cache that its thread had before, as new.  One that no
 * fork has wiped goes on, with what another keeper asks for, or as another
 * thread's after stack_cache_hand_on().
 */
void stack_cache_renew(struct stack_cache *, unsigned depth, bool frees);
void stack_cache_free(struct stack_cache *);

/*
 * Its thread ends, and another will have it: what is known of that thread's
 * stack is void, what is known of the program is not.
 */
void stack_cache_hand_on(struct stack_cache *);

/* What a cache begins with. */
struct stack_cache_head {
	_Atomic uint32_t busy;	/* a stack is being recognised */
	bool frees;
};

static inline bool
stack_of_frees(const struct stack_cache *c)
{
	return ((const struct stack_cache_head *)c)->frees;
}

/*
 * The caller for a record: a site, or the plain return address where there is
 * no room for one.  `frame` is the frame address of a function of ours, which
 * keeps rbp.
 */
uint64_t stack_caller(struct stack_cache *, uintptr_t frame);

/* The same for a thread that has no cache. */
uint64_t stack_walk(uintptr_t frame, unsigned depth);

/*
 * An object may have been unloaded, or sites go to another area: what is known
 * of addresses is void.
 */
void stack_forget(void);

/* Frames innermost first, and why they end: what a site would be made of. */
struct stack_frames {
	uint64_t frame[RING_STACK_MAX];
	unsigned depth;
	enum ring_end end;
};

/*
 * What stack_caller() has recognised, for the tests; with a NULL cache, or
 * where there is no room for sites, it walks.
 */
void stack_frames(struct stack_cache *, uintptr_t frame, unsigned depth,
    struct stack_frames *);

#pragma GCC visibility pop

#endif

/*
 * unwind: the call stack of an event, recognised rather than walked.
 *
 * Files	unwind.c recognises a stack by its chain; walk.c walks by rules;
 *		rules.c remembers rules, cfi.c finds them in the tables of loaded
 *		objects; mapped.c knows which memory may be read; sites.c writes
 *		stacks and modules into the ring area; syscalls.h has the system
 *		calls of the target side.
 *
 * Vocabulary
 *	origin		where the program called us: the frame address of the
 *			hook, at which lie the caller's rbp and the return
 *			address, and above which lies the caller's frame.
 *	level		one function on the way out: its return address and the
 *			registers that the walk goes on with.
 *	slot		a word of the stack that holds a return address, or a
 *			saved rbp that determines the place of a frame.
 *	chain		a stack as it was walked: its slots with their values,
 *			and its site.
 *	verified	every slot of a chain holds the same value as before.  The
 *			rules derive the place of each slot from those further
 *			in, so a walk would find this chain.
 *	trail		the levels of the thread's last walks.
 *	joined		a walk has reached a level of the trail: the levels
 *			further out need only be verified.
 *	rules		a table, shared by all threads, from return address to
 *			rule; void when an object has been unloaded.
 *
 * Example
 *	c = stack_cache_new(16, false);
 *	caller = stack_caller(c, (uintptr_t)__builtin_frame_address(0));
 *	produce_alloc(p, addr, size, usable, type, level, caller);
 *
 * Reads nothing below the origin, and nothing that is not known to be mapped
 * or vouched for by a verified slot: a damaged stack ends the walk, never the
 * program.  No lock, no allocation through the program; callable from any
 * signal handler, also from one that interrupts this.  errno is kept.
 *
 * Known limits
 *	A longjmp out of a handler that interrupted stack_caller() leaves the
 *	cache busy: that thread's stacks are walked from then on.
 */
#ifndef ALLOCLOG_UNWIND_H
#define ALLOCLOG_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sites.h"

#pragma GCC visibility push(hidden)

/* The memory of one thread, on pages that a fork wipes. */
struct stack_cache;

/*
 * A cache for stacks of `depth` frames, 1 to RING_STACK_MAX; `frees`: of frees
 * too.  A depth that a handler's fork has wiped reads 0 and gives one frame.
 * NULL: out of memory.
 */
struct stack_cache *stack_cache_new(unsigned depth, bool frees);

/*
 * Begins anew with the cache that a forked child's thread had before.  A cache
 * that no fork has wiped goes on, with another keeper's depth, or as another
 * thread's after stack_cache_hand_on().
 */
void stack_cache_renew(struct stack_cache *, unsigned depth, bool frees);
void stack_cache_free(struct stack_cache *);

/*
 * Prepares the cache of a thread that ends for another thread: forgets its stack,
 * keeps what is known of the program.
 */
void stack_cache_hand_on(struct stack_cache *);

/* The beginning of a cache. */
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

/* Forgets all rules: an object may have been unloaded, or the area is another. */
void stack_forget(void);

/* Frames innermost first, and why they end: what a site would be made of. */
struct stack_frames {
	uint64_t frame[RING_STACK_MAX];
	unsigned depth;
	enum ring_end end;
};

/*
 * The frames that stack_caller() recognises, for the tests; without a cache, or
 * without room for sites, it walks.
 */
void stack_frames(struct stack_cache *, uintptr_t frame, unsigned depth,
    struct stack_frames *);

#pragma GCC visibility pop

#endif

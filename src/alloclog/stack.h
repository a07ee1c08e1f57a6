/*
 * stack: the call stack of an event, recognised rather than walked.
 *
 * Vocabulary
 *	origin		where the program called us: the frame address of the
 *			hook, above which lie the caller's rbp, the return
 *			address and the caller's frame.
 *	slot		where a return address, or a saved rbp that a frame's
 *			place hangs on, lies on the stack.
 *	chain		a stack as it was walked: its slots with what they
 *			held, its frames, its site.
 *	verified	every slot of a chain holds what it held.  Slot by slot
 *			from the innermost out, the rules make each place
 *			follow from those before, so a chain whose slots agree
 *			is what a walk would find.
 *	joined		a walk has come to a slot of the thread's last chain:
 *			if what is outside of it is verified, the rest is known.
 *	rules		a table, shared by all threads, from return address to
 *			its rule; emptied when an object has been unloaded.
 *
 * Example
 *	caller = stack_caller(thread's cache, frame, depth);
 *	produce_alloc(p, addr, size, usable, type, level, caller);
 *
 * Reads nothing below the origin and nothing that it has not seen to be
 * mapped, or that a verified slot does not vouch for: a damaged stack ends
 * the walk, never the program.  No lock, no allocation through the program;
 * from any signal handler, also one that interrupts this.
 */
#ifndef ALLOCLOG_STACK_H
#define ALLOCLOG_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "sites.h"

#pragma GCC visibility push(hidden)

struct stack_cache;

/* A thread's cache, on pages of its own; NULL: there is no memory for it. */
struct stack_cache *stack_cache_new(void);
void stack_cache_free(struct stack_cache *);

/*
 * The caller for a record: a site of at most `depth` frames, or the plain
 * return address.  `frame` is the frame address of a function of ours, which
 * keeps rbp.  A NULL cache: walks.
 */
uint64_t stack_caller(struct stack_cache *, uintptr_t frame, unsigned depth);

/* An object may have been unloaded: what is known of addresses is void. */
void stack_unloaded(void);

/* A walk's result, for the tests: frames, and why they end. */
struct stack_frames {
	uint64_t frame[RING_STACK_MAX];
	unsigned depth;
	enum ring_end end;
};
void stack_frames(struct stack_cache *, uintptr_t frame, unsigned depth,
    struct stack_frames *);

#pragma GCC visibility pop

#endif

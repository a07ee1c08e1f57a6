/*
 * unwind: the call stack of an event: recognised if possible, else walked.
 *
 *	unwind.c	recognises a stack by its chain
 *	walk.c		walks by rules, from the trail
 *	rules.c, cfi.c	remembers rules; finds them in tables of loaded objects
 *	mapped.c	which memory may be read
 *	sites.c		writes stacks and modules into the ring area
 *	libc.c		environment, auxiliary vector, clock, symbols of objects
 *	syscalls.h	system calls of the target side
 *
 * Vocabulary
 *	origin		where the program called us: the frame address of the
 *			hook, with the caller's rbp and the return address.
 *	level		one function on the way out: its return address and the
 *			registers that the walk goes on with.
 *	slot		a word of the stack that holds a return address, or a
 *			saved rbp that determines the place of a frame.
 *	chain		a walked stack: its slots with their values, and its site.
 *	verified	every slot of a chain holds the same value as before.
 *			Rules derive each slot from those further in, so a walk
 *			would find this chain.
 *	trail		the levels of the thread's last walks.
 *	joined		a walk has reached a level of the trail: the levels
 *			further out need only be verified.
 *	rules		a table, shared by all threads, from return address to
 *			rule; void when an object has been unloaded.
 *	site		the number of a stack in the ring area.
 *
 * Example
 *	c = stack_cache_new(16, false);
 *	caller = stack_caller(c, (uintptr_t)__builtin_frame_address(0));
 *	produce_alloc(p, addr, size, usable, type, level, caller);
 *
 * Reads nothing below the origin, and nothing that is not known to be mapped or
 * vouched for by a verified slot: a damaged stack ends the walk, never the
 * program.  No lock, no allocation through the program; callable from any
 * signal handler, also one that interrupts this.  errno is kept.
 *
 * Known limit
 *	A longjmp out of a handler that interrupted stack_caller() leaves the
 *	cache busy: that thread's stacks are walked from then on.
 */
#ifndef ALLOCLOG_UNWIND_H
#define ALLOCLOG_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../stream/ring.h"
#include "cfi.h"

#pragma GCC visibility push(hidden)

/* A thread's memory, on pages that a fork wipes. */
struct stack_cache;

/*
 * For stacks of `depth` frames, 1 to RING_STACK_MAX; `frees`: of frees too.
 * After a handler's fork the depth reads 0 and gives one frame.  NULL: out of
 * memory.
 */
struct stack_cache *stack_cache_new(unsigned depth, bool frees);

/* After a fork has wiped it; others go on, with another depth or thread. */
void stack_cache_renew(struct stack_cache *, unsigned depth, bool frees);
void stack_cache_free(struct stack_cache *);

/* Forgets the ending thread's stack, keeps what is known of the program. */
void stack_cache_reset_thread(struct stack_cache *);

struct stack_cache_head {
	_Atomic uint32_t busy;	/* a stack is being recognised */
	bool frees;
};

static inline bool
stack_has_frees(const struct stack_cache *c)
{
	return ((const struct stack_cache_head *)c)->frees;
}

/*
 * A site, or the return address if there is no room for one.  `frame` is the
 * frame address of a function of ours, which keeps rbp.
 */
uint64_t stack_caller(struct stack_cache *, uintptr_t frame);

/* The same for a thread that has no cache. */
uint64_t stack_walk(uintptr_t frame, unsigned depth);

/* An object may have been unloaded, or the area is another. */
void stack_forget_rules(void);

/* Frames innermost first, and why they end. */
struct stack_frames {
	uint64_t frame[RING_STACK_MAX];
	unsigned depth;
	enum ring_end end;
};

/* The frames that stack_caller() recognises, or, without a cache, a walk's. */
void stack_frames(struct stack_cache *, uintptr_t frame, unsigned depth,
    struct stack_frames *);

/* --- sites (sites.c) ----------------------------------------------------- */

/* Called by produce_attach(). */
void sites_attach(struct ring_area *);
bool sites_attached(void);
/* Numbers of the old area hold in the new one; the old gives no more. */
void sites_move(struct ring_area *from, struct ring_area *to);
/* A forked child that has not attached has no sites. */
void sites_detach(void);

/* Stores 1 to RING_STACK_MAX frames; 0: no room (counted), or no area. */
uint32_t sites_put(const uint64_t *frame, unsigned depth, enum ring_end);

/* NULL: there is no such site. */
const uint64_t *sites_get(uint32_t no, unsigned *depth, enum ring_end *);

/* The number of an object; 0: no room, or not known. */
unsigned sites_module(const struct cfi_object *);

void sites_count_walk(void);
/* Counts an event without its stack. */
void sites_count_full(void);

#pragma GCC visibility pop

#endif

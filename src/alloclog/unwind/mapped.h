/*
 * mapped: which stack memory may be read.  Private to unwind.c and walk.c.
 *
 * Vocabulary
 *	own		the stack that libc or the kernel gave the thread: what is
 *			known of it stays true.
 *	range		what is known during one walk, page by page.
 *
 * All of the program's first stack, from any frame outwards, is known without
 * asking.  On other stacks a walk asks for each page, by a system call without
 * effect.
 */
#ifndef ALLOCLOG_MAPPED_H
#define ALLOCLOG_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* All zeros: nothing is known. */
struct mapped {
	uintptr_t lo, hi;		/* for this walk */
	uintptr_t own_lo, own_hi;	/* until the thread ends; own_hi 0: nothing */
	unsigned tries;
};

/* The long way of mapped_begin(). */
void mapped_look(struct mapped *, uintptr_t frame);

/* Begins a walk at `frame`. */
static inline void
mapped_begin(struct mapped *m, uintptr_t frame)
{
	if (__builtin_expect(frame - m->own_lo >= m->own_hi - m->own_lo, 0)) {
		mapped_look(m, frame);
		return;
	}
	m->lo = m->own_lo;
	m->hi = m->own_hi;
}

/* The long way of mapped_has(). */
bool mapped_ask(struct mapped *, uintptr_t at);

/* True when the word at an aligned address can be read. */
static inline bool
mapped_has(struct mapped *m, uintptr_t at)
{
	if (at % sizeof(uintptr_t) != 0)
		return false;
	return __builtin_expect(at - m->lo < m->hi - m->lo, 1) ||
	    mapped_ask(m, at);
}

static inline uintptr_t
mapped_peek(uintptr_t at)
{
	return *(const volatile uintptr_t *)at;
}

static inline bool
mapped_fetch(struct mapped *m, uintptr_t at, uintptr_t *out)
{
	if (!mapped_has(m, at))
		return false;
	*out = mapped_peek(at);
	return true;
}

#pragma GCC visibility pop

#endif

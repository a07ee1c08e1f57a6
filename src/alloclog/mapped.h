/*
 * mapped: which stack memory may be read.  Private to stack.c and walk.c.
 *
 * Vocabulary
 *	known		a range of the stack that this thread runs on, page by
 *			page seen to be mapped.
 *
 * The program's own stack is known from any frame outwards without asking.
 * Of any other, pages are asked for as walks come to them, a system call each
 * and once, which touches nothing.
 */
#ifndef ALLOCLOG_MAPPED_H
#define ALLOCLOG_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* All zeros: nothing is known. */
struct mapped {
	uintptr_t lo, hi;
};

/* The stack that `frame` is on; what was known of another is forgotten. */
void mapped_begin(struct mapped *, uintptr_t frame);

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

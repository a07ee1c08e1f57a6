/*
 * mapped: which stack memory may be read.  Private to this room.
 *
 * All of the program's first stack, from any frame outwards, is known to be
 * mapped.  Of a thread's own stack, from libc, what was found stays true.
 * Elsewhere a walk asks for each page, by a system call without effect.
 */
#ifndef ALLOCLOG_MAPPED_H
#define ALLOCLOG_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* All zeros: nothing is known. */
struct mapped {
	uintptr_t lo, hi;		/* for this walk */
	uintptr_t stack_lo, stack_hi;	/* the thread's own; stack_hi 0: not known */
	unsigned tries;
};

void mapped_begin_slow(struct mapped *, uintptr_t frame);

/* Begins a walk. */
static inline void
mapped_begin(struct mapped *m, uintptr_t frame)
{
	if (__builtin_expect(frame - m->stack_lo >= m->stack_hi - m->stack_lo, 0)) {
		mapped_begin_slow(m, frame);
		return;
	}
	m->lo = m->stack_lo;
	m->hi = m->stack_hi;
}

bool mapped_has_slow(struct mapped *, uintptr_t at);

/* True when the aligned word can be read. */
static inline bool
mapped_has(struct mapped *m, uintptr_t at)
{
	if (at % sizeof(uintptr_t) != 0)
		return false;
	return __builtin_expect(at - m->lo < m->hi - m->lo, 1) ||
	    mapped_has_slow(m, at);
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

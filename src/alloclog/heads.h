/*
 * heads: how large a block is, by the word before it.  Private to the target
 * side.
 *
 * malloc_usable_size(3) of glibc finds that in the word before the block, and
 * looks at the head of the block behind it too, to be told of a program's
 * mistakes: a line that is near by chance only, and another core's where threads
 * share a heap.
 *
 * Vocabulary
 *	head	the word before a block of glibc's malloc, on x86-64: its bytes
 *		with the head itself, a multiple of 16, and flags in the low bits.
 *	trial	the first blocks are looked at both ways.  When all of them
 *		have said the same, heads are trusted; when one has not, never
 *		any more.
 *	asked	of the blocks that begin with a page, or in the middle of one,
 *		malloc_usable_size() is asked all the same; a head that says
 *		otherwise is the end of it.
 *
 * So nothing is read but in a page that the block itself is in, whosoever that
 * is; and what another allocator, or another glibc, has before its blocks is
 * found out before it is believed.
 *
 * Example
 *	heads_begin();				malloc is glibc's
 *	usable = heads_usable(ptr, &real.usable[REAL_MALLOC]);
 */
#ifndef ALLOCLOG_HEADS_H
#define ALLOCLOG_HEADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define HEADS_MAPPED 2		/* a flag: in a mapping of its own, whose head differs */
#define HEADS_FLAGS 7
#define HEADS_ASKED 0x7f8	/* without these bits a block is asked for */

enum {
	HEADS_NEVER,
	HEADS_TRUSTED,
	HEADS_TRIAL = HEADS_TRUSTED + 64,	/* and below: so many blocks are left */
};

extern _Atomic int heads_state;

/* Once, where malloc and malloc_usable_size are glibc's. */
void heads_begin(void);

/* What malloc_usable_size() says; and the head is to say the same. */
uint64_t heads_ask(void *ptr, size_t (*const *usable)(void *));

/*
 * Of a block as it has just been got: bytes that the caller may use, 0 not known.
 * By the place of the function, for it is needed seldom.
 */
static inline __attribute__((always_inline)) uint64_t
heads_usable(void *ptr, size_t (*const *usable)(void *))
{
	const uint64_t *head = (const uint64_t *)ptr - 1;

	if (__builtin_expect(atomic_load_explicit(&heads_state,
		memory_order_relaxed) != HEADS_TRUSTED, 0) ||
	    __builtin_expect(((uintptr_t)ptr & HEADS_ASKED) == 0, 0) ||
	    __builtin_expect((*head & HEADS_MAPPED) != 0, 0))
		return heads_ask(ptr, usable);
	return (*head & ~(uint64_t)HEADS_FLAGS) - sizeof(*head);
}

#pragma GCC visibility pop

#endif

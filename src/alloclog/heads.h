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
 *	odd	said of a head that cannot be that of a block of so many bytes:
 *		the program has written over it, and it is what the allocator
 *		would go by, to anywhere.  glibc itself need not look at it
 *		before the block is freed, so nobody else is asked about it.
 *	trial	the first blocks are looked at both ways.  When all of them
 *		have said the same, heads are trusted; when one has not, never
 *		any more.
 *	asked	of the blocks that begin in the middle of a page
 *		malloc_usable_size() is asked all the same; a head that says
 *		otherwise is the end of it.  Of those that begin with a page it
 *		is the only one that is asked.
 *
 * So nothing is read but in a page that the block itself is in, whosoever that
 * is; and what another allocator, or another glibc, has before its blocks is
 * found out before it is believed.  What was listed before a head has been found
 * to say otherwise stays as it was listed.
 *
 * Example
 *	heads_begin();			malloc, calloc and realloc are glibc's
 *	overhead = heads_overhead(ptr, size, &real.usable[REAL_MALLOC]);
 *	heads_fetch(ptr);		as early as can be, before its free
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
#define HEADS_ODD (UINT64_C(1) << 20)	/* bytes beyond those wanted: no block has so many */

enum {
	HEADS_UNSET,
	HEADS_NEVER,
	HEADS_TRUSTED,
	HEADS_TRIAL = HEADS_TRUSTED + 64,	/* and below: so many blocks are left */
};

extern _Atomic int heads_state;

/*
 * Where malloc, calloc, realloc and malloc_usable_size are glibc's, as its own.
 * When two threads come at once the second one changes nothing.
 */
void heads_begin(void);

/*
 * By what malloc_usable_size() says, and the head is to say the same; 0 for an
 * odd one, of which nobody is asked.
 */
unsigned heads_ask(void *ptr, uint64_t size, size_t (*const *usable)(void *));

/*
 * What a block of `size` bytes that has just been got has beyond them, as
 * produce_overhead() would say it of the bytes that may be used; 0 not known,
 * too.  By the place of the function, for it is needed seldom.
 */
static inline __attribute__((always_inline)) unsigned
heads_overhead(void *ptr, uint64_t size, size_t (*const *usable)(void *))
{
	const uint64_t *head = (const uint64_t *)ptr - 1;
	uint64_t bytes;

	if (__builtin_expect(atomic_load_explicit(&heads_state,
		memory_order_relaxed) != HEADS_TRUSTED, 0) ||
	    __builtin_expect(((uintptr_t)ptr & HEADS_ASKED) == 0, 0) ||
	    __builtin_expect((*head & HEADS_MAPPED) != 0, 0))
		return heads_ask(ptr, size, usable);
	/* Without the head's eight bytes, and with the eight of rounding. */
	bytes = (*head & ~(uint64_t)HEADS_FLAGS) - size;
	if (__builtin_expect(bytes >= HEADS_ODD, 0))
		return heads_ask(ptr, size, usable);
	return (unsigned)(bytes >> 4);
}

/*
 * Asks for the head of a block that is to be freed.  The allocator reads it
 * first of all; where it is in no cache, the next free's can only be asked for
 * meanwhile if it is among the few hundred instructions that a processor begins
 * before one has ended, and ours are 80 of them.  To ask here, before them,
 * takes back two fifths of what they cost there (33 of 83 ns of a free in grow).
 * Of any allocator's block, or of none: a prefetch does not fault, and 16 bytes
 * before are of the block's own line or the one before.
 */
static inline void
heads_fetch(const void *ptr)
{
#ifdef __x86_64__
	/* For writing; where a processor does not know it, it does nothing. */
	__asm__ volatile("prefetchw -16(%0)"
	    :
	    : "r"(ptr));
#else
	__builtin_prefetch((const void *)((uintptr_t)ptr - 16), 1);
#endif
}

#pragma GCC visibility pop

#endif

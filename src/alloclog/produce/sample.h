/*
 * sample: which allocations a target logs when asked for one in so many bytes,
 * and whether a freed block is one of them.
 *
 * Vocabulary
 *	period		mean bytes between two samples.
 *	countdown	bytes that a thread may allocate before the next sample:
 *			drawn from the exponential distribution, so that every
 *			byte is equally likely to be met.  A block of s bytes is
 *			sampled with the probability 1 - exp(-s / period).
 *	stride		the part of a countdown after which a thread checks that
 *			this is still its process, and its keeper.
 *	filter		a count for each of some thousand hashes of addresses.
 *			0: no sampled block and no bootstrap block lies there,
 *			which is all that most frees read.
 *	set		the addresses of the sampled blocks.
 *	held		a block of the set during its realloc: not found, for its
 *			address may be another's, but its place is kept.
 *
 * Example
 *	if (sample_skips(&t->sampler, size))	nearly always
 *		return real.malloc(size);
 *	...
 *	if (sample_due(&t->sampler, size) && sample_add(ptr))
 *		log the allocation;
 *	...
 *	if (sample_filter_has(ptr) && sample_has(ptr) && sample_remove(ptr))
 *		log the free;
 *	real.free(ptr);
 *
 * The set lies in private memory that a fork copies: a child frees inherited
 * blocks.  No locks; signal handlers may call everything.  A fork between
 * another thread's steps leaves at worst a count too high or a place unused.
 */
#ifndef ALLOCLOG_SAMPLE_H
#define ALLOCLOG_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A thread's.  All zeros: samples nothing. */
struct sampler {
	uint64_t left;		/* bytes of this stride; 0: no countdown is running */
	uint64_t after_stride;	/* bytes of the countdown behind the stride */
	uint64_t period;	/* 0: every event is logged */
	uint64_t random;
	uint64_t image;		/* the stream in which it was begun */
};

#define SAMPLE_PERIOD_MAX (UINT64_C(1) << 48)
#define SAMPLE_STRIDE (UINT64_C(1) << 20)

/* Seeds differ between threads and processes.  Period 0: samples nothing. */
void sample_begin(struct sampler *, uint64_t period, uint64_t seed);

/* One stride of a thread that samples nothing. */
void sample_stride(struct sampler *);

/* Counts an allocation down, 0 bytes as 1; false: see sample_due(). */
static inline bool
sample_skips(struct sampler *s, uint64_t size)
{
	uint64_t bytes = size + (size == 0);

	if (__builtin_expect(s->left <= bytes, 0))
		return false;
	s->left -= bytes;
	return true;
}

/* The same at the end of a stride; true when the allocation is to be logged. */
bool sample_due(struct sampler *, uint64_t size);

/* Bytes to the next sample: 1 or more. */
uint64_t sample_draw(struct sampler *);

#define SAMPLE_FILTER_BITS 13

/* A count at its maximum stays there. */
extern _Atomic uint8_t sample_filter[1 << SAMPLE_FILTER_BITS];

/* Hashes the low half, where blocks of one heap differ: two instructions. */
static inline uint32_t
sample_bucket(const void *ptr)
{
	return (uint32_t)(uintptr_t)ptr * UINT32_C(0x9e3779b1) >>
	    (32 - SAMPLE_FILTER_BITS);
}

/* False: neither sampled nor a bootstrap block. */
static inline bool
sample_filter_has(const void *ptr)
{
	return atomic_load_explicit(&sample_filter[sample_bucket(ptr)],
	    memory_order_relaxed) != 0;
}

bool sample_has(const void *);

void sample_filter_add(const void *);
void sample_filter_remove(const void *);

/* After the real call.  False: no room; do not log the allocation. */
bool sample_add(const void *);
/* Before the real call.  True for one caller, if the block was in the set. */
bool sample_remove(const void *);

/* Before a realloc: the block's place; NULL if it is not in the set. */
typedef _Atomic uint64_t sample_place;
sample_place *sample_hold(const void *);
void sample_release(sample_place *);	/* the block is gone */
void sample_restore(sample_place *);	/* the block is still there */

#pragma GCC visibility pop

#endif

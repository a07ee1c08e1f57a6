/*
 * sample: which allocations a target logs when it is asked for one in so many
 * bytes, and which blocks those were when they are freed.  Private to the
 * target side; needs nothing of the other files here.
 *
 * Vocabulary
 *	period		mean bytes between two samples.
 *	countdown	bytes that a thread may still allocate before the next:
 *			drawn anew from the exponential distribution each time,
 *			so that every byte is equally likely to be met, whatever
 *			pattern the program has.  A block of s bytes is sampled
 *			with the probability 1 - exp(-s / period), once, however
 *			often it is met.
 *	stride		what is counted down at a time.  At its end the thread
 *			looks about: whether this is still its image, above all.
 *	filter		one small count for each of a few thousand hashes of
 *			addresses.  0: no sampled block lies there, nor one that
 *			is suspect; that is all that most frees look at.
 *	suspect		a block that is not sampled and must be looked at when
 *			it is freed all the same.
 *	set		the addresses of the sampled blocks themselves.
 *	held		a block of the set that is being reallocated: its address
 *			may be somebody else's already, so nobody finds it, but
 *			its place is kept should the call fail.
 *
 * Example
 *	if (sample_skips(&t->sampler, size))	nearly always
 *		return real.malloc(size);
 *	...
 *	if (sample_due(&t->sampler, size) && sample_keep(ptr))
 *		log the allocation;
 *	...
 *	if (sample_maybe(ptr) && sample_has(ptr) && sample_forget(ptr))
 *		log the free;
 *	real.free(ptr);
 *
 * The set is of the process, in private memory that a fork copies: a child
 * frees what it has inherited.  No lock, nothing moves, an address is one word;
 * everything here may be called from a signal handler, also from one that
 * interrupts it.  A fork between the steps of another thread leaves at worst a
 * count too high or a place that is not used again.
 */
#ifndef ALLOCLOG_SAMPLE_H
#define ALLOCLOG_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* One thread's.  All zeros: samples nothing. */
struct sampler {
	uint64_t left;		/* of this stride of the countdown; 0: none is running */
	uint64_t rest;		/* of the countdown behind it */
	uint64_t period;	/* 0: every event is logged */
	uint64_t random;
	uint64_t image;		/* stream of the image that it was begun in */
};

#define SAMPLE_PERIOD_MAX (UINT64_C(1) << 48)
#define SAMPLE_STRIDE (UINT64_C(1) << 20)

/*
 * Begins a countdown.  `seed` need only differ between threads and images.
 * A period of 0: samples nothing.
 */
void sample_begin(struct sampler *, uint64_t period, uint64_t seed);

/* Of who samples nothing: one stride, until which nothing is asked. */
void sample_stride(struct sampler *);

/* An allocation of 0 bytes counts as one of 1; false: look closer. */
static inline bool
sample_skips(struct sampler *s, uint64_t size)
{
	uint64_t bytes = size + (size == 0);

	if (__builtin_expect(s->left <= bytes, 0))
		return false;
	s->left -= bytes;
	return true;
}

/* Counts an allocation down; true when it is to be logged. */
bool sample_due(struct sampler *, uint64_t size);

/* Bytes to the next sample: 1 or more. */
uint64_t sample_draw(struct sampler *);

/* --- the sampled blocks --------------------------------------------------- */

#define SAMPLE_FILTER_BITS 13

/* A count that has come to its end stays there. */
extern _Atomic uint8_t sample_filter[1 << SAMPLE_FILTER_BITS];

/*
 * Of the low half of the address, which is where blocks of one heap differ: two
 * instructions, for each free of the program pays for them.
 */
static inline uint32_t
sample_bucket(const void *ptr)
{
	return (uint32_t)(uintptr_t)ptr * UINT32_C(0x9e3779b1) >>
	    (32 - SAMPLE_FILTER_BITS);
}

/* False: this block is neither in the set nor suspect. */
static inline bool
sample_maybe(const void *ptr)
{
	return atomic_load_explicit(&sample_filter[sample_bucket(ptr)],
	    memory_order_relaxed) != 0;
}

/* Whether the set has it now, for whom the filter has not told enough. */
bool sample_has(const void *);

void sample_suspect(const void *);
void sample_acquit(const void *);

/*
 * After the real call.  False when there is no room: then do not log it, for
 * nobody would know it at its free.
 */
bool sample_keep(const void *);
/* Before the real call.  True for one caller, when it was kept. */
bool sample_forget(const void *);

/* Before a realloc: where the block is kept, NULL if it is not. */
typedef _Atomic uint64_t sample_place;
sample_place *sample_hold(const void *);
void sample_let_go(sample_place *);	/* the block is gone */
void sample_put_back(sample_place *);	/* it is still there */

#pragma GCC visibility pop

#endif

/*
 * logged: what every hook with a fast producer ends in, in line.  Private to
 * hooks.c and realloc.c.
 *
 * Example
 *	ptr = real.malloc(size);
 *	log_alloc(p, ptr, size, REAL_MALLOC, TYPE_MALLOC, FRAME);
 * and of a thread without stacks
 *	overhead = heads_overhead(ptr, size, &real.usable[REAL_MALLOC]);
 *	return alloc_by(p, ptr, size, overhead, TYPE_MALLOC, RETURN);
 *
 * An allocation is logged after the real call; see hooks.c.
 */
#ifndef ALLOCLOG_LOGGED_H
#define ALLOCLOG_LOGGED_H

#include "hooks.h"

#pragma GCC visibility push(hidden)

static inline bool
stopped(void)
{
	return unlikely(
	    atomic_load_explicit(&hook_stopped, memory_order_relaxed));
}

static inline uint64_t
product(size_t n, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(n, size, &total) ? SIZE_MAX : total;
}

/* What a record has of a return address that was near when the event began. */
static inline uint64_t
near_w3(uintptr_t pc, unsigned overhead)
{
	if (PRODUCE_NEAR >= REC_SITE_BASE)
		pc = rec_plain_caller(pc);
	return pc | (uint64_t)overhead << 48;
}

/* The same of any return address: one whose bits lie on the overhead's has none. */
static inline uint64_t
any_w3(uint64_t near, uintptr_t pc)
{
	if (pc <= PRODUCE_NEAR)
		return near;
	return pc > REC_ADDR_MASK ? 0 :
	    (near & ~REC_ADDR_MASK) | rec_plain_caller(pc);
}

/* The rest of alloc_by() where it is not straight.  Returns ptr. */
void *alloc_by_slow(struct producer *, void *ptr, uint64_t size, unsigned type,
    uint64_t w3);

/*
 * An allocation without a stack.  Its level is looked at last, and its rare way
 * is a jump, so that little is kept across the steps.  Returns ptr.
 */
static inline __attribute__((always_inline)) void *
alloc_by(struct producer *p, void *ptr, uint64_t size, unsigned overhead,
    unsigned type, uintptr_t pc)
{
	uint64_t more = size | pc;
	uint64_t w3 = near_w3(pc, overhead);
	struct produce_event e;

	if (unlikely(!produce_begin(p, &e, (uintptr_t)ptr, more, false)))
		return alloc_by_slow(p, ptr, size, type, any_w3(w3, pc));
	produce_born(p, &e, size);
	produce_end(&e, produce_kind(REC_ALLOC, type, p->level) |
	    (uintptr_t)ptr, size, w3);
	return ptr;
}

static inline void
log_alloc(struct producer *p, void *ptr, uint64_t size, enum real_fn fn,
    unsigned type, uintptr_t origin)
{
	unsigned overhead;

	if (stopped())
		return;
	if (unlikely(ptr == NULL)) {
		produce_failed(p, size, type, p->level,
		    origin_caller(p, origin));
		return;
	}
	/* First, so that less is kept across the call. */
	overhead = heads_overhead(ptr, size, &real.usable[fn]);
	produce_block(p, (uintptr_t)ptr, size, overhead, type, p->level,
	    origin_caller(p, origin));
}

#pragma GCC visibility pop

#endif

/* See heads.h. */
#include "heads.h"
#include "produce.h"

_Atomic int heads_state;

void
heads_begin(void)
{
	/* Elsewhere heads are others, or their memory is tagged. */
#ifdef __x86_64__
	int unset = HEADS_UNSET;

	(void)atomic_compare_exchange_strong(&heads_state, &unset,
	    HEADS_TRIAL);
#endif
}

/* The head, where it lies in a page of the block's and is of the usual kind. */
static bool
readable(const void *ptr, uint64_t *head)
{
	if (((uintptr_t)ptr & 0xff8) == 0)
		return false;
	*head = ((const uint64_t *)ptr)[-1];
	return (*head & HEADS_MAPPED) == 0;
}

/* Whoever fails has the last word: nothing leads away from never. */
unsigned
heads_ask(void *ptr, uint64_t size, size_t (*const *usable)(void *))
{
	int state = atomic_load_explicit(&heads_state, memory_order_relaxed);
	uint64_t bytes, head;

	if (state < HEADS_TRUSTED || !readable(ptr, &head))
		return produce_overhead(size, (*usable)(ptr));
	head &= ~(uint64_t)HEADS_FLAGS;
	if (head - size >= HEADS_ODD) {
		/* Or it is none: then it will not do for others either. */
		if (state > HEADS_TRUSTED)
			atomic_store(&heads_state, HEADS_NEVER);
		return 0;
	}
	bytes = (*usable)(ptr);
	if (head - sizeof(head) != bytes)
		atomic_store(&heads_state, HEADS_NEVER);
	else if (state > HEADS_TRUSTED)
		(void)atomic_compare_exchange_strong(&heads_state, &state,
		    state - 1);
	return produce_overhead(size, bytes);
}

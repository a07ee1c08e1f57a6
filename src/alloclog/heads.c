/* See heads.h. */
#include "heads.h"

_Atomic int heads_state;

void
heads_begin(void)
{
	/* Elsewhere heads are others, or their memory is tagged. */
#ifdef __x86_64__
	atomic_store_explicit(&heads_state, HEADS_TRIAL, memory_order_relaxed);
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
uint64_t
heads_ask(void *ptr, size_t (*const *usable)(void *))
{
	int state = atomic_load_explicit(&heads_state, memory_order_relaxed);
	uint64_t bytes = (*usable)(ptr), head;

	if (state == HEADS_NEVER || !readable(ptr, &head))
		return bytes;
	if ((head & ~(uint64_t)HEADS_FLAGS) - sizeof(head) != bytes)
		atomic_store(&heads_state, HEADS_NEVER);
	else if (state > HEADS_TRUSTED)
		(void)atomic_compare_exchange_strong(&heads_state, &state,
		    state - 1);
	return bytes;
}

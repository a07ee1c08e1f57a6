#include <errno.h>

#include "store.h"

int
store_init(struct store *s, const struct blklist *l)
{
	size_t max = l->counts.aRecMax;

	*s = (struct store){ .max = (uint32_t)max, .free = STORE_NONE,
		.memory = l->memory, .persistent = l->persistent };
	if (l->memory != NULL) {
		s->node = pmem_take(l->memory, max * sizeof(*s->node));
		s->info = pmem_take(l->memory, max * sizeof(*s->info));
	} else {
		s->node = list_map_huge(max * sizeof(*s->node),
		    LIST_HUGE_FROM);
		s->info = list_map(max * sizeof(*s->info));
	}
	if (s->node == NULL || s->info == NULL) {
		store_fini(s);
		return -ENOMEM;
	}
	return 0;
}

void
store_prefault(struct store *s)
{
	size_t each = sizeof(*s->node), bytes = (size_t)s->max * each;
	uint32_t from = s->present > s->fresh ? s->present : s->fresh;
	size_t present = list_prefault(s->node, bytes, LIST_HUGE_FROM,
	    from * each, s->persistent != NULL);

	s->present = present < bytes ? (uint32_t)(present / each) : s->max;
	/* A successor looks for records up to there. */
	if (s->persistent != NULL)
		s->persistent->present = s->present;
}

bool
store_prefault_ahead(struct store *s)
{
	uint32_t grown = s->fresh > s->seen ? s->fresh - s->seen : 0;
	uint64_t early = list_prefault_margin(s->present * sizeof(*s->node)) /
	    sizeof(*s->node);

	s->seen = s->fresh;
	if (early < 2 * (uint64_t)grown)
		early = 2 * (uint64_t)grown;
	if (grown == 0 || s->present >= s->max || s->present > s->fresh + early)
		return false;
	store_prefault(s);
	return true;
}

void
store_fini(struct store *s)
{
	if (s->memory != NULL) {
		populate_cancel(s->node, (size_t)s->max * sizeof(*s->node));
		return;
	}
	list_unmap_huge(s->node, (size_t)s->max * sizeof(*s->node),
	    LIST_HUGE_FROM);
	list_unmap(s->info, (size_t)s->max * sizeof(*s->info));
}

/* Completes a cut that a kill may have interrupted. */
void
store_reopen(struct store *s)
{
	s->present = s->persistent->present;
	s->any_info = s->persistent->any_info != 0;
	pmem_zero(s->memory, s->node + s->present,
	    (size_t)(s->max - s->present) * sizeof(*s->node));
}

void
store_first_info(struct store *s)
{
	s->any_info = true;
	if (s->persistent != NULL)
		s->persistent->any_info = true;
	list_in_order();
}

/* To the last byte: no rest must look like a record. */
static void
cut_persistent(struct store *s, uint32_t n)
{
	s->persistent->present = n;
	list_in_order();
	populate_cancel(s->node + n, (s->present - n) * sizeof(*s->node));
	pmem_zero(s->memory, s->node + n, (s->present - n) * sizeof(*s->node));
	if (s->any_info)
		pmem_zero(s->memory, s->info + n,
		    (s->fresh - n) * sizeof(*s->info));
}

static void
cut_mapped(struct store *s, uint32_t n)
{
	list_release(s->node + n, s->node + s->fresh);
	if (s->any_info)
		list_release(s->info + n, s->info + s->fresh);
}

void
store_cut(struct store *s, uint32_t n)
{
	if (s->persistent != NULL)
		cut_persistent(s, n);
	else
		cut_mapped(s, n);
	s->fresh = s->present = s->seen = n;
	s->free = STORE_NONE;
}

size_t
store_memory(const struct store *s)
{
	return (size_t)s->present * sizeof(*s->node) +
	    (s->any_info ? (size_t)s->fresh * sizeof(*s->info) : 0);
}

void
store_fill(struct store *s, uint32_t i, const struct blk *b)
{
	struct store_node *n = &s->node[i];

	n->w[0] = rec_w0(b->addr, b->flags, b->type);
	n->w[1] = rec_w1(b->size, b->thread);
	n->w3 = rec_w3(b->caller, b->overhead);
	n->ticket = b->ticket;
	n->seq = (uint32_t)b->seq;
	n->ms = (uint32_t)b->ms;
	store_set_info(s, i, b->info);
}

/*
 * Records: the array of them.
 */
#include <errno.h>

#include "store.h"

int
store_init(struct store *s, uint32_t max)
{
	*s = (struct store){ .max = max, .free = STORE_NONE };
	s->node = list_map_huge((size_t)max * sizeof(*s->node),
	    LIST_HUGE_FROM);
	s->info = list_map((size_t)max * sizeof(*s->info));
	if (s->node == NULL || s->info == NULL) {
		store_fini(s);
		return -ENOMEM;
	}
	return 0;
}

void
store_make_ready(struct store *s)
{
	size_t each = sizeof(*s->node), bytes = (size_t)s->max * each;
	uint32_t from = s->ready > s->fresh ? s->ready : s->fresh;
	size_t ready = list_make_ready(s->node, bytes, LIST_HUGE_FROM,
	    from * each);

	s->ready = ready < bytes ? (uint32_t)(ready / each) : s->max;
}

bool
store_ahead(struct store *s)
{
	uint32_t grown = s->fresh > s->seen ? s->fresh - s->seen : 0;

	s->seen = s->fresh;
	if (s->ready >= s->max || s->ready > s->fresh + 2 * (uint64_t)grown)
		return false;
	store_make_ready(s);
	return true;
}

void
store_fini(struct store *s)
{
	list_unmap(s->node, (size_t)s->max * sizeof(*s->node));
	list_unmap(s->info, (size_t)s->max * sizeof(*s->info));
}

void
store_cut(struct store *s, uint32_t n)
{
	list_release(s->node + n, s->node + s->fresh);
	if (s->any_info)
		list_release(s->info + n, s->info + s->fresh);
	s->fresh = s->ready = s->seen = n;
	s->free = STORE_NONE;
}

size_t
store_memory(const struct store *s)
{
	return (size_t)s->ready * sizeof(*s->node) +
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

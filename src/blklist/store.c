/*
 * Records: the array of them.
 */
#include <errno.h>

#include "store.h"

int
store_init(struct store *s, uint32_t max)
{
	*s = (struct store){ .max = max, .free = STORE_NONE };
	s->node = list_map((size_t)max * sizeof(*s->node));
	s->info = list_map((size_t)max * sizeof(*s->info));
	if (s->node == NULL || s->info == NULL) {
		store_fini(s);
		return -ENOMEM;
	}
	return 0;
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
	s->fresh = n;
	s->free = STORE_NONE;
}

size_t
store_memory(const struct store *s)
{
	return (size_t)s->fresh * (sizeof(*s->node) +
	    (s->any_info ? sizeof(*s->info) : 0));
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

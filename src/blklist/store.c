/*
 * Records: the array of them.
 */
#include <errno.h>

#include "commit.h"
#include "memory.h"
#include "store.h"

int
store_init(struct store *s, const struct blklist *l)
{
	size_t max = l->counts.aRecMax;

	*s = (struct store){ .max = (uint32_t)max, .free = STORE_NONE,
		.memory = l->memory, .kept = l->kept };
	if (l->memory != NULL) {
		s->node = kept_take(l->memory, max * sizeof(*s->node));
		s->info = kept_take(l->memory, max * sizeof(*s->info));
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
store_make_ready(struct store *s)
{
	size_t each = sizeof(*s->node), bytes = (size_t)s->max * each;
	uint32_t from = s->ready > s->fresh ? s->ready : s->fresh;
	size_t ready = (s->kept != NULL ? list_make_ready_kept :
	    list_make_ready)(s->node, bytes, LIST_HUGE_FROM, from * each);

	s->ready = ready < bytes ? (uint32_t)(ready / each) : s->max;
	/* Behind it a successor does not look for records. */
	if (s->kept != NULL)
		s->kept->ready = s->ready;
}

bool
store_ahead(struct store *s)
{
	uint32_t grown = s->fresh > s->seen ? s->fresh - s->seen : 0;
	uint64_t early = list_ready_early(s->ready * sizeof(*s->node)) /
	    sizeof(*s->node);

	s->seen = s->fresh;
	if (early < 2 * (uint64_t)grown)
		early = 2 * (uint64_t)grown;
	if (grown == 0 || s->ready >= s->max || s->ready > s->fresh + early)
		return false;
	store_make_ready(s);
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

/* A cut may not have come to its end. */
void
store_reopen(struct store *s)
{
	s->ready = s->kept->ready;
	s->any_info = s->kept->any_info != 0;
	kept_zero(s->memory, s->node + s->ready,
	    (size_t)(s->max - s->ready) * sizeof(*s->node));
}

void
store_first_info(struct store *s)
{
	s->any_info = true;
	if (s->kept != NULL)
		s->kept->any_info = true;
	list_in_order();
}

/* To the last byte: what is left of a record must not look like one. */
static void
cut_kept(struct store *s, uint32_t n)
{
	s->kept->ready = n;
	list_in_order();
	populate_cancel(s->node + n, (s->ready - n) * sizeof(*s->node));
	kept_zero(s->memory, s->node + n, (s->ready - n) * sizeof(*s->node));
	if (s->any_info)
		kept_zero(s->memory, s->info + n,
		    (s->fresh - n) * sizeof(*s->info));
}

static void
cut(struct store *s, uint32_t n)
{
	list_release(s->node + n, s->node + s->fresh);
	if (s->any_info)
		list_release(s->info + n, s->info + s->fresh);
}

void
store_cut(struct store *s, uint32_t n)
{
	if (s->kept != NULL)
		cut_kept(s, n);
	else
		cut(s, n);
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

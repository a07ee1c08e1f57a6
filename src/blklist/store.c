/*
 * Records: the array of them, and making them rows.
 */
#include <errno.h>

#include "store.h"

int
store_init(struct store *s, uint32_t max)
{
	s->node = list_map((size_t)max * sizeof(*s->node));
	if (s->node == NULL)
		return -ENOMEM;
	s->max = max;
	s->fresh = 0;
	s->free = STORE_NONE;
	return 0;
}

void
store_fini(struct store *s)
{
	list_unmap(s->node, (size_t)s->max * sizeof(*s->node));
}

void
store_cut(struct store *s, uint32_t n)
{
	list_release(s->node + n, s->node + s->fresh);
	s->fresh = n;
	s->free = STORE_NONE;
}

size_t
store_memory(const struct store *s)
{
	return (size_t)s->fresh * sizeof(*s->node);
}

void
store_row(const struct store *s, uint32_t i, struct blk *out)
{
	const struct store_node *n = &s->node[i];
	const struct rec r = { { n->w[0], n->w[1], n->w[2], n->w[3] } };

	*out = (struct blk){
		.addr = rec_addr(&r),
		.size = rec_size(&r),
		.seq = n->seq,
		.ms = (int64_t)((uint64_t)(int64_t)n->ms_high << 32 |
		    rec_ms(&r)),
		.caller = rec_caller(&r),
		.ticket = rec_ticket(&r),
		.thread = (uint16_t)rec_thread(&r),
		.overhead = (uint16_t)rec_overhead(&r),
		.info = n->info,
		.flags = (uint8_t)rec_flags(&r),
		.type = (uint8_t)rec_type(&r),
	};
}

void
store_fill(struct store *s, uint32_t i, const struct blk *b)
{
	struct store_node *n = &s->node[i];

	n->w[0] = rec_w0(b->addr, b->flags, b->type);
	n->w[1] = rec_w1(b->size, b->thread);
	n->w[2] = rec_w2(b->ticket, (uint32_t)b->ms);
	n->w[3] = rec_w3(b->caller, b->overhead);
	n->seq = b->seq;
	n->info = b->info;
	n->ms_high = (int16_t)(b->ms >> 32);
}

#include <errno.h>
#include <stdlib.h>

#include "profile_tables.h"

int
profile_cells_new(struct profile_cells **out, struct profile *p)
{
	struct profile_cells *c = calloc(1, sizeof *c);

	if (c == NULL)
		return -ENOMEM;
	c->p = p;
	c->shown.size = c->pending.size = sizeof(struct cell);
	*out = c;
	return 0;
}

void
profile_cells_free(struct profile_cells *c)
{
	if (c == NULL)
		return;
	hashmap_fini(&c->shown);
	hashmap_fini(&c->pending);
	free(c);
}

void
profile_cells_clear(struct profile_cells *c)
{
	hashmap_clear(&c->shown);
	hashmap_clear(&c->pending);
}

void
profile_cells_begin(struct profile_cells *c, bool by_caller)
{
	hashmap_clear(&c->pending);
	c->by_caller = by_caller;
}

/* Spreads keys over all numbers: two cells never have the same in practice. */
static uint64_t
mix(uint64_t h, uint64_t with)
{
	h = (h ^ with) * UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 32;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 29;
}

int
profile_cells_add(struct profile_cells *c, const struct blklist *list,
    const struct blk *b, const uint64_t tag[2])
{
	int64_t caller = profile_caller_index(c->p, b->caller), at;
	uint64_t key;
	struct cell *to;
	struct sums one;
	bool added;

	if (caller < 0)
		return -ENOMEM;
	key = mix(mix(mix(1, c->by_caller ? (uint64_t)caller : 0), tag[0]),
	    tag[1]);
	/* Blocks come in runs. */
	if (c->pending.n == 0 || hashmap_key(&c->pending, c->last) != key) {
		at = hashmap_put(&c->pending, key, &added);
		if (at < 0)
			return -ENOMEM;
		c->last = (uint32_t)at;
	}
	to = hashmap_item(&c->pending, c->last);
	if (to->sums.blocks == 0) {
		to->caller = (uint32_t)caller;
		to->tag[0] = tag[0];
		to->tag[1] = tag[1];
	}
	one = sums_of(b, list, blklist_is_sample(list), b->ms);
	sums_add(&to->sums, &one);
	to->type = mixed(to->type, b->type + 1u);
	to->thread = mixed(to->thread, b->thread + 1u);
	return 0;
}

void
profile_cells_end(struct profile_cells *c)
{
	struct hashmap was = c->shown;

	c->shown = c->pending;
	c->pending = was;
	hashmap_clear(&c->pending);
}

size_t
profile_cells_count(const struct profile_cells *c)
{
	return c->shown.n;
}

/*
 * The hash's tables: making, moving and dropping them.
 */
#include <errno.h>

#include "hash.h"

#define HASH_MAX_BITS 30

static size_t
table_bytes(uint32_t mask)
{
	return ((size_t)mask + 1) * sizeof(uint64_t);
}

static int
table_make(struct hash *h, unsigned bits)
{
	uint32_t size = UINT32_C(1) << bits;
	uint64_t *slot = list_map(table_bytes(size - 1));

	if (slot == NULL)
		return -ENOMEM;
	h->slot = slot;
	h->mask = size - 1;
	h->shift = 32 - bits;
	h->limit = (uint32_t)(size * UINT64_C(6) / 10);
	h->low = bits > HASH_MIN_BITS ? size / 16 : 0;
	return 0;
}

int
hash_init(struct hash *h, uint64_t seed)
{
	*h = (struct hash){ .seed = seed };
	return table_make(h, HASH_MIN_BITS);
}

static void
drop_old(struct hash *h)
{
	list_unmap(h->old, table_bytes(h->old_mask));
	h->old = NULL;
}

void
hash_fini(struct hash *h)
{
	drop_old(h);
	list_unmap(h->slot, table_bytes(h->mask));
}

void
hash_clear(struct hash *h)
{
	struct hash fresh;

	if (hash_init(&fresh, h->seed) == 0) {
		hash_fini(h);
		*h = fresh;
		return;
	}
	/* What there is serves, at its present size. */
	drop_old(h);
	list_zero(h->slot, table_bytes(h->mask));
	h->n = 0;
}

int
hash_resize(struct hash *h, bool larger)
{
	struct hash was;
	unsigned bits = 32 - h->shift;
	uint32_t p;
	int err;

	/* Moves keep ahead of insertions; this is for a table made too late. */
	while (h->old != NULL)
		hash_move(h);
	if (larger ? bits >= HASH_MAX_BITS : bits <= HASH_MIN_BITS)
		return -ENOMEM;
	was = *h;
	if (larger)
		bits++;
	else
		bits = bits - 2 > HASH_MIN_BITS ? bits - 2 : HASH_MIN_BITS;
	err = table_make(h, bits);
	if (err != 0)
		return err;
	h->old = was.slot;
	h->old_mask = was.mask;
	h->old_shift = was.shift;
	for (p = 0; h->old[p] != 0; p++)
		continue;
	h->start = (p + 1) & h->old_mask;
	h->done = 0;
	return 0;
}

void
hash_move(struct hash *h)
{
	/* A table that is too large is nearly empty: it can go faster. */
	unsigned budget = h->old_mask > h->mask ? 4 * HASH_MOVE : HASH_MOVE;
	uint64_t s;

	do {
		uint32_t p = (h->start + h->done) & h->old_mask;

		s = h->old[p];
		if (s != 0) {
			h->old[p] = 0;
			hash_place(h->slot, h->mask,
			    (uint32_t)(s >> 32) >> h->shift, s);
		}
		h->done++;
		if (budget > 0)
			budget--;
	} while (h->done <= h->old_mask && (budget > 0 || s != 0));
	if (h->done > h->old_mask)
		drop_old(h);
}

size_t
hash_memory(const struct hash *h)
{
	return table_bytes(h->mask) +
	    (h->old != NULL ? table_bytes(h->old_mask) : 0);
}

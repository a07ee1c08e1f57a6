/*
 * The hash's tables: making, moving and dropping them.
 */
#include <errno.h>

#include "hash.h"

#define HASH_MAX_BITS 30

/*
 * Up to this size a table is filled to a quarter, above it to a half.  What a
 * search costs while the table is in the near caches is the branches that go
 * the wrong way, and the fewer neighbours a slot has the fewer they are.
 */
#define SMALL_BITS 16

#define PIECE (UINT32_C(1) << 18)	/* slots: 2 MiB */

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
	h->limit = bits <= SMALL_BITS ? size / 4 : size / 2;
	/* Half the table is then filled to an eighth: far from growing again. */
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
	err = table_make(h, larger ? bits + 1 : bits - 1);
	if (err != 0)
		return err;
	h->old = was.slot;
	h->old_mask = was.mask;
	h->old_shift = was.shift;
	for (p = 0; h->old[p] != 0; p++)
		continue;
	h->start = (p + 1) & h->old_mask;
	h->done = 0;
	/* One that memory was lacking for until now may have no room to wait. */
	while (h->old != NULL && h->n > h->old_mask / 4 * 3)
		hash_move(h);
	return 0;
}

static void
place(struct hash *h, uint64_t s)
{
	uint32_t p = (uint32_t)(s >> 32) >> h->shift;

	while (h->slot[p] != 0)
		p = (p + 1) & h->mask;
	h->slot[p] = s;
}

/*
 * Gives the pages of the old table back as they are passed, a piece at a time:
 * to unmap a long table that is full of pages is a pause.  The piece that
 * `start` lies in is passed last, and the last run may reach into the next.
 */
static void
release_passed(struct hash *h, uint32_t from, uint32_t to)
{
	uint32_t piece = from / PIECE, start = h->start / PIECE;

	if (piece != to / PIECE && piece != start &&
	    piece != (start + 1) % ((h->old_mask + 1) / PIECE))
		list_release(h->old + piece * PIECE,
		    h->old + (piece + 1) * PIECE);
}

void
hash_move(struct hash *h)
{
	/* A table that is too large is nearly empty: it can go faster. */
	unsigned budget = h->old_mask > h->mask ? 4 * HASH_MOVE : HASH_MOVE;
	uint32_t first = (h->start + h->done) & h->old_mask, p;
	uint64_t s;

	do {
		p = (h->start + h->done) & h->old_mask;
		s = h->old[p];
		if (s != 0) {
			h->old[p] = 0;
			place(h, s);
		}
		h->done++;
		if (budget > 0)
			budget--;
	} while (s != 0 || (h->done <= h->old_mask && budget > 0));
	release_passed(h, first, (p + 1) & h->old_mask);
	if (h->done > h->old_mask)
		drop_old(h);
}

size_t
hash_memory(const struct hash *h)
{
	return table_bytes(h->mask) +
	    (h->old != NULL ? table_bytes(h->old_mask) : 0);
}

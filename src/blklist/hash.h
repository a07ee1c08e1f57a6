/*
 * From a key to the record that has it: open addressing, linear probing.
 * Private.
 *
 * Vocabulary
 *	slot	64 bits: tag in the high half, index of the record + 1 in the
 *		low; 0 is empty.
 *	tag	32 bits of the key's hash; its top bits are the home, so that a
 *		slot can be moved without looking at its record.
 *	home	where the search for a key begins.
 *	old	the former table while its slots are moved over, a few with
 *		each insertion and removal: no operation pays for all.
 *
 * Slots of the old table are moved in circular order from `start`, which lies
 * behind an empty slot, and a step ends only behind an empty slot, so no run
 * of slots is ever cut in two.  A key whose home has been passed is in the new
 * table and goes there, any other in the old one: so the new table's pages are
 * touched in order, a few with each step, and not all at once.  The last run
 * may by then reach beyond the end, over slots that have been passed; it is
 * moved to its end.
 */
#ifndef BLKLIST_HASH_H
#define BLKLIST_HASH_H

#include "store.h"

#define HASH_MIN_BITS 10
/*
 * Slots of the old table moved at a time, at least: the new one has room until
 * a quarter as many keys have come as the old one has slots.
 */
#define HASH_MOVE 8

struct hash {
	uint64_t *slot;
	uint32_t mask;
	uint32_t shift;		/* tag >> shift is the home */
	uint32_t n;		/* keys, in both tables */
	uint32_t limit;		/* grow when n reaches it */
	uint32_t low;		/* shrink when n falls below it */
	uint64_t seed;		/* a target cannot know which keys collide */
	uint64_t *old;
	uint32_t old_mask;
	uint32_t old_shift;
	uint32_t start;
	uint32_t done;		/* slots from start that have been passed; more than
				 * there are when the last run wraps */
};

int hash_init(struct hash *, uint64_t seed);
void hash_fini(struct hash *);
void hash_clear(struct hash *);
/* Makes the next larger or smaller table the one in use.  -ENOMEM. */
int hash_resize(struct hash *, bool larger);
/* Moves HASH_MOVE slots of the old table, and on to the end of a run. */
void hash_move(struct hash *);
size_t hash_memory(const struct hash *);

static inline uint32_t
hash_tag(const struct hash *h, uint64_t key)
{
	uint64_t x = (key ^ h->seed) * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 32;
	return (uint32_t)((x * UINT64_C(0xd6e8feb86659fd93)) >> 32);
}

/* The slot of the key, or the empty one where the search for it ends. */
static inline uint64_t *
hash_search(uint64_t *slot, uint32_t mask, uint32_t home, uint32_t tag,
    const struct store_node *node, uint64_t key, uint64_t key_mask)
{
	for (uint32_t p = home;; p = (p + 1) & mask) {
		uint64_t s = slot[p];

		if (s == 0 || (s >> 32 == tag &&
		    (node[(uint32_t)s - 1].w[0] & key_mask) == key))
			return &slot[p];
	}
}

static inline bool
hash_passed(const struct hash *h, uint32_t tag)
{
	return (((tag >> h->old_shift) - h->start) & h->old_mask) < h->done;
}

/* The table that a key of this tag is in, if it is in any. */
static inline uint64_t *
hash_table(const struct hash *h, uint32_t tag, uint32_t *mask, uint32_t *home)
{
	if (__builtin_expect(h->old != NULL, 0) && !hash_passed(h, tag)) {
		*mask = h->old_mask;
		*home = tag >> h->old_shift;
		return h->old;
	}
	*mask = h->mask;
	*home = tag >> h->shift;
	return h->slot;
}

/*
 * The slot of the key; if it is not there, an empty slot, where it may be put
 * by hash_insert() when nothing has been done to the table in between.
 */
static inline uint64_t *
hash_find(const struct hash *h, uint32_t tag, const struct store_node *node,
    uint64_t key, uint64_t key_mask)
{
	uint32_t mask, home;
	uint64_t *slot = hash_table(h, tag, &mask, &home);

	return hash_search(slot, mask, home, tag, node, key, key_mask);
}

/* The index of the record in a slot. */
static inline uint32_t
hash_index(const uint64_t *s)
{
	return (uint32_t)*s - 1;
}

/*
 * Room for one more key; false when there is none and no memory for it.
 * Without memory the table may fill beyond its limit, not to the last slot.
 */
static inline bool
hash_room(struct hash *h)
{
	if (__builtin_expect(h->n < h->limit, 1))
		return true;
	return hash_resize(h, true) == 0 || h->n < h->mask - h->mask / 16;
}

/* `s` is what hash_find() gave for a key that is not there. */
static inline void
hash_insert(struct hash *h, uint64_t *s, uint32_t tag, uint32_t index)
{
	*s = (uint64_t)tag << 32 | (index + 1);
	h->n++;
	if (__builtin_expect(h->old != NULL, 0))
		hash_move(h);
}

/* Slots behind the erased one move back, unless they are at home before it. */
static inline void
hash_close(uint64_t *slot, uint32_t mask, uint32_t shift, uint32_t gap)
{
	uint32_t p = gap;

	for (;;) {
		uint64_t s;
		uint32_t home;

		p = (p + 1) & mask;
		s = slot[p];
		if (s == 0)
			break;
		home = (uint32_t)(s >> 32) >> shift;
		if (((p - home) & mask) >= ((p - gap) & mask)) {
			slot[gap] = s;
			gap = p;
		}
	}
	slot[gap] = 0;
}

static inline void
hash_erase(struct hash *h, uint64_t *s)
{
	size_t at = (size_t)(s - h->slot);

	h->n--;
	if (__builtin_expect(h->old == NULL, 1)) {
		hash_close(h->slot, h->mask, h->shift, (uint32_t)at);
		if (__builtin_expect(h->n < h->low, 0))
			hash_resize(h, false);
		return;
	}
	if (s >= h->slot && at <= h->mask)
		hash_close(h->slot, h->mask, h->shift, (uint32_t)at);
	else
		hash_close(h->old, h->old_mask, h->old_shift,
		    (uint32_t)(s - h->old));
	hash_move(h);
}

#endif

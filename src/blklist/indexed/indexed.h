/*
 * indexed: the list of targets.  Only blklist.c reaches it, by
 * list_indexed; the tests look in.
 *
 *	indexed.c	applies records (also duplicates and pairs); windows,
 *			checks, resuming
 *	store.h		the records
 *	hash.h		from a key to its record
 *	age.h		the order of age
 *	regions.h	the order of address
 *
 * An allocation or a free touches one place in each.
 *
 * Example
 *	slot = hash_find(&ix->hash, tag, ix->store.node, key, l->key_mask);
 *	if (*slot != 0)
 *		pos = ix->store.node[hash_index(slot)].pos;
 */
#ifndef BLKLIST_INDEXED_H
#define BLKLIST_INDEXED_H

#include "age.h"
#include "hash.h"
#include "../list.h"
#include "regions.h"
#include "store.h"

#define OPEN_BITS 13
#define CANCEL_SLOTS (2 * LIST_CHUNK)
#define CANCEL_NONE UINT16_MAX

/*
 * The pairs of a chunk: a table from a key to its latest record.  Entries of an
 * earlier generation do not count, so nothing is cleared between chunks.
 */
struct cancel {
	uint32_t generation;
	unsigned shift;			/* from a key's hash to its slot */
	uint64_t seed;
	unsigned pairs;			/* without those dissolved */
	uint64_t open[(1 << OPEN_BITS) / 64];	/* by hash: an allocation may be in the table */
	uint32_t slot[CANCEL_SLOTS];	/* generation << 12 | index in the chunk */
	uint16_t mate[LIST_CHUNK];	/* index of the other half, or CANCEL_NONE */
};

_Static_assert(LIST_CHUNK == 1 << 12, "an index in the chunk has 12 bits");

struct indexed {
	struct store store;
	struct hash hash;
	struct age age;
	struct regions regions;
	struct cancel cancel;
	uint16_t todo[LIST_CHUNK];	/* records of the chunk that are in no pair */
	uint32_t tag[LIST_CHUNK];	/* their tags in the hash, in that order */
};

/* Loose: 16 MiB of records or more were in use, and few of them are. */
#define INDEXED_LOOSE (UINT32_C(16) * 1024 * 1024 / sizeof(struct store_node))
#define INDEXED_LOOSE_PART 32

static inline bool
indexed_is_loose(const struct blklist *l, const struct indexed *ix)
{
	return ix->store.fresh >= INDEXED_LOOSE &&
	    l->counts.aRecActive < ix->store.fresh / INDEXED_LOOSE_PART;
}

/* Fills mate[] for the chunk's records; returns how many pairs there are. */
unsigned cancel_pairs(struct cancel *, const struct blklist *,
    const struct rec *, unsigned n, uint64_t seed);

#endif

/*
 * The indexed list.  Private; the tests look in.
 *
 * Records lie in a store and are found three ways: by key through the hash,
 * in the order of age, and in the order of address.  An allocation or a free
 * touches one place in each; any window of either order costs the same.
 */
#ifndef BLKLIST_INDEXED_H
#define BLKLIST_INDEXED_H

#include "age.h"
#include "hash.h"
#include "list.h"
#include "regions.h"
#include "store.h"

#define CANCEL_SLOTS (2 * LIST_CHUNK)
#define CANCEL_NONE UINT16_MAX

/*
 * The pairs of a chunk.  The table maps a key to the latest record of it in the
 * chunk; an entry is valid when it carries the present generation, so that nothing
 * is cleared between chunks.
 */
struct cancel {
	uint32_t generation;
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

/*
 * A list is loose when 16 MiB and more of records were in use once, and all but a
 * small part of them are free.
 */
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

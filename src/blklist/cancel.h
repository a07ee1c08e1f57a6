/*
 * Pairs of a chunk, found in one pass.  Private.
 *
 * The table maps a key to the latest record of it in the chunk.  An entry is
 * valid when it carries the present generation, so nothing is cleared between
 * chunks.  The rules are those of the forward scan in literal.c: a free
 * cancels the allocation that is the latest record of the same block, unless
 * it is by realloc or older; a range ends a generation.
 */
#ifndef BLKLIST_CANCEL_H
#define BLKLIST_CANCEL_H

#include "list.h"

#define CANCEL_SLOTS (2 * LIST_CHUNK)
#define CANCEL_NONE UINT16_MAX

struct cancel {
	uint32_t generation;
	uint32_t slot[CANCEL_SLOTS];	/* generation << 12 | index in the chunk */
	uint16_t mate[LIST_CHUNK];	/* index of the other half, or CANCEL_NONE */
};

_Static_assert(LIST_CHUNK == 1 << 12, "an index in the chunk has 12 bits");

/* Fills mate[] for the chunk's records; returns how many pairs there are. */
unsigned cancel_pairs(struct cancel *, const struct blklist *,
    const struct rec *, unsigned n, uint64_t seed);

#endif

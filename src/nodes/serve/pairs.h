/*
 * pairs: a READ's records without the pairs that cancel each other within it.
 *
 * An allocation and the free of the same block with no other record of that
 * block between are both left out and counted; so is the keeper's own list
 * doing it, batch by batch.  Frees by realloc stay, for the undo of a failed
 * realloc has to find what it undoes.
 */
#ifndef NODES_SERVE_PAIRS_H
#define NODES_SERVE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hashmap.h"
#include "../../stream/record.h"

#define PAIRS_ROOM 4096		/* entries, cancelled ones too, until they are swept */

struct pairs_entry {
	struct rec rec;
	uint64_t seq;
	uint16_t info;		/* requester; 0 none */
	bool gone;
};

struct pairs {
	struct pairs_entry entry[PAIRS_ROOM];
	size_t n;		/* entries in use */
	size_t live;		/* of them not cancelled */
	size_t infos;		/* of the live ones with a requester */
	size_t max, max_infos;	/* of the live ones */
	uint64_t cancelled;	/* records left out */
	bool whole;		/* cancel nothing */
	struct hashindex pending;	/* allocations that a free may still cancel */
};

/* It is zeros before the first reply; its memory stays for the next one. */
void pairs_begin(struct pairs *, size_t max, size_t max_infos, bool whole);

/*
 * False when there is no room for it: the reply ends before this record.  An
 * allocation that has no memory in the index is not cancelled.
 */
bool pairs_add(struct pairs *, const struct rec *, uint64_t seq,
    uint16_t info);

/* Is there room for n more of any kind, `infos` of them with a requester? */
bool pairs_fit(const struct pairs *, size_t n, size_t infos);

/* Sweeps: entry[0 .. live) are what is left, in order. */
void pairs_finish(struct pairs *);
void pairs_fini(struct pairs *);

#endif

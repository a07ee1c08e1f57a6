/*
 * merge: a snapshot that arrives in parts, and records that arrive meanwhile,
 * made into one exact list.
 *
 * Vocabulary
 *	key	layer and address of a block as one number, in the order in
 *		which a snapshot is cut into parts.
 *	part	the blocks of a range of keys, exact as of a sequence number
 *		of its own (as_of), which never falls from part to part.
 *	horizon	of a sequence number: the highest key that a record of that
 *		number still has to be applied to.  The parts below it were
 *		taken before the record, those above it after.
 *	settled	all parts are in and every record up to the last as_of is
 *		read: from here on all records apply.
 *
 * A record whose part has not come yet is left out: the node answers in order,
 * so that part will have it.  merge_part() checks just that.
 */
#ifndef NODES_SESSION_MERGE_H
#define NODES_SESSION_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../stream/record.h"

struct merge_part {
	uint64_t upto;		/* the highest key it covers */
	uint64_t as_of;
};

struct merge {
	struct merge_part *part;
	size_t n, cap;
	bool all;		/* the last part is in */
};

static inline uint64_t
merge_key(unsigned layer, uint64_t addr)
{
	return (uint64_t)(layer & 1) << REC_ADDR_BITS |
	    (addr & REC_ADDR_MASK);
}

void merge_init(struct merge *);
void merge_fini(struct merge *);
/* Begins anew: no part is in. */
void merge_reset(struct merge *);

/*
 * The next part covers the keys behind the last one up to `upto`; every record
 * below `cursor` has been read already.  -EPROTO when the parts do not fit
 * together or the node has answered out of order: take the snapshot anew.
 */
int merge_part(struct merge *, uint64_t upto, uint64_t as_of, bool last,
    uint64_t cursor);

/* All parts are in. */
bool merge_complete(const struct merge *);
/* True when a reader at `cursor` has the list whole. */
bool merge_settled(const struct merge *, uint64_t cursor);

/*
 * Does record `seq` apply?  The free of a range is cut to what lies below
 * the horizon, in place.
 */
bool merge_admit(const struct merge *, struct rec *, uint64_t seq);

#endif

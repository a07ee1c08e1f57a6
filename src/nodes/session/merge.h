/*
 * merge: combines a snapshot that arrives in parts with the records that arrive
 * meanwhile into one exact list.
 *
 * Vocabulary
 *	key	layer and address of a block as one number; parts ascend by it.
 *	part	the blocks of a range of keys, exact as of its own sequence
 *		number (as_of), which never falls from part to part.
 *	horizon	the highest key to which a record of a given number applies:
 *		parts below were taken before the record, parts above after it.
 *	settled	all parts are in and all records up to the last as_of are read:
 *		from here on all records apply.
 *
 * A record whose part has not arrived is skipped: the node answers in order,
 * so that part includes it. merge_part() checks that.
 */
#ifndef NODES_SESSION_MERGE_H
#define NODES_SESSION_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../stream/record.h"

struct merge_part {
	uint64_t upto;		/* highest key of the part */
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
/* Removes all parts. */
void merge_reset(struct merge *);

/*
 * Adds the part with the keys after the last one up to `upto`; all records
 * below `cursor` have been read. -EPROTO: parts do not fit or the node answered
 * out of order; the snapshot must be taken anew.
 */
int merge_part(struct merge *, uint64_t upto, uint64_t as_of, bool last,
    uint64_t cursor);

/* All parts are in. */
bool merge_complete(const struct merge *);
/* ... and so are the records below `cursor` that they need. */
bool merge_settled(const struct merge *, uint64_t cursor);

/* True if record `seq` applies. The free of a range is cut at the horizon, in place. */
bool merge_admit(const struct merge *, struct rec *, uint64_t seq);

#endif

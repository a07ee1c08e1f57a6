/*
 * pools: the regions that the program has registered, its pools.  Private to the
 * target side; free of malloc, stdio and locks, so that the linked tests drive it
 * as the API does.
 *
 * Vocabulary
 *	region	memory of which every block is named through the API.
 *	number	of a region, drawn when it begins: its begin and its end may be
 *		reported by different threads, and so in any order.
 *	told	the stream that a region was reported to: once to each.
 *
 * The table is ordinary memory: a forked child has its parent's regions as they
 * were at the fork, and reports them to its own keeper.
 *
 * Known limits
 *	A fork while another thread writes an entry leaves that entry out of the
 *	child's table for good.
 *	A full table takes no more regions: their blocks are listed, their free
 *	space is not shown.
 */
#ifndef ALLOCLOG_POOLS_H
#define ALLOCLOG_POOLS_H

#include "produce.h"

#pragma GCC visibility push(hidden)

#define POOLS_MAX 64	/* as many as a page shows */

/* A region as the keeper gets it. */
struct pool_words {
	uint64_t base, size;
	uint64_t shape;		/* rec_region_shape(), the number left out */
	uint64_t name;		/* up to 8 bytes, padded with zeros */
};

/*
 * Begins a region and ends those that it overlaps.  It enters the table even
 * without a keeper.  p as in produce_control(); `tell`: there is a keeper.
 */
void pools_begin(struct producer *p, bool tell, const struct pool_words *);
/* Ends the region that begins at `base`, if there is one. */
void pools_end(struct producer *p, bool tell, uint64_t base);
/* Reports all regions to the stream that this process has just joined. */
void pools_tell(void);

#pragma GCC visibility pop

#endif

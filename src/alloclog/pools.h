/*
 * pools: the regions that the program has registered, which are its pools.
 * Private to the target side; free of malloc, stdio and locks, so that the
 * linked tests drive it just as the API does.
 *
 * Vocabulary
 *	region	memory of which every block is named through the API.
 *	number	of a region, drawn when it begins: what says that it has begun
 *		and what says that it has ended come from different threads,
 *		and so in any order.
 *	told	of a region, by which stream: each of them is told once.
 *
 * The table is ordinary memory, so a forked child has its parent's regions as
 * they were at the fork, and tells them to its own keeper.
 *
 * Known limits
 *	A fork while another thread writes an entry leaves that one out of the
 *	child's table, and its place is never used there.
 *	A table that is full takes no more: what lies in such a region is
 *	listed, and what is free in it is not shown.
 */
#ifndef ALLOCLOG_POOLS_H
#define ALLOCLOG_POOLS_H

#include "produce.h"

#pragma GCC visibility push(hidden)

#define POOLS_MAX 64	/* as many as a page can be told of */

/* A region as it is said to the keeper. */
struct pool_words {
	uint64_t base, size;
	uint64_t shape;		/* rec_region_shape(), the number left out */
	uint64_t name;		/* up to 8 bytes, padded with zeros */
};

/*
 * A region begins, and those that it overlaps end.  It is in the table also
 * where nobody can be told.  p as in produce_control(); `told`: there is
 * somebody to tell.
 */
void pools_begin(struct producer *p, bool tell, const struct pool_words *);
/* The region that begins there ends, if there is one. */
void pools_end(struct producer *p, bool tell, uint64_t base);
/* Tells all of them to the stream that this process has just joined. */
void pools_tell(void);

#pragma GCC visibility pop

#endif

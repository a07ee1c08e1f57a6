/*
 * list_walk: reads a block list in portions, from picture to picture, while it
 * changes.
 *
 * A walk passes each block that is in the list from its beginning until it gets
 * there, once.  It also passes blocks that were allocated since, until it has
 * passed as many as the list had at the beginning.  In an order other than
 * oldest first new blocks come between old ones: there it goes on to the end,
 * but passes no more than about twice as many, however fast the list grows.
 *
 * Example
 *	page_walk_begin(&w, list, BLKLIST_BY_AGE, false);
 *	...						with each picture
 *	page_walk_portion(&w, list, 4096);
 *	while ((n = page_walk_next(&w, list, rows, 256)) > 0)
 *		...
 *	if (w.over)
 *		...
 */
#ifndef PAGEK_LIST_WALK_H
#define PAGEK_LIST_WALK_H

#include "../../blklist/blklist.h"

struct page_walk {
	enum blklist_order order;
	bool reverse;
	bool any;		/* a block was passed */
	struct blk last;	/* the last of them */
	uint64_t offs;		/* behind it, while the list does not change */
	uint64_t blocks;	/* in the list at the beginning */
	uint64_t passed;
	uint64_t pause;		/* the portion ends when so many have passed; 0: never */
	bool over;
};

/* Without a list (NULL) the walk is over, here and below. */
void page_walk_begin(struct page_walk *, const struct blklist *,
    enum blklist_order, bool reverse);
/* The same from the first block behind that one, which need not be in the list. */
void page_walk_begin_behind(struct page_walk *, const struct blklist *,
    enum blklist_order, bool reverse, const struct blk *);
/* The list has changed since.  It may be another list of the same stream. */
void page_walk_resume(struct page_walk *, const struct blklist *);
/* The same, and begins a portion of about so many blocks. */
void page_walk_portion(struct page_walk *, const struct blklist *,
    uint64_t blocks);
/* Copies out up to n blocks; 0: the portion has ended, or with `over` the walk. */
size_t page_walk_next(struct page_walk *, const struct blklist *,
    struct blk *out, size_t n);

#endif

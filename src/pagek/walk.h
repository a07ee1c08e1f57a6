/*
 * walk: a block list looked through in portions, from picture to picture,
 * while it changes.
 *
 * A walk begins at a moment and passes, in the order asked for, every block
 * that is in the list from then until the walk has come by, once.  What is
 * freed before that is not seen, nor is what was allocated since.
 *
 * Example
 *	page_walk_begin(&w, list, BLKLIST_BY_AGE, false);
 *	while ((n = page_walk_next(&w, list, rows, 256)) > 0)
 *		...					and go on another time
 */
#ifndef PAGEK_WALK_H
#define PAGEK_WALK_H

#include "../blklist/blklist.h"

struct page_walk {
	enum blklist_order order;
	bool reverse;
	bool any;		/* has passed a block ... */
	struct blk last;	/* ... the last of them */
	uint64_t offs;		/* behind it, as long as the list stays the same */
	uint64_t newest;	/* sequence number of the youngest block at the beginning */
	uint64_t blocks;	/* there were then */
	bool over;
};

void page_walk_begin(struct page_walk *, const struct blklist *,
    enum blklist_order, bool reverse);
/*
 * The list was given back to its owner meanwhile.  Another one that holds the
 * same stream will do, for it is the same blocks that are looked for.
 */
void page_walk_resume(struct page_walk *, const struct blklist *);
/* Up to n blocks; 0: that was all. */
size_t page_walk_next(struct page_walk *, const struct blklist *,
    struct blk *out, size_t n);

#endif

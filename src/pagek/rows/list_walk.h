/*
 * list_walk: a block list looked through in portions, from picture to picture,
 * while it changes.
 *
 * A walk passes, in the order asked for, every block that is in the list from
 * its beginning until it has come by, once.  Of the blocks that were allocated
 * since it passes those that it comes to, until it has passed as many as were in
 * the list at its beginning: so it counts as many as there are in a list that
 * neither grows nor shrinks, and not those alone that live long.  Where rows come
 * by otherwise than the oldest first, new ones stand between old ones: there it
 * goes on to the end, and counts so many only on the whole.
 * A list that grows faster than it is walked through is not followed for ever.
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
	bool any;		/* has passed a block ... */
	struct blk last;	/* ... the last of them */
	uint64_t offs;		/* behind it, as long as the list stays the same */
	uint64_t blocks;	/* in the list at the beginning */
	uint64_t passed;
	uint64_t pause;		/* a portion ends when so many have passed; 0: there is none */
	bool over;
};

void page_walk_begin(struct page_walk *, const struct blklist *,
    enum blklist_order, bool reverse);
/* The same, from the first one behind that block, be it in the list or not. */
void page_walk_begin_behind(struct page_walk *, const struct blklist *,
    enum blklist_order, bool reverse, const struct blk *);
/*
 * The list was given back to its owner meanwhile.  Another one that holds the
 * same stream will do, for it is the same blocks that are looked for.
 */
void page_walk_resume(struct page_walk *, const struct blklist *);
/* The same, for about so many blocks. */
void page_walk_portion(struct page_walk *, const struct blklist *,
    uint64_t blocks);
/* Up to n blocks; 0: the portion has ended, or with `over` the walk. */
size_t page_walk_next(struct page_walk *, const struct blklist *,
    struct blk *out, size_t n);

#endif

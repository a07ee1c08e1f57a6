/*
 * siblings: blocks that were allocated together ("born together" on the
 * screen).
 *
 * Vocabulary
 *	cycle	the 15 Hz cycle of the node's clock in which a block was allocated.
 *	siblings	blocks of the same cycle, thread and call stack: what one
 *		request allocated, as the ACREQ, the INTPTRS and the AHDRMSG of
 *		the note.  They are neighbours in the order of age.
 *	beside	blocks of the same cycle and thread with other call stacks, such
 *		as other lines of one function.
 *
 * A classic stream has neither threads nor callers: the cycle alone decides.
 * Keys are compared within one stream only.
 *
 * Example
 *	key = page_sibling_key(&b);
 *	...
 *	if (page_sibling_key(&row) == key)	very likely, and
 *	if (page_are_siblings(&row, &b))	for sure
 */
#ifndef PAGEK_SIBLINGS_H
#define PAGEK_SIBLINGS_H

#include "../blocks/list_walk.h"

/* Cycles since the beginning of the node's clock; negative before it. */
int64_t page_alloc_cycle(const struct blk *);
bool page_are_siblings(const struct blk *, const struct blk *);
/* Never 0.  Equal for siblings; for other blocks by a chance of 2^-64. */
uint64_t page_sibling_key(const struct blk *);

#define PAGE_SIBLINGS_MAX 256	/* that are listed */
#define PAGE_BESIDE_MAX 64

struct page_siblings_found {
	struct blk blk[PAGE_SIBLINGS_MAX];	/* by age, without the block itself */
	size_t n;
	uint64_t all;			/* with those that are not listed */
	struct blk beside[PAGE_BESIDE_MAX];
	size_t nbeside;
	uint64_t all_beside;
};

enum page_siblings_step {
	SIBLINGS_NONE,		/* no search so far */
	SIBLINGS_OLDER,		/* through blocks that are older than the block */
	SIBLINGS_YOUNGER,
	SIBLINGS_OVER,
};

/*
 * The search looks at the block's neighbours in the order of age, a portion with
 * each picture.  It begins again after a while: young ones may still come.
 */
struct page_siblings {
	struct blk of;
	struct page_siblings_found shown, coming;
	bool known;		/* `shown` is the result of a whole search */
	enum page_siblings_step step;
	struct page_walk walk;
	int64_t ended_ms;	/* on the node's clock */
};

void page_siblings_begin(struct page_siblings *, const struct blk *);
/* The i-th of the siblings, then of those beside; NULL: there are fewer. */
const struct blk *page_siblings_nth(const struct page_siblings_found *,
    size_t i);
/* A portion of the search in the list; now_ms is the node's clock. */
void page_siblings_next(struct page_siblings *, const struct blklist *,
    int64_t now_ms);

#endif

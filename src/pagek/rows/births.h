/*
 * births: which blocks came into being together.
 *
 * Vocabulary
 *	cycle of birth	the 15 Hz cycle of the node's clock that a block's time
 *		lies in.
 *	born together	in the same cycle, by the same thread and the same chain
 *		of callers: what one request made, as the ACREQ, the INTPTRS
 *		and the AHDRMSG of the note.  They lie side by side in the order
 *		of age, which is why the note has that one.
 *
 * What one function asks for in several places has a caller for each of them:
 * those are beside each other, not together.
 *
 * A classic stream has neither threads nor callers, so there the cycle alone
 * makes them.  What time or who is only a part of it says nothing of another
 * stream: keys are compared within one.
 *
 * Example
 *	key = page_born_key(&b);
 *	...
 *	if (page_born_key(&row) == key)		very likely, and
 *	if (page_born_together(&row, &b))	for sure
 */
#ifndef PAGEK_BIRTHS_H
#define PAGEK_BIRTHS_H

#include "list_walk.h"

/* Counted from the beginning of the node's clock; before it they are negative. */
int64_t page_born_cycle(const struct blk *);
bool page_born_together(const struct blk *, const struct blk *);
/*
 * The same for blocks that were born together, and another one for all others,
 * but by a chance of 2^-64; never 0.
 */
uint64_t page_born_key(const struct blk *);

/* --- who else was ------------------------------------------------------- */

#define PAGE_BORN_MAX 256	/* blocks that are listed ... */
#define PAGE_BORN_BESIDE 64	/* ... and of those beside them */

struct page_born_found {
	struct blk blk[PAGE_BORN_MAX];	/* in the order of age, without the block itself */
	size_t n;
	uint64_t all;			/* with those for which there is no room */
	struct blk beside[PAGE_BORN_BESIDE];	/* of the same cycle and thread, by other callers */
	size_t nbeside;
	uint64_t all_beside;
};

enum page_born_step {
	BORN_NEVER,		/* nobody has looked yet */
	BORN_OLDER,		/* through what is older than the block ... */
	BORN_YOUNGER,		/* ... and through what is younger */
	BORN_OVER,
};

/*
 * The live blocks that were born together with one, looked for among those next
 * to it in the order of age: from picture to picture a portion, and anew after a
 * while, for the youngest may still be on their way.
 */
struct page_born {
	struct blk of;
	struct page_born_found shown, coming;
	bool known;		/* what is shown is all that there was */
	enum page_born_step step;
	struct page_walk walk;
	int64_t ended_ms;	/* on the node's clock */
};

void page_born_begin(struct page_born *, const struct blk *);
/* Of those and then these the i-th; NULL behind the last. */
const struct blk *page_born_nth(const struct page_born_found *, size_t i);
/*
 * A portion of the search, in the list as it is at that time on the node's
 * clock.
 */
void page_born_next(struct page_born *, const struct blklist *,
    int64_t now_ms);

#endif

/*
 * born: which blocks came into being together.
 *
 * Vocabulary
 *	cycle of birth	the 15 Hz cycle of the node's clock that a block's time
 *		lies in.
 *	born together	in the same cycle, by the same thread and the same chain
 *		of callers: what one request made, as the ACREQ, the INTPTRS
 *		and the AHDRMSG of the note.  They lie side by side in the order
 *		of age, which is why the note has that one.
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
#ifndef PAGEK_BORN_H
#define PAGEK_BORN_H

#include "../blklist/blklist.h"

/* Counted from the beginning of the node's clock; before it they are negative. */
int64_t page_born_cycle(const struct blk *);
bool page_born_together(const struct blk *, const struct blk *);
/*
 * The same for blocks that were born together, and another one for all others,
 * but by a chance of 2^-64; never 0.
 */
uint64_t page_born_key(const struct blk *);

#endif

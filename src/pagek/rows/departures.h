/*
 * departures: a row whose block has just been freed stays for a second where it
 * was, dim, and says so in the place of its age.
 *
 * Vocabulary
 *	shown	what stands in the rows of a picture: blocks of the list, and
 *		among them those that are leaving.
 *
 * A block has left when it was shown in the picture before, is missing between
 * rows that are still there, and is in the list no more.  Those that leave take
 * no more than a quarter of the rows, never push the cursor out of sight, and
 * have no offset: OFFS and cursor count the list alone.  Where the rows stand
 * still, are chosen, or show what is free, they say so themselves, and nothing is
 * leaving here; nor with one picture a second, which is for slow links.
 *
 * Example
 *	n = page_leaving_rows(page, v, count, room, &shown);
 *	for (i = 0; i < n; i++)
 *		put(&shown[i].blk, shown[i].left);
 */
#ifndef PAGEK_DEPARTURES_H
#define PAGEK_DEPARTURES_H

#include "../page/view.h"

#define PAGE_LEAVING_ROWS 256	/* on higher screens rows just vanish */

struct page_leaving;

struct page_shown {
	struct blk blk;
	uint64_t at;		/* offset; of a block that has left: of none */
	bool left;
	struct mono since;	/* ... on the view's clock */
};

/*
 * What is to be shown in `room` rows, of `count` rows at OFFS and on; borrowed
 * until the next.  0 where nothing can be leaving, without memory, and where
 * the rows are not all there: then it is the caller who shows them.
 */
size_t page_leaving_rows(struct page *, const struct page_view *,
    size_t count, size_t room, const struct page_shown **);

/*
 * The offset of what stands in that row of the picture, from 0 on; false: it has
 * left, and has none.
 */
bool page_leaving_offset(const struct page *, size_t row, uint64_t *offset);

void page_leaving_free(struct page_leaving *);

#endif

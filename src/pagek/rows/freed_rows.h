/*
 * freed_rows: a row whose block was just freed stays for a second, dimmed, and
 * says so in the place of its age.
 *
 * A block was freed when the picture before showed it, its neighbours are still
 * shown, and it is no longer in the list.  Freed rows take a quarter of the
 * window at most, never push the cursor out of sight, and have no offset: OFFS
 * and cursor count the list alone.  There are none in a frozen order, a choice,
 * or with free blocks, which show freed blocks themselves; nor with one picture
 * a second, for slow links.
 *
 * Example
 *	n = page_freed_rows_merge(page, v, count, room, &shown);
 *	for (i = 0; i < n; i++)
 *		put(&shown[i].blk, shown[i].freed);
 */
#ifndef PAGEK_FREED_ROWS_H
#define PAGEK_FREED_ROWS_H

#include "../page/view.h"

#define PAGE_FREED_ROWS_MAX 256	/* rows of a screen; higher ones have no freed rows */

struct page_shown_row {
	struct blk blk;
	uint64_t at;		/* offset, unless freed */
	bool freed;
	struct mono since;	/* freed: when that was seen, on the view's clock */
};

/*
 * The `count` rows from OFFS on merged with freed ones, `room` rows at most;
 * borrowed until the next call.  0: there can be no freed rows, or no memory,
 * and the caller shows its rows alone.
 */
size_t page_freed_rows_merge(struct page *, const struct page_view *,
    size_t count, size_t room, const struct page_shown_row **);

/* The offset of a row of the picture, from 0 on; false: it is a freed row. */
bool page_freed_rows_offset(const struct page *, size_t row, uint64_t *offset);

void page_freed_rows_free(struct page_freed_rows *);

#endif

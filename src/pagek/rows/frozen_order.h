/*
 * frozen_order: rows that keep their places while their values go on.
 *
 * Vocabulary
 *	still	the order of rows is frozen: each keeps its place, what is freed
 *		keeps its row, dimmed, and what is new does not push in.
 *	held	... until it is let go (z); else for PAGE_STILL_MS after the last
 *		key that moved the cursor.
 *	band	the rows known by now: those around the window, a bounded number
 *		of them.  One that is scrolled towards is taken to it; who goes
 *		farther than that has the order of that moment frozen anew.
 *
 * It is laid over whatever rows are shown (page_rows_ops()): what stands in the
 * band are identities, looked up with each picture.  A picture that is paused
 * meanwhile keeps it; in one that is paused already nothing moves.
 *
 * Example
 *	page_still_touch(page, v);	a cursor key: before the cursor moves
 *	page_move(page, 1);
 *	page_hold(page, v);
 *	...
 *	page_still_begin(page, v);	with each picture, before its rows
 */
#ifndef PAGEK_FROZEN_ORDER_H
#define PAGEK_FROZEN_ORDER_H

#include "../page/view.h"
#include "rows.h"

#define PAGE_STILL_MS 5000
#define PAGE_STILL_BAND 16384	/* rows at most */

struct page_still;

/* A key that moves the cursor: the rows of now stay where they are for a while. */
void page_still_touch(struct page *, const struct page_view *);
/*
 * Holds the order, or lets it go; true: it is held.  Where not all blocks are
 * there it begins as soon as they are.
 */
bool page_still_toggle(struct page *, const struct page_view *);
/* Somebody asks for other rows or another order: that one is frozen now. */
void page_still_anew(struct page *);
/* Another moment is looked at: only what is held still stands still. */
void page_still_loosen(struct page *);
/* For each picture, before its rows are counted. */
void page_still_begin(struct page *, const struct page_view *);
/* Rows up to the cursor are known, wherever it was moved to. */
void page_still_reach(struct page *, const struct page_view *);
void page_still_free(struct page_still *);

/*
 * Groups keep the order of the take before, with what they sum to by now; how
 * many are new they count themselves (groups.h).
 */
bool page_still_keeps_groups(const struct page *, const struct page_view *);
/* Rows stand still in this picture. */
bool page_still_on(const struct page *);
/* All blocks are needed: the order is held, or stands still. */
bool page_still_wants_all(const struct page *);
/* A row of the picture, or among its groups, whose block is in the list no more. */
bool page_still_gone(const struct page *, const struct page_view *,
    const struct blk *);
/*
 * "order: frozen 4s  +312 new"; form 0 is the longest, each next one shorter,
 * down to "z".
 * "" when nothing stands still.  False: there is no such form.
 */
bool page_still_text(const struct page *, const struct page_view *, int form,
    char *out, size_t cap);

extern const struct page_rows_ops page_rows_still;

#endif

/*
 * frozen_order: rows keep their places while their values change.
 *
 * Vocabulary
 *	frozen	each row keeps its place: a block that is freed keeps its row,
 *		dimmed, and new blocks get none.
 *	held	frozen by `z` until the next `z`.  A key that moves the cursor
 *		freezes the order for PAGE_FREEZE_MS.
 *	band	the frozen rows: those around the window, PAGE_FROZEN_ROWS at
 *		most.  Scrolling extends it; a jump beyond it freezes the order
 *		of that moment.
 *
 * The band holds the identities of blocks; each picture looks their values up.
 * It works on any rows that are blocks (page_rows_ops()).  Groups freeze their
 * own order (page_groups_are_frozen()).  A paused picture keeps the band.
 *
 * Example
 *	page_freeze_briefly(page, v);	a cursor key, before the cursor moves
 *	page_move(page, 1);
 *	page_remember_cursor(page, v);
 *	...
 *	page_freeze_refresh(page, v);	each picture, before its rows
 */
#ifndef PAGEK_FROZEN_ORDER_H
#define PAGEK_FROZEN_ORDER_H

#include "rows.h"

#define PAGE_FREEZE_MS 5000
#define PAGE_FROZEN_ROWS 16384

/* A key that moves the cursor freezes the rows of now for PAGE_FREEZE_MS. */
void page_freeze_briefly(struct page *, const struct page_view *);
/* Freezes (true) or releases.  It begins once the session has all blocks. */
bool page_freeze_toggle(struct page *, const struct page_view *);
/* The picture shows another moment: only an order that is held stays frozen. */
void page_freeze_end_brief(struct page *);
/* For each picture, before its rows are counted.  Without memory nothing is frozen. */
void page_freeze_refresh(struct page *, const struct page_view *);
void page_frozen_order_free(struct page_frozen_order *);

/* The rows of this picture are frozen ones. */
bool page_rows_are_frozen(const struct page *);
/* The session has to have all blocks: the order is held or frozen. */
bool page_freeze_wants_all(const struct page *);
/* A frozen row, or a row of an expanded group, whose block is no longer listed. */
bool page_row_is_freed(const struct page *, const struct page_view *,
    const struct blk *);
/*
 * "order: frozen 4s  +312 new"; form 0 is the longest, 3 the shortest ("z").
 * False, and "": nothing is frozen, or there is no such form.
 */
bool page_freeze_text(const struct page *, const struct page_view *, int form,
    char *out, size_t cap);

extern const struct page_rows_ops page_rows_frozen;

#endif

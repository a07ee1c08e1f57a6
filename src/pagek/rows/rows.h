/*
 * rows: the rows that a page shows, and the cursor among them.
 *
 *	cursor.c	which rows are shown, and the cursor
 *	frozen_order.h	rows keep their places while values change
 *	freed_rows.h	a row whose block was freed stays for a second
 *	follow.h	the cursor stays with one block or group
 *	find.h		the cursor goes to the next row that matches
 *
 * Vocabulary
 *	rows	blocks of the list (../blocks), groups or the blocks of one group
 *		(../groups): a struct page_rows_ops each.
 *
 * Example: the blocks in a window of 20 rows
 *	page_update_cursor(page, v, 20);
 *	n = page_rows_blocks(page, v, page->offs, blks, 20);
 */
#ifndef PAGEK_ROWS_H
#define PAGEK_ROWS_H

#include "../blocks/choice.h"
#include "../groups/groups.h"

/* The kind of rows, whether or not their order is frozen. */
const struct page_rows_ops *page_rows_ops(const struct page *);
/* The row that the block has among such rows; false: none. */
bool page_rows_find_block(const struct page_rows_ops *, const struct page *,
    const struct page_view *, const struct blk *, uint64_t *at);
uint64_t page_rows_total(const struct page *, const struct page_view *);
/* Copies out the blocks from offset `at` on; 0 when groups are shown. */
size_t page_rows_blocks(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);
/* The block under the cursor, or the first one shown; false: there is none. */
bool page_block_at_cursor(const struct page *, const struct page_view *,
    struct blk *);

/* Keeps OFFS and cursor inside the rows, and the cursor on what it is on. */
void page_update_cursor(struct page *, const struct page_view *, int window);
/* Moves the cursor by so many rows; without one it appears at OFFS. */
void page_move(struct page *, int64_t delta);
void page_move_to(struct page *, uint64_t offset);
/* Scrolls the rows on the screen, and moves the cursor by as many. */
void page_move_rows(struct page *, int64_t delta);
/* Remembers what is at the cursor: a key means the row that is shown. */
void page_remember_cursor(struct page *, const struct page_view *);

#endif

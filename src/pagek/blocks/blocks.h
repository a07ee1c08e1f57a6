/*
 * blocks: the blocks of a list that are rows, and their order.
 *
 *	blocks.c	blocks as rows; all blocks of the list
 *	row_filter.h	which blocks match the user's expression
 *	choice.h	the blocks that match, sorted, collected again as blocks come and go
 *	order.h		how blocks are compared; sorts.def has the sort keys
 *	list_walk.h	reads a list in portions while it changes
 *	collection.h	the blocks that a walk has found, sorted in portions
 *	drain.h		key D: only blocks that existed at one moment
 *	free_blocks.h	memory between blocks, as rows
 *
 * Vocabulary
 *	choice	the blocks that a filter lets through, sorted.
 *	filter	an expression over the fields of a block, which ../../filter
 *		evaluates.
 *	walk	a block list read in portions while it changes.
 *	collection	what a walk and a sort have found.
 *	drain	only blocks that existed at one moment.
 *
 * Example: the first 20 blocks that match an expression
 *	page_choice_filter(page, "size>=1k", &error);
 *	page_choice_refresh(page, v);
 *	n = page_rows_choice.window(page, v, 0, blks, 20);
 */
#ifndef PAGEK_BLOCKS_H
#define PAGEK_BLOCKS_H

#include "../page/view.h"

struct page_rows_ops {
	uint64_t (*total)(const struct page *, const struct page_view *);
	/* Copies out the blocks from offset `at` on; NULL: rows are no blocks. */
	size_t (*window)(const struct page *, const struct page_view *,
	    uint64_t at, struct blk *out, size_t n);
	/* Remembers what is at the cursor; NULL: the block there.  False: nothing is. */
	bool (*remember)(struct page *, const struct page_view *);
	/* The offset of that now, among `total` rows; false: it is gone. */
	bool (*locate)(struct page *, const struct page_view *, uint64_t total,
	    uint64_t *offset);
};

extern const struct page_rows_ops page_rows_list;	/* the whole list, with free blocks */

/* Remembers what is at the cursor; false: nothing is. */
bool page_rows_remember(const struct page_rows_ops *, struct page *,
    const struct page_view *);
void page_cursor_set(struct page *, const struct blk *);
bool page_cursor_is_on(const struct page *, const struct blk *);
/* The rank of the cursor's block in the list; false: it is not listed. */
bool page_cursor_rank(const struct page *, const struct page_view *,
    enum blklist_order, uint64_t *rank);

/* A block with the same address, sequence number and layer. */
bool page_same_block(const struct blk *, const struct blk *);
bool page_is_listed(const struct page_view *, const struct blk *);
/* Blocks of the list up to that sequence number: the first ones by age. */
uint64_t page_blocks_until(const struct page_view *, uint64_t seq);

#endif

/*
 * free_blocks: free memory between the blocks of known regions, as rows.
 *
 * They are rows in address order only.  A walk over the blocks in the regions
 * finds them whenever the list or the regions have changed.
 *
 * A block occupies the allocator's header before it (head) and its size rounded
 * up (align).  A gap of less than head + align bytes is overhead, not a row.
 *
 * Example
 *	page_free_begin(page, v);		before the rows of a picture
 *	n = page_free_window(page, v, page->offs, rows, window);
 */
#ifndef PAGEK_FREE_BLOCKS_H
#define PAGEK_FREE_BLOCKS_H

#include "../page/view.h"

/* Free memory of one region, or of all. */
struct page_free {
	uint64_t bytes, largest;
	uint64_t blocks;		/* rows */
};

/* Allocates the gaps if they are to be shown; without memory there are none. */
void page_free_begin(struct page *, const struct page_view *);
void page_free_fini(struct page *);

/* The viewer wants them, and the list has regions. */
bool page_free_wanted(const struct page *, const struct nodes_look *);

/* Rows that they add to the list. */
uint64_t page_free_rows(const struct page *, const struct page_view *);
/* The row of the block with that rank by address. */
uint64_t page_free_row_of(const struct page *, const struct page_view *,
    uint64_t rank);
/* The row of the free block that contains the address; false: none does. */
bool page_free_row_at(const struct page *, const struct page_view *,
    uint64_t addr, uint64_t *row);
/* Copies out up to n rows of blocks and free blocks, in the page's order. */
size_t page_free_window(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);

/* For region i of the look; look->regions: for all. */
void page_free_sum(const struct page *, const struct page_view *, size_t i,
    struct page_free *);
/* "free 40,960, largest 12,288" in at most `cols` columns; "": not wanted. */
void page_free_text(const struct page *, const struct page_view *, int cols,
    char *out, size_t cap);
/* Why there are none although they are wanted; "": there may be. */
const char *page_free_why(const struct page *, const struct nodes_look *);
/* Describes one in a sentence; outside text. */
void page_free_sentence(const struct nodes_look *, const struct blk *,
    char *out, size_t cap);

#endif

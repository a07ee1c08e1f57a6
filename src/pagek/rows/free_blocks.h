/*
 * free_blocks: the free blocks of memory that is wholly known, as rows between
 * the blocks of the list.
 *
 * In address order alone, where a row's place says what it lies between.  They
 * are made of the list by a walk over the blocks in the regions, anew when the
 * list or the regions have changed.
 *
 * A block occupies what is the allocator's before it (head), and its size
 * rounded up (align).  What is too small to be a block, less than head and
 * align, is the allocator's overhead and no row.
 *
 * Example
 *	page_free_begin(page, v);		before the rows of a picture
 *	if (page_free_shown(page, v))
 *		n = page_free_window(page, v, page->offs, rows, window);
 */
#ifndef PAGEK_FREE_BLOCKS_H
#define PAGEK_FREE_BLOCKS_H

#include "../page/view.h"

/* What is free in one region, or in all of them. */
struct page_free {
	uint64_t bytes, largest;
	uint64_t blocks;		/* rows */
};

/* Memory for them, where such rows are to be shown; without it there are none. */
void page_free_begin(struct page *, const struct page_view *);
void page_free_fini(struct page *);

/* Whether they are wanted of this list, and whether they are shown. */
bool page_free_wanted(const struct page *, const struct nodes_look *);
bool page_free_shown(const struct page *, const struct page_view *);

/* Rows that they add to those of the list. */
uint64_t page_free_rows(const struct page *, const struct page_view *);
/* The row of the block with that rank in ascending order. */
uint64_t page_free_row_of(const struct page *, const struct page_view *,
    uint64_t rank);
/* The row of the free block that has this address in it; false: none has. */
bool page_free_row_at(const struct page *, const struct page_view *,
    uint64_t addr, uint64_t *row);
/* Rows of both from `at` on, in the order of the page. */
size_t page_free_window(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);

/* Of region i of the look, or of all with i == look->regions. */
void page_free_sum(const struct page *, const struct page_view *, size_t i,
    struct page_free *);
/*
 * "free 40,960, largest 12,288" in so many columns, or shorter; "" there are
 * none.
 */
void page_free_text(const struct page *, const struct page_view *, int cols,
    char *out, size_t cap);
/* Why there are none where they are asked for; "" there are, or may be. */
const char *page_free_why(const struct page *, const struct nodes_look *);
/* What one is, in a sentence; outside text. */
void page_free_sentence(const struct nodes_look *, const struct blk *,
    char *out, size_t cap);

#endif

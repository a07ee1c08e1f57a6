/*
 * collection: the blocks of a list that match a filter, sorted, in portions.
 *
 * A collector walks through the list (list_walk.h), keeps the blocks that match
 * (row_filter.h), and sorts them (order.h) unless the list has that order.  It
 * keeps the first `most` rows of the order, but counts all.
 *
 * Example
 *	struct page_collector c = { 0 };
 *	page_collector_begin(&c, page, v, filter, PAGE_COLLECT_ALL);
 *	while ((r = page_collector_next(&c, page, v, 2500000)) == 0)
 *		...				a picture, and another view
 *	for (i = 0; i < c.found.n; i++)
 *		use(page_collection_row(&c.found, i));
 *	page_collector_fini(&c);
 *
 * In one call (most_ns 0) the rows are the list of that moment.  Over several
 * calls a block that was passed may be freed before the walk ends.
 */
#ifndef PAGEK_COLLECTION_H
#define PAGEK_COLLECTION_H

#include "list_walk.h"
#include "order.h"
#include "row_filter.h"

#define PAGE_COLLECT_ALL UINT32_MAX	/* no list has more */

/* All zeros: empty. */
struct page_collection {
	struct blk *blk;	/* in the order of the walk */
	uint32_t *place;	/* index into blk of each row; NULL: the same order */
	size_t n, cap;
	uint64_t of;		/* blocks that were looked at */
	uint64_t all;		/* blocks that match, with those beyond `most` */
	uint64_t bytes;		/* of these */
	double est_of, est_blocks, est_bytes;	/* what they stand for in a sample */
	uint64_t sample;	/* sampling period; 0: none */
	uint64_t unsure;	/* blocks whose deciding name is not known */
};

/* at < n; borrowed. */
const struct blk *page_collection_row(
    const struct page_collection *, uint64_t at);
/* Copies out up to n rows from `at` on. */
size_t page_collection_rows(const struct page_collection *, uint64_t at,
    struct blk *out, size_t n);
/*
 * Counts a block of the list, and if it matches makes it a row, unless there are
 * `most`.  -ENOMEM.
 */
int page_collection_add(struct page_collection *, const struct blklist *,
    const struct blk *, bool matches, size_t most);
/* Empties it for a list with that sampling period; keeps the memory. */
void page_collection_empty(struct page_collection *, uint64_t sample);
/* The row of the block under the page's cursor; false: it is none of them. */
bool page_collection_find_cursor(
    const struct page_collection *, const struct page *, uint64_t *offset);
void page_collection_fini(struct page_collection *);

/* All zeros before it begins. */
struct page_collector {
	struct page_collection found;
	struct page_row_filter *filter;	/* borrowed; NULL: all blocks match */
	size_t most;
	struct page_walk walk;
	struct page_order *order;	/* being sorted; NULL during the walk */
	struct scan scan;
};

/* For the view's list in the page's order; `found` keeps its memory. */
void page_collector_begin(struct page_collector *, const struct page *,
    const struct page_view *, struct page_row_filter *, size_t most);
/* Runs for most_ns nanoseconds, 0: to the end.  1 at the end, else 0; -ENOMEM. */
int page_collector_next(struct page_collector *, const struct page *,
    const struct page_view *, int64_t most_ns);
/* Frees what is only needed to sort. */
void page_collector_stop(struct page_collector *);
void page_collector_fini(struct page_collector *);

#endif

/*
 * collect: the blocks of a list that a filter lets through, sorted, in portions.
 *
 * Vocabulary
 *	take	a walk (list_walk.h) through the list that keeps what the sieve lets
 *		through, and then sorts it (order.h), unless the list has that
 *		order itself.
 *	most	so many rows are kept, the first ones of the order; what is
 *		counted is counted of all.
 *	taken	what a take has found: the rows and the sums.
 *
 * Example
 *	struct page_take t = { 0 };
 *	page_take_begin(&t, page, v, sieve, PAGE_TAKE_ALL);
 *	while ((r = page_take_next(&t, page, v, 2500000)) == 0)
 *		...				a picture, and another view
 *	for (i = 0; i < t.found.n; i++)
 *		use(page_taken_row(&t.found, i));
 *	page_take_fini(&t);
 *
 * In one turn (most_ns 0) the rows are the list of that moment.  Over several
 * they are those of a walk: a block that has come by may end before the last
 * one does.
 */
#ifndef PAGEK_COLLECT_H
#define PAGEK_COLLECT_H

#include "list_walk.h"
#include "order.h"
#include "row_filter.h"

#define PAGE_TAKE_ALL UINT32_MAX	/* no list has more */

/* All zeros: nothing. */
struct page_taken {
	struct blk *blk;	/* as the walk came to them ... */
	uint32_t *place;	/* ... and their order; NULL: that one */
	size_t n, cap;
	uint64_t of, all;	/* looked at; let through, with those beyond the limit */
	uint64_t bytes;
	double est_of, est_blocks, est_bytes;
	uint64_t sample;	/* its period; 0: all blocks are there */
	uint64_t unsure;	/* names that decide were not there */
};

/* at < n; borrowed. */
const struct blk *page_taken_row(const struct page_taken *, uint64_t at);
/* Up to n rows from the at-th on, copied out. */
size_t page_taken_rows(const struct page_taken *, uint64_t at,
    struct blk *out, size_t n);
/*
 * A block more, in the order of the walk: a row, unless there are `most`.
 * -ENOMEM.
 */
int page_taken_put(struct page_taken *, const struct blk *, double weight,
    size_t most);
/* Nothing of a list with that period; its memory is kept. */
void page_taken_empty(struct page_taken *, uint64_t sample);
/* The row that the page's cursor holds on to; false: it is none of them. */
bool page_taken_held(const struct page_taken *, const struct page *,
    uint64_t *offset);
void page_taken_fini(struct page_taken *);

/* All zeros before it begins. */
struct page_take {
	struct page_taken found;
	struct page_sieve *sieve;	/* borrowed; NULL lets all through */
	size_t most;
	struct page_walk walk;
	struct page_order *order;	/* the walk has come so far, and this is sorted */
	struct scan scan;
};

/* Of the view's list in the page's order; `found` keeps its memory. */
void page_take_begin(struct page_take *, const struct page *,
    const struct page_view *, struct page_sieve *, size_t most);
/* For so many nanoseconds, 0: to its end.  1 then, 0 before it; -ENOMEM. */
int page_take_next(struct page_take *, const struct page *,
    const struct page_view *, int64_t most_ns);
/* Lets go of what is only needed on the way. */
void page_take_stop(struct page_take *);
void page_take_fini(struct page_take *);

#endif

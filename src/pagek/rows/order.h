/*
 * order: blocks sorted by what a row shows, in portions.
 *
 * Vocabulary
 *	sort	a row of sorts.def.
 *	sorting	one sort, or several of which the next decides where the ones
 *		before are equal, each perhaps reversed.
 *	native	a sorting that the block list has itself: age or address.
 *	place	of a block: where it stands among those that were given.
 *
 * Example
 *	page_sorting_parse("Ns", &sorting);
 *	page_order_begin(&o, &sorting, blks, n);
 *	while ((r = page_order_next(o, &view, &scan)) == 0)
 *		...					and go on another time
 *	place = page_order_places(o);			the first row is blks[place[0]]
 *
 * Equal blocks stay in the order in which they are given.
 */
#ifndef PAGEK_ORDER_H
#define PAGEK_ORDER_H

#include "../../base/scan.h"
#include "../page/view.h"

enum page_sort {
#define SORT(id, ...) PAGE_SORT_##id,
#include "sorts.def"
#undef SORT
	PAGE_SORTS		/* one more than the last */
};

struct page_sort_row {
	const char *word, *letters;
	const char *title;	/* NULL: no column */
	bool text;
	const char *help;
};

extern const struct page_sort_row page_sort_rows[PAGE_SORTS];

/*
 * A word of the table, or letters, the first of which decides first: "Ns".
 * Of words only as many as there is room for.  False: it is neither, and
 * nothing is changed.
 */
bool page_sorting_parse(const char *text, struct page_sorting *);
/* The same of the keys of another page. */
bool page_sorting_parse_of(const struct page_sort_row *keys, size_t n,
    const char *text, struct page_sorting *);
/* As the options have it. */
void page_sorting_get(const struct page_opts *, struct page_sorting *);
/* Into the options; what stands behind a native one decides nothing. */
void page_sorting_put(const struct page_sorting *, struct page_opts *);
bool page_sorting_equal(const struct page_sorting *,
    const struct page_sorting *);
bool page_sorting_native(const struct page_opts *);
/* What decides first, and whether it is the other way round than its word says. */
enum page_sort page_sorting_first(const struct page_opts *, bool *reverse);
/* The title of its column; "SITE", which has none. */
const char *page_sort_title(const struct page_opts *);
/* 'v' where the column's values go down from row to row, '^' where they go up. */
char page_sorting_arrow(const struct page_opts *);

struct page_order;

/* Borrows the blocks.  -ENOMEM. */
int page_order_begin(struct page_order **, const struct page_sorting *,
    const struct blk *, size_t n);
/* As far as the budget goes.  1 at the end, 0 before it; -ENOMEM. */
int page_order_next(struct page_order *, const struct page_view *,
    const struct scan *);
/* Names that were not there: those blocks stand behind all that have one. */
uint64_t page_order_unsure(const struct page_order *);
/* The places, row after row; the caller's from here on.  Once it is over. */
uint32_t *page_order_places(struct page_order *);
void page_order_free(struct page_order *);

#endif

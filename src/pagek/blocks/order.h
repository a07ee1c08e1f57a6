/*
 * order: sorts blocks by what a row shows, in portions.
 *
 * Vocabulary
 *	sort	a sort key: a row of sorts.def.
 *	sorting	sort keys, each perhaps reversed; the next one decides where
 *		those before are equal.
 *	native	an order that the block list has: age or address.
 *	place	the index of a block among those that were given.
 *
 * Example
 *	page_sorting_parse("Ns", &sorting);
 *	page_order_begin(&o, &sorting, blks, n);
 *	while ((r = page_order_next(o, &view, &scan)) == 0)
 *		...					the next portion
 *	place = page_order_places(o);			the first row is blks[place[0]]
 *
 * The sort is stable.
 */
#ifndef PAGEK_ORDER_H
#define PAGEK_ORDER_H

#include "../../base/scan.h"
#include "../page/view.h"
#include "../picture/field_table.h"

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

/* Parses a word of the table, or letters, the first key first: "Ns".  False: neither. */
bool page_sorting_parse(const char *text, struct page_sorting *);
/* The same with the sort keys of another page. */
bool page_sorting_parse_of(const struct page_sort_row *keys, size_t n,
    const char *text, struct page_sorting *);
/* True if the field's column shows that sort key. */
bool page_sort_is_of(const struct page_sort_row *, const struct field *);
/*
 * The sort key of the next column (right) or of the previous one; n: none.  The columns of
 * the keys `from` to `upto` - 1 precede those of the plan.
 */
size_t page_sort_beside(const struct page_sort_row *keys, size_t n,
    const struct field_plan *, size_t from, size_t upto, size_t sort, bool right);
/* Writes a column's title; if the page is sorted by it, with "v" (falling) or "^". */
void page_sort_put_title(const char *title, bool sorted, bool falls, int width,
    bool right, struct page_picture *);
/* The options' sorting; n is at least 1. */
void page_sorting_get(const struct page_opts *, struct page_sorting *);
/* Sets the options' sorting; drops keys after a native one. */
void page_sorting_put(const struct page_sorting *, struct page_opts *);
bool page_sorting_equal(const struct page_sorting *,
    const struct page_sorting *);
bool page_sorting_native(const struct page_opts *);
/* The order in which the list is read. */
enum blklist_order page_list_order(const struct page_opts *);
bool page_list_reverse(const struct page_opts *);
/* The first key, and whether it is reversed. */
enum page_sort page_sorting_first(const struct page_opts *, bool *reverse);
/* The title of that key's column; "SITE", which has no column. */
const char *page_sort_title(const struct page_opts *);
/* 'v': the column's values fall from row to row; '^': they rise. */
char page_sorting_arrow(const struct page_opts *);

struct page_order;

/* Borrows the blocks.  -ENOMEM. */
int page_order_begin(struct page_order **, const struct page_sorting *,
    const struct blk *, size_t n);
/* Sorts until the budget is used up.  1 at the end, else 0; -ENOMEM. */
int page_order_next(struct page_order *, const struct page_view *,
    const struct scan *);
/* Blocks whose name is not known: they come last. */
uint64_t page_order_unsure(const struct page_order *);
/* At the end: the place of each row; the caller frees them. */
uint32_t *page_order_places(struct page_order *);
void page_order_free(struct page_order *);

#endif

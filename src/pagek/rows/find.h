/*
 * find: the cursor goes to the next row that an expression means; no row is
 * hidden.
 *
 * Vocabulary
 *	search	rows looked through from the cursor on, forward or back, round
 *		the end once, until one matches.  In a large list that takes many
 *		steps; between two of them the list may change, and the search
 *		goes on behind the last row that it saw and that is still there.
 *	text	an expression (filter.h); one that is none, but holds no sign
 *		either, is looked for as it is.  Digits that can be an address
 *		are one, too.
 *
 * Example
 *	r = page_find_begin(page, v, "size>=1k", false, &e);
 *	while (page_find_step(page, v, 4000000) == PAGE_FIND_ON)
 *		...					another cycle
 */
#ifndef PAGEK_FIND_H
#define PAGEK_FIND_H

#include "../page/view.h"
#include "row_filter.h"

enum page_find_state {
	PAGE_FIND_OFF,		/* no search is on its way */
	PAGE_FIND_ON,
	PAGE_FIND_HERE,		/* the cursor is on a row that matches */
	PAGE_FIND_NONE,		/* no row matches */
};

/*
 * Begins a search; text NULL: for what was looked for last.  -EINVAL with the
 * error filled: the text is wrong, and the last one stays; -ENOENT: there is no
 * last one; -ENOTSUP: the rows are groups; -ENOMEM.
 */
int page_find_begin(struct page *, const struct page_view *, const char *text,
    bool back, struct filter_error *);
/* Looks at rows for so long, and at some at least. */
enum page_find_state page_find_step(struct page *, const struct page_view *,
    int64_t ns);
void page_find_stop(struct page *);
bool page_find_is_on(const struct page *);
/* The search went round the end; and how far it has come. */
bool page_find_went_round(const struct page *);
unsigned page_find_percent(const struct page *);
/* Blocks whose name would have decided, and has not come. */
uint64_t page_find_unsure(const struct page *);
/* What was looked for last; NULL: nothing. */
const char *page_find_text(const struct page *);
void page_find_free(struct page_find *);

#endif

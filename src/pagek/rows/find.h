/*
 * find: moves the cursor to the next row that matches; no row is hidden.
 *
 * Vocabulary
 *	search	looks at rows from the cursor on, forward or back, once round the
 *		end, until one matches.  In a large list that takes many steps;
 *		after each it continues behind the last row that is still there.
 *	text	an expression (filter.h).  A text that is none, but has no operator
 *		either, is searched for literally; so are digits that may be an
 *		address.  In groups it is a part of the name, in either case.
 *
 * Example
 *	r = page_find_begin(page, v, "size>=1k", false, &e);
 *	while (page_find_step(page, v, 4000000) == PAGE_FIND_ON)
 *		...					another cycle
 */
#ifndef PAGEK_FIND_H
#define PAGEK_FIND_H

#include "../page/view.h"
#include "../blocks/row_filter.h"

enum page_find_state {
	PAGE_FIND_OFF,
	PAGE_FIND_ON,
	PAGE_FIND_HERE,		/* the cursor is on a row that matches */
	PAGE_FIND_NONE,		/* no row matches */
};

/*
 * Begins a search; text NULL: for the last text.  -EINVAL with the error filled:
 * the text is wrong, and the last one stays; -ENOENT: there is no last text, or
 * it is none for blocks; -ENOMEM.
 */
int page_find_begin(struct page *, const struct page_view *, const char *text,
    bool back, struct filter_error *);
/* Looks at rows for about `ns` nanoseconds, and at 64 at least. */
enum page_find_state page_find_step(struct page *, const struct page_view *,
    int64_t ns);
void page_find_stop(struct page *);
bool page_find_is_on(const struct page *);
bool page_find_went_round(const struct page *);
/* Progress; 0 after the first round. */
unsigned page_find_percent(const struct page *);
/* Blocks whose deciding name is not known. */
uint64_t page_find_unsure(const struct page *);
/* The last text; NULL: none. */
const char *page_find_text(const struct page *);
void page_find_free(struct page_find *);

#endif

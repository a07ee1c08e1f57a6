/*
 * rest: whether a picture could differ from the last one.
 *
 * While a target rests, fifteen pictures a second would be the same one.  A
 * picture is made of what the page is, of what the session looks at, and of what
 * time it is.  The first two are kept as they were when the last one was made,
 * and compared byte by byte; of the third the texts themselves say until when
 * they hold (times.h).  When all of it stands there is nothing to be made.
 *
 * What is not compared makes a page that never rests: whatever keeps more than
 * the page itself says, groups, filters, a paused picture and the like, is made
 * anew in each cycle.
 *
 * Example
 *	if (!page_rests(page, session, cols, rows))
 *		page_compose(page, session, cols, rows, &pic);
 */
#ifndef PAGEK_REST_H
#define PAGEK_REST_H

#include "times.h"

struct page_rest;

/* The next picture of so many columns and rows would be the last one again. */
bool page_rests_view(struct page *, const struct page_view *, int cols,
    int rows);

/* For who makes one: now it reads what it will show; it is whole, or not (NULL). */
void page_rest_begin(struct page *, const struct page_view *, int cols,
    int rows);
void page_rest_end(struct page *, const struct page_holds *);
void page_rest_free(struct page_rest *);

/*
 * In a cycle without a picture: what it cost is more than the page says is the
 * most (status.c).
 */
bool page_sample_differs(const struct page *, const struct page_view *);

#endif

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
 * anew in each cycle.  Of the page all members before `rest` are compared, and
 * pointers as pointers: what they point at is such a thing, or says how long it
 * holds, or changes only by a key, after which a picture is made anyway.
 *
 * Example
 *	if (!page_rests_view(page, &view, cols, rows))
 *		page_compose_view(page, &view, cols, rows, &pic);
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

#endif

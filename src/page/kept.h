/*
 * kept: the names that a paused picture has shown, so that it goes on showing
 * them whatever becomes of the session.
 *
 * What is asked for the first time is taken from the live view and copied;
 * from then on the copy answers.  What the live view does not know is asked
 * again: a name may still come, but none that was shown changes.
 *
 * Example
 *	page_kept_new(&k);
 *	page_kept_behind(k, v, true);	v's functions now answer from k
 *	...
 *	page_kept_free(k);
 */
#ifndef PAGEK_KEPT_H
#define PAGEK_KEPT_H

#include "view.h"

struct page_kept;

int page_kept_new(struct page_kept **);
void page_kept_free(struct page_kept *);

/*
 * Puts the copies behind the view.  Not `same`: the view looks at another
 * stream by now, where the numbers mean something else, and is not asked.
 */
void page_kept_behind(struct page_kept *, struct page_view *, bool same);

#endif

/*
 * follow: the one block, or the one group, that the cursor stays with
 * whatever is asked for: another order, groups, none of them, a filter.
 *
 * The cursor stays on its block by itself while rows come and go.  What is
 * followed is found again where that is lost: among the groups the cursor is on
 * the one that holds the block, and in that group, once it is open, on the
 * block.  A key that moves the cursor ends it, and so does the block's end,
 * which is told.
 *
 * Example
 *	page_followed_toggle(page, v);		F
 *	...
 *	page_followed_begin(page, v);		with each picture, before
 *						page_still_begin()
 */
#ifndef PAGEK_FOLLOW_H
#define PAGEK_FOLLOW_H

#include "../page/view.h"

struct page_followed;

/*
 * Follows what the cursor is on, or no longer what was followed: 1 or 0.
 * -ENOENT when there is nothing, -ENOMEM.
 */
int page_followed_toggle(struct page *, const struct page_view *);
/* False: nothing was followed. */
bool page_followed_stop(struct page *);
/*
 * The cursor goes to where it is by now, groups included.  A block that has
 * ended is said to have, in the page's message.
 */
void page_followed_begin(struct page *, const struct page_view *);
void page_followed_free(struct page_followed *);

#define PAGE_FOLLOWED_TEXT 64
/* "follow 7f3c04001040"; "" nothing is followed.  Plain ASCII. */
void page_followed_text(const struct page *, char out[PAGE_FOLLOWED_TEXT]);

#endif

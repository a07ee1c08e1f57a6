/*
 * follow: the cursor stays with one block or group, even in another order,
 * with other groups or another filter.
 *
 * By itself the cursor stays on its block only while rows come and go.  A
 * followed block is found again after each such change: among groups the cursor
 * is on the group that holds it, and in that group on the block.  A key that
 * moves the cursor ends it, and so does the free of the block, with a message.
 *
 * Example
 *	page_follow_toggle(page, v);		F
 *	...
 *	page_follow_refresh(page, v);		each picture, before
 *						page_freeze_refresh()
 */
#ifndef PAGEK_FOLLOW_H
#define PAGEK_FOLLOW_H

#include "../page/view.h"

struct page_follow;

/*
 * Follows what the cursor is on (1), or ends it (0).  -ENOENT: the cursor is on
 * nothing; -ENOMEM.
 */
int page_follow_toggle(struct page *, const struct page_view *);
/* Ends it; false: nothing was followed. */
bool page_follow_stop(struct page *);
/* Moves the cursor to it; a block that was freed is reported in page->message. */
void page_follow_refresh(struct page *, const struct page_view *);
void page_follow_free(struct page_follow *);

#define PAGE_FOLLOW_TEXT 64
/* "follow 7f3c04001040", in ASCII; "": nothing is followed. */
void page_follow_text(const struct page *, char out[PAGE_FOLLOW_TEXT]);

#endif

/*
 * touch_page: page R, references to pages, as text.  The caller brings the counts.
 *
 * Example
 *	page_touches_take(t, &reader.copy, REFCNT_WIDE);	another copy of the counts
 *	page_touches_compose(t, &head, ascii, 80, 24, &pic);
 *	page_touches_move(t, 1, false);
 *	row = page_touches_row(t, &room);
 */
#ifndef PAGEK_TOUCH_PAGE_H
#define PAGEK_TOUCH_PAGE_H

#include "touches.h"

/* All zeros but for the order at the start. */
struct page_touches {
	struct touch_list list;		/* as shown */
	enum touch_sort sort;
	bool reverse;
	struct filter *filter;		/* owned, NULL: none */
	unsigned shift;			/* counters left of the first one shown */
	unsigned shown;			/* counters in the last picture */
	uint64_t at;			/* address of the cursor's page; 0: none */
	size_t selected, top;
	int window, first;		/* lines on the screen, and the first of them */
};

/* -ENOMEM: the last lines stay. */
int page_touches_take(struct page_touches *, const struct refcnt_copy *,
    enum refcnt_plane);
/* Another target. */
void page_touches_clear(struct page_touches *);
void page_touches_fini(struct page_touches *);

/* The values in the first lines. */
struct page_touches_head {
	const char *node, *target, *state;
	const char *notice;		/* "" none */
	const char *advice;		/* below the heading if nothing is counted */
	const struct page_view *v;	/* of the blocks */
};

/* rows 0: as text, with all lines, without cursor and key bar.  -ENOMEM. */
int page_touches_compose(struct page_touches *,
    const struct page_touches_head *, bool ascii, int cols, int rows,
    struct page_picture *);
void page_touches_move(struct page_touches *, int delta, bool scroll);
/* Shows counters further to the right or left; false: there are none. */
bool page_touches_shift(struct page_touches *, int delta);
/* The row under the cursor, in *room; NULL: there is none. */
const struct touch_row *page_touches_row(const struct page_touches *,
    struct touch_row *room);
/* The filter of page K for the blocks of a row. */
void page_touches_filter_of(const struct touch_row *, char *out, size_t cap);
/* The key of the next or previous column on the screen; TOUCH_SORTS: none. */
enum touch_sort page_touches_beside(const struct page_touches *, int cols,
    bool right);

#endif

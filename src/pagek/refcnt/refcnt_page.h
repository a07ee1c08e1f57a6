/*
 * refcnt_page: page R as text; the caller brings the counts.
 *
 * Example
 *	page_refcnt_take(t, &reader.copy, REFCNT_WIDE);	another copy of the counts
 *	page_refcnt_compose(t, &head, ascii, 80, 24, &pic);
 *	page_refcnt_move(t, 1, false);
 *	row = page_refcnt_row(t, &room);
 */
#ifndef PAGEK_REFCNT_PAGE_H
#define PAGEK_REFCNT_PAGE_H

#include "refcnt.h"

/* All zeros but for the order at the start. */
struct page_refcnt {
	struct refcnt_list list;		/* as shown */
	enum refcnt_sort sort;
	bool reverse;
	struct filter *filter;		/* owned, NULL: none */
	unsigned shift;			/* counters left of the first one shown */
	unsigned shown;			/* counters in the last picture */
	uint64_t at;			/* address of the cursor's page; 0: none */
	struct page_list rows;
};

/* -ENOMEM: the last lines stay. */
int page_refcnt_take(struct page_refcnt *, const struct refcnt_copy *,
    enum refcnt_plane);
/* Another target. */
void page_refcnt_clear(struct page_refcnt *);
void page_refcnt_fini(struct page_refcnt *);

/* The values in the first lines. */
struct page_refcnt_head {
	const char *node, *target, *state;
	const char *virtual;		/* processors in place of nodes; "" none */
	const char *notice;		/* "" none */
	const char *advice;		/* below the heading if nothing is counted */
	const struct page_view *v;	/* of the blocks */
};

/* rows 0: as text, with all lines, without cursor and key bar.  -ENOMEM. */
int page_refcnt_compose(struct page_refcnt *,
    const struct page_refcnt_head *, bool ascii, int cols, int rows,
    struct page_picture *);
void page_refcnt_move(struct page_refcnt *, int delta, bool scroll);
/* Shows counters further to the right or left; false: there are none. */
bool page_refcnt_shift(struct page_refcnt *, int delta);
/* The row under the cursor, in *room; NULL: there is none. */
const struct refcnt_row *page_refcnt_row(const struct page_refcnt *,
    struct refcnt_row *room);
/* The filter of page K for the blocks of a row. */
void page_refcnt_filter_of(const struct refcnt_row *, char *out, size_t cap);
/* The key of the next or previous column on the screen; REFCNT_SORTS: none. */
size_t page_refcnt_beside(const struct page_refcnt *, int cols, bool right);

#endif

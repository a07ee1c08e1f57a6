/*
 * list_copy: all blocks that the page shows, as rows of one moment.
 *
 * The list is copied as for a pause (page_pause()), then filtered and sorted,
 * in portions.
 *
 * Example
 *	struct list_copy c = { 0 };
 *	list_copy_begin(&c, page);
 *	while ((r = list_copy_next(&c, &view, 4000000)) == 0)
 *		...				a picture, and another view
 *	for (i = 0; i < c.take.found.n; i++)
 *		use(page_collection_row(&c.take.found, i));
 *	list_copy_fini(&c);
 */
#ifndef PAGEK_LIST_COPY_H
#define PAGEK_LIST_COPY_H

#include "../blocks/choice.h"

/* All zeros before it begins. */
struct list_copy {
	struct page page;		/* the page's options, and the copy as its pause */
	struct page_row_filter *filter;	/* of the page's filter; NULL: none */
	struct page_collector take;		/* take.found has the rows */
	bool taking;
};

/* Takes the page's order and filter; rows are wide.  -ENOMEM. */
int list_copy_begin(struct list_copy *, const struct page *);
/*
 * Copies, then makes rows for most_ns. 1: all rows; 0: call again with the
 * next picture; -ENOMEM.  Once the list is copied, the view is of the copy.
 */
int list_copy_next(struct list_copy *, struct page_view *, int64_t most_ns);
void list_copy_fini(struct list_copy *);

#endif

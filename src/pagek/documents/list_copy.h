/*
 * list_copy: the blocks that the page shows, as rows of one moment; all of them,
 * where a screen may have fewer.
 *
 * The list is copied as for a pause (page_pause()), then the copy is filtered
 * and sorted.  Both go on in portions, and the list goes on meanwhile.
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
 * Goes on with the copy, then for most_ns with the rows.  1: all rows are there;
 * 0: again with the next picture; or -ENOMEM.  Once the list is copied the copy
 * stands behind the view.
 */
int list_copy_next(struct list_copy *, struct page_view *, int64_t most_ns);
void list_copy_fini(struct list_copy *);

#endif

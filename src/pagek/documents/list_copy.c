#include <errno.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "list_copy.h"

int
list_copy_begin(struct list_copy *c, const struct page *page)
{
	const char *filter = page_choice_filters(page) ?
	    page_choice_filter_text(page) : NULL;
	struct filter_error e;

	c->page.opts = page->opts;
	c->page.layout = PAGE_WIDE;
	return filter != NULL ? page_row_filter_new(&c->filter, filter, &e) : 0;
}

int
list_copy_next(struct list_copy *c, struct page_view *v, int64_t most_ns)
{
	int r = 0;

	if (c->page.paused == NULL)
		r = page_pause(&c->page, v);
	/* -ESTALE: another list has come; it is copied from its beginning. */
	if (r < 0)
		return r == -EAGAIN || r == -ESTALE ? 0 : r;
	page_view_paused(v, &c->page);
	if (!c->taking)
		page_collector_begin(&c->take, &c->page, v, c->filter,
		    PAGE_COLLECT_ALL);
	c->taking = true;
	r = page_collector_next(&c->take, &c->page, v, most_ns);
	if (r != 0)
		page_collector_stop(&c->take);
	return r;
}

void
list_copy_fini(struct list_copy *c)
{
	page_collector_fini(&c->take);
	page_row_filter_free(c->filter);
	page_fini(&c->page);
}

/*
 * A page from its first picture to its end, and the view that a picture is made
 * of.
 */
#include <langinfo.h>
#include <string.h>

#include "choice.h"
#include "find.h"
#include "followed.h"
#include "free.h"
#include "groups.h"
#include "leaving.h"
#include "marked.h"
#include "past.h"
#include "still.h"
#include "trend.h"

void
page_init(struct page *page, const struct page_opts *opts)
{
	*page = (struct page){ .opts = *opts, .layout = opts->layout,
		.units = opts->units,
		.group = opts->group, .group_below = opts->group_below,
		.group_last = opts->group };
	if (page->opts.fps < 1 || page->opts.fps > NODES_HZ)
		page->opts.fps = NODES_HZ;
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		page->opts.ascii = true;
}

/*
 * All that a page owns, and what frees it: who gives it one more pointer adds a
 * line here.
 */
#define OWNED(X) \
	X(frozen, page_thaw(page)) \
	X(freezing, page_thaw(page)) \
	X(find, page_find_free(page->find)) \
	X(groups, page_groups_free(page->groups)) \
	X(marked, page_marked_free(page->marked)) \
	X(choice, page_choice_free(page->choice)) \
	X(gaps, page_free_fini(page)) \
	X(trend, page_trend_free(page->trend)) \
	X(leaving, page_leaving_free(page->leaving)) \
	X(followed, page_followed_free(page->followed)) \
	X(past, page_past_free(page->past)) \
	X(still, page_still_free(page->still))

void
page_fini(struct page *page)
{
#define X(field, freed) \
	freed; \
	page->field = NULL;
	OWNED(X)
#undef X
}

void
page_take_over(struct page *page, const struct page *copy)
{
#define X(field, freed) page->field = copy->field;
	OWNED(X)
#undef X
}

void
page_news(void *arg)
{
	struct page *page = arg;

	page->news = true;
}

void
page_view_init(struct page_view *v, const struct nodes_look *look)
{
	static const struct blklist_counts none;

	v->look = v->live = look;
	v->fetching = "";
	v->pending = 0;
	v->names_no = 0;
	v->gone = false;
	v->freed = NULL;
	v->wrappers = NULL;
	v->units = PAGE_UNITS_EXACT;
	v->utc = false;
	v->counts = look->list != NULL ? blklist_counts(look->list) : &none;
	v->now = mono_now();
}

uint64_t
page_view_total(const struct page_view *v)
{
	return v->look->list != NULL ? v->counts->aRecActive : 0;
}

uint64_t
page_view_changes(const struct page_view *v)
{
	/* Blocks also go without a record, when a list is being merged. */
	return v->counts->records + v->counts->inherited +
	    ((uint64_t)v->counts->aRecActive << 36);
}

bool
page_view_known(const struct page_view *v)
{
	return v->look->list != NULL && v->look->state != NODES_DORMANT &&
	    (v->look->settled || v->counts->aRecActive > 0);
}

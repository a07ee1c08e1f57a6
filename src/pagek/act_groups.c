/*
 * What keys and `:group` do with groups.
 */
#include <errno.h>
#include <string.h>

#include "../page/groups.h"
#include "../page/sum_columns.h"
#include "app.h"

static bool
has_groups(struct app *app)
{
	bool strict = app->page->layout == PAGE_CLASSIC_STRICT;

	if (strict)
		app_say(app, "strict has no groups; c leaves it");
	return !strict;
}

static void
say_kinds(struct app *app)
{
	const struct page_group_kind *k = page_group_kind(app->page->group);
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(app->page));

	app_say(app, "groups: %s%s%s", k != NULL ? k->name : "none",
	    k2 != NULL ? ", and in each by " : "", k2 != NULL ? k2->name : "");
}

void
app_group_next(struct app *app)
{
	struct page *page = app->page;

	if (!has_groups(app))
		return;
	page_set_group(page, page->group + 1);
	say_kinds(app);
}

/* Grouped by what it is grouped by already, each group would have one. */
void
app_group_below_next(struct app *app)
{
	struct page *page = app->page;
	unsigned kind = page_group_below(page) + 1;

	if (!has_groups(app))
		return;
	if (page->group == 0) {
		app_say(app, "B groups groups again: b makes them");
		return;
	}
	if (kind == page->group)
		kind++;
	page_set_group_below(page, kind);
	say_kinds(app);
}

void
app_group_flat(struct app *app)
{
	struct page *page = app->page;

	if (!has_groups(app))
		return;
	if (page->group == 0)
		page_set_group(page, page->group_last != 0 ?
		    page->group_last : page_group_kind_called("site"));
	else
		page_set_group(page, 0);
	say_kinds(app);
}

/* "type", or with a second level "site>type". */
void
app_group_by(struct app *app, const char *kinds)
{
	unsigned kind, below;
	char list[160];

	if (!has_groups(app))
		return;
	if (page_group_kinds_parse(kinds, &kind, &below) < 0) {
		page_group_kinds_list(list, sizeof list);
		app_say(app, "group by what? there are none, %s", list);
		return;
	}
	page_set_group(app->page, kind);
	page_set_group_below(app->page, below);
	say_kinds(app);
}

/* --- order ---------------------------------------------------------------- */

static void
say_sort(struct app *app)
{
	app_say(app, "groups by %s%s", page_sum_word(app->page->group_sort),
	    app->page->group_reverse ? ", reversed" : "");
}

/* Without a cursor to follow, a new order is read from its top. */
static void
set_sort(struct app *app, enum profile_measure by, bool reverse)
{
	app->page->group_sort = by;
	app->page->group_reverse = reverse;
	if (!app->page->has_cursor)
		app->page->offs = 0;
	say_sort(app);
}

void
app_group_sort(struct app *app, int step)
{
	const struct page_group_kind *k = page_group_kind(app->page->group);

	set_sort(app, page_sum_next(app->page->group_sort, step,
	    k->by == PROFILE_FRAME), app->page->group_reverse);
}

bool
app_group_sort_by(struct app *app, const char *word)
{
	enum profile_measure by;

	if (page_sum_called(word, &by) < 0)
		return false;
	set_sort(app, by, app->page->group_reverse);
	return true;
}

void
app_group_reverse(struct app *app)
{
	set_sort(app, app->page->group_sort, !app->page->group_reverse);
}

/* --- open and close ------------------------------------------------------- */

static void
say_failed(struct app *app, int r)
{
	if (r == -ENOENT)
		app_say(app, app->page->group != 0 ? "there is no group here" :
		    "these are no groups: b makes them");
	else if (r == -ENOSPC)
		app_say(app, "so many groups are open: close some");
	else if (r < 0)
		app_say(app, "cannot open the group: %s", strerror(-r));
}

/* Where there is a second level, Enter opens and closes as Right and Left do. */
void
app_group_enter(struct app *app)
{
	struct page *page = app->page;
	struct page_group_at at;
	struct page_view v;

	page_view_shown(&v, page, app->session);
	if (page_group_below(page) != 0 && page_groups_at_hand(page, &v) &&
	    page_groups_at(page->groups, page->has_cursor ? page->cursor :
	    page->offs, &at) && at.what == ROW_GROUP) {
		if (page_group_is_open(page, at.index))
			page_fold(page);
		else
			say_failed(app, page_unfold(page, &v));
	} else if (!page_open_group(page, &v)) {
		say_failed(app, -ENOENT);
	}
}

void
app_group_unfold(struct app *app)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	say_failed(app, page_unfold(app->page, &v));
}

void
app_group_fold(struct app *app)
{
	if (app->page->opened)
		page_close_group(app->page);
	else if (!page_fold(app->page))
		app_say(app, app->page->group != 0 ? "nothing is open here" :
		    "these are no groups: b makes them");
}

void
app_group_unfold_all(struct app *app)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	say_failed(app, page_unfold_all(app->page, &v));
}

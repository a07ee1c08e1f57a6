/*
 * Page H over page K: the difference to the mark.  It covers the page whole,
 * which goes on below.
 */
#include "../page/marked.h"
#include "app.h"

void
app_diff(struct app *app)
{
	if (!page_is_marked(app->page)) {
		app_say(app, app->page->marked != NULL &&
		    app->page->marked->was_lost ? "the mark is lost: the list "
		    "has begun anew; m sets one" :
		    "there is no mark; m sets one");
		return;
	}
	app->diff = (struct page_diff){ 0 };
	app_overlay_open(app, APP_DIFF);
}

void
app_diff_open(struct app *app)
{
	app_mark(app);
	app->diff = (struct page_diff){ 0 };
	app_overlay_open(app, APP_DIFF);
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	return page_diff_compose(&app->diff, app->page, &v, app->cols, rows,
	    pic);
}

static void
move(struct app *app, int delta)
{
	page_diff_move(&app->diff, app->page, delta);
}

static int
window(const struct app *app)
{
	return app->diff.window > 1 ? app->diff.window : 1;
}

static void
enter(struct app *app)
{
	struct page_view v;
	struct blk b;
	bool live;

	page_view_shown(&v, app->page, app->session);
	if (page_diff_open(&app->diff, app->page, &v))
		return;
	if (!page_diff_block(&app->diff, app->page, &b, &live))
		app_say(app, "there is nothing here");
	else if (!live)
		app_say(app, "that block has been freed");
	else
		app_open_detail_of(app, &v, &b);
}

static bool
back(struct app *app)
{
	return page_diff_back(&app->diff);
}

/* The page's own, so that both pages tell the same; blocks alone are t's. */
static void
next_kind(struct app *app)
{
	unsigned by = page_group_kind_called("function"), kind;

	/* Where the page has no groups these are by function. */
	kind = (app->page->group != 0 ? app->page->group : by) + 1;
	if (page_group_kind(kind) == NULL)
		kind = by;
	page_set_group(app->page, kind);
	page_diff_regroup(&app->diff);
	app_say(app, "groups: %s", page_group_kind(kind)->name);
}

static bool
key(struct app *app, int code)
{
	enum page_action action = page_key_action(code);

	switch (action) {
	case PAGE_DO_DIFF:
		page_diff_next_view(&app->diff);
		app_say(app, "view: %s", page_diff_view_name(&app->diff));
		return true;
	case PAGE_DO_GROUP:
		next_kind(app);
		return true;
	case PAGE_DO_FLAT:
		page_diff_toggle(&app->diff);
		return true;
	case PAGE_DO_MARK:
		app_mark(app);
		app->diff = (struct page_diff){ 0 };
		return true;
	case PAGE_DO_FILTER:
		app_filter_open(app);
		return true;
	case PAGE_DO_SINCE:
		app_say(app, "this is page H");
		return true;
	case PAGE_DO_NODES:
	case PAGE_DO_PAUSE:
		return false;
	case PAGE_DO_SAVE:
		app_do(app, action);
		return true;
	case PAGE_DO_LISTING:
		app_say(app, "a listing is of page K: 1 goes there; e saves "
		    "this, :export FILE writes all of it");
		return true;
	default:
		return app_overlay_means_nothing(app, code, 'H');
	}
}

const struct app_overlay_ops app_overlay_diff = {
	.whole = true,
	.help = PAGE_KEYS_DIFF,
	.compose = compose,
	.move = move,
	.window = window,
	.enter = enter,
	.back = back,
	.key = key,
};

/*
 * Page H over page K: the difference to the mark.  It covers the page whole,
 * which goes on below.
 */
#include "app.h"
#include "marked.h"

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

static bool
key(struct app *app, int code)
{
	switch (page_key_action(code)) {
	case PAGE_DO_DIFF:
		page_diff_next_view(&app->diff);
		app_say(app, "view: %s", page_diff_view_name(&app->diff));
		return true;
	case PAGE_DO_GROUP:
		page_diff_toggle(&app->diff);
		return true;
	case PAGE_DO_MARK:
		app_mark(app);
		app->diff = (struct page_diff){ 0 };
		return true;
	case PAGE_DO_NODES:
	case PAGE_DO_PAUSE:
		return false;
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

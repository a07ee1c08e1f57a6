/*
 * The overlays over one block and one function: detail.c and kin.c make their
 * lines, here is what keys do in them.
 */
#include "app.h"
#include "free.h"

/* --- the block ---------------------------------------------------------- */

void
app_open_detail(struct app *app)
{
	struct page *page = app->page;
	struct page_view v;
	char what[200];
	struct blk b;

	page_view_shown(&v, page, app->session);
	if (!page_block_at_cursor(page, &v, &b)) {
		app_say(app, "there is no block here");
		return;
	}
	if (page_is_free(&b)) {
		page_free_sentence(v.look, &b, what, sizeof what);
		app_say(app, "%s", what);
		return;
	}
	if (!page->has_cursor)
		page_move_to(page, page->offs);
	page_detail_open(&app->detail, &v, &b);
	nodes_session_watch(app->session, app->detail.layer, b.addr, b.seq);
	app_overlay_open(app, APP_DETAIL);
}

static int
detail_compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	return page_detail_compose(&app->detail, app->page, &v, app->cols,
	    rows, pic);
}

static void
detail_move(struct app *app, int delta)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	page_detail_move(&app->detail, &v, delta);
}

static int
detail_window(const struct app *app)
{
	return app->detail.scroll.window;
}

static void
open_kin(struct app *app)
{
	struct page_call call;
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	if (!page_detail_call(&app->detail, &v, &call)) {
		app_say(app, "there is no call here");
		return;
	}
	page_kin_open(&app->kin, app->detail.blk.caller, &call);
	app_overlay_open(app, APP_KIN);
}

static bool
detail_key(struct app *app, int code)
{
	if (code != 'g')
		return false;
	open_kin(app);
	return true;
}

const struct app_overlay_ops app_overlay_detail = {
	.help = PAGE_KEYS_DETAIL,
	.compose = detail_compose,
	.move = detail_move,
	.window = detail_window,
	.enter = open_kin,
	.key = detail_key,
};

/* --- callers and callees ------------------------------------------------ */

static int
kin_compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	return page_kin_compose(&app->kin, app->page, &v, app->cols, rows,
	    pic);
}

static void
kin_move(struct app *app, int delta)
{
	page_kin_move(&app->kin, delta);
}

static int
kin_window(const struct app *app)
{
	return app->kin.scroll.window;
}

static void
kin_enter(struct app *app)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	if (!page_kin_go(&app->kin, &v))
		app_say(app, "there is no function here");
}

static bool
kin_back(struct app *app)
{
	return page_kin_back(&app->kin);
}

const struct app_overlay_ops app_overlay_kin = {
	.compose = kin_compose,
	.move = kin_move,
	.window = kin_window,
	.enter = kin_enter,
	.back = kin_back,
};

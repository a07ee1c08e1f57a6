/*
 * The overlays over one block and one function: detail.c and kin.c make their
 * lines, here is what keys do in them.
 */
#include <string.h>

#include "../page/free.h"
#include "app.h"

/* --- the block ---------------------------------------------------------- */

static void
show_block(struct app *app, const struct page_view *v, const struct blk *b)
{
	page_detail_open(&app->detail, v, b);
	nodes_session_watch(app->session, app->detail.layer, b->addr, b->seq);
}

void
app_open_detail_of(struct app *app, const struct page_view *v,
    const struct blk *b)
{
	app->ntrail = 0;
	show_block(app, v, b);
	app_overlay_open(app, APP_DETAIL);
}

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
	app_open_detail_of(app, &v, &b);
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

/* Another block in the place of this one, which Esc comes back to. */
static void
go_to_block(struct app *app, const struct blk *b)
{
	struct page_view v;

	if (app->ntrail == APP_TRAIL) {
		memmove(app->trail, app->trail + 1,
		    (APP_TRAIL - 1) * sizeof app->trail[0]);
		app->ntrail--;
	}
	app->trail[app->ntrail++] = app->detail.blk;
	page_view_shown(&v, app->page, app->session);
	show_block(app, &v, b);
}

static bool
detail_back(struct app *app)
{
	struct page_view v;

	if (app->ntrail == 0)
		return false;
	page_view_shown(&v, app->page, app->session);
	show_block(app, &v, &app->trail[--app->ntrail]);
	return true;
}

static void
detail_enter(struct app *app)
{
	struct blk b;

	if (page_detail_block(&app->detail, &b))
		go_to_block(app, &b);
	else
		open_kin(app);
}

static void
go_to_neighbour(struct app *app, bool behind)
{
	struct page_view v;
	struct blk b;

	page_view_shown(&v, app->page, app->session);
	if (page_detail_neighbour(&app->detail, &v, behind, &b))
		go_to_block(app, &b);
	else
		app_say(app, "no block is known to lie %s it",
		    behind ? "behind" : "before");
}

static bool
detail_key(struct app *app, int code)
{
	if (code == 'g')
		open_kin(app);
	else if (code == '[' || code == ']')
		go_to_neighbour(app, code == ']');
	else
		return false;
	return true;
}

const struct app_overlay_ops app_overlay_detail = {
	.help = PAGE_KEYS_DETAIL,
	.compose = detail_compose,
	.move = detail_move,
	.window = detail_window,
	.enter = detail_enter,
	.back = detail_back,
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

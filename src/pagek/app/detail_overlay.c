#include <stdio.h>
#include <string.h>

#include "../panels/detail.h"
#include "../blocks/free_blocks.h"
#include "../rows/rows.h"
#include "app.h"

#define TRAIL 16

struct detail {
	struct page_detail page;
	struct blk trail[TRAIL];	/* blocks that Esc goes back to, newest last */
	int ntrail;
	struct app_source source;
};

static struct detail *
detail_of(const struct app *app)
{
	return app_panel_state(app, APP_DETAIL);
}

static struct page_callers *
callers_of(const struct app *app)
{
	return app_panel_state(app, APP_CALLERS);
}

static const struct blk *
block_of(const struct app *app)
{
	return &detail_of(app)->page.blk;
}

static void
show_block(struct app *app, const struct blk *b)
{
	struct page_detail *d = &detail_of(app)->page;
	struct page_view v = app_view(app);

	page_detail_open(d, &v, b);
	nodes_session_watch(app->session, d->layer, b->addr, b->seq);
}

void
app_open_detail_of(struct app *app, const struct blk *b)
{
	detail_of(app)->ntrail = 0;
	show_block(app, b);
	app_panel_open(app, APP_DETAIL);
}

void
app_open_detail(struct app *app)
{
	struct page *page = app->page;
	struct page_view v = app_view(app);
	char what[200];
	struct blk b;

	if (!page_block_at_cursor(page, &v, &b)) {
		app_say(app, "there is no block here");
		return;
	}
	if (page_is_free(&b)) {
		page_free_sentence(v.look, &b, what, sizeof what);
		app_say(app, "%s", what);
		return;
	}
	if (!page->cursor.on)
		page_move_to(page, page->offs);
	app_open_detail_of(app, &b);
}

static int
detail_compose(struct app *app, int rows, struct page_picture *pic)
{
	struct detail *d = detail_of(app);
	struct page_view v = app_view(app);
	struct page_call call;

	app_source_want(app, &d->source, page_detail_call(&d->page, &v,
	    &call) ? &call : NULL);
	return page_detail_compose(&d->page, app->page, &v, &d->source.shown,
	    app->cols, rows, pic);
}

static void
detail_move(struct app *app, int delta, bool scroll)
{
	struct page_view v = app_view(app);

	if (scroll)
		page_detail_scroll(&detail_of(app)->page, delta);
	else
		page_detail_move(&detail_of(app)->page, &v, delta);
}

static int
detail_window(const struct app *app)
{
	return detail_of(app)->page.scroll.window;
}

static void
open_callers(struct app *app)
{
	struct page_call call;
	struct page_view v = app_view(app);

	if (!page_detail_call(&detail_of(app)->page, &v, &call)) {
		app_say(app, "there is no call here");
		return;
	}
	page_callers_open(callers_of(app), block_of(app)->caller, &call);
	app_panel_open(app, APP_CALLERS);
}

static void
go_to_block(struct app *app, const struct blk *b)
{
	struct detail *d = detail_of(app);

	if (d->ntrail == TRAIL) {
		memmove(d->trail, d->trail + 1,
		    (TRAIL - 1) * sizeof d->trail[0]);
		d->ntrail--;
	}
	d->trail[d->ntrail++] = d->page.blk;
	show_block(app, b);
}

static bool
detail_back(struct app *app)
{
	struct detail *d = detail_of(app);

	if (d->ntrail == 0)
		return false;
	show_block(app, &d->trail[--d->ntrail]);
	return true;
}

static void
detail_enter(struct app *app)
{
	struct blk b;

	if (page_detail_block(&detail_of(app)->page, &b))
		go_to_block(app, &b);
	else
		open_callers(app);
}

static void
go_to_neighbour(struct app *app, bool behind)
{
	struct page_view v = app_view(app);
	struct blk b;

	if (page_detail_neighbour(&detail_of(app)->page, &v, behind, &b))
		go_to_block(app, &b);
	else
		app_say(app, "no block is known %s it",
		    behind ? "behind" : "before");
}

static void
go_before(struct app *app)
{
	go_to_neighbour(app, false);
}

static void
go_behind(struct app *app)
{
	go_to_neighbour(app, true);
}

static void
edit_source(struct app *app)
{
	app_source_edit(app, &detail_of(app)->source);
}

static void
detail_fini(struct app *app)
{
	app_source_drop(&detail_of(app)->source);
}

static void
detail_want(const struct app *app, struct nodes_view *view)
{
	const struct page_detail *d = &detail_of(app)->page;

	view->layer = d->layer;
	view->addr = d->blk.addr;
	view->seq = d->blk.seq;
}

static const struct panel_key detail_keys[] = {
	{ .names = "Enter", .help = "open the block under the cursor" },
	{ .names = "[ ]", .help = "open the previous or the next block in "
	    "memory" },
	{ .action = PAGE_DO_EDIT, .run = edit_source },
	{ .code = { '[' }, .run = go_before },
	{ .code = { ']' }, .run = go_behind },
	{ .names = "g", .help = "show callers and callees of the call under "
	    "the cursor", .code = { 'g' }, .run = open_callers },
};

const struct panel_ops overlay_detail = {
	.title = "in the detail of a block",
	.keys = detail_keys,
	.nkeys = BASE_NELEM(detail_keys),
	.state_size = sizeof(struct detail),
	/* Neighbours in memory and time may be anywhere in the list. */
	.blocks = PANEL_BLOCKS_OF_FEW,
	.compose = detail_compose,
	.move = detail_move,
	.window = detail_window,
	.enter = detail_enter,
	.back = detail_back,
	.want = detail_want,
	.fini = detail_fini,
};

void
app_show_address(struct app *app)
{
	bool copy = app->page->opts.clipboard && app->clip.available;
	struct blk b = *block_of(app);
	struct page_view v = app_view(app);
	char text[24];

	if (app_panel_top(app) != APP_DETAIL &&
	    !page_block_at_cursor(app->page, &v, &b)) {
		app_say(app, "there is no block here");
		return;
	}
	/* Outside text must never go to the clipboard. */
	snprintf(text, sizeof text, "0x%0*llx", v.look->classic ? 8 : 12,
	    (unsigned long long)b.addr);
	if (copy)
		snprintf(app->clip.text, sizeof app->clip.text, "%s", text);
	app_say(app, "address %s%s", text, copy ?
	    ", sent to the clipboard" : "");
}

static int
callers_compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_view v = app_view(app);

	return page_callers_compose(callers_of(app), app->page, &v, app->cols, rows,
	    pic);
}

static void
callers_move(struct app *app, int delta, bool scroll)
{
	page_callers_move(callers_of(app), delta);
	if (scroll)
		callers_of(app)->scroll.top += delta;
}

static int
callers_window(const struct app *app)
{
	return callers_of(app)->scroll.window;
}

static void
callers_enter(struct app *app)
{
	struct page_view v = app_view(app);

	if (!page_callers_go(callers_of(app), &v))
		app_say(app, "there is no function here");
}

static bool
callers_back(struct app *app)
{
	return page_callers_back(callers_of(app));
}

const struct panel_ops overlay_callers = {
	.state_size = sizeof(struct page_callers),
	.blocks = PANEL_BLOCKS_ALL,
	.compose = callers_compose,
	.move = callers_move,
	.window = callers_window,
	.enter = callers_enter,
	.back = callers_back,
};

/*
 * An address in large digits: to be read from afar, or copied by hand, where it
 * would stand between other columns or scroll away.  Where it is asked for, the
 * terminal gets it for its clipboard, too.
 */
#include <stdio.h>

#include "../page/free.h"
#include "../page/large.h"
#include "app.h"

static void
address_text(const struct app *app, char out[24])
{
	const struct nodes_look *look = nodes_session_look(app->session);

	snprintf(out, 24, "%0*llx", look->classic ? 8 : 12,
	    (unsigned long long)app->shown_addr);
}

/* Digits and nothing else: what comes from outside never goes there. */
static void
to_clipboard(struct app *app)
{
	char text[24];

	app->clip_sent = app->page->opts.clipboard && app->clip_taken;
	if (!app->clip_sent)
		return;
	address_text(app, text);
	snprintf(app->clip, sizeof app->clip, "0x%s", text);
}

void
app_show_address(struct app *app)
{
	struct page_view v;
	struct blk b;

	if (app->overlay == APP_DETAIL) {
		app->shown_addr = app->detail.blk.addr;
	} else {
		page_view_shown(&v, app->page, app->session);
		if (!page_block_at_cursor(app->page, &v, &b)) {
			app_say(app, "there is no block here");
			return;
		}
		app->shown_addr = b.addr;
	}
	to_clipboard(app);
	app_overlay_open(app, APP_ADDRESS);
}

static int
address_compose(struct app *app, int rows, struct page_picture *pic)
{
	char text[24];
	int r;

	address_text(app, text);
	picture_line(pic);
	picture_printf(pic, "ADDRESS");
	page_overlay_title("any key closes", pic);
	picture_line(pic);
	picture_printf(pic, "0x%s%s", text, app->clip_sent ?
	    "  sent to the clipboard" : "");
	picture_large(pic, text);
	r = picture_end(pic);
	if (r == 0)
		page_scroll_cut(&app->scroll, pic, rows - 1);
	return r;
}

static void
nothing_moves(struct app *app, int delta)
{
	(void)app;
	(void)delta;
}

static int
address_window(const struct app *app)
{
	return app->scroll.window;
}

static bool
address_key(struct app *app, int code)
{
	/* What ends or stops the page does that here as well. */
	if (code == PAGE_CTRL('C') || code == PAGE_CTRL('Z') ||
	    code == PAGE_CTRL('L'))
		return false;
	app_overlay_close(app);
	return true;
}

const struct app_overlay_ops app_overlay_address = {
	.compose = address_compose,
	.move = nothing_moves,
	.window = address_window,
	.enter = app_overlay_close,
	.key = address_key,
};

/*
 * What lies over the page: the help, made from the key table, and the list of
 * the node's targets.  The page goes on below.
 */
#include <signal.h>

#include "app.h"

void
app_overlay_open(struct app *app, enum app_overlay overlay)
{
	size_t i;
	const struct nodes_look *look;

	app->overlay = overlay;
	app->overlay_top = 0;
	app->selected = 0;
	if (overlay != APP_TARGETS)
		return;
	look = nodes_session_look(app->session);
	for (i = 0; i < app->ntargets; i++)
		if (app->targets[i].pid == look->pid)
			app->selected = i;
}

static void
put_target(const struct nodes_target *t, struct page_picture *pic)
{
	const char *state = page_target_state(t->state);
	char bytes[24], blocks[8];

	picture_line(pic);
	picture_printf(pic, "%8d ", (int)t->pid);
	picture_text(pic, t->comm, 16, PICTURE_LEFT);
	if (t->state == WIRE_S_NO_DATA) {
		picture_printf(pic, " %11s %6s ", "-", "-");
	} else {
		base_human_bytes(bytes, sizeof bytes,
		    t->n[WIRE_N_LIVE_BYTES]);
		base_fit_count(blocks, 6, t->n[WIRE_N_LIVE_BLOCKS]);
		picture_printf(pic, " %11s %6s ", bytes, blocks);
	}
	picture_printf(pic, "%-8s", state != NULL ? state : "?");
	if (t->reason[0] != '\0') {
		picture_printf(pic, " ");
		picture_text(pic, t->reason, pic->cols, PICTURE_FREE);
	}
}

static void
put_targets(const struct app *app, struct page_picture *pic)
{
	size_t i;

	for (i = 0; i < app->ntargets; i++) {
		put_target(&app->targets[i], pic);
		if (i == app->selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
}

static void
put_help(struct page_picture *pic)
{
	page_keys_help(pic);
	picture_line(pic);
	picture_printf(pic, "commands");
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	app_commands_help(pic);
	picture_line(pic);
	picture_printf(pic, "status line");
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	page_counters_help(pic);
}

static void
put_title(const struct app *app, struct page_picture *pic)
{
	picture_line(pic);
	if (app->overlay == APP_HELP)
		picture_printf(pic, "HELP  page K     j k move  Esc close");
	else
		picture_printf(pic, "     PID COMM                    LIVE "
		    "BLOCKS STATE    j k Enter go  Esc close");
	picture_mark_line(pic, PAGE_HEADING);
}

/* Lines [top, top + n) of the picture move up below the title. */
static void
cut_lines(struct page_picture *pic, int top, int n)
{
	int i;

	for (i = 0; i < n && top + i + 1 < pic->rows; i++)
		pic->line[i + 1] = pic->line[top + i + 1];
	pic->rows = i + 1;
}

bool
app_overlay_compose(struct app *app, struct page_picture *pic)
{
	int most;

	if (app->overlay == APP_NO_OVERLAY)
		return false;
	picture_begin(pic, app->cols, app->page->opts.ascii);
	put_title(app, pic);
	if (app->overlay == APP_HELP)
		put_help(pic);
	else
		put_targets(app, pic);
	if (picture_end(pic) < 0)
		return false;
	/* Line 1 of the page, with its state, and the last line stay. */
	app->overlay_window = app->rows > 4 ? app->rows - 3 : 1;
	app->overlay_lines = pic->rows - 1;
	most = app->overlay_lines - app->overlay_window;
	if (app->overlay == APP_TARGETS) {
		if ((int)app->selected < app->overlay_top)
			app->overlay_top = (int)app->selected;
		if ((int)app->selected >= app->overlay_top +
		    app->overlay_window)
			app->overlay_top = (int)app->selected -
			    app->overlay_window + 1;
	}
	if (app->overlay_top > most)
		app->overlay_top = most;
	if (app->overlay_top < 0)
		app->overlay_top = 0;
	cut_lines(pic, app->overlay_top, app->overlay_window);
	return true;
}

static void
overlay_move(struct app *app, int delta)
{
	int64_t at;

	if (app->overlay != APP_TARGETS) {
		app->overlay_top += delta;
		return;
	}
	at = (int64_t)app->selected + delta;
	if (at >= (int64_t)app->ntargets)
		at = (int64_t)app->ntargets - 1;
	app->selected = at > 0 ? (size_t)at : 0;
}

static void
overlay_close(struct app *app)
{
	app->overlay = APP_NO_OVERLAY;
}

static void
overlay_enter(struct app *app)
{
	bool go = app->overlay == APP_TARGETS && app->ntargets > 0;

	overlay_close(app);
	if (go)
		app_switch(app, &app->targets[app->selected]);
}

/*
 * Moving keys move in it; q closes it too, for most would mean just that, and
 * F10, ^C and the like mean what they always do.
 */
void
app_overlay_key(struct app *app, int code)
{
	if (code == '\r' || code == '\n' || code == PAGE_KEY_ENTER) {
		overlay_enter(app);
		return;
	}
	if (code == 'q') {
		overlay_close(app);
		return;
	}
	switch (page_key_action(code)) {
	case PAGE_DO_DOWN:
		overlay_move(app, 1);
		break;
	case PAGE_DO_UP:
		overlay_move(app, -1);
		break;
	case PAGE_DO_PAGE_DOWN:
		overlay_move(app, app->overlay_window);
		break;
	case PAGE_DO_PAGE_UP:
		overlay_move(app, -app->overlay_window);
		break;
	case PAGE_DO_FIRST:
		overlay_move(app, -(1 << 24));
		break;
	case PAGE_DO_LAST:
		overlay_move(app, 1 << 24);
		break;
	case PAGE_DO_HELP:
		if (app->overlay == APP_HELP)
			overlay_close(app);
		else
			app_overlay_open(app, APP_HELP);
		break;
	case PAGE_DO_CLOSE:
		overlay_close(app);
		break;
	case PAGE_DO_QUIT:
		app_quit(app, PAGE_QUIT, 0);
		break;
	case PAGE_DO_INTERRUPT:
		app_quit(app, PAGE_INTERRUPTED, SIGINT);
		break;
	case PAGE_DO_SUSPEND:
		app->suspend = true;
		break;
	case PAGE_DO_REPAINT:
		app->repaint = true;
		break;
	default:
		app_say(app, "Esc closes this");
		break;
	}
}

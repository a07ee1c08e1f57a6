/*
 * What lies over the page: the help, made from the key table, the list of the
 * node's targets, and those of overlay_block.c.  The page goes on below.
 */
#include <stdio.h>
#include <string.h>

#include "../page/targets_page.h"
#include "app.h"

static void
put_help(struct page_picture *pic, enum page_keys first)
{
	page_keys_help(pic, first);
	picture_line(pic);
	picture_printf(pic, "commands");
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	app_commands_help(pic);
	picture_line(pic);
	picture_printf(pic, "status line");
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	page_counters_help(pic);
}

/* --- help --------------------------------------------------------------- */

static const struct app_overlay_ops *const overlays[APP_OVERLAYS];

/* Of whom keys were asked for comes first. */
static enum page_keys
keys_below(const struct app *app)
{
	return app->nunder > 0 ? overlays[app->under[app->nunder - 1]]->help :
	    PAGE_KEYS_MOVING;
}

static int
help_compose(struct app *app, int rows, struct page_picture *pic)
{
	enum page_keys first = keys_below(app);
	int r;

	picture_line(pic);
	picture_printf(pic, "HELP  page %c", first == PAGE_KEYS_NODES ? 'G' :
	    first == PAGE_KEYS_DIFF ? 'H' : 'K');
	page_overlay_title("j k move  Esc close", pic);
	put_help(pic, first);
	r = picture_end(pic);
	if (r == 0)
		page_scroll_cut(&app->scroll, pic, rows - 1);
	return r;
}

static void
help_move(struct app *app, int delta)
{
	app->scroll.top += delta;
}

static int
plain_window(const struct app *app)
{
	return app->scroll.window;
}

/* --- targets ------------------------------------------------------------ */

static int
targets_compose(struct app *app, int rows, struct page_picture *pic)
{
	int r;

	page_targets_put(app->targets, app->ntargets, app->selected, pic);
	r = picture_end(pic);
	if (r < 0)
		return r;
	page_scroll_to(&app->scroll, (int)app->selected, rows > 2 ? rows - 1 :
	    1);
	page_scroll_cut(&app->scroll, pic, rows - 1);
	return 0;
}

static void
targets_move(struct app *app, int delta)
{
	int64_t at = (int64_t)app->selected + delta;

	if (at >= (int64_t)app->ntargets)
		at = (int64_t)app->ntargets - 1;
	app->selected = at > 0 ? (size_t)at : 0;
}

static void
targets_enter(struct app *app)
{
	app_overlay_close(app);
	if (app->ntargets > 0)
		app_switch(app, &app->targets[app->selected]);
}

/* --- costs -------------------------------------------------------------- */

static void
diag_from(const struct app *app, struct nodes_effort *effort,
    struct page_diag_from *f)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	nodes_session_effort(app->session, effort);
	*f = (struct page_diag_from){
		.page = app->page,
		.look = look,
		.counts = look->list != NULL ? blklist_counts(look->list) :
		    NULL,
		.effort = effort,
		.costs = &app->costs,
		.pending = nodes_session_symbols_pending(app->session),
		.now = mono_now(),
	};
}

void
app_diag_tick(struct app *app)
{
	struct nodes_effort effort;
	struct page_diag_from from;

	diag_from(app, &effort, &from);
	page_diag_sample(&app->diag, &from);
}

static int
costs_compose(struct app *app, int rows, struct page_picture *pic)
{
	struct nodes_effort effort;
	struct page_diag_from from;
	int r;

	page_costs_put(&app->costs, app->page,
	    nodes_session_look(app->session), pic);
	diag_from(app, &effort, &from);
	page_diag_put(&app->diag, &from, pic);
	r = picture_end(pic);
	if (r == 0)
		page_scroll_cut(&app->scroll, pic, rows - 1);
	return r;
}

static bool
costs_key(struct app *app, int code)
{
	if (page_key_action(code) == PAGE_DO_COSTS)
		app_overlay_close(app);
	else if (page_key_action(code) == PAGE_DO_COUNT_ANEW)
		app_count_anew(app);
	else
		return false;
	return true;
}

/* --- all of them -------------------------------------------------------- */

static const struct app_overlay_ops help_ops = {
	.compose = help_compose,
	.move = help_move,
	.window = plain_window,
	.enter = app_overlay_close,
};

static const struct app_overlay_ops targets_ops = {
	.compose = targets_compose,
	.move = targets_move,
	.window = plain_window,
	.enter = targets_enter,
};

static const struct app_overlay_ops costs_ops = {
	.compose = costs_compose,
	.move = help_move,
	.window = plain_window,
	.enter = app_overlay_close,
	.key = costs_key,
};

static const struct app_overlay_ops *const overlays[APP_OVERLAYS] = {
	[APP_HELP] = &help_ops,
	[APP_TARGETS] = &targets_ops,
	[APP_DETAIL] = &app_overlay_detail,
	[APP_KIN] = &app_overlay_kin,
	[APP_COSTS] = &costs_ops,
	[APP_SETTINGS] = &app_overlay_settings,
	[APP_SORT] = &app_overlay_sort,
	[APP_NODES] = &app_overlay_nodes,
	[APP_DIFF] = &app_overlay_diff,
};

static void
select_own_target(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	size_t i;

	app->selected = 0;
	for (i = 0; i < app->ntargets; i++)
		if (app->targets[i].pid == look->pid)
			app->selected = i;
}

/* Each of them lies there once: what was under it is no longer. */
void
app_overlay_open(struct app *app, enum app_overlay overlay)
{
	int i, n = 0;

	for (i = 0; i < app->nunder; i++)
		if (app->under[i] != overlay)
			app->under[n++] = app->under[i];
	if (app->overlay != APP_NO_OVERLAY && app->overlay != overlay)
		app->under[n++] = app->overlay;
	app->nunder = n;
	app->overlay = overlay;
	app->scroll = (struct page_scroll){ 0 };
	if (overlay == APP_TARGETS)
		select_own_target(app);
}

void
app_overlay_close(struct app *app)
{
	app->overlay = app->nunder > 0 ? app->under[--app->nunder] :
	    APP_NO_OVERLAY;
	app->scroll = (struct page_scroll){ 0 };
}

void
app_overlay_close_all(struct app *app)
{
	app->overlay = APP_NO_OVERLAY;
	app->nunder = 0;
}

bool
app_overlay_is_whole(const struct app *app)
{
	return app->overlay != APP_NO_OVERLAY && overlays[app->overlay]->whole;
}

/* The line below: what is typed or said there goes before a key bar. */
static int
whole_rows(const struct app *app)
{
	bool said = app->page->prompt != NULL || app->page->message[0] != '\0';

	return said && app->rows > 1 ? app->rows - 1 : app->rows;
}

bool
app_overlay_compose(struct app *app, struct page_picture *pic)
{
	if (app->overlay == APP_NO_OVERLAY)
		return false;
	if (app_overlay_is_whole(app))
		return overlays[app->overlay]->compose(app, whole_rows(app),
		    pic) == 0;
	picture_begin(pic, app->cols, app->page->opts.ascii);
	/* Line 1 of the page, with its state, and the last line stay. */
	return overlays[app->overlay]->compose(app, app->rows > 4 ?
	    app->rows - 2 : 2, pic) == 0;
}

static void
go_back(struct app *app)
{
	const struct app_overlay_ops *ops = overlays[app->overlay];

	if (ops->back == NULL || !ops->back(app))
		app_overlay_close(app);
}

static void
enter(struct app *app)
{
	overlays[app->overlay]->enter(app);
}

static void
help(struct app *app)
{
	if (app->overlay == APP_HELP)
		app_overlay_close(app);
	else
		app_overlay_open(app, APP_HELP);
}

#define FAR (1 << 24)		/* more rows than there are */

/* What keys do that an overlay does not know as its own; others, nothing. */
static const struct {
	int rows, windows;		/* it moves by so many ... */
	void (*deed)(struct app *);	/* ... or does that ... */
	bool as_ever;			/* ... or what it does on page K */
} meanings[PAGE_ACTIONS] = {
	[PAGE_DO_DOWN] = { .rows = 1 },
	[PAGE_DO_UP] = { .rows = -1 },
	[PAGE_DO_PAGE_DOWN] = { .windows = 1 },
	[PAGE_DO_PAGE_UP] = { .windows = -1 },
	[PAGE_DO_FIRST] = { .rows = -FAR },
	[PAGE_DO_LAST] = { .rows = FAR },
	[PAGE_DO_OPEN] = { .deed = enter },
	[PAGE_DO_HELP] = { .deed = help },
	[PAGE_DO_CLOSE] = { .deed = go_back },
	[PAGE_DO_BLOCKS] = { .deed = app_overlay_close_all },
	[PAGE_DO_SINCE] = { .as_ever = true },
	[PAGE_DO_NODES] = { .as_ever = true },
	[PAGE_DO_PAUSE] = { .as_ever = true },
	[PAGE_DO_COPY] = { .as_ever = true },
	[PAGE_DO_LISTING] = { .as_ever = true },
	[PAGE_DO_QUIT] = { .as_ever = true },
	[PAGE_DO_INTERRUPT] = { .as_ever = true },
	[PAGE_DO_SUSPEND] = { .as_ever = true },
	[PAGE_DO_REPAINT] = { .as_ever = true },
};

static void
say_nothing(struct app *app, int code)
{
	char name[16];

	page_key_name(code, name);
	app_say(app, "%s means nothing here; Esc closes", name);
}

static void
do_meaning(struct app *app, int code)
{
	enum page_action action = page_key_action(code);
	const struct app_overlay_ops *ops = overlays[app->overlay];
	int rows = meanings[action].rows, windows = meanings[action].windows;

	if (meanings[action].deed != NULL)
		meanings[action].deed(app);
	else if (meanings[action].as_ever)
		app_do(app, action);
	else if (rows != 0)
		ops->move(app, rows);
	else if (windows != 0)
		ops->move(app, windows * ops->window(app));
	else
		say_nothing(app, code);
}

bool
app_overlay_means_nothing(struct app *app, int code, char page)
{
	enum page_action action = page_key_action(code);
	char name[16];

	if (page_key_moves(action))
		return false;
	switch (action) {
	case PAGE_DO_OPEN:
	case PAGE_DO_CLOSE:
	case PAGE_DO_BLOCKS:
	case PAGE_DO_SINCE:
	case PAGE_DO_HELP:
	case PAGE_DO_QUIT:
	case PAGE_DO_INTERRUPT:
	case PAGE_DO_SUSPEND:
	case PAGE_DO_REPAINT:
		return false;
	case PAGE_DO_COMMAND:
		app_command_open(app);
		return true;
	default:
		page_key_name(code, name);
		if (action == PAGE_DO_NOTHING)
			app_say(app, "%s means nothing on page %c", name, page);
		else
			app_say(app, "%s is none of page %c; 1: page K", name,
			    page);
		return true;
	}
}

/* q closes it too, for most would mean just that. */
void
app_overlay_key(struct app *app, int code)
{
	const struct app_overlay_ops *ops = overlays[app->overlay];

	if (ops->key != NULL && ops->key(app, code))
		return;
	if (code == 'q')
		app_overlay_close(app);
	else
		do_meaning(app, code);
}

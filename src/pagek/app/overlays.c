#include "../layout/layout.h"
#include "app.h"
#include "pages.h"

static enum app_panel
panel_below(const struct app *app)
{
	const struct app_panels *ps = &app->panels;

	return ps->n > 1 ? ps->stack[ps->n - 2] : APP_PAGE_K;
}

static void
put_keys(struct page_picture *pic, enum app_panel first)
{
	int i;

	app_panel_keys_help(first, pic);
	for (i = 0; i < PAGE_KEYS; i++) {
		page_keys_help(pic, (enum page_keys)i);
		if (i != PAGE_KEYS_MARK)
			continue;
		for (int p = 0; p < APP_PANELS; p++)
			if (p != (int)first)
				app_panel_keys_help((enum app_panel)p, pic);
	}
}

static int
help_compose(struct app *app, int rows, struct page_picture *pic)
{
	enum app_panel below = panel_below(app);
	int r;

	picture_line(pic);
	picture_printf(pic, "HELP  page %s", pages[(int)below < PAGES ?
	    (int)below : PAGE_K].letter);
	page_overlay_title("j k move  Esc close", pic);
	put_keys(pic, below);
	picture_line(pic);
	picture_printf(pic, "commands");
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	app_commands_help(pic);
	picture_line(pic);
	picture_printf(pic, "status line");
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	page_counters_help(pic);
	r = picture_end(pic);
	if (r == 0)
		page_scroll_cut(&app->panels.scroll, pic, rows - 1);
	return r;
}

const struct panel_ops overlay_help = {
	.any_node = true,
	.compose = help_compose,
	.move = app_panel_scroll,
	.window = app_panel_scroll_window,
	.enter = app_panel_close,
};

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
diagnostics_compose(struct app *app, int rows, struct page_picture *pic)
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
		page_scroll_cut(&app->panels.scroll, pic, rows - 1);
	return r;
}

static const struct panel_key diagnostics_keys[] = {
	{ .action = PAGE_DO_COSTS, .run = app_panel_close },
	{ .action = PAGE_DO_COUNT_ANEW, .run = app_reset_costs },
};

const struct panel_ops overlay_diagnostics = {
	.keys = diagnostics_keys,
	.nkeys = BASE_NELEM(diagnostics_keys),
	.compose = diagnostics_compose,
	.move = app_panel_scroll,
	.window = app_panel_scroll_window,
	.enter = app_panel_close,
};

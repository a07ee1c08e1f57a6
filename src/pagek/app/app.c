/*
 * The app from its beginning to its end: what a cycle does, who gets a key, and
 * the target that is asked to end.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "app.h"
#include "pages.h"

#define END_WAIT_MS 3000

int
app_init(struct app *app, struct page *page, struct page_watch *watch,
    uv_loop_t *loop)
{
	int r;

	*app = (struct app){
		.page = page,
		.session = watch->session,
		.link = watch->link,
		.loop = loop,
		.watch = watch,
		.begun = mono_now(),
	};
	page->on_screen = true;
	page->prompt = NULL;
	page->line = NULL;
	page->choices = NULL;
	app_go_init(app);
	page_costs_begin(&app->costs, page, nodes_session_look(app->session));
	r = app_panels_init(app);
	if (r == 0)
		app_page_open(app, page->opts.first, true);
	return r;
}

void
app_fini(struct app *app)
{
	app_forget_targets(app);
	app_prompt_fini(app);
	app_settings_fini(app);
	app_panels_fini(app);
	app_jobs_fini(app);
	app_go_fini(app);
	page_fini(app->page);
	if (app->wrappers != NULL)
		app->page->opts.wrappers = NULL;
	symbol_wrappers_free(app->wrappers);
	app->page->on_screen = false;
	app->page->prompt = NULL;
	app->page->line = NULL;
	app->page->choices = NULL;
	app->page->message[0] = '\0';
}

void
app_say(struct app *app, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(app->page->message, sizeof app->page->message, fmt, ap);
	va_end(ap);
}

void
app_quit(struct app *app, enum page_end end, int signal)
{
	app->over = true;
	app->result = (struct page_result){ .end = end, .signal = signal };
}

/* --- target ------------------------------------------------------------- */

static void
set_mode(struct app *app, enum app_mode mode)
{
	app->mode = mode;
	app->page->prompt = mode != APP_PAGE ? app->prompt : NULL;
}

void
app_end_target(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if ((look->state != NODES_LIVE && look->state != NODES_DORMANT) ||
	    look->pid <= 0) {
		app_say(app, "there is no live target to end");
		return;
	}
	snprintf(app->prompt, sizeof app->prompt, "send SIGTERM to %.128s[%d]? y/n ",
	    look->target_name, (int)look->pid);
	set_mode(app, APP_CONFIRM);
}

static void
end_target(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	int r = nodes_session_end_target(app->session);

	if (r < 0) {
		app_say(app, "cannot end the target: %s", strerror(-r));
		return;
	}
	app->ending.on = true;
	app->ending.at = mono_now();
	app_say(app, "asked %.128s[%d] to end", look->target_name,
	    (int)look->pid);
}

/* Q is done when the target has ended, not when it was asked to. */
static void
await_end(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if (look->state != NODES_LIVE && look->state != NODES_DORMANT) {
		app_quit(app, PAGE_QUIT_TARGET, 0);
	} else if (mono_ms_since(app->ending.at) > END_WAIT_MS) {
		app->ending.on = false;
		app_say(app, "%.128s[%d] was asked to end and has not ended",
		    look->target_name, (int)look->pid);
	}
}

/* Its time is over; what is on its way to a file or a node still gets there. */
static bool
is_due(const struct app *app)
{
	const struct options *o = app->watch->options;

	return o != NULL && o->duration_ms > 0 &&
	    app_jobs_one(app) == NULL && app->asks.lend == APP_LEND_NO &&
	    mono_ms_since(app->begun) >= o->duration_ms;
}

void
app_tick(struct app *app)
{
	struct page_view v;

	/* With a cursor or anything open, the target stays the same. */
	nodes_session_stay(app->session, app->page->cursor.on ||
	    app->page->opened || app->page->frozen != NULL ||
	    app_panel_top(app) != APP_PAGE_K || app->mode != APP_PAGE);
	app_pause_tick(app);
	app_mark_tick(app);
	app_find_tick(app);
	page_view_live(&v, app->session);
	page_past_note(app->page, &v);
	if (app->ending.on)
		await_end(app);
	app_diag_tick(app);
	app_pages_tick(app);
	app_go_tick(app);
	app_jobs_tick(app);
	if (is_due(app))
		app_quit(app, PAGE_QUIT, 0);
}

void
app_resumed(struct app *app, int64_t gap_ms)
{
	if (gap_ms >= 500)
		app_say(app, "resumed, %lld s shown as gap",
		    (long long)(gap_ms + 500) / 1000);
	else
		app_say(app, "resumed");
	app->asks.repaint = true;
}

void
app_leave(struct app *app)
{
	const char *job = app_jobs_one(app);

	if (job != NULL && !app->jobs.warned) {
		app->jobs.warned = true;
		app_say(app, "%s is on its way: quit again to leave without "
		    "it", job);
		return;
	}
	app_quit(app, PAGE_QUIT, 0);
}

void
app_interrupt(struct app *app)
{
	app_quit(app, PAGE_INTERRUPTED, SIGINT);
}

void
app_count_anew(struct app *app)
{
	struct page_view v;

	page_costs_begin(&app->costs, app->page,
	    nodes_session_look(app->session));
	page_view_live(&v, app->session);
	page_peak_anew(app->page, &v);
	app_say(app, "costs and maxima are counted anew, for this page alone");
}

/* --- typing ------------------------------------------------------------- */

static void
confirm_key(struct app *app, int code)
{
	if (code == 'y' || code == 'Y') {
		set_mode(app, APP_PAGE);
		end_target(app);
	} else if (code == PAGE_CTRL('C')) {
		app_interrupt(app);
	} else if (code == 'n' || code == 'N' || code == PAGE_CTRL('[')) {
		set_mode(app, APP_PAGE);
		app_say(app, "the target goes on");
	}
}

void
app_key(struct app *app, int code)
{
	enum page_action action = page_key_action(code);

	app->page->message[0] = '\0';
	app->page->wrong = false;
	if (app->mode == APP_PROMPT && code != PAGE_CTRL('C'))
		app_prompt_key(app, code);
	else if (app->mode == APP_CONFIRM)
		confirm_key(app, code);
	else if (app->mode == APP_FIELD && code != PAGE_CTRL('C'))
		app_field_type(app, code);
	else if (code == PAGE_CTRL('C'))
		app_interrupt(app);
	else if (action == PAGE_DO_CLOSE && app_go_stop(app))
		app_say(app, "stayed here");
	else
		app_panel_key(app, code);
}

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../difference/difference.h"
#include "../history/history.h"
#include "../layout/layout.h"
#include "../blocks/choice.h"
#include "../rows/find.h"
#include "../blocks/free_blocks.h"
#include "../rows/frozen_order.h"
#include "app.h"
#include "pages.h"

#define END_WAIT_MS 3000
#define SAID_MS 5000

/* The node of a command has told the file before its page opens. */
static void
say_output(struct app *app)
{
	const char *path = nodes_session_look(app->session)->command.output;

	if (path[0] != '\0')
		app_say(app, "o shows the command's output, %.200s", path);
}

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
		.said = { .now = mono_now },
		.jobs = { .page = page, .session = watch->session,
		    .loop = loop },
	};
	page->medium = PAGE_SCREEN;
	page->prompt = (struct page_prompt){ 0 };
	app_go_init(app);
	page_costs_begin(&app->costs, page, nodes_session_look(app->session));
	r = app_panels_init(app);
	if (r == 0)
		app_page_open(app, page->opts.first, true);
	say_output(app);
	return r;
}

void
app_fini(struct app *app)
{
	app_forget_targets(app);
	app_prompt_fini(app);
	app_settings_fini(app);
	app_panels_fini(app);
	jobs_fini(&app->jobs);
	app_go_fini(app);
	page_fini(app->page);
	if (app->wrappers != NULL)
		app->page->opts.wrappers = NULL;
	symbol_wrappers_free(app->wrappers);
	app->page->medium = PAGE_READY;
	app->page->prompt = (struct page_prompt){ 0 };
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

/*
 * Drops the message after five seconds, unless the page waits for something or
 * a line is being typed.
 */
static void
drop_message(struct app *app)
{
	char *message = app->page->message;
	struct app_said *said = &app->said;

	if (strcmp(message, said->text) != 0) {
		snprintf(said->text, sizeof said->text, "%s", message);
		said->at = said->now();
	} else if (message[0] != '\0' && app->mode == APP_PAGE &&
	    !app->waits.pause && !app->waits.mark && !app->waits.drain &&
	    mono_diff_ns(said->now(), said->at) >=
	    SAID_MS * INT64_C(1000000)) {
		message[0] = said->text[0] = '\0';
	}
}

struct page_view
app_view(const struct app *app)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	return v;
}

void
app_quit(struct app *app, enum page_end end, int signal)
{
	app->over = true;
	app->result = (struct page_result){ .end = end, .signal = signal };
}

static void
set_mode(struct app *app, enum app_mode mode)
{
	app->mode = mode;
	app->page->prompt.text = mode != APP_PAGE ? app->question : NULL;
}

void
app_end_target(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if ((look->state != NODES_LIVE && look->state != NODES_DORMANT) ||
	    look->target.pid <= 0) {
		app_say(app, "there is no live target to end");
		return;
	}
	snprintf(app->question, sizeof app->question,
	    "send SIGTERM to %.128s[%d]? y/n ", look->target.name,
	    (int)look->target.pid);
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
	app_say(app, "asked %.128s[%d] to end", look->target.name,
	    (int)look->target.pid);
}

/* Q quits when the target has ended. */
static void
await_end(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if (look->state != NODES_LIVE && look->state != NODES_DORMANT) {
		app_quit(app, PAGE_QUIT_TARGET, 0);
	} else if (mono_ms_since(app->ending.at) > END_WAIT_MS) {
		app->ending.on = false;
		app_say(app, "%.128s[%d] was asked to end and has not ended",
		    look->target.name, (int)look->target.pid);
	}
}

static bool
is_time_over(const struct app *app)
{
	const struct options *o = app->watch->options;

	return o != NULL && o->repeat.duration_ms > 0 &&
	    jobs_running(&app->jobs) == NULL &&
	    mono_ms_since(app->begun) >= o->repeat.duration_ms;
}

static bool
esc_cancels_jobs(const struct app *app)
{
	return app_panel_top(app) == APP_PAGE_K &&
	    app->places.pending.link == NULL &&
	    app->page->fields.at == PAGE_NO_FIELD;
}

static void
follow_target(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if (look->stream_no != app->keys.stream_no)
		app->keys.pressed = false;
	app->keys.stream_no = look->stream_no;
	nodes_session_stay(app->session, app->page->cursor.on ||
	    app->page->group.opened || app->page->paused != NULL ||
	    app_panel_top(app) != APP_PAGE_K || app->mode != APP_PAGE ||
	    (app->keys.pressed && look->state == NODES_ENDED));
}

void
app_tick(struct app *app)
{
	struct page_view v;

	drop_message(app);
	follow_target(app);
	app_pause_tick(app);
	app_replay_tick(app);
	app_mark_tick(app);
	app_marks_tick(app);
	app_find_tick(app);
	page_view_live(&v, app->session);
	page_history_update(app->page, &v);
	if (app->ending.on)
		await_end(app);
	app_diag_tick(app);
	app_pages_tick(app);
	app_go_tick(app);
	jobs_tick(&app->jobs, esc_cancels_jobs(app));
	if (is_time_over(app))
		app_quit(app, PAGE_QUIT, 0);
}

void
app_resumed(struct app *app, int64_t gap_ms)
{
	if (gap_ms >= 500)
		app_say(app, "resumed; graphs have a gap of %lld s",
		    (long long)(gap_ms + 500) / 1000);
	else
		app_say(app, "resumed");
	app->requests.repaint = true;
}

void
app_leave(struct app *app)
{
	const char *job = jobs_running(&app->jobs);

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
app_reset_costs(struct app *app)
{
	struct page_view v;

	page_costs_begin(&app->costs, app->page,
	    nodes_session_look(app->session));
	page_view_live(&v, app->session);
	page_peak_anew(app->page, &v);
	app_say(app, "timings and peaks of this page are reset");
}

void
app_listing(struct app *app)
{
	jobs_start_listing(&app->jobs);
}

void
app_output(struct app *app)
{
	const char *path = nodes_session_look(app->session)->command.output;

	if (path[0] == '\0')
		app_say(app, "no command was started here");
	else if (access(path, R_OK) < 0)
		app_say(app, "%.200s: %s", path, strerror(errno));
	else
		jobs_start_pager(&app->jobs, path);
}

static int
begin_export(void *arg, const struct page_view *v, enum text_format form,
    FILE *out, struct page_export **x)
{
	struct app *app = arg;
	const struct page_ops *ops = app_page_shown(app);

	if (ops->export_begin == NULL)
		ops = pages[PAGE_K].ops;
	if ((ops->needs & PAGE_NEEDS_LIST) != 0 && !jobs_have_list(v, false))
		return -EAGAIN;
	return ops->export_begin(app, v, form, out, x);
}

void
app_export(struct app *app, const char *path)
{
	jobs_start_export(&app->jobs, path, begin_export, app);
}

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

	app->page->message[0] = app->said.text[0] = '\0';
	app->page->prompt.wrong = false;
	app->keys.pressed = true;
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
	else if (action == PAGE_DO_CLOSE && app_replay_stop(app))
		app_say(app, "stopped before the moment that was asked for");
	else
		app_panel_key(app, code);
}

/* Groups, sums, jobs and a new pause need all blocks; a paused picture none. */
static bool
needs_all(const struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	bool large = look->keeper != NULL &&
	    look->keeper[WIRE_N_LIVE_BLOCKS] > NODES_MAX;

	if (app->waits.pause || app->waits.mark || app->waits.drain ||
	    app->marks.wish == APP_MARK_SET ||
	    app->marks.wish == APP_MARK_COMPARE ||
	    jobs_need_all(&app->jobs))
		return true;
	if (app->page->paused != NULL)
		return false;
	if (app->page->group.kind != 0 ||
	    app_panels_need(app, PANEL_BLOCKS_ALL) ||
	    page_choice_on(app->page) || page_marked_wants_all(app->page) ||
	    page_freeze_wants_all(app->page) || page_find_is_on(app->page))
		return true;
	if (app_panels_need(app, PANEL_BLOCKS_OF_FEW) && !large)
		return true;
	/* A free block is a gap between other blocks. */
	return page_free_wanted(app->page, look) && !large;
}

static void
want_block(const struct app *app, struct nodes_view *view)
{
	const struct page *page = app->page;

	view->before = page->cursor.at > page->offs ?
	    (uint32_t)(page->cursor.at - page->offs) : 0;
	if (page->cursor.on && page->cursor.known) {
		view->layer = page->cursor.layer;
		view->addr = page->cursor.addr;
		view->seq = page->cursor.seq;
	}
	app_panel_want(app, view);
}

void
app_request_blocks(struct app *app)
{
	struct page *page = app->page;
	struct nodes_view view = {
		.order = page_list_order(&page->opts),
		.reverse = page_list_reverse(&page->opts),
		.offset = page->offs,
		.rows =
		    page->found.window > 0 ? (uint32_t)page->found.window : 1,
	};

	page->found.all_blocks = needs_all(app);
	want_block(app, &view);
	nodes_session_view(app->session, page->found.all_blocks ? NULL : &view);
}

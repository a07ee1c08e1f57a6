/*
 * What each key does.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../page/choice.h"
#include "../page/followed.h"
#include "../page/marked.h"
#include "../page/past.h"
#include "../page/still.h"
#include "../page/units.h"
#include "app.h"

#define END_WAIT_MS 3000

void
app_init(struct app *app, struct page *page, struct page_watch *watch,
    uv_loop_t *loop)
{
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
	if (page->opts.first == PAGE_G)
		app_nodes_open(app);
	else if (page->opts.first == PAGE_H)
		app_diff_open(app);
}

void
app_fini(struct app *app)
{
	app_forget_targets(app);
	app_prompt_fini(app);
	app_settings_fini(app);
	app_nodes_fini(app);
	app_listing_fini(app);
	app_export_fini(app);
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

/* --- moving ------------------------------------------------------------- */

static int64_t
window_rows(const struct app *app)
{
	return app->page->window > 1 ? app->page->window : 1;
}

/* Who moves the cursor wants to be elsewhere. */
static void
say_left(struct app *app)
{
	if (page_followed_stop(app->page))
		app_say(app, "follows no longer: the cursor was moved");
}

/* False, and said: there are none to move among. */
static bool
has_rows(struct app *app)
{
	if (app->page->total == 0)
		app_say(app, "there are no rows");
	return app->page->total > 0;
}

static void
move_to(struct app *app, uint64_t offset)
{
	struct page_view v;

	if (!has_rows(app))
		return;
	page_view_shown(&v, app->page, app->session);
	say_left(app);
	page_still_touch(app->page, &v);
	page_move_to(app->page, offset);
	page_hold(app->page, &v);
}

static void
move(struct app *app, int64_t delta)
{
	struct page_view v;

	if (!has_rows(app))
		return;
	page_view_shown(&v, app->page, app->session);
	say_left(app);
	page_still_touch(app->page, &v);
	page_move(app->page, delta);
	page_hold(app->page, &v);
}

static void
do_down(struct app *app)
{
	move(app, 1);
}

static void
do_up(struct app *app)
{
	move(app, -1);
}

static void
do_page_down(struct app *app)
{
	move(app, window_rows(app));
}

static void
do_page_up(struct app *app)
{
	move(app, -window_rows(app));
}

static void
do_first(struct app *app)
{
	move_to(app, 0);
}

static void
do_last(struct app *app)
{
	move_to(app, UINT64_MAX);
}

/* --- order and picture -------------------------------------------------- */

static bool
is_wide(const struct app *app)
{
	return app->page->layout == PAGE_WIDE || (app->page->layout ==
	    PAGE_AUTO && app->cols >= PAGE_WIDE_COLS);
}

static void
do_layout(struct app *app)
{
	struct page *page = app->page;

	if (!is_wide(app))
		page->layout = PAGE_WIDE;
	else if (page->opts.layout == PAGE_CLASSIC_STRICT)
		page->layout = PAGE_CLASSIC_STRICT;
	else
		page->layout = PAGE_CLASSIC;
}

/* Rows that are kept have the old ones. */
static void
do_units(struct app *app)
{
	struct page *page = app->page;

	page->units = (page->units + 1) % PAGE_UNITS;
	page->round++;
	app_say(app, "%ssizes of blocks %s", is_wide(app) ? "" : "wide: ",
	    page_units_name(page->units));
}

static void
do_open(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct page_view v;
	struct blk b;

	if (!look->linked && !app->page->has_cursor &&
	    nodes_link_retry(app->link))
		return;
	page_view_shown(&v, app->page, app->session);
	if (!page_shows_groups(app->page) ||
	    page_block_at_cursor(app->page, &v, &b))
		app_open_detail(app);
	else
		app_group_enter(app);
}

static void
do_still(struct app *app)
{
	struct page_view v;

	page_view_shown(&v, app->page, app->session);
	if (!page_still_toggle(app->page, &v))
		app_say(app, "order: live");
	else if (v.look->window)
		app_say(app, "order: frozen as soon as the whole list is here");
	else
		app_say(app, "order: frozen; z lets it go");
}

static void
do_follow(struct app *app)
{
	char what[PAGE_FOLLOWED_TEXT];
	struct page_view v;
	int r;

	page_view_shown(&v, app->page, app->session);
	r = page_followed_toggle(app->page, &v);
	page_followed_text(app->page, what);
	if (r > 0)
		app_say(app, "%s: until it ends, F or the cursor is moved",
		    what);
	else if (r == 0)
		app_say(app, "follows no longer");
	else if (r == -ENOENT)
		app_say(app, "there is nothing here to follow");
	else
		app_say(app, "cannot follow: %s", strerror(-r));
}

static void
do_step_back(struct app *app)
{
	app_step(app, true);
}

static void
do_step_forth(struct app *app)
{
	app_step(app, false);
}

static void
do_save(struct app *app)
{
	char path[256];
	int r = app_save(app, path, sizeof path);

	if (r < 0)
		app_say(app, "cannot save %s: %s", path, strerror(-r));
	else
		app_say(app, "saved as %s", path);
}

static void
do_repaint(struct app *app)
{
	app->repaint = true;
}

/* --- target ------------------------------------------------------------- */

static void
set_mode(struct app *app, enum app_mode mode)
{
	app->mode = mode;
	app->page->prompt = mode != APP_PAGE ? app->prompt : NULL;
}

static void
do_end_target(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if ((look->state != NODES_LIVE && look->state != NODES_DORMANT) ||
	    look->pid <= 0) {
		app_say(app, "there is no live target to end");
		return;
	}
	snprintf(app->prompt, sizeof app->prompt, "end target %.128s[%d]? y/n ",
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
	app->ending = true;
	app->ending_at = mono_now();
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
	} else if (mono_ms_since(app->ending_at) > END_WAIT_MS) {
		app->ending = false;
		app_say(app, "%.128s[%d] was asked to end and has not ended",
		    look->target_name, (int)look->pid);
	}
}

/* Its time is over; what is on its way to a file or a node still gets there. */
static bool
is_due(const struct app *app)
{
	const struct options *o = app->watch->options;

	return o != NULL && o->duration_ms > 0 && app->job == NULL &&
	    app->export == NULL && app->lend == APP_LEND_NO &&
	    mono_ms_since(app->begun) >= o->duration_ms;
}

void
app_tick(struct app *app)
{
	struct page_view v;

	/* Who has begun to move about is not taken elsewhere. */
	nodes_session_stay(app->session, app->page->has_cursor ||
	    app->page->opened || app->page->frozen != NULL ||
	    app->overlay != APP_NO_OVERLAY || app->mode != APP_PAGE);
	app_pause_tick(app);
	app_mark_tick(app);
	app_find_tick(app);
	page_view_live(&v, app->session);
	page_past_note(app->page, &v);
	if (app->ending)
		await_end(app);
	app_diag_tick(app);
	app_nodes_tick(app);
	app_go_tick(app);
	app_listing_tick(app);
	app_export_tick(app);
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
	app->repaint = true;
}

/* --- page --------------------------------------------------------------- */

static void
do_help(struct app *app)
{
	app_overlay_open(app, APP_HELP);
}

/*
 * What is on its way is called off first.  With nothing over the page and no
 * group open, Esc takes the filter away, and then the cursor.
 */
static void
do_close(struct app *app)
{
	if (app_step_stop(app) || app_find_stop(app) || app_listing_cancel(app) ||
	    app_export_cancel(app))
		return;
	if (app->page->opened) {
		page_close_group(app->page);
		return;
	}
	if (page_choice_filter_text(app->page) != NULL) {
		app_filter(app, "");
		return;
	}
	if (!page_followed_stop(app->page) && !app->page->has_cursor)
		app_say(app, "nothing is open: q quits");
	app->page->has_cursor = false;
}

void
app_leave(struct app *app)
{
	if ((app->job != NULL || app->export != NULL) && !app->warned) {
		app->warned = true;
		app_say(app, "%s is on its way: quit again to leave without "
		    "it", app->job != NULL ? "a listing" : "an export");
		return;
	}
	app_quit(app, PAGE_QUIT, 0);
}

static void
do_suspend(struct app *app)
{
	app->suspend = true;
}

static void
do_interrupt(struct app *app)
{
	app_quit(app, PAGE_INTERRUPTED, SIGINT);
}

static void
do_blocks(struct app *app)
{
	app_say(app, "this is page K");
}

static void
do_costs(struct app *app)
{
	app_overlay_open(app, APP_COSTS);
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

/* The address of the block in detail, or of the one under the cursor. */
static void
do_copy(struct app *app)
{
	bool copy = app->page->opts.clipboard && app->clip_taken;
	struct blk b = app->detail.blk;
	struct page_view v;
	char text[24];

	page_view_shown(&v, app->page, app->session);
	if (app->overlay != APP_DETAIL &&
	    !page_block_at_cursor(app->page, &v, &b)) {
		app_say(app, "there is no block here");
		return;
	}
	/* Digits alone: outside text never goes to the clipboard. */
	snprintf(text, sizeof text, "0x%0*llx", v.look->classic ? 8 : 12,
	    (unsigned long long)b.addr);
	if (copy)
		snprintf(app->clip, sizeof app->clip, "%s", text);
	app_say(app, "address %s%s", text, copy ?
	    ", sent to the clipboard" : "");
}

/* A mouse that is the page's cannot select text for the terminal. */
static void
do_mouse(struct app *app)
{
	app->page->opts.mouse = !app->page->opts.mouse;
	app_say(app, app->page->opts.mouse ? "the mouse is the page's: click "
	    "and turn; Shift selects text, M gives it back" :
	    "the mouse is the terminal's");
}

static void (*const deeds[PAGE_ACTIONS])(struct app *) = {
	[PAGE_DO_DOWN] = do_down,
	[PAGE_DO_UP] = do_up,
	[PAGE_DO_PAGE_DOWN] = do_page_down,
	[PAGE_DO_PAGE_UP] = do_page_up,
	[PAGE_DO_FIRST] = do_first,
	[PAGE_DO_LAST] = do_last,
	[PAGE_DO_SORT] = app_sort_open,
	[PAGE_DO_SORT_LEFT] = app_sort_left,
	[PAGE_DO_SORT_RIGHT] = app_sort_right,
	[PAGE_DO_REVERSE] = app_sort_reverse,
	[PAGE_DO_LAYOUT] = do_layout,
	[PAGE_DO_UNITS] = do_units,
	[PAGE_DO_COPY] = do_copy,
	[PAGE_DO_FILTER] = app_filter_open,
	[PAGE_DO_GROUP] = app_group_next,
	[PAGE_DO_GROUP_BELOW] = app_group_below_next,
	[PAGE_DO_FLAT] = app_group_flat,
	[PAGE_DO_OPEN_GROUP] = app_group_unfold,
	[PAGE_DO_CLOSE_GROUP] = app_group_fold,
	[PAGE_DO_OPEN_GROUPS] = app_group_unfold_all,
	[PAGE_DO_OPEN] = do_open,
	[PAGE_DO_FIELD] = app_field_next,
	[PAGE_DO_STILL] = do_still,
	[PAGE_DO_FOLLOW] = do_follow,
	[PAGE_DO_PAUSE] = app_pause,
	[PAGE_DO_STEP_BACK] = do_step_back,
	[PAGE_DO_STEP_FORTH] = do_step_forth,
	[PAGE_DO_FIND] = app_find_open,
	[PAGE_DO_FIND_NEXT] = app_find_next,
	[PAGE_DO_FIND_BACK] = app_find_back,
	[PAGE_DO_SAVE] = do_save,
	[PAGE_DO_REPAINT] = do_repaint,
	[PAGE_DO_MOUSE] = do_mouse,
	[PAGE_DO_COMMAND] = app_command_open,
	[PAGE_DO_LISTING] = app_listing,
	[PAGE_DO_END_TARGET] = do_end_target,
	[PAGE_DO_BLOCKS] = do_blocks,
	[PAGE_DO_SINCE] = app_diff,
	[PAGE_DO_NODES] = app_nodes_open,
	[PAGE_DO_HELP] = do_help,
	[PAGE_DO_MARK] = app_mark,
	[PAGE_DO_DIFF] = app_diff,
	[PAGE_DO_DRAIN] = app_drain,
	[PAGE_DO_COSTS] = do_costs,
	[PAGE_DO_COUNT_ANEW] = app_count_anew,
	[PAGE_DO_CLOSE] = do_close,
	[PAGE_DO_QUIT] = app_leave,
	[PAGE_DO_SUSPEND] = do_suspend,
	[PAGE_DO_INTERRUPT] = do_interrupt,
};

void
app_do(struct app *app, enum page_action action)
{
	deeds[action](app);
}

/* --- typing ------------------------------------------------------------- */

static void
confirm_key(struct app *app, int code)
{
	if (code == 'y' || code == 'Y') {
		set_mode(app, APP_PAGE);
		end_target(app);
	} else if (code == PAGE_CTRL('C')) {
		do_interrupt(app);
	} else if (code == 'n' || code == 'N' || code == PAGE_CTRL('[')) {
		set_mode(app, APP_PAGE);
		app_say(app, "the target goes on");
	}
}

void
app_key(struct app *app, int code)
{
	enum page_action action = page_key_action(code);
	char name[16];

	app->page->message[0] = '\0';
	app->page->wrong = false;
	if (app->mode == APP_PROMPT && code != PAGE_CTRL('C')) {
		app_prompt_key(app, code);
	} else if (app->mode == APP_CONFIRM) {
		confirm_key(app, code);
	} else if (app->mode == APP_FIELD && code != PAGE_CTRL('C')) {
		app_field_type(app, code);
	} else if (code == PAGE_CTRL('C')) {
		do_interrupt(app);
	} else if (action == PAGE_DO_CLOSE && app_go_stop(app)) {
		app_say(app, "stayed here");
	} else if (app->overlay != APP_NO_OVERLAY) {
		app_overlay_key(app, code);
	} else if (app_field_key(app, action)) {
		return;
	} else if (action != PAGE_DO_NOTHING) {
		app_do(app, action);
	} else {
		page_key_name(code, name);
		app_say(app, "%s means nothing here; ? lists the keys", name);
	}
}

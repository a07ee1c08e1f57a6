#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../difference/difference.h"
#include "../panels/panels.h"
#include "app.h"
#include "pages.h"

static const struct nodes_marks *
marks_of(const struct app *app)
{
	return nodes_session_marks(app->session);
}

static bool
is_now(struct app *app)
{
	struct page_view v = app_view(app);

	if (v.look == v.live)
		return true;
	app_say(app, "the node's marks are of the live list: Space goes back "
	    "to it first");
	return false;
}

static void
wish(struct app *app, enum app_mark_wish what, const char *name)
{
	struct app_marks *ms = &app->marks;

	snprintf(ms->name, sizeof ms->name, "%s", name);
	ms->wish = what;
	ms->asked = false;
	app_say(app, "asking the node for its marks");
	app_marks_tick(app);
}

void
app_mark_named(struct app *app, const char *name)
{
	if (name[0] == '\0')
		app_mark(app);
	else if (!wire_is_mark_name(name, strlen(name)))
		app_say(app, "no mark: " WIRE_MARK_RULE);
	else if (is_now(app))
		wish(app, APP_MARK_SET, name);
}

void
app_compare(struct app *app, const char *name)
{
	if (name[0] == '\0')
		app_page_open(app, PAGE_H, false);
	else if (is_now(app))
		wish(app, APP_MARK_COMPARE, name);
}

void
app_list_marks(struct app *app)
{
	wish(app, APP_MARK_LIST, "");
}

void
app_marks_prepare(struct app *app)
{
	/* A page without a target has none. */
	(void)nodes_session_ask_marks(app->session);
}

void
app_marks_complete(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	const struct nodes_marks *m = marks_of(app);

	app_complete_from(words, before, arg);
	for (size_t i = 0; i < m->n; i++)
		line_words_add(words, m->at[i].name);
}

static void
say_error(struct app *app, const struct nodes_marks *m)
{
	if (m->error == -ENOTSUP)
		app_say(app, "the node keeps no marks; it may be of an "
		    "earlier version");
	else if (m->why[0] != '\0')
		app_say(app, "no mark: %s", m->why);
	else
		app_say(app, "no mark: the node's answer did not come; "
		    "try again");
}

static void
say_unknown(struct app *app, const struct nodes_marks *m, const char *name)
{
	char known[PAGE_MARKS_TEXT];

	page_marks_known(m, known, sizeof known);
	app_say(app, "no mark '%s'; %s", name, known);
}

static void
say_set(struct app *app, const struct wire_named_mark *mark)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	const struct nodes_marks *m = marks_of(app);
	char blocks[32], bytes[24];

	base_group_digits(blocks, sizeof blocks, mark->est_blocks);
	base_human_bytes(bytes, sizeof bytes, mark->est_bytes);
	app_say(app, "mark '%s' %s: %s%s block%s, %s%s%s", mark->name,
	    m->moved ? "moved here" : "set", page_about(look->sample), blocks,
	    mark->est_blocks == 1 ? "" : "s", page_about(look->sample), bytes,
	    m->dropped[0] != '\0' ? "; the oldest is gone: " : "");
	if (m->dropped[0] != '\0')
		base_append_text(app->page->message, sizeof app->page->message,
		    &(size_t){ strlen(app->page->message) }, m->dropped);
}

static bool
choose_mark(struct app *app, bool set)
{
	const struct nodes_marks *m = marks_of(app);
	const struct wire_named_mark *mark = nodes_marks_find(m,
	    app->marks.name);
	struct page_view v = app_view(app);
	int r;

	if (mark == NULL) {
		say_unknown(app, m, app->marks.name);
		return true;
	}
	r = page_mark_choose(app->page, &v, mark, !set);
	if (r == -EAGAIN)
		return false;
	if (r == -ESRCH)
		(void)is_now(app);
	else if (r < 0)
		app_say(app, r == -ENOENT ? "there is no list yet" :
		    "no memory for the mark");
	else if (set)
		say_set(app, mark);
	else
		app->page->message[0] = '\0';
	if (r == 0 && !set && app_panel_top(app) != APP_PAGE_H)
		app_page_open(app, PAGE_H, false);
	return true;
}

static bool
open_list(struct app *app)
{
	app->page->message[0] = '\0';
	app->marks.selected = marks_of(app)->n > 0 ? marks_of(app)->n - 1 : 0;
	app_panel_open(app, APP_MARKS);
	return true;
}

static bool
ask_node(struct app *app)
{
	struct app_marks *ms = &app->marks;
	int r = ms->wish == APP_MARK_SET ?
	    nodes_session_set_mark(app->session, ms->name) :
	    nodes_session_ask_marks(app->session);

	ms->asked = r == 0;
	/* A question of the prompt may be on its way, or the stream be looked up. */
	if (r == 0 || r == -EBUSY || r == -ENOENT)
		return true;
	app_say(app, "cannot ask the node for its marks: %s", strerror(-r));
	ms->wish = APP_MARK_NOTHING;
	return false;
}

void
app_marks_tick(struct app *app)
{
	struct app_marks *ms = &app->marks;
	const struct nodes_marks *m;
	bool done;

	if (ms->wish == APP_MARK_NOTHING || (!ms->asked && !ask_node(app)))
		return;
	m = marks_of(app);
	if (!ms->asked || m->pending)
		return;
	if (m->error < 0) {
		say_error(app, m);
		done = true;
	} else {
		done = ms->wish == APP_MARK_LIST ? open_list(app) :
		    choose_mark(app, ms->wish == APP_MARK_SET);
	}
	if (done)
		ms->wish = APP_MARK_NOTHING;
	app->page->news = true;
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_scroll *scroll = &app->panels.scroll;
	int r;

	page_marks_put(marks_of(app), app->marks.selected, app->page->opts.utc,
	    pic);
	r = picture_end(pic);
	if (r < 0)
		return r;
	page_scroll_to(scroll, (int)app->marks.selected, rows > 2 ? rows - 1 :
	    1);
	page_scroll_cut(scroll, pic, rows - 1);
	return 0;
}

static void
move(struct app *app, int delta, bool scroll)
{
	app_panel_select(app, &app->marks.selected, marks_of(app)->n, delta,
	    scroll);
}

static void
enter(struct app *app)
{
	const struct nodes_marks *m = marks_of(app);

	app_panel_close(app);
	if (app->marks.selected < m->n)
		app_compare(app, m->at[app->marks.selected].name);
}

const struct panel_ops overlay_marks = {
	.compose = compose,
	.move = move,
	.window = app_panel_scroll_window,
	.enter = enter,
};

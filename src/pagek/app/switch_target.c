/*
 * Going to another node or target.  The new link and session are opened while the
 * old ones are still shown, until the new session has a list or a final state.
 * Then the old ones are closed, except those of keep_open: a session without
 * cycles requests nothing, and resumes as after a stop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/target_word.h"
#include "../difference/difference.h"
#include "../history/history.h"
#include "../layout/layout.h"
#include "../groups/groups.h"
#include "app.h"

#define PARTLY_MS 2000	/* then an incomplete list is shown */
#define SILENT_MS 10000	/* a node that is silent so long is down */
#define SEARCH_MS 1000	/* a node that has the process answers within that */
#define LOGIN_MS 120000	/* as for a password on the command line */
#define DIGITS 4	/* of a node number */

struct app_wanted {
	bool asked, answered;		/* the node of the link */
	bool found;
	struct nodes_target target;	/* the newest so far */
	size_t path;			/* one more than the number of its node */
	char commands[160];		/* what there is */
};

static void
place_text(const struct app_place *place, char *out, size_t cap)
{
	const struct nodes_entry *e = &place->entry;
	char where[sizeof e->place + 8], safe[128];
	size_t len = 0;

	if (place->initial) {
		base_append(out, cap, &len, "where the page began");
		return;
	}
	if (e->number != 0) {
		base_append(out, cap, &len, "%04X %s", e->number, e->name);
	} else if (place->command[0] != '\0' && e->at == NODES_AT_LOCAL) {
		base_safe_text(safe, sizeof safe, place->command,
		    strlen(place->command), false);
		base_append(out, cap, &len, "%s", safe);
	} else if (place->pid != 0 && e->at == NODES_AT_LOCAL) {
		base_append(out, cap, &len, "process %ld", (long)place->pid);
	} else {
		nodes_entry_where(e, where, sizeof where);
		base_safe_text(safe, sizeof safe, where, strlen(where), false);
		base_append(out, cap, &len, "%s", safe);
	}
}

/* False: a demo, raw records or a capture, whose node has ended. */
static bool
place_of(struct app_place *place, const struct target *t)
{
	*place = (struct app_place){ .pid = t->pid, .entry = t->node };
	if (target_is_own(t))
		return false;
	if (t->command || t->kind == TARGET_COMMAND)
		snprintf(place->command, sizeof place->command, "%s", t->name);
	else
		snprintf(place->stream, sizeof place->stream, "%s", t->name);
	return true;
}

static void
on_table(void *arg, const char *sentence)
{
	char *said = arg;

	if (said[0] == '\0')
		snprintf(said, 256, "%s", sentence);
}

/* The position of the first wrong digit; 0: the word is no number. */
static size_t
wrong_digit(const char *word)
{
	size_t good = strspn(word, "0123456789abcdefABCDEF");

	if (strlen(word) != DIGITS || word[good] == '\0' ||
	    strcspn(word, "0123456789") != 0)
		return 0;
	return good + 1;
}

/* 0, or nonzero with a sentence in why. */
static int
find_place(const char *word, struct app_place *place, char *why, size_t cap)
{
	char said[256] = "";
	struct target t;
	size_t len;
	int r;

	r = target_parse_said(&t, word, on_table, said, why, cap);
	if (r != 0 || t.kind == TARGET_COMMAND) {
		if (r == 0)
			snprintf(why, cap, "%s", t.refusal);
		len = 0;
		if (wrong_digit(word) > 0)
			base_append(why, cap, &len, "no node '%s': position %zu "
			    "is no hexadecimal digit",
			    word, wrong_digit(word));
		len = strlen(why);
		if (said[0] != '\0')
			base_append(why, cap, &len, "; %s", said);
	}
	if (r != 0)
		return r;
	if (place_of(place, &t)) {
		snprintf(place->unknown, sizeof place->unknown, "%.255s",
		    t.kind == TARGET_COMMAND ? why : t.refusal);
		return 0;
	}
	snprintf(why, cap, "a page cannot go to such a target: quit, then "
	    "'pagek %.64s'", word);
	return -EINVAL;
}

static void
close_both(struct nodes_session *session, struct nodes_link *link)
{
	nodes_session_close(session);
	nodes_link_close(link);
}

static void
free_paths(struct app_pending *g)
{
	free(g->paths);
	g->paths = NULL;
	g->npaths = g->next = 0;
}

bool
app_go_stop(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	bool was = g->session != NULL || g->link != NULL;

	close_both(g->session, g->link);
	free_paths(g);
	free(g->wanted);
	*g = (struct app_pending){ 0 };
	return was;
}

/* All nodes of this user are asked for the process, one after the other. */
static bool
is_searched(const struct app_place *place)
{
	return place->entry.at == NODES_AT_LOCAL &&
	    (place->pid != 0 || place->command[0] != '\0');
}

static int
connect_next_path(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	int r = -ENOENT;

	while (r < 0 && g->next < g->npaths)
		r = nodes_connect(&g->link, app->loop, g->paths[g->next++]);
	return r;
}

/* As nodes_connect_entry(), to the node there that has the target. */
static int
connect_ssh(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	const struct nodes_entry *e = &g->place.entry;
	struct nodes_ssh ssh = { .host = e->place,
		.program = e->remote[0] != '\0' ? e->remote :
		    app->watch->remote };
	char word[NODES_PID_WORD];

	ssh.target = nodes_target_word(g->place.pid,
	    g->place.command[0] != '\0' ? g->place.command : g->place.stream,
	    word);
	return nodes_connect_ssh(&g->link, app->loop, &ssh);
}

static int
open_link(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	const struct nodes_entry *e = &g->place.entry;
	int r;

	if (is_searched(&g->place))
		r = connect_next_path(app);
	else if (e->at == NODES_AT_SSH)
		r = connect_ssh(app);
	else
		return nodes_connect_entry(&g->link, app->loop, e);
	if (r == 0 && e->number != 0)
		nodes_link_call(g->link, e->number, e->name);
	return r;
}

static int
open_session(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	struct nodes_session_opts opts = app->page->opts.session;
	struct page *page = app->page;
	struct nodes_view view = {
		.order = page_list_order(&page->opts),
		.reverse = page_list_reverse(&page->opts),
		.rows =
		    page->found.window > 0 ? (uint32_t)page->found.window : 1,
	};
	int r;

	opts.run = NULL;
	opts.pid = g->place.pid;
	opts.stream = g->place.stream[0] != '\0' ? g->place.stream : NULL;
	r = nodes_session_open(&g->session, g->link, &opts, page_news, page);
	if (r == 0 && page->group.kind == 0)
		nodes_session_view(g->session, &view);
	return r;
}

static int
open_pending(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	int r;

	g->tried = mono_now();
	r = open_link(app);
	/* A command's process is asked for first: find_command(). */
	if (r == 0 && g->place.command[0] == '\0')
		r = open_session(app);
	if (r < 0) {
		nodes_link_close(g->link);
		g->link = NULL;
	}
	return r;
}

static bool
is_no_listener(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED;
}

static void
say_failed(struct app *app, const struct app_place *place, int err)
{
	char text[160], where[sizeof place->entry.place + 8], safe[160];

	place_text(place, text, sizeof text);
	nodes_entry_where(&place->entry, where, sizeof where);
	base_safe_text(safe, sizeof safe, where, strlen(where), false);
	if (place->entry.at == NODES_AT_SSH)
		app_say(app, "cannot go to %s: ssh: %s", text, err == -ENOENT ?
		    "is it installed?" : strerror(-err));
	else if (place->unknown[0] != '\0' && is_no_listener(err))
		app_say(app, "%s", place->unknown);
	else if (is_searched(place) && is_no_listener(err))
		app_say(app, "no node here watches %s", text);
	else if (is_searched(place))
		app_say(app, "cannot look for a node that watches %s: %s",
		    text, strerror(-err));
	else if (is_no_listener(err))
		app_say(app, "%s is down: no node listens at %s", text, safe);
	else
		app_say(app, "cannot go to %s: %s: %s", text, safe,
		    strerror(-err));
}

static void
say_going(struct app *app)
{
	char text[160];

	place_text(&app->places.pending.place, text, sizeof text);
	app_say(app, "going to %s ...  Esc stays here", text);
}

static bool
go_to_place(struct app *app, const struct app_place *place)
{
	struct app_pending *g = &app->places.pending;
	int r = 0;

	app_go_stop(app);
	g->place = *place;
	g->since = mono_now();
	if (is_searched(place))
		r = nodes_find(&g->paths, &g->npaths);
	if (r == 0 && place->command[0] != '\0') {
		g->wanted = calloc(1, sizeof *g->wanted);
		r = g->wanted == NULL ? -ENOMEM : 0;
	}
	if (r == 0)
		r = open_pending(app);
	if (r == 0) {
		say_going(app);
		return true;
	}
	say_failed(app, place, r);
	app_go_stop(app);
	return false;
}

void
app_reset_stream(struct app *app)
{
	struct page *page = app->page;

	page_resume(page);
	page_mark_lose(page);
	page_set_group(page, page->group.kind);
	page->offs = page->group.flat_offs = 0;
	page->round++;
	page->numbers.counted = page->numbers.sampled = false;
	page->numbers.rated = false;
	page->state.opened_wall_ms = 0;
	app->ending.on = app->waits.pause = false;
	app->waits.mark = app->waits.drain = false;
	app->marks.wish = APP_MARK_NOTHING;
	/* The question was about the old target. */
	if (app->mode == APP_CONFIRM) {
		app->mode = APP_PAGE;
		page->prompt.text = NULL;
	}
}

static void
leave_place(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct app_place *here = &app->places.here;

	/* The node's default target may be another one later. */
	if (here->pid == 0 && here->stream[0] == '\0' && look->target.pid > 0) {
		here->pid = look->target.pid;
		here->chosen = true;
	}
	app->places.before = *here;
	app->places.has_before = true;
	if (app->watch->keep_open && !app->places.away)
		return;
	close_both(app->session, app->link);
	if (!app->places.away)
		app->watch->session = NULL;
}

static void
enter_place(struct app *app, struct nodes_session *session,
    struct nodes_link *link, const struct app_place *place)
{
	struct page *page = app->page;

	/* These use the old session. */
	page_resume(page);
	app_forget_targets(app);
	leave_place(app);
	app->session = app->jobs.session = session;
	app->link = link;
	app->places.away = app->watch->keep_open && !place->initial;
	app->places.here = *place;
	app_reset_stream(app);
	page_groups_free(page->groups);
	page->groups = NULL;
	page->state.known = false;
	app_panel_close_node(app);
	page_costs_begin(&app->costs, page, nodes_session_look(session));
	page->news = true;
}

static void
show_pending(struct app *app)
{
	struct app_pending g = app->places.pending;
	char text[160];

	free_paths(&app->places.pending);
	free(g.wanted);
	app->places.pending = (struct app_pending){ 0 };
	enter_place(app, g.session, g.link, &g.place);
	place_text(&g.place, text, sizeof text);
	app_say(app, "this is %s; :back goes where you were", text);
}

static bool
is_ready(const struct app_pending *g)
{
	const struct nodes_look *look = nodes_session_look(g->session);

	if (nodes_has_list(look->state))
		return look->settled || look->window ||
		    mono_ms_since(g->since) > PARTLY_MS;
	/* A node that is silent may be busy. */
	if (look->state == NODES_UNREACHABLE)
		return !look->link.up || mono_ms_since(g->since) > SILENT_MS;
	return look->state != NODES_CONNECTING;
}

/*
 * This node does not have the process.  A node that starts a command stays in
 * CONNECTING, which is not worth waiting for.
 */
static bool
is_elsewhere(const struct app_pending *g)
{
	enum nodes_state state = nodes_session_look(g->session)->state;

	return is_searched(&g->place) && (state == NODES_NO_ALLOCLOG ||
	    state == NODES_UNREACHABLE || state == NODES_DENIED ||
	    (state == NODES_CONNECTING &&
	    mono_ms_since(g->tried) > SEARCH_MS));
}

static void
drop_choice(struct app_place *place)
{
	place->pid = 0;
	place->chosen = false;
}

static void
try_next(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	struct app_place place = g->place;
	int r;

	close_both(g->session, g->link);
	g->session = NULL;
	g->link = NULL;
	r = open_pending(app);
	if (r == 0)
		return;
	if (place.chosen) {
		drop_choice(&place);
		go_to_place(app, &place);
		return;
	}
	app_go_stop(app);
	say_failed(app, &place, r);
}

/* True: the process watched there before is gone, so another target is opened. */
static bool
replace_target(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	struct app_place place;
	int r;

	if (!g->place.chosen ||
	    nodes_session_look(g->session)->state != NODES_NO_ALLOCLOG)
		return false;
	drop_choice(&g->place);
	nodes_session_close(g->session);
	g->session = NULL;
	r = open_session(app);
	if (r < 0) {
		place = g->place;
		app_go_stop(app);
		say_failed(app, &place, r);
	}
	return true;
}

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct app_pending *g = arg;
	struct app_wanted *w = g->wanted;
	const struct nodes_target *found;

	w->asked = false;
	w->answered = true;
	if (err < 0)
		return;
	if (w->commands[0] == '\0')
		nodes_target_commands(t, n, w->commands, sizeof w->commands);
	found = nodes_target_of_command(t, n, g->place.command);
	if (found == NULL || (w->found &&
	    !nodes_target_is_newer(found, &w->target)))
		return;
	w->found = true;
	w->target = *found;
	w->path = g->next;
}

static void
say_no_command(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	const struct app_wanted *w = g->wanted;
	char where[160], text[128], hint[NODES_PID_HINT];

	base_safe_text(text, sizeof text, g->place.command,
	    strlen(g->place.command), false);
	place_text(&g->place, where, sizeof where);
	if (g->place.unknown[0] != '\0')
		app_say(app, "%s", g->place.unknown);
	else
		app_say(app, "%s watches no '%s'%s: it watches %s",
		    where, text, nodes_pid_hint(g->place.command, hint),
		    w->commands[0] != '\0' ? w->commands :
		    "nothing that lives");
	app_go_stop(app);
}

static void
go_to_found(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	struct app_wanted *w = g->wanted;
	struct app_place failed = g->place;
	int r;

	if (!w->found) {
		say_no_command(app);
		return;
	}
	g->place.pid = w->target.pid;
	g->place.command[0] = '\0';
	if (!nodes_target_is_live(&w->target))
		snprintf(g->place.stream, sizeof g->place.stream, "%s",
		    w->target.name);
	if (!is_searched(&g->place)) {
		r = open_session(app);
	} else {
		nodes_link_close(g->link);
		g->link = NULL;
		g->next = w->path - 1;
		g->npaths = w->path;
		r = open_pending(app);
	}
	if (r < 0) {
		app_go_stop(app);
		say_failed(app, &failed, r);
	}
}

static bool
is_silent(const struct app_pending *g)
{
	return mono_ms_since(g->tried) > (is_searched(&g->place) ? SEARCH_MS :
	    g->place.entry.at == NODES_AT_SSH ? LOGIN_MS : SILENT_MS);
}

static void
ask_next(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	struct app_wanted *w = g->wanted;
	const char *reason;
	char text[160];

	if (!is_searched(&g->place) && !w->answered) {
		place_text(&g->place, text, sizeof text);
		nodes_link_state(g->link, &reason);
		app_say(app, "cannot go to %s: %s", text, reason[0] != '\0' ?
		    reason : "it does not answer");
		app_go_stop(app);
		return;
	}
	w->answered = w->asked = false;
	if (is_searched(&g->place)) {
		nodes_link_close(g->link);
		g->link = NULL;
		if (open_pending(app) == 0)
			return;
	}
	go_to_found(app);
}

static void
find_command(struct app *app)
{
	struct app_pending *g = &app->places.pending;
	struct app_wanted *w = g->wanted;
	enum nodes_state state = nodes_link_state(g->link, NULL);

	if (state == NODES_LIVE && !w->asked && !w->answered)
		w->asked = nodes_targets(g->link, on_targets, g) == 0;
	if (w->answered || is_silent(g) ||
	    (state != NODES_LIVE && state != NODES_CONNECTING))
		ask_next(app);
	else if (app->page->message[0] == '\0')
		say_going(app);
}

void
app_go_tick(struct app *app)
{
	struct app_pending *g = &app->places.pending;

	if (g->link != NULL && g->session == NULL &&
	    g->place.command[0] != '\0')
		find_command(app);
	if (g->session == NULL)
		return;
	nodes_session_cycle(g->session);
	if (is_elsewhere(g))
		try_next(app);
	else if (replace_target(app))
		return;
	else if (is_ready(g))
		show_pending(app);
	else if (app->page->message[0] == '\0')
		say_going(app);
}

void
app_go_init(struct app *app)
{
	app->places.here.initial = app->watch->keep_open;
	if (!app->watch->keep_open)
		place_of(&app->places.here, app->watch->target);
}

void
app_go_fini(struct app *app)
{
	app_go_stop(app);
	if (app->places.away) {
		close_both(app->session, app->link);
	} else {
		app->watch->session = app->session;
		app->watch->link = app->link;
	}
	app->watch->away = app->places.away;
}

static bool
go_back(struct app *app)
{
	struct app_place place = app->places.before;

	if (!app->places.has_before) {
		app_say(app, "there is no previous node");
		return false;
	}
	if (!place.initial)
		return go_to_place(app, &place);
	app_go_stop(app);
	enter_place(app, app->watch->session, app->watch->link, &place);
	app_say(app, "back where the page began");
	return true;
}

static bool
is_here(const struct app *app, const struct app_place *place)
{
	return place->entry.number != 0 && place->pid == 0 &&
	    place->command[0] == '\0' && place->stream[0] == '\0' && !app->places.here.initial &&
	    place->entry.number == app->places.here.entry.number;
}

bool
app_go(struct app *app, const char *word)
{
	struct app_place place;
	char why[512], text[160];

	if (strcmp(word, "-") == 0)
		return go_back(app);
	if (find_place(word, &place, why, sizeof why) != 0) {
		app_say(app, "%s", why);
		return false;
	}
	if (!is_here(app, &place))
		return go_to_place(app, &place);
	app_go_stop(app);
	app_panel_close_all(app);
	nodes_link_retry(app->link);
	place_text(&place, text, sizeof text);
	app_say(app, "this is %s", text);
	return true;
}

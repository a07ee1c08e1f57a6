/* The node's targets: T, :target, its completion, and the list. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../history/history.h"
#include "../panels/panels.h"
#include "app.h"

/*
 * A request cannot be cancelled, and its answer may come after the app has ended.
 * NULL: the answer is not wanted any more.
 */
static struct app *asking;
static bool asked_quietly;

void
app_forget_targets(struct app *app)
{
	if (asking == app)
		asking = NULL;
	free(app->targets.list);
	app->targets.list = NULL;
	app->targets.n = 0;
}

static void
switch_to_target(struct app *app, const struct nodes_target *t)
{
	struct nodes_session_opts opts = app->page->opts.session;
	int r;

	/* Images of one process differ only in their names. */
	snprintf(
	    app->targets.stream, sizeof app->targets.stream, "%s", t->name);
	opts.stream = app->targets.stream;
	opts.pid = t->pid;
	page_resume(app->page);
	r = nodes_session_switch(app->session, &opts);
	if (r < 0) {
		app_say(app, "cannot go to %.64s: %s", t->name, strerror(-r));
		return;
	}
	app_panel_close_all(app);
	app_reset_stream(app);
	app->places.here.pid = t->pid;
	app->places.here.chosen = false;
	app->places.here.stream[0] = '\0';
	app_say(app, "target %.16s[%d]", t->comm, (int)t->pid);
}

static bool
is_called(const struct nodes_target *t, const char *word)
{
	char *end;
	long pid = strtol(word, &end, 10);

	if (end != word && *end == '\0' && pid > 0)
		return t->pid == pid;
	return strcmp(t->comm, word) == 0 || strcmp(t->name, word) == 0;
}

/* Prefers a live target; several live ones are ambiguous. */
static void
go_to_wanted(struct app *app)
{
	const struct nodes_target *found = NULL;
	size_t i, live = 0, n = 0;

	for (i = 0; i < app->targets.n; i++) {
		const struct nodes_target *t = &app->targets.list[i];

		if (!is_called(t, app->targets.wanted))
			continue;
		n++;
		if (nodes_target_is_live(t))
			live++;
		if (found == NULL || nodes_target_is_live(t) || !nodes_target_is_live(found))
			found = t;
	}
	if (n == 0)
		app_say(app, "no target is called '%.64s'; :target lists them",
		    app->targets.wanted);
	else if (live > 1)
		app_say(app, "%zu live targets are called '%.64s'; give the "
		    "pid", live, app->targets.wanted);
	else
		switch_to_target(app, found);
}

void
app_targets_open(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct app_targets *t = &app->targets;
	size_t i;

	t->selected = 0;
	for (i = 0; i < t->n; i++)
		if (t->list[i].pid == look->target.pid)
			t->selected = i;
	app->page->message[0] = '\0';
	app_panel_open(app, APP_TARGETS);
}

static void
on_targets(void *arg, int err, const struct nodes_target *targets, size_t n)
{
	struct app *app = asking;
	struct nodes_target *copy = NULL;

	/* Ignore the answer of a node that was left. */
	if (app == NULL || arg != app->link)
		return;
	asking = NULL;
	if (err == 0 && n > 0) {
		copy = calloc(n, sizeof *copy);
		if (copy == NULL)
			err = -ENOMEM;
		else
			memcpy(copy, targets, n * sizeof *copy);
	}
	if (err < 0) {
		if (!asked_quietly)
			app_say(app, "the node does not list its targets: %s",
			    strerror(-err));
		return;
	}
	free(app->targets.list);
	app->targets.list = copy;
	app->targets.n = n;
	app->page->news = true;
	if (asked_quietly)
		return;
	if (app->targets.wanted[0] != '\0')
		go_to_wanted(app);
	else
		app_targets_open(app);
}

/* quietly: for completion only. */
static void
ask_targets(struct app *app, bool quietly)
{
	int r;

	asking = app;
	asked_quietly = quietly;
	if (!quietly)
		app_say(app, "asking the node for its targets");
	r = nodes_targets(app->link, on_targets, app->link);
	if (r < 0) {
		asking = NULL;
		if (!quietly)
			app_say(app, "the node does not list its targets: %s",
			    strerror(-r));
	}
}

void
app_target(struct app *app, const char *word)
{
	snprintf(
	    app->targets.wanted, sizeof app->targets.wanted, "%.127s", word);
	if (asking == NULL)
		ask_targets(app, false);
	else if (asked_quietly)
		asked_quietly = false;
	else
		app_say(app, "the node has not answered yet");
}

void
app_list_targets(struct app *app)
{
	app_target(app, "");
}

void
app_target_complete(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	char pid[16];
	size_t i;

	app_complete_from(words, before, arg);
	for (i = 0; i < app->targets.n; i++) {
		snprintf(pid, sizeof pid, "%d", (int)app->targets.list[i].pid);
		line_words_add(words, pid);
		line_words_add(words, app->targets.list[i].comm);
	}
}

void
app_target_prepare(struct app *app)
{
	if (asking == NULL)
		ask_targets(app, true);
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct app_targets *t = &app->targets;
	struct page_scroll *scroll = &app->panels.scroll;
	int r;

	page_targets_put(t->list, t->n, t->selected, pic);
	r = picture_end(pic);
	if (r < 0)
		return r;
	page_scroll_to(scroll, (int)t->selected, rows > 2 ? rows - 1 : 1);
	page_scroll_cut(scroll, pic, rows - 1);
	return 0;
}

static void
move(struct app *app, int delta, bool scroll)
{
	app_panel_select(app, &app->targets.selected, app->targets.n, delta,
	    scroll);
}

static void
enter(struct app *app)
{
	app_panel_close(app);
	if (app->targets.n > 0)
		switch_to_target(
		    app, &app->targets.list[app->targets.selected]);
}

static const struct panel_key keys[] = {
	{ .action = PAGE_DO_TARGETS, .run = app_list_targets },
};

const struct panel_ops overlay_targets = {
	.keys = keys,
	.nkeys = BASE_NELEM(keys),
	.compose = compose,
	.move = move,
	.window = app_panel_scroll_window,
	.enter = enter,
};

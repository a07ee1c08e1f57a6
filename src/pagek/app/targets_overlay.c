#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../history/history.h"
#include "../panels/panels.h"
#include "app.h"

#define FOOT_ROWS 5	/* a lower screen has no foot */

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
	free(app->targets.branch);
	free(app->targets.order);
	app->targets.list = NULL;
	app->targets.branch = NULL;
	app->targets.order = NULL;
	app->targets.listed = app->targets.n = 0;
}

static struct app_targets *sorted;	/* by compare_interest() */

static int
compare_interest(const void *a, const void *b)
{
	const struct nodes_target *x = &sorted->list[sorted->branch[
	    *(const size_t *)a].at], *y = &sorted->list[sorted->branch[
	    *(const size_t *)b].at];

	return page_targets_before(x, y) ? -1 : page_targets_before(y, x);
}

static void
order_targets(struct app_targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->order[i] = i;
	sorted = t;
	if (t->flat && t->n > 1)
		qsort(t->order, t->n, sizeof *t->order, compare_interest);
}

int
app_targets_take(struct app *app, const struct nodes_target *list, size_t n)
{
	struct app_targets *t = &app->targets;
	struct nodes_target *copy = calloc(n + 1, sizeof *copy);
	struct nodes_branch *branch = calloc(n + 1, sizeof *branch);
	size_t *order = calloc(n + 1, sizeof *order);

	if (copy == NULL || branch == NULL || order == NULL) {
		free(copy);
		free(branch);
		free(order);
		return -ENOMEM;
	}
	free(t->list);
	free(t->branch);
	free(t->order);
	if (n > 0)
		memcpy(copy, list, n * sizeof *copy);
	t->list = copy;
	t->listed = n;
	t->branch = branch;
	t->order = order;
	t->n = nodes_tree(copy, n, branch);
	order_targets(t);
	return 0;
}

static const struct nodes_target *
shown_target(const struct app_targets *t, size_t i)
{
	return &t->list[t->branch[t->order[i]].at];
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
	return nodes_target_is_command(t, word) || strcmp(t->name, word) == 0;
}

/* Prefers a live target, and of several the newest. */
static void
go_to_wanted(struct app *app)
{
	const struct nodes_target *found = NULL;
	size_t i;

	for (i = 0; i < app->targets.listed; i++) {
		const struct nodes_target *t = &app->targets.list[i];

		if (is_called(t, app->targets.wanted) && (found == NULL ||
		    nodes_target_is_newer(t, found)))
			found = t;
	}
	if (found == NULL)
		app_say(app, "no target is called '%.64s'; :target lists them",
		    app->targets.wanted);
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
		if (shown_target(t, i)->pid == look->target.pid)
			t->selected = i;
	app->page->message[0] = '\0';
	app_panel_open(app, APP_TARGETS);
}

static void
on_targets(void *arg, int err, const struct nodes_target *targets, size_t n)
{
	struct app *app = asking;

	/* Ignore the answer of a node that was left. */
	if (app == NULL || arg != app->link)
		return;
	asking = NULL;
	if (err == 0)
		err = app_targets_take(app, targets, n);
	if (err < 0) {
		if (!asked_quietly)
			app_say(app, "the node does not list its targets: %s",
			    strerror(-err));
		return;
	}
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
app_target_commands(struct app *app, struct line_words *words)
{
	for (size_t i = 0; i < app->targets.listed; i++)
		if (app->targets.list[i].pid != 0)
			line_words_add(words, app->targets.list[i].comm);
}

void
app_target_complete(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	char pid[16];
	size_t i;

	app_complete_from(words, before, arg);
	for (i = 0; i < app->targets.listed; i++) {
		if (app->targets.list[i].pid == 0)
			continue;
		snprintf(pid, sizeof pid, "%d", (int)app->targets.list[i].pid);
		line_words_add(words, pid);
	}
	app_target_commands(app, words);
}

void
app_target_prepare(struct app *app)
{
	if (asking == NULL)
		ask_targets(app, true);
}

static void
sum_all(const struct app *app, struct page_targets *p)
{
	const struct nodes_link *run = app->page->opts.session.run;

	p->whose = run != NULL ? "the command" : "all";
	for (size_t i = 0; i < p->n; i++) {
		struct nodes_sum one;

		if (run != NULL && !nodes_target_of_run(p->target,
		    app->targets.listed, p->branch[i].at, run))
			continue;
		nodes_sum_of(&p->target[p->branch[i].at], &one);
		nodes_sum_add(&p->sum, &one);
	}
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct app_targets *t = &app->targets;
	struct page_targets p = { .target = t->list, .branch = t->branch,
		.order = t->order, .n = t->n, .flat = t->flat };
	struct page_scroll *scroll = &app->panels.scroll;
	int foot = rows > FOOT_ROWS ? PAGE_TARGETS_FOOT : 0, r;

	page_targets_put(&p, t->selected, pic);
	r = picture_end(pic);
	if (r < 0)
		return r;
	rows -= foot;
	page_scroll_to(scroll, (int)t->selected, rows > 2 ? rows - 1 : 1);
	page_scroll_cut(scroll, pic, rows - 1);
	if (foot == 0)
		return 0;
	while (pic->rows < rows) {
		picture_line(pic);
		if (picture_end(pic) < 0)
			return -ENOMEM;
	}
	sum_all(app, &p);
	page_targets_foot(&p, t->selected, pic);
	return picture_end(pic);
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
		switch_to_target(app, shown_target(&app->targets,
		    app->targets.selected));
}

static void
switch_order(struct app *app)
{
	struct app_targets *t = &app->targets;
	size_t at = t->n > 0 ? t->order[t->selected] : 0;

	t->flat = !t->flat;
	order_targets(t);
	for (size_t i = 0; i < t->n; i++)
		if (t->order[i] == at)
			t->selected = i;
}

static const struct panel_key keys[] = {
	{ .names = "t F5", .help = "switch between the tree and a flat list, "
	    "the largest first", .action = PAGE_DO_FLAT, .run = switch_order },
	{ .action = PAGE_DO_TARGETS, .run = app_list_targets },
};

const struct panel_ops overlay_targets = {
	.title = "in the list of targets",
	.keys = keys,
	.nkeys = BASE_NELEM(keys),
	.compose = compose,
	.move = move,
	.window = app_panel_scroll_window,
	.enter = enter,
};

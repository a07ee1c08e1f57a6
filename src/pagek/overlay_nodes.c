/*
 * Page G over page K: the nodes of the table, asked how they are as long as
 * somebody looks.  It covers the page whole, which goes on below.
 */
#include <string.h>

#include "app.h"

/* Whoever looks at something else for a moment finds it as it was. */
#define GRACE_MS 10000

static void
on_table(void *arg, const char *sentence)
{
	app_say(arg, "%s", sentence);
}

static const struct nodes_surveyed *const *
rows_of(struct app *app, size_t *n)
{
	*n = 0;
	return app->survey != NULL ? nodes_survey_look(app->survey, n) : NULL;
}

void
app_nodes_open(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct nodes_survey_opts opts = { .user = true, .say = on_table,
		.arg = app, .remote = app->watch->remote };
	int r = 0;

	if (app->survey == NULL) {
		r = nodes_survey_open(&app->survey, app->loop, &opts);
		page_nodes_begin(&app->nodes, look->node_number);
	}
	if (r < 0)
		app_say(app, "cannot ask the nodes: %s", strerror(-r));
	else
		app_overlay_open(app, APP_NODES);
}

static bool
is_shown(const struct app *app)
{
	int i;

	for (i = 0; i < app->nunder; i++)
		if (app->under[i] == APP_NODES)
			return true;
	return app->overlay == APP_NODES;
}

void
app_nodes_tick(struct app *app)
{
	if (app->survey == NULL || is_shown(app)) {
		app->nodes_left = mono_now();
		return;
	}
	if (mono_ms_since(app->nodes_left) > GRACE_MS)
		app_nodes_fini(app);
}

void
app_nodes_fini(struct app *app)
{
	nodes_survey_close(app->survey);
	app->survey = NULL;
}

/* --- what keys do --------------------------------------------------------- */

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	return page_nodes_compose(&app->nodes, row, n, &app->page->opts,
	    app->cols, rows, pic);
}

static void
move(struct app *app, int delta)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	page_nodes_move(&app->nodes, row, n, delta);
}

static int
window(const struct app *app)
{
	return app->nodes.scroll.window > 1 ? app->nodes.scroll.window : 1;
}

static void
enter(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);
	char word[PAGE_NODES_WORD];

	if (page_nodes_word(&app->nodes, row, n, word))
		app_go(app, word);
	else
		app_say(app, "there is no node here");
}

static void
retry(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);
	const struct nodes_surveyed *r = page_nodes_row(&app->nodes, row, n);

	if (r == NULL) {
		app_say(app, "there is no node here");
		return;
	}
	nodes_survey_retry(app->survey, r->word);
	if (page_how_answers(r->how))
		app_say(app, "%s answers: it is asked again and again", r->word);
	else
		app_say(app, "trying %s", r->word);
}

static void
unfold(struct app *app, int code)
{
	size_t n, was = app->nodes.nopen;
	const struct nodes_surveyed *const *row = rows_of(app, &n);
	bool some;

	if (code == '*') {
		page_nodes_unfold_all(&app->nodes, row, n);
		some = app->nodes.nopen > was;
	} else {
		some = page_nodes_unfold(&app->nodes, row, n);
	}
	if (!some)
		app_say(app, "there are no targets to be shown");
}

static void
fold(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	if (!page_nodes_fold(&app->nodes, row, n))
		app_say(app, "nothing is open here");
}

static bool
own_key(struct app *app, int code)
{
	switch (code) {
	case PAGE_KEY_RIGHT:
	case '+':
	case '*':
		unfold(app, code);
		return true;
	case PAGE_KEY_LEFT:
	case '-':
		fold(app);
		return true;
	case 'r':
		retry(app);
		return true;
	case 'q':
		app_leave(app);
		return true;
	default:
		return false;
	}
}

static bool
key(struct app *app, int code)
{
	if (own_key(app, code))
		return true;
	if (page_key_action(code) == PAGE_DO_NODES) {
		app_say(app, "this is page G");
		return true;
	}
	return app_overlay_means_nothing(app, code, 'G');
}

const struct app_overlay_ops app_overlay_nodes = {
	.whole = true,
	.help = PAGE_KEYS_NODES,
	.compose = compose,
	.move = move,
	.window = window,
	.enter = enter,
	.key = key,
};

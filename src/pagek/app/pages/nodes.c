#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../documents/documents.h"
#include "../../panels/nodes_page.h"
#include "../app.h"
#include "../../batch/batch.h"
#include "../pages.h"

#define GRACE_MS 10000	/* the survey goes on so long after the page was left */

struct page_g {
	struct nodes_survey *survey;	/* NULL: it does not run */
	struct mono left;		/* when the page was open last */
	struct page_nodes page;
};

static struct page_g *
state_of(const struct app *app)
{
	return app_panel_state(app, APP_PAGE_G);
}

static void
on_table(void *arg, const char *sentence)
{
	app_say(arg, "%s", sentence);
}

static const struct nodes_surveyed *const *
rows_of(struct app *app, size_t *n)
{
	const struct page_g *st = state_of(app);

	*n = 0;
	return st->survey != NULL ? nodes_survey_look(st->survey, n) : NULL;
}

static bool
open_page(struct app *app, bool first)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct nodes_survey_opts opts = { .user = true, .say = on_table,
		.arg = app, .remote = app->watch->remote };
	struct page_g *st = state_of(app);
	int r;

	(void)first;
	if (st->survey != NULL)
		return true;
	r = nodes_survey_open(&st->survey, app->loop, &opts);
	page_nodes_begin(&st->page, look->node.number);
	if (r < 0)
		app_say(app, "cannot ask the nodes: %s", strerror(-r));
	return r == 0;
}

static void
fini(struct app *app)
{
	nodes_survey_close(state_of(app)->survey);
	state_of(app)->survey = NULL;
}

static void
tick(struct app *app)
{
	struct page_g *st = state_of(app);

	if (st->survey == NULL || app_panel_is_open(app, APP_PAGE_G))
		st->left = mono_now();
	else if (mono_ms_since(st->left) > GRACE_MS)
		fini(app);
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	return page_nodes_compose(&state_of(app)->page, row, n,
	    &app->page->opts, app->cols, rows, pic);
}

static void
move(struct app *app, int delta, bool scroll)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	page_nodes_move(&state_of(app)->page, row, n, delta);
	if (scroll)
		state_of(app)->page.scroll.top += delta;
}

static int
window(const struct app *app)
{
	return state_of(app)->page.scroll.window;
}

static void
enter(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);
	char word[PAGE_NODES_WORD];

	if (page_nodes_word(&state_of(app)->page, row, n, word))
		app_go(app, word);
	else
		app_say(app, "there is no node here");
}

static void
retry(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);
	const struct nodes_surveyed *r = page_nodes_row(&state_of(app)->page,
	    row, n);

	if (r == NULL) {
		app_say(app, "there is no node here");
		return;
	}
	nodes_survey_retry(state_of(app)->survey, r->word);
	if (page_how_answers(r->how))
		app_say(
		    app, "%s answers, and is asked regularly", r->word);
	else
		app_say(app, "trying %s", r->word);
}

static void
say_unfolded(struct app *app, bool unfolded)
{
	if (!unfolded)
		app_say(app, "there are no targets to be shown");
}

static void
unfold(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	say_unfolded(app, page_nodes_unfold(&state_of(app)->page, row, n));
}

static void
unfold_all(struct app *app)
{
	struct page_nodes *nodes = &state_of(app)->page;
	size_t n, was = nodes->nopen;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	page_nodes_unfold_all(nodes, row, n);
	say_unfolded(app, nodes->nopen > was);
}

static void
fold(struct app *app)
{
	size_t n;
	const struct nodes_surveyed *const *row = rows_of(app, &n);

	if (!page_nodes_fold(&state_of(app)->page, row, n))
		app_say(app, "nothing is open here");
}

static const struct panel_key keys[] = {
	{ .names = "Enter", .help = "go to the node or the target under "
	    "the cursor" },
	{ .names = "r", .help = "retry the node under the cursor now",
	    .code = { 'r' }, .run = retry },
	{ .names = "Right + *", .help = "expand the node; * expands all",
	    .code = { PAGE_KEY_RIGHT, '+' }, .run = unfold },
	{ .names = "Left -", .help = "collapse the node",
	    .code = { PAGE_KEY_LEFT, '-' }, .run = fold },
	{ .code = { '*' }, .run = unfold_all },
	{ .code = { 'q' }, .run = app_leave },
};

struct survey {
	struct nodes_survey *survey;
	bool complete;			/* all nodes have answered */
};

static int
text_begin(struct batch *b)
{
	struct survey *a = calloc(1, sizeof *a);

	if (a == NULL)
		return -ENOMEM;
	b->state = a;
	return batch_ask_nodes(b->o, b->loop, &a->survey, &a->complete);
}

static void
text_end(struct batch *b)
{
	struct survey *a = b->state;

	if (a != NULL)
		nodes_survey_close(a->survey);
	free(a);
}

static int
print_picture(struct batch *b, const struct survey *a)
{
	struct page_nodes nodes = { .at = "" };
	struct page_picture pic = { 0 };
	size_t n;
	const struct nodes_surveyed *const *row = nodes_survey_look(a->survey,
	    &n);
	int r;

	r = page_nodes_compose(&nodes, row, n, &b->o->page,
	    batch_columns(b->out), 0, &pic);
	if (r == 0)
		batch_put(b->out, &pic);
	page_picture_fini(&pic);
	return r;
}

static int
print_data(struct batch *b, const struct survey *a)
{
	struct nodes_table *t;
	int r;

	r = nodes_table_load(&t, true, NULL, NULL);
	if (r < 0)
		return r;
	json_nodes(b->json, t, a->survey, a->complete);
	nodes_table_free(t);
	return 0;
}

static int
text_print(struct batch *b)
{
	struct survey *a = b->state;

	if (b->n > 0)
		a->complete = nodes_survey_settled(a->survey);
	return options_as_data(b->o) ? print_data(b, a) : print_picture(b, a);
}

static int
text_status(const struct batch *b)
{
	const struct survey *a = b->state;

	return batch_nodes_status(a->survey);
}

static const enum option_id refuse[] = { OPTION_SORT, OPTION_REVERSE,
	OPTION_SKIP, OPTION_NO_SKIP, OPTION_CLASSIC, OPTION_WIDE, OPTION_UTC,
	OPTION_STRICT, OPTION_MAX, OPTION_SINCE, OPTION_LIST,
	OPTION_LOOK_ONLY };

const struct page_ops page_nodes = {
	.panel = {
		.title = "on page G",
		.keys = keys,
		.nkeys = BASE_NELEM(keys),
		.state_size = sizeof(struct page_g),
		.compose = compose,
		.move = move,
		.window = window,
		.enter = enter,
		.fini = fini,
	},
	.open = open_page,
	.tick = tick,
	.text = {
		.begin = text_begin,
		.print = text_print,
		.end = text_end,
		.status = text_status,
		.verb = "ask the nodes",
		.refuse = refuse,
		.nrefuse = BASE_NELEM(refuse),
	},
};

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../../layout/layout.h"
#include "../../stress/stress.h"
#include "../app.h"
#include "../pages.h"

#define STRIP_MS 1000		/* between the samples of the line alone */
#define MEMORY_MS 1000		/* between two requests for the kernel's memory */
#define OLDER_NODE "VERSION: the node is older and does not have this; start it " \
	"again with this version"

/* In the order of the key b. */
enum view {
	LEVELS,
	SITES,
	SLABS,
	VIEWS,
	MEANINGS = VIEWS
};

struct page_s {
	const struct nodes_session *session;	/* whose samples these are */
	size_t selected;
	enum view view;
	struct page_scroll scroll;
	struct page_stress_memory memory[STRESS_TABLES];
	int64_t memory_ms;		/* time of the next request for a table */
	int64_t next_ms;		/* the next sample of the line; 0: the first one */
	bool failed;			/* the last question */
};

static struct page_s *
state_of(const struct app *app)
{
	return app_panel_state(app, APP_PAGE_S);
}

static struct page_stress_memory *
table_of(struct page_s *st)
{
	return st->view == SITES ? &st->memory[STRESS_BY_SITE] :
	    st->view == SLABS ? &st->memory[STRESS_BY_CACHE] : NULL;
}

static bool
is_failure(int error)
{
	return error != 0 && error != -EAGAIN && error != -EBUSY;
}

static void
trouble_text(char text[PAGE_STRESS_TROUBLE], int error, const char *why,
    const char *lack)
{
	if (error == -ENOTSUP)
		snprintf(text, PAGE_STRESS_TROUBLE, "%s", OLDER_NODE);
	else
		snprintf(text, PAGE_STRESS_TROUBLE, "%s: %s", lack, why != NULL &&
		    why[0] != '\0' ? why : strerror(-error));
}

static void
set_trouble(struct page_stress *l, int error, const char *why)
{
	char text[PAGE_STRESS_TROUBLE];

	if (!is_failure(error))
		return;
	trouble_text(text, error, why, "No counts");
	page_stress_set_trouble(l, text);
}

/* True: there is another sample, or another reason why there is none. */
static bool
take_sample(struct page_stress *l, struct nodes_session *session)
{
	const struct nodes_stress *s = nodes_session_stress(session);
	const struct nodes_look *look = nodes_session_look(session);

	set_trouble(l, s->error, s->error_why);
	return s->no != 0 && page_stress_take(l, &(struct page_stress_taken){
	    .sample = &s->sample, .kernel = s->kernel, .why = s->why,
	    .ms = s->at_ms, .no = s->no, .woken = s->woken,
	    .wall_ms = look->replay.on ? look->node_wall_ms :
	    base_wall_ms() });
}

/*
 * The line alone asks once a second, by a question that waits for that second, and again
 * if tasks waited for memory before it was over.  The first one does not wait.
 */
static bool
is_due(const struct app *app, struct page_s *st, uint32_t *wait_ms)
{
	int64_t now = mono_ms(mono_now());
	bool first = st->next_ms == 0;

	*wait_ms = 0;
	if (app_panel_is_open(app, APP_PAGE_S) && !st->failed) {
		st->next_ms = now;
		return true;
	}
	if (now < st->next_ms && !nodes_session_stress(app->session)->woken)
		return false;
	if (now >= st->next_ms)
		st->next_ms = first ? now : now + STRIP_MS;
	if (!first)
		*wait_ms = (uint32_t)(st->next_ms - now);
	return true;
}

static void
read_samples(struct app *app, struct page_s *st)
{
	const struct nodes_stress *s = nodes_session_stress(app->session);
	struct page_stress *l = app->page->levels;
	uint32_t wait_ms;
	int err;

	if (take_sample(l, app->session))
		app->page->news = true;
	if (is_failure(s->error) && !s->pending && !st->failed) {
		st->failed = true;
		st->next_ms = mono_ms(mono_now()) + STRIP_MS;
	}
	if (s->pending || !is_due(app, st, &wait_ms))
		return;
	err = nodes_session_ask_stress(app->session, wait_ms);
	st->failed = is_failure(err);
	set_trouble(l, err, NULL);
}

/* True: a new table has come, or a new reason why there is none. */
static bool
take_table(struct page_s *st, struct nodes_session *session)
{
	const struct nodes_kernel_memory *k = nodes_session_kernel_memory(session);
	struct page_stress_memory *shown = table_of(st);
	struct stress_memory m;
	char text[PAGE_STRESS_TROUBLE];

	if (nodes_session_take_kernel_memory(session, &m)) {
		page_stress_memory_take(&st->memory[m.table], &m);
		return true;
	}
	if (!is_failure(k->error) || k->table != shown->table)
		return false;
	trouble_text(text, k->error, k->error_why, "No table");
	if (strcmp(text, shown->trouble) == 0)
		return false;
	page_stress_memory_set_trouble(shown, text);
	return true;
}

/* While a table is shown, the node reads it once a second. */
static void
read_tables(struct app *app, struct page_s *st)
{
	struct page_stress_memory *shown = table_of(st);
	int64_t now = mono_ms(mono_now());

	if (shown == NULL || !app_panel_is_open(app, APP_PAGE_S) ||
	    app->page->paused != NULL)
		return;
	if (!nodes_session_kernel_memory(app->session)->pending &&
	    take_table(st, app->session))
		app->page->news = true;
	if (now < st->memory_ms)
		return;
	if (nodes_session_ask_kernel_memory(app->session, shown->table) == 0)
		st->memory_ms = now + MEMORY_MS;
}

static void
forget_tables(struct page_s *st)
{
	for (unsigned i = 0; i < STRESS_TABLES; i++) {
		page_stress_memory_fini(&st->memory[i]);
		st->memory[i].table = (enum stress_table)i;
	}
	st->memory_ms = 0;
}

static bool
is_wanted(const struct app *app)
{
	return app->page->opts.stress || app_panel_is_open(app, APP_PAGE_S);
}

static void
tick(struct app *app)
{
	struct page_s *st = state_of(app);
	struct page *page = app->page;

	if (st->session != app->session) {
		if (page->levels != NULL)
			page_stress_clear(page->levels);
		st->session = app->session;
		st->next_ms = 0;
		st->failed = false;
		forget_tables(st);
	}
	read_tables(app, st);
	if (!is_wanted(app))
		return;
	if (page->levels == NULL && page_stress_new(&page->levels) < 0) {
		app_say(app, "no memory for page S");
		return;
	}
	page_stress_hold(page->levels, page->paused != NULL);
	read_samples(app, st);
}

static void
head_of(struct app *app, struct page_stress_head *h, char node[PAGE_NODE_TEXT])
{
	const struct nodes_look *look = nodes_session_look(app->session);
	bool live = look->link.up && !look->replay.on;
	struct page_view v = app_view(app);
	struct page_state state;

	page_state_get(app->page, &v, &state);
	page_node_text(look, node);
	*h = (struct page_stress_head){ .node = node,
		.state = app->page->paused != NULL ? "PAUSED" : live ?
		    "LIVE" : state.name,
		.state_mark = app->page->paused != NULL ? PAGE_WARN :
		    live ? PAGE_PLAIN : state.mark,
		.selected = state_of(app)->selected,
		.ascii = app->page->opts.ascii, .utc = app->page->opts.utc };
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_s *st = state_of(app);
	struct page_stress_head h;
	char node[PAGE_NODE_TEXT];

	if (app->page->levels == NULL && page_stress_new(&app->page->levels) < 0)
		return -ENOMEM;
	if (st->view == MEANINGS && rows > 0)
		return page_stress_explain(app->page->levels, &st->scroll,
		    app->page->opts.ascii, app->cols, rows, pic);
	head_of(app, &h, node);
	if (table_of(st) != NULL)
		return page_stress_memory_compose(table_of(st), &h, app->cols, rows,
		    pic);
	return page_stress_compose(app->page->levels, &h, app->cols, rows, pic);
}

static int
save(struct app *app, struct page_picture *pic)
{
	return compose(app, 0, pic);
}

static bool
open_page(struct app *app, bool first)
{
	(void)first;
	state_of(app)->view = LEVELS;
	return true;
}

static void
move(struct app *app, int rows, bool scroll)
{
	struct page_s *st = state_of(app);
	struct page_stress_memory *table = table_of(st);
	size_t by = (size_t)abs(rows);

	if (st->view == MEANINGS)
		st->scroll.top += rows;
	else if (table != NULL)
		page_list_move(&table->list, table->now.n, rows, scroll);
	else if (rows < 0)
		st->selected = st->selected > by ? st->selected - by : 0;
	else
		st->selected = by < PAGE_STRESS_ROWS - st->selected ?
		    st->selected + by : PAGE_STRESS_ROWS - 1;
}

static int
window(const struct app *app)
{
	struct page_s *st = state_of(app);
	const struct page_stress_memory *table = table_of(st);

	return table != NULL ? (int)table->list.window : st->view == MEANINGS ?
	    st->scroll.window : 1;
}

static void
toggle_meaning(struct app *app)
{
	struct page_s *st = state_of(app);

	st->view = st->view == LEVELS ? MEANINGS : LEVELS;
	st->scroll = (struct page_scroll){ 0 };
}

static bool
back(struct app *app)
{
	struct page_s *st = state_of(app);
	bool was_elsewhere = st->view != LEVELS;

	st->view = LEVELS;
	return was_elsewhere;
}

static void
next_table(struct app *app)
{
	struct page_s *st = state_of(app);

	st->view = st->view < VIEWS ? (enum view)((st->view + 1) % VIEWS) : SITES;
	st->memory_ms = 0;
}

static void
fini(struct app *app)
{
	forget_tables(state_of(app));
}

static void
step_window(struct app *app, bool longer)
{
	if (app->page->levels != NULL &&
	    !page_stress_step_window(app->page->levels, longer))
		app_say(app, "this is the %s window", longer ? "longest" :
		    "shortest");
}

static void
shorter_window(struct app *app)
{
	step_window(app, false);
}

static void
longer_window(struct app *app)
{
	step_window(app, true);
}

static void
set_mark(struct app *app)
{
	struct page_stress *l = app->page->levels;
	struct page_stress_memory *table = table_of(state_of(app));

	if (table != NULL)
		app_say(app, page_stress_memory_mark(table) ?
		    "marked; SINCE MK counts from now" : "there is no table yet");
	else
		app_say(app, l != NULL && page_stress_set_mark(l) ?
		    "marked; SINCE MK counts from now" : "there are no counts yet");
}

static void
reset(struct app *app)
{
	struct page_stress *l = app->page->levels;

	app_say(app, l != NULL && page_stress_reset(l) ?
	    "mark, window and trend begin now, for this page only" :
	    "there are no counts yet");
}

static const struct panel_key keys[] = {
	{ .names = "{", .help = "shorten the window: 10 s is the shortest",
	    .action = PAGE_DO_REPLAY_BACK, .run = shorter_window },
	{ .names = "}", .help = "lengthen the window: an hour is the longest",
	    .action = PAGE_DO_REPLAY_FORTH, .run = longer_window },
	{ .names = "m", .help = "set the mark that SINCE MK counts from",
	    .action = PAGE_DO_MARK, .run = set_mark },
	{ .names = "x", .help = "begin mark, window and trend now, for this page "
	    "only", .action = PAGE_DO_COUNT_ANEW, .run = reset },
	{ .names = "b", .help = "show the next table: the levels, the kernel's memory "
	    "by call site, its slab caches", .action = PAGE_DO_GROUP,
	    .run = next_table },
	{ .names = "Enter", .help = "show what the levels mean, or the table" },
	{ .action = PAGE_DO_PAUSE, .run = app_pause },
	{ .action = PAGE_DO_END_TARGET, .run = app_end_target },
};

static void
text_end(struct batch *b)
{
	page_stress_free(b->state);
}

/* The kernel's counts need no target. */
static int
text_status(const struct batch *b)
{
	return b->status;
}

static bool
is_answered(void *arg)
{
	return !nodes_session_stress(arg)->pending;
}

static int
ask(struct batch *b, struct page_stress *l)
{
	int err = nodes_session_ask_stress(b->session, 0);

	if (err == 0 && !pump(b->loop, b->session, b->o->timeout_ms,
	    is_answered, b->session)) {
		complain("no counts within %d s", b->o->timeout_ms / 1000);
		return PAGEK_TIMEOUT;
	}
	(void)take_sample(l, b->session);
	set_trouble(l, err, NULL);
	if (page_stress_trouble(l)[0] == '\0')
		return PAGEK_OK;
	complain("%s", page_stress_trouble(l));
	return err == -ENOTSUP || nodes_session_stress(b->session)->error ==
	    -ENOTSUP ? PAGEK_FORMAT : PAGEK_FAILED;
}

/* The first sample, an interval before the first picture. */
static int
text_begin(struct batch *b)
{
	struct page_stress *l = NULL;
	int err = page_stress_new(&l);

	b->state = l;
	if (err == 0)
		b->status = ask(b, l);
	return err == 0 && b->status != PAGEK_OK ? -EAGAIN : err;
}

static int
text_print(struct batch *b)
{
	const struct nodes_look *look = nodes_session_look(b->session);
	struct page_picture pic = { 0 };
	char node[PAGE_NODE_TEXT];
	struct page_stress_head h = { .node = node,
		.state = look->replay.on ? page_look_state(look) : "LIVE",
		.ascii = batch_ascii(b->o), .utc = b->o->page.utc };
	int r;

	b->status = ask(b, b->state);
	if (b->status != PAGEK_OK)
		return 0;
	page_node_text(look, node);
	r = page_stress_compose(b->state, &h, batch_columns(b->out), 0, &pic);
	if (r == 0)
		batch_put(b->out, &pic);
	page_picture_fini(&pic);
	return r;
}

static const enum option_id refuse[] = { OPTION_SORT, OPTION_REVERSE,
	OPTION_FILTER, OPTION_GROUP, OPTION_CLASSIC, OPTION_SINCE,
	OPTION_FORMAT };

const struct page_ops page_stress = {
	.panel = {
		.title = "on page S",
		.keys = keys,
		.nkeys = BASE_NELEM(keys),
		.state_size = sizeof(struct page_s),
		.compose = compose,
		.move = move,
		.window = window,
		.enter = toggle_meaning,
		.back = back,
		.fini = fini,
	},
	.needs = PAGE_NEEDS_TARGET | PAGE_NEEDS_INTERVAL,
	.open = open_page,
	.tick = tick,
	.save = save,
	.text = {
		.begin = text_begin,
		.print = text_print,
		.end = text_end,
		.status = text_status,
		.verb = "count",
		.refuse = refuse,
		.nrefuse = BASE_NELEM(refuse),
	},
};

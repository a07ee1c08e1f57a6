#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../blocks/row_filter.h"
#include "../../cli/cli.h"
#include "../../documents/documents.h"
#include "../../layout/layout.h"
#include "../../usage/usage_page.h"
#include "../app.h"
#include "../../batch/batch.h"
#include "../pages.h"

#define ASK_MS 1000

struct page_u {
	struct page_usage page;
	struct usage_namer *namer;
	struct mono asked;
	bool open;			/* at the last tick */
	const struct nodes_session *session;	/* whose counts these are: */
	uint32_t stream_no;
	uint64_t no, names_no;		/* of the last reading */
	char failed[256];		/* why the last answer had no counts; "" it had */
	char notice[512];
};

static struct page_u *
state_of(const struct app *app)
{
	return app_panel_state(app, APP_PAGE_U);
}

/* -ENOMEM */
static int
take_counts(struct page_u *st, struct app *app)
{
	const struct nodes_usage *u = nodes_session_usage(app->session);
	struct profile_words words = nodes_profile_words;
	int err = 0;

	if (st->namer == NULL)
		err = usage_namer_new(&st->namer, app->page->opts.wrappers);
	if (err == 0)
		err = usage_namer_take(st->namer, u->row, u->n);
	words.arg = app->session;
	st->names_no = nodes_session_names_no(app->session);
	if (err == 0)
		err = profile_resolve(usage_namer_profile(st->namer), &words);
	st->no = u->no;
	return err < 0 ? err : page_usage_take(&st->page,
	    &(struct page_usage_taken){ .row = u->row, .n = u->n,
	    .change = u->no, .namer = st->namer,
	    .types = nodes_session_look(app->session)->types });
}

static void
forget_target(struct page_u *st, uint32_t stream_no)
{
	page_usage_clear(&st->page);
	usage_namer_free(st->namer);
	st->namer = NULL;
	st->stream_no = stream_no;
	st->no = 0;
	st->failed[0] = '\0';
	st->asked = (struct mono){ 0 };
}

/* The rows are made again; of a page that is paused at once, for it reads nothing. */
static void
remake_rows(struct app *app)
{
	struct page_u *st = state_of(app);
	int err = 0;

	st->no = 0;
	if (app->page->paused != NULL && st->page.change != 0)
		err = take_counts(st, app);
	if (err < 0)
		app_say(app, "cannot count: %s", strerror(-err));
}

/* A question that is not answered yet leaves what the last answer said. */
static void
note_answer(struct page_u *st, const struct nodes_usage *u)
{
	if (u->error == 0)
		st->failed[0] = '\0';
	else if (u->error != -EAGAIN)
		snprintf(st->failed, sizeof st->failed, "%s", u->why[0] != '\0' ?
		    u->why : strerror(-u->error));
}

static void
read_counts(struct app *app, struct page_u *st)
{
	const struct nodes_usage *u = nodes_session_usage(app->session);
	int err = 0;

	note_answer(st, u);
	if (!u->pending && (st->asked.ns == 0 ||
	    mono_ms_since(st->asked) >= ASK_MS)) {
		st->asked = mono_now();
		(void)nodes_session_ask_usage(app->session);
		u = nodes_session_usage(app->session);
	}
	if (u->no != 0 && (u->no != st->no || st->names_no !=
	    nodes_session_names_no(app->session)))
		err = take_counts(st, app);
	if (err < 0)
		app_say(app, "cannot count: %s", strerror(-err));
	if (err == 0 && u->no == st->no)
		app->page->news = true;
}

static void
tick(struct app *app)
{
	struct page_u *st = state_of(app);
	uint32_t stream_no = nodes_session_look(app->session)->stream_no;
	bool is_open = app_panel_is_open(app, APP_PAGE_U);

	/* Each session begins with the same number. */
	if (st->session != app->session || st->stream_no != stream_no)
		forget_target(st, stream_no);
	st->session = app->session;
	if (!is_open && st->open)
		nodes_session_end_usage(app->session);
	st->open = is_open;
	if (is_open && app->page->paused == NULL)
		read_counts(app, st);
}

static void
fini(struct app *app)
{
	struct page_u *st = state_of(app);

	usage_namer_free(st->namer);
	page_usage_fini(&st->page);
}

static const char *
notice_of(struct app *app, char *out, size_t cap)
{
	const struct nodes_usage *u = nodes_session_usage(app->session);
	struct page_u *st = state_of(app);
	size_t len = 0;

	out[0] = '\0';
	note_answer(st, u);
	if (st->failed[0] != '\0')
		base_append(out, cap, &len, "No counts: %s. ", st->failed);
	else if (u->no == 0)
		base_append(out, cap, &len, "waiting for the node's counts");
	else if (u->lacks[0] != '\0')
		base_append(out, cap, &len, "INCOMPLETE: %s. ", u->lacks);
	if (u->totals.crowded > 0)
		base_append(out, cap, &len, "%s allocations are in rows of "
		    "several sizes, marked *. ",
		    base_digits(u->totals.crowded).text);
	return out;
}

static void
head_of(struct app *app, struct page_usage_head *h, char node[PAGE_NODE_TEXT],
    char target[PAGE_TARGET_TEXT], struct page_state *state, char *notice,
    size_t cap)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct page_view v = app_view(app);
	struct usage_source from;

	batch_usage_source(app->session, &from);
	page_node_text(look, node);
	page_target_text(look, target);
	page_state_get(app->page, &v, state);
	*h = (struct page_usage_head){ .node = node, .target = target,
		.state = state->plain ? "LIVE" : app->cols < PAGE_WIDE_COLS ?
		    state->brief : state->word,
		.since_ms = nodes_session_usage(app->session)->no != 0 ?
		    from.since_ms : 0,
		.from_start = from.from_start, .sample = look->sample,
		.rss = from.rss,
		.notice = notice_of(app, notice, cap),
		.utc = app->page->opts.utc };
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_u *st = state_of(app);
	char node[PAGE_NODE_TEXT], target[PAGE_TARGET_TEXT];
	struct page_usage_head h;
	struct page_state state;

	head_of(app, &h, node, target, &state, st->notice, sizeof st->notice);
	return page_usage_compose(&st->page, &h, app->page->opts.ascii, app->cols,
	    rows, pic);
}

static int
save(struct app *app, struct page_picture *pic)
{
	return compose(app, 0, pic);
}

static bool
open_page(struct app *app, bool first)
{
	struct page_u *st = state_of(app);

	(void)first;
	if (st->page.sort == USAGE_SORT_ORDER && !st->page.reverse)
		st->page.sort = USAGE_SORT_BYTES;
	return true;
}

static void
move(struct app *app, int rows, bool scroll)
{
	page_usage_move(&state_of(app)->page, rows, scroll);
}

static int
window(const struct app *app)
{
	return (int)state_of(app)->page.rows.window;
}

static void
next_group(struct app *app)
{
	struct page_u *st = state_of(app);

	st->page.by = (st->page.by + 1) % USAGE_GROUPINGS;
	st->page.at = 0;
	/* Another namer, if :skip has changed what is skipped. */
	usage_namer_free(st->namer);
	st->namer = NULL;
	remake_rows(app);
	app_say(app, "groups: %s", usage_groupings[st->page.by]);
}

static void
reset_maxima(struct app *app)
{
	page_usage_reset(&state_of(app)->page);
	state_of(app)->no = 0;
	app_say(app, "max was reset, for this page only");
}

static void
enter(struct app *app)
{
	const struct usage_line *r = page_usage_row(&state_of(app)->page);
	char text[FILTER_MAX + 1];

	if (r == NULL) {
		app_say(app, "there is no row here");
		return;
	}
	if (!page_usage_filter_of(&state_of(app)->page, r, text, sizeof text)) {
		app_say(app, "no filter of page K selects the blocks of this "
		    "row");
		return;
	}
	if (app_filter(app, text))
		app_panel_close_all(app);
}

static struct filter **
filter_of(struct app *app)
{
	return &state_of(app)->page.filter;
}

static const struct app_filter_ops filter_ops = {
	.prompt = APP_FILTER_PROMPT("usage-filter"),
	.table = &filter_usage,
	.none = "no filter: all rows are shown",
	.filter = filter_of,
	.changed = remake_rows,
};

static void
open_filter(struct app *app)
{
	app_prompt_open(app, &filter_ops.prompt);
}

static bool
back(struct app *app)
{
	return app_filter_drop(app, &filter_ops);
}

static const struct panel_key keys[] = {
	{ .names = "Enter", .help = "show the blocks of the row on page K" },
	{ .names = "b", .help = "next grouping: type, function, line, module, size, "
	    "none",
	    .action = PAGE_DO_GROUP, .run = next_group },
	{ .names = "f", .help = "show only rows that match an expression: live>100 "
	    "& type~list", .action = PAGE_DO_FILTER, .run = open_filter },
	{ .names = "x", .help = "reset max, for this page only",
	    .action = PAGE_DO_COUNT_ANEW, .run = reset_maxima },
	{ .action = PAGE_DO_PAUSE, .run = app_pause },
	{ .action = PAGE_DO_END_TARGET, .run = app_end_target },
};

static void
get_sorting(const struct app *app, struct page_sorting *s)
{
	const struct page_usage *u = &state_of(app)->page;

	*s = (struct page_sorting){ .n = 1 };
	s->by[0].sort = (uint8_t)u->sort;
	s->by[0].reverse = u->reverse;
}

static void
set_sorting(struct app *app, const struct page_sorting *s)
{
	struct page_usage *u = &state_of(app)->page;

	u->sort = (enum usage_sort)s->by[0].sort;
	u->reverse = s->by[0].reverse;
	usage_list_sort(&u->list, u->sort, u->reverse);
}

static size_t
beside(struct app *app, bool right)
{
	return page_usage_beside(&state_of(app)->page, app->cols, right);
}

static const struct page_sort_ops usage_sorts = {
	.keys = usage_sort_rows,
	.n = USAGE_SORTS,
	.get = get_sorting,
	.set = set_sorting,
	.beside = beside,
};

static const struct page_sort_ops *
sorts(const struct app *app)
{
	(void)app;
	return &usage_sorts;
}

static int
export_begin(struct app *app, const struct page_view *v, enum text_format form,
    FILE *out, struct page_export **x)
{
	struct page_usage *u = &state_of(app)->page;
	struct usage_source from;

	(void)v;
	if (u->change == 0)
		return -EAGAIN;
	batch_usage_source(app->session, &from);
	from.filter = u->filter != NULL ? filter_text(u->filter) : NULL;
	from.matched = u->list.n;
	usage_list_sum(&u->list);
	return page_export_begin_usage(x, &u->list, &from, form,
	    app->page->opts.ascii, out);
}

static int
print_picture(struct batch *b, struct usage_list *list,
    const struct usage_source *from)
{
	struct page_usage u = { .sort = USAGE_SORT_BYTES,
		.by = b->o->usage.group };
	const struct nodes_look *look = nodes_session_look(b->session);
	char target[PAGE_TARGET_TEXT];
	struct page_usage_head h = { .node = "", .target = target,
		.state = page_state_name(look->state),
		.since_ms = from->since_ms, .from_start = from->from_start,
		.notice = nodes_session_usage(b->session)->lacks, .sample =
		    look->sample, .rss = from->rss, .utc = b->o->page.utc };
	struct page_picture pic = { 0 };
	int r;

	page_target_text(look, target);
	r = page_usage_show(&u, list, 1);
	if (r == 0)
		r = page_usage_compose(&u, &h, batch_ascii(b->o),
		    batch_columns(b->out), 0, &pic);
	if (r == 0)
		batch_put(b->out, &pic);
	page_picture_fini(&pic);
	page_usage_fini(&u);
	return r;
}

static int
print_data(struct batch *b, struct usage_list *list, struct usage_source *from)
{
	int r = usage_list_group(list, b->o->usage.group);

	if (r == 0) {
		usage_list_sum(list);
		usage_list_sort(list, USAGE_SORT_BYTES, false);
		from->matched = list->n;
		json_usage(b->json, list, from);
	}
	usage_list_fini(list);
	return r;
}

static int
text_print(struct batch *b)
{
	struct usage_list list = { 0 };
	struct usage_source from;

	b->status = batch_usage(b->o, b->loop, b->session, &list, &from);
	if (b->status != PAGEK_OK) {
		usage_list_fini(&list);
		return 0;
	}
	return options_as_data(b->o) ? print_data(b, &list, &from) :
	    print_picture(b, &list, &from);
}

static const enum option_id refuse[] = { OPTION_SORT, OPTION_REVERSE,
	OPTION_FILTER, OPTION_GROUP, OPTION_CLASSIC, OPTION_SINCE };

const struct page_ops page_usage = {
	.panel = {
		.title = "on page U",
		.keys = keys,
		.nkeys = BASE_NELEM(keys),
		.state_size = sizeof(struct page_u),
		.compose = compose,
		.move = move,
		.window = window,
		.enter = enter,
		.back = back,
		.fini = fini,
	},
	.needs = PAGE_NEEDS_TARGET,
	.open = open_page,
	.tick = tick,
	.sorts = sorts,
	.save = save,
	.export_begin = export_begin,
	.text = {
		.print = text_print,
		.verb = "count",
		.refuse = refuse,
		.nrefuse = BASE_NELEM(refuse),
	},
};

/*
 * Page R: references to pages, which the node counts where somebody has asked for it;
 * and the key of page K that lists blocks that nobody refers to.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../blocks/choice.h"
#include "../../blocks/row_filter.h"
#include "../../cli/cli.h"
#include "../../documents/documents.h"
#include "../../layout/layout.h"
#include "../../rows/rows.h"
#include "../../refcnt/refcnt_page.h"
#include "../app.h"
#include "../pages.h"

#define ASK_MS 1000
#define NOTHING_MS 5000		/* until a page that counts nothing is asked again */
#define PAGES_A_SECOND 20000	/* read at most */
#define STALE_AGE "10m"

struct page_r {
	struct page_refcnt page;
	struct refcnt_reader reader;
	struct refcnt_switch wish;
	unsigned turns;			/* of the planes, from the wide one on */
	struct mono begun;		/* the last copy; 0: none */
	bool reading;
	bool stale;			/* the filter is set when the wish is fulfilled */
	const struct nodes_session *session;	/* whose counts these are: */
	uint32_t stream_no;
	char notice[512];
	char lost[256];			/* why counting ended, as said on page K */
};

static struct page_r *
state_of(const struct app *app)
{
	return app_panel_state(app, APP_PAGE_R);
}

static void
forget_target(struct app *app, struct page_r *st, uint32_t stream_no)
{
	st->session = app->session;
	page_refcnt_clear(&st->page);
	refcnt_reader_forget(&st->reader);
	refcnt_switch_fini(&st->wish);
	app->page->opts.refcnt = NULL;
	st->stream_no = stream_no;
	st->begun = (struct mono){ 0 };
	st->reading = st->stale = false;
}

static void
remake_lines(struct app *app)
{
	struct page_r *st = state_of(app);
	int err = page_refcnt_take(&st->page, &st->reader.copy,
	    st->reader.plane);

	if (err < 0)
		app_say(app, "cannot show the counts: %s", strerror(-err));
}

/* Nothing is asked of a node that cannot answer, unless the page is opened. */
static int64_t
wait_ms(const struct page_r *st, bool is_open)
{
	int64_t ms = (int64_t)(st->reader.copy.n * ASK_MS / PAGES_A_SECOND);

	if (st->reader.copy.ranges == 0 && !is_open)
		return st->reader.error == -ENOTSUP ? INT64_MAX : NOTHING_MS;
	return ms > ASK_MS ? ms : ASK_MS;
}

/* Page K has the counts that miss nothing. */
static enum refcnt_plane
plane_of(const struct app *app, const struct page_r *st)
{
	unsigned turns = app_panel_is_open(app, APP_PAGE_R) ? st->turns : 0;

	return (enum refcnt_plane)((REFCNT_WIDE + turns) % REFCNT_PLANES);
}

static bool
is_due(const struct app *app, const struct page_r *st)
{
	bool is_open = app_panel_is_open(app, APP_PAGE_R);

	return st->begun.ns == 0 || st->reader.plane != plane_of(app, st) ||
	    mono_ms_since(st->begun) >= wait_ms(st, is_open);
}

static void
say_lost(struct app *app, struct page_r *st)
{
	const struct refcnt_reader *r = &st->reader;

	if (r->copy.ranges > 0 || strcmp(st->lost, r->why) == 0)
		return;
	base_copy_text(st->lost, sizeof st->lost, r->why);
	if (r->why[0] != '\0')
		app_say(app, "%s", r->why);
}

static void
read_counts(struct app *app, struct page_r *st)
{
	int r;

	if (!st->reading && !is_due(app, st))
		return;
	if (!st->reading) {
		st->begun = mono_now();
		st->reader.plane = plane_of(app, st);
	}
	r = refcnt_reader_step(&st->reader, app->session);
	st->reading = r == 0;
	if (r <= 0)
		return;
	/* The lines point into the copy that was replaced. */
	remake_lines(app);
	app->page->opts.refcnt = st->reader.copy.ranges > 0 &&
	    st->reader.plane == REFCNT_WIDE ? &st->reader.copy : NULL;
	app->page->news = true;
	say_lost(app, st);
}

static void show_stale(struct app *);

static void
fulfil_wish(struct app *app, struct page_r *st)
{
	struct refcnt_switch *w = &st->wish;
	bool stale = st->stale;

	if (w->ranges.n == 0 || !refcnt_switch_step(w, app->session))
		return;
	st->begun = (struct mono){ 0 };
	st->stale = false;
	if (w->failed == w->ranges.n)
		app_say(app, "%s: %s", w->on ? "not counted" :
		    "counting goes on", w->why);
	else if (w->failed > 0)
		app_say(app, "%zu of %zu ranges are not counted: %s", w->failed,
		    w->ranges.n, w->why);
	else if (!w->on)
		app_say(app, "these pages are not counted any more");
	if (stale && w->failed < w->ranges.n)
		show_stale(app);
	refcnt_switch_fini(w);
}

static bool
may_ask(const struct nodes_look *look)
{
	return look->listed && !look->classic && !look->replay.on &&
	    look->state == NODES_LIVE && look->target.pid > 0;
}

static void
tick(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct page_r *st = state_of(app);

	/* Each session begins with the same number. */
	if (st->session != app->session || st->stream_no != look->stream_no)
		forget_target(app, st, look->stream_no);
	if (!may_ask(look))
		return;
	fulfil_wish(app, st);
	if (app->page->paused == NULL)
		read_counts(app, st);
}

static void
fini(struct app *app)
{
	struct page_r *st = state_of(app);

	page_refcnt_fini(&st->page);
	refcnt_reader_fini(&st->reader);
	refcnt_switch_fini(&st->wish);
	app->page->opts.refcnt = NULL;
}

static const char *
notice_of(struct page_r *st)
{
	const struct refcnt_reader *r = &st->reader;
	size_t len = 0;

	st->notice[0] = '\0';
	if (r->error < 0)
		base_append(st->notice, sizeof st->notice, &len, "%s: %s. ",
		    r->error == -ENOTSUP ? "VERSION" : "No counts", r->why);
	else if (r->why[0] != '\0')
		base_append(st->notice, sizeof st->notice, &len, "%s. ", r->why);
	if (st->wish.ranges.n > 0)
		base_append(st->notice, sizeof st->notice, &len,
		    "switching %zu of %zu ranges ", st->wish.at + 1, st->wish.ranges.n);
	return st->notice;
}

static const char *
advice_of(const struct nodes_look *look, const struct refcnt_reader *r)
{
	if (look->replay.on)
		return "A capture has no references to pages.";
	if (!may_ask(look))
		return "Not counted: only pages of a live process on Linux can be.";
	if (!r->known)
		return r->error < 0 ? "" : "waiting for the node's counts";
	return "Not counted.  a counts the pages of the block under the cursor of "
	    "page K; a on page K counts those of all blocks that are older than "
	    STALE_AGE ", and lists the ones without a reference.  Or: pagek "
	    "refcnt --enable pid:N ADDRESS LENGTH.  Counting needs the role "
	    "control, and costs nothing until somebody asks for it.";
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct page_r *st = state_of(app);
	struct page_view v = app_view(app);
	char node[PAGE_NODE_TEXT], target[PAGE_TARGET_TEXT];
	struct page_state state;

	page_node_text(look, node);
	page_target_text(look, target);
	page_state_get(app->page, &v, &state);
	return page_refcnt_compose(&st->page, &(struct page_refcnt_head){
	    .node = node, .target = target, .state = state.plain ? "LIVE" :
	    app->cols < PAGE_WIDE_COLS ? state.brief : state.word,
	    .virtual = st->reader.virtual, .notice = notice_of(st), .advice = advice_of(look, &st->reader),
	    .v = &v }, app->page->opts.ascii, app->cols, rows, pic);
}

static int
save(struct app *app, struct page_picture *pic)
{
	return compose(app, 0, pic);
}

static bool
open_page(struct app *app, bool first)
{
	struct page_r *st = state_of(app);

	(void)first;
	st->begun = (struct mono){ 0 };
	return true;
}

static void
move(struct app *app, int rows, bool scroll)
{
	page_refcnt_move(&state_of(app)->page, rows, scroll);
}

static int
window(const struct app *app)
{
	return (int)state_of(app)->page.rows.window;
}

static void
enter(struct app *app)
{
	struct refcnt_row room;
	const struct refcnt_row *r = page_refcnt_row(&state_of(app)->page, &room);
	char text[128];

	if (r == NULL) {
		app_say(app, "there is no row here");
		return;
	}
	page_refcnt_filter_of(r, text, sizeof text);
	if (app_filter(app, text))
		app_panel_close_all(app);
}

static void
next_plane(struct app *app)
{
	static const char *const names[REFCNT_PLANES] = {
		[REFCNT_HW] = "hardware: they peg at their maximum",
		[REFCNT_EXT] = "extended: they lag behind the hardware's",
		[REFCNT_WIDE] = "wide: they miss nothing",
	};
	struct page_r *st = state_of(app);

	st->turns = (st->turns + 1) % REFCNT_PLANES;
	st->begun = (struct mono){ 0 };
	app_say(app, "counters: %s", names[plane_of(app, st)]);
}

static void
shift(struct app *app, int by)
{
	if (!page_refcnt_shift(&state_of(app)->page, by))
		app_say(app, "there are no more nodes on that side");
}

static void
shift_right(struct app *app)
{
	shift(app, 1);
}

static void
shift_left(struct app *app)
{
	shift(app, -1);
}

/* True, with a message: nothing can be switched now. */
static bool
is_busy(struct app *app)
{
	struct page_r *st = state_of(app);

	if (!may_ask(nodes_session_look(app->session)))
		app_say(app, "only pages of a live target can be counted");
	else if (app->page->paused != NULL)
		app_say(app, "the picture is paused: Space resumes it");
	else if (st->wish.ranges.n > 0)
		app_say(app, "the last request is not answered yet");
	else
		return false;
	return true;
}

static void
begin_wish(struct app *app, int err, bool on)
{
	struct page_r *st = state_of(app);

	st->wish.on = on;
	if (err == 0)
		return;
	refcnt_switch_fini(&st->wish);
	app_say(app, "cannot ask: %s", strerror(-err));
}

static void
count_block(struct app *app)
{
	struct page_view v = app_view(app);
	struct blk b;
	uint64_t from, to;

	if (is_busy(app))
		return;
	if (!page_block_at_cursor(app->page, &v, &b) || page_is_free(&b)) {
		app_say(app, "page K has no block under its cursor");
		return;
	}
	from = refcnt_page_of(b.addr);
	to = refcnt_page_of(b.addr + (b.size > 0 ? b.size - 1 : 0)) + REFCNT_PAGE;
	app_say(app, "counting the pages of %012" PRIx64, b.addr);
	begin_wish(app, refcnt_switch_range(&state_of(app)->wish, from, to - from),
	    true);
}

static void
end_counting(struct app *app)
{
	struct page_r *st = state_of(app);
	struct refcnt_row room;
	const struct refcnt_row *r = page_refcnt_row(&st->page, &room);
	const struct refcnt_range *range = r != NULL ? refcnt_copy_range(
	    &st->reader.copy, refcnt_row_page(r)->vaddr) : NULL;

	if (is_busy(app))
		return;
	if (range == NULL)
		app_say(app, "nothing is counted here");
	else
		begin_wish(app, refcnt_switch_range(&st->wish, range->vaddr,
		    range->len), false);
}

/* Since the mark of the page if there is one, else since counting began. */
static void
show_stale(struct app *app)
{
	struct page_view v = app_view(app);
	char text[FILTER_MAX + 1] = "age>=" STALE_AGE " & touches=0", when[64] =
	    "counting began";
	int64_t s;

	if (page_is_marked(app->page)) {
		s = (v.look->now_ms - app->page->marked->mark.ms) / 1000;
		snprintf(text, sizeof text, "age>=" STALE_AGE " & touched>=%"
		    PRId64 "s", s > 0 ? s : 0);
		snprintf(when, sizeof when, "the mark");
	}
	if (app_filter(app, text))
		app_say(app, "blocks older than " STALE_AGE " whose pages were not "
		    "referenced since %s; Esc shows all", when);
}

void
app_list_stale(struct app *app)
{
	struct page_r *st = state_of(app);
	struct page_view v = app_view(app);
	uint64_t counted;
	int err;

	if (st->reader.copy.ranges > 0) {
		show_stale(app);
		return;
	}
	if (is_busy(app))
		return;
	if (v.look->window || v.look->list == NULL) {
		app_say(app, "the whole list is not here yet");
		return;
	}
	err = refcnt_switch_blocks(&st->wish, &v, 600000, &counted);
	if (err == 0 && st->wish.ranges.n == 0) {
		app_say(app, "no block is older than " STALE_AGE);
		return;
	}
	app_say(app, "counting references to %s pages", base_digits(counted).text);
	st->stale = true;
	begin_wish(app, err, true);
}

static struct filter **
filter_of(struct app *app)
{
	return &state_of(app)->page.filter;
}

static const struct app_filter_ops filter_ops = {
	.prompt = APP_FILTER_PROMPT("touch-filter"),
	.table = &filter_refcnt,
	.none = "no filter: all pages are shown",
	.filter = filter_of,
	.changed = remake_lines,
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
	{ .names = "Enter", .help = "show the blocks of the pages on page K" },
	{ .names = "p", .help = "show wide, hardware or extended counters, in turn",
	    .code = { 'p' }, .run = next_plane },
	{ .names = "Right +", .help = "show nodes further to the right",
	    .action = PAGE_DO_OPEN_GROUP, .run = shift_right },
	{ .names = "Left -", .help = "show nodes further to the left",
	    .action = PAGE_DO_CLOSE_GROUP, .run = shift_left },
	{ .names = "a", .help = "count references to the pages of the block under "
	    "the cursor of page K", .action = PAGE_DO_STALE, .run = count_block },
	{ .names = "A", .help = "stop counting the range that has the row",
	    .code = { 'A' }, .run = end_counting },
	{ .names = "f", .help = "show only rows that match an expression: count>0 "
	    "& home=1", .action = PAGE_DO_FILTER, .run = open_filter },
	{ .action = PAGE_DO_PAUSE, .run = app_pause },
	{ .action = PAGE_DO_END_TARGET, .run = app_end_target },
};

static void
get_sorting(const struct app *app, struct page_sorting *s)
{
	const struct page_refcnt *t = &state_of(app)->page;

	*s = (struct page_sorting){ .n = 1 };
	s->by[0].sort = (uint8_t)t->sort;
	s->by[0].reverse = t->reverse;
}

static void
set_sorting(struct app *app, const struct page_sorting *s)
{
	struct page_refcnt *t = &state_of(app)->page;

	t->sort = (enum refcnt_sort)s->by[0].sort;
	t->reverse = s->by[0].reverse;
	if (t->list.copy != NULL)
		refcnt_list_sort(&t->list, t->sort, t->reverse);
}

static size_t
beside(struct app *app, bool right)
{
	return page_refcnt_beside(&state_of(app)->page, app->cols, right);
}

static const struct page_sort_ops refcnt_sorts = {
	.keys = refcnt_sort_rows,
	.n = REFCNT_SORTS,
	.get = get_sorting,
	.set = set_sorting,
	.beside = beside,
};

static const struct page_sort_ops *
sorts(const struct app *app)
{
	(void)app;
	return &refcnt_sorts;
}

static int
print_picture(struct batch *b, const struct refcnt_reader *r,
    const struct page_view *v)
{
	struct page_refcnt t = { 0 };
	char target[PAGE_TARGET_TEXT];
	struct page_picture pic = { 0 };
	int err = page_refcnt_take(&t, &r->copy, r->plane);

	page_target_text(v->look, target);
	if (err == 0)
		err = page_refcnt_compose(&t, &(struct page_refcnt_head){
		    .node = "", .target = target,
		    .state = page_state_name(v->look->state),
		    .virtual = r->virtual, .notice = r->why,
		    .advice = advice_of(v->look, r), .v = v },
		    batch_ascii(b->o), batch_columns(b->out), 0, &pic);
	if (err == 0)
		batch_put(b->out, &pic);
	page_picture_fini(&pic);
	page_refcnt_fini(&t);
	return err;
}

static int
text_print(struct batch *b)
{
	struct refcnt_reader r = { .plane = REFCNT_WIDE };
	int err = 0;
	struct page_view v;

	b->status = batch_refcnt(b->o, b->loop, b->session, &r);
	batch_view(&v, b->page, b->session);
	if (b->status == PAGEK_OK)
		err = options_as_data(b->o) ? json_refcnt(b->json, &r, &v) :
		    print_picture(b, &r, &v);
	refcnt_reader_fini(&r);
	return err;
}

static const enum option_id refuse[] = { OPTION_SORT, OPTION_REVERSE,
	OPTION_FILTER, OPTION_GROUP, OPTION_CLASSIC, OPTION_SINCE };

const struct page_ops page_refcnt = {
	.panel = {
		.title = "on page R",
		.keys = keys,
		.nkeys = BASE_NELEM(keys),
		.state_size = sizeof(struct page_r),
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
	.text = {
		.print = text_print,
		.verb = "show the references",
		.refuse = refuse,
		.nrefuse = BASE_NELEM(refuse),
	},
};

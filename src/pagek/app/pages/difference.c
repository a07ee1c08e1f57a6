#include <errno.h>

#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../../difference/difference.h"
#include "../../history/history.h"
#include "../../panels/difference_page.h"
#include "../../rows/rows.h"
#include "../app.h"
#include "../../batch/batch.h"
#include "../pages.h"

static struct page_diff *
diff_of(const struct app *app)
{
	return app_panel_state(app, APP_PAGE_H);
}

static bool
open_page(struct app *app, bool first)
{
	if (first && app->page->opts.mark != NULL) {
		app_compare(app, app->page->opts.mark);
	} else if (first) {
		app_mark(app);
	} else if (!page_is_marked(app->page)) {
		app_say(app, app->page->marked != NULL &&
		    app->page->marked->was_lost ? "the mark is lost: the list "
		    "has begun again; m sets one" :
		    "there is no mark; m sets one");
		return false;
	}
	*diff_of(app) = (struct page_diff){ 0 };
	return true;
}

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	struct page_view v = app_view(app);

	return page_diff_compose(diff_of(app), app->page, &v, app->cols, rows,
	    pic);
}

static void
move(struct app *app, int rows, bool scroll)
{
	page_diff_move(diff_of(app), app->page, rows, scroll);
}

static int
window(const struct app *app)
{
	return (int)diff_of(app)->list.window;
}

static void
enter(struct app *app)
{
	struct page_diff *d = diff_of(app);
	struct page_view v = app_view(app);
	struct blk b;
	bool live;

	if (page_diff_open(d, app->page, &v))
		return;
	if (!page_diff_block(d, app->page, &b, &live))
		app_say(app, "there is nothing here");
	else if (!live)
		app_say(app, "that block has been freed");
	else
		app_open_detail_of(app, &b);
}

static bool
back(struct app *app)
{
	return page_diff_back(diff_of(app));
}

static void
next_view(struct app *app)
{
	page_diff_next_view(diff_of(app));
	app_say(app, "view: %s", page_diff_view_name(diff_of(app)));
}

/* Page K's kind of groups, so that both pages show the same. */
static void
next_kind(struct app *app)
{
	unsigned by = page_group_kind_called("function"), kind;

	kind = (app->page->group.kind != 0 ? app->page->group.kind : by) + 1;
	if (page_group_kind(kind) == NULL)
		kind = by;
	page_set_group(app->page, kind);
	page_diff_regroup(diff_of(app));
	app_say(app, "groups: %s", page_group_kind(kind)->name);
}

static void
toggle_blocks(struct app *app)
{
	page_diff_toggle(diff_of(app));
}

static void
set_mark(struct app *app)
{
	app_mark(app);
	*diff_of(app) = (struct page_diff){ 0 };
}

static void
say_no_listing(struct app *app)
{
	app_say(app, "a listing is of page K: 1 goes there; e saves this, "
	    ":export FILE writes all of it");
}

static const struct panel_key keys[] = {
	{ .names = "d", .help = "next view: all, new, freed, grown",
	    .action = PAGE_DO_DIFF, .run = next_view },
	{ .names = "b", .help = "next grouping, here and on page K",
	    .action = PAGE_DO_GROUP, .run = next_kind },
	{ .names = "t", .help = "switch between groups and blocks",
	    .action = PAGE_DO_FLAT, .run = toggle_blocks },
	{ .names = "Enter", .help = "show the blocks of the group, or open the "
	    "block in detail" },
	{ .action = PAGE_DO_MARK, .run = set_mark },
	{ .action = PAGE_DO_FILTER, .run = app_filter_open },
	{ .action = PAGE_DO_PAUSE, .run = app_pause },
	{ .action = PAGE_DO_REPLAY_BACK, .run = app_replay_back },
	{ .action = PAGE_DO_REPLAY_FORTH, .run = app_replay_forth },
	{ .action = PAGE_DO_END_TARGET, .run = app_end_target },
	{ .action = PAGE_DO_LISTING, .run = say_no_listing },
};

static int
save(struct app *app, struct page_picture *pic)
{
	struct page_diff diff = *diff_of(app);
	struct page_view v = app_view(app);

	diff.plain = true;
	return page_diff_compose(&diff, app->page, &v, app->cols, app->rows,
	    pic);
}

static int
export_begin(struct app *app, const struct page_view *v,
    enum text_format form, FILE *out, struct page_export **x)
{
	return page_export_begin_diff(x, app->page, v, diff_of(app), form,
	    out);
}

struct marking {
	struct page *page;
	struct nodes_session *session;
	const struct wire_named_mark *mark;	/* of the node; NULL: now */
	int err;
};

static bool
try_mark(void *arg)
{
	struct marking *m = arg;
	struct page_view v;

	page_view_shown(&v, m->page, m->session);
	m->err = m->mark != NULL ?
	    page_mark_choose(m->page, &v, m->mark, true) :
	    page_mark_set(m->page, &v);
	return m->err != -EAGAIN;
}

/* Marks the list when it is whole, or takes the mark of --mark; the first picture comes an interval later. */
static int
text_begin(struct batch *b)
{
	struct marking m = { .page = b->page, .session = b->session };
	struct page_view v;

	/* batch_status() reports the state of a target without a list. */
	if (b->o->page.mark != NULL &&
	    batch_has_list(nodes_session_look(b->session))) {
		b->status = batch_find_mark(b->o, b->loop, b->session,
		    b->o->page.mark, &m.mark);
		if (b->status != PAGEK_OK)
			return -EAGAIN;
		b->at_once = true;
	}

	if (!try_mark(&m))
		pump(b->loop, b->session, b->o->timeout_ms, try_mark, &m);
	if (m.err < 0)
		return m.err == -ENOENT ? -EAGAIN : m.err;
	page_view_shown(&v, b->page, b->session);
	return difference_compare(b->page, &v);
}

static int
take_difference(struct batch *b)
{
	struct page *page = b->page;
	struct difference *s;
	struct page_view v;
	size_t lacking = 0;
	int r;

	page_view_shown(&v, page, b->session);
	r = difference_compare(page, &v);
	s = difference_ensure(page);
	if (r < 0 || s == NULL)
		return r;
	r = batch_await_names(b->loop, b->session, s->profile,
	    batch_names_ms(b), &lacking);
	if (r < 0)
		return r == -ESTALE ? 0 : r;
	if (b->once)
		batch_report_names(b->o, b->session, lacking,
		    profile_callers(s->profile));
	page_view_shown(&v, page, b->session);
	return difference_update_names(page, &v);
}

/* Rows of CSV do not say it. */
static void
report_early(const struct page *page)
{
	uint64_t early = page_is_marked(page) ? difference_freed_early(page) : 0;

	if (early > 0)
		notice("%s block%s of the mark were freed before this page "
		    "came: they are in no row, and freed and net lack them",
		    base_digits(early).text, early == 1 ? "" : "s");
}

static int
print_data(struct page *page, const struct page_view *v,
    const struct page_diff *diff, struct json *j)
{
	struct page_export_sums sums = { 0 };
	int r = page_export_diff(page, v, diff, FORMAT_NDJSON, j->out, j, &sums);

	if (r == -EAGAIN)
		complain("the list is not whole: nothing can be compared");
	else if (r == -ENODATA)
		complain("the mark is lost: the list has begun again");
	return r == -EAGAIN || r == -ENODATA ? 0 : r;
}

static int
text_print(struct batch *b)
{
	struct page_diff diff = { 0 };
	struct page_view v;
	int r;

	r = take_difference(b);
	if (r < 0 && r != -EAGAIN && r != -ENODATA)
		return r;
	page_view_shown(&v, b->page, b->session);
	if (b->o->format == FORMAT_CSV)
		report_early(b->page);
	r = options_as_data(b->o) ? print_data(b->page, &v, &diff, b->json) :
	    page_export_diff_text(b->page, &v, &diff, batch_columns(b->out),
	    b->out);
	if (r < 0 || page_is_marked(b->page))
		return r;
	/* The picture has reported that the mark was lost: set a new one. */
	r = page_mark_set(b->page, &v);
	return r == -EAGAIN || r == -ENOENT ? 0 : r;
}

const struct page_ops page_difference = {
	.panel = {
		.title = "on page H",
		.keys = keys,
		.nkeys = BASE_NELEM(keys),
		.state_size = sizeof(struct page_diff),
		.blocks = PANEL_BLOCKS_ALL,
		.compose = compose,
		.move = move,
		.window = window,
		.enter = enter,
		.back = back,
	},
	.needs = PAGE_NEEDS_TARGET | PAGE_NEEDS_LIST | PAGE_NEEDS_INTERVAL,
	.open = open_page,
	.save = save,
	.export_begin = export_begin,
	.text = { .begin = text_begin, .print = text_print },
};

#include <errno.h>
#include <string.h>

#include "../../documents/documents.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "../../picture/picture.h"
#include "../../blocks/choice.h"
#include "../../rows/freed_rows.h"
#include "../../rows/follow.h"
#include "../../rows/frozen_order.h"
#include "../../groups/groups.h"
#include "../../rows/rows.h"
#include "../app.h"
#include "../../batch/batch.h"
#include "../pages.h"

static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	return page_compose(app->page, app->session, app->cols, rows, pic);
}

static int
window(const struct app *app)
{
	return app->page->found.window > 1 ? app->page->found.window : 1;
}

/* Freezes the order.  False, with a message: there are no rows. */
static bool
begin_move(struct app *app, const struct page_view *v)
{
	if (app->page->found.total == 0) {
		app_say(app, "there are no rows");
		return false;
	}
	if (page_follow_stop(app->page))
		app_say(app, "following ended: the cursor was moved");
	page_freeze_briefly(app->page, v);
	return true;
}

static void
move_to(struct app *app, uint64_t offset)
{
	struct page_view v = app_view(app);

	if (!begin_move(app, &v))
		return;
	page_move_to(app->page, offset);
	page_remember_cursor(app->page, &v);
}

static void
move(struct app *app, int delta, bool scroll)
{
	struct page_view v = app_view(app);

	if (!begin_move(app, &v))
		return;
	if (scroll)
		page_move_rows(app->page, delta);
	else
		page_move(app->page, delta);
	page_remember_cursor(app->page, &v);
}

static void
move_to_first(struct app *app)
{
	move_to(app, 0);
}

static void
move_to_last(struct app *app)
{
	move_to(app, UINT64_MAX);
}

static bool
is_wide(const struct app *app)
{
	return app->page->layout == PAGE_WIDE || (app->page->layout ==
	    PAGE_AUTO && app->cols >= PAGE_WIDE_COLS);
}

static void
next_layout(struct app *app)
{
	struct page *page = app->page;

	if (!is_wide(app))
		page->layout = PAGE_WIDE;
	else if (page->opts.layout == PAGE_CLASSIC_STRICT)
		page->layout = PAGE_CLASSIC_STRICT;
	else
		page->layout = PAGE_CLASSIC;
}

static void
next_units(struct app *app)
{
	struct page *page = app->page;

	page->units = (page->units + 1) % PAGE_UNITS;
	page->round++;
	app_say(app, "%ssizes of blocks %s", is_wide(app) ? "" : "wide: ",
	    page_units_name(page->units));
}

static void
toggle_frozen(struct app *app)
{
	struct page_view v = app_view(app);

	if (!page_freeze_toggle(app->page, &v))
		app_say(app, "order: live");
	else if (v.look->window)
		app_say(app, "order: frozen as soon as the whole list is here");
	else
		app_say(app, "order: frozen; z lets it go");
}

static void
toggle_followed(struct app *app)
{
	char what[PAGE_FOLLOW_TEXT];
	struct page_view v = app_view(app);
	int r;

	r = page_follow_toggle(app->page, &v);
	page_follow_text(app->page, what);
	if (r > 0)
		app_say(app, "%s: until it ends, F or the cursor is moved",
		    what);
	else if (r == 0)
		app_say(app, "following ended");
	else if (r == -ENOENT)
		app_say(app, "there is nothing here to follow");
	else
		app_say(app, "cannot follow: %s", strerror(-r));
}

static void
step_back(struct app *app)
{
	if (app_is_replay(app))
		app_replay_step(app, -1);
	else
		app_step(app, true);
}

static void
step_forth(struct app *app)
{
	if (app_is_replay(app))
		app_replay_step(app, 1);
	else
		app_step(app, false);
}

static bool
has_groups(struct app *app)
{
	bool strict = app->page->layout == PAGE_CLASSIC_STRICT;

	if (strict)
		app_say(app, "strict has no groups; c leaves it");
	return !strict;
}

static void
say_kinds(struct app *app)
{
	const struct page_group_kind *k =
	    page_group_kind(app->page->group.kind);
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(app->page));

	app_say(app, "groups: %s%s%s", k != NULL ? k->name : "none",
	    k2 != NULL ? ", and in each by " : "", k2 != NULL ? k2->name : "");
}

static void
next_group(struct app *app)
{
	struct page *page = app->page;

	if (!has_groups(app))
		return;
	page_set_group(page, page->group.kind + 1);
	say_kinds(app);
}

static void
next_group_below(struct app *app)
{
	struct page *page = app->page;
	unsigned kind = page_group_below(page) + 1;

	if (!has_groups(app))
		return;
	if (page->group.kind == 0) {
		app_say(app, "B needs groups; b makes them");
		return;
	}
	/* Grouping twice by the same kind makes no sense. */
	if (kind == page->group.kind)
		kind++;
	page_set_group_below(page, kind);
	say_kinds(app);
}

static void
toggle_flat(struct app *app)
{
	struct page *page = app->page;

	if (!has_groups(app))
		return;
	if (page->group.kind == 0)
		page_set_group(page, page->group.last != 0 ?
		    page->group.last : page_group_kind_called("site"));
	else
		page_set_group(page, 0);
	say_kinds(app);
}

void
app_group_by(struct app *app, const char *kinds)
{
	unsigned kind, below;
	char list[160];

	if (!has_groups(app))
		return;
	if (page_group_kinds_parse(kinds, &kind, &below) < 0) {
		page_group_kinds_list(list, sizeof list);
		app_say(app, "there is no group '%s', only none, %s",
		    kinds, list);
		return;
	}
	page_set_group(app->page, kind);
	page_set_group_below(app->page, below);
	say_kinds(app);
}

static void
say_failed(struct app *app, int r)
{
	if (r == -ENOENT)
		app_say(app, app->page->group.kind != 0 ?
		    "there is no group here" :
		    "there are no groups; b makes them");
	else if (r == -ENOSPC)
		app_say(app, "too many groups are open; close some");
	else if (r < 0)
		app_say(app, "cannot open the group: %s", strerror(-r));
}

/* With a second level, Enter expands and collapses as Right and Left do. */
static void
enter_group(struct app *app)
{
	struct page *page = app->page;
	struct page_group_at at;
	struct page_view v = app_view(app);

	if (page_group_below(page) != 0 && page_groups_at_hand(page, &v) &&
	    page_groups_at(page->groups, page->cursor.on ? page->cursor.at :
	    page->offs, &at) && at.what == ROW_GROUP) {
		if (page_group_is_expanded(page, at.index))
			page_collapse_group(page);
		else
			say_failed(app, page_expand_group(page, &v));
	} else if (!page_open_group(page, &v)) {
		say_failed(app, -ENOENT);
	}
}

static void
unfold(struct app *app)
{
	struct page_view v = app_view(app);

	say_failed(app, page_expand_group(app->page, &v));
}

static void
fold(struct app *app)
{
	if (app->page->group.opened)
		page_close_group(app->page);
	else if (!page_collapse_group(app->page))
		app_say(app, app->page->group.kind != 0 ? "nothing is open here" :
		    "there are no groups; b makes them");
}

static void
unfold_all(struct app *app)
{
	struct page_view v = app_view(app);

	say_failed(app, page_expand_all_groups(app->page, &v));
}

/* Without a link and a cursor, Enter tries to connect. */
static void
enter(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	struct page_view v = app_view(app);
	struct blk b;

	if (!look->link.up && !app->page->cursor.on &&
	    nodes_link_retry(app->link))
		return;
	if (!page_shows_groups(app->page) ||
	    page_block_at_cursor(app->page, &v, &b))
		app_open_detail(app);
	else
		enter_group(app);
}

/* Esc undoes the first of these. */
static void
go_back(struct app *app)
{
	if (app_step_stop(app) || app_find_stop(app) || jobs_cancel(&app->jobs))
		return;
	if (app->page->group.opened) {
		page_close_group(app->page);
		return;
	}
	if (page_choice_filter_text(app->page) != NULL) {
		app_filter(app, "");
		return;
	}
	if (!page_follow_stop(app->page) && !app->page->cursor.on)
		app_say(app, "nothing is open: q quits");
	app->page->cursor.on = false;
}

static void
open_difference(struct app *app)
{
	app_page_open(app, PAGE_H, false);
}

static void
open_diagnostics(struct app *app)
{
	app_panel_open(app, APP_DIAGNOSTICS);
}

static void
toggle_mouse(struct app *app)
{
	app->page->opts.mouse = !app->page->opts.mouse;
	app_say(app, app->page->opts.mouse ? "mouse on: click or turn the "
	    "wheel; Shift selects text, M turns it off" :
	    "mouse off");
}

static const struct panel_key keys[] = {
	{ .action = PAGE_DO_FIRST, .run = move_to_first },
	{ .action = PAGE_DO_LAST, .run = move_to_last },
	{ .action = PAGE_DO_FIELD, .run = app_field_next },
	{ .action = PAGE_DO_LAYOUT, .run = next_layout },
	{ .action = PAGE_DO_UNITS, .run = next_units },
	{ .action = PAGE_DO_COPY, .run = app_show_address },
	{ .action = PAGE_DO_FILTER, .run = app_filter_open },
	{ .action = PAGE_DO_FIND, .run = app_find_open },
	{ .action = PAGE_DO_FIND_NEXT, .run = app_find_next },
	{ .action = PAGE_DO_FIND_BACK, .run = app_find_back },
	{ .action = PAGE_DO_GROUP, .run = next_group },
	{ .action = PAGE_DO_GROUP_BELOW, .run = next_group_below },
	{ .action = PAGE_DO_FLAT, .run = toggle_flat },
	{ .action = PAGE_DO_OPEN_GROUP, .run = unfold },
	{ .action = PAGE_DO_CLOSE_GROUP, .run = fold },
	{ .action = PAGE_DO_OPEN_GROUPS, .run = unfold_all },
	{ .action = PAGE_DO_STILL, .run = toggle_frozen },
	{ .action = PAGE_DO_FOLLOW, .run = toggle_followed },
	{ .action = PAGE_DO_PAUSE, .run = app_pause },
	{ .action = PAGE_DO_STEP_BACK, .run = step_back },
	{ .action = PAGE_DO_STEP_FORTH, .run = step_forth },
	{ .action = PAGE_DO_REPLAY_BACK, .run = app_replay_back },
	{ .action = PAGE_DO_REPLAY_FORTH, .run = app_replay_forth },
	{ .action = PAGE_DO_MOUSE, .run = toggle_mouse },
	{ .action = PAGE_DO_LISTING, .run = app_listing },
	{ .action = PAGE_DO_END_TARGET, .run = app_end_target },
	{ .action = PAGE_DO_MARK, .run = app_mark },
	{ .action = PAGE_DO_DIFF, .run = open_difference },
	{ .action = PAGE_DO_DRAIN, .run = app_drain },
	{ .action = PAGE_DO_STALE, .run = app_list_stale },
	{ .action = PAGE_DO_COSTS, .run = open_diagnostics },
	{ .action = PAGE_DO_COUNT_ANEW, .run = app_reset_costs },
	{ .action = PAGE_DO_CLOSE, .run = go_back },
};

static bool
key(struct app *app, int code)
{
	return app_field_key(app, page_key_action(code));
}

static void
blocks_get_sorting(const struct app *app, struct page_sorting *s)
{
	page_sorting_get(&app->page->opts, s);
}

static void
blocks_set_sorting(struct app *app, const struct page_sorting *s)
{
	page_choice_sort(app->page, s);
}

static bool
is_shown(struct app *app, const struct page_view *v, size_t row)
{
	static const char *const classic[] = { "ADDRESS", "SIZE", "TY",
		"DESCR", "RNOD", "AGE" };
	const char *title = page_sort_rows[row].title;
	size_t i;

	if (title == NULL)
		return false;
	if (is_wide(app))
		return page_columns_show(v, app->cols, title);
	for (i = 0; i < BASE_NELEM(classic); i++)
		if (strcmp(classic[i], title) == 0)
			return true;
	return false;
}

static size_t
block_key_beside(struct app *app, bool right)
{
	/* From left to right. */
	static const enum page_sort at[] = { PAGE_SORT_ADDRESS,
		PAGE_SORT_SIZE, PAGE_SORT_USED, PAGE_SORT_TYPE,
		PAGE_SORT_DESCR, PAGE_SORT_THREAD, PAGE_SORT_RNOD,
		PAGE_SORT_AGE, PAGE_SORT_LEVEL, PAGE_SORT_TOUCHED,
		PAGE_SORT_FUNCTION };
	struct page_view v = app_view(app);
	enum page_sort now;
	size_t i, n;
	bool reverse;

	now = page_sorting_first(&app->page->opts, &reverse);
	for (i = 0; i < BASE_NELEM(at) - 1 && at[i] != now; i++)
		continue;
	for (n = 0; n < BASE_NELEM(at); n++) {
		i = (i + (right ? 1 : BASE_NELEM(at) - 1)) % BASE_NELEM(at);
		if (is_shown(app, &v, at[i]))
			return at[i];
	}
	return PAGE_SORTS;
}

static const struct page_sort_ops block_sorts = {
	.keys = page_sort_rows,
	.n = PAGE_SORTS,
	.get = blocks_get_sorting,
	.set = blocks_set_sorting,
	.beside = block_key_beside,
};

/* From left to right; the last one is only for groups by any frame. */
static const struct page_sort_row group_keys[] = {
	{ "name", "fF", NULL, true, "name of the group" },
	{ "type", "aA", "TYPE", false, "type that all its blocks share" },
	{ "thread", "tT", "THREAD", false, "thread that all its blocks share" },
	{ "blocks", "cC", "COUNT", false, "most blocks first" },
	{ "bytes", "Nn", "BYTES", false, "most bytes first" },
	{ "oldest_age", "sS", "AGE", false, "oldest block first" },
	{ "module", "mM", NULL, true, "module of all its blocks" },
	{ "file", "iI", NULL, true, "source file of them" },
	{ "line", "xX", NULL, true, "source file and line" },
	{ "self", "eE", "SELF", false, "most bytes requested by the function "
	    "itself first" },
};

static enum profile_measure
measure_of(size_t key)
{
	enum profile_measure by = PROFILE_NAME;

	page_sum_called(group_keys[key].word, &by);
	return by;
}

static size_t
group_key(enum profile_measure by)
{
	size_t i = 0;

	while (i < BASE_NELEM(group_keys) - 1 && measure_of(i) != by)
		i++;
	return i;
}

static void
groups_get_sorting(const struct app *app, struct page_sorting *s)
{
	*s = (struct page_sorting){ .n = 1 };
	s->by[0].sort = (uint8_t)group_key(app->page->group.sort);
	s->by[0].reverse = app->page->group.reverse;
}

static void
groups_set_sorting(struct app *app, const struct page_sorting *s)
{
	struct page *page = app->page;

	page->group.sort = measure_of(s->by[0].sort);
	page->group.reverse = s->by[0].reverse;
	if (!page->cursor.on)
		page->offs = 0;
	app_say(app, "groups by %s%s", page_sum_word(page->group.sort),
	    page->group.reverse ? ", reversed" : "");
}

static bool
by_frame(const struct app *app)
{
	return page_group_kind(app->page->group.kind)->by == PROFILE_FRAME;
}

static size_t
group_key_beside(struct app *app, bool right)
{
	return group_key(page_sum_next(app->page->group.sort, right ? 1 : -1,
	    by_frame(app)));
}

static bool
groups_sort_by_word(struct app *app, const char *word)
{
	struct page_sorting s;
	enum profile_measure by;

	if (page_sum_called(word, &by) < 0)
		return false;
	groups_get_sorting(app, &s);
	s.by[0].sort = (uint8_t)group_key(by);
	groups_set_sorting(app, &s);
	return true;
}

#define GROUP_SORTS(n_) { \
	.keys = group_keys, \
	.n = n_, \
	.get = groups_get_sorting, \
	.set = groups_set_sorting, \
	.beside = group_key_beside, \
	.named = groups_sort_by_word, \
	.others = &block_sorts, \
}

static const struct page_sort_ops *
sorts(const struct app *app)
{
	static const struct page_sort_ops groups =
	    GROUP_SORTS(BASE_NELEM(group_keys) - 1);
	static const struct page_sort_ops frames =
	    GROUP_SORTS(BASE_NELEM(group_keys));

	if (!page_shows_groups(app->page))
		return &block_sorts;
	return by_frame(app) ? &frames : &groups;
}

static void
click_heading(struct app *app, int col)
{
	const char *title = NULL;
	struct page_view v = app_view(app);
	bool reverse;
	size_t i;

	if (is_wide(app) && !page_shows_groups(app->page))
		title = page_columns_title(&v, app->cols, col);
	for (i = 0; title != NULL && i < PAGE_SORTS; i++)
		if (page_sort_rows[i].title != NULL &&
		    strncmp(title + strspn(title, " "), page_sort_rows[i].title,
		    strcspn(title + strspn(title, " "), " ")) == 0)
			break;
	if (title == NULL || i == PAGE_SORTS)
		app_sort_open(app);
	else if (page_sorting_first(&app->page->opts, &reverse) == i)
		app_sort_reverse(app);
	else
		app_sort_by(app, i);
}

static void
click_row(struct app *app, int row)
{
	struct page *page = app->page;
	struct page_view v = app_view(app);
	uint64_t at;

	if (!page_freed_rows_offset(
		page, (size_t)(row - page->found.spots.first), &at))
		return;
	page_freeze_briefly(page, &v);
	page_move_to(page, at);
	page_remember_cursor(page, &v);
	if (app_click_is_double(app, row))
		app_key(app, PAGE_KEY_ENTER);
}

static void
click(struct app *app, int row, int col)
{
	const struct page_spots *spots = &app->page->found.spots;

	if (row == spots->heading)
		click_heading(app, col);
	else if (row >= spots->first && row < spots->first + spots->rows)
		click_row(app, row);
}

static int
save(struct app *app, struct page_picture *pic)
{
	struct page *page = app->page;
	struct page_cursor cursor = page->cursor;
	struct page_found found = page->found;
	uint64_t offs = page->offs;
	int r;

	page->medium = PAGE_SCREEN_COPY;
	r = page_compose(page, app->session, app->cols, app->rows, pic);
	page->medium = PAGE_SCREEN;
	/* Without key bar there is room for other rows than on the screen. */
	page->cursor = cursor;
	page->found = found;
	page->offs = offs;
	return r;
}

static int
export_begin(struct app *app, const struct page_view *v,
    enum text_format form, FILE *out, struct page_export **x)
{
	return page_export_begin(x, app->page, v, form, out);
}

static int
text_begin(struct batch *b)
{
	batch_await_end(b->o, b->loop, b->session);
	return 0;
}

static int
put_groups(struct page *page, const struct page_view *v, struct json *j)
{
	struct page_export_sums sums = { 0 };
	int r = page_choice_ready(page);

	if (r == 0)
		r = page_groups_refresh(page, v);
	return r < 0 ? r : page_export_groups(page, v, FORMAT_NDJSON, j->out,
	    j, &sums);
}

static int
put_data(struct batch *b, struct profile *p, struct page_row_filter *sieve)
{
	struct page_view v;
	int r;

	batch_view(&v, b->page, b->session);
	if (b->page->group.kind != 0)
		return put_groups(b->page, &v, b->json);
	r = page_choice_text_begin(b->page, &v);
	if (r == 0)
		json_blocks(b->json, b->page, &v, p, sieve,
		    option_given(b->o, OPTION_SINCE), 0);
	return r;
}

static int
put_picture(struct batch *b, int rows)
{
	return batch_print(b->out, b->loop, b->page, b->session, rows);
}

static int
text_print(struct batch *b)
{
	const struct nodes_look *look = nodes_session_look(b->session);
	struct page_row_filter *sieve;
	struct profile *p;
	size_t lacking;
	int r;

	if (!b->once && !options_as_data(b->o))
		return put_picture(b, batch_lines(b->out));
	r = batch_filter(b->o, &sieve);
	if (r == 0)
		r = batch_profile(b->loop, b->session, &b->page->opts, sieve, 0,
		    batch_names_ms(b), &p, &lacking);
	if (r < 0) {
		page_row_filter_free(sieve);
		return r;
	}
	if (b->once)
		batch_report_names(b->o, b->session, lacking,
		    profile_callers(p));
	r = options_as_data(b->o) ? put_data(b, p, sieve) :
	    put_picture(b, look->listed ? 0 : batch_lines(b->out));
	profile_free(p);
	page_row_filter_free(sieve);
	return r;
}

const struct page_ops page_blocks = {
	.panel = {
		.keys = keys,
		.nkeys = BASE_NELEM(keys),
		.compose = compose,
		.move = move,
		.window = window,
		.enter = enter,
		.key = key,
		.click = click,
	},
	.needs = PAGE_NEEDS_TARGET | PAGE_NEEDS_LIST,
	.sorts = sorts,
	.save = save,
	.export_begin = export_begin,
	.text = { .begin = text_begin, .print = text_print },
};

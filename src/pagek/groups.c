/* See groups.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"

#define BUSY 10		/* a take may cost one part in so many of the time */
#define FIRST_ROWS 64
#define NAMES_AT_ONCE 4096	/* stacks without their names that one picture looks at */

static const struct page_group_kind kinds[] = {
	{ "none", NULL, NULL, PROFILE_SITE },
	{ "function", "FUNCTION", "function", PROFILE_FUNCTION },
	{ "site", "SITE", "stack", PROFILE_SITE },
	{ "line", "LINE", "line", PROFILE_LINE },
	{ "module", "MODULE", "module", PROFILE_MODULE },
	{ "any frame", "FRAME", "function", PROFILE_FRAME },
};

const struct page_group_kind *
page_group_kind(unsigned kind)
{
	return kind > 0 && kind < BASE_NELEM(kinds) ? &kinds[kind] : NULL;
}

void
page_group_name(const struct profile_group *g, char *out, size_t cap)
{
	size_t len = 0;

	base_append(out, cap, &len, "%s%s%s", g->name,
	    g->where[0] != '\0' ? "  " : "", g->where);
}

/* --- takes -------------------------------------------------------------- */

static struct page_groups *
get(struct page *page)
{
	struct page_groups *g = page->groups;

	if (g != NULL)
		return g;
	g = calloc(1, sizeof *g);
	if (g == NULL)
		return NULL;
	if (profile_new(&g->profile) < 0) {
		free(g);
		return NULL;
	}
	page->groups = g;
	return g;
}

void
page_groups_free(struct page_groups *g)
{
	if (g == NULL)
		return;
	profile_free(g->profile);
	page_members_free(g->members);
	free(g->row);
	free(g);
}

static int
resolve(struct page_groups *g, const struct page_view *v)
{
	int r = profile_resolve_some(g->profile, &v->words, NAMES_AT_ONCE);

	if (r < 0)
		return r;
	g->missing = (size_t)r;
	return 0;
}

/* Another number when anything has come or gone. */
static uint64_t
changes_of(const struct page_view *v)
{
	/* Blocks also go without a record, when a list is being merged. */
	return v->counts->records + v->counts->inherited +
	    ((uint64_t)v->counts->aRecActive << 36);
}

static int
take(struct page_groups *g, const struct page_view *v, bool fresh)
{
	int r = 0;

	if (g->stream_no != v->look->stream_no)
		profile_clear(g->profile);
	else
		profile_restart(g->profile);
	/* Asked of each function: only when it may have changed. */
	if (fresh)
		profile_set_wrappers(g->profile, v->wrappers);
	if (v->look->list != NULL)
		r = profile_take(g->profile, v->look->list);
	g->total = profile_total(g->profile);
	g->now_ms = v->look->now_ms;
	g->list = v->look->list;
	g->changes = changes_of(v);
	return r;
}

/* As many rows as there are groups, up to the limit. */
static int
make_rows(struct page_groups *g, unsigned kind)
{
	const struct page_group_kind *k = page_group_kind(kind);
	size_t want = g->cap > 0 ? g->cap : FIRST_ROWS;
	void *rows = g->row;
	int r;

	g->nrow = g->all = 0;
	g->kind = kind;
	while (k != NULL) {
		r = base_grow(&rows, &g->cap, want, sizeof *g->row);
		if (r < 0)
			return r;
		g->row = rows;
		r = profile_groups(g->profile, k->by, PROFILE_BYTES,
		    g->now_ms, 0, g->row, g->cap < PAGE_GROUPS_MAX ? g->cap :
		    PAGE_GROUPS_MAX, &g->nrow, &g->all);
		if (r < 0)
			return r;
		if (g->nrow == g->all || g->nrow >= PAGE_GROUPS_MAX)
			break;
		want = g->all < PAGE_GROUPS_MAX ? g->all : PAGE_GROUPS_MAX;
	}
	return 0;
}

static bool
is_same(const struct page_groups *g, const struct page_view *v)
{
	return g->list == v->look->list && g->changes == changes_of(v);
}

/*
 * Small lists are taken anew with each picture in which something has changed;
 * for large ones the last take's cost says how long this one serves.  Of a
 * paused picture only the names are still filled in.
 */
int
page_groups_refresh(struct page *page, const struct page_view *v)
{
	struct page_groups *g = get(page);
	struct mono start = mono_now();
	bool fresh, due;
	int r = 0;

	if (g == NULL)
		return -ENOMEM;
	fresh = !g->taken || g->round != page->round ||
	    g->stream_no != v->look->stream_no;
	due = fresh || mono_diff_ns(v->now, g->ended) >= BUSY * g->cost_ns;
	if (!fresh && g->missing == 0 && is_same(g, v))
		due = false;
	if (!due && g->kind == page->group)
		return 0;
	if (due && (fresh || !is_same(g, v)))
		r = take(g, v, fresh);
	if (due && r == 0)
		r = resolve(g, v);
	if (r == 0)
		r = make_rows(g, page->group);
	if (r == 0 && page->opened)
		r = page_members_take(page, v);
	/* What could not be done for want of memory is not tried at once again. */
	g->taken = true;
	g->round = page->round;
	g->stream_no = v->look->stream_no;
	if (due) {
		g->cost_ns = mono_diff_ns(mono_now(), start);
		g->ended = (struct mono){ .ns = v->now.ns + g->cost_ns };
	}
	g->serial++;
	return r;
}

void
page_groups_charge(struct page_groups *g, int64_t ns)
{
	g->cost_ns += ns;
	g->ended.ns += ns;
}

/* --- holding on --------------------------------------------------------- */

/* The frame of the row's caller whose function the row is. */
static uint64_t
frame_of(const struct page_view *v, const struct profile_group *row)
{
	struct page_calls calls;
	struct page_call call;

	if (!page_calls_begin(&calls, v, row->caller))
		return 0;
	while (page_calls_next(&calls, &call))
		if (profile_key(call.at, call.words, call.words != NULL &&
		    call.words->n > 0 ? call.words->n - 1 - call.outer : 0) ==
		    row->key)
			return call.at;
	return 0;
}

void
page_group_hold(const struct page_view *v, enum profile_by by,
    const struct profile_group *row, struct page_group_hold *hold)
{
	if (hold->key == row->key && hold->caller == row->caller)
		return;
	*hold = (struct page_group_hold){
		.key = row->key,
		.caller = row->caller,
		.frame = by == PROFILE_FRAME ? frame_of(v, row) : 0,
	};
}

static bool
in_profile(const struct page_groups *g, enum profile_by by, uint64_t key,
    uint64_t caller)
{
	return profile_in_group(g->profile, by, key, caller);
}

static int64_t
row_of_key(const struct page_groups *g, uint64_t key)
{
	size_t i;

	for (i = 0; i < g->nrow; i++)
		if (g->row[i].key == key)
			return (int64_t)i;
	return -1;
}

/* Names have come: what is the held function called now? */
static bool
heir_of_frame(const struct page_groups *g, const struct page_view *v,
    struct page_group_hold *hold)
{
	const struct wire_words *w;
	uint64_t key;

	if (hold->frame == 0)
		return false;
	w = v->words.words(v->words.arg, hold->frame);
	key = profile_key(hold->frame, w, w != NULL && w->n > 0 ? w->n - 1 :
	    0);
	if (!in_profile(g, PROFILE_FRAME, key, hold->caller))
		return false;
	hold->key = key;
	return true;
}

bool
page_group_find(const struct page_groups *g, const struct page_view *v,
    enum profile_by by, struct page_group_hold *hold)
{
	size_t i;

	if (in_profile(g, by, hold->key, hold->caller))
		return true;
	if (by == PROFILE_FRAME && heir_of_frame(g, v, hold))
		return true;
	/* The caller's blocks may be gone, and the group not. */
	if (row_of_key(g, hold->key) >= 0)
		return true;
	if (by == PROFILE_FRAME)
		return false;
	for (i = 0; i < g->nrow; i++)
		if (in_profile(g, by, g->row[i].key, hold->caller)) {
			hold->key = g->row[i].key;
			return true;
		}
	return false;
}

/* --- the cursor --------------------------------------------------------- */

static uint64_t
groups_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->groups != NULL ? page->groups->nrow : 0;
}

static bool
groups_hold(struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;

	if (g == NULL || page->cursor >= g->nrow)
		return false;
	page_group_hold(v, kinds[g->kind].by, &g->row[page->cursor],
	    &g->cursor);
	return true;
}

static bool
groups_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	struct page_groups *g = page->groups;
	int64_t row;

	(void)total;
	if (g == NULL || !page_group_find(g, v, kinds[g->kind].by,
	    &g->cursor))
		return false;
	row = row_of_key(g, g->cursor.key);
	if (row < 0)
		return false;
	*offset = (uint64_t)row;
	page_group_hold(v, kinds[g->kind].by, &g->row[row], &g->cursor);
	return true;
}

const struct page_rows_ops page_rows_groups = {
	.total = groups_total,
	.hold = groups_hold,
	.held = groups_held,
};

/* Each kind is read from its top, but the blocks from where they were left. */
void
page_set_group(struct page *page, unsigned kind)
{
	unsigned was = page->group;
	uint64_t offs = page->offs;

	page->group = page_group_kind(kind) != NULL ? kind : 0;
	page->opened = false;
	page->has_cursor = page->cursor_held = false;
	page->cursor = page->offs = page->group == 0 ? page->flat_offs : 0;
	if (was == 0)
		page->flat_offs = offs;
}

bool
page_open_group(struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;
	uint64_t at = page->has_cursor ? page->cursor : page->offs;
	enum profile_by by;

	if (page->group == 0 || page->opened || g == NULL || at >= g->nrow)
		return false;
	by = kinds[g->kind].by;
	page_group_hold(v, by, &g->row[at], &g->cursor);
	g->open = g->cursor;
	snprintf(g->open_name, sizeof g->open_name, "%s", g->row[at].name);
	snprintf(g->open_where, sizeof g->open_where, "%s",
	    g->row[at].where);
	page->back = (struct page_place){ .offs = page->offs, .cursor = at };
	page->opened = true;
	page->offs = page->cursor = 0;
	page->has_cursor = page->cursor_held = false;
	/* The members belong to the moment of the groups. */
	page->round++;
	return true;
}

void
page_close_group(struct page *page)
{
	if (!page->opened)
		return;
	page->opened = false;
	page->offs = page->back.offs;
	page->cursor = page->back.cursor;
	page->has_cursor = true;
	/* The cursor is where that group is by now. */
	page->groups->cursor = page->groups->open;
	page->cursor_held = true;
}

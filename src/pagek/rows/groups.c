/* See groups.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "drain.h"
#include "expanded_groups.h"
#include "frozen_order.h"
#include "rows.h"

#define PORTION 4000000	/* units, of about a nanosecond, in one picture ... */
#define HASTY 7000000	/* ... and when somebody waits for the first rows */
#define WALK_ROWS 256
#define NAMES_AT_ONCE 4096	/* stacks without their names that one picture looks at */

/* --- takes -------------------------------------------------------------- */

static struct page_groups *
get_groups(struct page *page)
{
	struct page_groups *g = page->groups;

	if (g != NULL)
		return g;
	g = calloc(1, sizeof *g);
	if (g == NULL)
		return NULL;
	if (profile_new(&g->profile) < 0 ||
	    profile_cells_new(&g->cells, g->profile) < 0 ||
	    profile_ranking_new(&g->shown) < 0 ||
	    profile_ranking_new(&g->coming) < 0) {
		page_groups_free(g);
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
	profile_cells_free(g->cells);
	profile_free(g->profile);
	profile_ranking_free(g->shown);
	profile_ranking_free(g->coming);
	page_members_free(g->members);
	page_branches_free(g->branches);
	page_trends_free(g->trends);
	free(g);
}

static bool
is_same(const struct page_groups *g, const struct page_view *v)
{
	if (g->tags.ages && v->look->now_ms / 1000 != g->now_ms / 1000)
		return false;
	return g->list == v->look->list && g->changes == page_view_changes(v);
}

/* What cells have to tell apart for the kinds that are wanted. */
static struct page_group_tags
tags_of(const struct page *page)
{
	const struct page_group_kind *k[2] = { page_group_kind(page->group),
	    page_group_kind(page_group_below(page)) };
	struct page_group_tags t = { .by_caller = false };
	unsigned level;

	for (level = 0; level < 2 && k[level] != NULL; level++) {
		t.ages = t.ages || k[level]->ages;
		if (k[level]->by == PROFILE_TAG)
			t.kind[level] = k[level];
		else
			t.by_caller = true;
	}
	return t;
}

/* Cells with these tags serve where those are wanted. */
static bool
serve(const struct page_group_tags *have, const struct page_group_tags *want)
{
	return have->kind[0] == want->kind[0] &&
	    have->kind[1] == want->kind[1] &&
	    (have->by_caller || !want->by_caller);
}

static void
no_rows(struct page_groups *g)
{
	g->nrow = g->all = g->late = g->nready = 0;
	page_branches_plan(g);
}

static int
begin_walk(struct page_groups *, const struct page *, const struct page_view *,
    bool fresh);

/* The order is frozen, and what is shown has it. */
static bool
keeps_order(const struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	return !g->anew && g->kind == page->group &&
	    g->shown_measure == page->group_sort &&
	    g->shown_reverse == page->group_reverse &&
	    profile_ranking_size(g->shown) > 0 &&
	    page_still_keeps_groups(page, v);
}

/* Names, as far as they are there, and who is called what is ranked anew. */
static int
begin_rank(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(page->group);
	struct page_group_tags want = tags_of(page);
	int r;

	/* It is something else by now that has to be told apart. */
	if (!serve(&g->tags, &want))
		return begin_walk(g, page, v, false);
	r = profile_resolve_some(g->profile, &v->words, page->text ?
	    SIZE_MAX : NAMES_AT_ONCE);
	if (r < 0)
		return r;
	g->missing = (size_t)r;
	g->step = GROUPS_RANK;
	g->coming_kind = page->group;
	g->measure = page->group_sort;
	g->reverse = page->group_reverse;
	g->left = g->of = profile_cells_count(g->cells);
	r = profile_ranking_begin(g->coming, g->profile,
	    k != NULL ? k->by : PROFILE_SITE, g->measure, g->now_ms);
	profile_ranking_reverse(g->coming, g->reverse);
	profile_ranking_cells(g->coming, g->cells);
	g->coming_keeps = keeps_order(g, page, v);
	if (g->coming_keeps)
		profile_ranking_keep(g->coming, g->shown);
	return r == 0 ? page_branches_rank(g, page, v) : r;
}

/* Another stream's: with the profile go the texts that groups have. */
static int
clear(struct page_groups *g)
{
	int r;

	page_branches_clear(g);
	no_rows(g);
	profile_cells_clear(g->cells);
	profile_clear(g->profile);
	g->tags = (struct page_group_tags){ .by_caller = false };
	r = profile_ranking_begin(g->shown, g->profile, PROFILE_SITE,
	    PROFILE_BYTES, 0);
	if (r == 0)
		r = profile_ranking_begin(g->coming, g->profile, PROFILE_SITE,
		    PROFILE_BYTES, 0);
	return r;
}

static int
begin_walk(struct page_groups *g, const struct page *page,
    const struct page_view *v, bool fresh)
{
	int r;

	if (g->stream_no != v->look->stream_no) {
		r = clear(g);
		if (r < 0)
			return r;
	}
	/* Asked of each function: only when it may have changed. */
	if (fresh)
		profile_set_wrappers(g->profile, v->wrappers);
	profile_coming_begin(g->profile);
	g->coming_tags = tags_of(page);
	profile_cells_begin(g->cells, g->coming_tags.by_caller);
	g->step = GROUPS_WALK;
	scan_begin(&g->scan);
	g->list = v->look->list;
	g->coming_ms = v->look->now_ms;
	g->coming_changes = page_view_changes(v);
	if (v->look->list != NULL)
		page_walk_begin(&g->walk, v->look->list, BLKLIST_BY_AGE,
		    false);
	else
		g->walk = (struct page_walk){ .over = true };
	return 0;
}

/* A block costs a cache miss or two; what is left of the portion comes back. */
#define BLOCK_UNITS 150
#define CALLER_UNITS 200
#define FRAMES_UNITS 1000	/* of a caller that counts with each of its frames */
#define MEMBER_UNITS 150

static int
add_cells(struct page_groups *g, const struct page_view *v,
    const struct blk *rows, size_t n)
{
	const struct page_group_kind *const *k = g->coming_tags.kind;
	uint64_t tag[2] = { 0, 0 };
	unsigned level;
	size_t i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		for (level = 0; level < 2; level++)
			if (k[level] != NULL)
				tag[level] = k[level]->tag(v, g->coming_ms,
				    &rows[i]);
		r = profile_cells_add(g->cells, v->look->list, &rows[i], tag);
	}
	return r;
}

static int
do_walk(struct page_groups *g, struct page *page, const struct page_view *v)
{
	struct blk rows[WALK_ROWS];
	size_t n, kept;
	int r;

	if (v->look->list != NULL)
		page_walk_portion(&g->walk, v->look->list,
		    (uint64_t)g->scan.units / BLOCK_UNITS + 1);
	page_choice_begin(page, v);
	while ((n = page_walk_next(&g->walk, v->look->list, rows,
	    WALK_ROWS)) > 0) {
		kept = page_choice_sift(page, rows, page_drain_keep(page,
		    rows, n));
		r = profile_coming_add(g->profile, v->look->list, rows, kept);
		if (r == 0)
			r = add_cells(g, v, rows, kept);
		if (r < 0)
			return r;
		scan_spend(&g->scan, BLOCK_UNITS * (int64_t)n);
	}
	if (!g->walk.over)
		return 0;
	profile_coming_end(g->profile);
	profile_cells_end(g->cells);
	g->tags = g->coming_tags;
	g->total = profile_total(g->profile);
	g->now_ms = g->coming_ms;
	g->changes = g->coming_changes;
	return begin_rank(g, page, v);
}

/* The rows become those of the new ranking. */
static void
show_ranking(struct page_groups *g)
{
	struct profile_ranking *was = g->shown;

	g->shown = g->coming;
	g->coming = was;
	g->kind = g->coming_kind;
	g->all = g->kind != 0 ? profile_ranking_size(g->shown) : 0;
	g->late = g->kind != 0 ? profile_ranking_late(g->shown) : 0;
	g->nrow = g->all - g->late;
	if (g->nrow > PAGE_GROUPS_MAX)
		g->nrow = PAGE_GROUPS_MAX;
	g->keeps = g->coming_keeps;
	g->shown_measure = g->measure;
	g->shown_reverse = g->reverse;
	g->anew = false;
	g->nready = 0;
	g->serial++;
	page_branches_show(g);
}

static bool
is_sorted_otherwise(const struct page_groups *g, const struct page *page)
{
	return g->measure != page->group_sort ||
	    g->reverse != page->group_reverse;
}

static int
do_rank(struct page_groups *g, struct page *page, const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(g->coming_kind);
	int64_t each = k != NULL && k->by == PROFILE_FRAME ? FRAMES_UNITS :
	    CALLER_UNITS;
	size_t some = (size_t)(g->scan.units / each) + 1, left = g->left;
	int r;

	if (g->coming_kind != page->group || is_sorted_otherwise(g, page) ||
	    g->coming_keeps != keeps_order(g, page, v))
		return begin_rank(g, page, v);
	if (k != NULL) {
		r = profile_ranking_count(g->coming, some, &left);
		if (r < 0)
			return r;
		scan_spend(&g->scan, each * (int64_t)(some < g->left ? some :
		    g->left));
		g->left = left;
		if (left > 0)
			return 0;
	}
	show_ranking(g);
	g->step = GROUPS_IDLE;
	if (page->opened) {
		g->step = GROUPS_MEMBERS;
		return page_members_begin(page, v, false);
	}
	if (page_branches_walk(g, page, v))
		g->step = GROUPS_MEMBERS;
	return 0;
}

static int
do_members(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	size_t some = (size_t)(g->scan.units / MEMBER_UNITS) + 1;
	bool over = true;
	int r = 0;

	if (page->opened)
		r = page_members_next(page, v, some, &over);
	else
		r = page_branches_next(g, page, v, some, &over);
	scan_spend(&g->scan, MEMBER_UNITS * (int64_t)some);
	if (!over)
		return r;
	g->step = GROUPS_IDLE;
	return r;
}

/* Steps until all are done or the portion is used up. */
static int
go_on(struct page_groups *g, struct page *page, const struct page_view *v)
{
	int r = 0;

	while (r == 0 && g->step != GROUPS_IDLE && scan_has_budget(&g->scan)) {
		if (g->step == GROUPS_WALK)
			r = do_walk(g, page, v);
		else if (g->step == GROUPS_RANK)
			r = do_rank(g, page, v);
		else
			r = do_members(g, page, v);
	}
	return r;
}

/* What is to be done that was not begun yet. */
static int
begin_due_step(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	bool fresh, due;

	fresh = !g->taken || g->round != page->round ||
	    g->stream_no != v->look->stream_no;
	if (fresh) {
		g->hasty = g->anew = true;
		return begin_walk(g, page, v, true);
	}
	/* Another list of the same stream: the walk goes on in it. */
	if (g->step != GROUPS_IDLE)
		return 0;
	due = page->text || scan_is_due(&g->scan, v->now);
	if (due && !is_same(g, v))
		return begin_walk(g, page, v, false);
	if ((due && g->missing > 0) || g->kind != page->group ||
	    is_sorted_otherwise(g, page) ||
	    (g->keeps && !keeps_order(g, page, v))) {
		if (due && g->missing > 0)
			scan_begin(&g->scan);
		return begin_rank(g, page, v);
	}
	return 0;
}

/*
 * Small lists are taken anew with each picture in which something has changed;
 * for large ones the last take's cost says how long this one serves.  Of a
 * paused picture only the names are still filled in.
 */
static int
refresh_groups(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	int r;

	scan_portion(&g->scan, PORTION, 0);
	/* Rows of another kind would stand under a wrong heading. */
	if (g->kind != page->group) {
		no_rows(g);
		g->hasty = true;
	}
	/* The blocks to be summed are not in it: the list is on its way. */
	if (v->look->window)
		return 0;
	r = begin_due_step(g, page, v);
	g->taken = true;
	g->round = page->round;
	g->stream_no = v->look->stream_no;
	if (r == 0 && g->step == GROUPS_IDLE)
		return 0;
	if (g->hasty)
		g->scan.units = HASTY;
	if (r == 0)
		r = go_on(g, page, v);
	/* What failed for want of memory is tried again when it is due. */
	if (r < 0)
		g->step = GROUPS_IDLE;
	scan_pause(&g->scan);
	if (g->step != GROUPS_IDLE)
		return r;
	if (g->scan.runs)
		scan_done(&g->scan, v->now);
	g->hasty = false;
	return r;
}

/* For text: all that is due, and both levels of the first groups. */
static int
refresh_whole(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	int r = 0;

	while (r == 0 && g->step != GROUPS_IDLE)
		r = refresh_groups(g, page, v);
	if (r == 0 && page_group_below(page) != 0)
		r = page_unfold_first(page, v);
	while (r == 0 && g->step != GROUPS_IDLE)
		r = refresh_groups(g, page, v);
	return r;
}

int
page_groups_refresh(struct page *page, const struct page_view *v)
{
	struct page_groups *g = get_groups(page);
	int r;

	if (g == NULL)
		return -ENOMEM;
	r = refresh_groups(g, page, v);
	if (r == 0 && page->text)
		r = refresh_whole(g, page, v);
	page_trends_note(g, page, v);
	return r;
}

int
page_groups_fill(struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;
	int r;

	if (g->step == GROUPS_WALK) {
		profile_coming_begin(g->profile);
		g->scan.runs = false;
	}
	g->hasty = true;
	r = begin_rank(g, page, v);
	/* What went on before it has been given up, and this has not begun. */
	if (r < 0)
		g->step = GROUPS_IDLE;
	return r;
}

bool
page_groups_at_hand(struct page *page, const struct page_view *v)
{
	if (!page_shows_groups(page))
		return false;
	/* Without memory there are none, as the next picture says. */
	if (page->groups == NULL || page->groups->kind != page->group)
		(void)page_groups_refresh(page, v);
	return page->groups != NULL && page->groups->kind == page->group;
}

const struct profile_group *
page_groups_row(struct page_groups *g, size_t at)
{
	size_t from = at - at % (PAGE_GROUPS_WINDOW / 2);

	if (at >= g->nrow)
		return NULL;
	if (at - g->row_at >= g->nready || at < g->row_at) {
		g->row_at = from;
		if (profile_ranking_rows(g->shown, from, g->row,
		    PAGE_GROUPS_WINDOW, &g->nready) < 0)
			g->nready = 0;
	}
	return at - g->row_at < g->nready ? &g->row[at - g->row_at] : NULL;
}

void
page_groups_waiting(const struct page_groups *g, char *out, size_t cap)
{
	uint64_t done = 0, of = 1;
	size_t len = 0;

	out[0] = '\0';
	if (g->step == GROUPS_IDLE || g->nrow > 0)
		return;
	if (g->step == GROUPS_WALK && g->walk.blocks > 0) {
		done = g->walk.passed;
		of = g->walk.blocks;
	} else if (g->step == GROUPS_RANK && g->of > 0) {
		done = g->of - g->left;
		of = g->of;
	}
	base_append(out, cap, &len, "groups: %u %%", scan_percent(done, of));
}

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hashmap.h"
#include "../blocks/choice.h"
#include "../blocks/drain.h"
#include "expanded_groups.h"

#define PORTION 4000000		/* units of about a nanosecond in one picture */
#define HASTY_PORTION 7000000	/* while the viewer waits for the first rows */
#define WALK_ROWS 256
#define NAMES_AT_ONCE 4096	/* stacks that one picture looks up */

/* Units.  A block costs a cache miss or two. */
#define BLOCK_UNITS 150
#define CALLER_UNITS 200
#define FRAMES_UNITS 1000	/* a caller that counts with each of its frames */
#define MEMBER_UNITS 150

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
	    profile_ranking_new(&g->shown.groups) < 0 ||
	    profile_ranking_new(&g->coming.groups) < 0) {
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
	profile_ranking_free(g->shown.groups);
	profile_ranking_free(g->coming.groups);
	page_members_free(g->members);
	page_branches_free(g->branches);
	page_trends_free(g->trends);
	free(g);
}

static uint64_t
hash_patterns(const struct symbol_wrappers *w)
{
	uint64_t hash = 0;
	const char *pattern;

	for (size_t i = 0; w != NULL &&
	    (pattern = symbol_wrappers_pattern(w, i)) != NULL; i++)
		hash = hash_of_bytes(hash, pattern, strlen(pattern) + 1);
	return hash;
}

static struct page_groups_question
question_of(const struct page *page, const struct page_view *v)
{
	return (struct page_groups_question){
		.filter_no = page_choice_filter_no(page),
		.drained = page_is_draining(page) ?
		    page->drain->from.seq + 1 : 0,
		.skipped = hash_patterns(v->wrappers),
	};
}

bool
page_groups_question_same(const struct page_groups_question *a,
    const struct page_groups_question *b)
{
	return a->filter_no == b->filter_no && a->drained == b->drained &&
	    a->skipped == b->skipped;
}

static struct page_group_tags
tags_of(const struct page *page)
{
	struct page_group_tags t = { .by_caller = false };
	const struct page_group_kind *k;
	unsigned level;

	for (level = 0; level < 2; level++) {
		k = page_group_level(page, level);
		if (k == NULL)
			break;
		t.ages = t.ages || k->ages;
		if (k->by == PROFILE_TAG)
			t.kind[level] = k;
		else
			t.by_caller = true;
	}
	return t;
}

static bool
tags_suffice(const struct page_group_tags *have,
    const struct page_group_tags *want)
{
	return have->kind[0] == want->kind[0] &&
	    have->kind[1] == want->kind[1] &&
	    (have->by_caller || !want->by_caller);
}

static bool
is_sorted_as(const struct page_group_ranking *r, const struct page *page)
{
	return r->measure == page->group.sort &&
	       r->reverse == page->group.reverse;
}

static bool
keeps_order(const struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	return !g->pass.unfreeze && g->shown.kind == page->group.kind &&
	    is_sorted_as(&g->shown, page) &&
	    profile_ranking_size(g->shown.groups) > 0 &&
	    page_groups_are_frozen(page, v);
}

static void
clear_rows(struct page_groups *g)
{
	g->nrow = g->all = g->nnew = g->window.n = 0;
	page_branches_plan(g);
}

/* The profile goes, and with it the texts that groups borrow. */
static int
clear_groups(struct page_groups *g)
{
	int r;

	page_branches_clear(g);
	clear_rows(g);
	profile_cells_clear(g->cells);
	profile_clear(g->profile);
	g->tags = (struct page_group_tags){ .by_caller = false };
	r = profile_ranking_begin(g->shown.groups, g->profile, PROFILE_SITE,
	    PROFILE_BYTES, 0);
	if (r == 0)
		r = profile_ranking_begin(g->coming.groups, g->profile,
		    PROFILE_SITE, PROFILE_BYTES, 0);
	return r;
}

static int
begin_walk(struct page_groups *g, const struct page *page,
    const struct page_view *v, bool fresh)
{
	int r;

	if (g->source.stream_no != v->look->stream_no) {
		r = clear_groups(g);
		if (r < 0)
			return r;
	}
	/* Matching all functions is slow: only when the patterns may have changed. */
	if (fresh)
		profile_set_wrappers(g->profile, v->wrappers);
	profile_pending_begin(g->profile);
	g->coming_tags = tags_of(page);
	profile_cells_begin(g->cells, g->coming_tags.by_caller);
	g->pass.step = GROUPS_WALK;
	scan_begin(&g->pass.scan);
	g->source.of = question_of(page, v);
	g->source.list = v->look->list;
	g->source.ms = v->look->now_ms;
	g->source.changes = page_view_changes(v);
	page_walk_begin(&g->walk, v->look->list, BLKLIST_BY_AGE, false);
	return 0;
}

static int
begin_rank(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(page->group.kind);
	struct page_group_tags want = tags_of(page);
	int r;

	if (!tags_suffice(&g->tags, &want))
		return begin_walk(g, page, v, false);
	r = profile_resolve_some(g->profile, &v->words,
	    page->medium == PAGE_WHOLE ? SIZE_MAX : NAMES_AT_ONCE);
	if (r < 0)
		return r;
	g->missing = (size_t)r;
	g->pass.step = GROUPS_RANK;
	g->callers.left = g->callers.of = profile_cells_count(g->cells);
	g->coming.of = g->summed;
	g->coming.kind = page->group.kind;
	g->coming.measure = page->group.sort;
	g->coming.reverse = page->group.reverse;
	g->coming.frozen = keeps_order(g, page, v);
	r = profile_ranking_begin(g->coming.groups, g->profile,
	    k != NULL ? k->by : PROFILE_SITE, g->coming.measure, g->now_ms);
	profile_ranking_reverse(g->coming.groups, g->coming.reverse);
	profile_ranking_cells(g->coming.groups, g->cells);
	if (g->coming.frozen)
		profile_ranking_keep_order(g->coming.groups, g->shown.groups);
	return r == 0 ? page_branches_rank(g, page, v) : r;
}

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
				tag[level] = k[level]->tag(v, g->source.ms,
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

	page_walk_portion(&g->walk, v->look->list,
	    (uint64_t)g->pass.scan.units / BLOCK_UNITS + 1);
	page_choice_begin(page, v);
	while ((n = page_walk_next(&g->walk, v->look->list, rows,
	    WALK_ROWS)) > 0) {
		kept = page_choice_keep(page, rows, page_drain_keep(page,
		    rows, n));
		r = profile_pending_add(g->profile, v->look->list, rows, kept);
		if (r == 0)
			r = add_cells(g, v, rows, kept);
		if (r < 0)
			return r;
		scan_spend(&g->pass.scan, BLOCK_UNITS * (int64_t)n);
	}
	if (!g->walk.over)
		return 0;
	profile_pending_end(g->profile);
	profile_cells_end(g->cells);
	g->tags = g->coming_tags;
	g->total = profile_total(g->profile);
	g->now_ms = g->source.ms;
	g->changes = g->source.changes;
	g->summed = g->source.of;
	return begin_rank(g, page, v);
}

static void
show_ranking(struct page_groups *g)
{
	struct page_group_ranking was = g->shown;

	g->shown = g->coming;
	g->coming = was;
	g->all = g->shown.kind != 0 ?
	    profile_ranking_size(g->shown.groups) : 0;
	g->nnew = g->shown.kind != 0 ?
	    profile_ranking_new_groups(g->shown.groups) : 0;
	g->nrow = g->all - g->nnew;
	if (g->nrow > PAGE_GROUPS_MAX)
		g->nrow = PAGE_GROUPS_MAX;
	g->pass.unfreeze = false;
	g->window.n = 0;
	g->serial++;
	page_branches_show(g);
}

static int
do_rank(struct page_groups *g, struct page *page, const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(g->coming.kind);
	int64_t each = k != NULL && k->by == PROFILE_FRAME ? FRAMES_UNITS :
	    CALLER_UNITS;
	size_t some = (size_t)(g->pass.scan.units / each) + 1, left = g->callers.left;
	int r;

	if (g->coming.kind != page->group.kind ||
	    !is_sorted_as(&g->coming, page) ||
	    g->coming.frozen != keeps_order(g, page, v))
		return begin_rank(g, page, v);
	if (k != NULL) {
		r = profile_ranking_count(g->coming.groups, some, &left);
		if (r < 0)
			return r;
		scan_spend(&g->pass.scan, each * (int64_t)(some < g->callers.left ?
		    some : g->callers.left));
		g->callers.left = left;
		if (left > 0)
			return 0;
	}
	show_ranking(g);
	g->pass.step = GROUPS_IDLE;
	if (page->group.opened) {
		g->pass.step = GROUPS_MEMBERS;
		return page_members_begin(page, v, false);
	}
	if (page_branches_walk(g, page, v))
		g->pass.step = GROUPS_MEMBERS;
	return 0;
}

static int
do_members(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	size_t some = (size_t)(g->pass.scan.units / MEMBER_UNITS) + 1;
	bool over = true;
	int r = 0;

	if (page->group.opened)
		r = page_members_next(page, v, some, &over);
	else
		r = page_branches_next(g, page, v, some, &over);
	scan_spend(&g->pass.scan, MEMBER_UNITS * (int64_t)some);
	if (!over)
		return r;
	g->pass.step = GROUPS_IDLE;
	return r;
}

static int
do_steps(struct page_groups *g, struct page *page, const struct page_view *v)
{
	int r = 0;

	while (r == 0 && g->pass.step != GROUPS_IDLE && scan_has_budget(&g->pass.scan)) {
		if (g->pass.step == GROUPS_WALK)
			r = do_walk(g, page, v);
		else if (g->pass.step == GROUPS_RANK)
			r = do_rank(g, page, v);
		else
			r = do_members(g, page, v);
	}
	return r;
}

static bool
is_up_to_date(const struct page_groups *g, const struct page_view *v)
{
	if (g->tags.ages && v->look->now_ms / 1000 != g->now_ms / 1000)
		return false;
	return g->source.list == v->look->list &&
	    g->changes == page_view_changes(v);
}

static int
begin_due_step(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	bool due;

	if (!g->pass.started || g->source.round != page->round ||
	    g->source.stream_no != v->look->stream_no) {
		g->pass.hasty = g->pass.unfreeze = true;
		return begin_walk(g, page, v, true);
	}
	/* In another list of the same stream the walk continues. */
	if (g->pass.step != GROUPS_IDLE)
		return 0;
	due = page->medium == PAGE_WHOLE || scan_is_due(&g->pass.scan, v->now);
	if (due && !is_up_to_date(g, v))
		return begin_walk(g, page, v, false);
	if (due && g->missing > 0)
		scan_begin(&g->pass.scan);
	else if (g->shown.kind == page->group.kind &&
	    is_sorted_as(&g->shown, page) &&
	    (!g->shown.frozen || keeps_order(g, page, v)))
		return 0;
	return begin_rank(g, page, v);
}

static int
refresh_groups(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	int r;

	scan_portion(&g->pass.scan, PORTION, 0);
	/* Rows of another kind would be below a wrong heading. */
	if (g->shown.kind != page->group.kind) {
		clear_rows(g);
		g->pass.hasty = true;
	}
	/* The session has not yet all blocks. */
	if (v->look->window)
		return 0;
	r = begin_due_step(g, page, v);
	g->pass.started = true;
	g->source.round = page->round;
	g->source.stream_no = v->look->stream_no;
	if (r == 0 && g->pass.step == GROUPS_IDLE)
		return 0;
	if (g->pass.hasty)
		g->pass.scan.units = HASTY_PORTION;
	if (r == 0)
		r = do_steps(g, page, v);
	/* Without memory it begins again when it is due. */
	if (r < 0)
		g->pass.step = GROUPS_IDLE;
	scan_pause(&g->pass.scan);
	if (g->pass.step != GROUPS_IDLE)
		return r;
	if (g->pass.scan.runs)
		scan_done(&g->pass.scan, v->now);
	g->pass.hasty = false;
	return r;
}

static int
refresh_whole(struct page_groups *g, struct page *page,
    const struct page_view *v)
{
	int r = 0;

	while (r == 0 && g->pass.step != GROUPS_IDLE)
		r = refresh_groups(g, page, v);
	if (r == 0 && page_group_below(page) != 0)
		r = page_expand_first_groups(page, v);
	while (r == 0 && g->pass.step != GROUPS_IDLE)
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
	if (r == 0 && page->medium == PAGE_WHOLE)
		r = refresh_whole(g, page, v);
	page_trends_note(g, page, v);
	return r;
}

int
page_groups_fill(struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;
	int r;

	if (g->pass.step == GROUPS_WALK) {
		profile_pending_begin(g->profile);
		g->pass.scan.runs = false;
	}
	g->pass.hasty = true;
	r = begin_rank(g, page, v);
	if (r < 0)
		g->pass.step = GROUPS_IDLE;
	return r;
}

bool
page_groups_at_hand(struct page *page, const struct page_view *v)
{
	if (!page_shows_groups(page))
		return false;
	/* The next picture reports a lack of memory. */
	if (page->groups == NULL ||
	    page->groups->shown.kind != page->group.kind)
		(void)page_groups_refresh(page, v);
	return page->groups != NULL &&
	    page->groups->shown.kind == page->group.kind;
}

const struct profile_group *
page_group_window_row(struct page_group_window *w,
    struct profile_ranking *ranking, size_t at)
{
	if (at < w->at || at - w->at >= w->n) {
		w->at = at - at % (PAGE_GROUPS_WINDOW / 2);
		if (profile_ranking_rows(ranking, w->at, w->row,
		    PAGE_GROUPS_WINDOW, &w->n) < 0)
			w->n = 0;
	}
	return at - w->at < w->n ? &w->row[at - w->at] : NULL;
}

const struct profile_group *
page_groups_row(struct page_groups *g, size_t at)
{
	return at < g->nrow ? page_group_window_row(&g->window,
	    g->shown.groups, at) : NULL;
}

void
page_groups_waiting(const struct page_groups *g, char *out, size_t cap)
{
	uint64_t done = 0, of = 1;
	size_t len = 0;

	out[0] = '\0';
	if (g->pass.step == GROUPS_IDLE || g->nrow > 0)
		return;
	if (g->pass.step == GROUPS_WALK && g->walk.blocks > 0) {
		done = g->walk.passed;
		of = g->walk.blocks;
	} else if (g->pass.step == GROUPS_RANK && g->callers.of > 0) {
		done = g->callers.of - g->callers.left;
		of = g->callers.of;
	}
	base_append(out, cap, &len, "groups: %u %%", scan_percent(done, of));
}

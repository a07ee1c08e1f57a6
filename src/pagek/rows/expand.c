/*
 * Groups opened and closed in their place, and the cursor among what is in
 * them.
 */
#include <errno.h>

#include "expanded_groups.h"
#include "rows.h"

/* --- the cursor ----------------------------------------------------------- */

static enum profile_by
by_of(const struct page_groups *g)
{
	return page_group_kind(g->kind)->by;
}

static enum profile_by
below_by(const struct page *page)
{
	const struct page_group_kind *k = page_group_kind(
	    page_group_below(page));

	return k != NULL ? k->by : PROFILE_SITE;
}

static uint64_t
groups_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->groups != NULL ? page->groups->rows : 0;
}

static bool
groups_hold(struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	struct page_group_at at;

	/* Rows of another kind are not what the cursor is to come to. */
	if (g == NULL || g->kind != page->group ||
	    !page_groups_at(g, page->cursor.at, &at))
		return false;
	if (at.what == ROW_GROUP) {
		row = page_groups_row(g, at.index);
		if (row == NULL)
			return false;
		page_group_hold(v, by_of(g), row, &g->cursor);
	} else {
		g->cursor = at.branch->of;
		g->cursor_below = at.branch->below;
		g->cursor_second = at.branch->second;
	}
	if (at.what == ROW_BELOW) {
		row = page_branch_row(at.branch, at.index);
		if (row == NULL)
			return false;
		page_group_hold(v, below_by(page), row, &g->cursor_below);
	}
	if (at.what == ROW_BLOCK)
		page_hold_block(page, &at.branch->blk[at.index]);
	g->cursor_on = at.what;
	return true;
}

static bool
held_below(struct page *page, const struct page_view *v, uint64_t *offset)
{
	struct page_groups *g = page->groups;
	struct page_branch *b = page_branch_find(g, g->cursor.key, NULL);
	int64_t at;

	if (b == NULL || !page_group_find_in(g->profile, v, below_by(page), b->shown,
	    &g->cursor_below))
		return false;
	at = profile_ranking_find(b->shown, g->cursor_below.key);
	return at >= 0 && page_groups_offset(g, ROW_BELOW, b, (size_t)at,
	    offset);
}

static bool
held_block(const struct page *page, const struct page_branch *b,
    uint64_t *offset)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if (page_holds_block(page, &b->blk[i]))
			return page_groups_offset(page->groups, ROW_BLOCK, b,
			    i, offset);
	return false;
}

static bool
groups_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	struct page_branch *b;
	int64_t at;

	(void)total;
	if (g == NULL || g->kind == 0 || !page_group_find(g, v, by_of(g),
	    &g->cursor))
		return false;
	if (g->cursor_on == ROW_BELOW)
		return held_below(page, v, offset);
	if (g->cursor_on != ROW_GROUP) {
		b = page_branch_find(g, g->cursor.key, g->cursor_second ?
		    &g->cursor_below.key : NULL);
		if (b == NULL)
			return false;
		return g->cursor_on == ROW_BLOCK ? held_block(page, b, offset) :
		    page_groups_offset(g, ROW_REST, b, 0, offset);
	}
	at = profile_ranking_find(g->shown, g->cursor.key);
	row = at >= 0 ? page_groups_row(g, (size_t)at) : NULL;
	if (row == NULL || !page_groups_offset(g, ROW_GROUP, NULL, (size_t)at,
	    offset))
		return false;
	page_group_hold(v, by_of(g), row, &g->cursor);
	return true;
}

/* Those of one run; rows of other sorts are no blocks. */
static size_t
groups_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	struct page_group_at row;
	size_t i;

	(void)v;
	if (page->groups == NULL || !page_groups_at(page->groups, at, &row) ||
	    row.what != ROW_BLOCK)
		return 0;
	for (i = 0; i < n && i < row.left; i++)
		out[i] = row.branch->blk[row.index + i];
	return i;
}

const struct page_rows_ops page_rows_groups = {
	.total = groups_total,
	.window = groups_window,
	.hold = groups_hold,
	.held = groups_held,
};

/* --- open and close ------------------------------------------------------- */

static void
cursor_to(struct page *page, uint64_t offset)
{
	page->cursor.on = true;
	page->cursor.at = offset;
	page->cursor.held = false;
}

/* 1 when it is open now, 0 when it was before or there is none. */
static int
unfold_row(struct page *page, const struct page_view *v,
    const struct page_group_at *at)
{
	bool outer = at->what == ROW_GROUP;
	bool leaf = page_group_below(page) == 0 || !outer;
	struct page_group_hold of = { 0 }, below = { 0 };
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	int r;

	row = outer ? page_groups_row(g, at->index) :
	    page_branch_row(at->branch, at->index);
	if (row == NULL)
		return 0;
	if (outer) {
		page_group_hold(v, by_of(g), row, &of);
	} else {
		of = at->branch->of;
		page_group_hold(v, below_by(page), row, &below);
	}
	if (page_branch_find(g, of.key, outer ? NULL : &below.key) != NULL)
		return 0;
	r = page_branch_open(g, &of, outer ? NULL : &below, leaf,
	    (int64_t)at->index, &row->total);
	return r < 0 ? r : 1;
}

bool
page_group_is_open(const struct page *page, size_t rank)
{
	const struct profile_group *row = page_groups_row(page->groups, rank);

	return row != NULL && page_branch_find(page->groups, row->key, NULL) !=
	    NULL;
}

int
page_unfold(struct page *page, const struct page_view *v)
{
	uint64_t cursor = page->cursor.on ? page->cursor.at : page->offs;
	struct page_group_at at;
	int r;

	if (!page_groups_at_hand(page, v) ||
	    !page_groups_at(page->groups, cursor, &at) ||
	    (at.what != ROW_GROUP && at.what != ROW_BELOW))
		return -ENOENT;
	r = unfold_row(page, v, &at);
	if (r < 0)
		return r;
	if (!page->cursor.on)
		cursor_to(page, cursor);
	return r == 1 ? page_groups_fill(page, v) : 0;
}

bool
page_fold(struct page *page)
{
	struct page_groups *g = page->groups;
	uint64_t cursor = page->cursor.on ? page->cursor.at : page->offs, up;
	const struct profile_group *row;
	struct page_branch *b = NULL;
	struct page_group_at at;

	if (!page_shows_groups(page) || g == NULL || g->kind != page->group ||
	    !page_groups_at(g, cursor, &at))
		return false;
	if (at.what == ROW_GROUP) {
		row = page_groups_row(g, at.index);
		b = row != NULL ? page_branch_find(g, row->key, NULL) : NULL;
	} else if (at.what == ROW_BELOW) {
		row = page_branch_row(at.branch, at.index);
		b = row != NULL ? page_branch_find(g, at.branch->of.key,
		    &row->key) : NULL;
	}
	/* What is not open closes what it is in, and the cursor goes there. */
	if (b == NULL)
		b = at.branch;
	if (b == NULL)
		return false;
	if (!page_groups_offset(g, b->second ? ROW_BELOW : ROW_GROUP,
	    b->second ? page_branch_find(g, b->of.key, NULL) : NULL,
	    (size_t)b->rank, &up))
		up = cursor;
	page_branch_close(g, b);
	cursor_to(page, up);
	return true;
}

/* As many as may be open, the first ones first; 1: one is that was not. */
static int
unfold_groups(struct page *page, const struct page_view *v)
{
	struct page_group_at at = { .what = ROW_GROUP };
	int r = 0, any = 0;

	for (; at.index < page->groups->nrow && at.index < PAGE_UNFOLD_ALL &&
	    r >= 0; at.index++) {
		r = unfold_row(page, v, &at);
		any |= r == 1;
	}
	return r < 0 && r != -ENOSPC ? r : any;
}

int
page_unfold_first(struct page *page, const struct page_view *v)
{
	int r = unfold_groups(page, v);

	return r == 1 ? page_groups_fill(page, v) : r;
}

int
page_unfold_all(struct page *page, const struct page_view *v)
{
	int r;

	if (!page_groups_at_hand(page, v))
		return -ENOENT;
	if (page->cursor.on)
		page_hold(page, v);
	r = unfold_groups(page, v);
	if (r < 0)
		return r;
	if (r == 1)
		return page_groups_fill(page, v);
	page_branches_clear(page->groups);
	/* Nothing but groups of the first level is there to be held. */
	page->groups->cursor_on = ROW_GROUP;
	return 1;
}

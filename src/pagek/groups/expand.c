#include <errno.h>

#include "expanded_groups.h"

static void
move_cursor(struct page *page, uint64_t offset)
{
	page->cursor.on = true;
	page->cursor.at = offset;
	page->cursor.known = false;
}

/* 1 if it is expanded now; 0 if it was before, or there is no group. */
static int
expand_row(struct page *page, const struct page_view *v,
    const struct page_group_at *at)
{
	bool outer = at->what == ROW_GROUP;
	bool leaf = page_group_below(page) == 0 || !outer;
	struct page_group_ref of = { 0 }, below = { 0 };
	struct page_groups *g = page->groups;
	const struct profile_group *row = page_groups_at_row(g, at);
	int r;

	if (row == NULL)
		return 0;
	if (outer) {
		page_group_ref_set(v, page_group_level(page, 0)->by, row, &of);
	} else {
		of = at->branch->of;
		page_group_ref_set(v, page_group_level(page, 1)->by, row,
		    &below);
	}
	if (page_branch_find(g, of.key, outer ? NULL : &below.key) != NULL)
		return 0;
	r = page_branch_open(g, &of, outer ? NULL : &below, leaf,
	    (int64_t)at->index, &row->total);
	return r < 0 ? r : 1;
}

bool
page_group_is_expanded(const struct page *page, size_t rank)
{
	const struct profile_group *row = page_groups_row(page->groups, rank);

	return row != NULL && page_branch_find(page->groups, row->key, NULL) !=
	    NULL;
}

int
page_expand_group(struct page *page, const struct page_view *v)
{
	uint64_t cursor = page->cursor.on ? page->cursor.at : page->offs;
	struct page_group_at at;
	int r;

	if (!page_groups_at_hand(page, v) ||
	    !page_groups_at(page->groups, cursor, &at) ||
	    (at.what != ROW_GROUP && at.what != ROW_BELOW))
		return -ENOENT;
	r = expand_row(page, v, &at);
	if (r < 0)
		return r;
	if (!page->cursor.on)
		move_cursor(page, cursor);
	return r == 1 ? page_groups_fill(page, v) : 0;
}

bool
page_collapse_group(struct page *page)
{
	struct page_groups *g = page->groups;
	uint64_t cursor = page->cursor.on ? page->cursor.at : page->offs, up;
	const struct profile_group *row;
	struct page_branch *b = NULL;
	struct page_group_at at;

	if (!page_shows_groups(page) || g == NULL ||
	    g->shown.kind != page->group.kind ||
	    !page_groups_at(g, cursor, &at))
		return false;
	row = page_groups_at_row(g, &at);
	if (row != NULL)
		b = at.what == ROW_GROUP ? page_branch_find(g, row->key, NULL) :
		    page_branch_find(g, at.branch->of.key, &row->key);
	/* A row that is not expanded collapses the branch that it is in. */
	if (b == NULL)
		b = at.branch;
	if (b == NULL)
		return false;
	if (!page_groups_offset(g, b->second ? ROW_BELOW : ROW_GROUP,
	    b->second ? page_branch_find(g, b->of.key, NULL) : NULL,
	    (size_t)b->rank, &up))
		up = cursor;
	page_branch_close(g, b);
	move_cursor(page, up);
	return true;
}

/* The first ones, as many as there is room for; 1: at least one was not expanded. */
static int
expand_rows(struct page *page, const struct page_view *v)
{
	struct page_group_at at = { .what = ROW_GROUP };
	int r = 0, any = 0;

	for (; at.index < page->groups->nrow && at.index < PAGE_EXPAND_MAX &&
	    r >= 0; at.index++) {
		r = expand_row(page, v, &at);
		any |= r == 1;
	}
	return r < 0 && r != -ENOSPC ? r : any;
}

int
page_expand_first_groups(struct page *page, const struct page_view *v)
{
	int r = expand_rows(page, v);

	return r == 1 ? page_groups_fill(page, v) : r;
}

int
page_expand_all_groups(struct page *page, const struct page_view *v)
{
	int r;

	if (!page_groups_at_hand(page, v))
		return -ENOENT;
	if (page->cursor.on)
		page->cursor.known = page_rows_groups.remember(page, v);
	r = expand_rows(page, v);
	if (r < 0)
		return r;
	if (r == 1)
		return page_groups_fill(page, v);
	page_branches_clear(page->groups);
	/* Only groups of the first level are left. */
	page->groups->cursor.what = ROW_GROUP;
	return 1;
}

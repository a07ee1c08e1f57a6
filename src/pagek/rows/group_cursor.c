/*
 * Groups that somebody holds on to, while names come and sums change: the one
 * under the cursor, and the one that is open.
 */
#include <stdio.h>

#include "expanded_groups.h"
#include "frozen_order.h"
#include "rows.h"

void
page_group_name(const struct profile_group *g, char *out, size_t cap)
{
	size_t len = 0;

	base_append(out, cap, &len, "%s%s%s", g->name,
	    g->where[0] != '\0' ? "  " : "", g->where);
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

/* Names have come: what is the held function called now? */
static bool
heir_of_frame(struct profile *p, const struct page_view *v,
    struct page_group_hold *hold)
{
	const struct wire_words *w;
	uint64_t key;

	if (hold->frame == 0)
		return false;
	w = v->words.words(v->words.arg, hold->frame);
	key = profile_key(hold->frame, w, w != NULL && w->n > 0 ? w->n - 1 :
	    0);
	if (!profile_in_group(p, PROFILE_FRAME, key, hold->caller))
		return false;
	hold->key = key;
	return true;
}

bool
page_group_find_in(struct profile *p, const struct page_view *v,
    enum profile_by by, const struct profile_ranking *in,
    struct page_group_hold *hold)
{
	struct profile_sum sum;
	uint64_t key;

	if (profile_in_group(p, by, hold->key, hold->caller))
		return true;
	if (by == PROFILE_FRAME && heir_of_frame(p, v, hold))
		return true;
	/* The caller's blocks may be gone, and the group not. */
	if (profile_ranking_sum(in, hold->key, &sum))
		return true;
	if (by == PROFILE_FRAME ||
	    profile_key_of(p, by, hold->caller, &key) < 0 ||
	    !profile_ranking_sum(in, key, &sum))
		return false;
	hold->key = key;
	return true;
}

bool
page_group_find(const struct page_groups *g, const struct page_view *v,
    enum profile_by by, struct page_group_hold *hold)
{
	return page_group_find_in(g->profile, v, by, g->shown, hold);
}

/* --- which groups, and which of them is open ------------------------------ */

unsigned
page_group_below(const struct page *page)
{
	return page->group != 0 && page->group_below != page->group ?
	    page->group_below : 0;
}

void
page_groups_title(const struct page *page, const char *between,
    char out[PAGE_GROUPS_TITLE])
{
	const struct page_group_kind *k = page_group_kind(page->group);
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(page));
	size_t len = 0;

	out[0] = '\0';
	if (k != NULL)
		base_append_text(out, PAGE_GROUPS_TITLE, &len, k->title);
	if (k2 == NULL)
		return;
	base_append_text(out, PAGE_GROUPS_TITLE, &len, between);
	base_append_text(out, PAGE_GROUPS_TITLE, &len, k2->title);
}

void
page_set_group_below(struct page *page, unsigned kind)
{
	page->group_below = page_group_kind(kind) != NULL ? kind : 0;
	page_set_group(page, page->group);
}

/* Each kind is read from its top, but the blocks from where they were left. */
void
page_set_group(struct page *page, unsigned kind)
{
	unsigned was = page->group;
	uint64_t offs = page->offs;

	page_still_anew(page);
	page->group = page_group_kind(kind) != NULL ? kind : 0;
	page->opened = false;
	if (page->groups != NULL)
		page_branches_clear(page->groups);
	page->cursor.on = page->cursor.held = false;
	page->cursor.at = page->offs = page->group == 0 ? page->flat_offs : 0;
	if (was == 0)
		page->flat_offs = offs;
	if (page->group != 0)
		page->group_last = page->group;
}

/* The group that the row is, or is a part of. */
static const struct profile_group *
row_to_open(struct page *page, const struct page_view *v,
    const struct page_group_at *at)
{
	struct page_groups *g = page->groups;
	const struct page_group_kind *k = page_group_kind(g->kind);
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(page));
	const struct profile_group *row;
	struct page_group_at whole;

	/* All blocks of what has more of them than are listed in its place. */
	if (at->what == ROW_REST && at->branch->leaf) {
		whole = (struct page_group_at){
			.what = at->branch->second ? ROW_BELOW : ROW_GROUP,
			.branch = at->branch->second ? page_branch_find(g,
			    at->branch->of.key, NULL) : NULL,
			.index = (size_t)at->branch->rank };
		at = &whole;
	}
	g->open_second = at->what == ROW_BELOW && k2 != NULL;
	row = at->what == ROW_GROUP ? page_groups_row(g, at->index) :
	    at->what == ROW_BELOW ? page_branch_row(at->branch, at->index) :
	    NULL;
	if (row == NULL)
		return NULL;
	if (!g->open_second) {
		page_group_hold(v, k->by, row, &g->open);
		page_group_say(page, v, k, row, &g->open_words);
		return row;
	}
	g->open = at->branch->of;
	page_group_hold(v, k2->by, row, &g->open_below);
	page_group_say(page, v, k2, row, &g->open_words);
	return row;
}

bool
page_open_group(struct page *page, const struct page_view *v)
{
	struct page_groups *g;
	uint64_t cursor = page->cursor.on ? page->cursor.at : page->offs;
	struct page_group_at at;

	if (!page_groups_at_hand(page, v))
		return false;
	g = page->groups;
	if (!page_groups_at(g, cursor, &at) || row_to_open(page, v, &at) ==
	    NULL)
		return false;
	/* Where the cursor comes back to. */
	page->cursor.at = cursor;
	page_rows_groups.hold(page, v);
	/* Its blocks are looked for among those of now, not of the last take. */
	if (page_members_begin(page, v, true) < 0)
		return false;
	profile_coming_begin(g->profile);
	g->step = GROUPS_MEMBERS;
	g->scan.runs = false;
	g->hasty = true;
	page_still_anew(page);
	page->back = (struct page_place){ .offs = page->offs,
		.cursor = cursor };
	page->opened = true;
	page->offs = page->cursor.at = 0;
	page->cursor.on = page->cursor.held = false;
	return true;
}

void
page_close_group(struct page *page)
{
	if (!page->opened)
		return;
	page_still_anew(page);
	page->opened = false;
	page->offs = page->back.offs;
	page->cursor.at = page->back.cursor;
	page->cursor.on = true;
	/* The cursor is where that group is by now. */
	page->groups->cursor = page->groups->open;
	page->groups->cursor_below = page->groups->open_below;
	page->groups->cursor_on = page->groups->open_second ? ROW_BELOW :
	    ROW_GROUP;
	page->cursor.held = true;
}

/*
 * Groups that somebody holds on to, while names come and sums change: the one
 * under the cursor, and the one that is open.
 */
#include <stdio.h>

#include "groups.h"
#include "still.h"

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

static bool
in_profile(const struct page_groups *g, enum profile_by by, uint64_t key,
    uint64_t caller)
{
	return profile_in_group(g->profile, by, key, caller);
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
	uint64_t key;

	if (in_profile(g, by, hold->key, hold->caller))
		return true;
	if (by == PROFILE_FRAME && heir_of_frame(g, v, hold))
		return true;
	/* The caller's blocks may be gone, and the group not. */
	if (profile_ranking_find(g->shown, hold->key) >= 0)
		return true;
	if (by == PROFILE_FRAME ||
	    profile_key_of(g->profile, by, hold->caller, &key) < 0 ||
	    profile_ranking_find(g->shown, key) < 0)
		return false;
	hold->key = key;
	return true;
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
	const struct profile_group *row;

	row = g != NULL ? page_groups_row(g, page->cursor) : NULL;
	if (row == NULL)
		return false;
	page_group_hold(v, page_group_kind(g->kind)->by, row, &g->cursor);
	return true;
}

static bool
groups_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	int64_t at;

	(void)total;
	if (g == NULL || !page_group_find(g, v, page_group_kind(g->kind)->by,
	    &g->cursor))
		return false;
	at = profile_ranking_find(g->shown, g->cursor.key);
	row = at >= 0 ? page_groups_row(g, (size_t)at) : NULL;
	if (row == NULL)
		return false;
	*offset = (uint64_t)at;
	page_group_hold(v, page_group_kind(g->kind)->by, row, &g->cursor);
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

	page_still_anew(page);
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
	const struct profile_group *row;
	enum profile_by by;

	if (page->group == 0 || page->opened || g == NULL)
		return false;
	row = page_groups_row(g, at);
	if (row == NULL)
		return false;
	by = page_group_kind(g->kind)->by;
	page_group_hold(v, by, row, &g->cursor);
	g->open = g->cursor;
	page_group_say(page, v, page_group_kind(g->kind), row, &g->open_words);
	/* Its blocks are looked for among those of now, not of the last take. */
	if (page_members_begin(page, v, true) < 0)
		return false;
	profile_coming_begin(g->profile);
	g->step = GROUPS_MEMBERS;
	g->taking = false;
	g->hasty = true;
	page_still_anew(page);
	page->back = (struct page_place){ .offs = page->offs, .cursor = at };
	page->opened = true;
	page->offs = page->cursor = 0;
	page->has_cursor = page->cursor_held = false;
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
	page->cursor = page->back.cursor;
	page->has_cursor = true;
	/* The cursor is where that group is by now. */
	page->groups->cursor = page->groups->open;
	page->cursor_held = true;
}

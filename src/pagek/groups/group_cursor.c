#include "expanded_groups.h"

void
page_group_name(const struct profile_group *g, char *out, size_t cap)
{
	size_t len = 0;

	base_append(out, cap, &len, "%s%s%s", g->name,
	    g->where[0] != '\0' ? "  " : "", g->where);
}

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
page_group_ref_set(const struct page_view *v, enum profile_by by,
    const struct profile_group *row, struct page_group_ref *ref)
{
	if (ref->key == row->key && ref->caller == row->caller)
		return;
	*ref = (struct page_group_ref){
		.key = row->key,
		.caller = row->caller,
		.frame = by == PROFILE_FRAME ? frame_of(v, row) : 0,
	};
}

static bool
find_frame(struct profile *p, const struct page_view *v,
    struct page_group_ref *ref)
{
	const struct wire_words *w;
	uint64_t key;

	if (ref->frame == 0)
		return false;
	w = v->words.words(v->words.arg, ref->frame);
	key = profile_key(ref->frame, w, w != NULL && w->n > 0 ? w->n - 1 : 0);
	if (!profile_in_group(p, PROFILE_FRAME, key, ref->caller))
		return false;
	ref->key = key;
	return true;
}

bool
page_group_ref_find_in(struct profile *p, const struct page_view *v,
    enum profile_by by, const struct profile_ranking *in,
    struct page_group_ref *ref)
{
	struct profile_sum sum;
	uint64_t key;

	if (profile_in_group(p, by, ref->key, ref->caller))
		return true;
	if (by == PROFILE_FRAME && find_frame(p, v, ref))
		return true;
	/* The caller may have no blocks left, but the group others. */
	if (profile_ranking_sum(in, ref->key, &sum))
		return true;
	if (by == PROFILE_FRAME ||
	    profile_key_of(p, by, ref->caller, &key) < 0 ||
	    !profile_ranking_sum(in, key, &sum))
		return false;
	ref->key = key;
	return true;
}

bool
page_group_ref_find(const struct page_groups *g, const struct page_view *v,
    enum profile_by by, struct page_group_ref *ref)
{
	return page_group_ref_find_in(g->profile, v, by, g->shown.groups, ref);
}

bool
page_shows_groups(const struct page *page)
{
	return page->group.kind != 0 && !page->group.opened;
}

bool
page_groups_are_frozen(const struct page *page, const struct page_view *v)
{
	return page_is_on_screen(page) && page_shows_groups(page) &&
	    page_freeze_is_wanted(page, v);
}

unsigned
page_group_below(const struct page *page)
{
	return page->group.kind != 0 && page->group.below != page->group.kind ?
	    page->group.below : 0;
}

const struct page_group_kind *
page_group_level(const struct page *page, unsigned level)
{
	return page_group_kind(level == 0 ? page->group.kind :
	    page_group_below(page));
}

void
page_groups_title(const struct page *page, const char *between,
    char out[PAGE_GROUPS_TITLE])
{
	const struct page_group_kind *k = page_group_level(page, 0);
	const struct page_group_kind *k2 = page_group_level(page, 1);
	size_t len = 0;

	out[0] = '\0';
	base_append(out, PAGE_GROUPS_TITLE, &len, "%s%s%s",
	    k != NULL ? k->title : "", k2 != NULL ? between : "",
	    k2 != NULL ? k2->title : "");
}

void
page_set_group_below(struct page *page, unsigned kind)
{
	page->group.below = page_group_kind(kind) != NULL ? kind : 0;
	page_set_group(page, page->group.kind);
}

/* Each kind begins at its top, but the blocks where they were left. */
void
page_set_group(struct page *page, unsigned kind)
{
	unsigned was = page->group.kind;
	uint64_t offs = page->offs;

	page_refreeze(page);
	page->group.kind = page_group_kind(kind) != NULL ? kind : 0;
	page->group.opened = false;
	if (page->groups != NULL)
		page_branches_clear(page->groups);
	page->cursor.on = page->cursor.known = false;
	page->offs = page->group.kind == 0 ? page->group.flat_offs : 0;
	page->cursor.at = page->offs;
	if (was == 0)
		page->group.flat_offs = offs;
	if (page->group.kind != 0)
		page->group.last = page->group.kind;
}

static bool
set_open_group(struct page *page, const struct page_view *v,
    struct page_group_at at)
{
	struct page_groups *g = page->groups;
	const struct page_group_kind *k;
	const struct profile_group *row;
	struct page_branch *b = at.branch;
	struct page_group_ref *ref;

	if (at.what == ROW_OMITTED && b->leaf)
		at = (struct page_group_at){
			.what = b->second ? ROW_BELOW : ROW_GROUP,
			.branch = b->second ? page_branch_find(g, b->of.key,
			    NULL) : NULL,
			.index = (size_t)b->rank };
	row = page_groups_at_row(g, &at);
	if (row == NULL)
		return false;
	g->open.what = at.what;
	if (at.what == ROW_BELOW)
		g->open.group = at.branch->of;
	ref = at.what == ROW_BELOW ? &g->open.below : &g->open.group;
	k = page_group_level(page, at.what == ROW_BELOW);
	page_group_ref_set(v, k->by, row, ref);
	page_group_say(page, v, k, row, &g->open_words);
	return true;
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
	if (!page_groups_at(g, cursor, &at) || !set_open_group(page, v, at))
		return false;
	page->cursor.at = cursor;
	page_rows_groups.remember(page, v);
	/* The list of now is searched: a pass on its way is given up. */
	if (page_members_begin(page, v, true) < 0)
		return false;
	profile_pending_begin(g->profile);
	g->pass.step = GROUPS_MEMBERS;
	g->pass.scan.runs = false;
	g->pass.hasty = true;
	page_refreeze(page);
	page->group.back = (struct page_place){ .offs = page->offs,
		.cursor = cursor };
	page->group.opened = true;
	page->offs = page->cursor.at = 0;
	page->cursor.on = page->cursor.known = false;
	return true;
}

void
page_close_group(struct page *page)
{
	if (!page->group.opened)
		return;
	page_refreeze(page);
	page->group.opened = false;
	page->offs = page->group.back.offs;
	page->cursor.at = page->group.back.cursor;
	page->cursor.on = page->cursor.known = true;
	page->groups->cursor = page->groups->open;
}

static enum profile_by
by_of(const struct page_groups *g)
{
	return page_group_kind(g->shown.kind)->by;
}

static uint64_t
groups_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->groups != NULL ? page->groups->rows : 0;
}

static bool
groups_remember(struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	struct page_group_at at;

	if (g == NULL || g->shown.kind != page->group.kind ||
	    !page_groups_at(g, page->cursor.at, &at))
		return false;
	row = page_groups_at_row(g, &at);
	if (row == NULL && (at.what == ROW_GROUP || at.what == ROW_BELOW))
		return false;
	if (at.branch != NULL) {
		g->cursor.group = at.branch->of;
		g->cursor.below = at.branch->below;
		g->cursor.second = at.branch->second;
	}
	if (at.what == ROW_GROUP)
		page_group_ref_set(v, by_of(g), row, &g->cursor.group);
	else if (at.what == ROW_BELOW)
		page_group_ref_set(v, page_group_level(page, 1)->by, row,
		    &g->cursor.below);
	else if (at.what == ROW_BLOCK)
		page_cursor_set(page, &at.branch->blk[at.index]);
	g->cursor.what = at.what;
	return true;
}

static bool
locate_below(struct page *page, const struct page_view *v, uint64_t *offset)
{
	const struct page_group_kind *k = page_group_level(page, 1);
	struct page_groups *g = page->groups;
	struct page_branch *b = page_branch_find(g, g->cursor.group.key, NULL);
	int64_t at;

	if (b == NULL || k == NULL || !page_group_ref_find_in(g->profile, v,
	    k->by, b->shown, &g->cursor.below))
		return false;
	at = profile_ranking_find(b->shown, g->cursor.below.key);
	return at >= 0 && page_groups_offset(g, ROW_BELOW, b, (size_t)at,
	    offset);
}

static bool
locate_block(const struct page *page, const struct page_branch *b,
    uint64_t *offset)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if (page_cursor_is_on(page, &b->blk[i]))
			return page_groups_offset(page->groups, ROW_BLOCK, b,
			    i, offset);
	return false;
}

static bool
groups_locate(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	struct page_branch *b;
	int64_t at;

	(void)total;
	if (g == NULL || g->shown.kind == 0 ||
	    !page_group_ref_find(g, v, by_of(g), &g->cursor.group))
		return false;
	if (g->cursor.what == ROW_BELOW)
		return locate_below(page, v, offset);
	if (g->cursor.what != ROW_GROUP) {
		b = page_branch_find(g, g->cursor.group.key, g->cursor.second ?
		    &g->cursor.below.key : NULL);
		if (b == NULL)
			return false;
		return g->cursor.what == ROW_BLOCK ?
		    locate_block(page, b, offset) :
		    page_groups_offset(g, ROW_OMITTED, b, 0, offset);
	}
	at = profile_ranking_find(g->shown.groups, g->cursor.group.key);
	row = at >= 0 ? page_groups_row(g, (size_t)at) : NULL;
	if (row == NULL || !page_groups_offset(g, ROW_GROUP, NULL, (size_t)at,
	    offset))
		return false;
	page_group_ref_set(v, by_of(g), row, &g->cursor.group);
	return true;
}

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
	.remember = groups_remember,
	.locate = groups_locate,
};

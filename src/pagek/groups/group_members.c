/*
 * Which blocks are in a group: those of the open group, and the first ones of
 * expanded groups.
 *
 * Each pass is followed by a walk through the whole list, in portions, so in a
 * large list these blocks are as old as the groups.  Those that were freed
 * since are dimmed.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../base/hashmap.h"

#include "../blocks/choice.h"
#include "../blocks/drain.h"
#include "expanded_groups.h"

#define WALK_ROWS 256
#define NAME_KEEP 12	/* columns of the group's name */

#define ANSWERS 1024

struct answer {
	uint64_t caller, of;
	bool known;
	bool in;		/* by any frame: the caller is in group `of` */
	uint64_t key;		/* else: the caller's group, if `in` */
};

/* The page's groups by the names of now: until the session's next news. */
struct membership {
	const struct page_groups *g;
	const struct page_view *v;
	const struct page_group_kind *kind[2];
	struct answer answer[2][ANSWERS];
};

/* NULL without memory; free() ends it. */
static struct membership *
new_membership(const struct page *page, const struct page_view *v)
{
	struct membership *m = calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	m->g = page->groups;
	m->v = v;
	m->kind[0] = page_group_level(page, 0);
	m->kind[1] = page_group_level(page, 1);
	return m;
}

static struct answer *
cached_answer(struct membership *m, int level, uint64_t caller, uint64_t of)
{
	struct answer *got =
	    &m->answer[level][hash_of_key(caller ^ of) % ANSWERS];

	if (!got->known || got->caller != caller || got->of != of)
		*got = (struct answer){ .caller = caller, .of = of };
	return got;
}

static bool
is_in_group(struct membership *m, int level, uint64_t key,
    const struct blk *blk)
{
	const struct page_group_kind *k = m->kind[level];
	bool any_frame = k->by == PROFILE_FRAME;
	struct answer *got;

	if (k->tag != NULL)
		return profile_tag_key(k->tag(m->v, m->g->now_ms, blk)) == key;
	got = cached_answer(m, level, blk->caller, any_frame ? key : 0);
	if (!got->known && any_frame)
		got->in = profile_in_group(m->g->profile, k->by, key,
		    blk->caller);
	else if (!got->known)
		got->in = profile_key_of(m->g->profile, k->by, blk->caller,
		    &got->key) == 0;
	got->known = true;
	return got->in && (any_frame || got->key == key);
}

struct page_members {
	struct page_collection shown, coming;
	bool at_once;		/* what is found is shown at once */
	struct page_walk walk;
};

void
page_members_free(struct page_members *m)
{
	if (m == NULL)
		return;
	page_collection_fini(&m->shown);
	page_collection_fini(&m->coming);
	free(m);
}

static bool
is_member(struct membership *in, const struct page_groups *g,
    const struct blk *b)
{
	return is_in_group(in, 0, g->open.group.key, b) &&
	    (g->open.what == ROW_GROUP ||
	    is_in_group(in, 1, g->open.below.key, b));
}

struct search {
	struct page_walk *walk;
	struct page_collection *to;
	size_t most;
};

static int
search_portion(const struct page *page, const struct page_view *v,
    struct membership *in, const struct search *l, size_t at_most,
    bool *over)
{
	const struct blklist *list = v->look->list;
	struct blk rows[WALK_ROWS];
	size_t n, kept, i;
	int r = 0;

	page_walk_portion(l->walk, list, at_most);
	while (r == 0 &&
	    (n = page_walk_next(l->walk, list, rows, WALK_ROWS)) > 0) {
		kept = page_drain_keep(page, rows, n);
		for (i = 0; i < kept && r == 0; i++)
			r = page_collection_add(l->to, list, &rows[i],
			    is_member(in, page->groups, &rows[i]) &&
			    page_choice_matches(page, &rows[i]), l->most);
	}
	*over = l->walk->over;
	return r;
}

static int
search_list(const struct page *page, const struct page_view *v,
    const struct search *l, size_t at_most, bool *over)
{
	struct membership *in = new_membership(page, v);
	int r;

	if (in == NULL)
		return -ENOMEM;
	page_choice_begin(page, v);
	r = search_portion(page, v, in, l, at_most, over);
	free(in);
	return r;
}

static void
update_open(const struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;

	page_group_ref_find(g, v, page_group_level(page, 0)->by,
	    &g->open.group);
	if (g->open.what == ROW_BELOW)
		page_group_ref_find(g, v, page_group_level(page, 1)->by,
		    &g->open.below);
}

int
page_members_begin(struct page *page, const struct page_view *v, bool at_once)
{
	struct page_groups *g = page->groups;
	struct page_members *m = g->members;

	if (m == NULL)
		m = g->members = calloc(1, sizeof *m);
	if (m == NULL)
		return -ENOMEM;
	m->at_once = at_once;
	page_collection_empty(at_once ? &m->shown : &m->coming, v->look->sample);
	update_open(page, v);
	page_walk_begin(&m->walk, v->look->list, page_list_order(&page->opts),
	    page_list_reverse(&page->opts));
	return 0;
}

int
page_members_next(struct page *page, const struct page_view *v, size_t at_most,
    bool *over)
{
	struct page_groups *g = page->groups;
	struct page_members *m = g->members;
	struct page_collection was;
	const struct search l = { &m->walk, m->at_once ? &m->shown : &m->coming,
		PAGE_MEMBERS_MAX };
	int r;

	*over = true;
	r = search_list(page, v, &l, at_most, over);
	if (r < 0 || !*over || m->at_once)
		return r;
	was = m->shown;
	m->shown = m->coming;
	m->coming = was;
	return 0;
}

int
page_members_whole(struct page *page, const struct page_view *v,
    struct page_collection *out)
{
	struct page_collection all = { .sample = v->look->sample };
	struct page_walk w;
	const struct search l = { &w, &all, PAGE_COLLECT_ALL };
	bool over;
	int r;

	update_open(page, v);
	page_walk_begin(&w, v->look->list, page_list_order(&page->opts),
	    page_list_reverse(&page->opts));
	r = search_list(page, v, &l, SIZE_MAX, &over);
	if (r < 0) {
		page_collection_fini(&all);
		return r;
	}
	all.unsure = page_choice_unsure(page);
	*out = all;
	return 0;
}

static const struct page_collection *
shown_members(const struct page *page)
{
	static const struct page_collection none;

	return page->groups != NULL && page->groups->members != NULL ?
	    &page->groups->members->shown : &none;
}

void
page_members_put(const struct page *page, struct page_picture *pic)
{
	const struct page_groups *g = page->groups;
	const struct page_collection *m = shown_members(page);
	char n[32], of[32], bytes[24], listed[32] = "", text[128];
	const char *about = page_about(m->sample);
	size_t len;
	int form;

	base_group_digits(n, sizeof n, (uint64_t)(m->est_blocks + 0.5));
	base_group_digits(of, sizeof of, (uint64_t)(m->est_of + 0.5));
	base_human_bytes(bytes, sizeof bytes, (uint64_t)(m->est_bytes + 0.5));
	/* A sample's rows stand for more blocks than there are rows. */
	if (m->n < m->all || m->sample != 0)
		base_group_digits(listed, sizeof listed, m->n);
	for (form = 0; form < 3; form++) {
		len = 0;
		base_append(text, sizeof text, &len, "  %s%s", about, n);
		if (form < 2)
			base_append(text, sizeof text, &len, " of %s%s", about,
			    of);
		if (form < 1)
			base_append(text, sizeof text, &len, " blocks, %s%s",
			    about, bytes);
		if (listed[0] != '\0')
			base_append(text, sizeof text, &len, ", %s listed",
			    listed);
		if ((int)len + NAME_KEEP <= pic->cols)
			break;
	}
	page_put_name(
	    g->open_words.name, g->open_words.where, pic->cols - (int)len, pic);
	picture_put(pic, text);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

static uint64_t
members_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return shown_members(page)->n;
}

static size_t
members_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	(void)v;
	return page_collection_rows(shown_members(page), at, out, n);
}

static bool
members_locate(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	(void)v;
	(void)total;
	return page_collection_find_cursor(shown_members(page), page, offset);
}

const struct page_rows_ops page_rows_members = {
	.total = members_total,
	.window = members_window,
	.locate = members_locate,
};

/* Puts a block into each leaf that it belongs to; false: all leaves are full. */
static bool
put_in_leaves(struct membership *in, struct page_branches *bs,
    const struct blk *blk)
{
	bool wanted = false;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];

		if (!b->leaf || b->closed || b->ncoming == PAGE_BRANCH_ROWS)
			continue;
		wanted = true;
		if (is_in_group(in, 0, b->of.key, blk) && (!b->second ||
		    is_in_group(in, 1, b->below.key, blk)))
			b->coming[b->ncoming++] = *blk;
	}
	return wanted;
}

/* In a frozen order the rows stay, and new blocks count as omitted. */
static void
count_live(struct page_branch *b, const struct page_view *v)
{
	size_t i;

	b->nlive = 0;
	for (i = 0; i < b->n; i++)
		b->nlive += page_is_listed(v, &b->blk[i]);
}

static void
show_members(struct page_groups *g, const struct page_view *v)
{
	struct page_branches *bs = g->branches;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];
		struct blk *was = b->blk;

		if (!b->leaf)
			continue;
		if (g->shown.frozen && b->n > 0) {
			count_live(b, v);
			continue;
		}
		b->blk = b->coming;
		b->n = b->nlive = b->ncoming;
		b->coming = was;
		/* The sum is older than this walk. */
		if (b->n < PAGE_BRANCH_ROWS || b->sum.listed < b->n)
			b->sum.listed = b->n;
	}
	bs->walking = false;
	page_branches_plan(g);
}

bool
page_branches_walk(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	struct page_branches *bs = g->branches;
	bool any = false;
	size_t i;

	for (i = 0; bs != NULL && i < bs->n; i++) {
		bs->branch[i]->ncoming = 0;
		any = any || (bs->branch[i]->leaf && !bs->branch[i]->closed);
	}
	if (!any || v->look->list == NULL)
		return false;
	page_walk_begin(&bs->walk, v->look->list,
	    page_list_order(&page->opts), page_list_reverse(&page->opts));
	bs->walking = true;
	return true;
}

static size_t
count_leaves(const struct page_branches *bs)
{
	size_t i, n = 0;

	for (i = 0; i < bs->n; i++)
		n += bs->branch[i]->leaf;
	return n;
}

int
page_branches_next(struct page_groups *g, const struct page *page,
    const struct page_view *v, size_t at_most, bool *over)
{
	struct page_branches *bs = g->branches;
	struct blk rows[WALK_ROWS];
	size_t n, kept, i;
	bool wanted = true;
	struct membership *in;

	*over = true;
	if (bs == NULL || !bs->walking || v->look->list == NULL)
		return 0;
	in = new_membership(page, v);
	if (in == NULL)
		return -ENOMEM;
	/* Each leaf makes a block more expensive. */
	page_walk_portion(&bs->walk, v->look->list,
	    at_most / (1 + count_leaves(bs) / 8) + 1);
	page_choice_begin(page, v);
	while (wanted && (n = page_walk_next(&bs->walk, v->look->list, rows,
	    WALK_ROWS)) > 0) {
		kept = page_choice_keep(page, rows, page_drain_keep(page,
		    rows, n));
		for (i = 0; i < kept && wanted; i++)
			wanted = put_in_leaves(in, bs, &rows[i]);
	}
	*over = bs->walk.over || !wanted;
	free(in);
	if (*over)
		show_members(g, v);
	return 0;
}

/*
 * The blocks of the open group: a filtered list, in the order of the page.
 *
 * The whole list is looked through for them behind each take, a portion at a
 * time, so on large lists they are as old as the groups; what has been freed
 * since is dimmed.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../base/hashmap.h"

#include "groups.h"
#include "expanded_groups.h"
#include "choice.h"
#include "drain.h"
#include "collect.h"
#include "rows.h"

struct page_belong;

/*
 * Of the page's groups as they are named now, till the next take; NULL: no
 * memory.
 */
static struct page_belong *page_belong_new(const struct page *,
    const struct page_view *);
static void page_belong_free(struct page_belong *);
/* In the group with that key, of the first level (0) or the second (1). */
static bool page_belong_in(struct page_belong *, int level, uint64_t key,
    const struct blk *);

#define WALK_ROWS 256
#define NAME_KEEP 12	/* columns of the group's name */

struct page_members {
	struct page_taken shown, coming;
	bool bare;		/* nothing is shown yet but what comes */
	struct page_walk walk;
};

void
page_members_free(struct page_members *m)
{
	if (m == NULL)
		return;
	page_taken_fini(&m->shown);
	page_taken_fini(&m->coming);
	free(m);
}

static bool
is_member(struct page_belong *in, const struct page_groups *g,
    const struct blk *b)
{
	return page_belong_in(in, 0, g->open.key, b) && (!g->open_second ||
	    page_belong_in(in, 1, g->open_below.key, b));
}

/* A walk on its way and what it has found, `most` rows of it at most. */
struct looking {
	struct page_walk *walk;
	struct page_taken *to;
	size_t most;
};

static int
walk_on(const struct page *page, const struct page_view *v,
    struct page_belong *in, const struct looking *l, size_t at_most,
    bool *over)
{
	struct page_taken *to = l->to;
	const struct blklist *list = v->look->list;
	struct blk rows[WALK_ROWS];
	size_t n, kept, i;
	double weight = 1;
	int r;

	page_walk_portion(l->walk, list, at_most);
	while ((n = page_walk_next(l->walk, list, rows, WALK_ROWS)) > 0) {
		kept = page_drain_keep(page, rows, n);
		for (i = 0; i < kept; i++) {
			if (to->sample != 0)
				weight = blklist_weight(list, &rows[i]);
			to->est_of += weight;
			if (!is_member(in, page->groups, &rows[i]) ||
			    !page_choice_lets(page, &rows[i]))
				continue;
			r = page_taken_put(to, &rows[i], weight, l->most);
			if (r < 0)
				return r;
		}
		to->of += kept;
	}
	*over = l->walk->over;
	return 0;
}

static int
walk_list(const struct page *page, const struct page_view *v,
    const struct looking *l, size_t at_most, bool *over)
{
	struct page_belong *in = page_belong_new(page, v);
	int r;

	if (in == NULL)
		return -ENOMEM;
	page_choice_begin(page, v);
	r = walk_on(page, v, in, l, at_most, over);
	page_belong_free(in);
	return r;
}

/* Gone: nobody is asked for its key again, so nothing is in it. */
static void
find_open(const struct page *page, const struct page_view *v)
{
	struct page_groups *g = page->groups;

	page_group_find(g, v, page_group_kind(page->group)->by, &g->open);
	if (g->open_second)
		page_group_find(g, v, page_group_kind(
		    page_group_below(page))->by, &g->open_below);
}

int
page_members_begin(struct page *page, const struct page_view *v, bool bare)
{
	struct page_groups *g = page->groups;
	struct page_members *m = g->members;

	if (m == NULL)
		m = g->members = calloc(1, sizeof *m);
	if (m == NULL)
		return -ENOMEM;
	m->bare = bare;
	page_taken_empty(bare ? &m->shown : &m->coming, v->look->sample);
	find_open(page, v);
	if (v->look->list != NULL)
		page_walk_begin(&m->walk, v->look->list,
		    page_list_order(&page->opts),
		    page_list_reverse(&page->opts));
	return 0;
}

int
page_members_next(struct page *page, const struct page_view *v, size_t at_most,
    bool *over)
{
	struct page_groups *g = page->groups;
	struct page_members *m = g->members;
	struct page_taken was;
	struct looking l;
	int r = 0;

	*over = true;
	if (v->look->list != NULL) {
		l = (struct looking){ &m->walk, m->bare ? &m->shown :
		    &m->coming, PAGE_MEMBERS_MAX };
		r = walk_list(page, v, &l, at_most, over);
	}
	if (r < 0 || !*over || m->bare)
		return r;
	was = m->shown;
	m->shown = m->coming;
	m->coming = was;
	return 0;
}

int
page_members_whole(struct page *page, const struct page_view *v,
    struct page_taken *out)
{
	struct page_taken all = { .sample = v->look->sample };
	struct page_walk w;
	const struct looking l = { &w, &all, PAGE_TAKE_ALL };
	bool over;
	int r;

	find_open(page, v);
	page_walk_begin(&w, v->look->list,
	    page_list_order(&page->opts),
	    page_list_reverse(&page->opts));
	r = walk_list(page, v, &l, SIZE_MAX, &over);
	if (r < 0) {
		page_taken_fini(&all);
		return r;
	}
	all.unsure = page_choice_unsure(page);
	*out = all;
	return 0;
}

size_t
page_members_window(const struct page_members *m, uint64_t at,
    struct blk *out, size_t n)
{
	return m != NULL ? page_taken_rows(&m->shown, at, out, n) : 0;
}

/* The longest sum that leaves the name its room. */
void
page_members_put(const struct page *page, struct page_picture *pic)
{
	static const struct page_taken none;
	const struct page_groups *g = page->groups;
	const struct page_taken *m = g->members != NULL ? &g->members->shown :
	    &none;
	char n[32], of[32], bytes[24], listed[32] = "", text[128];
	const char *about = page_about(m->sample);
	size_t len;
	int form;

	base_group_digits(n, sizeof n, (uint64_t)(m->est_blocks + 0.5));
	base_group_digits(of, sizeof of, (uint64_t)(m->est_of + 0.5));
	base_human_bytes(bytes, sizeof bytes, (uint64_t)(m->est_bytes + 0.5));
	/* Of a sample the rows are fewer than the blocks they stand for. */
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
	page_put_name(g->open_words.name, g->open_words.where, pic->cols - (int)len, pic);
	picture_put(pic, text);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

/* --- the cursor --------------------------------------------------------- */

static uint64_t
members_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->groups != NULL && page->groups->members != NULL ?
	    page->groups->members->shown.n : 0;
}

static bool
members_hold(struct page *page, const struct page_view *v)
{
	struct blk b;

	(void)v;
	if (page->groups == NULL || page_members_window(page->groups->members,
	    page->cursor.at, &b, 1) == 0)
		return false;
	page_hold_block(page, &b);
	return true;
}

static bool
members_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	(void)v;
	(void)total;
	return page->groups != NULL && page->groups->members != NULL &&
	    page_taken_held(&page->groups->members->shown, page, offset);
}

static size_t
members_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	(void)v;
	return page->groups != NULL ? page_members_window(
	    page->groups->members, at, out, n) : 0;
}

const struct page_rows_ops page_rows_members = {
	.total = members_total,
	.window = members_window,
	.hold = members_hold,
	.held = members_held,
};

/* --- groups of blocks ----------------------------------------------------- */

#define ANSWERS 1024

struct answer {
	uint64_t caller, of;
	bool known;
	bool in;		/* by any frame: the caller is in group `of` */
	uint64_t key;		/* else: the group of the caller */
};

struct page_belong {
	const struct page_groups *g;
	const struct page_view *v;
	const struct page_group_kind *kind[2];
	struct answer answer[2][ANSWERS];
};

static struct page_belong *
page_belong_new(const struct page *page, const struct page_view *v)
{
	struct page_belong *b = calloc(1, sizeof *b);

	if (b == NULL)
		return NULL;
	b->g = page->groups;
	b->v = v;
	b->kind[0] = page_group_kind(page->group);
	b->kind[1] = page_group_kind(page_group_below(page));
	return b;
}

static void
page_belong_free(struct page_belong *b)
{
	free(b);
}

static struct answer *
answer_of(struct page_belong *b, int level, uint64_t caller, uint64_t of)
{
	struct answer *got =
	    &b->answer[level][hash_of_key(caller ^ of) % ANSWERS];

	if (!got->known || got->caller != caller || got->of != of)
		*got = (struct answer){ .caller = caller, .of = of };
	return got;
}

static bool
page_belong_in(struct page_belong *b, int level, uint64_t key,
    const struct blk *blk)
{
	const struct page_group_kind *k = b->kind[level];
	struct answer *got;

	if (k->tag != NULL)
		return profile_tag_key(k->tag(b->v, b->g->now_ms, blk)) == key;
	if (k->by == PROFILE_FRAME) {
		got = answer_of(b, level, blk->caller, key);
		if (!got->known)
			got->in = profile_in_group(b->g->profile, k->by, key,
			    blk->caller);
		got->known = true;
		return got->in;
	}
	got = answer_of(b, level, blk->caller, 0);
	if (!got->known)
		got->in = profile_key_of(b->g->profile, k->by, blk->caller,
		    &got->key) == 0;
	got->known = true;
	return got->in && got->key == key;
}

/* --- blocks of groups that are open in place ------------------------------ */

/*
 * The blocks of groups that are open in their place: the first ones of each in
 * the order of the page, found in one walk through the list for all of them.
 */

#define WALK_ROWS 256

static bool
is_full(const struct page_branch *b)
{
	return b->ncoming == PAGE_BRANCH_ROWS;
}

/* False: no leaf wants any more. */
static bool
put_in_leaf(struct page_belong *in, struct page_branches *bs,
    const struct blk *blk)
{
	bool wanted = false;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];

		if (!b->leaf || b->closed || is_full(b))
			continue;
		wanted = true;
		if (page_belong_in(in, 0, b->of.key, blk) && (!b->second ||
		    page_belong_in(in, 1, b->below.key, blk)))
			b->coming[b->ncoming++] = *blk;
	}
	return wanted;
}

/* In a frozen order the rows stay; what is new is counted with the rest. */
static void
count_live(struct page_branch *b, const struct page_view *v)
{
	size_t i;

	b->nlive = 0;
	for (i = 0; i < b->n; i++)
		b->nlive += blklist_has(v->look->list, &b->blk[i], NULL);
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
		if (g->keeps && b->n > 0) {
			count_live(b, v);
			continue;
		}
		b->blk = b->coming;
		b->n = b->nlive = b->ncoming;
		b->coming = was;
		/* The take counted before the list was looked through. */
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
	    page_list_order(&page->opts),
	    page_list_reverse(&page->opts));
	bs->walking = true;
	return true;
}

/* A leaf more to be asked makes each block dearer. */
static size_t
leaves(const struct page_branches *bs)
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
	struct page_belong *in;

	*over = true;
	if (bs == NULL || !bs->walking || v->look->list == NULL)
		return 0;
	in = page_belong_new(page, v);
	if (in == NULL)
		return -ENOMEM;
	page_walk_portion(&bs->walk, v->look->list,
	    at_most / (1 + leaves(bs) / 8) + 1);
	page_choice_begin(page, v);
	while (wanted && (n = page_walk_next(&bs->walk, v->look->list, rows,
	    WALK_ROWS)) > 0) {
		kept = page_choice_sift(page, rows, page_drain_keep(page,
		    rows, n));
		for (i = 0; i < kept && wanted; i++)
			wanted = put_in_leaf(in, bs, &rows[i]);
	}
	*over = bs->walk.over || !wanted;
	page_belong_free(in);
	if (*over)
		show_members(g, v);
	return 0;
}

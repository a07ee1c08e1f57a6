#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "expanded_groups.h"

static void
free_branch(struct page_branch *b)
{
	profile_ranking_free(b->shown);
	profile_ranking_free(b->ranking);
	free(b->blk);
	free(b->coming);
	free(b);
}

void
page_branches_free(struct page_branches *bs)
{
	size_t i;

	if (bs == NULL)
		return;
	for (i = 0; i < bs->n; i++)
		free_branch(bs->branch[i]);
	free(bs);
}

static void
add_run(struct page_groups *g, enum page_row_kind what, struct page_branch *b,
    size_t first, uint64_t n)
{
	struct page_branches *bs = g->branches;

	if (n == 0)
		return;
	bs->run[bs->nrun++] = (struct page_run){ .from = g->rows, .n = n,
		.what = what, .branch = b, .first = first };
	g->rows += n;
}

static size_t
group_rows(const struct page_branch *b)
{
	size_t n = profile_ranking_size(b->shown) -
	    profile_ranking_new_groups(b->shown);

	return n < PAGE_BRANCH_ROWS ? n : PAGE_BRANCH_ROWS;
}

static uint64_t
count_omitted(const struct page_branch *b)
{
	uint64_t all = b->leaf ? b->sum.listed : profile_ranking_size(b->shown);
	size_t listed = b->leaf ? b->nlive : group_rows(b);

	return all > listed ? all - listed : 0;
}

static bool
is_filled(const struct page_branch *b)
{
	return b->leaf || profile_ranking_size(b->shown) > 0;
}

static int
by_rank(const void *a, const void *b)
{
	const struct page_branch *x = *(struct page_branch *const *)a;
	const struct page_branch *y = *(struct page_branch *const *)b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The branches in `parent`, or with NULL those of the first level, in their order. */
static size_t
list_children(const struct page_branches *bs, const struct page_branch *parent,
    struct page_branch *out[PAGE_BRANCHES_MAX])
{
	size_t i, n = 0;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];

		if (b->closed || b->rank < 0 || b->second != (parent != NULL))
			continue;
		if (parent == NULL || b->of.key == parent->of.key)
			out[n++] = b;
	}
	qsort(out, n, sizeof(struct page_branch *), by_rank);
	return n;
}

static void
plan_leaf(struct page_groups *g, struct page_branch *b)
{
	add_run(g, ROW_BLOCK, b, 0, b->n);
	add_run(g, ROW_OMITTED, b, 0, count_omitted(b) > 0);
}

static void
plan_branch(struct page_groups *g, struct page_branch *b)
{
	struct page_branch *in[PAGE_BRANCHES_MAX];
	size_t all, i, n, next = 0;

	if (b->leaf) {
		plan_leaf(g, b);
		return;
	}
	all = group_rows(b);
	n = list_children(g->branches, b, in);
	for (i = 0; i < n; i++) {
		add_run(g, ROW_BELOW, b, next, (size_t)in[i]->rank + 1 - next);
		next = (size_t)in[i]->rank + 1;
		plan_leaf(g, in[i]);
	}
	add_run(g, ROW_BELOW, b, next, all - next);
	add_run(g, ROW_OMITTED, b, 0, count_omitted(b) > 0 || !is_filled(b));
}

void
page_branches_plan(struct page_groups *g)
{
	struct page_branch *in[PAGE_BRANCHES_MAX];
	size_t i, n, next = 0;

	g->rows = g->nrow;
	if (g->branches == NULL)
		return;
	g->rows = 0;
	g->branches->nrun = 0;
	n = list_children(g->branches, NULL, in);
	for (i = 0; i < n && (size_t)in[i]->rank < g->nrow; i++) {
		add_run(g, ROW_GROUP, NULL, next,
		    (size_t)in[i]->rank + 1 - next);
		next = (size_t)in[i]->rank + 1;
		plan_branch(g, in[i]);
	}
	add_run(g, ROW_GROUP, NULL, next, g->nrow - next);
}

bool
page_groups_at(const struct page_groups *g, uint64_t at,
    struct page_group_at *out)
{
	const struct page_branches *bs = g->branches;
	const struct page_run *run;
	size_t i;

	if (at >= g->rows)
		return false;
	if (bs == NULL) {
		*out = (struct page_group_at){ .what = ROW_GROUP,
			.index = (size_t)at, .left = g->rows - at };
		return true;
	}
	/* The first run begins at row 0. */
	BASE_FIND_FIRST(i, bs->nrun, bs->run[i].from > at);
	run = &bs->run[i - 1];
	*out = (struct page_group_at){ .what = run->what, .branch = run->branch,
		.index = run->first + (size_t)(at - run->from),
		.left = run->from + run->n - at };
	if (out->what == ROW_OMITTED && is_filled(out->branch))
		out->omitted = count_omitted(out->branch);
	return true;
}

const struct profile_group *
page_groups_at_row(struct page_groups *g, const struct page_group_at *at)
{
	return at->what == ROW_GROUP ? page_groups_row(g, at->index) :
	    at->what == ROW_BELOW ? page_branch_row(at->branch, at->index) :
	    NULL;
}

bool
page_groups_offset(const struct page_groups *g, enum page_row_kind what,
    const struct page_branch *b, size_t index, uint64_t *at)
{
	const struct page_branches *bs = g->branches;
	size_t i;

	if (bs == NULL) {
		*at = index;
		return what == ROW_GROUP && index < g->rows;
	}
	for (i = 0; i < bs->nrun; i++) {
		const struct page_run *run = &bs->run[i];

		if (run->what != what || run->branch != b ||
		    index < run->first || index - run->first >= run->n)
			continue;
		*at = run->from + (index - run->first);
		return true;
	}
	return false;
}

const struct profile_group *
page_branch_row(struct page_branch *b, size_t at)
{
	return at < profile_ranking_size(b->shown) ?
	    page_group_window_row(&b->window, b->shown, at) : NULL;
}

struct page_branch *
page_branch_find(const struct page_groups *g, uint64_t key,
    const uint64_t *below)
{
	const struct page_branches *bs = g->branches;
	size_t i;

	for (i = 0; bs != NULL && i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];

		if (!b->closed && b->of.key == key &&
		    b->second == (below != NULL) &&
		    (below == NULL || b->below.key == *below))
			return b;
	}
	return NULL;
}

size_t
page_branch_rank(const struct page_groups *g, const struct page_branch *b)
{
	const struct page_branch *outer = b->second ? page_branch_find(g,
	    b->of.key, NULL) : b;

	return outer != NULL && outer->rank >= 0 ? (size_t)outer->rank :
	    SIZE_MAX;
}

static void
free_closed(struct page_branches *bs)
{
	size_t i, n = 0;

	for (i = 0; i < bs->n; i++) {
		if (bs->branch[i]->closed)
			free_branch(bs->branch[i]);
		else
			bs->branch[n++] = bs->branch[i];
	}
	bs->n = n;
}

static int
new_branch(struct page_branch **out, bool leaf)
{
	struct page_branch *b = calloc(1, sizeof *b);
	int r;

	if (b == NULL)
		return -ENOMEM;
	b->leaf = leaf;
	b->rank = -1;
	r = profile_ranking_new(&b->shown);
	if (r == 0)
		r = profile_ranking_new(&b->ranking);
	if (r == 0 && leaf) {
		b->blk = calloc(PAGE_BRANCH_ROWS, sizeof *b->blk);
		b->coming = calloc(PAGE_BRANCH_ROWS, sizeof *b->coming);
		r = b->blk != NULL && b->coming != NULL ? 0 : -ENOMEM;
	}
	if (r < 0) {
		free_branch(b);
		return r;
	}
	*out = b;
	return 0;
}

int
page_branch_open(struct page_groups *g, const struct page_group_ref *of,
    const struct page_group_ref *below, bool leaf, int64_t rank,
    const struct profile_sum *sum)
{
	struct page_branch *b;
	int r;

	if (g->branches == NULL)
		g->branches = calloc(1, sizeof *g->branches);
	if (g->branches == NULL)
		return -ENOMEM;
	/* Ranking and walk still use those that are closed. */
	if (g->pass.step != GROUPS_RANK && !g->branches->walking)
		free_closed(g->branches);
	page_branches_plan(g);
	if (g->branches->n == PAGE_BRANCHES_MAX)
		return -ENOSPC;
	r = new_branch(&b, leaf);
	if (r < 0)
		return r;
	b->of = *of;
	b->second = below != NULL;
	if (below != NULL)
		b->below = *below;
	b->rank = rank;
	b->sum = *sum;
	g->branches->branch[g->branches->n++] = b;
	page_branches_plan(g);
	return 0;
}

void
page_branch_close(struct page_groups *g, struct page_branch *b)
{
	struct page_branches *bs = g->branches;
	size_t i;

	b->closed = true;
	for (i = 0; i < bs->n && !b->second; i++)
		if (bs->branch[i]->of.key == b->of.key)
			bs->branch[i]->closed = true;
	page_branches_plan(g);
}

void
page_branches_clear(struct page_groups *g)
{
	size_t i;

	for (i = 0; g->branches != NULL && i < g->branches->n; i++)
		g->branches->branch[i]->closed = true;
	page_branches_plan(g);
}

static void
update_ref(const struct page_groups *g, const struct page_view *v,
    const struct page_group_kind *k, struct page_group_ref *ref)
{
	if (k->by == PROFILE_FRAME)
		page_group_ref_find(g, v, k->by, ref);
	else if (k->by != PROFILE_TAG)
		profile_key_of(g->profile, k->by, ref->caller, &ref->key);
}

/* Closes one of two branches whose groups have become one by their name. */
static void
update_refs(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k = page_group_level(page, 0);
	const struct page_group_kind *k2 = page_group_level(page, 1);
	struct page_branches *bs = g->branches;
	struct page_branch *b, *other;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		b = bs->branch[i];
		update_ref(g, v, k, &b->of);
		if (b->second && k2 != NULL)
			update_ref(g, v, k2, &b->below);
	}
	for (i = 0; i < bs->n; i++) {
		b = bs->branch[i];
		other = page_branch_find(g, b->of.key, b->second ?
		    &b->below.key : NULL);
		if (other != NULL && other != b)
			b->closed = true;
	}
}

static int
by_key(const void *a, const void *b)
{
	const struct profile_subgroups *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

int
page_branches_rank(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k2 = page_group_level(page, 1);
	struct page_branches *bs = g->branches;
	size_t i, n = 0;
	int r;

	if (bs == NULL || page->group.kind == 0)
		return 0;
	bs->walking = false;
	if (g->shown.kind == page->group.kind)
		update_refs(g, page, v);
	free_closed(bs);
	page_branches_plan(g);
	for (i = 0; i < bs->n && k2 != NULL; i++) {
		struct page_branch *b = bs->branch[i];

		if (b->leaf)
			continue;
		r = profile_ranking_begin(b->ranking, g->profile,
		    k2->by == PROFILE_TAG ? PROFILE_TAG_SECOND : k2->by,
		    g->coming.measure, g->now_ms);
		if (r < 0)
			return r;
		profile_ranking_reverse(b->ranking, g->coming.reverse);
		profile_ranking_cells(b->ranking, g->cells);
		if (g->coming.frozen && profile_ranking_size(b->shown) > 0)
			profile_ranking_keep_order(b->ranking, b->shown);
		bs->below[n++] = (struct profile_subgroups){
			.key = b->of.key, .ranking = b->ranking };
	}
	qsort(bs->below, n, sizeof *bs->below, by_key);
	profile_ranking_subgroups(g->coming.groups, bs->below, n);
	return 0;
}

/* Sets rank and sum of the branches in `parent`, or with NULL of the first level. */
static void
rank_all(struct page_groups *g, const struct page_branch *parent, size_t limit)
{
	const struct profile_ranking *in = parent != NULL ? parent->shown :
	    g->shown.groups;
	struct page_branches *bs = g->branches;
	struct page_branch *which[PAGE_BRANCHES_MAX];
	uint64_t key[PAGE_BRANCHES_MAX] = { 0 };
	int64_t at[PAGE_BRANCHES_MAX];
	size_t i, n = 0;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];

		if (b->closed || b->second != (parent != NULL) ||
		    (parent != NULL && b->of.key != parent->of.key))
			continue;
		key[n] = b->second ? b->below.key : b->of.key;
		which[n++] = b;
	}
	profile_ranking_find_all(in, key, n, at);
	for (i = 0; i < n; i++) {
		which[i]->rank = at[i] < (int64_t)limit ? at[i] : -1;
		if (!profile_ranking_sum(in, key[i], &which[i]->sum))
			which[i]->rank = -1;
	}
}

void
page_branches_show(struct page_groups *g)
{
	struct page_branches *bs = g->branches;
	size_t i;

	for (i = 0; bs != NULL && i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];
		struct profile_ranking *was = b->shown;

		/* One that was expanded since is not ranked. */
		if (b->leaf || profile_ranking_size(b->ranking) == 0)
			continue;
		b->shown = b->ranking;
		b->ranking = was;
		b->window.n = 0;
	}
	if (bs != NULL)
		rank_all(g, NULL, g->nrow);
	for (i = 0; bs != NULL && i < bs->n; i++)
		if (!bs->branch[i]->second && !bs->branch[i]->leaf)
			rank_all(g, bs->branch[i], group_rows(bs->branch[i]));
	page_branches_plan(g);
}

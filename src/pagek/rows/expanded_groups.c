/* See expanded_groups.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "expanded_groups.h"

void
page_branch_free(struct page_branch *b)
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
		page_branch_free(bs->branch[i]);
	free(bs);
}

/* --- what each row is ----------------------------------------------------- */

static void
add_run(struct page_groups *g, enum page_row_sort what, struct page_branch *b,
    size_t first, uint64_t n)
{
	struct page_branches *bs = g->branches;

	if (n == 0)
		return;
	bs->run[bs->nrun++] = (struct page_run){ .from = g->rows, .n = n,
		.what = what, .branch = b, .first = first };
	g->rows += n;
}

/* Groups in it that have rows. */
static size_t
rows_of(const struct page_branch *b)
{
	size_t n = profile_ranking_size(b->shown) -
	    profile_ranking_late(b->shown);

	return n < PAGE_BRANCH_ROWS ? n : PAGE_BRANCH_ROWS;
}

/* How many of the branch's group are not listed. */
static uint64_t
rest_of(const struct page_branch *b)
{
	uint64_t all = b->leaf ? b->sum.listed : profile_ranking_size(b->shown);
	size_t listed = b->leaf ? b->nlive : rows_of(b);

	return all > listed ? all - listed : 0;
}

static bool
is_counted(const struct page_branch *b)
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

/* Those that stand in `parent`, or with NULL among all groups, in their order. */
static size_t
children(const struct page_branches *bs, const struct page_branch *parent,
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
	add_run(g, ROW_REST, b, 0, rest_of(b) > 0);
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
	all = rows_of(b);
	n = children(g->branches, b, in);
	for (i = 0; i < n; i++) {
		add_run(g, ROW_BELOW, b, next, (size_t)in[i]->rank + 1 - next);
		next = (size_t)in[i]->rank + 1;
		plan_leaf(g, in[i]);
	}
	add_run(g, ROW_BELOW, b, next, all - next);
	add_run(g, ROW_REST, b, 0, rest_of(b) > 0 || !is_counted(b));
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
	n = children(g->branches, NULL, in);
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
	size_t lo = 0, hi, mid;

	if (at >= g->rows)
		return false;
	if (bs == NULL) {
		*out = (struct page_group_at){ .what = ROW_GROUP,
			.index = (size_t)at, .left = g->rows - at };
		return true;
	}
	for (hi = bs->nrun; hi - lo > 1;) {
		mid = lo + (hi - lo) / 2;
		if (bs->run[mid].from <= at)
			lo = mid;
		else
			hi = mid;
	}
	*out = (struct page_group_at){ .what = bs->run[lo].what,
		.branch = bs->run[lo].branch,
		.index = bs->run[lo].first + (size_t)(at - bs->run[lo].from),
		.left = bs->run[lo].from + bs->run[lo].n - at };
	if (out->what == ROW_REST)
		out->rest = is_counted(out->branch) ? rest_of(out->branch) :
		    0;
	return true;
}

bool
page_groups_offset(const struct page_groups *g, enum page_row_sort what,
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
	size_t from = at - at % (PAGE_BRANCH_WINDOW / 2);

	if (at >= profile_ranking_size(b->shown))
		return NULL;
	if (at < b->row_at || at - b->row_at >= b->nready) {
		b->row_at = from;
		if (profile_ranking_rows(b->shown, from, b->row,
		    PAGE_BRANCH_WINDOW, &b->nready) < 0)
			b->nready = 0;
	}
	return at - b->row_at < b->nready ? &b->row[at - b->row_at] : NULL;
}

/* --- open and close ------------------------------------------------------- */

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

/* Nobody counts in it any more when a take begins. */
static void
sweep(struct page_branches *bs)
{
	size_t i, n = 0;

	for (i = 0; i < bs->n; i++) {
		if (bs->branch[i]->closed)
			page_branch_free(bs->branch[i]);
		else
			bs->branch[n++] = bs->branch[i];
	}
	bs->n = n;
}

static int
make(struct page_branch **out, bool leaf)
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
		page_branch_free(b);
		return r;
	}
	*out = b;
	return 0;
}

int
page_branch_open(struct page_groups *g, const struct page_group_hold *of,
    const struct page_group_hold *below, bool leaf, int64_t rank,
    const struct profile_sum *sum)
{
	struct page_branch *b;
	int r;

	if (g->branches == NULL)
		g->branches = calloc(1, sizeof *g->branches);
	if (g->branches == NULL)
		return -ENOMEM;
	/* What counts goes through those that are there now. */
	if (g->step != GROUPS_RANK && !g->branches->walking)
		sweep(g->branches);
	page_branches_plan(g);
	if (g->branches->n == PAGE_BRANCHES_MAX)
		return -ENOSPC;
	r = make(&b, leaf);
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

/* --- with each take ------------------------------------------------------- */

/* What the group will be called in the ranking that begins. */
static void
follow_name(const struct page_groups *g, const struct page_view *v,
    const struct page_group_kind *k, struct page_group_hold *hold)
{
	if (k->by == PROFILE_FRAME)
		page_group_find(g, v, k->by, hold);
	else if (k->by != PROFILE_TAG)
		profile_key_of(g->profile, k->by, hold->caller, &hold->key);
}

/* Names may have made one of two groups. */
static void
follow_names(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(page->group);
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(page));
	struct page_branches *bs = g->branches;
	struct page_branch *b, *other;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		b = bs->branch[i];
		follow_name(g, v, k, &b->of);
		if (b->second && k2 != NULL)
			follow_name(g, v, k2, &b->below);
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
	const struct profile_ranking_below *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

int
page_branches_rank(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(page));
	struct page_branches *bs = g->branches;
	size_t i, n = 0;
	int r;

	if (bs == NULL || page->group == 0)
		return 0;
	bs->walking = false;
	if (g->kind == page->group)
		follow_names(g, page, v);
	sweep(bs);
	page_branches_plan(g);
	for (i = 0; i < bs->n && k2 != NULL; i++) {
		struct page_branch *b = bs->branch[i];

		if (b->leaf)
			continue;
		r = profile_ranking_begin(b->ranking, g->profile,
		    k2->by == PROFILE_TAG ? PROFILE_TAG_BELOW : k2->by,
		    g->measure, g->now_ms);
		if (r < 0)
			return r;
		profile_ranking_reverse(b->ranking, g->reverse);
		profile_ranking_cells(b->ranking, g->cells);
		if (g->coming_keeps && profile_ranking_size(b->shown) > 0)
			profile_ranking_keep(b->ranking, b->shown);
		bs->below[n++] = (struct profile_ranking_below){
			.key = b->of.key, .ranking = b->ranking };
	}
	qsort(bs->below, n, sizeof *bs->below, by_key);
	profile_ranking_below(g->coming, bs->below, n);
	return 0;
}

/* Where the branches of one level, in one branch, stand by now. */
static void
rank_all(struct page_groups *g, const struct page_branch *parent, size_t limit)
{
	const struct profile_ranking *in = parent != NULL ? parent->shown :
	    g->shown;
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

		/* One that was opened since is not counted. */
		if (b->leaf || profile_ranking_size(b->ranking) == 0)
			continue;
		b->shown = b->ranking;
		b->ranking = was;
		b->nready = 0;
	}
	if (bs != NULL)
		rank_all(g, NULL, g->nrow);
	for (i = 0; bs != NULL && i < bs->n; i++)
		if (!bs->branch[i]->second && !bs->branch[i]->leaf)
			rank_all(g, bs->branch[i], rows_of(bs->branch[i]));
	page_branches_plan(g);
}

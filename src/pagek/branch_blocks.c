/*
 * The blocks of groups that are open in their place: the first ones of each in
 * the order of the page, found in one walk through the list for all of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "branches.h"
#include "choice.h"
#include "marked.h"

#define WALK_ROWS 256
#define ANSWERS 1024	/* a power of two */

/* Blocks come in runs of few callers: the last answers are kept. */
struct answer {
	uint64_t caller, of;
	bool known;
	bool in;		/* by any frame: the caller is in group `of` */
	uint64_t key;		/* else: the group of the caller */
};

struct asked {
	const struct page_groups *g;
	const struct page_view *v;
	const struct page_group_kind *kind[2];
	struct answer answer[2][ANSWERS];
};

static struct answer *
answer_of(struct asked *a, int level, uint64_t caller, uint64_t of)
{
	struct answer *got = &a->answer[level][(size_t)(((caller ^ of) *
	    UINT64_C(0x9e3779b97f4a7c15)) >> 54) & (ANSWERS - 1)];

	if (!got->known || got->caller != caller || got->of != of)
		*got = (struct answer){ .caller = caller, .of = of };
	return got;
}

/* Whether the block is in that group of that level. */
static bool
is_in(struct asked *a, int level, uint64_t key, const struct blk *b)
{
	const struct page_group_kind *k = a->kind[level];
	struct answer *got;

	if (k->tag != NULL)
		return profile_tag_key(k->tag(a->v, a->g->now_ms, b)) == key;
	if (k->by == PROFILE_FRAME) {
		got = answer_of(a, level, b->caller, key);
		if (!got->known)
			got->in = profile_in_group(a->g->profile, k->by, key,
			    b->caller);
		got->known = true;
		return got->in;
	}
	got = answer_of(a, level, b->caller, 0);
	if (!got->known)
		got->in = profile_key_of(a->g->profile, k->by, b->caller,
		    &got->key) == 0;
	got->known = true;
	return got->in && got->key == key;
}

static bool
is_full(const struct page_branch *b)
{
	return b->ncoming == PAGE_BRANCH_ROWS;
}

/* False: no leaf wants any more. */
static bool
put(struct asked *a, struct page_branches *bs, const struct blk *blk)
{
	bool wanted = false;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];

		if (!b->leaf || b->closed || is_full(b))
			continue;
		wanted = true;
		if (is_in(a, 0, b->of.key, blk) &&
		    (!b->second || is_in(a, 1, b->below.key, blk)))
			b->coming[b->ncoming++] = *blk;
	}
	return wanted;
}

static void
show(struct page_groups *g)
{
	struct page_branches *bs = g->branches;
	size_t i;

	for (i = 0; i < bs->n; i++) {
		struct page_branch *b = bs->branch[i];
		struct blk *was = b->blk;

		if (!b->leaf)
			continue;
		b->blk = b->coming;
		b->n = b->ncoming;
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
	page_walk_begin(&bs->walk, v->look->list, page->opts.order,
	    page->opts.reverse);
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
	size_t n, kept, i, done = 0;
	bool wanted = true;
	struct asked *a;

	*over = true;
	if (bs == NULL || !bs->walking || v->look->list == NULL)
		return 0;
	a = calloc(1, sizeof *a);
	if (a == NULL)
		return -ENOMEM;
	a->g = g;
	a->v = v;
	a->kind[0] = page_group_kind(page->group);
	a->kind[1] = page_group_kind(page_group_below(page));
	at_most = at_most / (1 + leaves(bs) / 8) + 1;
	page_walk_resume(&bs->walk, v->look->list);
	page_choice_begin(page, v);
	do {
		n = page_walk_next(&bs->walk, v->look->list, rows, WALK_ROWS);
		kept = page_choice_sift(page, rows, page_drain_keep(page,
		    rows, n));
		for (i = 0; i < kept && wanted; i++)
			wanted = put(a, bs, &rows[i]);
		done += n;
	} while (n > 0 && wanted && done < at_most);
	*over = n == 0 || !wanted;
	free(a);
	if (*over)
		show(g);
	return 0;
}

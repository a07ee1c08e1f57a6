/*
 * The blocks of groups that are open in their place: the first ones of each in
 * the order of the page, found in one walk through the list for all of them.
 */
#include <errno.h>

#include "belong.h"
#include "branches.h"
#include "choice.h"
#include "marked.h"

#define WALK_ROWS 256

static bool
is_full(const struct page_branch *b)
{
	return b->ncoming == PAGE_BRANCH_ROWS;
}

/* False: no leaf wants any more. */
static bool
put(struct page_belong *in, struct page_branches *bs, const struct blk *blk)
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
show(struct page_groups *g, const struct page_view *v)
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
			wanted = put(in, bs, &rows[i]);
	}
	*over = bs->walk.over || !wanted;
	page_belong_free(in);
	if (*over)
		show(g, v);
	return 0;
}

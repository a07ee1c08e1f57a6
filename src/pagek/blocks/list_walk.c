#include "../../base/base.h"
#include "list_walk.h"

#define GROWTH 65536	/* new blocks that a walk passes even in a small list */

/* In the list's order: sequence numbers may wrap. */
static bool
is_before(enum blklist_order order, const struct blk *a, const struct blk *b)
{
	if (order == BLKLIST_BY_AGE)
		return (int64_t)(a->seq - b->seq) < 0;
	if (blk_layer(a) != blk_layer(b))
		return blk_layer(a) < blk_layer(b);
	return a->addr < b->addr;
}

static bool
has_passed(const struct page_walk *w, const struct blk *b)
{
	return w->reverse ? !is_before(w->order, b, &w->last) :
	    !is_before(w->order, &w->last, b);
}

void
page_walk_begin(struct page_walk *w, const struct blklist *list,
    enum blklist_order order, bool reverse)
{
	*w = (struct page_walk){
		.order = order,
		.reverse = reverse,
		.blocks = list != NULL ? blklist_counts(list)->aRecActive : 0,
	};
	w->over = w->blocks == 0;
}

void
page_walk_begin_behind(struct page_walk *w, const struct blklist *list,
    enum blklist_order order, bool reverse, const struct blk *b)
{
	page_walk_begin(w, list, order, reverse);
	w->any = true;
	w->last = *b;
	page_walk_resume(w, list);
}

void
page_walk_resume(struct page_walk *w, const struct blklist *list)
{
	uint64_t n, at;
	struct blk b;

	w->over = w->over || list == NULL;
	if (!w->any || w->over)
		return;
	n = blklist_counts(list)->aRecActive;
	if (w->offs > 0 && w->offs <= n && blklist_window(list, w->order,
	    w->reverse, w->offs - 1, &b, 1) == 1 && b.seq == w->last.seq &&
	    b.addr == w->last.addr && blk_layer(&b) == blk_layer(&w->last))
		return;
	BASE_FIND_FIRST(at, n, blklist_window(list, w->order, w->reverse, at, &b,
	    1) != 1 || !has_passed(w, &b));
	w->offs = at;
}

void
page_walk_portion(struct page_walk *w, const struct blklist *list,
    uint64_t blocks)
{
	page_walk_resume(w, list);
	w->pause = blocks < UINT64_MAX - w->passed ? w->passed + blocks : 0;
}

static uint64_t
walk_limit(const struct page_walk *w)
{
	return w->order == BLKLIST_BY_AGE && !w->reverse ? w->blocks :
	    w->blocks * 2 + GROWTH;
}

size_t
page_walk_next(struct page_walk *w, const struct blklist *list,
    struct blk *out, size_t n)
{
	uint64_t most = walk_limit(w);
	size_t have = 0;

	if (w->pause != 0 && w->passed >= w->pause)
		return 0;
	if (n > most - w->passed)
		n = (size_t)(most - w->passed);
	if (!w->over && n > 0)
		have = blklist_window(list, w->order, w->reverse, w->offs,
		    out, n);
	if (have == 0) {
		w->over = true;
		return 0;
	}
	w->offs += have;
	w->passed += have;
	w->last = out[have - 1];
	w->any = true;
	return have;
}

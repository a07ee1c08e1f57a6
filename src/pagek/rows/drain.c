/*
 * Draining: only blocks that were there when it began, and still are, are rows.
 *
 * They are the first ones in the order of age, so the rows are the list's own,
 * as fresh as it is and at the same cost; in any other order they would have to
 * be picked out one by one, and so they are not shown in one.
 */
#include "choice.h"
#include "frozen_order.h"
#include "marks.h"
#include "order.h"
#include "rows.h"

bool
page_is_draining(const struct page *page)
{
	return page->marked != NULL && page->marked->drain.set;
}

int
page_drain_begin(struct page *page, const struct page_view *v)
{
	struct page_moment now;
	int r = page_moment_take(page, v, &now);

	if (r < 0)
		return r;
	page->marked->drain = now;
	page_sorting_get(&page->opts, &page->marked->sorting);
	page_set_order(page, BLKLIST_BY_AGE, page_list_reverse(&page->opts));
	return 0;
}

void
page_drain_end(struct page *page)
{
	const struct page_sorting *was;

	if (!page_is_draining(page))
		return;
	was = &page->marked->sorting;
	page->marked->drain = (struct page_moment){ 0 };
	if (page_list_order(&page->opts) != BLKLIST_BY_AGE ||
	    !page_sorting_native(&page->opts)) {
		/* Another order was asked for meanwhile. */
		page->round++;
		page_still_anew(page);
	} else if (was->by[0].sort == PAGE_SORT_AGE && was->n == 1) {
		page_set_order(page, BLKLIST_BY_AGE,
		    page_list_reverse(&page->opts));
	} else {
		page_choice_sort(page, was);
	}
}

size_t
page_drain_keep(const struct page *page, struct blk *b, size_t n)
{
	size_t i, kept = 0;

	if (!page_is_draining(page))
		return n;
	for (i = 0; i < n; i++)
		if (!page_moment_is_new(&page->marked->drain, &b[i]))
			b[kept++] = b[i];
	return kept;
}

void
page_drain_put(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	const struct page_moment *drain = &page->marked->drain;
	char at[12], of[32], left[32] = "-", text[128];
	const char *lost = page_moment_is_incomplete(drain, v) ?
	    "  INCOMPLETE" : "";
	const char *sampled = v->look->sample != 0 ? " sampled" : "";
	size_t len;
	int form;

	page_moment_text(page, v, drain, at);
	base_group_digits(of, sizeof of, drain->blocks);
	if (!v->look->window)
		base_group_digits(left, sizeof left,
		    page_moment_old(drain, v));
	for (form = 0; form < 3; form++) {
		len = 0;
		if (page_moment_is_later(drain, v))
			base_append(text, sizeof text, &len, "drain %s%s",
			    form < 2 ? at : "", form == 0 ?
			    ", later than this picture: all are listed" :
			    form == 1 ? ", later" : "later");
		else if (form == 0)
			base_append(text, sizeof text, &len, "drain since %s: "
			    "%s left of %s%s%s%s", at, left, of, sampled,
			    sampled[0] != '\0' ? " blocks" : "", lost);
		else if (form == 1)
			base_append(text, sizeof text, &len, "drain %s: %s of "
			    "%s%s%s", at, left, of, sampled, lost);
		else
			base_append(text, sizeof text, &len, "drain: %s%s%s",
			    left, sampled, lost);
		if ((int)len <= pic->cols)
			break;
	}
	picture_put(pic, text);
	picture_mark(pic, 0, picture_col(pic), lost[0] != '\0' ? PAGE_WARN :
	    PAGE_NEW);
}

/* --- rows --------------------------------------------------------------- */

static uint64_t
drained_total(const struct page *page, const struct page_view *v)
{
	return v->look->window ? 0 :
	    page_moment_old(&page->marked->drain, v);
}

static size_t
drained_window(const struct page *page, const struct page_view *v,
    uint64_t at, struct blk *out, size_t n)
{
	uint64_t total = drained_total(page, v);

	if (at >= total)
		return 0;
	if (n > total - at)
		n = (size_t)(total - at);
	/* Counted from the youngest, all that are new come before. */
	if (page_list_reverse(&page->opts))
		at += page_view_total(v) - total;
	return blklist_window(v->look->list, BLKLIST_BY_AGE,
	    page_list_reverse(&page->opts), at, out, n);
}

static bool
drained_hold(struct page *page, const struct page_view *v)
{
	struct blk b;

	if (drained_window(page, v, page->cursor.at, &b, 1) != 1)
		return false;
	page_hold_block(page, &b);
	return true;
}

static bool
drained_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	struct blk b;
	int64_t rank;

	if (blklist_get(v->look->list, page->cursor.layer, page->cursor.addr,
	    &b) < 0 || !page_holds_block(page, &b))
		return false;
	rank = blklist_rank(v->look->list, BLKLIST_BY_AGE,
	    page->cursor.layer, page->cursor.addr);
	if (rank < 0 || (uint64_t)rank >= total)
		return false;
	*offset = page_list_reverse(&page->opts) ? total - 1 - (uint64_t)rank :
	    (uint64_t)rank;
	return true;
}

const struct page_rows_ops page_rows_drained = {
	.total = drained_total,
	.window = drained_window,
	.hold = drained_hold,
	.held = drained_held,
};

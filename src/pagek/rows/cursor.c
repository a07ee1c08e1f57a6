/*
 * OFFS and the cursor.
 *
 * The cursor is on a block or a group, not on a row: when rows before it come
 * or go, OFFS moves along and the line under the eye stays the same.  When
 * what it was on has gone, the cursor takes what stands there now.
 */
#include "choice.h"
#include "drain.h"
#include "free_blocks.h"
#include "frozen_order.h"
#include "groups.h"
#include "order.h"
#include "rows.h"

static uint64_t
clamp(uint64_t n, uint64_t below)
{
	if (below == 0)
		return 0;
	return n < below ? n : below - 1;
}

void
page_hold_block(struct page *page, const struct blk *b)
{
	page->cursor.layer = blk_layer(b);
	page->cursor.addr = b->addr;
	page->cursor.seq = b->seq;
	page->cursor.free = page_is_free(b);
}

bool
page_holds_block(const struct page *page, const struct blk *b)
{
	return b->seq == page->cursor.seq && b->addr == page->cursor.addr &&
	    blk_layer(b) == page->cursor.layer;
}

/* --- blocks of the list ------------------------------------------------- */

static uint64_t
list_total(const struct page *page, const struct page_view *v)
{
	return page_view_total(v) + page_free_rows(page, v);
}

static bool
list_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	struct blk b;
	int64_t rank;

	/* What is free has no number: it is known by where it lies. */
	if (page->cursor.free)
		return page_free_row_at(page, v, page->cursor.addr, offset);
	if (blklist_get(v->look->list, page->cursor.layer, page->cursor.addr,
	    &b) < 0 || b.seq != page->cursor.seq)
		return false;
	rank = blklist_rank(v->look->list, page_list_order(&page->opts),
	    page->cursor.layer, page->cursor.addr);
	if (rank < 0 || (uint64_t)rank >= total)
		return false;
	*offset = page_free_row_of(page, v, (uint64_t)rank);
	return *offset < total;
}

static bool
list_hold(struct page *page, const struct page_view *v)
{
	struct blk b;

	if (v->look->list == NULL ||
	    page_free_window(page, v, page->cursor.at, &b, 1) != 1)
		return false;
	page_hold_block(page, &b);
	return true;
}

const struct page_rows_ops page_rows_list = {
	.total = list_total,
	.window = page_free_window,
	.hold = list_hold,
	.held = list_held,
};

/* --- whatever the rows are ---------------------------------------------- */

bool
page_shows_groups(const struct page *page)
{
	return page->group != 0 && !page->opened;
}

const struct page_rows_ops *
page_rows_ops(const struct page *page)
{
	if (page->group == 0 && page_choice_on(page))
		return &page_rows_choice;
	if (page->group == 0)
		return page_is_draining(page) ? &page_rows_drained :
		    &page_rows_list;
	return page->opened ? &page_rows_members : &page_rows_groups;
}

static const struct page_rows_ops *
rows_ops(const struct page *page)
{
	return page_still_on(page) ? &page_rows_still : page_rows_ops(page);
}

uint64_t
page_rows_total(const struct page *page, const struct page_view *v)
{
	return rows_ops(page)->total(page, v);
}

size_t
page_rows_blocks(const struct page *page, const struct page_view *v,
    uint64_t at, struct blk *out, size_t n)
{
	const struct page_rows_ops *rows = rows_ops(page);

	if (rows->window == NULL || v->look->list == NULL)
		return 0;
	return rows->window(page, v, at, out, n);
}

bool
page_block_at_cursor(const struct page *page, const struct page_view *v,
    struct blk *b)
{
	return page_rows_blocks(page, v, page->cursor.on ? page->cursor.at :
	    page->offs, b, 1) == 1;
}

void
page_hold(struct page *page, const struct page_view *v)
{
	page->cursor.held = page->cursor.on && rows_ops(page)->hold(page, v);
}

static void
follow_cursor(struct page *page, const struct page_view *v, uint64_t total)
{
	const struct page_rows_ops *rows = rows_ops(page);
	uint64_t now, row;

	if (page->cursor.held && rows->held(page, v, total, &now)) {
		row = page->cursor.at >= page->offs ? page->cursor.at - page->offs :
		    0;
		page->cursor.at = now;
		page->offs = now > row ? now - row : 0;
		return;
	}
	page->cursor.at = clamp(page->cursor.at, total);
	page_hold(page, v);
}

void
page_follow(struct page *page, const struct page_view *v, int window)
{
	uint64_t total = page_rows_total(page, v), rows;

	page->found.total = total;
	page->found.window = window;
	/* What the cursor is on may yet be among them. */
	if (total == 0 && page->group == 0 && page_choice_waits(page))
		return;
	if (total == 0) {
		page->offs = page->cursor.at = 0;
		page->cursor.held = false;
		return;
	}
	if (page->cursor.on)
		follow_cursor(page, v, total);
	if (window < 0) {
		page->offs = clamp(page->offs, total);
		return;
	}
	rows = window > 0 ? (uint64_t)window : 1;
	if (page->cursor.on) {
		if (page->cursor.at < page->offs)
			page->offs = page->cursor.at;
		else if (page->cursor.at - page->offs >= rows)
			page->offs = page->cursor.at - rows + 1;
	}
	/* A full window as long as there are rows for it. */
	if (page->offs + rows > total)
		page->offs = total > rows ? total - rows : 0;
}

void
page_move_to(struct page *page, uint64_t offset)
{
	page->cursor.on = page->found.total > 0;
	page->cursor.at = clamp(offset, page->found.total);
	page->cursor.held = false;
}

void
page_move(struct page *page, int64_t delta)
{
	uint64_t back = delta < 0 ? (uint64_t)-delta : 0;

	if (!page->cursor.on)
		page_move_to(page, page->offs);
	else if (delta < 0)
		page_move_to(page, page->cursor.at > back ?
		    page->cursor.at - back : 0);
	else
		page_move_to(page, page->cursor.at + (uint64_t)delta);
}

void
page_set_order(struct page *page, enum blklist_order order, bool reverse)
{
	struct page_sorting s = { .n = 1 };

	s.by[0].sort = order == BLKLIST_BY_ADDRESS ? PAGE_SORT_ADDRESS :
	    PAGE_SORT_AGE;
	s.by[0].reverse = reverse;
	page_choice_sort(page, &s);
}

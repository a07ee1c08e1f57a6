/*
 * OFFS and the cursor.
 *
 * The cursor is on a block or a group, not on a row: when rows before it come
 * or go, OFFS moves along, so its line on the screen stays the same.  When the
 * block or group is gone, the cursor takes what is in that row now.
 */
#include "../blocks/drain.h"
#include "frozen_order.h"
#include "rows.h"

static uint64_t
clamp(uint64_t n, uint64_t below)
{
	if (below == 0)
		return 0;
	return n < below ? n : below - 1;
}

const struct page_rows_ops *
page_rows_ops(const struct page *page)
{
	if (page->group.kind == 0 && page_choice_on(page))
		return &page_rows_choice;
	if (page->group.kind == 0)
		return page_is_draining(page) ? &page_rows_drained :
		    &page_rows_list;
	return page->group.opened ? &page_rows_members : &page_rows_groups;
}

static const struct page_rows_ops *
rows_ops(const struct page *page)
{
	return page_rows_are_frozen(page) ? &page_rows_frozen
					  : page_rows_ops(page);
}

bool
page_rows_find_block(const struct page_rows_ops *rows, const struct page *page,
    const struct page_view *v, const struct blk *b, uint64_t *at)
{
	struct page probe = *page;

	page_cursor_set(&probe, b);
	return rows->locate(&probe, v, rows->total(page, v), at);
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
page_remember_cursor(struct page *page, const struct page_view *v)
{
	page->cursor.known = page->cursor.on &&
	    page_rows_remember(rows_ops(page), page, v);
}

static void
follow_cursor(struct page *page, const struct page_view *v, uint64_t total)
{
	const struct page_rows_ops *rows = rows_ops(page);
	uint64_t now, row;

	if (page->cursor.known && rows->locate(page, v, total, &now)) {
		row = page->cursor.at >= page->offs
			  ? page->cursor.at - page->offs
			  : 0;
		page->cursor.at = now;
		page->offs = now > row ? now - row : 0;
		return;
	}
	page->cursor.at = clamp(page->cursor.at, total);
	page_remember_cursor(page, v);
}

void
page_update_cursor(struct page *page, const struct page_view *v, int window)
{
	uint64_t total = page_rows_total(page, v), rows;

	page->found.total = total;
	page->found.window = window;
	/* The cursor's block may be among rows that are still to come. */
	if (total == 0 && page->group.kind == 0 && page_choice_waits(page))
		return;
	if (total == 0) {
		page->offs = page->cursor.at = 0;
		page->cursor.known = false;
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
	if (page->offs + rows > total)
		page->offs = total > rows ? total - rows : 0;
}

void
page_move_to(struct page *page, uint64_t offset)
{
	page->cursor.on = page->found.total > 0;
	page->cursor.at = clamp(offset, page->found.total);
	page->cursor.known = false;
}

static uint64_t
add(uint64_t at, int64_t delta)
{
	uint64_t back = delta < 0 ? (uint64_t)-delta : 0;

	if (delta >= 0)
		return at + (uint64_t)delta;
	return at > back ? at - back : 0;
}

void
page_move(struct page *page, int64_t delta)
{
	page_move_to(page, page->cursor.on ? add(page->cursor.at, delta) :
	    page->offs);
}

void
page_move_rows(struct page *page, int64_t delta)
{
	uint64_t rows =
	    page->found.window > 0 ? (uint64_t)page->found.window : 1;
	uint64_t last = page->found.total > rows ? page->found.total - rows :
	    0;
	uint64_t at = page->cursor.on ? page->cursor.at : page->offs;

	page->offs = add(page->offs, delta);
	if (page->offs > last)
		page->offs = last;
	page_move_to(page, add(at, delta));
}

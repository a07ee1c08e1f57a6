/*
 * OFFS and the cursor.
 *
 * The cursor is on a block, not on a row: when blocks before it come or go,
 * OFFS moves along and the line under the eye stays the same block.  When the
 * block itself has gone, the cursor takes the one that stands there now.
 */
#include "view.h"

static uint64_t
clamp(uint64_t n, uint64_t below)
{
	if (below == 0)
		return 0;
	return n < below ? n : below - 1;
}

/* Where the held block stands now, or false when it has gone. */
static bool
held_offset(const struct page *page, const struct page_view *v,
    uint64_t total, uint64_t *offset)
{
	struct blk b;
	int64_t rank;

	if (blklist_get(v->look->list, page->cursor_layer, page->cursor_addr,
	    &b) < 0 || b.seq != page->cursor_seq)
		return false;
	rank = blklist_rank(v->look->list, page->opts.order,
	    page->cursor_layer, page->cursor_addr);
	if (rank < 0 || (uint64_t)rank >= total)
		return false;
	*offset = page->opts.reverse ? total - 1 - (uint64_t)rank :
	    (uint64_t)rank;
	return true;
}

static void
hold(struct page *page, const struct page_view *v)
{
	struct blk b;

	page->cursor_held = blklist_window(v->look->list, page->opts.order,
	    page->opts.reverse, page->cursor, &b, 1) == 1;
	if (!page->cursor_held)
		return;
	page->cursor_layer = (b.flags & REC_LAYER_API) != 0;
	page->cursor_addr = b.addr;
	page->cursor_seq = b.seq;
}

static void
follow_cursor(struct page *page, const struct page_view *v, uint64_t total)
{
	uint64_t now, row;

	if (page->cursor_held && held_offset(page, v, total, &now)) {
		row = page->cursor >= page->offs ? page->cursor - page->offs :
		    0;
		page->cursor = now;
		page->offs = now > row ? now - row : 0;
		return;
	}
	page->cursor = clamp(page->cursor, total);
	hold(page, v);
}

void
page_follow(struct page *page, const struct page_view *v, int window)
{
	uint64_t total = page_view_total(v), rows;

	page->total = total;
	page->window = window;
	if (total == 0) {
		page->offs = page->cursor = 0;
		page->cursor_held = false;
		return;
	}
	if (page->has_cursor)
		follow_cursor(page, v, total);
	if (window < 0) {
		page->offs = clamp(page->offs, total);
		return;
	}
	rows = window > 0 ? (uint64_t)window : 1;
	if (page->has_cursor) {
		if (page->cursor < page->offs)
			page->offs = page->cursor;
		else if (page->cursor - page->offs >= rows)
			page->offs = page->cursor - rows + 1;
	}
	/* A full window as long as there are rows for it. */
	if (page->offs + rows > total)
		page->offs = total > rows ? total - rows : 0;
}

void
page_move_to(struct page *page, uint64_t offset)
{
	page->has_cursor = page->total > 0;
	page->cursor = clamp(offset, page->total);
	page->cursor_held = false;
}

void
page_move(struct page *page, int64_t delta)
{
	uint64_t back = delta < 0 ? (uint64_t)-delta : 0;

	if (!page->has_cursor)
		page_move_to(page, page->offs);
	else if (delta < 0)
		page_move_to(page, page->cursor > back ? page->cursor - back :
		    0);
	else
		page_move_to(page, page->cursor + (uint64_t)delta);
}

void
page_set_order(struct page *page, enum blklist_order order, bool reverse)
{
	page->opts.order = order;
	page->opts.reverse = reverse;
	/* Without a cursor to follow, a new order is read from its top. */
	if (!page->has_cursor)
		page->offs = 0;
}

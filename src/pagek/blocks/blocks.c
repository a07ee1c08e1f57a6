#include "blocks.h"
#include "free_blocks.h"
#include "order.h"

void
page_cursor_set(struct page *page, const struct blk *b)
{
	page->cursor.layer = blk_layer(b);
	page->cursor.addr = b->addr;
	page->cursor.seq = b->seq;
	page->cursor.free = page_is_free(b);
}

bool
page_cursor_is_on(const struct page *page, const struct blk *b)
{
	return b->seq == page->cursor.seq && b->addr == page->cursor.addr &&
	    blk_layer(b) == page->cursor.layer;
}

bool
page_same_block(const struct blk *a, const struct blk *b)
{
	return a->seq == b->seq && a->addr == b->addr &&
	    blk_layer(a) == blk_layer(b);
}

bool
page_is_listed(const struct page_view *v, const struct blk *b)
{
	return blklist_has(v->look->list, b, NULL);
}

uint64_t
page_blocks_until(const struct page_view *v, uint64_t seq)
{
	uint64_t i;
	struct blk b;

	BASE_FIND_FIRST(i, page_view_total(v),
	    blklist_window(v->look->list, BLKLIST_BY_AGE, false, i, &b, 1) != 1 ||
	    (int64_t)(b.seq - seq) > 0);
	return i;
}

bool
page_rows_remember(const struct page_rows_ops *rows, struct page *page,
    const struct page_view *v)
{
	struct blk b;

	if (rows->remember != NULL)
		return rows->remember(page, v);
	if (rows->window(page, v, page->cursor.at, &b, 1) != 1)
		return false;
	page_cursor_set(page, &b);
	return true;
}

static uint64_t
list_total(const struct page *page, const struct page_view *v)
{
	return page_view_total(v) + page_free_rows(page, v);
}

bool
page_cursor_rank(const struct page *page, const struct page_view *v,
    enum blklist_order order, uint64_t *rank)
{
	int64_t at;
	struct blk b;

	if (blklist_get(v->look->list, page->cursor.layer, page->cursor.addr,
	    &b) < 0 || b.seq != page->cursor.seq)
		return false;
	at = blklist_rank(v->look->list, order, page->cursor.layer,
	    page->cursor.addr);
	*rank = (uint64_t)at;
	return at >= 0;
}

static bool
list_locate(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	uint64_t rank;

	/* A free block has no number: its address identifies it. */
	if (page->cursor.free)
		return page_free_row_at(page, v, page->cursor.addr, offset);
	if (!page_cursor_rank(page, v, page_list_order(&page->opts), &rank) ||
	    rank >= total)
		return false;
	*offset = page_free_row_of(page, v, rank);
	return *offset < total;
}

const struct page_rows_ops page_rows_list = {
	.total = list_total,
	.window = page_free_window,
	.locate = list_locate,
};

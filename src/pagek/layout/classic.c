/*
 * Page K as the 2004 note prints it, 33 columns wide.  A wider terminal shows
 * the whole address of a 64-bit target, and after the row the function that
 * requested the block; classic streams have neither.
 */
#include <string.h>

#include "../rows/frozen_order.h"
#include "edit_fields.h"
#include "layout.h"

enum {
	W_ROW = 33,
	W_TITLE = 32,
	W_ADDR = 8,		/* hexadecimal digits of a classic address */
	W_ADDR_WIDE = 12,	/* ... of one of 48 bits */
	W_COUNT_END = 24,	/* where the count of line 2 ends */
	W_OFFS = 3,
	W_FUNCTION = 12,	/* a narrower function is left out */
};

static const char heading[] = "  ADDRESS SIZE TY DESCR  RNOD AGE";

static bool
strict(const struct page *page)
{
	return page->layout == PAGE_CLASSIC_STRICT;
}

static int
addr_cols(const struct page *page, const struct page_view *v,
    const struct page_picture *pic)
{
	if (strict(page) || v->look->classic ||
	    pic->cols < W_ROW + W_ADDR_WIDE - W_ADDR)
		return W_ADDR;
	return W_ADDR_WIDE;
}

static int
function_cols(const struct page *page, const struct page_view *v,
    const struct page_picture *pic)
{
	int room = pic->cols - W_ROW - addr_cols(page, v, pic) + W_ADDR - 1;

	if (strict(page) || v->look->classic || room < W_FUNCTION)
		return 0;
	return room;
}

/* The state stands after the date if there is room, else in its place. */
static void
classic_title(struct page *page, const struct page_view *v,
    const struct page_state *state, struct page_picture *pic)
{
	char date[20], target[PAGE_TARGET_TEXT];
	int room = pic->cols - W_TITLE, from;

	page_date(page, v, date);
	if (!state->plain && (int)strlen(state->word) + 2 > room) {
		picture_put(pic, "K MEMORY BLOCKS ");
		from = picture_col(pic);
		picture_put(pic, state->brief);
		picture_mark(pic, from, picture_col(pic), state->mark);
		return;
	}
	picture_printf(pic, "K MEMORY BLOCKS    %s", date);
	if (!state->plain)
		room -= (int)strlen(state->word) + 2;
	page_target_text(v->look, target);
	if (!strict(page) && target[0] != '\0' &&
	    picture_width(target, page->opts.ascii) + 2 <= room) {
		picture_put(pic, "  ");
		picture_text(pic, target, room, PICTURE_FREE);
	}
	if (!state->plain) {
		picture_put(pic, "  ");
		from = picture_col(pic);
		picture_put(pic, state->word);
		picture_mark(pic, from, picture_col(pic), state->mark);
	}
}

static void
classic_node(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	bool sampled = v->look->sample != 0;
	char count[8], offs[W_OFFS + 1], frozen[80];
	const char *digits;
	int pad, form;

	page_fields_put(page, v, PAGE_FIELD_CLASSIC, pic);
	pad = W_COUNT_END - picture_col(pic);
	base_format_count(count, sampled ? 4 : 5, page_view_blocks(v));
	digits = page_view_known(v) ? count + strspn(count, " ") : "-";
	if (sampled && page_view_known(v))
		pad--;
	base_format_count(offs, W_OFFS, page->offs);
	pad -= (int)strlen(digits);
	picture_printf(pic, "%*s%s%s", pad, "",
	    page_view_known(v) ? page_about(v->look->sample) : "", digits);
	page_fields_put_offs(page, offs, pic);
	if (strict(page))
		return;
	for (form = 0; page_freeze_text(page, v, form, frozen, sizeof frozen);
	    form++)
		if (picture_col(pic) + 2 + (int)strlen(frozen) <= pic->cols) {
			picture_printf(pic, "  %s", frozen);
			picture_mark(pic, picture_col(pic) -
			    (int)strlen(frozen), picture_col(pic), PAGE_WARN);
			break;
		}
}

static void
classic_heading(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	bool frozen = !strict(page) && (page_rows_are_frozen(page) ||
	    page_groups_are_frozen(page, v));

	/* The key that releases a frozen order. */
	picture_printf(pic, "%s%*s%s", frozen ? "z" : " ",
	    addr_cols(page, v, pic) - W_ADDR, "", heading + 1);
	if (function_cols(page, v, pic) > 0)
		picture_put(pic, " FUNCTION");
}

static void
classic_row(const struct page *page, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	int room = function_cols(page, v, pic);

	page_cell_classic(v, b, addr_cols(page, v, pic), pic);
	if (room > 0)
		page_cell_function(v, b, 1, room, pic);
}

const struct page_layout_ops page_classic = {
	.title = classic_title,
	.node = classic_node,
	.heading = classic_heading,
	.row = classic_row,
	.status = page_status_classic,
};

/*
 * All that is known of one block, put together: its record, its stacks, and
 * where the cursor is among them.
 *
 * The detail stays on its block: when that is freed it says so, and goes on
 * showing what was known.
 */
#include <stdio.h>
#include <string.h>

#include "detail_parts.h"

#define FOOT_ROWS 14		/* from so many on the call under the cursor is told in full */
#define FOOT_LINES 3
#define TO_THE_END (1 << 20)

/* --- the block ---------------------------------------------------------- */

static void
requester(const struct nodes_look *look, const struct blk *b, char out[16])
{
	const struct blklist_info *info = look->list != NULL && b->info != 0 ?
	    blklist_info_get(look->list, b->info) : NULL;

	out[0] = '\0';
	if (info != NULL && info->name[0] != '\0')
		snprintf(out, 16, "%s", info->name);
	else if (info != NULL)
		snprintf(out, 16, "node %04X", info->node);
}

void
page_detail_open(struct page_detail *d, const struct page_view *v,
    const struct blk *b)
{
	*d = (struct page_detail){
		.blk = *b,
		.layer = v->look->levels && (b->flags & REC_LAYER_API) != 0,
		.stream_no = v->look->stream_no,
	};
	requester(v->look, b, d->info);
}

/* Whether the block is in the list still; its number says that it is the same. */
bool
detail_is_listed(const struct page_detail *d, const struct nodes_look *look,
    bool *again)
{
	struct blk now;

	*again = false;
	if (look->list == NULL || blklist_get(look->list, d->layer,
	    d->blk.addr, &now) < 0)
		return false;
	*again = now.seq != d->blk.seq;
	return !*again;
}

/* A paused picture has the block for as long as it is paused. */
static void
follow(struct page_detail *d, const struct page_view *v)
{
	bool again;

	if (d->stream_no != v->look->stream_no || v->look->list == NULL)
		return;
	if (detail_is_listed(d, v->look, &again)) {
		d->freed = d->again = false;
		return;
	}
	d->again = again;
	if (!d->freed) {
		d->freed = true;
		d->freed_ms = v->look->now_ms;
	}
}

/* --- the whole ---------------------------------------------------------- */

static bool
find_call(const struct page_detail *d, const struct page_view *v, int delta,
    struct page_call *out)
{
	struct page_calls calls;
	struct page_call c;
	int at = -1, i = 0;

	/* Where the cursor is, then so many calls from there. */
	if (d->stream_no != v->look->stream_no ||
	    !page_calls_begin(&calls, v, d->blk.caller))
		return false;
	while (page_calls_next(&calls, &c)) {
		if (c.frame == d->frame && (at < 0 || c.outer >= d->outer))
			at = i;
		i++;
	}
	if (i == 0)
		return false;
	at = (at < 0 ? 0 : at) + delta;
	at = at < 0 ? 0 : at >= i ? i - 1 : at;
	page_calls_begin(&calls, v, d->blk.caller);
	while (page_calls_next(&calls, &c) && at-- > 0)
		continue;
	*out = c;
	return true;
}

bool
page_detail_call(const struct page_detail *d, const struct page_view *v,
    struct page_call *c)
{
	return find_call(d, v, 0, c);
}

static bool
is_last(const struct page_detail *d, const struct page_view *v,
    const struct page_call *c)
{
	struct page_call last;

	return find_call(d, v, TO_THE_END, &last) && last.frame == c->frame &&
	    last.outer == c->outer;
}

/* There are lines above the stack, and below it, to be read as well. */
void
page_detail_move(struct page_detail *d, const struct page_view *v, int delta)
{
	struct page_scroll *s = &d->scroll;
	bool below = s->window > 0 && d->call >= s->top + s->window;
	struct page_call c;

	if (!find_call(d, v, delta, &c)) {
		s->top += delta;
		return;
	}
	if (below && delta > 0 && delta <= s->window) {
		s->top += delta < d->call - s->top ? delta : d->call - s->top;
		return;
	}
	d->seek = delta > 0 || c.frame != d->frame || c.outer != d->outer;
	if (!d->seek)
		s->top = 0;
	else if (delta > 0 && is_last(d, v, &c))
		s->top += TO_THE_END;
	d->frame = c.frame;
	d->outer = c.outer;
}

/* The call under the cursor, with nothing cut but what no line can hold. */
static void
put_foot(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char text[PAGE_NAME_MAX];
	struct page_call c;
	int last = pic->rows + FOOT_LINES;	/* the line being written is not in rows */

	if (page_detail_call(d, v, &c)) {
		page_call_function(&c, text, sizeof text);
		if (picture_wrap(pic, text, FOOT_LINES - 1, PAGE_NEW) > 0) {
			page_call_where(&c, true, text, sizeof text);
			if (text[0] == '\0' && c.words != NULL)
				page_text_copy(text, sizeof text,
				    c.words->module);
			picture_wrap(pic, text, 1, PAGE_PLAIN);
		}
	}
	while (pic->rows < last)
		picture_line(pic);
}

/* The scrolled lines, then the foot, which stays. */
static void
cut(struct page_detail *d, struct page_picture *pic, int window, int foot)
{
	struct page_line last[FOOT_LINES];
	int i;

	for (i = 0; i < foot; i++)
		last[i] = pic->line[pic->rows - foot + i];
	pic->rows -= foot;
	if (d->seek)
		page_scroll_to(&d->scroll, d->call, window);
	page_scroll_cut(&d->scroll, pic, window);
	for (i = 0; i < foot; i++)
		pic->line[pic->rows++] = last[i];
}

int
page_detail_compose(struct page_detail *d, const struct page *page,
    const struct page_view *v, int cols, int rows, struct page_picture *pic)
{
	int foot = rows >= FOOT_ROWS ? FOOT_LINES : 0;
	int window = rows - 1 - foot > 1 ? rows - 1 - foot : 1, r;
	struct page_call c;

	follow(d, v);
	/* Inlined calls that came with the words may have moved the cursor's. */
	if (page_detail_call(d, v, &c)) {
		d->frame = c.frame;
		d->outer = c.outer;
	}
	picture_begin(pic, cols, page->opts.ascii);
	picture_line(pic);
	picture_printf(pic, "BLOCK %0*llx", v->look->classic ? 8 : 12,
	    (unsigned long long)d->blk.addr);
	page_overlay_title("j k frame  g callers and callees  Esc close", pic);
	detail_put_block(d, page, v, pic);
	detail_put_stack(d, v, pic);
	detail_put_freeing_stack(d, v, pic);
	while (foot > 0 && pic->rows < window)
		picture_line(pic);
	if (foot > 0)
		put_foot(d, v, pic);
	r = picture_end(pic);
	if (r == 0)
		cut(d, pic, window, foot);
	return r;
}

/*
 * All that is known of one block, put together: its record, its stacks, and
 * where the cursor is among them.
 *
 * The detail stays on its block: when that is freed it says so, and goes on
 * showing what was known.
 */
#include <stdio.h>
#include <stdlib.h>
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
		.layer = v->look->levels && blk_layer(b),
		.stream_no = v->look->stream_no,
	};
	requester(v->look, b, d->info);
	page_born_begin(&d->born, b);
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

/* --- the cursor ---------------------------------------------------------- */

/* How many calls there are, and in *at the number of the cursor's. */
static int
count_calls(const struct page_detail *d, const struct page_view *v, int *at)
{
	struct page_calls calls;
	struct page_call c;
	int i = 0;

	*at = -1;
	if (d->stream_no != v->look->stream_no ||
	    !page_calls_begin(&calls, v, d->blk.caller))
		return 0;
	while (page_calls_next(&calls, &c)) {
		if (c.frame == d->frame && (*at < 0 || c.outer >= d->outer))
			*at = i;
		i++;
	}
	if (*at < 0)
		*at = 0;
	return i;
}

/* The call with that number: there is one. */
static void
nth_call(const struct page_detail *d, const struct page_view *v, int n,
    struct page_call *c)
{
	struct page_calls calls;

	page_calls_begin(&calls, v, d->blk.caller);
	while (page_calls_next(&calls, c) && n-- > 0)
		continue;
}

bool
page_detail_call(const struct page_detail *d, const struct page_view *v,
    struct page_call *c)
{
	int at;

	if (d->among || count_calls(d, v, &at) == 0)
		return false;
	nth_call(d, v, at, c);
	return true;
}

/* Its number among those born with it; -1: it is none of them by now. */
static int
among_at(const struct page_detail *d)
{
	const struct blk *b;
	int i;

	for (i = 0; d->among; i++) {
		b = page_born_nth(&d->born.shown, (size_t)i);
		if (b == NULL)
			break;
		if (b->seq == d->among_seq && b->addr == d->among_addr)
			return i;
	}
	return -1;
}

bool
page_detail_block(const struct page_detail *d, struct blk *b)
{
	int i = among_at(d);

	if (i < 0)
		return false;
	*b = *page_born_nth(&d->born.shown, (size_t)i);
	return true;
}

static void
put_cursor_at(struct page_detail *d, const struct page_view *v, int at,
    int calls)
{
	const struct blk *b;
	struct page_call c;

	d->among = at >= calls;
	if (d->among) {
		b = page_born_nth(&d->born.shown, (size_t)(at - calls));
		d->among_seq = b->seq;
		d->among_addr = b->addr;
		return;
	}
	nth_call(d, v, at, &c);
	d->frame = c.frame;
	d->outer = c.outer;
}

/*
 * Lines that are above what the cursor can reach, and below it, are read as
 * well.
 */
static bool
scroll_to_cursor(struct page_detail *d, int delta)
{
	struct page_scroll *s = &d->scroll;
	int off = 0;

	if (delta > 0 && d->at >= s->top + s->window)
		off = d->at - s->top;
	else if (delta < 0 && d->at < s->top)
		off = d->at - s->top;
	if (off == 0 || abs(delta) > s->window)
		return false;
	s->top += abs(delta) < abs(off) ? delta : off;
	return true;
}

/* Between the calls and the blocks behind them there are lines as well. */
static bool
scroll_between(struct page_detail *d, int delta, int to, int calls)
{
	struct page_scroll *s = &d->scroll;
	bool far;

	if (d->first_born == 0 || d->last_call == 0 ||
	    d->among == (to >= calls) || abs(delta) > s->window)
		return false;
	far = delta > 0 ? d->first_born >= s->top + s->window + delta :
	    d->last_call < s->top + delta;
	if (far)
		s->top += delta;
	return far;
}

void
page_detail_move(struct page_detail *d, const struct page_view *v, int delta)
{
	struct page_scroll *s = &d->scroll;
	int calls, at, to, last;

	calls = count_calls(d, v, &at);
	last = calls + (int)(d->born.shown.n + d->born.shown.nbeside) - 1;
	if (last < 0) {
		s->top += delta;
		return;
	}
	if (d->placed && scroll_to_cursor(d, delta))
		return;
	if (among_at(d) >= 0)
		at = calls + among_at(d);
	to = delta < -at ? 0 : delta > last - at ? last : at + delta;
	d->seek = false;
	if (d->placed && scroll_between(d, delta, to, calls))
		return;
	d->placed = false;
	d->seek = to != at;
	if (to == last && delta > 0)
		s->top = d->seek ? s->top + TO_THE_END : s->top + delta;
	else if (!d->seek)
		s->top = 0;
	put_cursor_at(d, v, to, calls);
}

/* --- the whole ---------------------------------------------------------- */

/* The call under the cursor, with nothing cut but what no line can hold. */
static void
put_foot(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char text[PAGE_NAME_MAX];
	struct page_call c;
	struct blk b;
	int last = pic->rows + FOOT_LINES;	/* the line being written is not in rows */

	if (page_detail_block(d, &b)) {
		picture_line(pic);
		picture_printf(pic, "born with this block: Enter opens "
		    "it");
	} else if (page_detail_call(d, v, &c)) {
		page_call_function(&c, text, sizeof text);
		if (picture_wrap(pic, text, FOOT_LINES - 1, PAGE_NEW) > 0) {
			page_call_where(&c, true, text, sizeof text);
			if (text[0] == '\0' && c.words != NULL)
				page_text_copy(text, sizeof text,
				    c.words->module);
			picture_wrap(pic, text, 1, PAGE_PLAIN);
		}
	}
	while (!picture_failed(pic) && pic->rows < last)
		picture_line(pic);
}

/* The scrolled lines, then the foot, which stays. */
static void
cut(struct page_detail *d, struct page_picture *pic, int window, int foot)
{
	struct page_line last[FOOT_LINES];
	int i;

	if (picture_failed(pic))
		return;
	for (i = 0; i < foot; i++)
		last[i] = pic->line[pic->rows - foot + i];
	pic->rows -= foot;
	if (d->seek)
		page_scroll_to(&d->scroll, d->at, window);
	page_scroll_cut(&d->scroll, pic, window);
	for (i = 0; i < foot; i++)
		pic->line[pic->rows++] = last[i];
}

/* Those born together: a portion of the search; the cursor stays where it can. */
static void
look_for_others(struct page_detail *d, const struct page_view *v)
{
	if (d->stream_no == v->look->stream_no && v->look->list != NULL &&
	    !v->look->window)
		page_born_next(&d->born, v->look->list, v->look->now_ms);
	if (among_at(d) < 0)
		d->among = false;
}

int
page_detail_compose(struct page_detail *d, const struct page *page,
    const struct page_view *v, int cols, int rows, struct page_picture *pic)
{
	int foot = rows >= FOOT_ROWS ? FOOT_LINES : 0;
	int window = rows - 1 - foot > 1 ? rows - 1 - foot : 1, r;
	struct page_call c;

	follow(d, v);
	look_for_others(d, v);
	/* Inlined calls that came with the words may have moved the cursor's. */
	if (page_detail_call(d, v, &c)) {
		d->frame = c.frame;
		d->outer = c.outer;
	}
	picture_begin(pic, cols, page->opts.ascii);
	picture_line(pic);
	picture_printf(pic, "BLOCK %0*llx", v->look->classic ? 8 : 12,
	    (unsigned long long)d->blk.addr);
	page_overlay_title("j k move  g callers  [ ] neighbours  Esc close", pic);
	detail_put_block(d, page, v, pic);
	detail_put_stack(d, v, pic);
	detail_put_freeing_stack(d, v, pic);
	detail_put_memory(d, v, pic);
	detail_put_history(d, page, v, pic);
	detail_put_born(d, v, pic);
	while (!picture_failed(pic) && foot > 0 && pic->rows < window)
		picture_line(pic);
	if (foot > 0)
		put_foot(d, v, pic);
	r = picture_end(pic);
	if (r == 0)
		cut(d, pic, window, foot);
	d->placed = r == 0;
	return r;
}

/*
 * All that is known of one block: what its record says, and its stack, a line
 * for each call, with why there are no more and why words are missing.
 *
 * The detail stays on its block: when that is freed it says so, and goes on
 * showing what was known.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "detail.h"

#define LABEL_COLS 12
#define ONE_LINE_COLS 80	/* below that a call has its place on a line of its own */
#define PLACE_COLS 24
#define PLACE_COLS_WIDE 34
#define WIDE_COLS 120
#define REASONS_MAX 6
#define FOOT_ROWS 14		/* from so many on the call under the cursor is told in full */
#define FOOT_LINES 3
#define TO_THE_END (1 << 20)

/* --- scrolling ---------------------------------------------------------- */

void
page_scroll_cut(struct page_scroll *s, struct page_picture *pic, int window)
{
	int i, most;

	s->window = window > 1 ? window : 1;
	s->lines = pic->rows - 1;
	most = s->lines - s->window;
	if (s->top > most)
		s->top = most;
	if (s->top < 0)
		s->top = 0;
	for (i = 0; i < s->window && s->top + i + 1 < pic->rows; i++)
		pic->line[i + 1] = pic->line[s->top + i + 1];
	if (pic->rows > i + 1)
		pic->rows = i + 1;
}

void
page_scroll_to(struct page_scroll *s, int at, int window)
{
	if (at < s->top)
		s->top = at;
	if (at >= s->top + window)
		s->top = at - window + 1;
}

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
static bool
is_listed(const struct page_detail *d, const struct nodes_look *look,
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
	if (is_listed(d, v->look, &again)) {
		d->freed = d->again = false;
		return;
	}
	d->again = again;
	if (!d->freed) {
		d->freed = true;
		d->freed_ms = v->look->now_ms;
	}
}

static void
put_label(const char *label, struct page_picture *pic)
{
	picture_line(pic);
	picture_printf(pic, "  %-*s", LABEL_COLS - 2, label);
}

static const char *
age_of(const struct page_view *v, int64_t ms, char out[8])
{
	page_cell_age(out, v->look->now_ms > ms ?
	    (uint64_t)(v->look->now_ms - ms) / 1000 : 0);
	return out;
}

/* By what and in which thread, when its record was seen. */
static void
put_end(const struct page_view *v, struct page_picture *pic)
{
	static const struct {
		enum rec_type type;
		const char *by;
	} ways[] = {
		{ TYPE_FREE, "free" }, { TYPE_DELETE, "delete" },
		{ TYPE_DELETE_ARRAY, "delete[]" },
		{ TYPE_BY_REALLOC, "realloc" },
	};
	const struct nodes_freed *how = v->freed;
	const char *thread;
	size_t i;

	for (i = 0; i < BASE_NELEM(ways); i++)
		if (how->type == ways[i].type)
			picture_printf(pic, " by %s", ways[i].by);
	if (how->thread == 0)
		return;
	thread = v->thread(v->arg, how->thread);
	picture_printf(pic, " in thread ");
	if (thread[0] != '\0')
		picture_text(pic, thread, 16, PICTURE_FREE);
	else
		picture_printf(pic, "%u", how->thread);
}

static void
put_freed(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char age[8];

	if (v->freed != NULL) {
		picture_printf(pic, "freed %s ago", age_of(v, v->freed->ms,
		    age));
		put_end(v, pic);
	} else {
		picture_printf(pic, "freed, seen %s ago", age_of(v,
		    d->freed_ms, age));
	}
	if (d->again)
		picture_printf(pic, "; its address is in use again");
}

static void
put_state(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	bool again;

	put_label("state", pic);
	if (d->stream_no != v->look->stream_no) {
		picture_printf(pic, "another stream is watched by now");
	} else if (d->freed) {
		put_freed(d, v, pic);
	} else if (v->live != v->look && !is_listed(d, v->live, &again)) {
		picture_printf(pic, "live in the paused picture, freed since");
	} else {
		picture_printf(pic, "live");
		return;
	}
	picture_mark(pic, LABEL_COLS, picture_col(pic), PAGE_WARN);
}

static void
put_size(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char asked[32], used[32];

	put_label("size", pic);
	base_group_digits(asked, sizeof asked, d->blk.size);
	base_group_digits(used, sizeof used, d->blk.size +
	    (uint64_t)d->blk.overhead * 16);
	if (v->look->classic)
		picture_printf(pic, "%s asked", asked);
	else
		picture_printf(pic, "%s asked, %s used%s", asked, used,
		    d->blk.overhead == UINT16_MAX ? " at least" : "");
}

static void
put_type(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const struct stream_type *t = v->look->types != NULL ?
	    &v->look->types->by_code[d->blk.type] : NULL;

	put_label("type", pic);
	picture_printf(pic, "%02X ", d->blk.type);
	if (t == NULL || t->name[0] == '\0') {
		picture_printf(pic, "not a type of this stream");
		return;
	}
	picture_text(pic, t->name, 8, PICTURE_FREE);
	if (t->text[0] == '\0')
		return;
	picture_printf(pic, ", ");
	picture_text(pic, t->text, pic->cols, PICTURE_FREE);
}

static void
put_thread(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const char *name = page_cell_thread(v, &d->blk);

	put_label("thread", pic);
	if (d->blk.thread == 0) {
		picture_printf(pic, "not known");
		return;
	}
	if (name[0] != '\0') {
		picture_text(pic, name, 32, PICTURE_FREE);
		picture_printf(pic, ", ");
	}
	picture_printf(pic, "index %u", d->blk.thread);
}

static void
put_time(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	const struct nodes_look *look = v->look;
	int64_t wall = look->node_wall_ms - (look->now_ms - d->blk.ms), end;
	char age[8], when[32] = "";
	struct tm tm;

	put_label("age", pic);
	if (d->freed) {
		end = v->freed != NULL ? v->freed->ms : d->freed_ms;
		page_cell_age(age, end > d->blk.ms ?
		    (uint64_t)(end - d->blk.ms) / 1000 : 0);
		picture_printf(pic, "lived %s", age);
	} else {
		page_cell_age(age, page_cell_seconds(look, &d->blk));
		picture_printf(pic, "%s", age);
	}
	if (look->node_wall_ms == 0 || wall < 0)
		return;
	page_wall(page, look, wall, &tm);
	if (strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		picture_printf(pic, ", since %s.%03d", when,
		    (int)(wall % 1000));
}

static void
put_block(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	unsigned level = d->blk.flags & REC_LEVEL_MASK;
	char seq[32];

	put_label("address", pic);
	picture_printf(pic, "%0*llx", v->look->classic ? 8 : 12,
	    (unsigned long long)d->blk.addr);
	if (d->layer != 0)
		picture_printf(pic, ", named through the API");
	put_state(d, v, pic);
	put_size(d, v, pic);
	put_type(d, v, pic);
	put_thread(d, v, pic);
	put_label("requester", pic);
	picture_text(pic, d->info[0] != '\0' ? d->info : "none", 16,
	    PICTURE_FREE);
	put_time(d, page, v, pic);
	base_group_digits(seq, sizeof seq, d->blk.seq);
	put_label("sequence", pic);
	picture_printf(pic, "%s", seq);
	if (!v->look->levels) {
		picture_printf(pic, ", flags %X", d->blk.flags & 0xf);
	} else if (level != 0) {
		picture_printf(pic, ", level %u", level);
	}
}

/* --- the stack ---------------------------------------------------------- */

static const char *
suffix(const struct page_call *c)
{
	if (c->skipped)
		return c->inlined ? "  (inlined, skipped)" : "  (skipped)";
	return c->inlined ? "  (inlined)" : "";
}

static void
put_function(const struct page_call *c, struct page_picture *pic)
{
	const char *after = suffix(c);
	int room = pic->cols - picture_col(pic) - (int)strlen(after);

	/* Where it lies stands beside it. */
	if (c->line != NULL)
		page_put_call(c, room, pic);
	else
		picture_printf(pic, "%s", c->words != NULL ? "?" :
		    "not known yet");
	picture_printf(pic, "%s", after);
}

static void
put_place(const struct page_call *c, int width, struct page_picture *pic)
{
	char place[PAGE_NAME_MAX] = "";

	picture_printf(pic, "%012llx ", (unsigned long long)frame_pc(c->at));
	/* The address stands there already. */
	if (c->words != NULL && c->words->module.len > 0)
		page_call_place(c, place, sizeof place);
	picture_text(pic, place, width, PICTURE_FREE);
}

/* Inlined calls have the address of the one that they are in. */
static void
put_call(const struct page_call *c, struct page_picture *pic)
{
	int width = pic->cols >= WIDE_COLS ? PLACE_COLS_WIDE : PLACE_COLS;
	bool begins = c->line == NULL || c->line == &c->words->line[0];

	picture_line(pic);
	if (begins)
		picture_printf(pic, "%3u ", c->frame);
	else
		picture_printf(pic, "    ");
	if (pic->cols >= ONE_LINE_COLS) {
		if (begins)
			put_place(c, width, pic);
		picture_to(pic, 4 + 13 + width + 1);
	}
	put_function(c, pic);
}

/* The cursor is in the stack of the allocation; d NULL: this is another. */
static enum page_mark
call_mark(const struct page_detail *d, const struct page_call *c)
{
	if (d != NULL && c->frame == d->frame && c->outer == d->outer)
		return PAGE_CURSOR;
	return c->skipped ? PAGE_STALE : PAGE_PLAIN;
}

static void
put_calls(struct page_detail *d, struct page_calls *calls,
    struct page_picture *pic)
{
	enum page_mark mark;
	struct page_call c;

	while (page_calls_next(calls, &c)) {
		put_call(&c, pic);
		mark = call_mark(d, &c);
		/* The line is not in pic->rows yet: that counts the title. */
		if (mark == PAGE_CURSOR)
			d->call = pic->rows - 1;
		picture_mark_line(pic, mark);
		if (pic->cols >= ONE_LINE_COLS || c.inlined)
			continue;
		picture_line(pic);
		picture_printf(pic, "    ");
		put_place(&c, pic->cols - picture_col(pic) - 13, pic);
		picture_mark_line(pic, PAGE_STALE);
	}
}

/* --- why there are no more words ---------------------------------------- */

static const struct {
	const char *before, *after;
} reasons[WIRE_KNOWN] = {
	[WIRE_K_PENDING] = { "the node does not say what lies in ", "" },
	[WIRE_K_NO_LINE] = { "no line for code in ", "" },
	[WIRE_K_NO_SYMBOL] = { "no symbol for it in ", "" },
	[WIRE_K_NO_MODULE] = { "code in no file: made at run time, or "
	    "unmapped", NULL },
	[WIRE_K_NO_FILE] = { "", " is not there, or not to be read" },
	[WIRE_K_OTHER_FILE] = { "another build of ", " lies there now" },
	[WIRE_K_DAMAGED] = { "the tables of ", " make no sense" },
	[WIRE_K_NO_READER] = { "the node has no reader of symbols", NULL },
};

/* The sentence for a frame; "" when all is known. */
static void
reason_text(const struct page_call *c, char *out, size_t cap)
{
	const struct wire_words *w = c->words;
	char module[PAGE_NAME_MAX];
	size_t len = 0;

	out[0] = '\0';
	if (w == NULL || w->known >= WIRE_KNOWN)
		return;
	page_text_copy(module, sizeof module, page_text_base(w->module));
	if (w->fetching)
		base_append(out, cap, &len, "the debug file of %s is on its "
		    "way", module);
	else if (reasons[w->known].before != NULL)
		base_append(out, cap, &len, "%s%s%s", reasons[w->known].before,
		    reasons[w->known].after != NULL ? module : "",
		    reasons[w->known].after != NULL ?
		    reasons[w->known].after : "");
}

static bool
was_said(char (*said)[PAGE_NAME_MAX], size_t n, const char *text)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(said[i], text) == 0)
			return true;
	return false;
}

static void
put_sentence(const char *text, struct page_picture *pic)
{
	picture_line(pic);
	picture_printf(pic, "    ");
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}

static void
put_reasons(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char said[REASONS_MAX][PAGE_NAME_MAX], text[PAGE_NAME_MAX];
	struct page_calls calls;
	struct page_call c;
	size_t n = 0, unknown = 0, len = 0;

	if (!page_calls_begin(&calls, v, d->blk.caller))
		return;
	while (page_calls_next(&calls, &c)) {
		unknown += c.words == NULL;
		reason_text(&c, text, sizeof text);
		if (text[0] == '\0' || n == REASONS_MAX ||
		    was_said(said, n, text))
			continue;
		memcpy(said[n++], text, sizeof text);
		put_sentence(text, pic);
	}
	if (v->fetching[0] != '\0') {
		base_append(text, sizeof text, &len,
		    "fetching debug file: %s", v->fetching);
		put_sentence(text, pic);
	}
	if (unknown > 0) {
		len = 0;
		base_append(text, sizeof text, &len,
		    "the words of %zu frame%s are on their way", unknown,
		    unknown == 1 ? "" : "s");
		put_sentence(text, pic);
	}
}

static const char *
end_text(uint64_t caller, const struct page_calls *calls)
{
	return rec_is_site(caller) ? stream_end_text(calls->stack.end) :
	    "the caller alone was recorded";
}

static void
put_stack(struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_calls calls;

	put_label("stack", pic);
	d->call = 0;
	if (d->blk.caller == 0) {
		picture_printf(pic, "nobody knows who asked for it");
		return;
	}
	if (d->stream_no != v->look->stream_no ||
	    !page_calls_begin(&calls, v, d->blk.caller)) {
		picture_printf(pic, "not known yet");
		return;
	}
	picture_printf(pic, "%u frame%s, innermost first", calls.stack.depth,
	    calls.stack.depth == 1 ? "" : "s");
	put_calls(d, &calls, pic);
	put_sentence(end_text(d->blk.caller, &calls), pic);
	put_reasons(d, v, pic);
}

/* Frees have a stack when it was asked for, else their caller. */
static void
put_freeing_stack(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_calls calls;

	if (!d->freed || v->freed == NULL || v->freed->caller == 0 ||
	    d->stream_no != v->look->stream_no)
		return;
	put_label("freed by", pic);
	if (!page_calls_begin(&calls, v, v->freed->caller)) {
		picture_printf(pic, "not known yet");
		return;
	}
	picture_printf(pic, "%u frame%s", calls.stack.depth,
	    calls.stack.depth == 1 ? "" : "s");
	put_calls(NULL, &calls, pic);
	put_sentence(end_text(v->freed->caller, &calls), pic);
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

/* The keys stand to the right of what they are for, as many as fit. */
void
page_overlay_title(const char *keys, struct page_picture *pic)
{
	int room = pic->cols - picture_col(pic) - 2;

	if ((int)strlen(keys) > room)
		keys = "Esc close";
	if ((int)strlen(keys) <= room) {
		picture_to(pic, pic->cols - (int)strlen(keys));
		picture_printf(pic, "%s", keys);
	}
	picture_mark_line(pic, PAGE_HEADING);
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
	put_block(d, page, v, pic);
	put_stack(d, v, pic);
	put_freeing_stack(d, v, pic);
	while (foot > 0 && pic->rows < window)
		picture_line(pic);
	if (foot > 0)
		put_foot(d, v, pic);
	r = picture_end(pic);
	if (r == 0)
		cut(d, pic, window, foot);
	return r;
}

/* A block's detail.  When the block is freed, it shows what was known. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../difference/difference.h"
#include "../blocks/free_blocks.h"
#include "detail.h"

#define LABEL_COLS 12
#define FOLD_AT 6		/* where a long line below a label continues */
#define ONE_LINE_COLS 80	/* narrower pages have two lines for a call or a life */

#define CLOCK_TEXT 16
#define PLACE_COLS 24
#define PLACE_COLS_WIDE 34
#define WIDE_COLS 120
#define REASONS_MAX 6
#define PAGE_BITS 12
#define PAGE_BYTES (UINT64_C(1) << PAGE_BITS)
#define FOOT_ROWS 15		/* from this height on, the foot shows the cursor's call in full */
#define FOOT_LINES 4
#define FUNCTION_LINES 2
#define TO_THE_END (1 << 20)

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
	page_siblings_begin(&d->siblings, b);
}

/* The block is still in the list; again: another block has its address. */
static bool
is_in_list(const struct page_detail *d, const struct nodes_look *look,
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

static void
follow_block(struct page_detail *d, const struct page_view *v)
{
	bool again;

	if (d->stream_no != v->look->stream_no || v->look->list == NULL)
		return;
	if (is_in_list(d, v->look, &again)) {
		d->freed = d->again = false;
		return;
	}
	d->again = again;
	if (!d->freed) {
		d->freed = true;
		d->freed_ms = v->look->now_ms;
	}
}

/* The number of calls, and in *at that of the cursor's call. */
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

	if (d->on_sibling || count_calls(d, v, &at) == 0)
		return false;
	nth_call(d, v, at, c);
	return true;
}

/* The cursor's number among the blocks born with this one; -1: none of them. */
static int
sibling_at(const struct page_detail *d)
{
	const struct blk *b;
	int i;

	for (i = 0; d->on_sibling; i++) {
		b = page_siblings_nth(&d->siblings.shown, (size_t)i);
		if (b == NULL)
			break;
		if (b->seq == d->sibling_seq && b->addr == d->sibling_addr)
			return i;
	}
	return -1;
}

bool
page_detail_block(const struct page_detail *d, struct blk *b)
{
	int i = sibling_at(d);

	if (i < 0)
		return false;
	*b = *page_siblings_nth(&d->siblings.shown, (size_t)i);
	return true;
}

static void
put_cursor_at(struct page_detail *d, const struct page_view *v, int at,
    int calls)
{
	const struct blk *b;
	struct page_call c;

	d->on_sibling = at >= calls;
	if (d->on_sibling) {
		b = page_siblings_nth(&d->siblings.shown, (size_t)(at - calls));
		d->sibling_seq = b->seq;
		d->sibling_addr = b->addr;
		return;
	}
	nth_call(d, v, at, &c);
	d->frame = c.frame;
	d->outer = c.outer;
}

/* Scrolls towards the cursor when that is out of sight, before it moves. */
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

/* Scrolls through the lines between the calls and the blocks below them. */
static bool
scroll_between(struct page_detail *d, int delta, int to, int calls)
{
	struct page_scroll *s = &d->scroll;
	bool far;

	if (d->first_sibling == 0 || d->last_call == 0 ||
	    d->on_sibling == (to >= calls) || abs(delta) > s->window)
		return false;
	far = delta > 0 ? d->first_sibling >= s->top + s->window + delta :
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
	last = calls - 1 + (int)(d->siblings.shown.n +
	    d->siblings.shown.nbeside);
	if (last < 0) {
		s->top += delta;
		return;
	}
	if (d->placed && scroll_to_cursor(d, delta))
		return;
	if (sibling_at(d) >= 0)
		at = calls + sibling_at(d);
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

void
page_detail_scroll(struct page_detail *d, int delta)
{
	struct page_scroll *s = &d->scroll;
	int most = s->lines > s->window ? s->lines - s->window : 0;

	s->top += delta;
	s->top = s->top > most ? most : s->top < 0 ? 0 : s->top;
	d->seek = false;
	d->bring = delta;
}

static void
note_line(struct page_detail *d, int line, int i)
{
	const struct page_scroll *s = &d->scroll;

	if (line >= s->top && line < s->top + s->window &&
	    (d->in_sight < 0 || d->bring < 0))
		d->in_sight = i;
}

/* Moves the cursor to what is on the screen; true if it was out of sight. */
static bool
bring_cursor(struct page_detail *d, const struct page_view *v)
{
	const struct page_scroll *s = &d->scroll;
	bool out = d->bring != 0 && d->in_sight >= 0 && (d->at < s->top ||
	    d->at >= s->top + s->window);
	int at;

	d->bring = 0;
	if (out)
		put_cursor_at(d, v, d->in_sight, count_calls(d, v, &at));
	return out;
}

static void
put_label(const char *label, struct page_picture *pic)
{
	picture_line(pic);
	picture_printf(pic, "  %-*s", LABEL_COLS - 2, label);
	picture_fold(pic, LABEL_COLS);
}

static const char *
age_of(const struct page_view *v, int64_t ms, char out[8])
{
	page_cell_age(out, v->look->now_ms > ms ?
	    (uint64_t)(v->look->now_ms - ms) / 1000 : 0);
	return out;
}

/* How a block was freed: " by realloc in thread rx-0". */
static void
put_end(const struct page_view *v, const struct nodes_freed *how,
    struct page_picture *pic)
{
	static const struct {
		enum rec_type type;
		const char *by;
	} ways[] = {
		{ TYPE_FREE, "free" }, { TYPE_DELETE, "delete" },
		{ TYPE_DELETE_ARRAY, "delete[]" },
		{ TYPE_BY_REALLOC, "realloc" },
	};
	const char *thread;
	size_t i;

	for (i = 0; i < BASE_NELEM(ways); i++)
		if (how->type == ways[i].type)
			picture_printf(pic, " by %s", ways[i].by);
	if (how->thread == 0)
		return;
	thread = v->thread(v->arg, how->thread);
	picture_put(pic, " in thread ");
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
		put_end(v, v->freed, pic);
	} else {
		picture_printf(pic, "freed, seen %s ago", age_of(v,
		    d->freed_ms, age));
	}
	if (d->again)
		picture_put(pic, "; its address is in use again");
}

static void
put_state(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	bool again;

	put_label("state", pic);
	if (d->stream_no != v->look->stream_no) {
		picture_put(pic, "the page watches another stream now");
	} else if (d->freed) {
		put_freed(d, v, pic);
	} else if (v->live != v->look && !is_in_list(d, v->live, &again)) {
		picture_put(pic, "live in the paused picture, freed since");
	} else {
		picture_put(pic, "live");
		return;
	}
	picture_mark(pic, LABEL_COLS, picture_col(pic), PAGE_WARN);
}

/* Bytes from its address on that are its own, as far as they are known. */
static uint64_t
used_bytes(const struct nodes_look *look, const struct blk *b)
{
	return look->classic ? b->size : blk_used(b);
}

static void
put_weight(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char blocks[32], bytes[24], period[PAGE_SAMPLE_TEXT];
	double weight;

	if (v->look->sample == 0 || v->look->list == NULL)
		return;
	weight = blklist_weight(v->look->list, &d->blk);
	base_group_digits(blocks, sizeof blocks, (uint64_t)(weight + 0.5));
	base_human_bytes(bytes, sizeof bytes,
	    (uint64_t)(weight * (double)d->blk.size + 0.5));
	page_sample_text(v->look->sample, period);
	put_label("sample", pic);
	picture_printf(pic, "stands for ~%s blocks, ~%s; sample %s", blocks,
	    bytes, period);
}

static void
put_mark(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	const struct page_moment *m;
	char at[PAGE_MARK_WHEN];

	if (!page_is_marked(page) || d->stream_no != v->look->stream_no)
		return;
	m = &page->marked->mark;
	page_mark_when(page, v, at);
	put_label("mark", pic);
	picture_printf(pic, page_moment_is_new(m, &d->blk) ?
	    "new since %s" : "there before %s", at);
}

static void
put_size(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	unsigned code = d->blk.overhead;
	char asked[32], used[32];

	put_label("size", pic);
	base_group_digits(asked, sizeof asked, d->blk.size);
	base_group_digits(used, sizeof used, used_bytes(v->look, &d->blk));
	if (v->look->classic)
		picture_printf(pic, "%s asked", asked);
	else
		picture_printf(pic, "%s asked, %s%s used", asked,
		    code < REC_OVERHEAD_EXACT ? "" :
		    code < REC_OVERHEAD_MOST ? "about " : "at least ", used);
}

static void
put_ctype(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	static const char *const by[WIRE_TYPE_SOURCES] = {
		[WIRE_TYPE_TEMPLATE] = "a template argument",
		[WIRE_TYPE_CALL] = "the debug information of the call",
		[WIRE_TYPE_SYMBOL] = "a symbol's name",
		[WIRE_TYPE_NEW] = "the constructor that new calls",
	};
	char type[PAGE_NAME_MAX];
	enum wire_type_from from = page_calls_type(v, d->blk.caller, type,
	    sizeof type);

	if (d->stream_no != v->look->stream_no || from >= WIRE_TYPE_SOURCES ||
	    by[from] == NULL)
		return;
	picture_put(pic, "; for ");
	picture_text(pic, type, pic->cols, PICTURE_FREE);
	picture_printf(pic, " (by %s)", by[from]);
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
		picture_put(pic, "not a type of this stream");
		return;
	}
	picture_text(pic, t->name, 8, PICTURE_FREE);
	if (t->text[0] != '\0') {
		picture_put(pic, ", ");
		picture_text(pic, t->text, pic->cols, PICTURE_FREE);
	}
	put_ctype(d, v, pic);
}

static void
put_thread(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const char *name = page_cell_thread(v, &d->blk);

	put_label("thread", pic);
	if (d->blk.thread == 0) {
		picture_put(pic, "not known");
		return;
	}
	if (name[0] != '\0') {
		picture_text(pic, name, 32, PICTURE_FREE);
		picture_put(pic, ", ");
	}
	picture_printf(pic, "index %u", d->blk.thread);
	if (name[0] == '^')
		picture_put(pic, ", before the fork");
}

/* "15:04:09.200"; "12s ago" if the node's wall clock is not known. */
static void
clock_text(const struct page *page, const struct nodes_look *look,
    int64_t ms, char out[CLOCK_TEXT])
{
	int64_t wall = look->node_wall_ms - (look->now_ms - ms);
	char age[8];
	size_t len = 0;
	struct tm tm;

	out[0] = '\0';
	if (look->node_wall_ms == 0 || wall < 0) {
		page_cell_age(age, look->now_ms > ms ?
		    (uint64_t)(look->now_ms - ms) / 1000 : 0);
		base_append(out, CLOCK_TEXT, &len, "%s ago", age);
		return;
	}
	page_wall(page, look, wall, &tm);
	base_append(out, CLOCK_TEXT, &len, "%02d:%02d:%02d.%03d",
	    tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall % 1000));
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
		picture_put(pic, age);
	}
	if (look->node_wall_ms == 0 || wall < 0)
		return;
	page_wall(page, look, wall, &tm);
	if (strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		picture_printf(pic, ", since %s.%03d", when,
		    (int)(wall % 1000));
}

static void
put_record(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	unsigned level = d->blk.flags & REC_LEVEL_MASK;
	char seq[32];

	put_label("address", pic);
	picture_printf(pic, "%0*llx", v->look->classic ? 8 : 12,
	    (unsigned long long)d->blk.addr);
	if (d->layer != 0)
		picture_put(pic, ", named through the API");
	put_state(d, v, pic);
	put_size(d, v, pic);
	put_weight(d, v, pic);
	put_type(d, v, pic);
	put_thread(d, v, pic);
	put_label("requester", pic);
	picture_text(pic, d->info[0] != '\0' ? d->info : "none", 16,
	    PICTURE_FREE);
	put_time(d, page, v, pic);
	put_mark(d, page, v, pic);
	base_group_digits(seq, sizeof seq, d->blk.seq);
	put_label("sequence", pic);
	picture_put(pic, seq);
	if (!v->look->levels) {
		picture_printf(pic, ", flags %X", d->blk.flags & 0xf);
	} else if (level != 0) {
		picture_printf(pic, ", level %u", level);
	}
}

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

	if (c->line != NULL)
		page_put_call(c, room, pic);
	else
		picture_put(pic, c->words != NULL ? "?" : "not known yet");
	picture_put(pic, after);
}

static void
put_place(const struct page_call *c, int width, struct page_picture *pic)
{
	char place[PAGE_NAME_MAX] = "";

	picture_printf(pic, "%012llx ", (unsigned long long)frame_pc(c->at));
	/* Without a module the place is the address, which is there already. */
	if (c->words != NULL && c->words->module.len > 0)
		page_call_place(c, place, sizeof place);
	picture_text(pic, place, width, PICTURE_FREE);
}

/* An inlined call has no address of its own. */
static void
put_call(const struct page_call *c, struct page_picture *pic)
{
	int width = pic->cols >= WIDE_COLS ? PLACE_COLS_WIDE : PLACE_COLS;
	bool begins = c->line == NULL || c->line == &c->words->line[0];

	picture_line(pic);
	if (begins)
		picture_printf(pic, "%3u ", c->frame);
	else
		picture_put(pic, "    ");
	if (pic->cols >= ONE_LINE_COLS) {
		if (begins)
			put_place(c, width, pic);
		picture_to(pic, 4 + 13 + width + 1);
	}
	put_function(c, pic);
}

/* d NULL: not the stack of the allocation, so that the cursor is not in it. */
static enum page_mark
call_mark(const struct page_detail *d, const struct page_call *c)
{
	if (d != NULL && !d->on_sibling && c->frame == d->frame &&
	    c->outer == d->outer)
		return PAGE_CURSOR;
	return c->skipped ? PAGE_STALE : PAGE_PLAIN;
}

static void
put_calls(struct page_detail *d, struct page_calls *calls,
    struct page_picture *pic)
{
	enum page_mark mark;
	struct page_call c;
	int i;

	for (i = 0; page_calls_next(calls, &c); i++) {
		put_call(&c, pic);
		mark = call_mark(d, &c);
		if (d != NULL) {
			d->last_call = pic->rows - 1;
			note_line(d, d->last_call, i);
		}
		/* The line is not in pic->rows yet: that counts the title. */
		if (mark == PAGE_CURSOR)
			d->at = pic->rows - 1;
		picture_mark_line(pic, mark);
		if (pic->cols >= ONE_LINE_COLS || c.inlined)
			continue;
		picture_line(pic);
		picture_put(pic, "    ");
		put_place(&c, pic->cols - picture_col(pic) - 13, pic);
		picture_mark_line(pic, PAGE_STALE);
	}
}

static const struct {
	const char *before, *after;
} reasons[WIRE_KNOWN] = {
	[WIRE_K_PENDING] = { "the node has not yet resolved ", "" },
	[WIRE_K_NO_LINE] = { "no line for code in ", "" },
	[WIRE_K_NO_SYMBOL] = { "no symbol for it in ", "" },
	[WIRE_K_NO_MODULE] = { "code in no file: generated at run time, or "
	    "unmapped", NULL },
	[WIRE_K_NO_FILE] = { "", " is not there, or not to be read" },
	[WIRE_K_OTHER_FILE] = { "another build of ", " is there now" },
	[WIRE_K_DAMAGED] = { "the symbol tables of ", " are damaged" },
	[WIRE_K_NO_READER] = { "the node has no reader of symbols", NULL },
};

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
		base_append(out, cap, &len, "the debug file of %s is being "
		    "fetched", module);
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
	picture_put(pic, "    ");
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
		    "waiting for the names of %zu frame%s", unknown,
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
	d->at = d->last_call = 0;
	if (d->blk.caller == 0) {
		picture_put(pic, "no stack recorded");
		return;
	}
	if (d->stream_no != v->look->stream_no ||
	    !page_calls_begin(&calls, v, d->blk.caller)) {
		picture_put(pic, "not known yet");
		return;
	}
	picture_printf(pic, "%u frame%s, innermost first", calls.stack.depth,
	    calls.stack.depth == 1 ? "" : "s");
	put_calls(d, &calls, pic);
	put_sentence(end_text(d->blk.caller, &calls), pic);
	put_reasons(d, v, pic);
}

/* A free has a stack if stacks of frees are recorded, else its caller. */
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
		picture_put(pic, "not known yet");
		return;
	}
	picture_printf(pic, "%u frame%s", calls.stack.depth,
	    calls.stack.depth == 1 ? "" : "s");
	put_calls(NULL, &calls, pic);
	put_sentence(end_text(v->freed->caller, &calls), pic);
}

static int
addr_cols(const struct page_view *v)
{
	return v->look->classic ? 8 : 12;
}

static void
put_blk(const struct page_view *v, const struct blk *b,
    struct page_picture *pic)
{
	char size[32];

	base_group_digits(size, sizeof size, b->size);
	picture_printf(pic, "%0*llx %10s ", addr_cols(v),
	    (unsigned long long)b->addr, size);
	picture_text(pic, page_descr(v->look, b), 8, PICTURE_LEFT);
}

bool
page_detail_neighbour(const struct page_detail *d, const struct page_view *v,
    bool behind, struct blk *out)
{
	const struct blklist *list = v->look->list;
	struct page_walk w;
	struct blk b;

	if (list == NULL || v->look->window ||
	    d->stream_no != v->look->stream_no)
		return false;
	page_walk_begin_behind(&w, list, BLKLIST_BY_ADDRESS, !behind,
	    &d->blk);
	if (page_walk_next(&w, list, &b, 1) == 0 || d->layer !=
	    (v->look->levels && blk_layer(&b)))
		return false;
	*out = b;
	return true;
}

/* A heap keeps words of its own between blocks, often 16 bytes. */
static void
put_gap(const struct page_view *v, const struct blk *lower,
    const struct blk *upper, struct page_picture *pic)
{
	uint64_t apart = upper->addr - lower->addr;
	uint64_t used = used_bytes(v->look, lower);
	char gap[32];

	if (used > apart) {
		picture_put(pic, " overlaps");
		return;
	}
	base_group_digits(gap, sizeof gap, apart - used);
	picture_printf(pic, " %s between", gap);
}

static void
put_neighbour(const struct page_detail *d, const struct page_view *v,
    bool behind, struct page_picture *pic)
{
	struct blk b;

	if (!page_detail_neighbour(d, v, behind, &b))
		return;
	picture_line(pic);
	picture_printf(pic, "    %s ", behind ? "behind" : "before");
	picture_fold(pic, FOLD_AT);
	put_blk(v, &b, pic);
	if (behind)
		put_gap(v, &d->blk, &b, pic);
	else
		put_gap(v, &b, &d->blk, pic);
}

static void
put_pages(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	uint64_t used = used_bytes(v->look, &d->blk);
	uint64_t first = d->blk.addr >> PAGE_BITS;
	uint64_t last = (d->blk.addr + (used > 0 ? used - 1 : 0)) >>
	    PAGE_BITS;
	char pages[32];

	base_group_digits(pages, sizeof pages, last - first + 1);
	picture_printf(pic, "byte %s of page %09llx",
	    base_digits(d->blk.addr & (PAGE_BYTES - 1)).text,
	    (unsigned long long)first);
	if (last > first)
		picture_printf(pic, ", %s pages", pages);
}

static void
put_memory(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const struct wire_region *region = d->stream_no ==
	    v->look->stream_no ? page_free_region(v->look, d->blk.addr) :
	    NULL;

	put_label("memory", pic);
	/* The page size of a classic stream's machine is not known. */
	if (!v->look->classic)
		put_pages(d, v, pic);
	if (region != NULL) {
		/* Some names begin with that word, such as "region 1". */
		picture_printf(pic, "%sin %s", v->look->classic ? "" : ", ",
		    strncmp(region->name, "region", 6) == 0 ? "" : "region ");
		picture_text(pic, region->name[0] != '\0' ? region->name :
		    "without a name", WIRE_REGION_NAME + 4, PICTURE_FREE);
	}
	if (v->look->window) {
		put_sentence("neighbours are not known: not all blocks are "
		    "here", pic);
		return;
	}
	put_neighbour(d, v, false, pic);
	put_neighbour(d, v, true, pic);
}

static void
put_life_end(const struct page_detail *d, const struct page_view *v,
    const struct nodes_life *l, bool last, struct page_picture *pic)
{
	char age[8];

	if (l->blk.seq == d->blk.seq)
		picture_put(pic, "this block");
	if (!l->ended) {
		if (last && l->blk.seq != d->blk.seq)
			picture_put(pic, "is live now");
		else if (!last)
			picture_printf(pic, "%sits free was not seen",
			    l->blk.seq == d->blk.seq ? ", " : "");
		return;
	}
	if (l->blk.seq == d->blk.seq)
		picture_put(pic, ", ");
	picture_put(pic, "freed");
	if (l->end.ms != 0) {
		page_cell_age(age, l->end.ms > l->blk.ms ?
		    (uint64_t)(l->end.ms - l->blk.ms) / 1000 : 0);
		picture_printf(pic, " after %s", age);
	}
	put_end(v, &l->end, pic);
}

static void
put_life(const struct page_detail *d, const struct page *page,
    const struct page_view *v, const struct nodes_life *l, bool last,
    struct page_picture *pic)
{
	char clock[CLOCK_TEXT], size[32];
	const char *thread = page_cell_thread(v, &l->blk);

	clock_text(page, v->look, l->blk.ms, clock);
	base_group_digits(size, sizeof size, l->blk.size);
	picture_line(pic);
	picture_printf(pic, "    %-12s %9s ", clock, size);
	picture_fold(pic, FOLD_AT);
	picture_text(pic, page_descr(v->look, &l->blk), 8, PICTURE_LEFT);
	if (pic->cols < ONE_LINE_COLS) {
		picture_line(pic);
		picture_put(pic, "      ");
		picture_fold(pic, FOLD_AT);
	} else {
		picture_put(pic, " ");
		picture_text(pic, thread, 10, PICTURE_LEFT);
		picture_put(pic, " ");
	}
	put_life_end(d, v, l, last, pic);
}

static void
put_history_head(const struct page *page, const struct page_view *v,
    const struct nodes_lives *l, struct page_picture *pic)
{
	char clock[CLOCK_TEXT], left_out[32];

	clock_text(page, v->look, l->since_ms, clock);
	picture_printf(pic, "of this address, watched since %s", clock);
	if (l->left_out > 0) {
		base_group_digits(left_out, sizeof left_out, l->left_out);
		picture_line(pic);
		picture_fold(pic, FOLD_AT);
		picture_printf(pic, "    %s earlier ones are left out",
		    left_out);
	}
	if (l->gaps || v->look->window)
		put_sentence("records were lost or skipped since: "
		    "others may have been there", pic);
}

static void
put_history(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	const struct nodes_lives *l = v->lives;
	size_t i;

	if (l == NULL || d->stream_no != v->look->stream_no)
		return;
	put_label("history", pic);
	put_history_head(page, v, l, pic);
	for (i = 0; i < l->n; i++)
		put_life(d, page, v, &l->life[i], i + 1 == l->n, pic);
}

static void
put_other(struct page_detail *d, const struct page_view *v,
    const struct blk *b, int i, bool beside, struct page_picture *pic)
{
	unsigned layer = v->look->levels && blk_layer(b);
	struct blk now;
	bool freed = !v->look->window && (blklist_get(v->look->list, layer,
	    b->addr, &now) < 0 || now.seq != b->seq);
	int line;

	picture_line(pic);
	line = pic->rows - 1;
	picture_put(pic, "    ");
	picture_fold(pic, FOLD_AT);
	put_blk(v, b, pic);
	if (freed)
		picture_put(pic, " freed");
	if (beside)
		page_cell_function(v, b, 1, pic->cols - picture_col(pic) - 1,
		    pic);
	if (d->first_sibling == 0)
		d->first_sibling = line;
	note_line(d, line, i);
	if (d->on_sibling && b->seq == d->sibling_seq &&
	    b->addr == d->sibling_addr) {
		d->at = line;
		picture_mark_line(pic, PAGE_CURSOR);
	} else if (freed) {
		picture_mark_line(pic, PAGE_STALE);
	}
}

static void
put_count(uint64_t all, size_t listed, const char *what,
    struct page_picture *pic)
{
	char n[32];

	base_group_digits(n, sizeof n, all);
	picture_printf(pic, "%s %s", all > 0 ? n : "none other", what);
	if (listed < all)
		picture_printf(pic, "; %s listed", base_digits(listed).text);
}

static void
put_siblings(struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const struct page_siblings_found *f = &d->siblings.shown;
	int n = count_calls(d, v, &(int){ 0 });
	size_t i;

	d->first_sibling = 0;
	if (d->stream_no != v->look->stream_no || v->look->list == NULL)
		return;
	put_label("together", pic);
	if (!d->siblings.known) {
		picture_put(pic, v->look->window ?
		    "not known: not all blocks are here" :
		    "searching for blocks born with it");
		return;
	}
	put_count(f->all, f->n, v->look->classic ? "born in its cycle" :
	    "born in its cycle, of its thread and callers", pic);
	for (i = 0; i < f->n; i++)
		put_other(d, v, &f->blk[i], n++, false, pic);
	if (f->all_beside == 0)
		return;
	put_label("beside", pic);
	put_count(f->all_beside, f->nbeside,
	    "of that cycle and thread, by other callers", pic);
	for (i = 0; i < f->nbeside; i++)
		put_other(d, v, &f->beside[i], n++, true, pic);
}

static void
put_source(const struct page_source *s, struct page_picture *pic)
{
	if (s->state == PAGE_SOURCE_NONE || s->state == PAGE_SOURCE_READING ||
	    (s->state == PAGE_SOURCE_READ && s->line == 0))
		return;
	picture_line(pic);
	picture_put(pic, "  ");
	if (s->state == PAGE_SOURCE_FAILED)
		picture_put(pic, s->err != -ENOENT ? base_file_words(s->err) :
		    s->path[0] == '/' ? "the file is not on this machine" :
		    "the file is not in the current directory");
	else if (s->beyond)
		picture_put(pic, "the file has fewer lines");
	else
		picture_text(pic, s->text, pic->cols, PICTURE_FREE);
	if (s->state == PAGE_SOURCE_FAILED || s->beyond)
		picture_mark_line(pic, PAGE_STALE);
}

static void
put_file(const struct page_call *c, const struct page_source *s,
    struct page_picture *pic)
{
	char text[PAGE_NAME_MAX], newer[80] = "";

	if (s->state == PAGE_SOURCE_READ && s->newer) {
		page_text_copy(text, sizeof text,
		    page_text_base(c->words->module));
		snprintf(newer, sizeof newer, "newer than %.60s", text);
	}
	page_call_where(c, true, text, sizeof text);
	if (text[0] == '\0' && c->words != NULL)
		page_text_copy(text, sizeof text, c->words->module);
	if (text[0] == '\0')
		return;
	picture_line(pic);
	picture_text(pic, text, newer[0] == '\0' ? pic->cols :
	    pic->cols - 2 - picture_cols(pic, newer), PICTURE_FREE);
	if (newer[0] == '\0')
		return;
	picture_put(pic, "  ");
	picture_text(pic, newer, pic->cols, PICTURE_FREE);
	picture_mark(pic, picture_col(pic) - picture_cols(pic, newer),
	    picture_col(pic), PAGE_WARN);
}

/* False if the cursor has moved to another call since the line was read. */
static bool
is_source_of(const struct page_source *s, const struct page_call *c)
{
	char path[PAGE_NAME_MAX];

	if (c->line == NULL || c->line->line != s->line)
		return false;
	page_text_copy(path, sizeof path, c->line->file);
	return strcmp(path, s->path) == 0;
}

static void
put_foot(const struct page_detail *d, const struct page_view *v,
    const struct page_source *source, struct page_picture *pic)
{
	static const struct page_source none;
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
		if (picture_wrap(pic, text, FUNCTION_LINES, PAGE_NEW) > 0) {
			if (!is_source_of(source, &c))
				source = &none;
			put_file(&c, source, pic);
			put_source(source, pic);
		}
	}
	while (!picture_failed(pic) && pic->rows < last)
		picture_line(pic);
}

static void
cut_lines(struct page_detail *d, struct page_picture *pic, int window, int foot)
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

static void
search_siblings(struct page_detail *d, const struct page_view *v)
{
	if (d->stream_no == v->look->stream_no && v->look->list != NULL &&
	    !v->look->window)
		page_siblings_next(&d->siblings, v->look->list,
		    v->look->now_ms);
	if (sibling_at(d) < 0)
		d->on_sibling = false;
}

static int
compose_lines(struct page_detail *d, const struct page *page,
    const struct page_view *v, const struct page_source *source, int cols,
    int window, int foot, struct page_picture *pic)
{
	d->in_sight = -1;
	picture_begin(pic, cols, page->opts.ascii);
	picture_line(pic);
	picture_printf(pic, "BLOCK %0*llx", v->look->classic ? 8 : 12,
	    (unsigned long long)d->blk.addr);
	page_overlay_title("j k move  E edit  g callers  [ ] neighbours  "
	    "Esc close",
	    pic);
	put_record(d, page, v, pic);
	put_stack(d, v, pic);
	put_freeing_stack(d, v, pic);
	put_memory(d, v, pic);
	put_history(d, page, v, pic);
	put_siblings(d, v, pic);
	while (!picture_failed(pic) && foot > 0 && pic->rows < window)
		picture_line(pic);
	if (foot > 0)
		put_foot(d, v, source, pic);
	return picture_end(pic);
}

int
page_detail_compose(struct page_detail *d, const struct page *page,
    const struct page_view *v, const struct page_source *source, int cols,
    int rows, struct page_picture *pic)
{
	int foot = rows >= FOOT_ROWS ? FOOT_LINES : 0;
	int window = rows - 1 - foot > 1 ? rows - 1 - foot : 1, r;
	struct page_call c;

	follow_block(d, v);
	search_siblings(d, v);
	/* New names may add inlined calls: keep the cursor on its call. */
	if (page_detail_call(d, v, &c)) {
		d->frame = c.frame;
		d->outer = c.outer;
	}
	r = compose_lines(d, page, v, source, cols, window, foot, pic);
	if (r == 0 && bring_cursor(d, v))
		r = compose_lines(d, page, v, source, cols, window, foot, pic);
	if (r == 0)
		cut_lines(d, pic, window, foot);
	d->placed = r == 0;
	return r;
}

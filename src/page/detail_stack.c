/*
 * The stacks of the detail, a line for each call, with why there are no more
 * and why words are missing.
 */
#include <stdio.h>
#include <string.h>

#include "detail_parts.h"

#define PLACE_COLS 24
#define PLACE_COLS_WIDE 34
#define WIDE_COLS 120
#define REASONS_MAX 6

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
		picture_put(pic, c->words != NULL ? "?" : "not known yet");
	picture_put(pic, after);
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
		picture_put(pic, "    ");
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
	if (d != NULL && !d->among && c->frame == d->frame &&
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

	while (page_calls_next(calls, &c)) {
		put_call(&c, pic);
		mark = call_mark(d, &c);
		if (d != NULL)
			d->last_call = pic->rows - 1;
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

void
detail_put_sentence(const char *text, struct page_picture *pic)
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
		detail_put_sentence(text, pic);
	}
	if (v->fetching[0] != '\0') {
		base_append(text, sizeof text, &len,
		    "fetching debug file: %s", v->fetching);
		detail_put_sentence(text, pic);
	}
	if (unknown > 0) {
		len = 0;
		base_append(text, sizeof text, &len,
		    "the words of %zu frame%s are on their way", unknown,
		    unknown == 1 ? "" : "s");
		detail_put_sentence(text, pic);
	}
}

static const char *
end_text(uint64_t caller, const struct page_calls *calls)
{
	return rec_is_site(caller) ? stream_end_text(calls->stack.end) :
	    "the caller alone was recorded";
}

void
detail_put_stack(struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_calls calls;

	detail_put_label("stack", pic);
	d->at = d->last_call = 0;
	if (d->blk.caller == 0) {
		picture_put(pic, "nobody knows who asked for it");
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
	detail_put_sentence(end_text(d->blk.caller, &calls), pic);
	put_reasons(d, v, pic);
}

/* Frees have a stack when it was asked for, else their caller. */
void
detail_put_freeing_stack(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_calls calls;

	if (!d->freed || v->freed == NULL || v->freed->caller == 0 ||
	    d->stream_no != v->look->stream_no)
		return;
	detail_put_label("freed by", pic);
	if (!page_calls_begin(&calls, v, v->freed->caller)) {
		picture_put(pic, "not known yet");
		return;
	}
	picture_printf(pic, "%u frame%s", calls.stack.depth,
	    calls.stack.depth == 1 ? "" : "s");
	put_calls(NULL, &calls, pic);
	detail_put_sentence(end_text(v->freed->caller, &calls), pic);
}

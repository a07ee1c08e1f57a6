#include <string.h>

#include "calls.h"

#define FUNCTION_KEEP 12	/* columns of the name: else the file is dropped */
#define CALL_GAP 2

void
page_text_copy(char *out, size_t cap, struct wire_text t)
{
	size_t n, at = 0, i;

	if (cap == 0)
		return;
	for (i = 0; i < t.len; i += n) {
		n = base_utf8_char(t.s + i, t.len - i, NULL);
		n = n > 0 ? n : 1;
		if (at + n >= cap)
			break;
		memcpy(out + at, t.s + i, n);
		if (out[at] == '\0')
			out[at] = '?';
		at += n;
	}
	out[at] = '\0';
}

struct wire_text
page_text_base(struct wire_text t)
{
	size_t i = t.len;

	while (i > 0 && t.s[i - 1] != '/')
		i--;
	if (i < t.len) {
		t.s += i;
		t.len -= i;
	}
	return t;
}

void
page_call_place(const struct page_call *c, char *out, size_t cap)
{
	size_t len = 0;

	out[0] = '\0';
	if (c->words == NULL)
		return;
	if (c->words->module.len == 0) {
		base_append(out, cap, &len, "0x%llx",
		    (unsigned long long)frame_pc(c->at));
		return;
	}
	page_text_copy(out, cap, page_text_base(c->words->module));
	len = strlen(out);
	base_append(out, cap, &len, "+0x%llx",
	    (unsigned long long)c->words->offset);
}

void
page_call_function(const struct page_call *c, char *out, size_t cap)
{
	if (c->line != NULL && c->line->function.len > 0)
		page_text_copy(out, cap, c->line->function);
	else
		page_call_place(c, out, cap);
}

void
page_call_where(const struct page_call *c, bool whole, char *out, size_t cap)
{
	size_t len;

	out[0] = '\0';
	if (c->line == NULL || c->line->file.len == 0)
		return;
	page_text_copy(out, cap, whole ? c->line->file :
	    page_text_base(c->line->file));
	len = strlen(out);
	if (c->line->line != 0)
		base_append(out, cap, &len, ":%u", (unsigned)c->line->line);
}

bool
page_calls_begin(struct page_calls *it, const struct page_view *v,
    uint64_t caller)
{
	*it = (struct page_calls){ .v = v };
	return caller != 0 && v->words.stack != NULL &&
	    v->words.stack(v->words.arg, caller, &it->stack);
}

static bool
is_skipped(const struct page_calls *it, const struct page_call *c)
{
	char name[PAGE_NAME_MAX];

	if (it->outside || it->v->wrappers == NULL || c->line == NULL ||
	    c->line->function.len == 0)
		return false;
	page_text_copy(name, sizeof name, c->line->function);
	return symbol_wrappers_match(it->v->wrappers, name);
}

bool
page_calls_next(struct page_calls *it, struct page_call *c)
{
	const struct wire_words *w;
	size_t n;

	if (it->frame >= it->stack.depth)
		return false;
	if (it->line == 0)
		it->words = it->v->words.words(it->v->words.arg,
		    it->stack.frame[it->frame]);
	w = it->words;
	n = w != NULL && w->n > 0 ? w->n : 1;
	*c = (struct page_call){
		.frame = it->frame,
		.outer = (unsigned)n - 1 - it->line,
		.at = it->stack.frame[it->frame],
		.words = w,
		.line = w != NULL && w->n > 0 ? &w->line[it->line] : NULL,
	};
	c->inlined = c->outer > 0;
	c->skipped = is_skipped(it, c);
	it->outside = it->outside || !c->skipped;
	if (++it->line == n) {
		it->line = 0;
		it->frame++;
	}
	return true;
}

bool
page_calls_origin(const struct page_view *v, uint64_t caller,
    struct page_call *c)
{
	struct page_calls it;

	if (!page_calls_begin(&it, v, caller))
		return false;
	while (page_calls_next(&it, c)) {
		if (c->words == NULL)
			return false;
		if (!c->skipped)
			return true;
	}
	return true;
}

enum wire_type_from
page_calls_type(const struct page_view *v, uint64_t caller, char *out,
    size_t cap)
{
	struct page_calls it;
	struct page_call c;
	char name[PAGE_NAME_MAX];

	out[0] = '\0';
	if (!page_calls_begin(&it, v, caller))
		return WIRE_TYPE_UNKNOWN;
	while (page_calls_next(&it, &c)) {
		if (c.words == NULL)
			break;
		if (c.words->type.len > 0) {
			page_text_copy(out, cap, c.words->type);
			return (enum wire_type_from)c.words->type_from;
		}
		if (c.line == NULL)
			break;
		page_text_copy(name, sizeof name, c.line->function);
		if (!profile_passes(name, c.skipped))
			break;
	}
	return WIRE_TYPE_UNKNOWN;
}

void
page_put_name(const char *function, const char *where, int width,
    struct page_picture *pic)
{
	char brief[PAGE_NAME_MAX];
	const char *name = function;
	size_t len = strlen(where);
	int room, cols;

	/* "libfoo.so+0x1f30" contains the module. */
	if (len > 0 && strncmp(function, where, len) == 0 &&
	    function[len] == '+')
		where = "";
	cols = where[0] != '\0' ? CALL_GAP + picture_cols(pic, where) : 0;
	room = width - cols;
	if (picture_cols(pic, function) > room) {
		symbol_short_name(function, brief, sizeof brief);
		name = brief;
	}
	/* The function alone says more than the file alone. */
	if (room < FUNCTION_KEEP && picture_cols(pic, name) > room) {
		picture_text(pic, name, width, PICTURE_FREE);
		return;
	}
	picture_text(pic, name, room, PICTURE_FREE);
	if (cols == 0)
		return;
	picture_printf(pic, "%*s", CALL_GAP, "");
	picture_text(pic, where, cols - CALL_GAP, PICTURE_FREE);
}

void
page_put_call(const struct page_call *c, int width, struct page_picture *pic)
{
	char function[PAGE_NAME_MAX], where[PAGE_NAME_MAX];

	page_call_function(c, function, sizeof function);
	page_call_where(c, false, where, sizeof where);
	page_put_name(function, where, width, pic);
}

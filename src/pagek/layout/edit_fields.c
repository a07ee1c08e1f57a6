#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../picture/keys.h"
#include "edit_fields.h"

const char *
page_field_name(enum page_field field)
{
	static const char *const names[PAGE_FIELDS] = {
		[PAGE_NO_FIELD] = "",
		[PAGE_FIELD_NODE] = "NODE",
		[PAGE_FIELD_LISTING] = "L",
		[PAGE_FIELD_OFFS] = "OFFS",
	};

	return names[field];
}

void
page_fields_next(struct page *page)
{
	struct page_fields *f = &page->fields;

	f->editing = false;
	f->at++;
	if (f->at == PAGE_FIELDS)
		f->at = PAGE_FIELD_NODE;
}

void
page_fields_leave(struct page *page)
{
	page->fields.at = PAGE_NO_FIELD;
	page->fields.editing = false;
}

void
page_fields_edit(struct page *page, const char *now)
{
	struct page_fields *f = &page->fields;

	line_set(&f->typed, now);
	f->editing = f->replace = true;
	f->changed = false;
}

void
page_fields_recall(struct page *page, const char *text)
{
	line_set(&page->fields.typed, text);
	page->fields.replace = false;
	page->fields.changed = true;
}

/* A character replaces the value, unless the cursor was moved before. */
static void
edit_key(struct page_fields *f, int code)
{
	bool is_char = code >= ' ' && code <= 0x10ffff && code != 0x7f;
	struct typed_line typed = { 0 };
	enum line_did did;

	if (!f->replace || !is_char)
		typed = f->typed;
	did = line_key(&typed, code);
	if (did == LINE_NOT_MINE)
		return;
	f->typed = typed;
	f->replace = false;
	f->changed = f->changed || did == LINE_CHANGED;
}

enum page_field_typed
page_fields_type(struct page *page, int code)
{
	struct page_fields *f = &page->fields;

	switch (code) {
	case '\r':
	case '\n':
	case PAGE_KEY_ENTER:
		f->editing = false;
		return PAGE_FIELD_SUBMITTED;
	case PAGE_CTRL('['):
		f->editing = false;
		return PAGE_FIELD_LEFT;
	default:
		edit_key(f, code);
	}
	return PAGE_FIELD_TYPING;
}

bool
page_field_offs(const char *typed, uint64_t rows, uint64_t *offs, char *why,
    size_t cap)
{
	size_t len = strlen(typed), good = strspn(typed, "0123456789");
	char text[32];
	uint64_t n;

	if (len == 0) {
		snprintf(why, cap, "OFFS: type a decimal number");
		return false;
	}
	if (good < len) {
		snprintf(why, cap, "OFFS '%.64s': no digit at position %zu",
		    typed, good + 1);
		return false;
	}
	n = len < 20 ? strtoull(typed, NULL, 10) : UINT64_MAX;
	if (n >= rows && n > 0) {
		base_group_digits(text, sizeof text, rows);
		snprintf(why, cap, "there are %s rows: OFFS %.20s is past the "
		    "end", text, typed);
		return false;
	}
	*offs = n;
	return true;
}

bool
page_field_word(enum page_field field, const char *typed, char *why,
    size_t cap)
{
	static const char *const what[PAGE_FIELDS] = {
		[PAGE_FIELD_NODE] = "a number of the table of nodes, or a "
		    "name",
		[PAGE_FIELD_LISTING] = "a node's number or name, a path with "
		    "a slash, or pager",
	};
	size_t at;

	if (typed[0] == '\0') {
		snprintf(why, cap, "%s: type %s", page_field_name(field),
		    what[field]);
		return false;
	}
	/* Paths and commands may have blanks. */
	if (field == PAGE_FIELD_LISTING && strpbrk(typed, "/|") != NULL)
		return true;
	at = strcspn(typed, " \t");
	if (typed[at] == '\0')
		return true;
	snprintf(why, cap, "%s '%.64s': no blank is allowed at position %zu",
	    page_field_name(field), typed, at + 1);
	return false;
}

static void
put_typed(const struct typed_line *typed, int cols, struct page_picture *pic)
{
	bool ascii = picture_is_ascii(pic);
	size_t shown = line_shown(typed, cols + 1, ascii);
	int from = picture_col(pic), at = from + line_cursor(typed, shown,
	    ascii);

	picture_clip(pic, typed->text + shown, cols, PICTURE_FREE);
	picture_mark(pic, from, picture_col(pic), PAGE_NEW);
	pic->cursor_row = pic->rows;
	pic->cursor_col = at < pic->cols ? at : pic->cols - 1;
}

static void
put_value(const struct page *page, enum page_field field, const char *value,
    int cols, enum page_field_form form, struct page_picture *pic)
{
	const struct page_fields *f = &page->fields;
	bool here = f->at == field;
	int from = picture_col(pic);

	if (here && f->editing) {
		put_typed(&f->typed, cols, pic);
		return;
	}
	if (form == PAGE_FIELD_CLASSIC)
		picture_clip(pic, value, cols, PICTURE_FREE);
	else
		picture_text(pic, value, cols, PICTURE_FREE);
	if (here)
		picture_mark(pic, from, picture_col(pic), PAGE_CURSOR);
}

/* Columns of values, while they are shown and while they are edited. */
static const struct {
	int node[2], listing[2];
} value_cols[] = {
	[PAGE_FIELD_CLASSIC] = { { 4, 4 }, { 4, 4 } },
	[PAGE_FIELD_WIDE] = { { 4, 20 }, { 8, 24 } },
};

/* There is no column for a "*" before NODE: NODE moves one to the right. */
void
page_fields_put(const struct page *page, const struct page_view *v,
    enum page_field_form form, struct page_picture *pic)
{
	bool editing = page->fields.editing;
	enum page_field at = page->fields.at;
	const char *listing = page->opts.listing;
	char number[8];

	snprintf(number, sizeof number, "%04X", v->look->node.number);
	picture_put(pic, at == PAGE_FIELD_NODE ? "*NODE<" : "NODE<");
	put_value(page, PAGE_FIELD_NODE, number,
	    value_cols[form].node[editing], form, pic);
	picture_put(pic, at == PAGE_FIELD_NODE ? ">" : "> ");
	picture_put(pic, at == PAGE_FIELD_LISTING || at == PAGE_NO_FIELD ?
	    "*L<" : " L<");
	put_value(page, PAGE_FIELD_LISTING, listing != NULL ? listing : "",
	    value_cols[form].listing[editing], form, pic);
	picture_put(pic, ">");
}

void
page_fields_put_offs(const struct page *page, const char *offs,
    struct page_picture *pic)
{
	picture_put(pic, page->fields.at == PAGE_FIELD_OFFS ? "*OFFS=" :
	    " OFFS=");
	put_value(page, PAGE_FIELD_OFFS, offs, (int)strlen(offs),
	    PAGE_FIELD_CLASSIC, pic);
}

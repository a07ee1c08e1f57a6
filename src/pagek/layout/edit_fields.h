/*
 * edit_fields: NODE<>, *L<> and OFFS=, the parts of line 2 that can be edited.
 *
 * Vocabulary
 *	cursor	is in one field or in none; Tab moves it.  "*" stands before its
 *		field, or before L, as the note prints it.
 *	editing	from Enter to Enter or Esc all keys are those of a line
 *		(typed_line.h).  A character as the first key replaces all.
 *
 * Example
 *	page_fields_next(page);				Tab
 *	page_fields_edit(page, "0590");			Enter
 *	page_fields_type(page, '0');			... PAGE_FIELD_TYPING
 *	page_fields_type(page, PAGE_KEY_ENTER);		PAGE_FIELD_SUBMITTED
 *	use(page->fields.typed.text);
 */
#ifndef PAGEK_EDIT_FIELDS_H
#define PAGEK_EDIT_FIELDS_H

#include "../page/view.h"

/* "NODE", "L", "OFFS". */
const char *page_field_name(enum page_field);

/* Moves the cursor to the next field, from the last to the first. */
void page_fields_next(struct page *);
void page_fields_leave(struct page *);
/* Begins to edit the cursor's field, whose value is `now`. */
void page_fields_edit(struct page *, const char *now);

enum page_field_typed {
	PAGE_FIELD_TYPING,
	PAGE_FIELD_SUBMITTED,	/* the new value is in fields.typed */
	PAGE_FIELD_LEFT,	/* the value stays */
};

enum page_field_typed page_fields_type(struct page *, int code);
/* Puts an earlier input into the field that is edited. */
void page_fields_recall(struct page *, const char *text);

/* A decimal offset below `rows`; false, and why not as a sentence. */
bool page_field_offs(const char *typed, uint64_t rows, uint64_t *offs,
    char *why, size_t cap);
/* A node, a listing's place, or a path; false, likewise. */
bool page_field_word(enum page_field, const char *typed, char *why,
    size_t cap);

enum page_field_form {
	PAGE_FIELD_CLASSIC,	/* values of four columns, clipped as the note's */
	PAGE_FIELD_WIDE,	/* wider while they are edited; ~ where they are cut */
};

/* "NODE<0590> *L<0509>" */
void page_fields_put(const struct page *, const struct page_view *,
    enum page_field_form, struct page_picture *);
/* " OFFS=  0", with the blank */
void page_fields_put_offs(const struct page *, const char *offs,
    struct page_picture *);

#endif

/*
 * edit_fields: NODE<>, *L<> and OFFS=, the parts of line 2 that can be edited.
 *
 * Vocabulary
 *	cursor	is in one of the fields, or in none; Tab moves it.  "*" stands
 *		before the field that has it, and where none has it before L,
 *		as the note prints it.
 *	edited	is a field from Enter on: until Enter or Esc all keys are those
 *		of a line (typed_line.h).  A character takes the place of what stood
 *		there, if it comes first.
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

/* --- the keys ----------------------------------------------------------- */

/* "NODE", "L", "OFFS". */
const char *page_field_name(enum page_field);

/* The cursor into the next one, behind the last into the first. */
void page_fields_next(struct page *);
/* Out of all of them. */
void page_fields_leave(struct page *);
/* The one with the cursor, in which `now` stands, is edited. */
void page_fields_edit(struct page *, const char *now);

enum page_field_typed {
	PAGE_FIELD_TYPING,
	PAGE_FIELD_SUBMITTED,	/* as it is in fields.typed; no longer edited */
	PAGE_FIELD_LEFT,	/* as before; no longer edited */
};

enum page_field_typed page_fields_type(struct page *, int code);
/* What was typed before, into the field that is edited. */
void page_fields_recall(struct page *, const char *text);

/*
 * A row's offset in decimal digits, of so many rows.  False, with a sentence
 * that says where it is wrong.
 */
bool page_field_offs(const char *typed, uint64_t rows, uint64_t *offs,
    char *why, size_t cap);
/*
 * A word that can be a node, a listing's place, or a path.  False, with a
 * sentence that says where it cannot.
 */
bool page_field_word(enum page_field, const char *typed, char *why,
    size_t cap);

/* --- the line ----------------------------------------------------------- */

enum page_field_cut {
	PAGE_FIELD_CLIP,	/* without a trace, as the note's */
	PAGE_FIELD_TILDE,
};

/* "NODE<0590> *L<0509>"; values take so many columns at most. */
void page_fields_put(const struct page *, const struct page_view *,
    int node_cols, int listing_cols, enum page_field_cut,
    struct page_picture *);
/* " OFFS=  0", the blank before it too. */
void page_fields_put_offs(const struct page *, const char *offs,
    struct page_picture *);

#endif

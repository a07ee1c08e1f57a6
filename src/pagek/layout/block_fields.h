/*
 * block_fields: what a block has, in every format, and its row on 80 columns and
 * more with the heading above it.
 *
 * On a screen the function takes what the other columns leave; the numbers stay
 * together on the left of it, however wide it is.  Both functions that draw
 * write the line that picture_line() has begun.
 */
#ifndef PAGEK_BLOCK_FIELDS_H
#define PAGEK_BLOCK_FIELDS_H

#include "../../mdd/mdd.h"
#include "../page/view.h"
#include "../picture/field_table.h"

/* Subsets of page_block_fields: of blocks, and of free memory between them. */
enum {
	PAGE_BLOCK_HELD = 1 << 0,
	PAGE_BLOCK_FREE = 1 << 1,
	PAGE_BLOCK_KIND = 1 << 2,	/* which of both it is */
};

/* The lines of a caller, innermost first. */
struct page_stack {
	struct profile_line line[PROFILE_LINES_MAX];
	size_t n, origin;
	unsigned end;		/* enum ring_end; 0: not known */
};

/* Of a profile that has the caller; n 0: not known. */
void page_stack_get(struct profile *, uint64_t caller, struct page_stack *);

struct page_block_row {
	const struct page_view *v;
	const struct blk *b;
	const struct page_stack *stack;	/* NULL for text, which has its function from v */
};

extern const struct field_table page_block_fields;

void page_columns_heading(const struct page *, const struct page_view *,
    struct page_picture *);
void page_columns_row(const struct page *, const struct page_view *,
    const struct blk *, struct page_picture *);

void page_columns_mark(const struct page_view *, const struct blk *,
    struct page_picture *);

/* Whether there is room for the column of that title. */
bool page_columns_show(const struct page_view *, int cols, const char *title);
/* The title, blanks before it, of what stands at column `at`; NULL: none does. */
const char *page_columns_title(const struct page_view *, int cols, int at);

#endif

/*
 * group_fields: what groups of blocks have, in every format, and how a sum of
 * blocks looks in a row.
 *
 * Vocabulary
 *	sum	a group, a function among its callers, or one block alone.
 *	weighed	a sum and its share of all.
 *	form	which columns there can be on a screen, and how the rows are
 *		sorted.  The name has what the columns leave.
 *
 * Of a sample the figures are estimates: their columns are one wider, for the
 * mark.
 *
 * Example
 *	page_sum_heading("FUNCTION", v, &form, pic);
 *	picture_line(pic);
 *	page_sum_put(&sum, &form, "main", "main.c:12", pic);
 */
#ifndef PAGEK_GROUP_FIELDS_H
#define PAGEK_GROUP_FIELDS_H

#include "../../mdd/mdd.h"
#include "../difference/difference.h"
#include "../page/view.h"
#include "../picture/field_table.h"

/* Rows: struct profile_sum. */
extern const struct field_table page_sum_fields;

struct page_weighed {
	const struct profile_sum *sum;
	int64_t now_ms;			/* its blocks' ages are of this time */
	double part, whole;		/* of a measure; whole 0: there is no share */
};
extern const struct field_table page_weighed_fields;

/* Subsets of page_group_fields: of a page's groups, and of `pagek tree --flat`. */
enum {
	PAGE_GROUP_SHOWN = 1 << 0,
	PAGE_GROUP_COUNTED = 1 << 1,
};
/* Rows: struct page_sum, whose texts "" and NULL are not known. */
extern const struct field_table page_group_fields;

struct page_sum_form {
	bool self;		/* what a function asked for itself */
	bool whole;		/* type, thread, and the last minute too */
	bool since;		/* by how much it has changed since the mark */
	bool sorted;		/* by this: its heading is marked */
	enum profile_measure by;
	bool reverse;
};

struct page_sum {
	const struct page_view *v;
	const struct profile_group *g;
	uint64_t of;		/* bytes that are all */
	/* With a form that is whole; texts are outside ones. */
	const char *type, *thread;
	const uint64_t *point;	/* what it had, the oldest first; NULL: not known */
	size_t npoint;
	const char *since;	/* with a form that has it; NULL: not known */
	/* For other formats than text. */
	const char *name, *where, *function;
	struct page_weighed weighed;
	const struct page_since_sum *change;	/* since the mark; NULL: not known */
};

void page_sum_heading(const char *title, const struct page_view *,
    const struct page_sum_form *, struct page_picture *);
/* Behind what the line has already; where NULL: the name is no function's. */
void page_sum_put(const struct page_sum *, const struct page_sum_form *,
    const char *name, const char *where, struct page_picture *);

/*
 * What rows can be sorted by, from one to the next column, with `self` by that
 * too; `by` is one of them.
 */
enum profile_measure page_sum_next(enum profile_measure by, int step,
    bool self);
/* "bytes" */
const char *page_sum_word(enum profile_measure by);
/* "BYTES" */
const char *page_sum_title(enum profile_measure by);
/* -EINVAL: none is called so. */
int page_sum_called(const char *word, enum profile_measure *by);

/* --- rows (group_rows.c) ------------------------------------------------ */

/* The heading of the groups' rows, and one of them. */
void page_group_heading(const struct page *, const struct page_view *,
    struct page_picture *);
void page_group_row(const struct page *, const struct page_view *,
    uint64_t at, struct page_picture *);

#endif

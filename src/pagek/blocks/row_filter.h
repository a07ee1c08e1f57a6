/*
 * row_filter: which blocks match an expression (filter.h).
 *
 * Vocabulary
 *	pass	many blocks between two news of a session, so that what is known
 *		of them does not change meanwhile.
 *	unsure	of a block: the answer depends on a name of its caller or thread
 *		that is not known, or that may improve.  The name was requested.
 *
 * Example
 *	page_row_filter_begin(filter, &view);
 *	for (i = 0; i < n; i++)
 *		if (page_row_filter_matches(filter, &rows[i]))
 *			...
 *
 * A filter of NULL matches all blocks, and counts nothing.
 */
#ifndef PAGEK_ROW_FILTER_H
#define PAGEK_ROW_FILTER_H

#include "../../filter/filter.h"
#include "../page/view.h"

struct page_row_filter;

/* -EINVAL with the error filled; -ENOMEM. */
int page_row_filter_new(struct page_row_filter **, const char *expression,
    struct filter_error *);
/* Borrows the filter until page_row_filter_free().  -ENOMEM. */
int page_row_filter_borrow(struct page_row_filter **, const struct filter *);
void page_row_filter_free(struct page_row_filter *);

/* The expression as it was given; NULL: no filter. */
const char *page_row_filter_text(const struct page_row_filter *);

/* The expression uses names of threads or callers: the session must fetch them. */
bool page_row_filter_wants_names(const struct page_row_filter *);
/* The expression uses the requester of a block. */
bool page_row_filter_wants_requester(const struct page_row_filter *);

/* Begins a pass: borrows the view until the next news, and clears the sums. */
void page_row_filter_begin(struct page_row_filter *, const struct page_view *);
/* Free blocks never match. */
bool page_row_filter_matches(struct page_row_filter *, const struct blk *);
/* With the age that it had at that time of the node's clock. */
bool page_row_filter_matches_at(struct page_row_filter *, const struct blk *,
    int64_t now_ms);
/* The last answer depended on a name of the block's caller. */
bool page_row_filter_used_name(const struct page_row_filter *);

struct page_row_filter_sums {
	uint64_t blocks, bytes;
	double est_blocks, est_bytes;
	uint64_t unsure;	/* of all blocks that were looked at */
};

/* Blocks that have matched since the pass began. */
struct page_row_filter_sums page_row_filter_sums(
    const struct page_row_filter *);

/* Two lines: the text around byte `at` and a caret; `cols` columns at most. */
void page_filter_error_lines(const char *expression, size_t at, int cols,
    bool ascii, char *lines, size_t cap);
/* Byte `at` as a column: characters from 1 on. */
size_t page_filter_error_column(const char *expression, size_t at);

#endif

/*
 * shown_export: what the page shows as a document for another program or another
 * day: rows as text, JSON, NDJSON or CSV.
 *
 * Blocks (pagek.blocks/1) are all those that the filter leaves, in the order
 * shown, as of the moment when the export began (list_copy.h); of a large list
 * they are copied, sorted and written in portions, while the page goes on.
 * Groups (pagek.shown/1), differences (pagek.difference/1) and counts by type
 * (pagek.usage/1) are written at once.
 *
 * Example
 *	page_export_form("blocks.csv", &form);
 *	page_export_begin(&x, page, v, form, out);
 *	while ((r = page_export_go_on(x, v, 4000000)) == 0)
 *		...				a picture, and another view
 *	page_export_free(x);
 *
 * The files
 *	shown_export.c	which rows, and the blocks among them
 *	export_sums.c	groups and differences
 */
#ifndef PAGEK_SHOWN_EXPORT_H
#define PAGEK_SHOWN_EXPORT_H

#include "../cli/options.h"
#include "../difference/difference.h"
#include "../panels/difference_page.h"
#include "../blocks/choice.h"
#include "../groups/groups.h"
#include "documents.h"

struct page_export;

/* The form by the ending of the path; -EINVAL: unknown ending. */
int page_export_form(const char *path, enum text_format *);

/*
 * Exports page K: begins with blocks, or writes groups.  out stays the caller's.
 * -EAGAIN: what is shown is still being counted; -ENODATA: there is no list;
 * -ENOMEM.
 */
int page_export_begin(struct page_export **, struct page *,
    const struct page_view *, enum text_format, FILE *out);
/* Writes page H.  The same errors; -ENODATA also without a mark. */
int page_export_begin_diff(struct page_export **, struct page *,
    const struct page_view *, const struct page_diff *, enum text_format,
    FILE *out);
/* Writes the rows of page U.  -ENOMEM. */
int page_export_begin_usage(struct page_export **, const struct usage_list *,
    const struct usage_source *, enum text_format, bool ascii, FILE *out);
/*
 * Goes on for so many nanoseconds with a view of the same stream.  1: all is
 * written; 0: there is more; -ENOMEM, or what writing says.
 */
int page_export_go_on(struct page_export *, const struct page_view *,
    int64_t budget_ns);
/* The list is still being copied: all of it is needed. */
bool page_export_copies(const struct page_export *);
/* Rows, and how many of them are written. */
uint64_t page_export_rows(const struct page_export *, uint64_t *done);
/* Of groups and differences: the page has only the first ones. */
bool page_export_cut(const struct page_export *);
/* One of the rows: "block", "group" or "row". */
const char *page_export_what(const struct page_export *);
void page_export_free(struct page_export *);

/* --- sums (export_sums.c) ------------------------------------------------ */

/* Rows that were written, and those that the page has no room for. */
struct page_export_sums {
	uint64_t n, omitted;
};

/* Blocks of the difference. */
extern const struct field_table page_diff_block_fields;

/* All rows at once.  Errors as above. */
int page_export_groups(struct page *, const struct page_view *,
    enum text_format, FILE *, struct json *, struct page_export_sums *);
int page_export_diff(struct page *, const struct page_view *,
    const struct page_diff *, enum text_format, FILE *, struct json *,
    struct page_export_sums *);
/* Page H as text, in so many columns. */
int page_export_diff_text(struct page *, const struct page_view *,
    const struct page_diff *, int cols, FILE *);

#endif

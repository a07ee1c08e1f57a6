/*
 * export: what the page shows as a document for another program or another
 * day: rows as text, JSON, NDJSON or CSV.
 *
 * Vocabulary
 *	shown	the blocks that the filter leaves, in the order shown; the
 *		blocks of the open group; groups; or the difference to the mark
 *		as page H has it.
 *	portion	of a large list not all rows are copied, sorted and written at
 *		once, but while the page goes on.  They are as they were at one
 *		moment all the same: that of the beginning.
 *
 * Blocks are in the schema pagek.blocks/1, groups in pagek.shown/1, and a
 * difference is in pagek.difference/1.
 *
 * Example
 *	page_export_form("blocks.csv", &form);
 *	page_export_begin(&x, page, v, form, out);
 *	while ((r = page_export_go_on(x, v, 4000000)) == 0)
 *		...				a picture, and another view
 *	page_export_free(x);
 *
 * The parts
 *	export.c	which rows, and the blocks among them
 *	export_sums.c	groups and differences
 *	export_job.c	:export, while the page goes on
 */
#ifndef PAGEK_EXPORT_H
#define PAGEK_EXPORT_H

#include "../difference/difference.h"
#include "../panels/difference_page.h"
#include "../rows/choice.h"
#include "../rows/groups.h"
#include "documents.h"

enum page_export_form {
	EXPORT_TEXT,
	EXPORT_JSON,
	EXPORT_NDJSON,
	EXPORT_CSV,
};

struct page_export;

/* What a file of that name is to be; -EINVAL: its ending says nothing. */
int page_export_form(const char *path, enum page_export_form *);

/*
 * Copies what page K shows now, or writes it where it is no list of blocks.  out
 * stays the caller's.  -EAGAIN: what is to be shown is still being counted;
 * -ENODATA: there is no list; -ENOMEM.
 */
int page_export_begin(struct page_export **, struct page *,
    const struct page_view *, enum page_export_form, FILE *out);

/* Rows that were written, and those that the page itself has no room for. */
struct page_export_sums {
	uint64_t n, omitted;
};

/*
 * The same of rows that are few, which `put` writes at once: as text to the
 * file, in each other form to the json that is opened on it.  what: one of
 * them, "block".  Returns what put has returned.
 */
typedef int (*page_export_put)(void *arg, enum page_export_form, FILE *,
    struct json *, struct page_export_sums *);
int page_export_begin_put(struct page_export **, const char *what, bool ascii,
    page_export_put, void *arg, enum page_export_form, FILE *out);
/* ... of page H.  -ENODATA: there is no mark, either. */
int page_export_begin_diff(struct page_export **, struct page *,
    const struct page_view *, const struct page_diff *, enum page_export_form,
    FILE *out);
/*
 * So many nanoseconds more of it; the view is that of the same stream.  1: all
 * is written; 0: there is more; -ENOMEM, or what writing says.
 */
int page_export_go_on(struct page_export *, const struct page_view *,
    int64_t budget_ns);
/* The list is still being copied: all of it is needed. */
bool page_export_copies(const struct page_export *);
/* Rows, and how many of them are done with; what of; "blocks". */
uint64_t page_export_rows(const struct page_export *, uint64_t *done);
/*
 * Those are the first ones, and there are more, as "omitted" of JSON says: of
 * groups and of differences a page has no more.  Of blocks of page K all are
 * there.
 */
bool page_export_cut(const struct page_export *);
const char *page_export_what(const struct page_export *);
void page_export_free(struct page_export *);

/* --- sums (export_sums.c) ------------------------------------------------ */

/* All rows at once.  As page_export_begin(). */
int page_export_groups(struct page *, const struct page_view *,
    enum page_export_form, FILE *, struct json *, struct page_export_sums *);
/* That of page H, in so many columns. */
int page_export_diff_text(struct page *, const struct page_view *,
    const struct page_diff *, int cols, FILE *);
int page_export_diff(struct page *, const struct page_view *,
    const struct page_diff *, enum page_export_form, FILE *, struct json *,
    struct page_export_sums *);

#endif

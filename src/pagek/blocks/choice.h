/*
 * choice: the blocks that match the page's filter, sorted, as rows.
 *
 * Vocabulary
 *	filter	an expression; of a page that drains it applies to the drain's
 *		blocks.
 *	question	filter and sort keys together: what the rows answer.
 *	collection	the rows (collection.h).  In a large list it takes many
 *		pictures; each does a portion, and until the end the rows are
 *		those of the collection before, if that answers the question.
 *		At most a tenth of the time goes into collecting.
 *	unsure	of a block: a name that decides is not known yet.  The block is
 *		treated as if it had none.
 *
 * Without a filter, and in an order that the list has, nothing of this runs: the
 * rows are those of the list.  The strict page always shows the whole list.
 *
 * Blocks that are freed between two collections keep their rows, dimmed.  Text
 * shows the rows of one moment.  A screen has the first PAGE_CHOICE_MAX rows;
 * text and files have all.
 *
 * Example
 *	page_choice_filter(page, "size>=1k & type=ACREQ", &e);
 *	page_choice_refresh(page, v);			with each picture
 *	page_choice_sums(page, &sums);			"312 of 41,331"
 */
#ifndef PAGEK_CHOICE_H
#define PAGEK_CHOICE_H

#include "collection.h"
#include "blocks.h"

#define PAGE_CHOICE_MAX (1u << 19)	/* rows; the sums are of all blocks */

/* Sets the filter; "": none.  -EINVAL with the error filled, -ENOMEM. */
int page_choice_filter(struct page *, const char *expression,
    struct filter_error *);
/* Removes the filter; cannot fail. */
void page_choice_none(struct page *);
/* The expression; NULL: no filter. */
const char *page_choice_filter_text(const struct page *);
bool page_choice_filters(const struct page *);
/* The rows are a choice, not those of the list. */
bool page_choice_on(const struct page *);
void page_choice_sort(struct page *, const struct page_sorting *);
void page_set_order(struct page *, enum blklist_order, bool reverse);

/* Applies the command line's filter before the first picture.  -ENOMEM. */
int page_choice_ready(struct page *);

/*
 * For a walk of one's own: begin, then the answer for one block, or those of n
 * rows that match, until the session's next news.
 */
void page_choice_begin(const struct page *, const struct page_view *);
bool page_choice_matches(const struct page *, const struct blk *);
/* With the age that it had at that time of the node's clock. */
bool page_choice_matches_at(const struct page *, const struct blk *,
    int64_t now_ms);
size_t page_choice_keep(const struct page *, struct blk *rows, size_t n);
uint64_t page_choice_unsure(const struct page *);
/* Changes with the filter; 0: there is none. */
unsigned page_choice_filter_no(const struct page *);
/* The filter uses the requester: DESCR or RNOD. */
bool page_choice_wants_requester(const struct page *);

/*
 * Does a portion of what is due, with PAGE_WHOLE all of it.  For each picture,
 * before its rows are read.  -ENOMEM: the rows stay.
 */
int page_choice_refresh(struct page *, const struct page_view *);
/*
 * All rows of this moment at once, for a file; the caller frees them with
 * page_collection_fini().  The page's rows do not change.  -ENOMEM.
 */
int page_choice_whole(struct page *, const struct page_view *,
    struct page_collection *);
/*
 * Rows of text, with free blocks: begin collects all, or fails with -ENOMEM;
 * then up to n from `at` on are copied out, until the session's next news.
 */
int page_choice_text_begin(struct page *, const struct page_view *);
size_t page_choice_text(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);
void page_choice_free(struct page_choice *);

struct page_chosen {
	const char *what;	/* unit; NULL: "blocks" */
	bool known;		/* the sums are known */
	uint64_t blocks, of;	/* that match, of so many; of a sample estimates */
	uint64_t bytes;
	uint64_t listed;	/* rows */
	bool cut;		/* fewer than blocks that match */
	uint64_t unsure;
	unsigned percent;	/* progress, until the sums are known */
	bool sorting;		/* the walk is done */
};

void page_choice_sums(const struct page *, struct page_chosen *);
void page_collection_sums(const struct page_collection *, struct page_chosen *);
/* There are no rows yet, so the cursor's row is not known. */
bool page_choice_waits(const struct page *);
/* "sorting: 40 %" until there are rows, unless the filter's line says it; "". */
void page_choice_waiting(const struct page *, char *out, size_t cap);
/* Writes "filter size>=1k  312 of 41,331 blocks, 4.2 MiB" into the line begun. */
void page_choice_put(const struct page *, const struct page_view *,
    struct page_picture *);
/* The same with other sums. */
void page_choice_put_sums(const struct page *, const struct page_view *,
    const struct page_chosen *, struct page_picture *);

extern const struct page_rows_ops page_rows_choice;

#endif

/*
 * choice: the blocks that the page's viewer has chosen, as rows.
 *
 * Vocabulary
 *	filter		an expression; blocks that it does not mean are kept
 *			back.  Of a page that is drained those of the drain
 *			alone are asked.
 *	question	filter and order together: what the rows answer.
 *	take		the list walked through for the blocks that are let
 *			through, and those sorted (collect.h).  In a large list
 *			that takes many pictures, in each of which a portion is
 *			done; meanwhile the rows are those of the take before,
 *			or none when they answered another question.  What a
 *			take costs decides when the next may begin: a tenth of
 *			the time at most goes into them.
 *	unsure		of a block: a name that decides has not come.  It is
 *			let through or not as if it had none, until it comes.
 *
 * Without a filter, and in an order that the block list has itself, nothing
 * of this runs: the rows are those of the list.  The strict page shows the
 * list whole, whatever is asked for.
 *
 * Between two takes of a large list rows may have ended; they stay, and are
 * shown as such.  Text output has no time between: its rows are of one moment.
 * A screen's rows are the first PAGE_CHOICE_MAX; text and files have all.
 *
 * Example
 *	page_choice_filter(page, "size>=1k & type=ACREQ", &e);
 *	page_choice_refresh(page, v);			with each picture
 *	page_choice_sums(page, &sums);			"312 of 41,331"
 */
#ifndef PAGEK_CHOICE_H
#define PAGEK_CHOICE_H

#include "collect.h"
#include "rows.h"

#define PAGE_CHOICE_MAX (1u << 19)	/* the sums are of all, whatever has rows */

/*
 * The filter; "" for none, as Esc clears it.  -EINVAL with the error filled, or
 * -ENOMEM: the one before stays.
 */
int page_choice_filter(struct page *, const char *expression,
    struct filter_error *);
/* No filter, whatever there was; takes no memory. */
void page_choice_none(struct page *);
/* The expression; NULL of none. */
const char *page_choice_filter_text(const struct page *);
/* Some blocks are kept back; rows are of a choice, not of the list. */
bool page_choice_filters(const struct page *);
bool page_choice_on(const struct page *);
/* Another order of the rows. */
void page_choice_sort(struct page *, const struct page_sorting *);

/*
 * The filter of the command line is in force: else with the first picture.
 * -ENOMEM.
 */
int page_choice_ready(struct page *);

/*
 * For whoever walks through the list himself: begin, then ask for block after
 * block whether the filter lets it through, until the session's next news;
 * sift keeps those of n rows.
 */
void page_choice_begin(const struct page *, const struct page_view *);
bool page_choice_lets(const struct page *, const struct blk *);
size_t page_choice_sift(const struct page *, struct blk *rows, size_t n);
/* Of those asked about since begin. */
uint64_t page_choice_unsure(const struct page *);
/* Another number when the filter is another; 0 while there is none. */
unsigned page_choice_filter_no(const struct page *);
/* It asks who requested a block: DESCR or RNOD. */
bool page_choice_wants_requester(const struct page *);

/*
 * Does a portion of what is due; for text output, all of it.  With every
 * compose, before rows are looked at.  -ENOMEM: the rows are those before.
 */
int page_choice_refresh(struct page *, const struct page_view *);
/*
 * All rows as of this moment, whatever that costs, for a file: the caller's,
 * until page_taken_fini().  The page's own stay as they are.  -ENOMEM.
 */
int page_choice_whole(struct page *, const struct page_view *,
    struct page_taken *);
/*
 * Rows of text, in any order, what is free among them: begin takes all of
 * them, or has no memory for that, -ENOMEM; then those from the at-th on, until
 * the next news.
 */
int page_choice_text_begin(struct page *, const struct page_view *);
size_t page_choice_text(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);
void page_choice_free(struct page_choice *);

struct page_chosen {
	const char *what;	/* is counted; NULL: "blocks" */
	bool known;		/* there has been a take: what follows is of it */
	uint64_t blocks, of;	/* let through, of so many; of a sample, estimates */
	uint64_t bytes;
	uint64_t listed;	/* rows */
	bool cut;		/* fewer than there are blocks */
	uint64_t unsure;
	unsigned percent;	/* of the first take, until it is known ... */
	bool sorting;		/* ... and that it is sorted now */
};

void page_choice_sums(const struct page *, struct page_chosen *);
void page_taken_sums(const struct page_taken *, struct page_chosen *);
/* No rows yet, and they are on their way: where the cursor is, is not known. */
bool page_choice_waits(const struct page *);
/* "sorting: 40 %" while rows are waited for that no filter's line tells of; "". */
void page_choice_waiting(const struct page *, char *out, size_t cap);
/* "filter size>=1k  312 of 41,331 blocks, 4.2 MiB", in the line begun. */
void page_choice_put(const struct page *, const struct page_view *,
    struct page_picture *);
/* The same of what somebody else has chosen by it. */
void page_choice_put_sums(const struct page *, const struct page_view *,
    const struct page_chosen *, struct page_picture *);

extern const struct page_rows_ops page_rows_choice;

#endif

/*
 * usage_page: page U, counts by type, as text.  The caller brings the counts.
 *
 * Vocabulary
 *	max	here: the most since this viewer has reset it.
 *	trend	bytes in use at the last readings.
 *
 * Example
 *	page_usage_take(u, &taken);		a new reading of the counts
 *	page_usage_compose(u, &head, &opts, 80, 24, &pic);
 *	page_usage_move(u, 1);
 *	row = page_usage_row(u);
 */
#ifndef PAGEK_USAGE_PAGE_H
#define PAGEK_USAGE_PAGE_H

#include "../page/view.h"
#include "usage.h"

struct page_usage_taken {
	const struct usage_row *row;
	size_t n;
	uint64_t change;		/* another number: another reading */
	struct usage_namer *namer;
	const struct stream_types *types;
};

/* All zeros but for the order at the start. */
struct page_usage {
	struct usage_list list;		/* as shown */
	struct usage_line sum;		/* of all rows */
	size_t of;			/* rows before the filter */
	bool typed;			/* some have a type by the program's words */
	enum usage_grouping by;
	enum usage_sort sort;
	bool reverse;
	struct filter *filter;		/* owned, NULL: none */
	struct hashmap maxima;		/* by caller, type and size */
	struct hashmap trends;		/* by name and num */
	uint64_t change, names;		/* of the last reading, and of its names */
	int64_t reset_ms;		/* wall clock; 0: no reading yet */
	uint64_t at;			/* the cursor's row, by its key; 0: none */
	struct page_list rows;
};

/* -ENOMEM: the last rows stay. */
int page_usage_take(struct page_usage *, const struct page_usage_taken *);
/* Shows rows that are named already, which become its own; also if it fails. */
int page_usage_show(struct page_usage *, struct usage_list *, uint64_t change);
/* The maxima of this viewer begin again. */
void page_usage_reset(struct page_usage *);
/* Another target. */
void page_usage_clear(struct page_usage *);
void page_usage_fini(struct page_usage *);

/* The values in the first lines. */
struct page_usage_head {
	const char *node, *target, *state;
	int64_t since_ms;		/* wall clock; 0: not known yet */
	bool from_start;
	const char *notice;		/* "" none */
	uint64_t sample;
	uint64_t rss;			/* of the target, in bytes; 0: not known */
	bool utc;
};

/* rows 0: as text, with all lines, without cursor and key bar.  -ENOMEM. */
int page_usage_compose(struct page_usage *, const struct page_usage_head *,
    bool ascii, int cols, int rows, struct page_picture *);
void page_usage_move(struct page_usage *, int delta, bool scroll);
/* The row under the cursor; NULL: there is none. */
const struct usage_line *page_usage_row(const struct page_usage *);
/* The filter of page K for the blocks of a row; false: there is none. */
bool page_usage_filter_of(const struct page_usage *, const struct usage_line *,
    char *out, size_t cap);
/* The key of the next or previous column that is on the screen; USAGE_SORTS: none. */
size_t page_usage_beside(const struct page_usage *, int cols, bool right);

#endif

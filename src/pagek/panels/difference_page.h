/*
 * difference_page: page H, the difference to the mark, as text and as rows that
 * the cursor moves among.  Rows are groups or blocks.
 *
 * Example
 *	page_diff_compose(&diff, page, v, 80, 24, &pic);
 *	page_diff_move(&diff, page, 1);
 */
#ifndef PAGEK_DIFFERENCE_PAGE_H
#define PAGEK_DIFFERENCE_PAGE_H

#include "../difference/difference.h"
#include "../picture/field_table.h"

/* --- page H (difference_page.c) ------------------------------------------------ */

enum page_diff_view {
	DIFF_ALL,
	DIFF_NEW,
	DIFF_FREED,
	DIFF_GROWN,
	DIFF_VIEWS		/* one more than the last */
};

/* How one looks at the difference; starts as all zeros. */
struct page_diff {
	enum page_diff_view view;
	unsigned mark_no;	/* of the mark that all else is about ... */
	unsigned kind;		/* ... and page->group.kind */
	bool by_block;		/* rows are blocks ... */
	struct page_group_ref of;	/* ... of that group; its key 0: all */
	char of_name[256];	/* that it had when it was opened; outside text */
	bool held;		/* the cursor is on a row: of the group ... */
	uint64_t key;		/* ... or of the block with that number */
	size_t selected, top;	/* rows */
	int window;
	size_t rows;		/* in the last picture */
	bool plain;		/* no key bar: a picture for a file, no higher than its rows */
};

/* `rows` lines, of a plain one as many at most.  -ENOMEM. */
int page_diff_compose(struct page_diff *, struct page *,
    const struct page_view *, int cols, int rows, struct page_picture *);
void page_diff_move(struct page_diff *, const struct page *, int delta);
/* The next view of what is shown. */
void page_diff_next_view(struct page_diff *);
/* Blocks instead of groups, or the other way round. */
void page_diff_toggle(struct page_diff *);
/* The groups, when they have become other ones. */
void page_diff_regroup(struct page_diff *);
/* The blocks of the group under the cursor; false: there is none. */
bool page_diff_open(struct page_diff *, struct page *,
    const struct page_view *);
/* Back among the groups; false: one was there. */
bool page_diff_back(struct page_diff *);
/* The block under the cursor, with whether it is there; false: there is none. */
bool page_diff_block(const struct page_diff *, const struct page *,
    struct blk *, bool *live);
/* The same with what has become of it; borrowed until the next refresh. */
const struct page_since_block *page_diff_row(const struct page_diff *,
    const struct page *);
/* Blocks of the view that the comparison has counted and not kept. */
uint64_t page_diff_unlisted(const struct page_diff *,
    const struct page_since *);
/* "new", "grown", "shrunk", "moved", "freed" */
const char *page_since_change_word(enum page_since_change);
/* The view has that group. */
bool page_diff_lets(const struct page_diff *, const struct page_since_group *);
const char *page_diff_view_name(const struct page_diff *);

/* --- above its rows ---------------------------------------- */

void page_diff_head(const struct page_diff *, const struct page *,
    const struct page_view *, const struct page_since *, int rows,
    struct page_picture *);

/* --- its groups (difference_fields.c) ----------------------------------------- */

#define PAGE_DIFF_NAME_MIN 12	/* columns that a name keeps */
#define PAGE_DIFF_BAR_ROWS 8	/* lower than that, rows are worth more than a key bar */

void page_diff_name(const struct page *, const struct page_view *,
    const struct page_since *, const struct page_since_group *,
    struct page_group_words *);
/* The heading and a row, in the line begun; words is room for the name. */
struct page_diff_row {
	const struct page_view *v;
	const struct page_since *s;
	const struct page_since_group *g;
	const struct page_group_words *words;	/* NULL for text */
	double minutes;		/* since the mark */
};
extern const struct field_table page_diff_fields;

void page_diff_heading(const struct page_view *, const struct page_since *,
    struct page_picture *);
void page_diff_group(const struct page *, const struct page_view *,
    const struct page_since *, const struct page_since_group *,
    struct page_group_words *, struct page_picture *);
/* "1,331", of a sample "~1,331" */
void page_diff_count(char out[32], const struct page_view *, double n);

#endif

/*
 * difference_page: page H, the difference to the mark, as text.  Its rows are
 * groups or blocks; a cursor moves among them.
 *
 * Example
 *	page_diff_compose(&diff, page, v, 80, 24, &pic);
 *	page_diff_move(&diff, page, 1, false);
 */
#ifndef PAGEK_DIFFERENCE_PAGE_H
#define PAGEK_DIFFERENCE_PAGE_H

#include "../difference/difference.h"
#include "../picture/field_table.h"

enum page_diff_view {
	DIFF_ALL,
	DIFF_NEW,
	DIFF_FREED,
	DIFF_GROWN,
	DIFF_VIEWS		/* one more than the last */
};

/* All zeros at the start. */
struct page_diff {
	enum page_diff_view view;
	unsigned mark_no, kind;	/* page->marked->mark_no and page->group.kind of all else */
	bool by_block;		/* rows are blocks ... */
	struct page_group_ref of;	/* ... of that group; its key 0: all */
	char of_name[256];	/* its name when it was opened; outside text */
	bool has_key;		/* the cursor stays on a row: on the group with ... */
	uint64_t key;		/* ... that key, or the block with that number */
	struct page_list list;	/* of groups or blocks */
	size_t rows;		/* in the last picture */
	bool plain;		/* for a file: no key bar, no higher than its rows */
};

/* `rows` lines; at most so many if it is plain.  -ENOMEM. */
int page_diff_compose(struct page_diff *, struct page *,
    const struct page_view *, int cols, int rows, struct page_picture *);
void page_diff_move(struct page_diff *, const struct page *, int delta, bool scroll);
void page_diff_next_view(struct page_diff *);
const char *page_diff_view_name(const struct page_diff *);
/* The view has that group. */
bool page_diff_lets(const struct page_diff *, const struct difference_group *);
/* Blocks instead of groups, or groups instead of blocks. */
void page_diff_toggle(struct page_diff *);
/* All groups, from the first on: the page groups by another kind. */
void page_diff_regroup(struct page_diff *);
/* The blocks of the group under the cursor; false: there is none. */
bool page_diff_open(struct page_diff *, struct page *,
    const struct page_view *);
/* From the blocks of a group back to all groups; false: all were shown. */
bool page_diff_back(struct page_diff *);
/* The block under the cursor, and whether it is live; false: there is none. */
bool page_diff_block(const struct page_diff *, const struct page *,
    struct blk *, bool *live);
/* The same with its change; borrowed until the next refresh. */
const struct difference_block *page_diff_row(const struct page_diff *,
    const struct page *);
/* The last comparison does not have the rows that are wanted. */
bool page_diff_is_pending(const struct page_diff *, const struct page *,
    const struct difference *);
/* Blocks of the view that were counted and not listed. */
uint64_t page_diff_unlisted(const struct page_diff *,
    const struct difference *);
/* "new", "grown", "shrunk", "moved", "freed" */
const char *page_diff_change_word(enum difference_change);

/* --- groups (difference_fields.c) ----------------------------------------- */

#define PAGE_DIFF_NAME_MIN 12	/* columns that a name keeps */
#define PAGE_DIFF_BAR_ROWS 8	/* a lower page has rows in place of a key bar */

void page_diff_name(const struct page *, const struct page_view *,
    const struct difference *, const struct difference_group *,
    struct page_group_words *);
struct page_diff_row {
	const struct page_view *v;
	const struct difference *s;
	const struct difference_group *g;
	const struct page_group_words *words;	/* NULL for text */
	const struct profile_group *as;	/* its module, file and line; NULL: not known */
	double minutes;		/* since the mark */
};
extern const struct field_table page_diff_fields;

/* Both write the line begun; `words` is room for the name. */
void page_diff_heading(const struct page_view *, const struct difference *,
    struct page_picture *);
void page_diff_group(const struct page *, const struct page_view *,
    const struct difference *, const struct difference_group *,
    struct page_group_words *, struct page_picture *);
/* "1,331", of a sample "~1,331" */
void page_diff_count(char out[32], const struct page_view *, double n);

#endif

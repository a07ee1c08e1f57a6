/*
 * rows: which rows a page has, and the cursor among them.
 *
 * Vocabulary
 *	rows	blocks of the list, groups, or the blocks of one group: a struct
 *		page_rows_ops each.
 *	choice	the blocks that a filter lets through, sorted (choice.h).
 *	group	blocks that have something in common, as one row (groups.h).
 *	drain	only the blocks of one moment as rows (drain.h).
 *	frozen order	rows that keep their places while values change
 *		(frozen_order.h).
 *	walk	a block list looked through in portions (list_walk.h).
 *
 * Example: the blocks in a window of 20 rows
 *	page_follow(page, v, 20);
 *	n = page_rows_blocks(page, v, page->offs, blks, 20);
 */
#ifndef PAGEK_ROWS_H
#define PAGEK_ROWS_H

#include "../page/view.h"

/* --- rows and moving (cursor.c) ------------------------------------------- */

/*
 * What the rows are: blocks of the list, groups, or blocks of one group.
 * cursor.c alone says which of them are shown; what else rows may be made of
 * is one more of these.
 */
struct page_rows_ops {
	uint64_t (*total)(const struct page *, const struct page_view *);
	/* Blocks at offset `at` on, copied out; NULL: rows are no blocks. */
	size_t (*window)(const struct page *, const struct page_view *,
	    uint64_t at, struct blk *out, size_t n);
	/* Remembers what stands at the cursor; false: nothing does. */
	bool (*hold)(struct page *, const struct page_view *);
	/* Where that stands now, of so many rows; false: it has gone. */
	bool (*held)(struct page *, const struct page_view *, uint64_t total,
	    uint64_t *offset);
};

extern const struct page_rows_ops page_rows_list;	/* cursor.c: of the whole list */
extern const struct page_rows_ops page_rows_groups;	/* groups.c */
extern const struct page_rows_ops page_rows_members;	/* group_members.c */

/* What the rows are made of, whether or not they stand still (frozen_order.h). */
const struct page_rows_ops *page_rows_ops(const struct page *);
/* Groups are shown in place of blocks. */
bool page_shows_groups(const struct page *);
/* Of what is shown. */
uint64_t page_rows_total(const struct page *, const struct page_view *);
/* Blocks at offset `at` on, copied out; none when groups are shown. */
size_t page_rows_blocks(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);
/* The block under the cursor, or the first one shown; false: there is none. */
bool page_block_at_cursor(const struct page *, const struct page_view *,
    struct blk *);

void page_hold_block(struct page *, const struct blk *);
bool page_holds_block(const struct page *, const struct blk *);

/* Keeps OFFS and cursor inside the rows and the cursor on what it is on. */
void page_follow(struct page *, const struct page_view *, int window);
/* The cursor by so many rows; it appears when there is none. */
void page_move(struct page *, int64_t delta);
void page_move_to(struct page *, uint64_t offset);
/*
 * Takes hold of what stands at the cursor now: who moves it means what is
 * shown, not what the next picture may have in that row.
 */
void page_hold(struct page *, const struct page_view *);
void page_set_order(struct page *, enum blklist_order, bool reverse);
/* The order of the list below the rows, which the rows may be sorted from. */
enum blklist_order page_list_order(const struct page_opts *);
bool page_list_reverse(const struct page_opts *);

/* --- groups (groups.c; groups.h has the rest) --------------------------- */

/* What the blocks are grouped by: a row of the table of kinds, 0 none. */
void page_set_group(struct page *, unsigned kind);
/* What each of these groups is grouped by once more; 0 none. */
void page_set_group_below(struct page *, unsigned kind);
/* The blocks of the group under the cursor; false: there is none. */
bool page_open_group(struct page *, const struct page_view *);
/* Back among the groups, to that one. */
void page_close_group(struct page *);

#endif

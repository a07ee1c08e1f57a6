/*
 * expanded_groups: groups that are expanded in their place, and what each row
 * is then.
 *
 * Vocabulary
 *	branch	an expanded group: below its row are the groups of the second
 *		level, or, without one and in those groups, its blocks.
 *	leaf	a branch with blocks.
 *	run	consecutive rows of one kind in one branch.  Only runs are stored,
 *		so a million groups cost no more than three.
 *
 * A branch stays while its group is empty, and follows the group's names.  Each
 * pass fills it, and so does page_groups_fill(); its row ROW_OMITTED says that
 * rows are still to come.
 *
 * Example: the row at an offset
 *	if (page_groups_at(g, at, &row) && row.what == ROW_BLOCK)
 *		b = &row.branch->blk[row.index];
 */
#ifndef PAGEK_EXPANDED_GROUPS_H
#define PAGEK_EXPANDED_GROUPS_H

#include "groups.h"

#define PAGE_BRANCHES_MAX 256	/* expanded at once */
#define PAGE_BRANCH_ROWS 1000	/* groups or blocks of one that are listed */

struct page_branch {
	struct page_group_ref of;	/* the group, or the one that it is in */
	struct page_group_ref below;	/* the group of the second level */
	bool second;			/* it is of the second level */
	bool closed;			/* freed when the next pass ranks */
	int64_t rank;			/* among the groups beside it; negative: empty now */
	struct profile_sum sum;
	/* Of a leaf: blocks in the order of the page. */
	bool leaf;
	struct blk *blk, *coming;	/* PAGE_BRANCH_ROWS each */
	size_t n, ncoming;
	size_t nlive;			/* of n; in a frozen order freed blocks keep their rows */
	/* Of others: groups. */
	struct profile_ranking *shown, *ranking;
	struct page_group_window window;
};

struct page_run {
	uint64_t from;			/* offset of its first row */
	uint64_t n;
	enum page_row_kind what;
	struct page_branch *branch;	/* NULL: groups of the first level */
	size_t first;			/* index of the first row in its branch */
};

struct page_branches {
	struct page_branch *branch[PAGE_BRANCHES_MAX];	/* owned */
	size_t n;
	struct page_run run[3 * PAGE_BRANCHES_MAX + 1];
	size_t nrun;
	struct profile_subgroups below[PAGE_BRANCHES_MAX];
	bool walking;			/* for the blocks of leaves */
	struct page_walk walk;
};

void page_branches_free(struct page_branches *);
/* Collapses all. */
void page_branches_clear(struct page_groups *);

/* A pass begins to rank: the groups of branches are counted with it.  -ENOMEM. */
int page_branches_rank(struct page_groups *, const struct page *,
    const struct page_view *);
/* The ranking is done, and its rows are shown. */
void page_branches_show(struct page_groups *);

/* Begins to find the blocks of all leaves; false: there is no leaf. */
bool page_branches_walk(struct page_groups *, const struct page *,
    const struct page_view *);
/* Looks at about at_most blocks.  Old ones are shown until *over.  -ENOMEM. */
int page_branches_next(struct page_groups *, const struct page *,
    const struct page_view *, size_t at_most, bool *over);

#endif

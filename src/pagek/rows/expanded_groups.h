/*
 * expanded_groups: groups that are open in their place among the others, and
 * what each row is then.
 *
 * Vocabulary
 *	branch	a group that is open: below its row stand the groups of the
 *		second level, or, without one and within those, its blocks.
 *	leaf	a branch with blocks.
 *	run	rows that follow each other and are of one sort, in one branch.
 *		Runs are all that is kept of the order of rows, so a million
 *		groups cost no more than three.
 *	rest	the row that says how much of a branch is not listed.
 *
 * A branch stays when nothing is in it for a while, and holds on to its group
 * when names come.  What is in it is made with each take, and once more when it
 * is opened; till then its rest says so.
 *
 * Example: the row at an offset
 *	if (page_groups_at(g, at, &row) && row.what == ROW_BLOCK)
 *		b = &row.branch->blk[row.index];
 */
#ifndef PAGEK_EXPANDED_GROUPS_H
#define PAGEK_EXPANDED_GROUPS_H

#include "groups.h"

#define PAGE_BRANCHES_MAX 256	/* open at once */
#define PAGE_BRANCH_ROWS 1000	/* groups or blocks of one that are listed */
#define PAGE_BRANCH_WINDOW 64

struct page_branch {
	struct page_group_hold of;	/* the group of the first level ... */
	struct page_group_hold below;	/* ... and, if it is of the second, which of its groups */
	bool second;
	bool closed;			/* goes with the next take */
	int64_t rank;			/* among the groups beside it; negative: there is none now */
	struct profile_sum sum;
	/* Of a leaf: blocks in the order of the page. */
	bool leaf;
	struct blk *blk, *coming;	/* PAGE_BRANCH_ROWS each */
	size_t n, ncoming;
	size_t nlive;			/* of those shown: the others keep their rows in a frozen order */
	/* Of others: groups. */
	struct profile_ranking *shown, *ranking;
	struct profile_group row[PAGE_BRANCH_WINDOW];
	size_t row_at, nready;
};

struct page_run {
	uint64_t from;			/* offset of its first row */
	uint64_t n;
	enum page_row_sort what;
	struct page_branch *branch;	/* NULL: groups of the first level */
	size_t first;			/* index of that row among its like */
};

struct page_branches {
	struct page_branch *branch[PAGE_BRANCHES_MAX];	/* owned */
	size_t n;
	struct page_run run[3 * PAGE_BRANCHES_MAX + 1];
	size_t nrun;
	struct profile_ranking_below below[PAGE_BRANCHES_MAX];
	bool walking;			/* for the blocks of leaves */
	struct page_walk walk;
};

void page_branch_free(struct page_branch *);
void page_branches_free(struct page_branches *);
/* All are closed. */
void page_branches_clear(struct page_groups *);

/*
 * A take begins to rank: its groups of the second level are counted with it.
 * -ENOMEM.
 */
int page_branches_rank(struct page_groups *, const struct page *,
    const struct page_view *);
/* They are counted, and the rows are those of the new ranking. */
void page_branches_show(struct page_groups *);

/*
 * Looks for the blocks of all leaves, up to at_most of the list in one call;
 * those found before stay until it is over.  The first is false: there is no
 * leaf.
 */
bool page_branches_walk(struct page_groups *, const struct page *,
    const struct page_view *);
int page_branches_next(struct page_groups *, const struct page *,
    const struct page_view *, size_t at_most, bool *over);

#endif

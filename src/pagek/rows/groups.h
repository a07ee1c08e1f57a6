/*
 * groups: the blocks summed by what they have in common, and the blocks of one
 * group.
 *
 * Vocabulary
 *	kind	what makes a group (group_kinds.h); kind 0 is no groups at all.
 *	take	the blocks summed anew: they are walked through (list_walk.h), get
 *		their names, and are ranked.  In a large list that takes many
 *		pictures, in each of which a portion is done; meanwhile the
 *		rows are those of the take before, and the sums are those of
 *		the blocks as they were when the walk came by.
 *		What a take costs decides when the next may begin: a tenth of
 *		the time at most goes into them.
 *	portion	a bound on what is done for the groups in one picture, in
 *		units that cost about a nanosecond.
 *	heir	where a group's blocks are when names have come and the group
 *		is called otherwise, or has become one with another.
 *	members	the blocks of the open group.
 *
 * The parts
 *	group_kinds.c		what blocks can be grouped by
 *	groups.c	takes
 *	group_cursor.c	the cursor on a group, and which one is open
 *	group_trends.c	what they had in the last minute
 *	group_members.c	the blocks of groups that are open
 *	expanded_groups.c	groups that are open in their place, and what each row is
 *	expand.c	... opened and closed, and the cursor among them
 */
#ifndef PAGEK_GROUPS_H
#define PAGEK_GROUPS_H

#include "collect.h"
#include "group_kinds.h"
#include "group_trends.h"

#define PAGE_GROUPS_MAX 65536	/* the heaviest are listed; the sum is of all */
#define PAGE_GROUPS_WINDOW 128	/* rows that are kept ready */
#define PAGE_MEMBERS_MAX 65536	/* blocks of the open group that are listed */

/* What the blocks are told apart by while they are walked through. */
struct page_group_tags {
	const struct page_group_kind *kind[2];	/* of each level, where it is by a tag */
	bool by_caller;
	bool ages;
};

/* A group that one holds on to while names come and sums change. */
struct page_group_hold {
	uint64_t key;
	uint64_t caller;	/* one that is in it */
	uint64_t frame;	/* by any frame: that of the caller's which is meant */
};

struct page_members;
struct page_branches;
struct page_branch;

/* What a row among the groups is. */
enum page_row_sort {
	ROW_GROUP,
	ROW_BELOW,		/* a group of the second level */
	ROW_BLOCK,
	ROW_REST,		/* how much is not listed */
};

struct page_group_at {
	enum page_row_sort what;
	size_t index;		/* among its like in its branch; of groups their rank */
	uint64_t left;		/* rows from here on that are such */
	struct page_branch *branch;	/* what it is in; NULL: a group of the first level */
	uint64_t rest;		/* 0: not known yet */
};

enum page_groups_step {
	GROUPS_IDLE,
	GROUPS_WALK,		/* through the blocks, into sums */
	GROUPS_RANK,		/* the sums into groups */
	GROUPS_MEMBERS,		/* through the blocks, for those of the open group */
};

struct page_groups {
	struct profile *profile;
	struct profile_cells *cells;	/* sums as groups need them ... */
	struct page_group_tags tags;	/* ... by these; and those on their way */
	struct page_group_tags coming_tags;
	struct profile_ranking *shown;	/* that rows are of ... */
	struct profile_ranking *coming;	/* ... and that is being made */
	unsigned kind;		/* that rows are of */
	struct profile_group row[PAGE_GROUPS_WINDOW];	/* the heaviest first ... */
	size_t row_at, nready;	/* ... so many from that one on */
	size_t nrow;		/* groups of the first level that have rows */
	size_t all;		/* groups that there are ... */
	size_t late;		/* ... of them those that have come since the order was frozen */
	bool keeps, coming_keeps;	/* rows are in the order of those before; so will be those that come */
	uint64_t rows;		/* in all, with those of what is open */
	struct page_branches *branches;	/* what is open in its place; NULL: nothing ever was */
	enum profile_measure measure;	/* what those that come are sorted by ... */
	bool reverse;
	enum profile_measure shown_measure;	/* ... and those that are shown */
	bool shown_reverse;
	bool anew;		/* other blocks are grouped: no order is kept */
	struct page_trends *trends;	/* NULL: none so far */
	struct profile_sum total;
	int64_t now_ms;		/* of the take */
	size_t missing;		/* callers whose names are not all there */

	enum page_groups_step step;
	struct scan scan;	/* runs while the step belongs to a take, not to what is there */
	bool hasty;		/* somebody waits for the first rows */
	struct page_walk walk;
	unsigned coming_kind;
	int64_t coming_ms;	/* when its walk began, on the node's clock */
	uint64_t coming_changes;
	size_t left, of;	/* callers to be ranked, of so many */

	bool taken;
	unsigned round;		/* page->round of the take */
	uint32_t stream_no;	/* the stream's */
	const struct blklist *list;	/* never looked into: is it another one? */
	uint64_t changes;	/* of the list, counted */
	uint64_t serial;	/* counts up when profile or rows have changed */

	enum page_row_sort cursor_on;
	struct page_group_hold cursor;	/* the group, or the one that it is in ... */
	struct page_group_hold cursor_below;	/* ... and of the second level */
	bool cursor_second;	/* what is not a group is in a group of the second level */
	struct page_group_hold open;
	struct page_group_hold open_below;
	bool open_second;	/* a group of the second level is open */
	struct page_group_words open_words;	/* as its row has them */
	struct page_members *members;
};

/*
 * Does a portion of what is due.  For who looks at groups or at neighbours; the
 * rows are those of page->group, none for 0.  -ENOMEM.
 */
int page_groups_refresh(struct page *, const struct page_view *);
void page_groups_free(struct page_groups *);
/*
 * The rows are groups of the kind that is wanted.  A key may be typed ahead of
 * the picture that it means: a portion is done for it at once.  False: not yet.
 */
bool page_groups_at_hand(struct page *, const struct page_view *);
/*
 * A group has been opened in its place: what is in it is looked for at once.
 * -ENOMEM.
 */
int page_groups_fill(struct page *, const struct page_view *);
/*
 * A group of the first level by its rank; borrowed until the next; NULL behind
 * the last.
 */
const struct profile_group *page_groups_row(struct page_groups *, size_t at);
/* "groups: 40 %" while nothing is there to be shown yet; "" otherwise. */
void page_groups_waiting(const struct page_groups *, char *out, size_t cap);

/*
 * The key that the held group has by now; it follows the names.  False: it is
 * gone.
 */
bool page_group_find(const struct page_groups *, const struct page_view *,
    enum profile_by, struct page_group_hold *);
/* The same of another ranking. */
bool page_group_find_in(struct profile *, const struct page_view *,
    enum profile_by, const struct profile_ranking *,
    struct page_group_hold *);
/* Holds the group of that row. */
void page_group_hold(const struct page_view *, enum profile_by,
    const struct profile_group *, struct page_group_hold *);

/* "zmalloc  zmalloc.c:112": name and place; outside text. */
void page_group_name(const struct profile_group *, char *out, size_t cap);

/* --- open in their place (expanded_groups.c, expand.c) ------------------------- */

#define PAGE_UNFOLD_ALL 100	/* groups that are opened at once */

/* False: behind the last. */
bool page_groups_at(const struct page_groups *, uint64_t at,
    struct page_group_at *);
/* The other way round. */
bool page_groups_offset(const struct page_groups *, enum page_row_sort,
    const struct page_branch *, size_t index, uint64_t *at);
/* What each row is is made out anew: groups or what is open have changed. */
void page_branches_plan(struct page_groups *);
/* NULL: it is not open.  below: the key of its group; NULL: the group itself. */
struct page_branch *page_branch_find(const struct page_groups *, uint64_t key,
    const uint64_t *below);
/* The rank of the group of the first level that it is or is in. */
size_t page_branch_rank(const struct page_groups *,
    const struct page_branch *);
/* A group in it, by its rank. */
const struct profile_group *page_branch_row(struct page_branch *, size_t at);
/* The group of that rank is open in its place. */
bool page_group_is_open(const struct page *, size_t rank);
/* -ENOSPC: as many as can be are open; -ENOMEM. */
int page_branch_open(struct page_groups *, const struct page_group_hold *of,
    const struct page_group_hold *below, bool leaf, int64_t rank,
    const struct profile_sum *);
void page_branch_close(struct page_groups *, struct page_branch *);

#define PAGE_GROUPS_TITLE 40
/* "SITE", or with both levels "SITE>TYPE", `between` them. */
void page_groups_title(const struct page *, const char *between,
    char out[PAGE_GROUPS_TITLE]);
/* The kind of the second level; 0: there is none. */
unsigned page_group_below(const struct page *);
/* The group under the cursor: 0, -ENOENT: there is none, -ENOSPC, -ENOMEM. */
int page_unfold(struct page *, const struct page_view *);
/* ... or the one that the row under the cursor is in; false: none is open there. */
bool page_fold(struct page *);
/* The first of them that are not open: as many as are opened at once. */
int page_unfold_first(struct page *, const struct page_view *);
/* All of them, or if they are open none; then 1. */
int page_unfold_all(struct page *, const struct page_view *);

/* --- the blocks of the open group (group_members.c) --------------------------- */

/*
 * Looks for them anew: begin, then next, a portion of so many blocks at most,
 * until it is true in *over.  Those found before stay until then; with `bare`
 * there are none, and what is found is shown as it comes.  -ENOMEM.
 */
int page_members_begin(struct page *, const struct page_view *, bool bare);
int page_members_next(struct page *, const struct page_view *, size_t at_most,
    bool *over);
void page_members_free(struct page_members *);
/*
 * All of them as of this moment, for a file: the caller's, until
 * page_taken_fini().  A group is open, and there is a list.  -ENOMEM.
 */
int page_members_whole(struct page *, const struct page_view *,
    struct page_taken *);
/* Copies out up to n from `at` on. */
size_t page_members_window(const struct page_members *, uint64_t at,
    struct blk *out, size_t n);
/*
 * Which group is open, and its sums: "zmalloc  zmalloc.c:112  12 of 60 blocks,
 * 4.2 KiB"
 */
void page_members_put(const struct page *, struct page_picture *);

#endif

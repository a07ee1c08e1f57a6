/*
 * groups: the blocks summed by what they have in common, and the blocks of one
 * group.
 *
 *	groups.c	passes
 *	group_kinds.h	what blocks can be grouped by
 *	group_cursor.c	refs, the cursor and the open group
 *	group_members.c	the blocks of a group
 *	group_trends.h	the last minute of each group
 *	expanded_groups.h	groups that are expanded in their places; expand.c
 *			expands and collapses them
 *	siblings.h	blocks that were allocated together
 *
 * Vocabulary
 *	kind	what makes a group; 0: the rows are blocks.
 *	pass	walks through the blocks (../blocks/list_walk.h), sums, names and ranks them.
 *		In a large list it takes many pictures; each does a portion, and
 *		until the end the rows are those of the previous pass.  At most a
 *		tenth of the time goes into passes.
 *	ref	finds a group again after names have renamed or merged it.
 *	members	the blocks of the open group.
 *	branch	a group that is expanded in its place.
 *
 * Example: the heaviest group
 *	page_set_group(page, page_group_kind_called("type"));
 *	page_groups_refresh(page, v);		with each picture
 *	row = page_groups_row(page->groups, 0);
 */
#ifndef PAGEK_GROUPS_H
#define PAGEK_GROUPS_H

#include "../blocks/blocks.h"
#include "../blocks/collection.h"
#include "group_kinds.h"
#include "group_trends.h"

#define PAGE_GROUPS_MAX 65536	/* rows: the first groups; the sum is of all */
#define PAGE_GROUPS_WINDOW 128	/* rows that are kept ready */
#define PAGE_MEMBERS_MAX 65536	/* blocks of the open group that are listed */

/* The attributes that cells distinguish while the blocks are walked. */
struct page_group_tags {
	const struct page_group_kind *kind[2];	/* of each level; NULL: not by a tag */
	bool by_caller;
	bool ages;		/* a block's group changes by time alone */
};

struct page_group_ref {
	uint64_t key;
	uint64_t caller;	/* one that is in the group */
	uint64_t frame;		/* by any frame: the frame of that caller; else 0 */
};

struct page_members;
struct page_branches;
struct page_branch;

/* A row among the groups. */
enum page_row_kind {
	ROW_GROUP,
	ROW_BELOW,		/* a group of the second level */
	ROW_BLOCK,
	ROW_OMITTED,		/* how many rows of a branch are not listed */
};

struct page_group_at {
	enum page_row_kind what;
	size_t index;		/* among the rows of that kind in its branch; of groups their rank */
	uint64_t left;		/* such rows from here on */
	struct page_branch *branch;	/* that the row is in; NULL: a group of the first level */
	uint64_t omitted;	/* 0: not known yet */
};

struct page_group_place {
	enum page_row_kind what;
	struct page_group_ref group;	/* the group, or the one that it is in */
	struct page_group_ref below;	/* the same of the second level */
	bool second;		/* a block, or what is omitted, of the second level */
};

struct page_groups_question {
	unsigned filter_no;	/* page_choice_filter_no() */
	uint64_t drained;	/* the last record of the drain's moment, plus 1; 0: no drain */
	uint64_t skipped;	/* hash of the patterns to skip */
};

struct page_group_ranking {
	struct profile_ranking *groups;
	struct page_groups_question of;
	unsigned kind;
	enum profile_measure measure;	/* that they are sorted by */
	bool reverse;
	bool frozen;		/* the order is that of the ranking before */
};

struct page_group_window {
	struct profile_group row[PAGE_GROUPS_WINDOW];
	size_t at, n;
};

enum page_groups_step {
	GROUPS_IDLE,
	GROUPS_WALK,		/* the blocks become sums */
	GROUPS_RANK,		/* the sums become groups */
	GROUPS_MEMBERS,		/* the blocks of open and expanded groups are found */
};

/* The blocks that a pass sums. */
struct page_groups_source {
	unsigned round;		/* page->round */
	uint32_t stream_no;
	struct page_groups_question of;
	const struct blklist *list;	/* compared, never read */
	uint64_t changes;	/* page_view_changes() when the walk began */
	int64_t ms;		/* the node's clock then */
};

struct page_groups {
	struct profile *profile;
	struct profile_cells *cells;
	struct page_group_tags tags, coming_tags;
	struct page_group_ranking shown, coming;	/* of the rows; of the pass */
	struct page_group_window window;
	struct profile_sum total;
	size_t nrow;		/* groups of the first level that have rows */
	size_t all;		/* groups */
	size_t nnew;		/* groups that came since the order was frozen */
	uint64_t rows;		/* with those of expanded groups */
	int64_t now_ms;		/* the node's clock when the walk of the sums began */
	size_t missing;		/* callers that lack names */
	uint64_t serial;	/* rises with profile and rows */

	struct {
		bool started;	/* there was one, or there is */
		enum page_groups_step step;
		struct scan scan;	/* runs during walk and ranking */
		bool hasty;	/* the viewer waits for the first rows: larger portions */
		bool unfreeze;	/* other blocks are grouped: the next ranking has its own order */
	} pass;
	struct page_walk walk;
	struct page_groups_source source;
	uint64_t changes;	/* of the list that was summed last */
	struct page_groups_question summed;
	struct {
		size_t left, of;
	} callers;		/* to be ranked */

	struct page_group_place cursor;
	struct page_group_place open;
	struct page_group_words open_words;	/* name of the open group */
	/* Owned, and NULL until they are needed. */
	struct page_members *members;
	struct page_branches *branches;
	struct page_trends *trends;
};

/*
 * Does a portion of what is due; with PAGE_WHOLE all of it.  The rows are those
 * of page->group.kind; with kind 0 there are sums only.  -ENOMEM.
 */
int page_groups_refresh(struct page *, const struct page_view *);
bool page_groups_question_same(const struct page_groups_question *,
    const struct page_groups_question *);
void page_groups_free(struct page_groups *);
/*
 * The rows are groups of the kind that is wanted.  Does a portion at once if
 * they are not, for a key that was typed ahead.  False: not yet.
 */
bool page_groups_at_hand(struct page *, const struct page_view *);
/* Finds what is in groups that were just expanded.  -ENOMEM. */
int page_groups_fill(struct page *, const struct page_view *);
/* A group of the first level by its rank, borrowed until the next call; NULL. */
const struct profile_group *page_groups_row(struct page_groups *, size_t at);
/* The group of that rank, borrowed until the next call; NULL without memory. */
const struct profile_group *page_group_window_row(struct page_group_window *,
    struct profile_ranking *, size_t at);
/* "groups: 40 %" until there are rows; "" then. */
void page_groups_waiting(const struct page_groups *, char *out, size_t cap);

/* --- refs (group_cursor.c) -------------------------------------------------- */

/* Updates the ref's key to the names of now.  False: the group is gone. */
bool page_group_ref_find(const struct page_groups *, const struct page_view *,
    enum profile_by, struct page_group_ref *);
/* The same in another ranking. */
bool page_group_ref_find_in(struct profile *, const struct page_view *,
    enum profile_by, const struct profile_ranking *,
    struct page_group_ref *);
void page_group_ref_set(const struct page_view *, enum profile_by,
    const struct profile_group *, struct page_group_ref *);

/* "zmalloc  zmalloc.c:112": name and place; outside text. */
void page_group_name(const struct profile_group *, char *out, size_t cap);

/* --- kinds and the open group (group_cursor.c) ------------------------------ */

extern const struct page_rows_ops page_rows_groups;
extern const struct page_rows_ops page_rows_members;	/* group_members.c */

/* The rows are groups. */
bool page_shows_groups(const struct page *);
/* The order of groups is frozen: they keep it, with the sums of now. */
bool page_groups_are_frozen(const struct page *, const struct page_view *);
/* Groups the blocks by a kind, and each of these groups by another one; 0: not. */
void page_set_group(struct page *, unsigned kind);
void page_set_group_below(struct page *, unsigned kind);
/* The kind of the second level; 0: there is none. */
unsigned page_group_below(const struct page *);
/* The kind of a level, 0 or 1; NULL: none. */
const struct page_group_kind *page_group_level(const struct page *,
    unsigned level);
#define PAGE_GROUPS_TITLE 40
/* "SITE", or "SITE>TYPE" with `between` the two levels. */
void page_groups_title(const struct page *, const char *between,
    char out[PAGE_GROUPS_TITLE]);
/* Makes the blocks of the group under the cursor the rows; false: no group. */
bool page_open_group(struct page *, const struct page_view *);
void page_close_group(struct page *);

/* --- expanded groups (expanded_groups.c, expand.c) -------------------------- */

#define PAGE_EXPAND_MAX 100	/* groups that are expanded at once */

/* The row at that offset; false: there is none. */
bool page_groups_at(const struct page_groups *, uint64_t at,
    struct page_group_at *);
/* The group that the row is, borrowed until the next call; NULL: it is none. */
const struct profile_group *page_groups_at_row(struct page_groups *,
    const struct page_group_at *);
/* The offset of such a row; false: there is none. */
bool page_groups_offset(const struct page_groups *, enum page_row_kind,
    const struct page_branch *, size_t index, uint64_t *at);
/* Lays out the rows again, after a change of groups or branches. */
void page_branches_plan(struct page_groups *);
/* The branch of that group, or of `below` in it; NULL: it is not expanded. */
struct page_branch *page_branch_find(const struct page_groups *, uint64_t key,
    const uint64_t *below);
/* The rank of the group of the first level that the branch belongs to. */
size_t page_branch_rank(const struct page_groups *,
    const struct page_branch *);
/* A group in the branch by its rank, borrowed until the next call; NULL. */
const struct profile_group *page_branch_row(struct page_branch *, size_t at);
bool page_group_is_expanded(const struct page *, size_t rank);
/* -ENOSPC: too many are expanded; -ENOMEM. */
int page_branch_open(struct page_groups *, const struct page_group_ref *of,
    const struct page_group_ref *below, bool leaf, int64_t rank,
    const struct profile_sum *);
void page_branch_close(struct page_groups *, struct page_branch *);

/* The group under the cursor.  -ENOENT: there is none; -ENOSPC, -ENOMEM. */
int page_expand_group(struct page *, const struct page_view *);
/* That group, or the one that the row is in; false: none is expanded there. */
bool page_collapse_group(struct page *);
/* The first PAGE_EXPAND_MAX groups.  1: at least one was not; 0, -ENOMEM. */
int page_expand_first_groups(struct page *, const struct page_view *);
/* The same, or none if these are expanded: returns 1 then. */
int page_expand_all_groups(struct page *, const struct page_view *);

/* --- the blocks of the open group (group_members.c) ------------------------- */

/*
 * Finds the members again: begin, then next with at most so many blocks of the
 * list, until *over.  The rows are those found before until then; with `at_once`
 * they are what has been found so far.  -ENOMEM.
 */
int page_members_begin(struct page *, const struct page_view *, bool at_once);
int page_members_next(struct page *, const struct page_view *, size_t at_most,
    bool *over);
void page_members_free(struct page_members *);
/*
 * All members of this moment, for a file; the caller frees them with
 * page_collection_fini().  Needs an open group and a list.  -ENOMEM.
 */
int page_members_whole(struct page *, const struct page_view *,
    struct page_collection *);
/* "zmalloc  zmalloc.c:112  12 of 60 blocks, 4.2 KiB", in what fits. */
void page_members_put(const struct page *, struct page_picture *);

#endif

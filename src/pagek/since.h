/*
 * since: the difference between the mark and now, by group and by block.
 *
 * Vocabulary
 *	comparison	the list walked through by age beside the mark's copy, a
 *		portion a picture: what the copy has and the list has not is
 *		gone, what is above the mark has come.  The rows are those of
 *		the comparison before until all of it is done; a tenth of the
 *		time at most goes into it, and nearly nothing while nobody looks.
 *	cell	the sums of what came and went by one caller, type and thread:
 *		whatever the groups are made by, they are made of cells.
 *	net	what came less what went.
 *	point	the net of each cell at a moment, taken at intervals that
 *		double when there is no room for more points.  A group whose net
 *		was higher at each point than at the one before does not only
 *		hold memory, it goes on taking it: LEAK?
 *
 * The parts
 *	since.c		comparisons
 *	since_page.c	page H: their groups and blocks as a picture
 *	since_columns.c	its rows that are groups
 *
 * Of a sample all sums are estimates.
 *
 * Example
 *	page_since_refresh(page, v);		with each picture
 *	s = page_since_get(page);
 *	for (i = 0; (g = page_since_row(s, i)) != NULL; i++)
 *		...
 */
#ifndef PAGEK_SINCE_H
#define PAGEK_SINCE_H

#include "groups.h"
#include "marked.h"

#define PAGE_SINCE_CELLS 32768	/* what does not fit is summed in one without a name */
#define PAGE_SINCE_BLOCKS 65536	/* that are listed, of those that came and those that went */
#define PAGE_SINCE_POINTS 16

struct page_since_sum {
	double came, came_bytes;
	double went, went_bytes;
	int64_t oldest_ms;	/* of what came and is there; 0 none */
};

struct page_since_cell {
	uint64_t caller;
	uint16_t thread;
	uint8_t type;
	bool named;		/* the profile knows the caller */
	uint64_t key;		/* of its group in the last fold; 0 none yet */
	struct page_since_sum sum[2];	/* of the last comparison, and of the next */
	double net[PAGE_SINCE_POINTS];
};

struct page_since_group {
	uint64_t key;
	uint64_t caller, tag;	/* of one of its cells: for its name */
	uint32_t cell;		/* that one */
	int type;		/* of all of it; -1 several */
	struct page_since_sum sum;
	double net[PAGE_SINCE_POINTS];
};

struct page_since_block {
	struct blk blk;		/* of one that is gone the time is not known */
	uint32_t cell;
};

/* Those that came, or went, as far as they are listed. */
struct page_since_blocks {
	struct page_since_block *blk;
	size_t n, cap;
	uint64_t all;
};

enum page_since_step {
	SINCE_IDLE,
	SINCE_WALK,		/* through list and copy, into cells */
	SINCE_FOLD,		/* cells into groups */
};

/* What one comparison has found. */
struct page_since_found {
	struct page_since_sum total;
	bool by_block;		/* blocks were listed ... */
	uint64_t of_key;	/* ... of one group; 0 all */
	struct page_since_blocks came, went;
	uint64_t blocks, bytes;	/* in the list */
	int64_t ms, wall_ms;	/* on the node's clocks, when it began */
};

struct page_since {
	struct profile *profile;	/* names and keys of the callers */
	struct page_since_cell *cell;
	size_t ncell, cap;
	uint32_t *slot;		/* index + 1 of a cell, open addressing */
	int at;			/* which of a cell's sums is the last comparison's */
	bool cut;		/* there are more cells than have room */

	struct page_since_group *group;	/* by net, the highest first; owned */
	size_t ngroup;
	struct page_since_group *coming;	/* by key, while they are folded */
	size_t ncoming, coming_cap;
	uint32_t *index;	/* of them, as slot */
	unsigned kind;		/* groups are of that kind */
	size_t folded;		/* cells, so far */

	struct page_since_found shown, next;
	enum page_since_step step;
	struct page_walk walk;
	struct blk rows[256];	/* of the walk, not all looked at yet */
	size_t nrows, row;
	size_t old;		/* so far in the copy */
	bool taken;		/* there has been one comparison */

	unsigned npoints;
	int64_t interval_ms, point_ms;	/* between points; when the last one was due */

	/* What is looked at, as far as it says what is to be found. */
	bool watched;		/* somebody looks, cleared by each refresh */
	bool by_block;		/* at blocks ... */
	uint64_t of_key;	/* ... of one group; 0 all */

	uint64_t changes;	/* of the list, at the last one's beginning */
	uint64_t names_no;
	unsigned round;
	struct mono ended;
	int64_t cost_ns, spent_ns;
};

/* A portion of what is due; nothing without a mark.  -ENOMEM. */
int page_since_refresh(struct page *, const struct page_view *);
/* The page's own, made when there is none yet; NULL: no mark, or no memory. */
struct page_since *page_since_get(struct page *);
void page_since_free(struct page_since *);

/* Borrowed until the next refresh; NULL behind the last. */
const struct page_since_group *page_since_row(const struct page_since *,
    size_t at);
/* The kind of the groups: that of the page, or one in its place. */
const struct page_group_kind *page_since_kind(const struct page_since *);
double page_since_net(const struct page_since_sum *);
/* So many of n intervals in which the group's net has risen. */
unsigned page_since_ups(const struct page_since *,
    const struct page_since_group *, unsigned *n);
/* In percent, of the first comparison. */
unsigned page_since_done(const struct page *, const struct page_since *);

/* --- page H (since_page.c) ------------------------------------------------ */

enum page_diff_view {
	DIFF_ALL,
	DIFF_NEW,
	DIFF_FREED,
	DIFF_GROWN,		/* of groups alone */
	DIFF_VIEWS		/* one more than the last */
};

/* How one looks at the difference; starts as all zeros. */
struct page_diff {
	enum page_diff_view view;
	unsigned mark_no;	/* of the mark that all else is about */
	bool by_block;		/* rows are blocks ... */
	uint64_t of_key;	/* ... of that group; 0 all */
	uint32_t of_cell;	/* one of it, should its names become others */
	char of_name[256];	/* that it had when it was opened; outside text */
	bool held;		/* the cursor is on a row: of the group ... */
	uint64_t key;		/* ... or of the block with that number */
	size_t selected, top;	/* rows */
	int window;
	size_t rows;		/* in the last picture */
};

/* `rows` lines.  -ENOMEM. */
int page_diff_compose(struct page_diff *, struct page *,
    const struct page_view *, int cols, int rows, struct page_picture *);
void page_diff_move(struct page_diff *, const struct page *, int delta);
/* The next view of what is shown. */
void page_diff_next_view(struct page_diff *);
/* Blocks instead of groups, or the other way round. */
void page_diff_toggle(struct page_diff *);
/* The blocks of the group under the cursor; false: there is none. */
bool page_diff_open(struct page_diff *, struct page *,
    const struct page_view *);
/* Back among the groups; false: one was there. */
bool page_diff_back(struct page_diff *);
/* The block under the cursor, with whether it is there; false: there is none. */
bool page_diff_block(const struct page_diff *, const struct page *,
    struct blk *, bool *live);
/* The view has that group. */
bool page_diff_lets(const struct page_diff *, const struct page_since_group *);
const char *page_diff_view_name(const struct page_diff *);

/* --- its groups (since_columns.c) ----------------------------------------- */

#define PAGE_DIFF_NAME_MIN 12	/* columns that a name keeps */

void page_diff_name(const struct page *, const struct page_view *,
    const struct page_since *, const struct page_since_group *,
    struct page_group_words *);
/* The heading and a row, in the line begun; words is room for the name. */
void page_diff_heading(const struct page_since *, struct page_picture *);
void page_diff_group(const struct page *, const struct page_view *,
    const struct page_since *, const struct page_since_group *,
    struct page_group_words *, struct page_picture *);
/* "1,331", of a sample "~1,331" */
void page_diff_count(char out[32], const struct page_view *, double n);

#endif

/*
 * difference: the difference between the mark and now, by group and by block.
 *
 * Vocabulary
 *	comparison	the list walked through by age beside the mark's copy, a
 *		portion a picture: what the copy has and the list has not is
 *		gone, what is above the mark has come.  The rows are those of
 *		the comparison before until all of it is done; a tenth of the
 *		time at most goes into it, and nearly nothing while nobody looks.
 *	cell	the sums of what came and went by one caller, type and thread:
 *		whatever the groups are made by, they are made of cells.
 *	by time	groups by age and by birth are made of cells of their own, in a
 *		comparison of their own, for they would split the others: of
 *		what was freed the age is that at the mark.
 *	net	what came less what went.
 *	moved	said of a block that is there, and was there at the mark as
 *		another one: realloc() has made it grow or shrink or has put it
 *		elsewhere (realloc_chains.h).  By group it is one that went and one that
 *		came, of who asked for either; by block it is neither.  A filter
 *		lets it through if it would have at the mark.
 *	chosen	what the page's filter lets through: the difference is of those
 *		blocks alone.  What was there at the mark is judged as it was
 *		then, and what has come as it is now.  Another filter is
 *		another difference, whose points begin anew.
 *	point	the net of each cell at a moment, taken at intervals that
 *		double when there is no room for more points.  A group whose net
 *		was higher at each point than at the one before does not only
 *		hold memory, it goes on taking it: LEAK?
 *
 * Beside it
 *	marks.h		the mark, and the copy that the list is compared with
 *	realloc_chains.h	what realloc() has made of blocks of the mark
 *
 * Of a sample all sums are estimates, but for what is called listed.
 *
 * Example
 *	page_since_refresh(page, v);		with each picture
 *	s = page_since_get(page);
 *	for (i = 0; (g = page_since_row(s, i)) != NULL; i++)
 *		...
 */
#ifndef PAGEK_DIFFERENCE_H
#define PAGEK_DIFFERENCE_H

#include "../../base/hashmap.h"
#include "../blocks/choice.h"
#include "../groups/groups.h"
#include "marks.h"

#define PAGE_SINCE_CELLS 32768	/* what does not fit is summed in one without a name */
#define PAGE_SINCE_BLOCKS 65536	/* that are listed, of those that came and those that went */
#define PAGE_SINCE_POINTS 16

struct page_since_sum {
	double came, came_bytes;	/* of a sample what is listed stands for so many */
	double went, went_bytes;
	uint64_t came_listed, came_listed_bytes;
	uint64_t went_listed, went_listed_bytes;
	int64_t oldest_ms;	/* of what came and is there; 0 none */
};

struct page_since_cell {
	uint64_t caller;
	uint16_t thread;
	uint8_t type;
	uint64_t tag;		/* of a comparison by time; else 0 */
	int64_t ms;		/* when a block of it was allocated */
	bool named;		/* the profile knows the caller */
	bool in;		/* the group whose blocks are listed, by any frame ... */
	unsigned asked;		/* ... as of that walk */
	uint64_t key;		/* of its group in the last fold; 0 none yet, or many */
	struct page_since_sum sum[2];	/* of the last comparison, and of the next */
	double net[PAGE_SINCE_POINTS];
};

struct page_since_group {
	uint64_t key;
	uint64_t caller, tag;	/* of one of its cells: for its name */
	int64_t born_ms;	/* of the oldest block, be it there or not */
	int type, thread;	/* of all of it; -1 several */
	struct page_since_sum sum;
	double net[PAGE_SINCE_POINTS];
};

enum page_since_change {
	SINCE_NEW,
	SINCE_GROWN,
	SINCE_SHRUNK,
	SINCE_MOVED,		/* and is as large as it was */
	SINCE_FREED,
};

struct page_since_block {
	struct blk blk;		/* of one that is gone the time is not known */
	uint32_t cell;
	uint64_t root;		/* its number at the mark, or its own */
	uint64_t was;		/* bytes at the mark; of a new one 0 */
	enum page_since_change change;
};

/* Those that came, or grew, or went, as far as they are listed. */
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

/* Blocks that were moved; in the sums they have come, and went if not early. */
struct page_since_moved {
	uint64_t blocks;
	uint64_t grown, shrunk;	/* of them */
	uint64_t early, early_bytes;	/* moved before they were copied; at the mark */
};

/* What one comparison has found. */
struct page_since_found {
	struct page_since_sum total;
	struct page_since_moved moved;
	bool by_block;		/* blocks were listed ... */
	uint64_t of_key;	/* ... of one group; 0 all */
	bool missed;		/* ... and some were not, for nobody knew yet where they belong */
	struct page_since_blocks came, grown, other, went;	/* other: moved, not grown */
	double was, was_bytes;	/* that were there at the mark, as far as it was copied ... */
	double blocks, bytes;	/* ... and now */
	double of;		/* that came or went, with those the filter keeps back */
	uint64_t unsure;	/* see choice.h */
	int64_t ms, wall_ms;	/* on the node's clocks, when it began */
};

/* A chain in the walk with that number, as s->asked has it. */
struct page_since_trail {
	unsigned left;		/* its root was not in the list any more ... */
	unsigned met;		/* ... and one of its blocks was */
	uint32_t cell;		/* its root's */
	uint32_t row;		/* its root's among those that went, from 1 on; 0: none */
	bool chosen;		/* the filter lets its root through ... */
	bool listed;		/* ... and it counts among those that went */
};

struct page_since {
	const struct page_group_kind *tags;	/* cells are by these; NULL: not by time */
	int64_t mark_ms;
	struct profile *profile;	/* names and keys of the callers ... */
	struct profile_ranking *names;	/* ... and of groups of what differs */
	struct profile_ranking *coming_names;
	struct page_since_cell *cell;
	size_t ncell, cap;
	struct hashindex cells;	/* of the cells */
	int at;			/* which of a cell's sums is the last comparison's */
	bool cut;		/* there are more cells than have room */

	struct page_since_group *group;	/* by net, the highest first; owned */
	size_t ngroup;
	struct hashmap coming;	/* struct page_since_group, while cells are folded into them */
	unsigned kind;		/* groups that are folded are of that kind ... */
	unsigned shown_kind;	/* ... and those that are shown */
	size_t folded;		/* cells, so far */

	struct page_since_found shown, next;
	enum page_since_step step;
	struct page_walk walk;
	struct blk rows[256];	/* of the walk, not all looked at yet */
	size_t nrows, row;
	size_t old;		/* so far in the copy ... */
	size_t chain;		/* ... and among the chains, at the end */
	struct page_since_trail *trail;	/* of each chain that was met; owned */
	size_t ntrail, trail_cap;
	unsigned asked;		/* counts up with each walk */
	bool taken;		/* there has been one comparison */

	unsigned npoints;
	int64_t interval_ms, point_ms;	/* between points; when the last one was due */

	/* What is looked at, as far as it says what is to be found. */
	bool watched;		/* somebody looks, cleared by each refresh */
	bool by_block;		/* at blocks ... */
	uint64_t of_key;	/* ... of one group; 0 all */

	unsigned filter_no;	/* that blocks are chosen by */
	uint64_t changes;	/* of the list, at the last one's beginning ... */
	uint64_t asked_names_no;	/* ... and of the names */
	uint64_t names_no;
	unsigned round;
	struct scan scan;	/* walk and fold; runs while there is a step */
};

/* A portion of what is due; nothing without a mark.  -ENOMEM. */
int page_since_refresh(struct page *, const struct page_view *);
/*
 * All of one at once, for a page that is text: of the list as it is now.
 * -EAGAIN: that is not whole; -ENODATA: there is no mark; -ENOMEM.
 */
int page_since_take(struct page *, const struct page_view *);
/* Its groups once more, with the names that have come since. */
int page_since_name(struct page *, const struct page_view *);
/*
 * The page's own for the kind of its groups, made when there is none yet; NULL:
 * no mark, or no memory.  The other one makes none: NULL then.
 */
struct page_since *page_since_get(struct page *);
struct page_since *page_since_made(const struct page *);
void page_since_free(struct page_since *);

/* There has been a comparison, of what the page's filter means. */
bool page_since_known(const struct page *, const struct page_since *);
/* What the filter has let through of what came and went. */
void page_since_chosen(const struct page *, const struct page_since *,
    struct page_chosen *);
/* Blocks that were freed behind the mark before they were copied. */
uint64_t page_since_early(const struct page *);
/* Borrowed until the next refresh; NULL behind the last. */
const struct page_since_group *page_since_row(const struct page_since *,
    size_t at);
/* The kind of the groups: that of the page, or one in its place. */
const struct page_group_kind *page_since_kind(const struct page_since *);
/* What page K would say of it: its name and place, for page_group_say(). */
bool page_since_named(const struct page_since *,
    const struct page_since_group *, struct profile_group *);
double page_since_net(const struct page_since_sum *);
/* Likewise of what is listed, whatever that stands for. */
int64_t page_since_net_listed(const struct page_since_sum *);
int64_t page_since_rounded(double);
/* So many of n intervals in which the group's net has risen. */
unsigned page_since_ups(const struct page_since *,
    const struct page_since_group *, unsigned *n);
/* In percent, of the first comparison. */
unsigned page_since_done(const struct page *, const struct page_since *);

#endif

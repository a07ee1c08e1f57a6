/*
 * difference: a mark, and what has changed in the list since, by group and by
 * block.
 *
 * Vocabulary
 *	mark	a moment of the stream: the number of its last record.  A block
 *		with a higher number is new.  One with a name is the node's, and
 *		may be of a time before this page.
 *	copy	the blocks of the list at the mark, copied in portions after it.
 *		A block of the copy that the list has no more was freed.
 *	early	a block that was freed between the mark and the copy, which of an
 *		earlier mark is taken when the page chooses it.  Early
 *		blocks are counted; nothing else is known of them.
 *	comparison	a walk through list and copy side by side, by age, a
 *		portion a picture.  Until it is done, the rows are those of the
 *		previous comparison.  Comparisons take a tenth of the time at most.
 *	cell	the sums of new and freed blocks of one caller, type and thread.
 *		Groups of any kind are folded of cells.
 *	by time	groups by age and by birth have a comparison of their own, whose
 *		cells are split by age or birth, too.  A freed block has its age at the mark.
 *	net	new bytes less freed bytes.
 *	moved	a block of the mark that realloc() has made another block of the
 *		list.  By group it is one freed and one new, by block neither.
 *	chosen	what the page's filter lets through; the difference is of that
 *		alone.  Blocks of the mark are judged as they were then, new
 *		ones as they are now.  Another filter begins anew.
 *	point	the net of each cell at a moment, at intervals that double when
 *		there is no room for more.
 *	rise	an interval between two points in which a group's net has grown.
 *		difference_rises() counts them; verdict_cell() of
 *		../panels/difference_fields.c decides on LEAK? and "3/4 intervals up".
 *
 * A stream never uses a record number again, so the place of the mark in the
 * order of age gives exact counts of new, old and freed blocks, through lost
 * links, snapshots and reused addresses.  Only which blocks were freed takes
 * the copy, 48 bytes a block.  A block whose free was lost counts as live.
 * With a sample all sums are estimates, except those called listed.
 *
 * Files
 *	marks.c		the mark, its copy, and exact counts since it
 *	difference.c	computes the difference: comparisons, and groups of them
 *	realloc_chains.h	moved blocks
 *	saved_list.h	lists in files, and what two of them differ in: `pagek diff`
 *
 * Example
 *	page_mark_set(page, v);
 *	...
 *	page_marked_refresh(page, v);		with each picture
 *	s = difference_get(page);
 *	for (i = 0; (g = difference_group(s, i)) != NULL; i++)
 *		...
 */
#ifndef PAGEK_DIFFERENCE_H
#define PAGEK_DIFFERENCE_H

#include "../../base/hashmap.h"
#include "../blocks/choice.h"
#include "../blocks/drain.h"
#include "../groups/groups.h"
#include "../blocks/list_walk.h"
#include "../rows/rows.h"
#include "realloc_chains.h"

/* --- the mark (marks.c) --------------------------------------------------- */

#define PAGE_MARKED_MAX (UINT32_C(1) << 22)	/* blocks; a longer list is not copied */

/* A block of the copy. */
struct page_copied {
	uint64_t seq;
	uint64_t w0, w1;	/* address, flags, type; size and thread: as in a record */
	uint64_t caller;
	int64_t ms;		/* when it was allocated, on the node's clock */
	uint16_t overhead;	/* as in a block */
	uint16_t info;		/* its requester's number in the copied list */
};

struct difference;

struct page_marked {
	struct page_moment mark;
	unsigned mark_no;	/* another one with each mark */
	char name[WIRE_MARK_NAME + 1];	/* at the node; "": it is this page's alone */
	bool earlier;		/* set before this page had the list */
	bool was_lost;		/* there was a mark, of another stream */

	struct page_copied *copy;	/* by ascending numbers; owned */
	const struct blklist *list;	/* the copied list; compared, never read */
	size_t ncopy, copy_cap;
	double copy_blocks, copy_bytes;	/* that it stands for */
	bool copying;
	bool uncopied;		/* there is no copy: the list is too long, or no memory */
	struct page_walk walk;

	struct page_chains *chains;	/* moved blocks; NULL: no memory */

	struct difference *difference;	/* NULL: nobody has asked yet */
	struct difference *by_time;	/* likewise, for groups by time */
};

/* From the mark to this picture; of a sample as listed. */
struct page_mark_counts {
	uint64_t blocks, bytes;		/* in the list now */
	uint64_t new, freed;
	uint64_t early;			/* of the freed ones; 0 until the copy is made */
};

/*
 * Marks what the view shows, in place of the last mark.  -EAGAIN: the list is
 * not complete.  -ENOENT: there is no list.  -ENOMEM.  Without memory for the
 * copy the mark is set all the same.
 */
int page_mark_set(struct page *, const struct page_view *);
/*
 * The same with a mark of the node.  earlier: the page was not there when it was
 * set.  Also -EAGAIN: the list has not come to it yet.  -ESRCH: the picture
 * shows an earlier time.
 */
int page_mark_choose(struct page *, const struct page_view *,
    const struct wire_named_mark *, bool earlier);
void page_mark_clear(struct page *);
bool page_is_marked(const struct page *);
/* False: no mark, a picture from before it, or not all blocks are here. */
bool page_mark_counts(const struct page *, const struct page_view *,
    struct page_mark_counts *);

#define PAGE_MARK_WHEN (WIRE_MARK_NAME + PAGE_MOMENT_TEXT + 1)
/* "14:50:03", or "deploy-42 14:50:03"; there is a mark. */
void page_mark_when(const struct page *, const struct page_view *,
    char out[PAGE_MARK_WHEN]);

#define PAGE_MARK_TEXT 128
/*
 * "14:50:03 +1,331 -1,391": new and freed; of a sample "+471 -459 sampled", as
 * listed; "14:50:03, later" in a picture from before it; "" without a mark.
 * With a name that stands in place of the time, cut to 20 characters.
 */
void page_mark_text(const struct page *, const struct page_view *,
    char out[PAGE_MARK_TEXT]);

/* With each picture: a portion of the copy, then of the comparison. */
void page_marked_refresh(struct page *, const struct page_view *);
/* The page looks at another stream. */
void page_mark_lose(struct page *);
void page_marked_free(struct page_marked *);
/* The session must bring all blocks. */
bool page_marked_wants_all(const struct page *);

/* Its requester is known in the copied list alone. */
void page_copied_block(const struct page_marked *, const struct page_copied *,
    const struct blklist *, struct blk *);

#define DIFFERENCE_CELLS 32768	/* what does not fit is summed in one without a name */
#define DIFFERENCE_BLOCKS 65536	/* listed of each kind */
#define DIFFERENCE_POINTS 16

struct difference_part {
	double blocks, bytes;	/* that the listed ones stand for */
	uint64_t listed, listed_bytes;
};

struct difference_sum {
	struct difference_part new, freed;
	int64_t oldest_ms;	/* of the new ones; 0 none */
};

struct difference_cell {
	uint64_t caller;
	uint16_t thread;
	uint8_t type;
	uint64_t tag;		/* of a comparison by time; else 0 */
	int64_t ms;		/* when a block of it was allocated */
	bool named;		/* the profile knows the caller */
	bool listed;		/* it is in the group whose blocks are listed ... */
	unsigned listed_walk;	/* ... in that walk; of groups by any frame */
	uint64_t key;		/* of its group in the last fold; 0 none yet, or many */
	struct difference_sum sum[2];	/* of the last comparison, and of the next */
	double net[DIFFERENCE_POINTS];
};

struct difference_group {
	uint64_t key;
	uint64_t caller, tag;	/* of one of its cells: for its name */
	int64_t born_ms;	/* of the oldest block, freed or not */
	int type, thread;	/* of all its blocks; -1 several */
	struct difference_sum sum;
	double net[DIFFERENCE_POINTS];
};

enum difference_change {
	CHANGE_NEW,
	CHANGE_GROWN,
	CHANGE_SHRUNK,
	CHANGE_MOVED,		/* of the same size */
	CHANGE_FREED,
};

struct difference_block {
	struct blk blk;		/* of a freed one the time is not known */
	uint32_t cell;
	uint64_t root;		/* its number at the mark, or its own */
	uint64_t was;		/* bytes at the mark; 0 if it is new */
	enum difference_change change;
};

struct difference_blocks {
	struct difference_block *blk;
	size_t n, cap;
	uint64_t all;		/* listed or not */
};

/* Moved blocks.  In the sums each is new, and freed unless it is early. */
struct difference_moved {
	uint64_t blocks;
	uint64_t grown, shrunk;
	uint64_t early, early_bytes;	/* moved before they were copied; bytes at the mark */
};

struct difference_found {
	struct difference_sum total;
	struct difference_moved moved;
	bool by_block;		/* blocks were listed ... */
	uint64_t of_key;	/* ... of one group; 0 all */
	bool missed;		/* ... and some were not: their cells had no group yet */
	struct difference_blocks new, grown, other, freed;	/* other: shrunk or moved */
	double was, was_bytes;	/* chosen blocks at the mark, as far as they were copied ... */
	double blocks, bytes;	/* ... and now */
	double of;		/* new and freed blocks, chosen or not */
	uint64_t unsure;	/* see choice.h */
	int64_t ms, wall_ms;	/* on the node's clocks, when it began */
};

/* --- comparisons (difference.c) -------------------------------------------- */

enum difference_step {
	COMPARE_IDLE,
	COMPARE_WALK,		/* list and copy into cells */
	COMPARE_FOLD,		/* cells into groups */
};

/* A moved block in the walk with that number. */
struct difference_visit {
	unsigned freed;		/* its root is not in the list ... */
	unsigned met;		/* ... and its block is */
	uint32_t row;		/* the root's among the freed, from 1 on; 0: none */
	bool chosen;		/* the root ... */
	bool listed;		/* ... and it counts among the freed */
};

struct difference {
	const struct page_group_kind *tags;	/* cells are by these; NULL: not by time */
	unsigned filter_no;	/* of the chosen blocks */
	int64_t mark_ms;
	struct profile *profile;	/* names and keys of the callers */
	struct difference_cells {
		struct difference_cell *cell;
		size_t n, cap;
		struct hashindex index;
		int at;		/* which sum of a cell is the last comparison's */
		bool cut;	/* there are more cells than have room */
	} cells;
	struct difference_points {
		unsigned n;
		bool since_first;	/* of an earlier mark: from the first one on */
		int64_t interval_ms;
		int64_t last_ms;	/* when the last one was due */
	} points;

	enum difference_step step;
	struct scan scan;	/* walk and fold; runs while there is a step */
	struct difference_walk {
		unsigned no;	/* counts up */
		struct page_walk list;
		struct blk block[256];	/* of the list; the next one is: */
		size_t nblock, at;
		size_t copied;	/* passed in the copy ... */
		size_t chain;	/* ... and among the chains, at the end */
		struct difference_visit *visit;	/* of the chains met so far; owned */
		size_t nvisit, visit_cap;
	} walk;
	struct difference_fold {
		unsigned kind;
		size_t cells;	/* folded so far */
		struct hashmap groups;	/* of struct difference_group */
		struct profile_ranking *names;
	} fold;

	bool known;		/* there has been a comparison */
	struct difference_found shown, next;
	struct difference_groups {
		unsigned kind;
		struct difference_group *row;	/* by net, the highest first; owned */
		size_t n;
		struct profile_ranking *names;
	} groups;

	struct difference_request {
		bool watched;	/* somebody looks; each refresh clears it */
		bool by_block;	/* at blocks ... */
		uint64_t of_key;	/* ... of one group; 0 all */
	} wanted;
	struct difference_inputs {
		uint64_t changes, walk_names_no;	/* list and names, at the last walk ... */
		uint64_t names_no;	/* ... and at the last fold */
		unsigned round;
	} seen;
};

/* A portion of what is due; nothing without a mark.  -ENOMEM. */
int difference_refresh(struct page *, const struct page_view *);
/*
 * A whole comparison of the list as it is now, for text output.  -EAGAIN: the
 * list is not complete.  -ENODATA: there is no mark.  -ENOMEM.
 */
int difference_compare(struct page *, const struct page_view *);
/* Folds the last comparison again, with new names. */
int difference_update_names(struct page *, const struct page_view *);
/*
 * The page's, for the kind of its groups: ensure creates one that does not
 * exist.  NULL: no mark, or no memory; get: none exists.
 */
struct difference *difference_ensure(struct page *);
struct difference *difference_get(const struct page *);
void difference_free(struct difference *);

/* There has been a comparison, with the page's filter and kind of groups. */
bool difference_is_current(const struct page *, const struct difference *);
/* New and freed blocks that the filter has let through. */
void difference_filter_sums(const struct page *, const struct difference *,
    struct page_chosen *);
uint64_t difference_freed_early(const struct page *);
/* The group in that row; borrowed until the next refresh; NULL behind the last. */
const struct difference_group *difference_group(const struct difference *,
    size_t at);
const struct page_group_kind *difference_group_kind(const struct difference *);
/* Its name and place, for page_group_say(); false: not known. */
bool difference_name_group(const struct difference *,
    const struct difference_group *, struct profile_group *);
/*
 * The sums of the group of page->group.kind with that key; `by` is its kind's.
 * False: there is no comparison of such groups.
 */
bool difference_of_group(const struct page *, uint64_t key,
    enum profile_by by, struct difference_sum *);
double difference_net(const struct difference_sum *);
/* Of the listed blocks. */
int64_t difference_net_listed(const struct difference_sum *);
int64_t difference_round(double);
/* In how many of *n intervals the group's net has risen. */
unsigned difference_rises(const struct difference *,
    const struct difference_group *, unsigned *n);
/* Progress of the comparison. */
unsigned difference_percent(const struct page *, const struct difference *);

#endif

/*
 * marks: what has come and gone since a moment that somebody has marked.
 *
 * Vocabulary
 *	mark	a moment of the stream: the number of its last record by then.
 *		A block is new when its own number is above that.
 *	old	what is not new.
 *	copy	where, how large and by whom each block was that was there at
 *		the mark.  It is made behind the mark, in portions.
 *	early	freed after the mark, before the copy had come by: it is
 *		counted, and nothing else is known of it.
 *	gone	in the copy, and in the list no more.
 *	lost	a mark is, when the page looks at another stream: numbers mean
 *		something within theirs alone.
 *
 * Why numbers: each record has its own, in a stream for ever, through a link
 * that was lost, a snapshot taken anew, and an address that is used again; a
 * block that realloc() has grown or moved is another one (realloc_chains.h).
 * So how many blocks are new, old and gone is known at any time from
 * where the mark lies in the order of age, exactly, with nothing kept and
 * nobody watching meanwhile.  It is only for which of them are gone that a copy
 * is needed: 48 bytes a block, all that a filter can ask of it, which costs
 * less than to look at every record from then on, and is right although records
 * were skipped and made good by a snapshot.
 *
 * What was lost for good is told: a block whose free was lost is not gone.
 *
 * Example
 *	page_mark_set(page, v)
 *	...
 *	page_marked_refresh(page, v);		with each picture
 *	if (page_mark_counts(page, v, &c))
 *		printf("%llu new, %llu freed", c.came, c.went);
 */
#ifndef PAGEK_MARKS_H
#define PAGEK_MARKS_H

#include "../page/view.h"
#include "../blocks/drain.h"
#include "../blocks/list_walk.h"
#include "../rows/rows.h"
#include "realloc_chains.h"

/* Blocks that are copied; of a longer list it is not known which are gone. */
#define PAGE_MARKED_MAX (UINT32_C(1) << 22)

/* A block of the copy. */
struct page_old {
	uint64_t seq;
	uint64_t w0, w1;	/* address, flags, type; size and thread: as in a record */
	uint64_t caller;
	int64_t ms;		/* when it was allocated, on the node's clock */
	uint16_t overhead;	/* as a block has it */
	uint16_t info;		/* of its requester, in the list that was copied */
};

struct page_since;
struct page_since_sum;

struct page_marked {
	struct page_moment mark;
	unsigned mark_no;	/* another one with each mark */
	bool was_lost;		/* there was a mark, of another stream */

	struct page_old *old;	/* the copy, by ascending numbers; owned */
	const struct blklist *list;	/* that it was made of; never looked into */
	size_t nold, cap;
	double old_est, old_est_bytes;	/* blocks and bytes that it stands for */
	bool copying;
	bool uncopied;		/* there is none: the list is too long, or memory short */
	struct page_walk walk;

	struct page_chains *chains;	/* what realloc has moved; NULL: no memory */

	struct page_since *since;	/* the difference; NULL: nobody has asked yet ... */
	struct page_since *by_time;	/* ... for groups by when blocks were allocated */
};

/* Since the mark, to this picture; of a sample as listed. */
struct page_mark_counts {
	uint64_t blocks, bytes;		/* in the list by now */
	uint64_t came, went;		/* new ones; gone and early */
	uint64_t early;			/* of those: as many as the copy lacks, once it is made */
};

/*
 * Marks what the view shows; a mark that was is forgotten.  The list has to be
 * whole: -EAGAIN while it is not, -ENOENT where there is none, -ENOMEM.
 * Without memory for the copy there is a mark all the same.
 */
int page_mark_set(struct page *, const struct page_view *);
void page_mark_clear(struct page *);
bool page_is_marked(const struct page *);
/* False: there is no mark, not by then, or not all blocks are here. */
bool page_mark_counts(const struct page *, const struct page_view *,
    struct page_mark_counts *);

#define PAGE_MARK_TEXT 64
/*
 * "14:50:03 +1,331 -1,391": came and went; of a sample "+471 -459 sampled", for
 * which blocks these are is not known here; "14:50:03, later" in a picture of
 * before it; "" without a mark.
 */
void page_mark_say(const struct page *, const struct page_view *,
    char out[PAGE_MARK_TEXT]);

/*
 * With each picture: a portion of the copy.  Marks of another stream are
 * forgotten, and that is said.
 */
void page_marked_refresh(struct page *, const struct page_view *);
/* The page looks at something else: so is what was marked. */
void page_marked_lose(struct page *);
void page_marked_free(struct page_marked *);
/* The session has to bring all blocks for it. */
bool page_marked_wants_all(const struct page *);

/* The block of the copy as a block; its requester is told in that list alone. */
void page_old_block(const struct page_marked *, const struct page_old *,
    const struct blklist *, struct blk *);
/*
 * What the group of that key of page->group.kind has gained and lost since the mark,
 * by the last comparison.  False: there is no mark, nothing was compared yet, or
 * groups of that kind are not.  `by` is the kind's.
 */
bool page_marked_change(const struct page *, uint64_t key,
    enum profile_by by, struct page_since_sum *);

#endif

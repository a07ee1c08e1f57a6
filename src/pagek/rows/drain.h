/*
 * drain: moments of a stream, and only the blocks of one as rows.
 *
 * Vocabulary
 *	moment	the number of the last record by then; a block whose own number
 *		is above that is new.
 *	drain	from its moment on only blocks that were there then are listed:
 *		what is left in the end is what nobody has freed.
 *
 * Example
 *	page_drain_begin(page, v);
 *	n = page_drain_keep(page, blks, n);	those of them that are listed
 *	page_drain_end(page);
 */
#ifndef PAGEK_DRAIN_H
#define PAGEK_DRAIN_H

#include "../page/view.h"
#include "rows.h"

/* A moment of a stream. */
struct page_moment {
	bool set;
	uint32_t stream_no;
	int64_t armed_wall_ms;	/* as the look has it: what is logged begins there */
	uint64_t seq;		/* of the last record by then */
	int64_t ms, wall_ms;	/* on the node's clocks */
	uint64_t lost;		/* records for good, by then */
	uint64_t full;		/* blocks that had no room in the list, by then */
	uint64_t blocks, bytes;	/* in the list; of a sample as listed ... */
	uint64_t est_blocks, est_bytes;	/* ... and what these stand for */
};

struct page_drain {
	struct page_moment from;
	struct page_sorting sorting;	/* of the page before it */
};

/* --- moments -------------------------------------------------------------- */

/*
 * The moment that the view shows.  The list has to be whole: -EAGAIN while it
 * is not, -ENOENT where there is none.
 */
int page_moment_take(struct page_moment *, const struct page_view *);
/*
 * Numbers mean something else by now, or blocks were not logged in between.
 * When a target was armed is told up to a second later than that it is, and is
 * noted here.
 */
bool page_moment_is_past(struct page_moment *, const struct nodes_look *);
/* Records were lost for good since then, or blocks had no room in the list. */
bool page_moment_is_incomplete(const struct page_moment *,
    const struct page_view *);
/* The picture is of before that moment: one has stepped back behind it. */
bool page_moment_is_later(const struct page_moment *,
    const struct page_view *);
/* It is a block of after that moment. */
bool page_moment_is_new(const struct page_moment *, const struct blk *);
/* Blocks of the list that were there by then: the first ones by age. */
uint64_t page_moment_old(const struct page_moment *, const struct page_view *);
/* "14:50:03" */
void page_moment_text(const struct page *, const struct page_view *,
    const struct page_moment *, char out[12]);

/* --- draining (drain.c) ------------------------------------------------ */

/*
 * Begins with what the view shows, or ends.  Fails as page_moment_take(), or with
 * -ENOMEM.
 */
int page_drain_begin(struct page *, const struct page_view *);
void page_drain_end(struct page *);
bool page_is_draining(const struct page *);
void page_drain_free(struct page_drain *);
/* Keeps those of n blocks that are listed, in their order; how many they are. */
size_t page_drain_keep(const struct page *, struct blk *, size_t n);
/*
 * "drain since 14:50:03: 312 left of 41,331", of a sample "15 left of 462
 * sampled blocks", in what fits.
 */
void page_drain_put(const struct page *, const struct page_view *,
    struct page_picture *);

extern const struct page_rows_ops page_rows_drained;

#endif

/*
 * drain: only the blocks of one moment as rows.
 *
 * Vocabulary
 *	moment	a time in a stream: the number of its last record then.  A block
 *		with a higher number is new.
 *	drain	lists only blocks that existed at its moment: what remains is what
 *		nobody has freed.
 *
 * These blocks are the first ones in the order of age.  In that order the rows
 * are the list's own; in others they are a choice (choice.h).
 *
 * Example
 *	page_drain_begin(page, v);
 *	n = page_drain_keep(page, blks, n);	those that are listed
 *	page_drain_end(page);
 */
#ifndef PAGEK_DRAIN_H
#define PAGEK_DRAIN_H

#include "../page/view.h"
#include "blocks.h"

/* A moment of a stream. */
struct page_moment {
	bool set;
	uint32_t stream_no;
	int64_t armed_wall_ms;	/* when logging began; 0: not known yet */
	uint64_t seq;		/* of the last record then */
	int64_t ms, wall_ms;	/* on the node's clocks */
	uint64_t lost;		/* records lost for good until then */
	uint64_t full;		/* blocks that had no room in the list until then */
	uint64_t blocks, bytes;	/* in the list; of a sample as listed */
	uint64_t est_blocks, est_bytes;	/* what these stand for */
};

struct page_drain {
	struct page_moment from;
	struct page_sorting sorting;	/* of the page before the drain */
};

/* The moment that the view shows.  -EAGAIN: the list is not complete; -ENOENT. */
int page_moment_set(struct page_moment *, const struct page_view *);
/*
 * The moment has no meaning any more: it is another stream, or logging was
 * interrupted.  Stores when logging began, which is known up to a second late.
 */
bool page_moment_is_void(struct page_moment *, const struct nodes_look *);
/* Since then records were lost for good, or blocks had no room in the list. */
bool page_moment_is_incomplete(const struct page_moment *,
    const struct page_view *);
/* The picture shows an earlier time (history). */
bool page_moment_is_ahead(const struct page_moment *,
    const struct page_view *);
bool page_moment_is_new(const struct page_moment *, const struct blk *);
/* Blocks of the list that existed then: the first ones by age. */
uint64_t page_moment_count_old(
    const struct page_moment *, const struct page_view *);
#define PAGE_MOMENT_TEXT 24
/* "15:04:05"; of another day "2026-11-20 15:04:05". */
void page_moment_text(const struct page *, const struct page_view *,
    const struct page_moment *, char out[PAGE_MOMENT_TEXT]);

/* Begins with the moment that the view shows.  As page_moment_set(), or -ENOMEM. */
int page_drain_begin(struct page *, const struct page_view *);
void page_drain_end(struct page *);
bool page_is_draining(const struct page *);
void page_drain_free(struct page_drain *);
/* Keeps those of n blocks that are listed; returns their number. */
size_t page_drain_keep(const struct page *, struct blk *, size_t n);
/* "drain since 14:50:03: 312 left of 41,331", in what fits. */
void page_drain_put(const struct page *, const struct page_view *,
    struct page_picture *);

extern const struct page_rows_ops page_rows_drained;

#endif

/*
 * stale: old blocks whose pages nobody refers to (`pagek stale`).
 *
 *	cmd_stale.c	the command: counts references, waits, and lists
 *	stale_blocks.c	decides which blocks are old and stale, and sums them
 *
 * Vocabulary
 *	old	a block is at least as old as --age.
 *	stale	it is old, and its pages were not referenced since a moment: since
 *		counting began, for the time of --for, or since a mark.
 *	exact	it fills pages, which decide alone (../../../refcnt/attribution.h).
 *	shared	it fills none.  It is stale if no page that it shares was referenced;
 *		such a page is stale if all its blocks are old as well.
 *	grain	the unit of all that: a page.  A block on a page that was referenced
 *		is not stale, whichever block of the page that was.
 *
 * Example
 *	stale_find(&found, &view, filter, &since, age_ms);
 *	stale_put_head(out, o, &view, &found);
 */
#ifndef PAGEK_STALE_H
#define PAGEK_STALE_H

#include "../../documents/documents.h"

/* Not referenced since counting began, or for that long. */
struct stale_since {
	bool counting;
	int64_t idle_ms;
};

struct stale_kind {
	uint64_t old, stale;		/* blocks */
};

struct stale_found {
	struct stale_since since;
	int64_t since_ms;		/* on the node's clock */
	int64_t age_ms;
	struct stale_kind all, exact, shared;
	uint64_t old_bytes, stale_bytes;
	uint64_t edges;			/* exact and stale, but an edge was referenced */
	uint64_t coarse;		/* old, not stale, but the counts may be of other pages */
	uint64_t uncounted;		/* old blocks */
	uint64_t pages, stale_pages;	/* counted ones that blocks share */
	uint64_t page_blocks;		/* blocks on these, each for each of its pages */
};

/* When all ranges were counted, on the node's clock. */
int64_t stale_counted_since(const struct refcnt_copy *);
/* The expression of page K for the stale blocks that match `also`, or NULL. */
void stale_filter(const struct stale_since *, int64_t age_ms, const char *also,
    char *out, size_t cap);
/* Looks at all blocks of the list that match the filter; NULL: at all. */
void stale_find(struct stale_found *, const struct page_view *,
    struct page_row_filter *, const struct stale_since *, int64_t age_ms);
/* The sums as lines of text, and as the head of a document. */
void stale_put_head(FILE *, const struct options *, const struct page_view *,
    const struct stale_found *);
void stale_json_head(struct json *, const struct page_view *,
    const struct stale_found *);

#endif

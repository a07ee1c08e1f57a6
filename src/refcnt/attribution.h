/*
 * attribution: which counts of pages belong to which blocks.
 *
 * Counts are of pages.  A block that fills pages has their counts to itself:
 * exact.  Any other shares its pages, and shows their count and how many
 * blocks share them.  Counts are never divided.
 *
 * Vocabulary
 *	copy	the counts of a target as a reader keeps them, by address.
 *	idle	the time since the last reference; of unreferenced pages since their counting
 *		began, or the block's allocation if later.
 *	edge	a page that a block shares although it fills others.
 *
 * Example
 *	refcnt_copy_set_ranges(&copy, range, nranges);
 *	refcnt_copy_add(&copy, page, n);	in the order of addresses
 *	if (refcnt_touch_of(&copy, b->addr, b->size, b->ms, &t) && !t.exact)
 *		n = refcnt_sharers(list, b);
 */
#ifndef REFCNT_ATTRIBUTION_H
#define REFCNT_ATTRIBUTION_H

#include "../blklist/blklist.h"
#include "refcnt.h"

struct refcnt_copy_page {
	uint64_t vaddr, paddr, page_size;
	uint64_t heat, reads, writes;
	uint64_t count;			/* of all counters of its set */
	int64_t since_ms;		/* counting began */
	int64_t last_ms;		/* -1: not referenced since */
	int32_t home;			/* -1: not known */
	uint32_t flags;
	uint8_t source;			/* enum refcnt_source */
};

/* All zeros: nothing is counted. */
struct refcnt_copy {
	struct refcnt_copy_page *page;	/* owned, by address */
	size_t n, cap;
	uint64_t *counter;		/* owned: `counters` of each page */
	size_t counter_cap;
	unsigned counters;
	struct refcnt_range *range;	/* owned, by address */
	size_t ranges;
	int64_t now_ms;			/* the node's clock */
	uint32_t period_ms;
};

/*
 * Appends pages; those that do not follow the last one are left out.  -ENOMEM.
 */
int refcnt_copy_add(struct refcnt_copy *, const struct refcnt_page *, size_t n);
/* Replaces the ranges.  -ENOMEM. */
int refcnt_copy_set_ranges(struct refcnt_copy *, const struct refcnt_range *,
    size_t n);
void refcnt_copy_fini(struct refcnt_copy *);

/* The first page at or above that address; n: there is none. */
size_t refcnt_copy_find(const struct refcnt_copy *, uint64_t vaddr);
/* The counters of page number i. */
const uint64_t *refcnt_copy_counters(const struct refcnt_copy *, size_t i);
/* The range that has this address, or NULL. */
const struct refcnt_range *refcnt_copy_range(const struct refcnt_copy *,
    uint64_t vaddr);

/* False: its source notices writes alone, or is not known here. */
bool refcnt_tells_use(const struct refcnt_copy_page *);

struct refcnt_touch {
	uint64_t count;			/* of its pages, in the unit of the source */
	int64_t idle_ms;
	int64_t since_ms;		/* its pages are all counted since then */
	bool never;			/* not referenced since then, nor since its birth */
	bool exact;			/* pages that it fills; else pages that it shares */
	bool edge;			/* exact, and an edge was referenced later */
	bool coarse;			/* the count of a page may be of pages around it */
};

/*
 * The counts of a block allocated at born_ms of the node's clock.  False:
 * pages are not counted, or only writes.
 */
bool refcnt_touch_of(const struct refcnt_copy *, uint64_t addr, uint64_t size,
    int64_t born_ms, struct refcnt_touch *);

/*
 * How many blocks of the layer have bytes in from..to - 1; first, or NULL: the
 * lowest.  The list is whole.
 */
size_t refcnt_blocks_on(const struct blklist *, unsigned layer, uint64_t from,
    uint64_t to, struct blk *first);
/*
 * Of all layers but the API's, and only without the API's there: these lie in
 * others, and bytes must not count twice.
 */
size_t refcnt_blocks_there(const struct blklist *, uint64_t from, uint64_t to,
    struct blk *first);
/* How many blocks share the pages of a block, itself included. */
size_t refcnt_sharers(const struct blklist *, const struct blk *);

static inline uint64_t
refcnt_page_of(uint64_t addr)
{
	return addr & ~(uint64_t)(REFCNT_PAGE - 1);
}

#endif

/*
 * cycle_costs: what the page's own cycles cost, counted cycle by cycle.
 *
 * Vocabulary
 *	session	what the session did with the replies of a cycle.
 *	picture	making and painting: of a cycle all its pictures, those for
 *		keys too.  A cycle that painted none is not counted here: with
 *		--fps, on a slow terminal or after a slow picture it waits
 *		(screen.c).
 *	cycle	all that the page's loop did from one tick to the next and did
 *		not wait for: those two, the link, the terminal, the kernel.
 *		Time in which the processor was another's is in it.
 *	cost	how often a cycle cost how much, to a sixteenth of the value,
 *		and the exact worst.
 *
 * Example
 *	cost_add(&costs.of[COST_CYCLE], us);
 *	p99 = cost_at(&costs.of[COST_CYCLE], 990);
 */
#ifndef PAGEK_CYCLE_COSTS_H
#define PAGEK_CYCLE_COSTS_H

#include "../page/page.h"

#define COST_STEPS 16			/* buckets for each power of two */
#define COST_BUCKETS (COST_STEPS * 30)	/* the last is above an hour */

struct cost {
	uint64_t n;
	uint64_t worst_us;
	uint32_t bucket[COST_BUCKETS];
};

enum cost_of {
	COST_SESSION,
	COST_PICTURE,
	COST_CYCLE,
	COST_KINDS		/* one more than the last */
};

struct page_costs {
	struct cost of[COST_KINDS];
	struct mono since;
	uint64_t missed;	/* of the page's count, when this one began */
};

void cost_add(struct cost *, uint64_t us);
/* What so many in a thousand did not exceed; 0 when nothing was counted. */
uint64_t cost_at(const struct cost *, unsigned per_mille);

/* Counts from here on; the page's highest cost too. */
void page_costs_begin(struct page_costs *, struct page *,
    const struct nodes_look *);

/* The panel: a title and its lines. */
void page_costs_put(const struct page_costs *, const struct page *,
    const struct nodes_look *, struct page_picture *);

#endif

/*
 * diagnostics: the costs of a page's cycles, and all counters of page,
 * session, list, keeper and node, with the times of their last changes.
 *
 * Vocabulary
 *	cycle	what the page's loop does from one tick to the next without
 *		waiting: session, picture, link, terminal, kernel.  Time in
 *		which the processor had other work is part of it.
 *	session	the session's work on the replies of a cycle.
 *	picture	composing and painting all pictures of a cycle.  Cycles that
 *		paint nothing are not counted.
 *	cost	how many cycles took how long, to a sixteenth of the value, and
 *		the exact worst.
 *	number	a field of one of the tables; "-" if it is not known.
 *	gauge	a number that moves all the time, so that its changes say
 *		nothing.
 *	moved	when a number was last seen to change.
 *
 * Example
 *	cost_add(&costs.of[COST_CYCLE], us);
 *	p99 = cost_at(&costs.of[COST_CYCLE], 990);
 *
 *	struct page_diag diag = { 0 };
 *	page_diag_sample(&diag, &from);		each cycle
 *	page_costs_put(&costs, page, look, pic);
 *	page_diag_put(&diag, &from, pic);
 */
#ifndef PAGEK_DIAGNOSTICS_H
#define PAGEK_DIAGNOSTICS_H

#include "../page/view.h"

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
	uint64_t missed;	/* the page's count at that time */
};

void cost_add(struct cost *, uint64_t us);
/* The cost that `per_mille` of a thousand cycles did not exceed; 0 of none. */
uint64_t cost_at(const struct cost *, unsigned per_mille);

/* Counts anew, and resets the page's highest cost. */
void page_costs_begin(struct page_costs *, struct page *,
    const struct nodes_look *);

/* The panel's title, and a line for each cost. */
void page_costs_put(const struct page_costs *, const struct page *,
    const struct nodes_look *, struct page_picture *);

#define PAGE_DIAG_MAX 128	/* numbers */

/* Where they come from; all borrowed. */
struct page_diag_from {
	const struct page *page;
	const struct nodes_look *look;
	const struct blklist_counts *counts;	/* of its list; NULL: it has none */
	const struct nodes_effort *effort;
	const struct page_costs *costs;
	size_t pending;		/* names requested and not answered */
	struct mono now;
};

struct page_diag {
	bool sampled;		/* the numbers are known: of this stream and time */
	uint32_t stream_no;
	struct mono sampled_at;
	struct {
		bool known;
		bool moved;
		uint64_t value;
		struct mono at;
	} number[PAGE_DIAG_MAX];
	bool looked;		/* the panel was shown: read the memory next time ... */
	bool weighed;		/* ... if that was not done in the last second */
	struct mono weighed_at;
	uint64_t memory;	/* bytes; 0: not known */
};

/* The numbers of another stream are other numbers, and have not moved. */
void page_diag_sample(struct page_diag *, const struct page_diag_from *);
/* A line for each number, in groups; 40 columns hold name, number and change. */
void page_diag_put(struct page_diag *, const struct page_diag_from *,
    struct page_picture *);

/* Memory of this process, as the kernel counts it.  Negative errno. */
int own_use_memory(uint64_t *bytes);

#endif

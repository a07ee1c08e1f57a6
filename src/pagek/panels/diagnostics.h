/*
 * diagnostics: every number that node, keeper, list, session and page count,
 * with its last change.
 *
 * Vocabulary
 *	number	a field of one of its tables; one that is not known is "-".
 *	gauge	a number that says how it is now, and moves all the time: its
 *		changes say nothing.
 *	moved	when a number was last seen to change; nobody knows of the time
 *		before it was first seen.
 *
 * Example
 *	struct page_diag diag = { 0 };
 *	each cycle:	page_diag_sample(&diag, &from);
 *	the panel:	page_diag_put(&diag, &from, pic);
 */
#ifndef PAGEK_DIAGNOSTICS_H
#define PAGEK_DIAGNOSTICS_H

#include "../page/view.h"
#include "cycle_costs.h"

#define PAGE_DIAG_MAX 128	/* numbers */

/* What they are taken from; all borrowed. */
struct page_diag_from {
	const struct page *page;
	const struct nodes_look *look;
	const struct blklist_counts *counts;	/* of its list; NULL: it has none */
	const struct nodes_effort *effort;
	const struct page_costs *costs;
	size_t pending;		/* names asked for and not answered */
	struct mono now;
};

struct page_diag {
	uint32_t stream_no;	/* of the numbers ... */
	bool sampled;		/* ... if there are any ... */
	struct mono sampled_at;	/* ... of that time */
	struct {
		bool known;
		bool moved;
		uint64_t value;
		struct mono at;
	} number[PAGE_DIAG_MAX];
	bool looked;		/* somebody has, since: memory is looked up then ... */
	bool weighed;		/* ... and once a second at most */
	struct mono weighed_at;
	uint64_t memory;	/* 0: not known */
};

/* Another stream's numbers are others, and have not moved. */
void page_diag_sample(struct page_diag *, const struct page_diag_from *);
/*
 * A line for each as it was sampled last, in groups; 40 columns hold name,
 * number and change.
 */
void page_diag_put(struct page_diag *, const struct page_diag_from *,
    struct page_picture *);

/*
 * Bytes of memory that this process has now, as the kernel counts it.  A
 * negative errno where /proc is not there or does not say.
 */
int own_use_memory(uint64_t *bytes);

#endif

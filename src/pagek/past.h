/*
 * past: how the list was during the last minutes, to step back to while the
 * picture is paused.
 *
 * Vocabulary
 *	state	the list as it was at one moment, one a second at first.  It is
 *		kept as what was freed until the next state; what came since is
 *		known by its sequence number, for that is in the list or was
 *		freed later.
 *	gone	a block that was in the list at a state and was freed before the
 *		next.  What lives shorter than that is in no state, and costs
 *		nothing.
 *	apart	seconds between states: more of them when what is freed would
 *		take the memory that there is for it (PAGE_PAST_BYTES) in less
 *		than two minutes.  States are fewer then, and none is wrong.
 *
 * A list that is taken anew, or that has forgotten what was freed before it was
 * asked (blklist_remember()), has no past but from there on.
 *
 * Example
 *	page_past_note(page, v);		once a cycle
 *	page_freeze(page, v);
 *	page_steps_begin(&steps, page->past, list);	a copy of v's list
 *	r = page_steps_back(&steps);		it is now as one state before
 */
#ifndef PAGEK_PAST_H
#define PAGEK_PAST_H

#include "view.h"

#define PAGE_PAST_STATES 300
#define PAGE_PAST_BYTES (UINT64_C(56) << 20)

struct page_past;

/* One moment, as far as a picture of it needs. */
struct page_past_state {
	uint64_t as_of;			/* the last record in it */
	int64_t now_ms, node_wall_ms;
	uint64_t total_records;
	struct blklist_counts counts;
	struct page_past_gone *gone;	/* until the next state, by when they went */
	size_t ngone, cap;
};

struct page_past_gone {
	struct blk blk;			/* its `info` is of page_past_names() */
	uint64_t end;			/* the record that freed it */
	bool back;			/* a step has put it back */
};

/* Once a cycle, of what is live; does nothing while the picture is paused, or is about to be. */
void page_past_note(struct page *, const struct page_view *);
void page_past_free(struct page_past *);

/* The states there are, the oldest first; NULL behind the last. */
size_t page_past_states(const struct page_past *);
struct page_past_state *page_past_state(struct page_past *, size_t i);
unsigned page_past_apart(const struct page_past *);
const struct blklist *page_past_names(const struct page_past *);
/* Bytes that it holds. */
uint64_t page_past_bytes(const struct page_past *);
/* What has been freed and is in a state. */
uint64_t page_past_gone(const struct page_past *);

/* --- steps (past_steps.c) ----------------------------------------------- */

/*
 * A copy of the list on its way through the states, while nothing is noted.
 * Starts as all zeros.
 */
struct page_steps {
	struct page_past *past;		/* borrowed, as the list is */
	struct blklist *list;
	uint64_t as_of;			/* of the list as it was copied */
	size_t at;			/* the state it is in; page_past_states(): as copied */
	struct blk *taken;		/* what came after that state, the last step's at the end */
	size_t n, cap;
	size_t of_step[PAGE_PAST_STATES];	/* how many of them each step took */
};

void page_steps_begin(struct page_steps *, struct page_past *, struct blklist *,
    uint64_t as_of);
void page_steps_fini(struct page_steps *);
/*
 * 0; -ENOENT when there is no state there.  Any other one, -ENOMEM, leaves a
 * list that is of no moment at all.
 */
int page_steps_back(struct page_steps *);
int page_steps_forth(struct page_steps *);

#endif

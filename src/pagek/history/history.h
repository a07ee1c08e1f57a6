/*
 * history: states of the list during the last minutes (history.c), and the
 * paused picture, which can step back through them (pause.c).
 *
 * Vocabulary
 *	state	the list at one moment, one a second at first.  A state keeps
 *		the blocks that were freed before the next state.  Blocks that
 *		were allocated later are told by their sequence numbers.
 *	freed	a block that a state had and that was freed before the next.  A
 *		block that lives shorter than that is in no state and costs
 *		nothing.
 *	interval	seconds between two states.  It doubles when the freed
 *		blocks of two minutes would take more than PAGE_HISTORY_BYTES.
 *		States that are kept already stay as close as they are.
 *	pause	a copy of all that the picture can show.
 *	step	from one state to the one before or after it.
 *
 * A snapshot, and a list that has forgotten frees before they were read
 * (blklist_remember()), begin a new history.
 *
 * Example
 *	page_history_update(page, v);			once a cycle
 *	page_pause(page, v);
 *	page_step(page, true);
 *	while (page_step_advance(page, 16000000) == -EAGAIN)
 *		...					a picture
 *	page_view_paused(&v, page);		one state before the pause
 */
#ifndef PAGEK_HISTORY_H
#define PAGEK_HISTORY_H

#include "../page/view.h"

#define PAGE_HISTORY_STATES 300
#define PAGE_HISTORY_BYTES (UINT64_C(56) << 20)

struct page_history;

struct page_history_state {
	uint64_t as_of;			/* number of the last record in it */
	int64_t now_ms, node_wall_ms;
	uint64_t total_records;
	struct blklist_counts counts;
	struct blk *freed;		/* before the next state, in that order; `info` is of page_history_requesters() */
	size_t nfreed, cap;
};

/* Once a cycle.  Does nothing while the picture is paused or pausing. */
void page_history_update(struct page *, const struct page_view *);
void page_history_free(struct page_history *);

/* States are numbered from the oldest; NULL behind the last. */
size_t page_history_count(const struct page_history *);
struct page_history_state *page_history_state(struct page_history *, size_t i);
/* The shortest and the longest interval in seconds; false with less than two states. */
bool page_history_interval(struct page_history *, unsigned *shortest,
    unsigned *longest);
/* The list that numbers the requesters of freed blocks; NULL: there are none. */
const struct blklist *page_history_requesters(const struct page_history *);
uint64_t page_history_bytes(const struct page_history *);
/* Freed blocks in all states. */
uint64_t page_history_freed(const struct page_history *);
/* The number in `to` of the requester `info` of `from`; 0: none, or no room. */
uint16_t page_copy_requester(const struct blklist *from, struct blklist *to,
    uint16_t info);

/* --- steps (history.c) ----------------------------------------------- */

/*
 * The paused list on its way through the states, while the history does not
 * change.  The list of a state is built in portions beside the one shown: up to
 * three lists exist, each as large as the paused one.  Starts as all zeros.
 */
struct page_steps {
	struct page_history *history;	/* borrowed, and so is: */
	const struct blklist *paused;	/* in the order of age; it does not change */
	uint64_t sample;		/* period of both, or 0 */
	struct blklist *list;		/* of the state shown; NULL: the paused one is */
	size_t at;			/* the state shown; page_history_count(): the pause */
	size_t to;			/* the state asked for */

	/* The list being built; NULL: none is. */
	struct blklist *next;
	size_t next_at;			/* its state */
	enum {
		PAGE_STEPS_REQUESTERS,
		PAGE_STEPS_PAUSED,	/* blocks that the paused list has */
		PAGE_STEPS_FREED,	/* blocks that were freed since */
		PAGE_STEPS_ORDER,
	} part;
	size_t state;			/* whose freed blocks come next ... */
	uint64_t row;			/* ... from there down; of other parts: done up to there */
	uint64_t done;			/* blocks looked at */
};

void page_steps_begin(struct page_steps *, struct page_history *,
    const struct blklist *paused, uint64_t sample);
void page_steps_fini(struct page_steps *);
/* Asks for one state before or after the one asked for.  -ENOENT: there is none. */
int page_steps_ask(struct page_steps *, bool back);
/*
 * Builds for `budget_ns`, and at least one portion.  0: the state asked for is
 * shown.  -EAGAIN: not yet; a state on the way there may be.  -ENOMEM: the
 * request is dropped, and the same state is shown.
 */
int page_steps_advance(struct page_steps *, int64_t budget_ns);
/* Drops the request; false: there was none. */
bool page_steps_stop(struct page_steps *);
/* Progress of the list being built. */
unsigned page_steps_percent(const struct page_steps *);
/* The list shown; borrowed until the next page_steps_advance(). */
const struct blklist *page_steps_list(const struct page_steps *);

/* --- pause (pause.c) --------------------------------------------------- */

/*
 * Copies all that the picture can show.  -EAGAIN: a large list takes several
 * pictures, call again with the next one; the copy is of the first call's
 * moment.  -ESTALE: the view has another list, the next call begins anew.
 * -ENOMEM: not paused.
 */
int page_pause(struct page *, const struct page_view *);
/* Progress of the copy; 0 while nothing is being paused. */
unsigned page_pause_percent(const struct page *);
/* Ends the pause, or the copying for it. */
void page_resume(struct page *);
/*
 * Asks for the picture one state before or after the one asked for last.
 * -ENOENT: there is none.  -EINVAL: the picture is not paused.
 */
int page_step(struct page *, bool back);
/*
 * Builds that picture for `budget_ns`; the old one is shown until it is whole.
 * 0: it is shown, or none was asked for.  -EAGAIN: call again with the next
 * picture.  -EINVAL: the picture is not paused.  -ENOMEM: the request is
 * dropped.
 */
int page_step_advance(struct page *, int64_t budget_ns);
/* Progress of the picture asked for; false: none is. */
bool page_step_percent(const struct page *, unsigned *percent);
/* Drops the request; false: there was none. */
bool page_step_stop(struct page *);
/* How long before the pause the picture is; false: it is that of the pause. */
bool page_step_age(const struct page *, int64_t *ms);
/* The picture asked for: "picture of 15:04:09, 12 of 31, 1 s apart" */
void page_step_text(const struct page *, char *out, size_t cap);
/* Makes the view one of the paused picture, if there is one. */
void page_view_paused(struct page_view *, const struct page *);

/* The view of what the page shows: the session's, or the paused picture. */
void page_view_shown(struct page_view *, const struct page *,
    struct nodes_session *);

#endif

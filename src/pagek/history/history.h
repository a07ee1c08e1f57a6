/*
 * history: states of the list during the last minutes (history.c), and the
 * paused picture, which can step back through them (pause.c).
 *
 * Vocabulary
 *	state	the list at one moment, one a second at first.  It keeps the
 *		blocks that it had and that were freed before the next state.
 *		Younger blocks are told by their sequence numbers.  A block that
 *		is in no state costs nothing.
 *	interval	seconds between two states.  It doubles when the freed
 *		blocks of two minutes would take more than PAGE_HISTORY_BYTES.
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

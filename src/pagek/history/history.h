/*
 * history: the picture paused (pause.c), and how the list was during the last
 * minutes, to step back to while it is (history.c).
 *
 * Vocabulary
 *	state	the list as it was at one moment, one a second at first.  It is
 *		kept as what was freed until the next state; what came since is
 *		known by its sequence number, for that is in the list or was
 *		freed later.
 *	gone	a block that was in the list at a state and was freed before the
 *		next.  What lives shorter than that is in no state, and costs
 *		nothing.
 *	apart	seconds between a state and the next: more of them when what is
 *		freed would take the memory that there is for it
 *		(PAGE_PAST_BYTES) in less than two minutes.  States are fewer
 *		then, and none is wrong; those that were kept before stay as
 *		close as they were.
 *
 * A list that is taken anew, or that has forgotten what was freed before it was
 * asked (blklist_remember()), has no past but from there on.
 *
 * Example
 *	page_past_note(page, v);		once a cycle
 *	page_freeze(page, v);
 *	page_steps_begin(&steps, page->past, list, 0);	a copy of v's list
 *	page_steps_ask(&steps, true);
 *	while (page_steps_on(&steps, 16000000) == -EAGAIN)
 *		...				a picture
 *	list = page_steps_list(&steps);		as it was one state before
 */
#ifndef PAGEK_HISTORY_H
#define PAGEK_HISTORY_H

#include "../page/view.h"

#define PAGE_PAST_STATES 300
#define PAGE_PAST_BYTES (UINT64_C(56) << 20)

struct page_past;

/* One moment, as far as a picture of it needs. */
struct page_past_state {
	uint64_t as_of;			/* the last record in it */
	int64_t now_ms, node_wall_ms;
	uint64_t total_records;
	struct blklist_counts counts;
	struct blk *gone;		/* until the next state, by when they went; `info` is of page_past_names() */
	size_t ngone, cap;
};

/*
 * Once a cycle, of what is live; does nothing while the picture is paused, or
 * is about to be.
 */
void page_past_note(struct page *, const struct page_view *);
void page_past_free(struct page_past *);

/* The states there are, the oldest first; NULL behind the last. */
size_t page_past_states(const struct page_past *);
struct page_past_state *page_past_state(struct page_past *, size_t i);
/*
 * Seconds between two states that follow each other, rounded: the fewest there
 * are, and the most.  False of less than two states.
 */
bool page_past_apart(const struct page_past *, unsigned *least, unsigned *most);
const struct blklist *page_past_names(const struct page_past *);
/* Bytes that it holds. */
uint64_t page_past_bytes(const struct page_past *);
/* What has been freed and is in a state. */
uint64_t page_past_gone(const struct page_past *);

/* --- steps (history.c) ----------------------------------------------- */

/*
 * The paused list on its way through the states, while nothing is noted.  For
 * each of them a list of its own is made, in portions, beside the one that is
 * shown until then: so there are up to three of them at a time, each as large
 * as the paused one.  That one stays as it is.  Starts as all zeros.
 */
struct page_steps {
	struct page_past *past;		/* borrowed, as this is: */
	const struct blklist *paused;	/* in the order of age, and no one changes it */
	uint64_t sample;		/* period of both, or 0 */
	struct blklist *list;		/* of the state shown; NULL: the paused one is */
	size_t at;			/* that state; page_past_states(): as it was paused */
	size_t to;			/* the one that was asked for */

	/* What is being made; NULL: nothing is. */
	struct blklist *next;
	size_t next_at;			/* of that state */
	enum {
		PAGE_STEPS_NAMES,
		PAGE_STEPS_PAUSED,	/* what the paused list has of it */
		PAGE_STEPS_GONE,	/* what was freed since */
		PAGE_STEPS_ORDER,
	} part;
	size_t state;			/* whose gone blocks come next ... */
	uint64_t row;			/* ... from there down; else up to there it is done */
	uint64_t done;			/* blocks looked at */
};

void page_steps_begin(struct page_steps *, struct page_past *,
    const struct blklist *paused, uint64_t sample);
void page_steps_fini(struct page_steps *);
/* What is asked for is one state before, or after.  -ENOENT: there is none. */
int page_steps_ask(struct page_steps *, bool back);
/*
 * So many nanoseconds on the way there, and at least one portion.  0: it is
 * shown.  -EAGAIN: it is not; but another one may be, that was on its way
 * before.  -ENOMEM: nothing more is asked for, and the same is shown.
 */
int page_steps_on(struct page_steps *, int64_t budget_ns);
/* What is shown is all that is asked for; false: it was. */
bool page_steps_stop(struct page_steps *);
/* Of the list that is on its way. */
unsigned page_steps_percent(const struct page_steps *);
/* What is shown: borrowed until the next page_steps_on(). */
const struct blklist *page_steps_list(const struct page_steps *);

/* --- pause (pause.c) --------------------------------------------------- */

/*
 * Copies all that the picture can show, as it is now.  -EAGAIN: a large list
 * takes more than one picture, so with the next one again; it will be paused as
 * it was at the first call.  -ESTALE: the list is another one meanwhile, and
 * the next call begins anew.  -ENOMEM: not paused.
 */
int page_freeze(struct page *, const struct page_view *);
/* How much of it is copied, in percent; 0 when it is not pausing. */
unsigned page_freezing(const struct page *);
/* Neither paused nor pausing any more. */
void page_thaw(struct page *);
/*
 * Asks for the picture of one state before or after (history.h) the one that was
 * asked for last.  -ENOENT: there is none.  -EINVAL: nothing is paused.
 */
int page_step(struct page *, bool back);
/*
 * So many nanoseconds on the way to it; until it is whole the one before is
 * shown.  0: there it is, or no other one was asked for.  -EAGAIN: it takes
 * more, so with the next picture again.  -EINVAL: nothing is paused.  -ENOMEM:
 * the picture is what it was, and nothing is on its way any more.
 */
int page_step_on(struct page *, int64_t budget_ns);
/* How far the next one is; false: none is on its way. */
bool page_stepping(const struct page *, unsigned *percent);
/* The picture stays; false: no other one was on its way. */
bool page_step_stop(struct page *);
/* False: the picture is that of the pause; else it was so long before it. */
bool page_stepped(const struct page *, int64_t *ms);
/* Of the one that was asked for: "picture of 15:04:09, 12 of 31, 1 s apart" */
void page_step_text(const struct page *, char *out, size_t cap);
/* Puts the copy, if there is one, behind the view. */
void page_view_frozen(struct page_view *, const struct page *);

/* What the page shows: that, or the paused picture. */
void page_view_shown(struct page_view *, const struct page *,
    struct nodes_session *);

#endif

/*
 * times: what time it is, for who makes a text of it.
 *
 * A picture that stands need not be made again while it would say the same.
 * So whoever asks for a time here says how exactly it is shown, and until when
 * that holds is noted in the view: the first such moment is the next one at
 * which the picture changes by itself (rest.h).  Past this door clocks are read
 * only by who stores a moment and shows none, and for what is made anew in each
 * cycle anyway; tests/live/rooms.sh knows who that is.
 *
 * Vocabulary
 *	clock	there are several, and none is told from another: a node's wall
 *		clock may be set while its ages go on.
 *	hold	what was said of a clock holds until that shows so much.
 *
 * Example
 *	static const struct page_age_step steps[] = { { 0, 1 }, { 60, 10 } };
 *	s = page_time_age(v, b->ms, steps, BASE_NELEM(steps));
 *	...		of 75 s it is 70, and holds until they are 80
 */
#ifndef PAGEK_TIMES_H
#define PAGEK_TIMES_H

#include "view.h"

enum page_clock {
	PAGE_CLOCK_OWN,		/* ns: the view's */
	PAGE_CLOCK_NODE,	/* ms: that of ages */
	PAGE_CLOCK_WALL,	/* ms: the node's, for people */
	PAGE_CLOCK_STALE,	/* ms: how old the list is */
	PAGE_CLOCKS
};

/* Of what has been written so far: until when it holds, by each clock. */
struct page_holds {
	int64_t until[PAGE_CLOCKS];	/* INT64_MAX: for ever */
};

/* Nothing is written yet. */
void page_holds_begin(struct page_holds *);
/* Those of something else that is in the picture too. */
void page_holds_join(struct page_holds *, const struct page_holds *);
/* By that clock, no longer than until then. */
void page_holds_until(const struct page_view *, enum page_clock, int64_t);
/* What depends on more than is told here: it holds for no time. */
void page_holds_never(const struct page_view *);
/* Notes nothing: for who stores a moment and shows none. */
int64_t page_clock_of(const struct page_view *, enum page_clock);

/* From this age on it is shown in steps of so many seconds; 0: as one. */
struct page_age_step {
	uint64_t from, unit;
};

/*
 * Seconds since that moment of the node's clock, as they are shown: cut to the
 * step.  A clock that goes back makes no block younger than new.
 */
uint64_t page_time_age(const struct page_view *, int64_t ms,
    const struct page_age_step *, size_t n);
/* So many milliseconds have passed since then on the node's clock. */
bool page_time_passed(const struct page_view *, int64_t since_ms, int64_t ms);

/* The node has told what time it is there. */
bool page_time_known(const struct page_view *);
/* The node's wall clock, of which nothing below that unit is shown. */
int64_t page_time_wall(const struct page_view *, int64_t unit_ms);
/*
 * What it showed at that moment of the node's other clock.  That holds as long as
 * the one is as much ahead of the other, which is compared apart, and nothing is
 * noted; so it is of the next one.
 */
int64_t page_time_wall_at(const struct page_view *, int64_t ms);
/* By how much the one is ahead of the other. */
int64_t page_time_wall_ahead(const struct page_view *);

/* On the view's own clock, that moment has come. */
bool page_time_reached(const struct page_view *, struct mono);
/* Whole seconds since then. */
int64_t page_time_since(const struct page_view *, struct mono);

/* The list is so old, in ms, or older. */
bool page_time_stale(const struct page_view *, int64_t ms);

#endif

/*
 * levels: how hard a node's kernel works for its pages, as one viewer sees it.
 *
 *	levels.c	the samples kept, and what was spent in a period
 *	levels_text.c	texts that page S and pagek stress have in common
 *	levels_page.c	page S
 *	levels_strip.c	its line on page K
 *
 * Vocabulary (and that of stress/stress.h)
 *	period	between two samples: the last second, the window, since the mark.
 *	window	the period whose length the user chooses.
 *	mark	a sample that a period begins with: at first the first one.
 *	row	a level, or a sum of time for which tasks waited for memory.
 *	trend	the last minute, a number for each second.
 *
 * Samples come at any rate; only those of whole seconds are kept.
 *
 * Example
 *	page_levels_take(l, &(struct levels_taken){ ... });	as samples come
 *	page_levels_compose(l, &head, cols, rows, &pic);
 */
#ifndef PAGEK_LEVELS_H
#define PAGEK_LEVELS_H

#include "../../stress/stress.h"
#include "../picture/picture.h"

enum levels_row {
	LEVELS_SOME = STRESS_LEVELS,	/* those before are the levels, from 0 */
	LEVELS_ALL,
	LEVELS_ROWS
};

enum levels_period {
	LEVELS_SECOND,
	LEVELS_WINDOW,
	LEVELS_MARK,
	LEVELS_PERIODS
};

#define LEVELS_TREND 60
#define LEVELS_TROUBLE 256

struct levels_taken {
	const struct stress_sample *sample;
	const char *kernel, *why;	/* "": not known; nothing to say */
	int64_t ms;			/* on the node's clock */
	int64_t wall_ms;
	uint64_t no;			/* another one with each sample */
	bool woken;			/* within a second, for tasks waited for memory */
};

struct levels_spent {
	struct stress_sample s;		/* numbers are those of the period */
	int64_t ms;			/* its length */
	bool none;			/* it has not passed yet */
	bool changed;			/* the source changed within it */
	bool mean;			/* of a second, for samples came more slowly */
};

struct page_levels;

/* -ENOMEM */
int page_levels_new(struct page_levels **);
void page_levels_free(struct page_levels *);
/* Another node. */
void page_levels_clear(struct page_levels *);

/* False: it is the last one again. */
bool page_levels_take(struct page_levels *, const struct levels_taken *);
/* Why there are no samples; "": there are.  Safe text. */
void page_levels_set_trouble(struct page_levels *, const char *);
/* While it is held, samples are kept, and what is shown stays. */
void page_levels_hold(struct page_levels *, bool);

/* False: there is no sample yet. */
bool page_levels_set_mark(struct page_levels *);
/* Mark, window and trend begin now. */
bool page_levels_reset(struct page_levels *);
/* A longer or shorter window; false: there is none. */
bool page_levels_step_window(struct page_levels *, bool longer);

bool page_levels_known(const struct page_levels *);
void page_levels_spent(const struct page_levels *, enum levels_period,
    struct levels_spent *);
/* The seconds of a row, the oldest first, in points of `fold` seconds; their number. */
size_t page_levels_trend(const struct page_levels *, enum levels_row,
    size_t fold, uint64_t out[LEVELS_TREND]);
const char *page_levels_kernel(const struct page_levels *);
const char *page_levels_why(const struct page_levels *);
const char *page_levels_trouble(const struct page_levels *);
enum stress_source page_levels_source(const struct page_levels *);
/* Wall clock, in ms; *first: it is the first sample. */
int64_t page_levels_mark_ms(const struct page_levels *, bool *first);
int64_t page_levels_window_ms(const struct page_levels *);

/* --- levels_text.c ------------------------------------------------------------ */

#define LEVELS_TEXT 160

/* "4,373", "~4,373": an estimate, "<76": at most, ">3": at least, "n/a". */
void levels_count_text(const struct stress_sample *, size_t level,
    char out[LEVELS_TEXT]);
char levels_mark_of(const struct stress_sample *, size_t level);
/* "89.5%", "<0.1%", "-": of one that is not exact, or 0. */
void levels_share_text(const struct stress_sample *, size_t level,
    char out[LEVELS_TEXT]);
void levels_percent_text(double share, char out[LEVELS_TEXT]);
/* Level 2 is above a tenth of level 1. */
bool levels_watch_ratio(const struct stress_sample *);
extern const char levels_watch[];	/* that in words */
/*
 * The next reason why the counts of a period are too low; *at begins with 0.  False:
 * there are no more.
 */
bool levels_doubt(const struct levels_spent *, size_t *at, char out[LEVELS_TEXT]);
/* "failed: 2 that could wait, of at most 8 pages; 75 ..."; "": none, or not known. */
void levels_failures_text(const struct stress_sample *, char *out, size_t cap);
/*
 * "CHARGE /GROUP  3 at the limit, 1 ..." of a control group, for no level shows its
 * limit; "": not known.  group "": not known; outside text.  *any: it has counted.
 */
void levels_charge_text(const struct stress_sample *, const char *group, bool ascii,
    char *out, size_t cap, bool *any);
/* Processes that were killed for such a limit; "": none. */
void levels_kills_text(const struct stress_sample *, char out[LEVELS_TEXT]);
/* The meaning of the marks; NULL: all levels are exact. */
const char *levels_legend(const struct stress_sample *);
extern const char levels_caution[];
/* ... in short. */
#define LEVELS_CAUTION "do not compare counts of two sources or kernels"

/* --- levels_page.c ------------------------------------------------------------ */

struct levels_head {
	const char *node;		/* outside text */
	const char *state;		/* "LIVE" */
	enum page_mark state_mark;
	size_t selected;		/* row with the cursor */
	bool ascii, utc;
};

/* rows 0: as text, without cursor and key bar.  -ENOMEM. */
int page_levels_compose(const struct page_levels *, const struct levels_head *,
    int cols, int rows, struct page_picture *);
/* The meaning of the levels, as a list that scrolls.  -ENOMEM. */
int page_levels_explain(const struct page_levels *, struct page_scroll *,
    bool ascii, int cols, int rows, struct page_picture *);

/* --- levels_strip.c ----------------------------------------------------------- */

/* Writes the line that was begun. */
void page_levels_strip(const struct page_levels *, struct page_picture *);

#endif

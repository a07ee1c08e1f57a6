/*
 * stress: how hard a node's kernel works for its pages, as one viewer sees it.
 *
 *	stress.c	the samples kept, and what was spent in a period
 *	stress_text.c	texts that page S and pagek stress have in common
 *	stress_page.c	page S
 *	stress_strip.c	its line on page K
 *	stress_memory.c	memory of the kernel itself, on page S
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
 *	page_stress_take(l, &(struct page_stress_taken){ ... });	as samples come
 *	page_stress_compose(l, &head, cols, rows, &pic);
 */
#ifndef PAGEK_STRESS_H
#define PAGEK_STRESS_H

#include "../../stress/stress.h"
#include "../picture/field_table.h"
#include "../picture/picture.h"

enum page_stress_row {
	PAGE_STRESS_SOME = STRESS_LEVELS,	/* those before are the levels, from 0 */
	PAGE_STRESS_ALL,
	PAGE_STRESS_ROWS
};

enum page_stress_period {
	PAGE_STRESS_SECOND,
	PAGE_STRESS_WINDOW,
	PAGE_STRESS_MARK,
	PAGE_STRESS_PERIODS
};

#define PAGE_STRESS_TREND 60
#define PAGE_STRESS_TROUBLE 256

struct page_stress_taken {
	const struct stress_sample *sample;
	const char *kernel, *why;	/* "": not known; nothing to say */
	int64_t ms;			/* on the node's clock */
	int64_t wall_ms;
	uint64_t no;			/* another one with each sample */
	bool woken;			/* within a second, for tasks waited for memory */
};

struct page_stress_spent {
	struct stress_sample s;		/* numbers are those of the period */
	int64_t ms;			/* its length */
	bool none;			/* it has not passed yet */
	bool changed;			/* the source changed within it */
	bool mean;			/* of a second, for samples came more slowly */
};

struct page_stress;

/* -ENOMEM */
int page_stress_new(struct page_stress **);
void page_stress_free(struct page_stress *);
/* Another node. */
void page_stress_clear(struct page_stress *);

/* False: it is the last one again. */
bool page_stress_take(struct page_stress *, const struct page_stress_taken *);
/* Why there are no samples; "": there are.  Safe text. */
void page_stress_set_trouble(struct page_stress *, const char *);
/* While it is held, samples are kept, and what is shown stays. */
void page_stress_hold(struct page_stress *, bool);

/* False: there is no sample yet. */
bool page_stress_set_mark(struct page_stress *);
/* Mark, window and trend begin now. */
bool page_stress_reset(struct page_stress *);
/* A longer or shorter window; false: there is none. */
bool page_stress_step_window(struct page_stress *, bool longer);

bool page_stress_known(const struct page_stress *);
void page_stress_spent(const struct page_stress *, enum page_stress_period,
    struct page_stress_spent *);
/* The seconds of a row, the oldest first, in points of `fold` seconds; their number. */
size_t page_stress_trend(const struct page_stress *, enum page_stress_row,
    size_t fold, uint64_t out[PAGE_STRESS_TREND]);
const char *page_stress_kernel(const struct page_stress *);
const char *page_stress_why(const struct page_stress *);
const char *page_stress_trouble(const struct page_stress *);
enum stress_source page_stress_source(const struct page_stress *);
/* Wall clock, in ms; *first: it is the first sample. */
int64_t page_stress_mark_ms(const struct page_stress *, bool *first);
int64_t page_stress_window_ms(const struct page_stress *);

/* --- stress_text.c ------------------------------------------------------------ */

#define STRESS_TEXT 160

/* "4,373", "~4,373": an estimate, "<76": at most, ">3": at least, "n/a". */
void stress_count_text(const struct stress_sample *, size_t level,
    char out[STRESS_TEXT]);
char stress_mark_of(const struct stress_sample *, size_t level);
/* "89.5%", "<0.1%", "-": of one that is not exact, or 0. */
void stress_share_text(const struct stress_sample *, size_t level,
    char out[STRESS_TEXT]);
void stress_percent_text(double share, char out[STRESS_TEXT]);
/* Level 2 is above a tenth of level 1. */
bool stress_watch_ratio(const struct stress_sample *);
extern const char stress_watch_words[];	/* that in words */
/*
 * The next reason why the counts of a period are too low; *at begins with 0.  False:
 * there are no more.
 */
bool stress_doubt(const struct page_stress_spent *, size_t *at, char out[STRESS_TEXT]);
/* "failed: 2 that could wait, of at most 8 pages; 75 ..."; "": none, or not known. */
void stress_failures_text(const struct stress_sample *, char *out, size_t cap);
/*
 * "CHARGE /GROUP  3 at the limit, 1 ..." of a control group, for no level shows its
 * limit; "": not known.  group "": not known; outside text.  *any: it has counted.
 */
void stress_charge_text(const struct stress_sample *, const char *group, bool ascii,
    char *out, size_t cap, bool *any);
/* Processes that were killed for such a limit; "": none. */
void stress_kills_text(const struct stress_sample *, char out[STRESS_TEXT]);
/* The meaning of the marks; NULL: all levels are exact. */
const char *stress_legend(const struct stress_sample *);
extern const char stress_caution[];
/* ... in short. */
#define STRESS_CAUTION "do not compare counts of two sources or kernels"

/* --- stress_page.c ------------------------------------------------------------ */

struct page_stress_head {
	const char *node;		/* outside text */
	const char *state;		/* "LIVE" */
	enum page_mark state_mark;
	size_t selected;		/* row with the cursor */
	bool ascii, utc;
};

/* rows 0: as text, without cursor and key bar.  -ENOMEM. */
int page_stress_compose(const struct page_stress *, const struct page_stress_head *,
    int cols, int rows, struct page_picture *);
/* The meaning of the levels, as a list that scrolls.  -ENOMEM. */
int page_stress_explain(const struct page_stress *, struct page_scroll *,
    bool ascii, int cols, int rows, struct page_picture *);

/* --- stress_memory.c ---------------------------------------------------------- */

/* The columns of screen, text and data.  A row is one of struct stress_memory. */
extern const struct field_table *const page_stress_memory_fields[STRESS_TABLES];

/* The kernel's own memory, largest row first.  Empty: all zeros, but for `table`. */
struct page_stress_memory {
	enum stress_table table;
	bool known;			/* rows have come */
	bool marks;			/* the next table makes `now` the mark */
	struct stress_memory now, base;	/* base: the table at the mark */
	struct page_list list;		/* the cursor in `now` */
	char trouble[PAGE_STRESS_TROUBLE];
};

void page_stress_memory_fini(struct page_stress_memory *);
/* Takes the rows of *m and empties it.  The first table is the mark. */
void page_stress_memory_take(struct page_stress_memory *, struct stress_memory *m);
/* Sets the mark.  False: there are no rows yet. */
bool page_stress_memory_mark(struct page_stress_memory *);
/* Sets the reason why there are no rows now, as safe text; "": there are. */
void page_stress_memory_set_trouble(struct page_stress_memory *, const char *);
/* Composes the page, like page_stress_compose(). */
int page_stress_memory_compose(struct page_stress_memory *,
    const struct page_stress_head *, int cols, int rows, struct page_picture *);

/* --- stress_strip.c ----------------------------------------------------------- */

/* Writes the line that was begun. */
void page_stress_strip(const struct page_stress *, struct page_picture *);

#endif

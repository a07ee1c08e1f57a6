/*
 * layout: pictures of page K, made of its rows.
 *
 * Vocabulary
 *	layout	a struct page_layout_ops: classic (33 columns), wide (from 80
 *		on) or full (from 120 on).  Its functions write the line that
 *		picture_line() has begun.
 *	state	the word of line 1, and the sentences below it.
 *	notice	a sentence above the rows that the reader has to know.
 *	sample	of a trend: bytes held at the end of one second, and the
 *		requests and frees within it.
 *	point	the mean of TREND_FOLD samples.
 *
 * Files
 *	compose.c	chooses the layout by the width, puts the lines together
 *	classic.c, wide.c, full.c, tiny.c
 *			one layout each, without its columns
 *	fields.h	columns of wide and full (block_fields.c, group_fields.c,
 *			target_fields.c; AGE and other cells are in
 *			block_fields.c); the row of classic is in
 *			../page/cells.c
 *	group_rows.c	rows of groups
 *	edit_fields.h	the parts of line 2 that can be edited
 *	states.c	(and status.c, trend.c) state and time line, counters, the last
 *			minute
 *
 * Example: a page as text
 *	struct page_picture pic = { 0 };
 *	page_init(&page, &opts);
 *	page_compose(&page, session, 80, 24, &pic);
 *	for (i = 0; i < pic.rows; i++)
 *		puts(pic.line[i].text);
 */
#ifndef PAGEK_LAYOUT_H
#define PAGEK_LAYOUT_H

#include "../page/view.h"

/* After setlocale(3): without UTF-8 the page is ASCII. */
void page_init(struct page *, const struct page_opts *);
void page_fini(struct page *);

/*
 * The picture of what the session looks at now; rows 0: as many as there are
 * blocks, for text output.  -ENOMEM.
 */
int page_compose(struct page *, struct nodes_session *, int cols, int rows,
    struct page_picture *);

/*
 * For nodes_session_open(), with the page as its argument: the next paint comes
 * when the replies of a cycle are in, not one cycle later.
 */
void page_news(void *page);

/* The same of a view. */
int page_compose_view(struct page *, const struct page_view *, int cols,
    int rows, struct page_picture *);

/* The peak of bytes: the target's, or the page's since page_peak_anew(). */
uint64_t page_view_peak(const struct page *, const struct page_view *);
void page_peak_anew(struct page *, const struct page_view *);

struct page_state;

struct page_layout_ops {
	void (*title)(struct page *, const struct page_view *,
	    const struct page_state *, struct page_picture *);
	/* A line of numbers below the title, where there is room; NULL: none. */
	void (*trend)(struct page *, const struct page_view *,
	    struct page_picture *);
	void (*node)(struct page *, const struct page_view *,
	    struct page_picture *);
	void (*heading)(const struct page *, const struct page_view *,
	    struct page_picture *);
	void (*row)(const struct page *, const struct page_view *,
	    const struct blk *, struct page_picture *);
	/* Marks in a row that has none of its own; NULL: none. */
	void (*mark)(const struct page_view *, const struct blk *,
	    struct page_picture *);
	void (*status)(struct page *, const struct page_view *,
	    const struct page_state *, struct page_picture *);
	/* A line above that, about the cursor's row; NULL: none. */
	void (*about)(struct page *, const struct page_view *,
	    struct page_picture *);
};

/* Line 1 of every wide layout. */
void page_wide_title(struct page *, const struct page_view *,
    const struct page_state *, struct page_picture *);
extern const struct page_layout_ops page_classic;
extern const struct page_layout_ops page_wide;
extern const struct page_layout_ops page_full;

#define PAGE_MIN_ROWS 5
#define PAGE_WIDE_COLS 80	/* from here on PAGE_AUTO is the wide layout */
#define PAGE_FULL_COLS 120	/* from here on the wide layout is the full one */

/* For less room than that. */
void page_compose_tiny(const struct page *, const struct page_view *,
    const struct page_state *, int rows, struct page_picture *);

/* --- state (states.c) --------------------------------------------------- */

struct page_state {
	char word[96];		/* for a wide line 1: "ENDED 15:03:58 signal 11" */
	char brief[24];		/* at most 17 columns: "ENDED signal 11" */
	const char *name;	/* the word that matters most: "ENDED", "PAUSED" */
	enum page_mark mark;	/* of the word */
	bool stale;		/* the rows are the last known ones */
	bool plain;		/* live, and nothing to add */
	char notice[768];	/* sentences for the reader; "" none; outside text */
};

void page_state_get(const struct page *, const struct page_view *,
    struct page_state *);

/* --- counters (status.c) ------------------------------------------------ */

/* Once for each picture: changed counters, the rate and the cost of a cycle. */
void page_sample(struct page *, const struct page_view *);

/* Lines of the help: the counters of the status line. */
void page_counters_help(struct page_picture *);

void page_status_classic(struct page *, const struct page_view *,
    const struct page_state *, struct page_picture *);
void page_status_wide(struct page *, const struct page_view *,
    const struct page_state *, struct page_picture *);

/* "82us", "1.1ms", "12ms", "1.2s" */
void page_cost_text(char out[12], uint64_t us);
/* "8.1 k/s" */
void page_rate_text(char out[16], uint64_t per_second);

/* --- words for states and losses (states.c) ------------------------------ */

/* "NO ALLOCLOG": a session's state in a word.  NULL for no state. */
const char *page_state_name(enum nodes_state);
/* The state of the look in a word; REPLAY instead of LIVE for a capture. */
const char *page_look_state(const struct nodes_look *);
/* A capture whose time stands. */
bool page_time_stands(const struct nodes_look *);
/* "EXECED": a target's state in a word.  NULL for no enum wire_state. */
const char *page_target_state(uint32_t state);

#define PAGE_EXIT_TEXT 24
/* "exit 3", "signal 11", or "" for a wait status that is not known. */
void page_exit_text(int32_t status, char out[PAGE_EXIT_TEXT]);

#define PAGE_LOST_TEXT 320
/*
 * "lost: 12 ring full.  INCOMPLETE since 12:00:05: blocks listed may be freed";
 * records have been lost, even if a snapshot makes them good.
 */
void page_lost_text(const struct page *, const struct nodes_look *,
    char out[PAGE_LOST_TEXT]);

/* The effect of lost records on the list: "blocks are missing" */
const char *page_lost_means(const struct nodes_look *);
#define PAGE_LACK_TEXT 192
/* Why a list is incomplete: "12 records were lost: blocks listed may be freed" */
void page_lack_text(const struct nodes_look *, char out[PAGE_LACK_TEXT]);

bool page_target_is_complete(const struct nodes_target *);
#define PAGE_REMARKS_TEXT 320
/* "INCOMPLETE: 12 lost; " if its counts are not right, and its reason */
void page_target_remarks(const struct nodes_target *,
    char out[PAGE_REMARKS_TEXT]);

/* All processes of the sum are known, and complete. */
bool page_sum_is_complete(const struct nodes_sum *);
/* "1 without data, 2 INCOMPLETE" of a sum, or "" */
void page_sum_lack(const struct nodes_sum *, char out[PAGE_REMARKS_TEXT]);
/* "1.2 MiB in 12 blocks of 3 processes", and what it lacks */
void page_sum_text(const struct nodes_sum *, char out[PAGE_REMARKS_TEXT]);

/* --- the last minute (trend.c) ---------------------------------------------- */

#define TREND_SAMPLES 60
#define TREND_FOLD 5
#define TREND_POINTS (TREND_SAMPLES / TREND_FOLD)

enum page_trend_of {
	TREND_LIVE,		/* bytes */
	TREND_ALLOCS,		/* a second */
	TREND_FREES,
	TRENDS			/* one more than the last */
};

/*
 * Once for each picture.  While it is paused, samples are taken and the trend
 * shown stays.  Without memory there are no trends.
 */
void page_trend_sample(struct page *, const struct page_view *);
/*
 * The points shown, oldest first; returns how many.  They are cut at the same
 * seconds each time, so that only the newest changes.  NULL has none.
 */
size_t page_trend_points(const struct page_trend *, enum page_trend_of,
    uint64_t out[TREND_POINTS]);
/* The last second's; false: there is none. */
bool page_trend_last(const struct page_trend *, enum page_trend_of,
    uint64_t *out);
void page_trend_free(struct page_trend *);

#endif

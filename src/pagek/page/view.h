/*
 * view: what a picture is made from.
 *
 * Pages read a session through this struct: the look, the list's counters, and
 * functions for stacks, words and names.  page_view_live() fills it from a
 * session, page_view_paused() from the copy of a paused picture, and tests from
 * a block list of their own.
 *
 * Example: a picture of a list without a session
 *	page_view_init(&v, &look);
 *	v.words = words;			and the names of threads
 *	v.thread = thread;
 *	r = page_compose_view(&page, &v, 80, 24, &pic);
 */
#ifndef PAGEK_VIEW_H
#define PAGEK_VIEW_H

#include "../../profile/profile.h"
#include "../../refcnt/attribution.h"
#include "../picture/picture.h"
#include "page.h"

struct page_view {
	const struct nodes_look *look;	/* what the picture shows */
	const struct nodes_look *live;	/* the session of now: the same unless paused */
	const struct blklist_counts *counts;	/* of the picture; never NULL */
	struct mono now;		/* the page's own clock */
	struct profile_words words;	/* stacks, and the names of their frames */
	/* The name of a thread; "" until it is known. */
	const char *(*thread)(void *arg, uint16_t thread);
	void *arg;
	const char *fetching;		/* debug file being fetched; "": none; outside text */
	size_t pending;			/* requested names */
	uint64_t names_no;		/* changes when names may have changed */
	bool typed;			/* types of objects are known of some blocks */
	bool gone;			/* of the current row: its block was freed */
	const struct nodes_freed *freed;	/* how the block in detail was freed; NULL: not seen */
	const struct nodes_lives *lives;	/* blocks that had its address; NULL: not known */
	const struct symbol_wrappers *wrappers;	/* functions to skip; NULL: none */
	const struct refcnt_copy *refcnt;	/* references to pages; NULL: none are counted */
	enum page_units units;		/* of the sizes in rows */
	bool utc;			/* of clocks in rows */
};

/* Fills counts from the look's list, and live and now. */
void page_view_init(struct page_view *, const struct nodes_look *);

uint64_t page_view_total(const struct page_view *);
/* How many blocks a listed one stands for: 1, unless the list is a sample. */
double page_view_weight(const struct page_view *, const struct blk *);
/* Blocks and bytes that the target holds; of a sample estimates. */
uint64_t page_view_blocks(const struct page_view *);
uint64_t page_view_bytes(const struct page_view *);
/* Changes when blocks have come or gone. */
uint64_t page_view_changes(const struct page_view *);
/* False: nothing can be counted, which is shown as "-", not as 0. */
bool page_view_known(const struct page_view *);

/* --- cells (cells.c) ----------------------------------------------------- */

#define PAGE_MIN_COLS 33	/* of the note's rows */

#define PAGE_FREE_WORD "free"	/* in DESCR */

static inline bool
page_is_free(const struct blk *b)
{
	return b->flags >> 4 == REC_FREE;
}

const struct wire_region *page_free_region(const struct nodes_look *,
    uint64_t addr);

/* The note's row; addr_cols is 8 or 12. */
void page_cell_classic(const struct page_view *, const struct blk *,
    int addr_cols, struct page_picture *);

/* Node number of the requester: "AB86", or "". */
void page_cell_rnod(char out[8], const struct nodes_look *,
    const struct blk *);
#define PAGE_REQUESTER_TEXT 16
/* Name of the requester, or its number; "": there is none.  Uses `room`. */
const char *page_requester(char room[PAGE_REQUESTER_TEXT],
    const struct nodes_look *, const struct blk *);
/* Five columns at most: "13s", "2m07s", "1h12m", "3d04h", "412d". */
void page_cell_age(char out[8], uint64_t seconds);
/* "2026-11-20 15:04:05" of a wall clock, in the zone of TZ or in UTC. */
#define PAGE_DATE_TEXT 32
void page_cell_date(int64_t wall_ms, bool utc, char out[PAGE_DATE_TEXT]);
#define PAGE_CLOCK_TEXT 16
/*
 * When it was allocated, on the node's clock, in 12 columns: "15:04:09.200",
 * after a day "11-17 15:04"; "" if no clock is known.
 */
void page_cell_allocated(const struct page_view *, const struct blk *,
    char out[PAGE_CLOCK_TEXT]);
/* One glyph for the age, for screens without colour: . : - = + # */
char page_cell_age_glyph(uint64_t seconds);
enum page_mark page_cell_age_mark(uint64_t seconds);
/* The age by the node's clock; 0 if the clock was set back. */
uint64_t page_cell_seconds(const struct nodes_look *, const struct blk *);
/* The origin: "function  file:line" in `width` columns behind `gap` blanks; "". */
void page_cell_function(const struct page_view *, const struct blk *, int gap,
    int width, struct page_picture *);
const char *page_cell_thread(const struct page_view *, const struct blk *);

/* The references to its pages; false: they are not counted. */
bool page_touch(const struct page_view *, const struct blk *,
    struct refcnt_touch *);
#define PAGE_TOUCH_COLS 16
/*
 * "12s 1,204 =": time since the last reference, '>' if there was none since counting
 * began, and the count of its pages: '=' if it fills them, "/36" if 36 blocks share
 * them, '~' if they may be of other pages.  "" if they are not counted.
 */
void page_cell_touch(const struct page_view *, const struct blk *,
    char out[PAGE_TOUCH_COLS + 1]);

/* Rows are to keep their places. */
bool page_freeze_is_wanted(const struct page *, const struct page_view *);
/* Other rows or another order are asked for: a frozen order is frozen again. */
void page_refreeze(struct page *);

/* One picture a second, for a slow link: it omits what only helps the eye. */
bool page_paints_little(const struct page *);

/*
 * One row of `pagek list`, cut to cap bytes with the NUL.  Sizes are exact, names
 * are not cut; a classic layout has the note's row.
 */
void page_row_text_view(const struct page *, const struct page_view *,
    const struct blk *, char *out, size_t cap);

/* The same in parts, to cache names over many rows: each is padded as in a row. */
struct page_row_names {
	const char *descr, *thread;
	const char *call;		/* "": not known */
	enum page_units units;		/* of the size */
	const char *touch;		/* NULL: there is no such column */
};
void page_row_descr(const struct page *, const struct nodes_look *,
    const struct blk *, char *out, size_t cap);
void page_row_thread(const struct page *, const char *name, char *out,
    size_t cap);
/* False: the words may still improve. */
bool page_row_call(const struct page *, const struct page_view *,
    uint64_t caller, char *out, size_t cap);
void page_row_put(const struct nodes_look *, const struct blk *,
    const struct page_row_names *, char *out, size_t cap);

bool page_time_known(const struct nodes_look *);
/* The node's wall clock, in ms, at a time `ms` of the clock that ages use. */
int64_t page_wall_ms(const struct nodes_look *, int64_t ms);

/* A time of the node's wall clock as the page shows it; classic clocks have no zone. */
struct tm;
void page_wall(const struct page *, const struct nodes_look *, int64_t ms,
    struct tm *);
/* The time of day alone. */
#define PAGE_CLOCK 16
void page_clock(const struct page *, const struct nodes_look *, int64_t ms,
    char out[PAGE_CLOCK]);

#define PAGE_NODE_TEXT 64
/* "0590 linac", cut if it is longer. */
void page_node_text(const struct nodes_look *, char out[PAGE_NODE_TEXT]);
#define PAGE_TARGET_TEXT 300
/* "acqd[4711]", or ""; outside text. */
void page_target_text(const struct nodes_look *, char out[PAGE_TARGET_TEXT]);

/*
 * "2026-11-20 15:04:22"; zone: with " UTC", unless the clock is a classic one.
 */
void page_date_full(const struct page *, const struct page_view *, bool zone,
    char out[40]);
/* The node's date in the note's line 1: "07/13/04 1330". */
void page_date(const struct page *, const struct page_view *,
    char out[20]);

/* The view of a session (view.c). */
void page_view_live(struct page_view *, struct nodes_session *);
#endif

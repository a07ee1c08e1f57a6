/*
 * view: what a picture is made of.
 *
 * A session is opaque, so the page looks at it through this narrow interface:
 * the look, the list's counters, and functions for stacks, words and names.
 * The tests build one by hand around a block list of their own;
 * page_view_live() builds it from a session, and page_view_frozen() puts the
 * copy of a paused picture behind it.
 *
 * Example: a picture of a list that no session has
 *	page_view_init(&v, &look);
 *	v.words = words;			and who has names of threads
 *	v.thread = thread;
 *	r = page_compose_view(&page, &v, 80, 24, &pic);
 */
#ifndef PAGEK_VIEW_H
#define PAGEK_VIEW_H

#include "../../mdd/mdd.h"
#include "../picture/picture.h"
#include "page.h"

struct page_view {
	const struct nodes_look *look;	/* what the picture shows */
	const struct nodes_look *live;	/* as it is now: the same unless paused */
	const struct blklist_counts *counts;	/* of the picture; never NULL */
	struct mono now;		/* the page's own clock */
	struct profile_words words;	/* stacks and what lies at their frames */
	/* The name of a thread; "" while not known. */
	const char *(*thread)(void *arg, uint16_t thread);
	void *arg;
	const char *fetching;		/* a debug file on its way; "" when none is; outside text */
	size_t pending;			/* names asked for and not answered yet */
	uint64_t names_no;		/* another one when names may be others */
	bool gone;			/* of a row that is made: its block is in the list no more */
	const struct nodes_freed *freed;	/* how the block in detail ended; NULL not seen */
	const struct nodes_lives *lives;	/* who has had its address; NULL not known */
	const struct symbol_wrappers *wrappers;	/* are skipped; NULL: none */
	enum page_units units;		/* of the sizes in rows */
	bool utc;			/* of clocks in rows */
};

/* Fills counts from the look's list, and live and now. */
void page_view_init(struct page_view *, const struct nodes_look *);

/* Blocks in the picture's list: as many rows as it can have. */
uint64_t page_view_total(const struct page_view *);
/* How many blocks a listed one stands for: 1, unless they are a sample's. */
double page_view_weight(const struct page_view *, const struct blk *);
/* Blocks and bytes that the target holds: of a sample they are estimates. */
uint64_t page_view_blocks(const struct page_view *);
uint64_t page_view_bytes(const struct page_view *);
/* Another number when blocks have come or gone in the picture's list. */
uint64_t page_view_changes(const struct page_view *);
/* False when there is nothing to count: that is shown as "-", never as 0. */
bool page_view_known(const struct page_view *);

/* --- cells (cells.c) ----------------------------------------------------- */

#define PAGE_MIN_COLS 33	/* the note's rows need as many */

#define PAGE_FREE_WORD "free"	/* in DESCR */

/* A row of free memory, not a block of the list. */
static inline bool
page_is_free(const struct blk *b)
{
	return b->flags >> 4 == REC_FREE;
}

/* The region that an address lies in; NULL. */
const struct wire_region *page_free_region(const struct nodes_look *,
    uint64_t addr);

/* The note's row; addr_cols is 8 or 12. */
void page_cell_classic(const struct page_view *, const struct blk *,
    int addr_cols, struct page_picture *);

/* Friendly node number of the requester: "AB86", or "". */
void page_cell_rnod(char out[8], const struct nodes_look *,
    const struct blk *);
/* Five columns at most: "13s", "2m07s", "1h12m", "3d04h", "412d". */
void page_cell_age(char out[8], uint64_t seconds);
#define PAGE_BORN_TEXT 16
/*
 * When it came, on the node's clock, in 12 columns: "15:04:09.200", after a day
 * "11/17 15:04"; "" where no clock is known.
 */
void page_cell_born(const struct page_view *, const struct blk *,
    char out[PAGE_BORN_TEXT]);
/* One glyph for the age, for who sees no colour: . : - = + # */
char page_cell_age_glyph(uint64_t seconds);
/* What that glyph is marked with. */
enum page_mark page_cell_age_mark(uint64_t seconds);
/* The age by the node's clock; 0 if that clock was set back. */
uint64_t page_cell_seconds(const struct nodes_look *, const struct blk *);
/*
 * Who asked: "function  file:line" in so many columns behind `gap` blanks;
 * nothing while it is not known.
 */
void page_cell_function(const struct page_view *, const struct blk *, int gap,
    int width, struct page_picture *);
const char *page_cell_thread(const struct page_view *, const struct blk *);

/* One picture a second, for a slow link: what only helps the eye is left out. */
bool page_paints_little(const struct page *);

/* page_row_text() on the near side of the seam. */
void page_row_text_view(const struct page *, const struct page_view *,
    const struct blk *, char *out, size_t cap);

/*
 * The same in parts, for who writes so many rows that names are worth keeping:
 * each as it stands in a row, with the blanks that belong to it.
 */
struct page_row_names {
	const char *descr, *thread;
	const char *call;		/* "" while nothing is known */
	enum page_units units;		/* of the size */
};
void page_row_descr(const struct page *, const struct nodes_look *,
    const struct blk *, char *out, size_t cap);
void page_row_thread(const struct page *, const char *name, char *out,
    size_t cap);
/* False while better words may come. */
bool page_row_call(const struct page *, const struct page_view *,
    uint64_t caller, char *out, size_t cap);
void page_row_put(const struct nodes_look *, const struct blk *,
    const struct page_row_names *, char *out, size_t cap);

/* The node has sent its time. */
bool page_time_known(const struct nodes_look *);
/* The node's wall clock, in ms, at a time `ms` of the clock that ages use. */
int64_t page_wall_ms(const struct nodes_look *, int64_t ms);

/* A node's wall clock as the page writes it: classic clocks have no zone. */
struct tm;
void page_wall(const struct page *, const struct nodes_look *, int64_t ms,
    struct tm *);

#define PAGE_TARGET_TEXT 300
/* "acqd[4711]", "" when there is none; outside text. */
void page_target_text(const struct nodes_look *, char out[PAGE_TARGET_TEXT]);

/* "2026-11-20 15:04:22 UTC"; a classic clock has no zone. */
void page_date_full(const struct page *, const struct page_view *,
    char out[40]);
/* The node's date for line 1: "07/13/04 1330", with seconds "07/13/04 133039". */
void page_date(const struct page *, const struct page_view *, bool seconds,
    char out[20]);

/* --- the session's side (view.c) ---------------------------------------- */

void page_view_live(struct page_view *, struct nodes_session *);
#endif

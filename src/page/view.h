/*
 * view: what a page is composed from, and the parts that compose it.
 *
 * A session is opaque, so the page looks at it through this thin seam: the
 * look, the list's counters, and functions for stacks, words and names.  The
 * tests build one by hand around a real block list; live.c builds it from a
 * session; while the picture is paused, freeze.c puts its copy behind it.
 *
 * The parts, and who calls whom; NAME.h says more where there is one:
 *	page.c		what a page owns, and how a view begins
 *	compose.c	chooses the layout and puts the lines together
 *	classic.c, wide.c, full.c	a layout each: struct page_layout_ops
 *	tiny.c		less room than any of them needs
 *	states.c	the word of line 1 and the sentence below
 *	fields.c	the fields of line 2 that can be edited
 *	trend.c		the last minute
 *	block_fields.c	a row of the wide layouts, by columns that have room
 *	rows.c, units.c	cells that all layouts and `pagek list` share
 *	leaving.c	rows of what has just been freed
 *	status.c	the counters
 *	estimate.c	totals of a sample
 *
 * What the rows are (struct page_rows_ops), and where the cursor is:
 *	move.c		rows, and moving among them
 *	choice.c	the blocks that are chosen: taken by a filter (sieve.c)
 *			from the list, and sorted (order.c), in take.c
 *	groups.c	groups, and what is in one; groups.h has their parts
 *	drained.c, marked.c	what was there at a moment, and what has come since
 *	free.c		free blocks of known regions among the rows
 *	still.c		rows that keep their places
 *	followed.c	what the cursor stays with
 *	walk.c		the list looked through, a portion a picture
 *	find.c		the next row that is looked for
 *	born.c		which blocks came into being together
 *	chains.c	what realloc has made of blocks since the mark
 *	freeze.c	a paused picture
 *	past.c		the list as it was before
 *
 * What lies over the page:
 *	detail.c	one block
 *	kin.c		one function, its callers and callees
 *	since_page.c	page H, the difference to the mark; since.h has its parts
 *	nodes_page.c	page G, the nodes of the table
 *	diag.c, costs.c	diagnostics
 *	targets_page.c	the node's targets
 *
 * Below all of them:
 *	calls.c		stacks as lines: who asked
 *	field_table.c	what rows have, one table for each type of row, for all
 *			formats: block_fields.c, group_fields.c, since_fields.c,
 *			target_fields.c, node_fields.c
 *	picture.c	lines that fit; spark.c: what is drawn in them
 *	scroll.c	lines of what is longer than the screen
 *	style.c		what marks look like
 *	keys.c		what keys do and are called, and the bar
 *	line.c		a line of typing
 *
 * Example: a picture of a list that no session has
 *	page_view_init(&v, &look);
 *	v.words = words;			and who has names of threads
 *	v.thread = thread;
 *	r = page_compose_view(&page, &v, 80, 24, &pic);
 */
#ifndef PAGEK_VIEW_H
#define PAGEK_VIEW_H

#include "../mdd/mdd.h"
#include "page.h"
#include "picture.h"

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

/* page_compose() on the near side of the seam. */
int page_compose_view(struct page *, const struct page_view *, int cols,
    int rows, struct page_picture *);

/* Blocks in the picture's list: as many rows as it can have. */
uint64_t page_view_total(const struct page_view *);
/* How many blocks a listed one stands for: 1, unless they are a sample's. */
double page_view_weight(const struct page_view *, const struct blk *);
/* Blocks and bytes that the target holds: of a sample they are estimates. */
uint64_t page_view_blocks(const struct page_view *);
uint64_t page_view_bytes(const struct page_view *);
/* The highest of those bytes: the target's own, or the page's since x. */
uint64_t page_view_peak(const struct page *, const struct page_view *);
/* It is counted from here on, for this page alone. */
void page_peak_anew(struct page *, const struct page_view *);
/* Another number when blocks have come or gone in the picture's list. */
uint64_t page_view_changes(const struct page_view *);
/* False when there is nothing to count: that is shown as "-", never as 0. */
bool page_view_known(const struct page_view *);

/* --- layouts ------------------------------------------------------------ */

struct page_state;

/* Each writes one line that picture_line() has begun. */
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
	/* A line above that, about what the cursor is on; NULL: none. */
	void (*about)(struct page *, const struct page_view *,
	    struct page_picture *);
};

/* Line 1 of every wide layout. */
void page_wide_title(struct page *, const struct page_view *,
    const struct page_state *, struct page_picture *);
extern const struct page_layout_ops page_classic;
extern const struct page_layout_ops page_wide;
extern const struct page_layout_ops page_full;

#define PAGE_MIN_COLS 33	/* the note's rows need as many */
#define PAGE_MIN_ROWS 5
#define PAGE_WIDE_COLS 80	/* from here on PAGE_AUTO is the wide layout */
#define PAGE_FULL_COLS 120	/* from here on the wide layout is the full one */

/* Less room than that: node, state and count in what fits. */
void page_compose_tiny(const struct page *, const struct page_view *,
    const struct page_state *, int rows, struct page_picture *);

/* --- state (states.c) --------------------------------------------------- */

struct page_state {
	char word[96];		/* for a wide line 1: "ENDED 15:03:58 signal 11" */
	char brief[24];		/* at most 17 columns: "ENDED signal 11" */
	const char *name;	/* that of line 1 which matters most: "ENDED", "PAUSED" */
	enum page_mark mark;	/* of the word */
	bool stale;		/* rows are the last that were known */
	bool plain;		/* live, and nothing to add */
	char notice[768];	/* sentences for the reader; "" none; outside text */
};

void page_state_get(const struct page *, const struct page_view *,
    struct page_state *);

/* --- counters (status.c) ------------------------------------------------ */

/* Once for each compose: what moved, the rate and the cost of a cycle. */
void page_sample(struct page *, const struct page_view *);

/* The help's lines: what the letters and words of the status line count. */
void page_counters_help(struct page_picture *);

void page_status_classic(struct page *, const struct page_view *,
    const struct page_state *, struct page_picture *);
void page_status_wide(struct page *, const struct page_view *,
    const struct page_state *, struct page_picture *);

/* "82us", "1.1ms", "12ms", "1.2s" */
void page_cost_text(char out[12], uint64_t us);
/* "8.1 k/s" */
void page_rate_text(char out[16], uint64_t per_second);

/* --- cells (rows.c) ----------------------------------------------------- */

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

/* --- rows and moving (move.c) ------------------------------------------- */

/*
 * What the rows are: blocks of the list, groups, or blocks of one group.
 * move.c alone says which of them are shown; what else rows may be made of
 * is one more of these.
 */
struct page_rows_ops {
	uint64_t (*total)(const struct page *, const struct page_view *);
	/* Blocks at offset `at` on, copied out; NULL: rows are no blocks. */
	size_t (*window)(const struct page *, const struct page_view *,
	    uint64_t at, struct blk *out, size_t n);
	/* Remembers what stands at the cursor; false: nothing does. */
	bool (*hold)(struct page *, const struct page_view *);
	/* Where that stands now, of so many rows; false: it has gone. */
	bool (*held)(struct page *, const struct page_view *, uint64_t total,
	    uint64_t *offset);
};

extern const struct page_rows_ops page_rows_list;	/* move.c: of the whole list */
extern const struct page_rows_ops page_rows_groups;	/* groups.c */
extern const struct page_rows_ops page_rows_members;	/* members.c */

/* What the rows are made of, whether or not they stand still (still.h). */
const struct page_rows_ops *page_rows_ops(const struct page *);
/* Groups are shown in place of blocks. */
bool page_shows_groups(const struct page *);
/* Of what is shown. */
uint64_t page_rows_total(const struct page *, const struct page_view *);
/* Blocks at offset `at` on, copied out; none when groups are shown. */
size_t page_rows_blocks(const struct page *, const struct page_view *,
    uint64_t at, struct blk *out, size_t n);
/* The block under the cursor, or the first one shown; false: there is none. */
bool page_block_at_cursor(const struct page *, const struct page_view *,
    struct blk *);

void page_hold_block(struct page *, const struct blk *);
bool page_holds_block(const struct page *, const struct blk *);

/* Keeps OFFS and cursor inside the rows and the cursor on what it is on. */
void page_follow(struct page *, const struct page_view *, int window);
/* The cursor by so many rows; it appears when there is none. */
void page_move(struct page *, int64_t delta);
void page_move_to(struct page *, uint64_t offset);
/*
 * Takes hold of what stands at the cursor now: who moves it means what is
 * shown, not what the next picture may have in that row.
 */
void page_hold(struct page *, const struct page_view *);
void page_set_order(struct page *, enum blklist_order, bool reverse);
/* The order of the list below the rows, which the rows may be sorted from. */
enum blklist_order page_list_order(const struct page_opts *);
bool page_list_reverse(const struct page_opts *);

/* --- groups (groups.c; groups.h has the rest) --------------------------- */

/* What the blocks are grouped by: a row of the table of kinds, 0 none. */
void page_set_group(struct page *, unsigned kind);
/* What each of these groups is grouped by once more; 0 none. */
void page_set_group_below(struct page *, unsigned kind);
/* The blocks of the group under the cursor; false: there is none. */
bool page_open_group(struct page *, const struct page_view *);
/* Back among the groups, to that one. */
void page_close_group(struct page *);

/* --- pause (freeze.c) --------------------------------------------------- */

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
 * Asks for the picture of one state before or after (past.h) the one that was
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

/* --- the bottom (keys.c) ------------------------------------------------ */

/*
 * The key bar, made from the key table: what fits into so many columns.  Where
 * something lies over the page it is of what means the same there.
 */
void page_key_bar(struct page_picture *, int cols, bool covered);
/* The code of the key that stands at that column; 0: none does. */
int page_key_bar_code(int cols, int col, bool covered);

/* --- the session's side (live.c) ---------------------------------------- */

void page_view_live(struct page_view *, struct nodes_session *);
/* What the page shows: that, or the paused picture. */
void page_view_shown(struct page_view *, const struct page *,
    struct nodes_session *);

#endif

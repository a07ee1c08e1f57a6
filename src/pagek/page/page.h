/*
 * page: the state of one viewer's pages.  It knows no terminal and handles no
 * key.
 *
 * Vocabulary
 *	page	what a person looks at: K, memory blocks; over it G, the nodes of
 *		the table, and H, the difference to the mark.
 *	layout	classic (the note's 33 columns) or wide (from 80 columns on; more
 *		from 120 on).
 *	groups	blocks summed by what they have in common: rows instead of blocks.
 *	picture	the text of a page, line by line, made without curses: screen,
 *		--once, -b and the tests show the same one.
 *	mark	of a run of columns: its meaning (new, lost, cursor).  The screen
 *		gives it an attribute.
 *	OFFS	offset of the first row shown, in the current order.
 *
 * Files
 *	page.h	the state
 *	view.h	the source of a picture: a session, or a paused one
 *	cells.c	texts of single values (age, size, DESCR), and the classic row
 *	calls.h	call stacks as lines
 *
 * Example
 *	page_init(&page, &opts);
 *	page_compose(&page, session, 80, 24, &picture);
 *	page_fini(&page);
 */
#ifndef PAGEK_PAGE_H
#define PAGEK_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/base.h"
#include "../../nodes/nodes.h"
#include "../../symbol/symbol.h"
#include "../picture/keys.h"
#include "../picture/picture.h"
#include "../picture/typed_line.h"

enum page_layout {
	PAGE_AUTO,		/* classic below 80 columns, wide from there on */
	PAGE_CLASSIC,
	PAGE_CLASSIC_STRICT,	/* the note's lines and nothing else */
	PAGE_WIDE,
};

enum page_color {
	PAGE_COLOR_AUTO,	/* TERM, NO_COLOR, CLICOLOR_FORCE decide */
	PAGE_COLOR_ALWAYS,
	PAGE_COLOR_NEVER,
};

#define PAGE_SORTINGS 4		/* sort keys */

/* A sort order (blocks/order.h).  All zeros: by age, the oldest first. */
struct page_sorting {
	unsigned n;		/* 0 is as 1 */
	struct {
		uint8_t sort;	/* enum page_sort */
		bool reverse;
	} by[PAGE_SORTINGS];
};

struct page_opts {
	enum page_layout layout;
	struct page_sorting sorting;	/* of the rows */
	const struct filter *filter;	/* --filter, borrowed; NULL: none */
	bool ascii;			/* --ascii, or the locale is not UTF-8 */
	bool utc;
	enum page_letter first;		/* page to begin with ... */
	const char *mark;		/* ... page H since that mark of the node; NULL: since now */
	unsigned group, group_below;	/* kinds of groups to begin with; 0: blocks */
	unsigned group_sort;		/* order of the groups: enum profile_measure ... */
	bool group_reverse;
	bool free;			/* in address order free blocks are rows */
	enum page_color color;
	const struct page_style *style;	/* of each mark; NULL: the default */
	bool mouse;			/* the page handles clicks and the wheel */
	bool clipboard;			/* copy an address that is shown */
	bool stress;			/* page K has a line about the kernel */
	enum page_units units;		/* to begin with */
	int fps;			/* paints a second, 1 to NODES_HZ; 0: NODES_HZ */
	struct symbol_wrappers *wrappers;	/* functions to skip; NULL: none */
	const struct refcnt_copy *refcnt;	/* references to pages, borrowed; NULL: none are counted */
	const char *listing;		/* between *L< and >: "0509"; "": none */
	struct nodes_session_opts session;	/* for sessions that :target opens: list, max, click */
};

/* The fields of line 2 that can be edited. */
enum page_field {
	PAGE_NO_FIELD,
	PAGE_FIELD_NODE,
	PAGE_FIELD_LISTING,
	PAGE_FIELD_OFFS,
	PAGE_FIELDS		/* one more than the last */
};

struct page_fields {
	enum page_field at;	/* with the cursor */
	bool editing;
	bool replace;		/* the next character replaces the whole text */
	bool changed;		/* the text is not what it was */
	struct typed_line typed;
	char listing[LINE_TEXT];	/* opts.listing once it was edited */
};

struct page_choice;
struct page_drain;
struct page_find;
struct page_paused;
struct page_gaps;
struct page_groups;
struct page_marked;
struct page_frozen_order;
struct page_history;
struct page_stress;
struct page_follow;
struct page_freed_rows;
struct page_trend;

#define PAGE_COUNTERS 16

struct page_place {
	uint64_t offs, cursor;
};

/* How blocks are grouped.  Kinds are rows of the table of groups/group_kinds.c, 0: none. */
struct page_grouping {
	unsigned kind;			/* of the groups that are rows; 0: rows are blocks */
	unsigned below;			/* of the groups within each of them */
	unsigned last;			/* that `t` goes back to */
	unsigned sort;			/* enum profile_measure */
	bool reverse;
	bool opened;			/* rows are the blocks of one group */
	struct page_place back;		/* among the groups, while one is open */
	uint64_t flat_offs;		/* OFFS among the blocks, while groups are rows */
};

/* A question in the bottom line.  All pointers are borrowed. */
struct page_prompt {
	const char *text;		/* NULL: none */
	const struct typed_line *line;	/* the answer so far; NULL: a key answers */
	const char *choices;		/* completions, shown above; NULL or "": none; outside text */
	bool wrong;			/* the answer is wrong at the line's cursor */
};

/* The medium that pictures are made for. */
enum page_medium {
	PAGE_READY,			/* text of what is ready */
	PAGE_WHOLE,			/* text of all rows, however long that takes */
	PAGE_SCREEN,			/* with key bar, messages and prompt */
	PAGE_SCREEN_COPY,		/* what the screen shows, without these */
};

struct page_freeze {
	bool held;			/* `z`: until the next z */
	struct mono until;		/* a cursor key: until then, on the view's clock */
	unsigned round;			/* rises when other rows or another order are asked for */
	struct page_frozen_order *order;	/* the rows; NULL: none so far */
};

/* Lines of the last picture, for the mouse; -1: not in it. */
struct page_spots {
	int heading;
	int first, rows;		/* of the list */
	int bar, bar_cols;		/* key bar, and columns that it may use */
};

/* The selected row, and the block in it, which the cursor stays on. */
struct page_cursor {
	bool on;			/* there is a cursor */
	uint64_t at;			/* offset of its row */
	bool known;			/* what it is on is known */
	bool free;			/* it is on a free block */
	unsigned layer;
	uint64_t addr, seq;
};

struct page_state_since {
	bool known;
	enum nodes_state is;
	struct mono at;
	int64_t opened_wall_ms;		/* node's clock when first seen live */
};

struct page_numbers {
	/* Counters: last values, and when they changed (the node's ms). */
	bool counted;
	uint64_t last[PAGE_COUNTERS];
	int64_t moved_ms[PAGE_COUNTERS];

	/* Sampled once a second, so that the digits can be read. */
	bool sampled, rated;
	struct mono sample_at;
	uint64_t sample_records;
	uint64_t rate;			/* records a second */
	uint64_t drawn_before, drawn_rate;	/* drawn_bytes at the sample; a second */

	bool peak_reset;			/* show the peak since `x`, not the target's */
	uint64_t peak_bytes;
	uint32_t peak_stream;		/* the stream that it belongs to */

	uint64_t cost_us, cost_max_us;	/* of a cycle: session, compose, paint */
	uint64_t session_max_us;	/* the session's maximum before it was reset */
	uint64_t drawn_us;		/* cost of the last compose and paint */
	uint64_t drawn_bytes;		/* sent to the terminal */
	uint64_t missed;		/* cycles whose timer was late */
	unsigned hz;			/* cycles in the last second; 0: not known */
};

/* Results of the last compose, for keys. */
struct page_found {
	uint64_t total;			/* rows */
	int window;			/* of them visible */
	bool rows_missing;		/* some of these are still to come */
	bool all_blocks;		/* the session was asked for all blocks */
	struct page_spots spots;
};

/* All pointers are owned, and NULL until they are needed, unless said otherwise. */
struct page {
	struct page_opts opts;
	enum page_units units;
	enum page_layout layout;	/* PAGE_AUTO follows the width */
	enum page_medium medium;
	struct page_grouping group;
	uint64_t offs;
	struct page_cursor cursor;
	bool covered;			/* another page or a panel lies over it: most keys do nothing */
	char message[256];		/* in the bottom line */
	struct page_prompt prompt;	/* in the bottom line */
	struct page_fields fields;
	struct page_found found;
	struct page_state_since state;
	struct page_numbers numbers;

	struct page_find *find;
	struct page_paused *paused;	/* what the picture shows */
	struct page_paused *pausing;	/* what it is going to show; NULL: it is not pausing */
	struct page_follow *follow;
	struct page_history *history;	/* earlier states of the list; NULL: none so far */
	struct page_freeze freeze;

	unsigned round;			/* rises when groups and choice must begin again at once */
	struct page_gaps *gaps;		/* free blocks among the rows */
	struct page_groups *groups;
	struct page_choice *choice;	/* filter, and the rows that match */
	struct page_freed_rows *freed_rows;
	struct page_drain *drain;
	struct page_trend *trend;	/* the last minute */
	struct page_marked *marked;	/* the mark */
	struct page_stress *levels;	/* the kernel's heap stress */

	bool news;			/* see page_news() */
};

static inline bool
page_is_on_screen(const struct page *page)
{
	return page->medium >= PAGE_SCREEN;
}

void page_row_heading(const struct page *, char *out, size_t cap);

/*
 * Column DESCR: the requester's name, or the name of the block's type, or "?".
 * Outside text, borrowed until the next apply.
 */
const char *page_descr(const struct nodes_look *, const struct blk *);

#define PAGE_SAMPLE_TEXT 24
/* "1/512k": a sampling period; "1/100" when it is no round number. */
void page_sample_text(uint64_t period, char out[PAGE_SAMPLE_TEXT]);
/* Prefix of a total: "~" if it is estimated from a sample, else "". */
const char *page_about(uint64_t sample);

/* Lost records, of all causes. */
uint64_t page_lost(const struct nodes_look *);
/* The same without those that a list sent later has replaced. */
uint64_t page_lost_for_good(const struct nodes_look *);
/* All errors of the stream that are known: of a list's counters, and before it. */
struct nodes_errors page_errors(const struct nodes_look *,
    const struct blklist_counts *);

#endif

/*
 * page: what a person looks at, as text: the state of one viewer's pages and
 * the pictures that are made of it.  It knows no terminal and acts on no key.
 *
 * Vocabulary
 *	page	what a person looks at: K, memory blocks; over it G, the nodes
 *		of the table, and H, the difference to the mark.
 *	layout	classic (the note's 33 columns) or wide (flat, from 80 on, with
 *		more about all of it from 120 on).
 *	groups	the blocks summed by who asked for them, or by what else they
 *		have in common: rows of the page instead of blocks.
 *	picture	the text of a page, line by line, made without curses: the
 *		screen, --once, -b and the tests show the same one.
 *	span	a run of columns of a line with a meaning (new, lost, cursor);
 *		the screen gives it an attribute, text output leaves it out.
 *	OFFS	offset of the first row shown, counted in the current order.
 *	key table	keys.def: key, name, help text, action; it feeds
 *		dispatch, help screen and key bar.  What an action does is the
 *		program's.
 *
 * struct page is the state of one viewer; view.h is what a picture is made of.
 * The rooms above make rows of it, and pictures of the rows.
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

#define PAGE_SORTINGS 4		/* sorts that decide one after the other */

/* What rows are sorted by (order.h).  All zeros: by age, the oldest first. */
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
	const struct filter *filter;	/* --filter, which outlives the page; NULL none: choice.h takes it from here */
	bool ascii;			/* --ascii, or the locale is not UTF-8 */
	bool utc;
	enum page_letter first;		/* page that is shown first */
	unsigned group, group_below;	/* kinds of groups that the page begins with; 0: blocks */
	bool free;			/* free blocks of known regions are rows, in address order */
	enum page_color color;
	const struct page_style *style;	/* of each mark; NULL: as usual */
	bool mouse;			/* clicks and the wheel are the page's */
	bool clipboard;			/* an address shown is sent to the terminal's */
	enum page_units units;		/* that the page begins with */
	int fps;			/* paints a second at most, 1 to NODES_HZ; 0: as many */
	struct symbol_wrappers *wrappers;	/* functions to be skipped; NULL: none */
	const char *listing;		/* what stands in *L<...>: "0509"; "" none */
	struct nodes_session_opts session;	/* what :target keeps of how the session was opened: list, max, click */
};

/* The fields of line 2 that can be edited (edit_fields.c). */
enum page_field {
	PAGE_NO_FIELD,
	PAGE_FIELD_NODE,
	PAGE_FIELD_LISTING,
	PAGE_FIELD_OFFS,
	PAGE_FIELDS		/* one more than the last */
};

struct page_fields {
	enum page_field at;	/* the cursor is in it */
	bool editing;
	bool anew;		/* a character takes the place of all that stands there */
	bool touched;		/* what is typed is not what stood there */
	struct line typed;
	char listing[LINE_TEXT];	/* opts.listing, once it was edited */
};

struct page_choice;
struct options;
struct page_drain;
struct page_find;
struct page_frozen;
struct page_gaps;
struct page_groups;
struct page_marked;
struct page_still;
struct page_past;
struct page_followed;
struct target;
struct page_leaving;
struct page_trend;

#define PAGE_COUNTERS 16

/* Where a page stood. */
struct page_place {
	uint64_t offs, cursor;
};

/*
 * Where things stand in the last picture, for a mouse: lines from 0; -1:
 * nowhere.
 */
struct page_spots {
	int heading;
	int first, rows;		/* of the list */
	int bar, bar_cols;		/* keys, and how many columns they could have */
};

/* The selected row, and the block in it, so that the cursor stays on it. */
struct page_cursor {
	bool on;			/* there is one */
	uint64_t at;			/* offset of its row */
	bool held;			/* what follows is known */
	bool free;			/* the block is a free one */
	unsigned layer;
	uint64_t addr, seq;
};

/* The session's state, and since when it is what it is. */
struct page_state_since {
	bool known;
	enum nodes_state is;
	struct mono at;
	int64_t opened_wall_ms;		/* node's clock when first seen live */
};

/* What the status lines and the diagnostics count (status.c). */
struct page_numbers {
	/* Counters that moved: last values and when (node ms). */
	bool counted;
	uint64_t last[PAGE_COUNTERS];
	int64_t moved_ms[PAGE_COUNTERS];

	/* Taken once a second, so that the digits can be read. */
	bool sampled, rated;
	struct mono sample_at;
	uint64_t sample_records;
	uint64_t rate;			/* records a second */
	uint64_t drawn_before, drawn_rate;	/* bytes that the terminal had been sent; a second */

	bool peak_anew;			/* the highest since x is shown, and not the target's own ... */
	uint64_t peak_bytes;		/* ... this, of that stream */
	uint32_t peak_stream;

	uint64_t cost_us, cost_max_us;	/* of a cycle: session, compose, paint */
	uint64_t session_max_us;	/* the session's longest before that was counted anew */
	uint64_t drawn_us;		/* cost of the last compose and paint */
	uint64_t drawn_bytes;		/* that the terminal was sent so far */
	uint64_t missed;		/* cycles that the page's own timer came too late for */
	unsigned hz;			/* cycles made in the last second; 0 not known */
};

/* What the last compose found, for the keys that move. */
struct page_found {
	uint64_t total;			/* rows in the list */
	int window;			/* rows of it shown */
	bool lacking;			/* some of them are still to come */
	bool whole;			/* the session was told that all blocks are wanted */
	struct page_spots spots;
};

/* State of one viewer's page K. */
struct page {
	struct page_opts opts;
	enum page_units units;		/* as u or :set set them */
	enum page_layout layout;	/* as `c` set it; PAGE_AUTO follows the width */
	unsigned group;			/* kind of groups shown, 0: blocks */
	unsigned group_below;		/* kind that each of them is grouped by once more, 0: none */
	unsigned group_last;		/* kind that t goes back to; 0: none so far */
	unsigned group_sort;		/* enum profile_measure: what groups are sorted by, bytes at first */
	bool group_reverse;
	bool opened;			/* the blocks of one group are shown */
	uint64_t offs;
	struct page_cursor cursor;
	bool text;			/* a picture is made whole, however long that takes, and open */
	bool on_screen;			/* key bar, messages and prompt are wanted ... */
	bool bare;			/* ... but not in this picture of what is on the screen */
	bool covered;			/* something lies over it, and most keys mean nothing */
	char message[256];		/* said in the bottom line until the next key */
	const char *prompt;		/* what is asked there; borrowed, NULL: nothing */
	const struct line *line;	/* ... and what is typed behind it; borrowed, NULL: nothing is */
	const char *choices;		/* ... and could be: stands above; borrowed, NULL or "" none; outside text */
	bool wrong;			/* ... and is, where the line's cursor stands */
	struct page_fields fields;

	struct page_found found;
	struct page_state_since state;
	struct page_numbers numbers;

	struct page_find *find;		/* what was looked for; NULL nothing */
	struct page_frozen *frozen;	/* paused: what the picture shows */
	struct page_frozen *freezing;	/* what it is going to show; NULL: it is not pausing */
	struct page_followed *followed;	/* what the cursor stays with; NULL: nothing so far */
	struct page_past *past;		/* what the list was; NULL: nothing so far */
	struct page_still *still;	/* rows that keep their places; NULL: none so far */

	struct page_gaps *gaps;		/* free blocks among the rows; NULL: none so far */
	unsigned round;			/* counts up when groups must be taken anew at once */
	struct page_groups *groups;	/* the last ones taken; NULL none */
	struct page_choice *choice;	/* filter and the rows that it leaves; NULL none */
	struct page_leaving *leaving;	/* rows of the last picture; NULL none so far */
	struct page_trend *trend;	/* the last minute; NULL none so far */
	struct page_drain *drain;	/* NULL: none so far */
	struct page_marked *marked;	/* the mark; NULL: none so far */
	struct page_place back;		/* among them, while one is open */
	uint64_t flat_offs;		/* of the blocks, while groups are shown */

	bool news;			/* see page_news() */
};

/*
 * One row of the flat list as text (pagek list): no more than cap bytes, the
 * NUL included.  heading: the line above such rows.  Sizes are exact, names
 * whole; with a classic layout it is the note's row.
 */
void page_row_text(const struct page *, struct nodes_session *,
    const struct blk *, char *out, size_t cap);
void page_row_heading(const struct page *, char *out, size_t cap);

/*
 * What DESCR shows: the requester's name if it has one, else the name of the
 * block's type, "?" for a type that the stream does not have.  Not yet safe
 * for a terminal; borrowed until the next apply.
 */
const char *page_descr(const struct nodes_look *, const struct blk *);

#define PAGE_SAMPLE_TEXT 24
/* "1/512k": a sampling period; "1/100" when it is no round number. */
void page_sample_text(uint64_t period, char out[PAGE_SAMPLE_TEXT]);
/* What goes before a total: "~" when it is estimated from a sample, else "". */
const char *page_about(uint64_t sample);

/* Records lost, of all causes. */
uint64_t page_lost(const struct nodes_look *);
/* ... and not made good by a list that was taken anew. */
uint64_t page_lost_for_good(const struct nodes_look *);

#endif

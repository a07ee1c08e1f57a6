/*
 * picture: lines of text that fit the screen, made without curses.
 *
 * Vocabulary
 *	picture	lines, written top to bottom, each from left to right, clipped at
 *		the picture's width.  Columns are those of wcwidth(3).
 *	mark	the meaning of a run of columns: new, lost, cursor.
 *	style	what a mark looks like on a terminal.
 *	spark	numbers as points whose height shows the value, the newest last.
 *	bar	a share of a whole as a length.
 *
 *	picture.c	lines, lists longer than the screen, drawings, sizes
 *	style.c		marks and their styles
 *	field_table.c	fields of rows: for text, JSON, CSV and metrics
 *	keys.def	keys with their help and their words in the key bar
 *	pages.def	the same of pages
 *	keys.c		the tables made from them
 *	typed_line.c	a line that the user types
 *
 * Example
 *	picture_begin(&pic, 80, ascii);
 *	picture_line(&pic);
 *	picture_printf(&pic, "%08X ", addr);
 *	picture_text(&pic, name, 7, PICTURE_LEFT);
 *	picture_mark(&pic, 0, picture_col(&pic), PAGE_NEW);
 *	return picture_end(&pic);
 *
 * The functions do not fail: picture_end() returns the first error.  Outside
 * text goes through picture_text(), picture_clip() or picture_wrap(), never
 * through picture_put() or picture_printf().
 */
#ifndef PAGEK_PICTURE_H
#define PAGEK_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum page_mark {
	PAGE_PLAIN,
	PAGE_HEADING,
	PAGE_CURSOR,		/* the selected row */
	PAGE_NEW,		/* younger than a second */
	PAGE_WARN,
	PAGE_BAD,		/* lost, ended, corrupt */
	PAGE_STALE,
	PAGE_STATUS,		/* a counter that moved in the last 10 s */
	PAGE_MARKS,		/* settings can name those above */
	PAGE_AGE = PAGE_MARKS,	/* the youngest; needs 256 colours */
	PAGE_AGE_LAST = PAGE_AGE + 5
};

enum page_attr {
	PAGE_BOLD = 1,
	PAGE_DIM = 2,
	PAGE_REVERSE = 4,
	PAGE_UNDERLINE = 8,
};

struct page_style {
	unsigned attrs;			/* of enum page_attr */
	int ink, ground;		/* 0 to 7, as in a terminal; -1: default */
};

struct page_span {
	uint16_t from, to;	/* columns, to excluded */
	enum page_mark mark;
};

#define PAGE_COLS_MAX 1000	/* the rest of a wider terminal stays blank */

struct page_line {
	const char *text;	/* UTF-8, safe for a terminal, no newline */
	const struct page_span *span;
	int nspan;
};

struct page_store;

/* All zeros is an empty one.  picture_begin() reuses its memory. */
struct page_picture {
	struct page_line *line;		/* lines and texts: page_picture_fini() */
	int rows;
	size_t cap;
	int cols;
	int cursor_row, cursor_col;	/* of the prompt; -1: no prompt */
	int said;			/* rows of the message or prompt */
	struct page_store *store;
};

enum picture_align {
	PICTURE_LEFT,		/* padded to the width */
	PICTURE_RIGHT,
	PICTURE_FREE,		/* not padded */
};

#define PICTURE_SPANS 32	/* of one line; more are dropped */

/* cols is clamped to 1 to PAGE_COLS_MAX. */
void picture_begin(struct page_picture *, int cols, bool ascii);
/* 0, or -ENOMEM: then the picture has no rows. */
int picture_end(struct page_picture *);

/* Without memory: further rows are dropped. */
bool picture_failed(const struct page_picture *);

void picture_line(struct page_picture *);
/*
 * Text that does not fit this line continues on the next one at that column: our
 * own words broken at blanks, outside text in one piece if it fits.
 */
void picture_fold(struct page_picture *, int at);
/* Removes the last line. */
void picture_unline(struct page_picture *);

/* Our own words: ASCII, and the characters of sparks and bars. */
void picture_put(struct page_picture *, const char *text);
/* The same with a format, which takes ten times as long. */
void picture_printf(struct page_picture *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Outside text in a field; text that is cut ends with '~'. */
void picture_text(struct page_picture *, const char *text, int width,
    enum picture_align);
/* The same without the '~', as the note's %-7.7s. */
void picture_clip(struct page_picture *, const char *text, int width,
    enum picture_align);
void picture_to(struct page_picture *, int col);
/* Blanks within the width, never folded. */
void picture_blanks(struct page_picture *, int n);
int picture_col(const struct page_picture *);
void picture_mark(struct page_picture *, int from, int to, enum page_mark);
void picture_mark_line(struct page_picture *, enum page_mark);

/* Outside text in at most `max` lines, broken at blanks; returns how many. */
int picture_wrap(struct page_picture *, const char *text, int max,
    enum page_mark);

/* A name, and its text from column `at` on, wrapped. */
void picture_entry(struct page_picture *, const char *name, int at,
    const char *text);

/* Columns of outside text once it is safe. */
int picture_width(const char *text, bool ascii);
int picture_cols(const struct page_picture *, const char *text);
bool picture_is_ascii(const struct page_picture *);

void page_picture_fini(struct page_picture *);

/*
 * Which lines of a list are shown below its title.
 *	picture_line(pic);
 *	page_overlay_title("j k move  Esc close", pic);
 *	...					all lines
 *	picture_end(pic);
 *	page_scroll_cut(&scroll, pic, rows - 1);
 */
struct page_scroll {
	int top, lines, window;
};

/* Keeps the title and the lines [top, top + window); marks where others are. */
void page_scroll_cut(struct page_scroll *, struct page_picture *, int window);
/* Marks the end of a line of a finished picture: there are lines beyond it. */
void page_scroll_mark(struct page_picture *, int row, bool below);
/* Scrolls until line `at` is shown. */
void page_scroll_to(struct page_scroll *, int at, int window);

/*
 * A list of rows with a cursor, scrolled to it.  All zeros at the start.
 *	page_list_begin(&list, n, room, pic);
 *	for (i = list.top; i < n && i < list.top + list.window; i++)
 *		...					a line each
 *	picture_end(pic);
 *	page_list_edges(&list, n, pic);
 */
struct page_list {
	size_t selected, top;	/* the cursor's row, and the first row shown */
	size_t window;		/* rows that fit */
	int first;		/* line of the first row; 0: no row is shown */
};

/* Moves the cursor, and `scroll` the rows with it. */
void page_list_move(struct page_list *, size_t n, int delta, bool scroll);
/* Keeps the cursor on one of n rows. */
void page_list_clamp(struct page_list *, size_t n);
/* Scrolls to the cursor.  The first row is written below the current line. */
void page_list_begin(struct page_list *, size_t n, int room, struct page_picture *);
/* Marks in a finished picture that there are rows above or below. */
void page_list_edges(const struct page_list *, size_t n, struct page_picture *);

/* Ends a title with its keys, right-aligned; drops the first ones if needed. */
void page_overlay_title(const char *keys, struct page_picture *);
/* Fills the picture and writes the keys on its last line. */
void page_overlay_bar(const char *keys, int rows, struct page_picture *);

/*
 * Made of eighth blocks, or of " .:-=+*#" in ASCII and on consoles whose fonts
 * lack blocks.  The number stands beside them.
 *
 *	picture_spark(pic, trend, 12, 0, 12);	" ▁▁▂▂▃▃▄▅▅▆▆▇"
 *	picture_bar(pic, 0.37, 12);		"████▍       "
 */

/*
 * The last `width` of n points, oldest first, right-aligned.  max: the value of a
 * full block; 0: the greatest value shown.  Values above 0 are always visible.
 */
void picture_spark(struct page_picture *, const uint64_t *v, size_t n,
    uint64_t max, int width);

/* share, clamped to 0 to 1, padded to the width. */
void picture_bar(struct page_picture *, double share, int width);

/* In groups of digits if that fits `width` columns, 2 to 20: base_format_grouped(). */
void picture_grouped(struct page_picture *, uint64_t n, int width);

/* Sizes of blocks in the wide layout and in lists. */
enum page_units {
	PAGE_UNITS_EXACT,	/* bytes, in groups of digits if they fit: 65,536 */
	PAGE_UNITS_K,		/* K, M or G of 1024: 64.0K; bytes below 1024 */
	PAGE_UNITS_HEX,		/* bytes: 10000 */
	PAGE_UNITS		/* one more than the last */
};

#define PAGE_SIZE_TEXT 32

/* Right-aligned, 5 columns at least; in K, M or G if it does not fit. */
void page_size_text(enum page_units, uint64_t bytes, int width,
    char out[PAGE_SIZE_TEXT]);
const char *page_units_name(enum page_units);

/* --- styles (style.c) ----------------------------------------------------- */

/*
 * A style is words: "bold yellow", "white on blue", "reverse".
 *	attributes	bold, dim, reverse, underline; plain: none
 *	colours		black, red, green, yellow, blue, magenta, cyan, white,
 *			default; after "on": of the background
 */

/* The word of a mark in settings: "cursor"; NULL for PAGE_PLAIN. */
const char *page_mark_word(enum page_mark);
/* PAGE_PLAIN: no mark has that name. */
enum page_mark page_mark_named(const char *word);
struct page_style page_style_usual(enum page_mark);

/* False: *wrong is the first wrong word, borrowed from text. */
bool page_style_parse(struct page_style *, const char *text,
    const char **wrong);

#define PAGE_STYLE_TEXT 80
void page_style_text(struct page_style, char out[PAGE_STYLE_TEXT]);

/* The style without colours; a style of colours alone becomes the default. */
struct page_style page_style_bare(enum page_mark, struct page_style);

#endif

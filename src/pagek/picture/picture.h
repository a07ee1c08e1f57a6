/*
 * picture: lines of text that are known to fit, made without curses.
 *
 * A picture is written top to bottom, each line from left to right, by the
 * functions below; they clip at the picture's width and never fail for their
 * caller.  Memory that could not be had is remembered and told once, by
 * picture_end(): the composers stay free of error paths.
 *
 * Example
 *	picture_begin(&pic, 80, ascii);
 *	picture_line(&pic);
 *	picture_printf(&pic, "%08X ", addr);
 *	picture_text(&pic, name, 7, PICTURE_LEFT);
 *	picture_mark(&pic, 0, picture_col(&pic), PAGE_NEW);
 *	return picture_end(&pic);
 *
 * Columns are those of wcwidth(3).  Text that comes from outside goes through
 * picture_text(), picture_clip() or picture_wrap(), never through
 * picture_put() or picture_printf().
 */
#ifndef PAGEK_PICTURE_H
#define PAGEK_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum page_mark {
	PAGE_PLAIN,
	PAGE_HEADING,		/* reversed */
	PAGE_CURSOR,		/* the selected row, reversed */
	PAGE_NEW,		/* bold: younger than a second */
	PAGE_WARN,		/* yellow, beside a word */
	PAGE_BAD,		/* red, beside a word: lost, ended, corrupt */
	PAGE_STALE,		/* dim */
	PAGE_STATUS,		/* a counter that moved in the last 10 s: reversed */
	PAGE_MARKS,		/* one more than those that files can name */
	PAGE_AGE = PAGE_MARKS,	/* the glyph of an age, the youngest: coloured where there are 256 */
	PAGE_AGE_LAST = PAGE_AGE + 5	/* ... and of the oldest */
};

enum page_attr {
	PAGE_BOLD = 1,
	PAGE_DIM = 2,
	PAGE_REVERSE = 4,
	PAGE_UNDERLINE = 8,
};

/* What a mark looks like; style.h has the words. */
struct page_style {
	unsigned attrs;			/* of enum page_attr */
	int ink, ground;		/* 0 to 7 as a terminal counts; -1: its own */
};

struct page_span {
	uint16_t from, to;	/* columns, to excluded */
	enum page_mark mark;
};

#define PAGE_COLS_MAX 1000	/* a wider terminal is used up to here */

struct page_line {
	const char *text;	/* UTF-8, safe for a terminal, no newline */
	const struct page_span *span;
	int nspan;
};

struct page_store;

/* Starts as all zeros; each compose reuses its memory. */
struct page_picture {
	struct page_line *line;		/* lines and texts: page_picture_fini() */
	int rows;
	size_t cap;
	int cols;			/* no line is wider */
	int cursor_row, cursor_col;	/* of the prompt; -1: no prompt */
	int said;			/* of the last rows: what is typed or said there */
	struct page_store *store;
};

enum picture_align {
	PICTURE_LEFT,		/* padded on the right to the width */
	PICTURE_RIGHT,
	PICTURE_FREE,		/* no wider than the width, not padded */
};

#define PICTURE_SPANS 32	/* of one line; more are left out */

/* Empties the picture; cols is cut to 1 to PAGE_COLS_MAX. */
void picture_begin(struct page_picture *, int cols, bool ascii);
/* 0, or -ENOMEM: then the picture has no rows. */
int picture_end(struct page_picture *);

/* Memory could not be had: there will be no more rows, however many are begun. */
bool picture_failed(const struct page_picture *);

/* Ends the line before, if any, and begins the next. */
void picture_line(struct page_picture *);
/*
 * What has no room in this line goes on below it, from that column on: words of
 * ours broken at blanks, outside text whole if that fits.
 */
void picture_fold(struct page_picture *, int at);
/* Takes the last line back, to write it anew. */
void picture_unline(struct page_picture *);

/* Words of ours: ASCII, and what sparkline.h draws with. */
void picture_put(struct page_picture *, const char *text);
/* The same by a format, which costs as much as ten without. */
void picture_printf(struct page_picture *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Outside text into a field; what is cut off leaves a '~'. */
void picture_text(struct page_picture *, const char *text, int width,
    enum picture_align);
/* The same, cut without a trace, as the note's %-7.7s. */
void picture_clip(struct page_picture *, const char *text, int width,
    enum picture_align);
/* Blanks up to column `col`; nothing when it is behind. */
void picture_to(struct page_picture *, int col);
/* So many blanks, as far as the width goes; none for 0 and less.  Never folded. */
void picture_blanks(struct page_picture *, int n);
int picture_col(const struct page_picture *);
void picture_mark(struct page_picture *, int from, int to, enum page_mark);
/* All columns of the line, to the edge of the picture. */
void picture_mark_line(struct page_picture *, enum page_mark);

/*
 * Outside text over as many lines as it needs, `max` at most, broken at
 * blanks; returns the lines it took.
 */
int picture_wrap(struct page_picture *, const char *text, int max,
    enum page_mark);

/*
 * Of a list: what it is about, two columns from the edge, and from column `at`
 * on what is said of that, over as many lines as it needs.
 */
void picture_entry(struct page_picture *, const char *name, int at,
    const char *text);

/* Columns that outside text takes once it is safe; cols: in this picture. */
int picture_width(const char *text, bool ascii);
int picture_cols(const struct page_picture *, const char *text);
/* Nothing but ASCII may stand in it. */
bool picture_is_ascii(const struct page_picture *);

void page_picture_fini(struct page_picture *);

#endif

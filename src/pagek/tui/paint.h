/*
 * paint: a picture of the page, and what lies over it, onto the terminal.
 *
 * The lines of two paints are kept: those on the terminal, and those that
 * come.  A line that says what it said stays; only the others go through
 * curses, which finds out what of them is new.
 */
#ifndef PAGEK_PAINT_H
#define PAGEK_PAINT_H

#include "../app/app.h"

struct paint {
	bool colors;
	bool ramp;			/* ages have colours */
	struct page_style style[PAGE_MARKS];
	bool anew;			/* nothing is known of the terminal */
	int cols, rows;			/* of what is on it */
	unsigned now;			/* frame on the terminal, 0 or 1 */
	struct paint_frame {
		struct page_picture picture, over;
		const struct page_line **line;	/* of each row; NULL: blank */
		size_t cap;
	} frame[2];
	unsigned cost;		/* bytes that the last picture came to, about ... */
	uint64_t sent;		/* ... and as they were written, where that was seen */
};

/* Once curses is there. */
void paint_colors(struct paint *, const struct page_opts *);
/* The terminal is not as it was left: all of it is written again. */
void paint_anew(struct paint *);
/* What the app shows now. */
void paint_app(struct paint *, struct app *);
/*
 * One line into curses' window, in row y, over the one that is there: NULL where
 * it is not known, or blank.
 */
void paint_row(const struct paint *, int y, const struct page_line *was,
    const struct page_line *);
void paint_fini(struct paint *);

#endif

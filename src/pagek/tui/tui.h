/*
 * tui: the page on a terminal.  This room alone uses curses.
 *
 *	screen.c	the event loop around one struct app
 *	paint.c		a picture onto the terminal
 *	terminal.c	takes the terminal over and gives it back; frames; the clipboard
 *
 * Example
 *	if (page_screen_check() < 0)
 *		return PAGEK_USAGE;
 *	page_init(&page, &opts);
 *	page_screen_run(loop, &watch, &page, &result);
 */
#ifndef PAGEK_TUI_H
#define PAGEK_TUI_H

#include <uv.h>

#include "../app/app.h"

/*
 * Runs the page on the terminal until the user leaves it.  Restores the terminal
 * on every way out, a crash included.  Prints nothing afterwards.
 *
 * -ENOTTY if standard output or input is no terminal, -ENODEV if TERM is dumb,
 * unset or unknown: then nothing has been written.
 */
int page_screen_run(uv_loop_t *, struct page_watch *, struct page *,
    struct page_result *);

/* The same errors, before a target is started; writes nothing. */
int page_screen_check(void);

/* --- paint.c ---------------------------------------------------------------- */

/* The picture on the terminal and the next one.  Equal lines are skipped. */
struct paint {
	bool colors;
	bool ramp;			/* ages have colours */
	struct page_style style[PAGE_MARKS];
	bool repaint;			/* the terminal's contents are unknown */
	int cols, rows;			/* of the picture on it */
	unsigned now;			/* frame on the terminal, 0 or 1 */
	struct paint_frame {
		struct page_picture picture, over;
		const struct page_line **line;	/* of each row; NULL: blank */
		size_t cap;
	} frame[2];
	unsigned cost;		/* estimated bytes of the last picture */
	uint64_t sent;		/* measured bytes, or the estimate */
};

void paint_colors(struct paint *, const struct page_opts *);
/* The next picture writes the whole screen. */
void paint_repaint(struct paint *);
void paint_app(struct paint *, struct app *);
/* Over the line `old`.  NULL: `old` is unknown, or the line is blank. */
void paint_row(const struct paint *, int y, const struct page_line *old,
    const struct page_line *);
void paint_fini(struct paint *);

#endif

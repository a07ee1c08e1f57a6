/*
 * scroll: which lines of something longer than the screen are shown, below a
 * title that stays.
 *
 * Example
 *	picture_begin(pic, cols, ascii);
 *	picture_line(pic);			the title
 *	page_overlay_title("j k move  Esc close", pic);
 *	...					all lines
 *	picture_end(pic);
 *	page_scroll_cut(&scroll, pic, rows - 1);
 */
#ifndef PAGEK_SCROLL_H
#define PAGEK_SCROLL_H

#include "picture.h"

/* Lines of a list below its title; `top` is the first one shown. */
struct page_scroll {
	int top, lines, window;
};

/* Lines [top, top + window) of the picture move up below its first. */
void page_scroll_cut(struct page_scroll *, struct page_picture *, int window);
/* So that line `at` is shown. */
void page_scroll_to(struct page_scroll *, int at, int window);

/*
 * Ends a title line with its keys, "g callers  Esc close", to the right: as many
 * of them as fit, those that matter most standing last.
 */
void page_overlay_title(const char *keys, struct page_picture *);
/* The same as a line of their own. */
void page_overlay_keys(const char *keys, struct page_picture *);

#endif

/*
 * sparkline: numbers as a little drawing within a line.
 *
 * Vocabulary
 *	spark	a row of points, one column each, whose height says how much:
 *		the last one is the newest.
 *	bar	a share of a whole, as a length.
 *
 * Both are made of eighth blocks, or of ` .:-=+*#` (a bar of `#`) where those
 * cannot be had: in ASCII, and on consoles whose fonts lack them.  They never
 * stand alone: the number is beside them.
 *
 * Example
 *	picture_spark(pic, trend, 12, 0, 12);	" ▁▁▂▂▃▃▄▅▅▆▆▇"
 *	picture_bar(pic, 0.37, 12);		"████▍       "
 */
#ifndef PAGEK_SPARKLINE_H
#define PAGEK_SPARKLINE_H

#include "picture.h"

/*
 * n points, oldest first, in `width` columns: of more points than columns the
 * last ones, of fewer blanks before them.  max is what a full block stands for,
 * 0: the greatest of those shown.  A point that is not 0 leaves a trace.
 */
void picture_spark(struct page_picture *, const uint64_t *v, size_t n,
    uint64_t max, int width);

/* share of 1 as so many columns, padded; what is out of 0 to 1 is cut. */
void picture_bar(struct page_picture *, double share, int width);

#endif

/*
 * trend: what the target has held, asked for and given back, second by second
 * over the last minute.
 *
 * Vocabulary
 *	sample	one second: bytes held at its end, requests and frees within.
 *	point	the mean of TREND_FOLD samples, as a spark shows them.  They are
 *		cut at the same seconds each time, so only the newest changes
 *		while its samples come in.
 *
 * While the picture is paused samples go on being taken, and what is shown
 * stays.  The requests are the keeper's count where there is one: those that
 * were undone before anybody could list them are among them.
 *
 * Example
 *	page_trend_sample(page, v);			once for each picture
 *	n = page_trend_points(page->trend, TREND_LIVE, point);
 *	picture_spark(pic, point, n, 0, TREND_POINTS);
 */
#ifndef PAGEK_TREND_H
#define PAGEK_TREND_H

#include "../page/view.h"

#define TREND_SAMPLES 60
#define TREND_FOLD 5
#define TREND_POINTS (TREND_SAMPLES / TREND_FOLD)

enum page_trend_of {
	TREND_LIVE,		/* bytes */
	TREND_ALLOCS,		/* a second */
	TREND_FREES,
	TRENDS			/* one more than the last */
};

/* Without memory there are no trends: nothing else changes. */
void page_trend_sample(struct page *, const struct page_view *);

/*
 * Points of what is shown, oldest first; returns how many there are.  NULL has
 * none.
 */
size_t page_trend_points(const struct page_trend *, enum page_trend_of,
    uint64_t out[TREND_POINTS]);
/* The last second's; false while there is none. */
bool page_trend_last(const struct page_trend *, enum page_trend_of,
    uint64_t *out);

void page_trend_free(struct page_trend *);

#endif

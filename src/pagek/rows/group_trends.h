/*
 * group_trends: how many bytes groups had in the last minute.
 *
 * Vocabulary
 *	moment	five seconds of the node's clock, by their number.
 *	point	what a group had in the first picture of a moment.
 *
 * Points are those of groups that are shown or rank first, a bounded number;
 * what was not among them then has none.  They are kept by the group's key, and
 * follow when names make it another one.
 *
 * Example
 *	page_trends_note(g, page, v);				with each picture
 *	n = page_trends_get(g->trends, key, now, points);	and n of them
 */
#ifndef PAGEK_GROUP_TRENDS_H
#define PAGEK_GROUP_TRENDS_H

#include "group_kinds.h"

#define PAGE_TREND_POINTS 12		/* of 5 s each */
#define PAGE_TREND_MS 5000
#define PAGE_TREND_GROUPS 1024		/* in each moment */

struct page_groups;
struct page_trends;

/*
 * What groups of the take have in this moment, if it is a new one.  All is
 * forgotten where groups are of another kind or another stream's.  Without
 * memory there are no trends.
 */
void page_trends_note(struct page_groups *, const struct page *,
    const struct page_view *);
/*
 * The points of a group, the oldest first, `now` the last of them; returns how
 * many there are.  A moment without the group among others has 0.
 */
size_t page_trends_get(const struct page_trends *, uint64_t key, uint64_t now,
    uint64_t out[PAGE_TREND_POINTS]);
/* The key of a group within another. */
uint64_t page_trends_below(uint64_t key, uint64_t below);
void page_trends_free(struct page_trends *);

#endif

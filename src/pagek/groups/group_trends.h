/*
 * group_trends: how many bytes groups had in the last minute.
 *
 * Vocabulary
 *	moment	five seconds of the node's clock, by their number.
 *	point	bytes of a group in the first picture of a moment.
 *
 * Points are stored for a bounded number of groups: visible ones, then the first
 * ones.  They are found by the group's key, and follow it when names change it.
 *
 * Example
 *	page_trends_note(g, page, v);				with each picture
 *	n = page_trends_get(g->trends, key, now, points);
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
 * Stores the points of this moment if it is a new one.  Forgets all points when
 * the rows are sums of something else: another kind of groups, filter, drain,
 * stream, or other functions to skip.  Without memory there are none.
 */
void page_trends_note(struct page_groups *, const struct page *,
    const struct page_view *);
/*
 * Copies out the points of a group, oldest first, with `now` as the last one;
 * returns their number.  It is 0 bytes in a moment without the group, but there
 * is no point before its first.
 */
size_t page_trends_get(const struct page_trends *, uint64_t key, uint64_t now,
    uint64_t out[PAGE_TREND_POINTS]);
/* The key of a group within another. */
uint64_t page_trends_below(uint64_t key, uint64_t below);
void page_trends_free(struct page_trends *);

#endif

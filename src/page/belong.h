/*
 * belong: whether a block is in a group, for who looks through the list for the
 * blocks of some of them.
 *
 * Blocks come in runs of few callers, so the last answers are kept: of frames
 * for caller and group, of all other kinds which group the caller is in.
 *
 * Example
 *	b = page_belong_new(page, v);			of a portion
 *	while (...)
 *		if (page_belong_in(b, 0, group->key, &rows[i]))
 *			...
 *	page_belong_free(b);
 */
#ifndef PAGEK_BELONG_H
#define PAGEK_BELONG_H

#include "groups.h"

struct page_belong;

/*
 * Of the page's groups as they are named now, till the next take; NULL: no
 * memory.
 */
struct page_belong *page_belong_new(const struct page *,
    const struct page_view *);
void page_belong_free(struct page_belong *);
/* In the group with that key, of the first level (0) or the second (1). */
bool page_belong_in(struct page_belong *, int level, uint64_t key,
    const struct blk *);

#endif

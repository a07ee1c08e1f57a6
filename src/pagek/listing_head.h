/*
 * listing_head: what stands above the rows of a listing.
 */
#ifndef PAGEK_LISTING_HEAD_H
#define PAGEK_LISTING_HEAD_H

#include "../page/choice.h"
#include "listing.h"

#define LISTING_HEAD_MAX 6144
#define LISTING_HEAD_TITLE "K MEMORY BLOCKS\n"	/* what each listing begins with */

/*
 * Lines of "word  text" and an empty one behind them.  `rows` blocks will
 * follow, those chosen of so many; of a window the first that is there is at
 * offset `first`.
 */
void listing_head(const struct page *, const struct page_view *,
    uint64_t first, const struct page_chosen *, size_t rows, char out[LISTING_HEAD_MAX]);

#endif

/*
 * detail_parts: the parts that make the lines of a block's detail.  Private to
 * them; detail.h is the door.
 *
 *	detail.c	which block, the cursor, and all lines together
 *	detail_block.c	what its record says
 *	detail_stack.c	its stacks
 *	detail_around.c	what lies around it in memory, and in time
 *
 * Each adds whole lines to the picture and leaves the last one open.
 */
#ifndef PAGEK_DETAIL_PARTS_H
#define PAGEK_DETAIL_PARTS_H

#include "detail.h"

#define LABEL_COLS 12
#define FOLD_AT 6		/* where a line below a label goes on that is too long */
#define ONE_LINE_COLS 80	/* below that what is long has two */

/*
 * Whether the block is in the list still; its number says that it is the same.
 * again: another one has its address.
 */
bool detail_is_listed(const struct page_detail *, const struct nodes_look *,
    bool *again);

/* Begins a line with what it is about. */
void detail_put_label(const char *label, struct page_picture *);
/* Outside text in a line of its own below such a one. */
void detail_put_sentence(const char *text, struct page_picture *);

void detail_put_block(const struct page_detail *, const struct page *,
    const struct page_view *, struct page_picture *);
/* What a block's free was: " by realloc in thread rx-0". */
void detail_put_end(const struct page_view *, const struct nodes_freed *,
    struct page_picture *);
#define DETAIL_CLOCK 16
/* "15:04:09.200", or how long ago where no clock is known. */
void detail_clock(const struct page *, const struct nodes_look *, int64_t ms,
    char out[DETAIL_CLOCK]);
/* Bytes from its address on that are its own, as far as they are known. */
uint64_t detail_used(const struct nodes_look *, const struct blk *);

/* Also notes in which line the cursor is, as those do that follow. */
void detail_put_stack(struct page_detail *, const struct page_view *,
    struct page_picture *);
/* Nothing unless it is known who freed it. */
void detail_put_freeing_stack(const struct page_detail *,
    const struct page_view *, struct page_picture *);
/* Pages, region and neighbours. */
void detail_put_memory(const struct page_detail *, const struct page_view *,
    struct page_picture *);
/* Who has had its address. */
void detail_put_history(const struct page_detail *, const struct page *,
    const struct page_view *, struct page_picture *);
/* Who was born together with it. */
void detail_put_born(struct page_detail *, const struct page_view *,
    struct page_picture *);

#endif

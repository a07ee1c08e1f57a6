/*
 * detail_parts: the parts that make the lines of a block's detail.  Private to
 * them; detail.h is the door.
 *
 *	detail.c	which block, the cursor, and all lines together
 *	detail_block.c	what its record says
 *	detail_stack.c	its stacks
 *
 * Each adds whole lines to the picture and leaves the last one open.
 */
#ifndef PAGEK_DETAIL_PARTS_H
#define PAGEK_DETAIL_PARTS_H

#include "detail.h"

#define LABEL_COLS 12

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
/* Also notes in which line the cursor is. */
void detail_put_stack(struct page_detail *, const struct page_view *,
    struct page_picture *);
/* Nothing unless it is known who freed it. */
void detail_put_freeing_stack(const struct page_detail *,
    const struct page_view *, struct page_picture *);

#endif

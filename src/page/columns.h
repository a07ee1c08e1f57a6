/*
 * columns: a block's row on 80 columns and more, and the heading above it.
 *
 * Columns come from one table.  They are given their widths in the order of
 * their rank as long as the function keeps its share; the function takes what
 * is left.  The numbers stay together on the left of it, however wide it is.
 *
 * Both write the line that picture_line() has begun.
 */
#ifndef PAGEK_COLUMNS_H
#define PAGEK_COLUMNS_H

#include "view.h"

void page_columns_heading(const struct page *, const struct page_view *,
    struct page_picture *);
void page_columns_row(const struct page *, const struct page_view *,
    const struct blk *, struct page_picture *);

void page_columns_mark(const struct page_view *, const struct blk *,
    struct page_picture *);

/* Whether there is room for the column of that title. */
bool page_columns_show(const struct page_view *, int cols, const char *title);
/* The title, blanks before it, of what stands at column `at`; NULL: none does. */
const char *page_columns_title(const struct page_view *, int cols, int at);

#endif

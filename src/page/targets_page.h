/*
 * targets_page: the targets of a node as a list, for :target.
 *
 * Example
 *	picture_begin(pic, cols, ascii);
 *	page_targets_put(targets, n, selected, pic);
 *	picture_end(pic);
 */
#ifndef PAGEK_TARGETS_PAGE_H
#define PAGEK_TARGETS_PAGE_H

#include "view.h"

/* A title line with its keys, then a line each; whole columns, as many as fit. */
void page_targets_put(const struct nodes_target *, size_t n, size_t selected,
    struct page_picture *);

#endif

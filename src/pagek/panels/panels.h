/*
 * panels: what is shown over page K or in its place, as text, without curses
 * and without keys.
 *
 * Vocabulary
 *	page G	the nodes of the table (nodes_page.h).
 *	page H	the difference to the mark (difference_page.h).
 *	detail	all that is known of one block, and the callers and callees of a
 *		function (detail.h, callers.c).
 *	diagnostics	all counters, and the costs of a cycle (diagnostics.h).
 *	targets	the targets of a node, to choose one (below).
 *
 * Example
 *	picture_begin(pic, cols, ascii);
 *	page_targets_put(targets, n, selected, pic);
 *	picture_end(pic);
 */
#ifndef PAGEK_PANELS_H
#define PAGEK_PANELS_H

#include "../page/view.h"

/* A title with its keys, then a line each; as many whole columns as fit. */
void page_targets_put(const struct nodes_target *, size_t n, size_t selected,
    struct page_picture *);

#endif

/*
 * panels: what is shown over page K or in its place, as text: without curses,
 * and without keys.
 *
 * Vocabulary
 *	page G	the nodes of the table (nodes_page.h).
 *	page H	the difference to the mark (difference_page.h).
 *	detail	all that is known of one block (detail.h), and one function with
 *		its callers and callees.
 *	diagnostics	all counters (diagnostics.h), and where the time of a
 *		cycle goes (cycle_costs.h).
 *	targets	the targets of a node, to go to one (below).
 *
 * Example
 *	picture_begin(pic, cols, ascii);
 *	page_targets_put(targets, n, selected, pic);
 *	picture_end(pic);
 */
#ifndef PAGEK_PANELS_H
#define PAGEK_PANELS_H

#include "../page/view.h"

/* A title line with its keys, then a line each; whole columns, as many as fit. */
void page_targets_put(const struct nodes_target *, size_t n, size_t selected,
    struct page_picture *);

#endif

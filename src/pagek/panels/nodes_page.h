/*
 * nodes_page: page G, the nodes of the table, as text and as rows that one
 * moves among; without curses and without a survey of its own: it is given the
 * rows.  app.h knows when it is shown.
 *
 * Vocabulary
 *	row	a node as the survey has it (nodes.h).
 *	line	of the page: a node, or one of the targets of a node that is
 *		open.
 *
 * Example
 *	rows = nodes_survey_look(survey, &n);
 *	page_nodes_compose(&nodes, rows, n, &opts, cols, lines, &pic);
 *	page_nodes_move(&nodes, rows, n, 1);
 *	if (page_nodes_word(&nodes, rows, n, word))
 *		app_go(app, word);
 */
#ifndef PAGEK_NODES_PAGE_H
#define PAGEK_NODES_PAGE_H

#include "detail.h"

#define PAGE_NODES_OPEN 64	/* nodes whose targets are shown at a time */
#define PAGE_NODES_WORD 160	/* a TARGET: "0590/ALLOCLOG.acqd.4711" */

struct page_nodes {
	char at[8];		/* word of the row under the cursor; "" the first one */
	char target[128];	/* and the stream there; "" the node */
	size_t line;		/* where that was */
	char open[PAGE_NODES_OPEN][8];
	size_t nopen;
	struct page_scroll scroll;
};

/* With the cursor on the node of that number, if it is there. */
void page_nodes_begin(struct page_nodes *, uint16_t number);

/*
 * The whole page; rows 0: as text, with all lines and neither cursor nor key
 * bar.  -ENOMEM.
 */
int page_nodes_compose(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n,
    const struct page_opts *, int cols, int rows, struct page_picture *);

/* The cursor by so many lines. */
void page_nodes_move(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n, int delta);

/* The row under the cursor; NULL: there is none. */
const struct nodes_surveyed *page_nodes_row(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);

/* What is under the cursor, as a TARGET; false: there is nothing. */
bool page_nodes_word(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n,
    char out[PAGE_NODES_WORD]);

/*
 * Shows the targets of the node under the cursor, or shows them no longer.
 * False: there are none, or as many are open as can be.
 */
bool page_nodes_unfold(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);
bool page_nodes_fold(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);
void page_nodes_unfold_all(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);

#define PAGE_HOW_TEXT 32
/* "slow 900ms"; 17 columns, or with when it was last seen a few more. */
void page_how_text(const struct nodes_surveyed *, char out[PAGE_HOW_TEXT]);
/* "unreachable": the first word of that. */
const char *page_how_name(enum nodes_how);
/* It answers, and what was counted is so. */
bool page_how_answers(enum nodes_how);

#endif

/*
 * nodes_page: page G, the nodes of the table, as text, and the fields of a node
 * in every format (node_fields.c).  The caller surveys the nodes.
 *
 * Vocabulary
 *	row	a node as the survey has it (nodes.h).
 *	line	of the page: a node, or a target of an open node.
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

#include "../page/page.h"
#include "../picture/field_table.h"
#include "../picture/picture.h"

#define PAGE_NODES_OPEN 64	/* nodes that can be open at a time */
#define PAGE_NODES_WORD 160	/* a TARGET: "0590/ALLOCLOG.acqd.4711" */

struct page_nodes {
	char at[8];		/* word of the cursor's row; "" the first one */
	char target[128];	/* the stream under the cursor; "" the node */
	size_t line;		/* the cursor's, in the last picture */
	char open[PAGE_NODES_OPEN][8];
	size_t nopen;
	struct page_scroll scroll;
};

/* Puts the cursor on the node of that number, if it is there. */
void page_nodes_begin(struct page_nodes *, uint16_t number);

/* rows 0: as text, with all lines, without cursor and key bar.  -ENOMEM. */
int page_nodes_compose(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n,
    const struct page_opts *, int cols, int rows, struct page_picture *);

void page_nodes_move(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n, int delta);

/* The row under the cursor; NULL: there is none. */
const struct nodes_surveyed *page_nodes_row(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);

/* The node or target under the cursor as a TARGET; false: there is none. */
bool page_nodes_word(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n,
    char out[PAGE_NODES_WORD]);

/* Opens or closes the cursor's node; false: no targets, or too many open. */
bool page_nodes_unfold(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);
bool page_nodes_fold(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);
void page_nodes_unfold_all(struct page_nodes *,
    const struct nodes_surveyed *const *row, size_t n);

#define PAGE_HOW_TEXT 32
/* "slow 900ms"; 17 columns, a few more with the time when it was last seen. */
void page_how_text(const struct nodes_surveyed *, char out[PAGE_HOW_TEXT]);
/* Its first word: "unreachable". */
const char *page_how_name(enum nodes_how);
/* It answers, so that its counts are right. */
bool page_how_answers(enum nodes_how);

/* --- fields (node_fields.c) ------------------------------------------------ */

/* Subsets of page_node_fields. */
enum {
	PAGE_NODE_LISTED = 1 << 0,	/* as in its file */
	PAGE_NODE_ASKED = 1 << 1,	/* with its answer */
};

struct page_node_row {
	const struct nodes_entry *entry;	/* NULL: not in the table */
	const char *file;			/* the entry's */
	const struct nodes_surveyed *asked;	/* NULL: not asked */
	char where[272];
};

extern const struct field_table page_node_fields;

/* Borrows all; entry or answer may be NULL. */
void page_node_row(struct page_node_row *, const struct nodes_table *,
    const struct nodes_entry *, const struct nodes_surveyed *);

#endif

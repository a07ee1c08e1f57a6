/*
 * node_fields: what a node of the table has, and how it is when it was asked.
 */
#ifndef PAGEK_NODE_FIELDS_H
#define PAGEK_NODE_FIELDS_H

#include "../page/page.h"
#include "../picture/field_table.h"

/* Subsets of page_node_fields. */
enum {
	PAGE_NODE_LISTED = 1 << 0,	/* as it is in its file */
	PAGE_NODE_ASKED = 1 << 1,	/* with its answer */
};

struct page_node_row {
	const struct nodes_entry *entry;	/* NULL: the table has none */
	const char *file;			/* the entry's */
	const struct nodes_surveyed *asked;	/* NULL: it was not asked */
	char where[272];
};

extern const struct field_table page_node_fields;

/* Borrows all: an entry of the table or NULL, and what it answered or NULL. */
void page_node_row(struct page_node_row *, const struct nodes_table *,
    const struct nodes_entry *, const struct nodes_surveyed *);

#endif

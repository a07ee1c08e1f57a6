/*
 * refcnt: `pagek refcnt`, references to pages as rows, and their counting.
 *
 *	cmd_refcnt.c	the command: what it asks the node for
 *	page_rows.c	pages as text and as data
 *	memory_rows.c	the memory of a machine's nodes, and imports of counts
 *
 * Vocabulary
 *	plane	hardware, extended or wide counters (../../../refcnt/refcnt.h).
 *	shared	said of a page with several blocks: its counts cannot be attributed to
 *		one of them.
 *
 * Example
 *	struct page_rows rows = { .plane = REFCNT_WIDE };
 *	refcnt_copy_add(&rows.copy, page, n);
 *	page_rows_print(&rows, o);
 *	refcnt_copy_fini(&rows.copy);
 */
#ifndef PAGEK_COMMANDS_REFCNT_H
#define PAGEK_COMMANDS_REFCNT_H

#include "../../cli/cli.h"
#include "../../refcnt/refcnt.h"

/* --- pages (page_rows.c) -------------------------------------------------------- */

struct page_rows {
	struct refcnt_copy copy;	/* owned */
	enum refcnt_plane plane;
	bool hottest;			/* first; else by address */
	/* Each may be NULL. */
	const struct nodes_look *look;	/* of the target */
	const struct nodes_refcnt *refcnt;
	const char *of;			/* name of the file, if there is no target */
};

/* Adds those of from..to - 1, and zeros for those that are not counted.  -ENOMEM. */
int page_rows_add_range(struct refcnt_copy *, const struct refcnt_page *, size_t n,
    uint64_t from, uint64_t to);
/* In the format of --format, into the file of -o.  Returns the exit status. */
int page_rows_print(struct page_rows *, const struct options *);
/* True, or a sentence about --fields. */
bool page_rows_fields(const char *list, char *why, size_t cap);

/* --- machines (memory_rows.c) ---------------------------------------------------- */

int memory_print(const struct options *, uv_loop_t *, struct nodes_session *);
int memory_import(const struct options *);

#endif

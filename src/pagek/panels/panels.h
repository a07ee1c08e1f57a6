/*
 * panels: what is shown over page K or in its place, as text, without curses.
 * Their keys are in ../app/pages (pages) and ../app/NAME_overlay.c (overlays).
 *
 * Vocabulary
 *	page G	the nodes of the table (nodes_page.h, node_fields.c).
 *	page H	the difference to the mark (difference_page.h,
 *		difference_fields.c).
 *	detail	all that is known of one block, and the callers and callees of a
 *		function (detail.h, callers.c).
 *	diagnostics	all counters, and the costs of a cycle (diagnostics.h).
 *	targets	the targets of a node, to choose one (targets_page.c).
 *	marks	the named marks of a stream (marks_page.c).
 *
 * Example
 *	picture_begin(pic, cols, ascii);
 *	page_targets_put(&targets, selected, pic);
 *	picture_end(pic);
 */
#ifndef PAGEK_PANELS_H
#define PAGEK_PANELS_H

#include "../layout/layout.h"
#include "../page/view.h"
#include "../picture/field_table.h"

struct page_targets {
	const struct nodes_target *target;
	const struct nodes_branch *branch;
	const size_t *order;		/* of n branches, as they are shown */
	size_t n;
	bool flat;			/* the largest first, without indentation */
	struct nodes_sum sum;		/* of all */
	const char *whose;		/* the sum: "the node" */
};

/* A title with its keys, then a line each; as many whole columns as fit. */
void page_targets_put(const struct page_targets *, size_t selected,
    struct page_picture *);
#define PAGE_TARGETS_FOOT 2
/* The remarks of the selected target, and the sum of all. */
void page_targets_foot(const struct page_targets *, size_t selected,
    struct page_picture *);
/* True if the first target is shown before the second in a flat list. */
bool page_targets_before(const struct nodes_target *,
    const struct nodes_target *);

struct page_mark_row {
	const struct wire_named_mark *mark;
	bool utc;			/* text shows its time in UTC */
};
extern const struct field_table page_mark_fields;

/* A title with its keys, then a line for each mark. */
void page_marks_put(const struct nodes_marks *, size_t selected, bool utc,
    struct page_picture *);

#define PAGE_MARKS_SAID 6
#define PAGE_MARKS_TEXT (PAGE_MARKS_SAID * (WIRE_MARK_NAME + 4) + 64)
/* "there are 'b', 'a' and 3 more", the newest first; "this target has no marks". */
void page_marks_known(const struct nodes_marks *, char *out, size_t cap);

#endif

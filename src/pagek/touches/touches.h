/*
 * touches: references to pages of memory, as page R and `pagek stale` show them.
 *
 *	lines.c		runs of pages: their order, filter and hint
 *	touch_fields.c	the fields of a run, and the columns of page R
 *	touch_page.h	page R as text; its keys are in ../app/pages/touches.c
 *	reader.c	brings the counts of a target, and switches counting
 *
 * ../../refcnt/attribution.h tells which counts belong to which blocks.  The column
 * TOUCH of page K is page_cell_touch() of ../page/cells.c.  Another field is a row of
 * touch_fields.c and, to filter by it, one of touch_fields[] in ../../filter/fields.c.
 *
 * Vocabulary
 *	run		neighbouring pages with the same counts: one line,
 *			"7f3c00402000+14" of that page and the 14 behind it.
 *	plane		hardware, extended or wide counters (refcnt.h).
 *	pegged		a counter at its maximum: it may have missed references.
 *	hint		the node that a page should move to: the one that refers to it
 *			by `diff` times more than its home, and `least` times at least.
 *
 * Example
 *	struct touch_reader r = { .plane = REFCNT_WIDE };
 *	if (touch_reader_step(&r, session) > 0)		once a cycle
 *		touch_list_make(&list, &r.copy, filter);
 *	touch_list_sort(&list, TOUCH_SORT_COUNT, false);
 *	for (i = 0; i < list.n; i++)
 *		json_row(&j, &(struct touch_row){ &list, &list.line[i] }, 0);
 */
#ifndef PAGEK_TOUCHES_H
#define PAGEK_TOUCHES_H

#include "../../filter/filter.h"
#include "../../nodes/nodes.h"
#include "../../refcnt/attribution.h"
#include "../blocks/order.h"
#include "../page/view.h"
#include "../picture/field_table.h"

/* --- lines (lines.c) ------------------------------------------------------------- */

struct touch_line {
	size_t at;			/* number of its first page in the copy */
	size_t pages;
};

struct touch_list {
	const struct refcnt_copy *copy;	/* borrowed */
	enum refcnt_plane plane;	/* of its counters */
	struct touch_line *line;	/* owned */
	size_t n, cap;
	size_t of;			/* lines before the filter */
	bool has_nodes;			/* some page tells which nodes refer to it */
	bool has_writes;		/* some source tells writes from reads */
	uint64_t diff, least;		/* of the hint */
	const struct page_view *v;	/* for blocks and clocks; NULL: there are none */
};

#define TOUCH_DIFF 64
#define TOUCH_LEAST 128

struct touch_row {
	const struct touch_list *of;
	const struct touch_line *line;
};

/* The lines of a copy; filter NULL: all.  -ENOMEM. */
int touch_list_make(struct touch_list *, const struct refcnt_copy *,
    const struct filter *);
void touch_list_fini(struct touch_list *);

static inline const struct refcnt_copy_page *
touch_page_of(const struct touch_row *r)
{
	return &r->of->copy->page[r->line->at];
}

/* A newer node may have others. */
const struct refcnt_source_row *touch_source(const struct refcnt_copy_page *);
/* "n0", or "n0-7" of a group of nodes. */
#define TOUCH_NODE_TEXT 16
void touch_node_text(const struct refcnt_copy_page *, unsigned counter,
    char out[TOUCH_NODE_TEXT]);
/* The counter is at its maximum. */
bool touch_is_pegged(const struct touch_row *, unsigned counter);
/* "-> n1", "home", or "": no hint. */
#define TOUCH_HINT_TEXT 24
void touch_hint(const struct touch_row *, char out[TOUCH_HINT_TEXT]);
/* Milliseconds since the last reference, or since counting began. */
int64_t touch_idle_ms(const struct touch_row *);
/* "0000001359900000", the oldest period first. */
void touch_heat_text(uint64_t heat, char out[REFCNT_HEAT + 1]);
/* "no_paddr,coarse" */
#define TOUCH_FLAGS_TEXT 128
void touch_flags_text(uint32_t flags, char out[TOUCH_FLAGS_TEXT]);
/* Blocks on these pages, and the lowest one; false: not known. */
bool touch_blocks(const struct touch_row *, size_t *blocks, struct blk *first);

enum touch_sort {
	TOUCH_SORT_PAGE,
	TOUCH_SORT_HOME,
	TOUCH_SORT_COUNT,
	TOUCH_SORT_READS,
	TOUCH_SORT_WRITES,
	TOUCH_SORT_TOUCHED,
	TOUCH_SORT_HEAT,
	TOUCH_SORT_HINT,
	TOUCH_SORTS		/* one more than the last */
};

extern const struct page_sort_row touch_sort_rows[TOUCH_SORTS];

/* Numbers fall, pages and homes rise, unless it is reversed.  Ties: by page. */
void touch_list_sort(struct touch_list *, enum touch_sort, bool reverse);

/* --- fields (touch_fields.c) ------------------------------------------------------ */

#define TOUCH_KNOWS_WRITES 1	/* columns that need a source that tells writes */

/* Rows: struct touch_row. */
extern const struct field_table touch_fields;

/* --- counts of a target (reader.c) -------------------------------------------------- */

/* All zeros but for the plane. */
struct touch_reader {
	enum refcnt_plane plane;
	struct refcnt_copy copy;	/* the last whole one */
	struct refcnt_copy next;	/* being read */
	uint64_t copies;		/* whole ones so far */
	uint64_t from, to;		/* of the pages being read; to 0: to the end */
	uint64_t asked_no;		/* of the answer before the one that is awaited */
	uint64_t pages;			/* that were counted at the last answer */
	uint64_t periods;		/* that had ended then */
	bool asked, known;		/* known: there was an answer */
	int error;			/* of the last answer, or 0 */
	char why[256];			/* a sentence, also without an error; "" none */
};

/*
 * Once a cycle: asks for the next part of a copy, or takes one.  1: the copy is
 * another one; 0: not yet; a negative errno, with `why`: it cannot be read, and the
 * next call begins anew.
 */
int touch_reader_step(struct touch_reader *, struct nodes_session *);
/* Another target. */
void touch_reader_forget(struct touch_reader *);
void touch_reader_fini(struct touch_reader *);

/* Ranges to switch on or off, one request after the other. */
struct touch_switch {
	struct refcnt_range *range;	/* owned */
	size_t n, at;
	bool on, asked;
	uint32_t period_ms;		/* of the target's counting from now on; 0: it stays */
	size_t failed;			/* ranges that were refused */
	int error;			/* of the last of these */
	char why[256];
};

#define TOUCH_RANGES 256		/* of one switch */

/*
 * The pages of the blocks that are at least as old, joined across small gaps to at
 * most TOUCH_RANGES ranges; blocks whose pages are counted are left out.  *pages: the
 * number of pages in these ranges.  -ENOMEM.
 */
int touch_switch_blocks(struct touch_switch *, const struct page_view *,
    int64_t age_ms, uint64_t *pages);
/* One range.  -ENOMEM. */
int touch_switch_range(struct touch_switch *, uint64_t vaddr, uint64_t len);
/* Once a cycle: asks for the next range.  True: all are answered. */
bool touch_switch_step(struct touch_switch *, struct nodes_session *);
void touch_switch_fini(struct touch_switch *);

#endif

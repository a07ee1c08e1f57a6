/*
 * refcnt: references to pages of memory, as page R and `pagek stale` show
 * them.
 *
 *	runs.c		runs of pages: their order, filter and hint
 *	refcnt_fields.c	the fields of a run and of a page, and their columns
 *	refcnt_page.h	page R as text; its keys are in ../app/pages/refcnt.c
 *	ranges.c	ranges of pages: of blocks, joined until they are few
 *	reader.c	brings the counts of a target, and switches counting
 *
 * ../../refcnt/attribution.h tells whose counts are whose.  Column TOUCH is
 * page_cell_touch() of ../page/cells.c.  Another field is a row of
 * refcnt_fields.c and one of refcnt_fields[] in ../../filter/fields.c.
 *
 * Vocabulary
 *	run		neighbouring pages with the same counts: one line,
 *			"7f3c00402000+14" of that page and the 14 behind it.
 *	plane		hardware, extended or wide counters (refcnt.h).
 *	pegged		a counter at its maximum: it may have missed references.
 *	hint		the node that refers to a page `diff` times more than its home,
 *			and `least` times at least.
 *
 * Example
 *	struct refcnt_reader r = { .plane = REFCNT_WIDE };
 *	if (refcnt_reader_step(&r, session) > 0)		once a cycle
 *		refcnt_list_make(&list, &r.copy, filter);
 *	refcnt_list_sort(&list, REFCNT_SORT_COUNT, false);
 *	for (i = 0; i < list.n; i++)
 *		json_row(&j, &(struct refcnt_row){ &list, &list.line[i] },
 *		    REFCNT_ROW_RUN);
 */
#ifndef PAGEK_REFCNT_H
#define PAGEK_REFCNT_H

#include "../../filter/filter.h"
#include "../../nodes/nodes.h"
#include "../../refcnt/attribution.h"
#include "../blocks/order.h"
#include "../page/view.h"
#include "../picture/field_table.h"

/* --- runs (runs.c) ------------------------------------------------------------- */

struct refcnt_line {
	size_t at;			/* number of its first page in the copy */
	size_t pages;
};

struct refcnt_list {
	const struct refcnt_copy *copy;	/* borrowed */
	enum refcnt_plane plane;	/* of its counters */
	struct refcnt_line *line;	/* owned */
	size_t n, cap;
	size_t of;			/* lines before the filter */
	bool single;			/* a line for each page instead of each run */
	bool has_nodes;			/* some page tells which nodes refer to it */
	bool has_writes;		/* some source tells writes from reads */
	bool is_mixed;			/* several sources: each row has the name of its own */
	uint64_t diff, least;		/* of the hint */
	const struct page_view *v;	/* for blocks and clocks; NULL: there are none */
};

#define REFCNT_HINT_DIFF 64
#define REFCNT_HINT_LEAST 128

struct refcnt_row {
	const struct refcnt_list *of;
	const struct refcnt_line *line;
};

/* The lines of a copy; filter NULL: all.  -ENOMEM. */
int refcnt_list_make(struct refcnt_list *, const struct refcnt_copy *,
    const struct filter *);
void refcnt_list_fini(struct refcnt_list *);

static inline const struct refcnt_copy_page *
refcnt_row_page(const struct refcnt_row *r)
{
	return &r->of->copy->page[r->line->at];
}

/* A newer node may have others. */
const struct refcnt_source_row *refcnt_row_source(const struct refcnt_copy_page *);
/* "n0", or "n0-7" of a group of nodes. */
#define REFCNT_NODE_TEXT 16
void refcnt_node_text(const struct refcnt_copy_page *, unsigned counter,
    char out[REFCNT_NODE_TEXT]);
/* The counter is at its maximum. */
bool refcnt_is_pegged(const struct refcnt_row *, unsigned counter);
/* "-> n1", "home", or "": no hint. */
#define REFCNT_HINT_TEXT 24
void refcnt_hint(const struct refcnt_row *, char out[REFCNT_HINT_TEXT]);
/* Milliseconds since the last reference, or since counting began. */
int64_t refcnt_idle_ms(const struct refcnt_row *);
/* "0000001359900000", the oldest period first. */
void refcnt_heat_text(uint64_t heat, char out[REFCNT_HEAT + 1]);
/* "no_paddr,coarse" */
#define REFCNT_FLAGS_TEXT 128
void refcnt_flags_text(uint32_t flags, char out[REFCNT_FLAGS_TEXT]);
/* Blocks on these pages, and the lowest one; false: not known. */
bool refcnt_row_blocks(const struct refcnt_row *, size_t *blocks, struct blk *first);

enum refcnt_sort {
	REFCNT_SORT_PAGE,
	REFCNT_SORT_HOME,
	REFCNT_SORT_COUNT,
	REFCNT_SORT_READS,
	REFCNT_SORT_WRITES,
	REFCNT_SORT_TOUCHED,
	REFCNT_SORT_HEAT,
	REFCNT_SORT_HINT,
	REFCNT_SORTS		/* one more than the last */
};

extern const struct page_sort_row refcnt_sort_rows[REFCNT_SORTS];

/*
 * Numbers fall, pages and homes rise; `reverse` reverses this.  Ties: by page;
 * of equal counts, the hotter page first.
 */
void refcnt_list_sort(struct refcnt_list *, enum refcnt_sort, bool reverse);

/* --- fields (refcnt_fields.c) ------------------------------------------------------ */

#define REFCNT_KNOWS_WRITES 1	/* columns that need a source that tells writes */

/* Rows are struct refcnt_row.  The subset says if the list has runs or single pages. */
enum { REFCNT_ROW_RUN = 1, REFCNT_ROW_PAGE = 2 };
extern const struct field_table refcnt_fields;

/* --- ranges (ranges.c) -------------------------------------------------------------- */

struct page_ranges {
	struct refcnt_range *range;	/* owned */
	size_t n, cap;
};

/* -ENOMEM, as all of these. */
int page_ranges_add(struct page_ranges *, uint64_t vaddr, uint64_t len);
/* The pages of the list's blocks that are wanted; is_wanted NULL: of all. */
int page_ranges_add_blocks(struct page_ranges *, const struct blklist *,
    bool (*is_wanted)(const void *arg, const struct blk *), const void *arg);
/* The bytes of the block that has this address; -ENOENT. */
int page_ranges_add_block_at(struct page_ranges *, const struct blklist *,
    uint64_t addr);
/*
 * Sorts them, joins those with so many bytes between, then the smallest gaps
 * until `most`.
 */
int page_ranges_join(struct page_ranges *, uint64_t bytes, size_t most);
/* Leaves out pages that are counted. */
int page_ranges_leave_out(struct page_ranges *, const struct refcnt_copy *);
/* The number of whole pages. */
uint64_t page_ranges_pages(const struct page_ranges *);
void page_ranges_fini(struct page_ranges *);

/* --- counts of a target (reader.c) -------------------------------------------------- */

/* All zeros but for the plane. */
struct refcnt_reader {
	enum refcnt_plane plane;
	struct refcnt_copy copy;	/* the last whole one */
	struct refcnt_copy next;	/* being read */
	uint64_t copies;		/* whole ones so far */
	uint64_t from, to;		/* of the pages being read; to 0: to the end */
	uint64_t asked_no;		/* of the answer before the one that is awaited */
	uint64_t pages;			/* that were counted at the last answer */
	uint64_t periods;		/* whose counts all parts of the copy have */
	uint64_t latest;		/* periods that had ended at its last part */
	bool asked, known;		/* known: there was an answer */
	int error;			/* of the last answer, or 0 */
	char why[256];			/* a sentence, also without an error; "" none */
	char virtual[256];		/* processors in place of nodes; "" none */
};

/*
 * Once a cycle: asks for the next part, or takes one. 1: another copy; 0: not
 * yet; a negative errno, with `why`: the next call begins anew.
 */
int refcnt_reader_step(struct refcnt_reader *, struct nodes_session *);
/* Another target. */
void refcnt_reader_forget(struct refcnt_reader *);
void refcnt_reader_fini(struct refcnt_reader *);

/* Ranges to switch on or off, one request after the other. */
struct refcnt_switch {
	struct page_ranges ranges;
	size_t at;
	bool on, asked;
	uint32_t period_ms;		/* of the target's counting from now on; 0: it stays */
	size_t failed;			/* ranges that were refused */
	int error;			/* of the last of these */
	char why[256];
};

#define REFCNT_SWITCH_RANGES 256		/* of one switch */

/*
 * The pages of blocks that are at least as old, joined to at most
 * REFCNT_SWITCH_RANGES ranges; without pages counted already. *pages: their
 * number.  -ENOMEM.
 */
int refcnt_switch_blocks(struct refcnt_switch *, const struct page_view *,
    int64_t age_ms, uint64_t *pages);
/* One range.  -ENOMEM. */
int refcnt_switch_range(struct refcnt_switch *, uint64_t vaddr, uint64_t len);
/* Once a cycle: asks for the next range.  True: all are answered. */
bool refcnt_switch_step(struct refcnt_switch *, struct nodes_session *);
void refcnt_switch_fini(struct refcnt_switch *);

#endif

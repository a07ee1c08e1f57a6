/*
 * fields: what blocks, groups of blocks and targets have, in every format, and
 * how blocks and groups look in a row.
 *
 * Vocabulary
 *	sum	a group, a function among its callers, or one block alone.
 *	weighed	a sum and its share of all.
 *	form	which columns a row of a sum can have on a screen, and by what
 *		the rows are sorted.
 *	listed	a target in the node's table: a row of pagek targets.
 *	watched	a target at one time: a row of pagek watch.
 *	measured	a target at one time, for a monitoring system.
 *	counters	an array of WIRE_STATS_COUNT numbers.
 *
 * On a screen the function of a block, and the name of a sum, take the columns
 * that the numbers leave.  With a sample the figures of a sum are estimates, in
 * columns that are one wider, for the mark.  Functions that draw write the line
 * that picture_line() has begun.
 *
 * Example
 *	page_sum_heading("FUNCTION", v, &form, pic);
 *	picture_line(pic);
 *	page_sum_put(&sum, &form, "main", "main.c:12", pic);
 */
#ifndef PAGEK_FIELDS_H
#define PAGEK_FIELDS_H

#include "../../profile/profile.h"
#include "../difference/difference.h"
#include "../page/view.h"
#include "../picture/field_table.h"

/* --- blocks (block_fields.c) ----------------------------------------------- */

/* Subsets of page_block_fields: of blocks, and of free memory between them. */
enum {
	PAGE_BLOCK_HELD = 1 << 0,
	PAGE_BLOCK_FREE = 1 << 1,
	PAGE_BLOCK_KIND = 1 << 2,	/* which of both it is */
};

/* The lines of a caller, innermost first. */
struct page_stack {
	struct profile_line line[PROFILE_LINES_MAX];
	size_t n, origin;
	unsigned end;		/* enum ring_end; 0: not known */
	const char *type;	/* of the objects; "" not known */
	enum wire_type_from type_from;
};

/* Of a profile that has the caller; n 0: not known. */
void page_stack_get(struct profile *, uint64_t caller, struct page_stack *);

struct page_block_row {
	const struct page_view *v;
	const struct blk *b;
	const struct page_stack *stack;	/* NULL for text, whose function is v's */
};

extern const struct field_table page_block_fields;

void page_columns_heading(const struct page *, const struct page_view *,
    struct page_picture *);
void page_columns_row(const struct page *, const struct page_view *,
    const struct blk *, struct page_picture *);
void page_columns_mark(const struct page_view *, const struct blk *,
    struct page_picture *);

/* There is room for the column of that title. */
bool page_columns_show(const struct page_view *, int cols, const char *title);
/* The title at column `at`, with blanks before it; NULL: there is none. */
const char *page_columns_title(const struct page_view *, int cols, int at);

/* --- groups (group_fields.c) ------------------------------------------------ */

/* Rows: struct profile_sum. */
extern const struct field_table page_sum_fields;

struct page_weighed {
	const struct profile_sum *sum;
	int64_t now_ms;			/* its blocks' ages are of this time; 0: they have none */
	double part, whole;		/* of a measure; whole 0: there is no share */
};
extern const struct field_table page_weighed_fields;

/* Subsets of page_group_fields: of a page's groups, and of `pagek tree --flat`. */
enum {
	PAGE_GROUP_SHOWN = 1 << 0,
	PAGE_GROUP_COUNTED = 1 << 1,
};
/* Rows: struct page_sum, whose texts "" and NULL are not known. */
extern const struct field_table page_group_fields;

struct page_sum_form {
	bool self;		/* bytes that a function requested itself */
	bool whole;		/* type, thread, and the last minute */
	bool change;		/* since the mark */
	bool sorted;		/* by this column: its heading is marked */
	enum profile_measure by;
	bool reverse;
};

struct page_sum {
	const struct page_view *v;
	const struct profile_group *g;
	uint64_t of;		/* bytes that are all */
	/* With a form that is whole; outside texts. */
	const char *type, *thread;
	const uint64_t *point;	/* the last minute, the oldest first; NULL: not known */
	size_t npoint;
	const char *change_text;	/* since the mark, with a form that has it; NULL: not known */
	/* For other formats than text. */
	const char *name, *where, *function;
	struct page_weighed weighed;
	const struct difference_sum *change;	/* since the mark; NULL: not known */
};

void page_sum_heading(const char *title, const struct page_view *,
    const struct page_sum_form *, struct page_picture *);
/* After what the line has already; where NULL: the name is no function's. */
void page_sum_put(const struct page_sum *, const struct page_sum_form *,
    const char *name, const char *where, struct page_picture *);

/* The sort key one column before or after `by`; `self` is one of them or not. */
enum profile_measure page_sum_next(enum profile_measure by, int step,
    bool self);
/* All of them, as messages list them. */
#define PAGE_SUM_WORDS "name|type|thread|blocks|bytes|oldest_age|module|file|line|self"

/* "bytes" */
const char *page_sum_word(enum profile_measure by);
/* "BYTES" */
const char *page_sum_title(enum profile_measure by);
/* -EINVAL: there is no such sort key. */
int page_sum_called(const char *word, enum profile_measure *by);

/* The heading of page K's groups, and one of their rows (group_rows.c). */
void page_group_heading(const struct page *, const struct page_view *,
    struct page_picture *);
void page_group_row(const struct page *, const struct page_view *,
    uint64_t at, struct page_picture *);

/* --- targets (target_fields.c) ---------------------------------------------- */

/* Subsets of page_target_fields. */
enum {
	PAGE_TARGET_LISTED = 1 << 0,
	PAGE_TARGET_WATCHED = 1 << 1,
	PAGE_TARGET_MEASURED = 1 << 2,
	PAGE_TARGET_SAMPLED = 1 << 3,	/* measured, by a sample */
	PAGE_TARGET_SECONDS = 1 << 4,	/* watched, each whole second */
	PAGE_TARGET_MS = 1 << 5,	/* watched, in between as well */
	PAGE_TARGET_ALONE = 1 << 6,	/* text: listed without a tree */
	PAGE_TARGET_BRANCH = 1 << 7,	/* text: listed as a tree */
};

struct page_target_row {
	int64_t wall_ms;	/* when it was watched */
	bool utc;		/* text has the time in UTC */
	int64_t pid;		/* 0: not known */
	const char *name, *stream, *node, *state, *reason;	/* outside texts; NULL or "": not known */
	int32_t status;		/* wait status; -1: not known */
	int64_t armed_wall_ms;	/* 0: it logs since its start */
	uint64_t sample;	/* mean bytes between samples; 0: none */
	const uint64_t *n;	/* counters; NULL: not known */
	bool judged;		/* complete is known */
	bool complete;
	uint64_t lost, full;
	int64_t ms;		/* since the row before; 0: there is none */
	uint64_t allocs, frees;	/* logged in that time */
	const char *remarks;	/* listed; an outside text */
	int64_t starter;	/* listed; 0: not known */
	int64_t started_wall_ms;	/* 0: not known */
	const struct nodes_sum *tree;	/* with the targets below it; NULL: none is */
	const char *indented;	/* its name as a branch; an outside text */
	bool live;		/* watched: its state is LIVE */
};

extern const struct field_table page_target_fields;

/*
 * A listed one, of the node at that socket; borrows both, and has neither
 * remarks nor a tree.
 */
void page_target_listed(const struct nodes_target *, const char *node,
    struct page_target_row *);

/* Rows: struct nodes_look; its node and target, how it logs, its losses. */
extern const struct field_table page_look_target;
extern const struct field_table page_look_modes;
extern const struct field_table page_look_loss;

/* One sentence: why its list is not complete; "" if it is. */
const char *page_look_lack(const struct nodes_look *);

/* Counters of a list and its keeper. */
struct page_counts_row {
	const struct nodes_look *look;
	const struct blklist_counts *counts;
};
extern const struct field_table page_counts_fields;

/* Rows: counters of a target's keeper, and of a node. */
extern const struct field_table page_keeper_counters;
extern const struct field_table page_node_counters;

#endif

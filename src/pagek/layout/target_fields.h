/*
 * target_fields: what a target has, as its node lists it, as a session sees it,
 * and as its keeper counts it.
 *
 * Vocabulary
 *	listed		a target in the node's table: a row of pagek targets
 *	watched		one at one time: a row of pagek watch
 *	measured	one at one time, for a monitoring system
 *	counters	an array of WIRE_STATS_COUNT numbers
 */
#ifndef PAGEK_TARGET_FIELDS_H
#define PAGEK_TARGET_FIELDS_H

#include "../page/page.h"
#include "../picture/field_table.h"

/* Subsets of page_target_fields. */
enum {
	PAGE_TARGET_LISTED = 1 << 0,
	PAGE_TARGET_WATCHED = 1 << 1,
	PAGE_TARGET_MEASURED = 1 << 2,
	PAGE_TARGET_SAMPLED = 1 << 3,	/* measured, by a sample */
	PAGE_TARGET_SECONDS = 1 << 4,	/* watched, each whole second */
	PAGE_TARGET_MS = 1 << 5,	/* watched, in between as well */
};

struct page_target_row {
	int64_t wall_ms;	/* when it was watched */
	bool utc;		/* text shows that in UTC */
	int64_t pid;		/* 0: not known */
	const char *name, *stream, *node, *state, *reason;	/* outside texts; NULL or "": not known */
	int32_t status;		/* wait status; -1: not known */
	int64_t armed_wall_ms;	/* 0: it logs since its start */
	uint64_t sample;	/* mean bytes between samples; 0: none */
	const uint64_t *n;	/* counters; NULL: not known */
	bool judged;		/* complete is known */
	bool complete;
	uint64_t lost, full;
	int64_t ms;		/* since the row before, and what was logged since; 0: there is none */
	uint64_t allocs, frees;
	const char *remarks;	/* listed; an outside text */
	bool live;		/* watched: its state is LIVE */
};

extern const struct field_table page_target_fields;

/* A listed one, of the node at that socket; borrows both, and has no remarks. */
void page_target_listed(const struct nodes_target *, const char *node,
    struct page_target_row *);

/* Rows: struct nodes_look; its node and target, how it logs, what was lost. */
extern const struct field_table page_look_target;
extern const struct field_table page_look_modes;
extern const struct field_table page_look_loss;

/* What its list and its keeper have counted. */
struct page_counts_row {
	const struct nodes_look *look;
	const struct blklist_counts *counts;
};
extern const struct field_table page_counts_fields;

/* Rows: counters of a target's keeper, and of a node. */
extern const struct field_table page_keeper_counters;
extern const struct field_table page_node_counters;

#endif

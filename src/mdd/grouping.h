/*
 * grouping: groups while they are counted; private to this room.  groups.c
 * counts, ranking.c puts them in their order.
 */
#ifndef MDD_GROUPING_H
#define MDD_GROUPING_H

#include "profile.h"

struct group {
	uint64_t key;
	const char *name;
	struct place place;
	struct sums total, self;
	uint32_t stacks;
	uint32_t type, thread;	/* as a cell has them; 0 of callers */
	uint64_t tag;
	uint64_t caller;	/* the heaviest ... */
	uint64_t heaviest;	/* ... and how heavy it is */
	uint64_t value;		/* what groups are sorted by */
	bool kept;		/* it has its place from the ranking before */
};

struct grouping {
	struct profile *p;
	struct hashmap groups;
	enum profile_by by;
	enum profile_measure measure;
	int64_t now_ms;
	const struct profile_cells *cells;	/* counted instead of callers; NULL */
	const struct profile_ranking_below *below;	/* groups that are grouped once more */
	size_t nbelow;
	bool one;		/* only the group of that key */
	uint64_t key;
};

/* What lies at or outside of the origin of that caller, or cell.  -ENOMEM. */
int grouping_count(struct grouping *, size_t at);
struct grouping *ranking_grouping(struct profile_ranking *);
/* As it is handed out.  -ENOMEM. */
int grouping_row(struct grouping *, const struct group *,
    struct profile_group *out);
/* Rows [offs, offs + n) of what was counted; nothing is counted after that. */
int grouping_rows(struct grouping *, size_t offs, struct profile_group *out,
    size_t n, size_t *got);

#endif

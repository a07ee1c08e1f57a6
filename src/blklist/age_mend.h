/*
 * Putting positions into the order of age: what the files of age share.
 * Private.
 */
#ifndef BLKLIST_AGE_MEND_H
#define BLKLIST_AGE_MEND_H

#include "age.h"
#include "age_sort.h"

#define AGE_AHEAD 16		/* records fetched ahead */
#define AGE_READY_GRAIN UINT32_C(1024)	/* a page of ord[], and whole steps */

/* What age_mend() sorts, and what its journal has. */
struct aged {
	int64_t seq;
	int64_t ms;
	uint32_t index;
};

struct aged_keys {
	const struct store_node *node;
	uint64_t mask;
};

/* Which runs count, of a kept list: the table and how many; or the journal. */
#define AGE_RUNS_JOURNAL 2u
void age_say_runs(struct age *, unsigned which, uint32_t n);
void age_say_nruns(struct age *);
/* No position is taken; what comes is as a rule as what came last. */
void age_drop_runs(struct age *);
/* Positions that there has been memory for since pages were given back. */
uint32_t age_taken(const struct age *);
/* Gives pages back if there are many more than positions. */
void age_release(struct age *);

/*
 * age_parts.c.  What had been begun is forgotten; every position is right, be
 * they in order or not.
 */
void age_parts_drop(struct age *);
/* Whether there is to be no sweep now. */
bool age_parts_pass(struct age *, struct store_node *);
size_t age_parts_memory(const struct age *);

static inline size_t
age_chunks(const struct age *a)
{
	return a->end >> AGE_CHUNK_SHIFT;
}

/* The records of a word that is looked at next. */
static inline __attribute__((always_inline)) void
age_fetch_word(const struct age *a, const struct store_node *node,
    uint32_t from)
{
	for (uint64_t w = a->bits[from >> 6]; w != 0; w &= w - 1)
		__builtin_prefetch(&node[a->ord[from +
		    (uint32_t)__builtin_ctzll(w)]].pos, 1);
}

#endif

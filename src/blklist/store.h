/*
 * The records of the indexed list.  Private.
 *
 * An array of aRecMax of them, reserved whole and taken page by page, so that
 * a record's index is its name everywhere.  It moves only when a list that was
 * long has become short, between two chunks (indexed.c).  Those once used
 * and now free hang on a chain, last freed first reused; behind them are the
 * ones never used, which are a chain by their place.
 */
#ifndef BLKLIST_STORE_H
#define BLKLIST_STORE_H

#include "list.h"

/*
 * Of a kept list the array is all that a successor has, as the last instruction
 * left it: `pos` says whether a record is listed, and is written when all else
 * has been.  There are no positions this high.
 */
#define STORE_FREE (UINT32_C(1) << 31)	/* in pos, with the index of the next free one */
#define STORE_NONE UINT32_MAX		/* for an index: there is none */

/*
 * A record, 40 bytes: what its allocation said and its place in the order of
 * age, which knows the high halves of the sequence number and of the time
 * (age.h).  What its free looks at comes first, as a rule in one line.
 */
struct store_node {
	uint64_t w[2];		/* as in struct rec */
	uint32_t ticket;
	uint32_t pos;		/* in age order; while free STORE_FREE and the next one */
	uint64_t w3;		/* as in struct rec */
	uint32_t seq, ms;	/* the low halves */
};

_Static_assert(sizeof(struct store_node) == 40, "each byte is there a million times");

struct store {
	struct store_node *node;
	uint16_t *info;		/* beside them: aInfo, ... */
	bool any_info;		/* ... all 0 until one has had any */
	uint32_t max;
	uint32_t fresh;		/* from here on never used */
	uint32_t ready;		/* memory has been taken up to here */
	uint32_t seen;		/* fresh when store_ahead() last looked */
	uint32_t free;		/* head of the chain with STORE_FREE, or STORE_NONE */
	struct kept *memory;	/* of a kept list, or NULL ... */
	struct list_kept *kept;
};

/* Of this list, which keeps its records or does not. */
int store_init(struct store *, const struct blklist *);
/* Takes memory for more records, before they come. */
void store_make_ready(struct store *);
/* The same if it will soon be needed, going by what came since the last time. */
bool store_ahead(struct store *);
void store_fini(struct store *);
/*
 * In the memory of a list that was killed.  Nothing is free yet, nor listed;
 * `ready` records may be there.
 */
void store_reopen(struct store *);
/* The first n are in use and no others: gives the pages of the rest back. */
void store_cut(struct store *, uint32_t n);
size_t store_memory(const struct store *);
void store_fill(struct store *, uint32_t i, const struct blk *);

/* The record that the next store_take() hands out, or STORE_NONE. */
static inline uint32_t
store_peek(const struct store *s)
{
	if (s->free != STORE_NONE)
		return s->free & ~STORE_FREE;
	return s->fresh < s->max ? s->fresh : STORE_NONE;
}

/* The record, whole by now, is at this position; or it is listed no more. */
static inline void
store_set_pos(struct store_node *n, uint32_t pos)
{
	list_in_order();
	n->pos = pos;
}

static inline void
store_take(struct store *s, uint32_t i)
{
	if (i == s->fresh) {
		if (__builtin_expect(++s->fresh > s->ready, 0))
			store_make_ready(s);
		s->node[i].pos = STORE_NONE;
	} else {
		s->free = s->node[i].pos;
		if (s->free != STORE_NONE)
			__builtin_prefetch(&s->node[s->free &
			    ~STORE_FREE].ms, 1);
	}
	list_in_order();
}

static inline void
store_give(struct store *s, uint32_t i)
{
	store_set_pos(&s->node[i], s->free);
	s->free = i | STORE_FREE;
}

/* What may stand where a list that was killed had its records. */
static inline bool
store_is_listed(const struct store_node *n)
{
	return (n->pos & STORE_FREE) == 0 && n->w[0] != 0;
}

void store_first_info(struct store *);

static inline void
store_set_info(struct store *s, uint32_t i, uint16_t info)
{
	if (__builtin_expect(info != 0 || s->any_info, 0)) {
		if (!s->any_info)
			store_first_info(s);
		s->info[i] = info;
	}
}

static inline uint64_t
store_size(const struct store *s, uint32_t i)
{
	return s->node[i].w[1] & REC_ADDR_MASK;
}

static inline uint32_t
store_ticket(const struct store *s, uint32_t i)
{
	return s->node[i].ticket;
}

#endif

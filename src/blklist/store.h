/*
 * The records of the indexed list.  Private.
 *
 * An array of aRecMax of them, reserved whole and taken page by page, so that
 * a record's index is its name everywhere.  It moves only when a list that was
 * long has become short, between two chunks (indexed_trim.c).  Those once used
 * and now free hang on a chain, last freed first reused; behind them are the
 * ones never used, which are a chain by their place.
 */
#ifndef BLKLIST_STORE_H
#define BLKLIST_STORE_H

#include "list.h"

#define STORE_NONE UINT32_MAX

/*
 * A record, 40 bytes: what its allocation said and its place in the order of
 * age, which knows the high halves of the sequence number and of the time
 * (age.h).  What its free looks at comes first, as a rule in one line.
 */
struct store_node {
	uint64_t w[2];		/* as in struct rec */
	uint32_t ticket;
	uint32_t pos;		/* in age order; while free the next free one */
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
	uint32_t free;		/* head of the chain, or STORE_NONE */
};

int store_init(struct store *, uint32_t max);
/* Takes memory for more records, before they come. */
void store_make_ready(struct store *);
/* The same if it will soon be needed, going by what came since the last time. */
bool store_ahead(struct store *);
void store_fini(struct store *);
/* The first n are in use and no others: gives the pages of the rest back. */
void store_cut(struct store *, uint32_t n);
size_t store_memory(const struct store *);
void store_fill(struct store *, uint32_t i, const struct blk *);

/* The record that the next store_take() hands out, or STORE_NONE. */
static inline uint32_t
store_peek(const struct store *s)
{
	if (s->free != STORE_NONE)
		return s->free;
	return s->fresh < s->max ? s->fresh : STORE_NONE;
}

static inline void
store_take(struct store *s, uint32_t i)
{
	if (i == s->fresh) {
		if (__builtin_expect(++s->fresh > s->ready, 0))
			store_make_ready(s);
		return;
	}
	s->free = s->node[i].pos;
	if (s->free != STORE_NONE)
		__builtin_prefetch(&s->node[s->free].ms, 1);
}

static inline void
store_give(struct store *s, uint32_t i)
{
	s->node[i].pos = s->free;
	s->free = i;
}

static inline void
store_set_info(struct store *s, uint32_t i, uint16_t info)
{
	if (__builtin_expect(info != 0 || s->any_info, 0)) {
		s->any_info = true;
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

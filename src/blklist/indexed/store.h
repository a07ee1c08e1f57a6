/*
 * store: the records of the indexed list.
 *
 * An array of aRecMax records, mapped whole, so that a record's index is its
 * name everywhere.  Records move only when a long list has become short,
 * between two chunks (indexed.c).  Those once used and now free are chained,
 * last freed first reused; behind them are those never used.
 */
#ifndef BLKLIST_STORE_H
#define BLKLIST_STORE_H

#include "../list.h"

/* In `pos`, which is written last: it tells a successor what is listed. */
#define STORE_FREE (UINT32_C(1) << 31)	/* in pos, with the index of the next free one */
#define STORE_NONE UINT32_MAX		/* for an index: there is none */

/*
 * A record: its allocation, and its place in the order of age, which has the
 * high halves of the sequence number and of the time (age.h).  Words that its
 * free reads come first, as a rule in one cache line.
 */
struct store_node {
	uint64_t w[2];		/* as in struct rec */
	uint32_t ticket;
	uint32_t pos;		/* in age order; while free STORE_FREE and the next one */
	uint64_t w3;		/* as in struct rec */
	uint32_t seq, ms;	/* the low halves */
};

_Static_assert(sizeof(struct store_node) == 40, "there are millions of them");

struct store {
	struct store_node *node;
	uint16_t *info;		/* aInfo of each */
	bool any_info;		/* false: all are 0 */
	uint32_t max;
	uint32_t fresh;		/* from here on never used */
	uint32_t present;	/* end of prefaulted records */
	uint32_t seen;		/* fresh at the last store_prefault_ahead() */
	uint32_t free;		/* head of the chain with STORE_FREE, or STORE_NONE */
	struct pmem *memory;	/* of a persistent list, or NULL */
	struct list_persistent *persistent;	/* likewise */
};

int store_init(struct store *, const struct blklist *);
/* Prefaults memory for more records. */
void store_prefault(struct store *);
/* The same if the growth since the last call will soon need it. */
bool store_prefault_ahead(struct store *);
void store_fini(struct store *);
/* In the memory of a killed list: the first `present` records may be listed. */
void store_reopen(struct store *);
/* Only the first n are in use: gives the pages of the rest back. */
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

/* Sets the position of a complete record, or that it is not listed. */
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
		if (__builtin_expect(++s->fresh > s->present, 0))
			store_prefault(s);
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

/* Of a killed list: true for a record that may be listed. */
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

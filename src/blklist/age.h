/*
 * The order of age.  Private.
 *
 * Every allocation takes the next position; ord[position] is the index of its
 * record and a bit says that it is live.  A free clears the bit and touches no
 * neighbour.  Counts of live bits, one for each AGE_CHUNK positions, find the
 * k-th oldest.
 *
 * When there are many more positions than live blocks, a sweep moves the live
 * ones down, a word of bits with each 16 allocations, keeping their order:
 * [0, to) is swept, [to, from) is empty, [from, next) is still to do.
 *
 * Blocks that come out of order (put back, or put in by address) take the next
 * position too, and the order is mended when it is next asked for, once for
 * all that came since.
 */
#ifndef BLKLIST_AGE_H
#define BLKLIST_AGE_H

#include "store.h"

#define AGE_CHUNK_SHIFT 15
#define AGE_CHUNK (UINT32_C(1) << AGE_CHUNK_SHIFT)
#define AGE_SLACK 4096		/* empty positions that are never worth a sweep */

struct age {
	uint32_t *ord;
	uint64_t *bits;
	uint32_t *chunk;	/* live bits of each chunk */
	uint32_t cap;		/* positions, a multiple of AGE_CHUNK */
	uint32_t next;
	uint32_t live;
	uint32_t top;		/* highest next since pages were given back */
	uint32_t from, to;	/* of the sweep */
	bool sweeping;
	bool mixed;		/* positions are not in the order of age */
	int64_t newest;		/* no position has a higher sequence number */
};

int age_init(struct age *, uint32_t max);
void age_fini(struct age *);
void age_clear(struct age *);
/* No position is live: the next one is 0 again. */
void age_restart(struct age *);
/* One word's worth of the sweep, which it begins if there is none. */
void age_sweep(struct age *, struct store_node *);
/* Puts positions into order and leaves no gap. */
void age_mend(struct age *, struct store_node *, uint64_t key_mask);
/* Position of the k-th oldest, of the next live one, and the reverse. */
uint32_t age_select(const struct age *, uint32_t k);
uint32_t age_next(const struct age *, uint32_t pos);
uint32_t age_rank(const struct age *, uint32_t pos);
size_t age_memory(const struct age *);

static inline bool
age_is_live(const struct age *a, uint32_t pos)
{
	return a->bits[pos >> 6] >> (pos & 63) & 1;
}

static inline void
age_set(struct age *a, uint32_t pos)
{
	a->bits[pos >> 6] |= UINT64_C(1) << (pos & 63);
	a->chunk[pos >> AGE_CHUNK_SHIFT]++;
}

static inline void
age_unset(struct age *a, uint32_t pos)
{
	a->bits[pos >> 6] &= ~(UINT64_C(1) << (pos & 63));
	a->chunk[pos >> AGE_CHUNK_SHIFT]--;
}

static inline void
age_append(struct age *a, struct store_node *node, uint32_t index)
{
	uint32_t pos = a->next++;
	int64_t seq = (int64_t)node[index].seq;

	a->ord[pos] = index;
	node[index].pos = pos;
	age_set(a, pos);
	a->live++;
	if (__builtin_expect(seq <= a->newest, 0))
		a->mixed = true;
	else
		a->newest = seq;
	/* Sweeping four positions for each one taken, next never reaches cap. */
	if ((pos & 15) == 15 &&
	    (a->sweeping || a->next > 2 * (uint64_t)a->live + AGE_SLACK))
		age_sweep(a, node);
}

static inline void
age_remove(struct age *a, uint32_t pos)
{
	age_unset(a, pos);
	if (__builtin_expect(--a->live == 0, 0))
		age_restart(a);
}

#endif

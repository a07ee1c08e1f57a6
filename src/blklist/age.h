/*
 * The order of age.  Private.
 *
 * Every allocation takes the next position; ord[position] is the index of its
 * record and a bit says that it is live.  A free clears the bit and touches no
 * neighbour.  Counts of live bits, one for each AGE_CHUNK positions, find the
 * k-th oldest.
 *
 * When there are three eighths more positions than live blocks, a sweep moves
 * live ones down, a word of bits with each 8 allocations, keeping their order.
 * It begins where the positions from there on are worth it: blocks that have
 * long been there stay where they are and only the gaps that the young have
 * left are closed.  [begin, to) is swept, [to, from) is empty, [from, next) is
 * still to do.
 *
 * Blocks that come out of order (put back, or put in by address) take the next
 * position too, and the order is mended when it is next asked for, once for
 * all that came since.  Or in parts, before it is: those that are there move in
 * their order to a second area of positions, while those that come take what
 * is behind the places kept for them.  A sweep brings all back to the first.
 *
 * In a kept list the runs are kept, and the records say their positions: with
 * both a successor knows every record's number and time, whatever instruction
 * was the last.  A run is written before the first position that is in it, and
 * a table of runs is changed by writing another one and then the word that says
 * which counts.  Positions that are all given anew go through a journal, which
 * counts in the meantime.
 *
 * Vocabulary
 *	run	positions that have the high half of their sequence numbers in
 *		common, and times that lie within 2^32 milliseconds: records
 *		keep the low halves only.  A stream has a new one every 2^32
 *		records or every few weeks.
 */
#ifndef BLKLIST_AGE_H
#define BLKLIST_AGE_H

#include "store.h"

#define AGE_CHUNK_SHIFT 15
#define AGE_CHUNK (UINT32_C(1) << AGE_CHUNK_SHIFT)
#define AGE_SLACK 4096		/* empty positions that are never worth a sweep */
#define AGE_STEP 8		/* positions taken for a word of the sweep */

struct age_run {
	uint32_t first;		/* position; it ends where the next one begins */
	uint32_t seq_high;
	int64_t ms_base;	/* its times are this and up to 2^32 - 1 more */
};

struct age {
	uint32_t *ord;
	uint64_t *bits;
	uint32_t *chunk;	/* live bits of each chunk */
	struct age_run *run;
	uint32_t nruns;		/* the last is the one that grows */
	uint32_t cap;		/* positions of an area, a multiple of AGE_CHUNK */
	uint32_t end;		/* of all areas: a kept list has one, others two */
	uint32_t next;
	uint32_t live;
	uint32_t top;		/* highest next since pages were given back */
	uint32_t ready;		/* memory of ord[] has been taken up to here */
	uint32_t seen;		/* next when age_ahead() last looked */
	uint32_t from, to;	/* of the sweep */
	uint32_t run_from;	/* the first run that it has not come to */
	bool sweeping;
	bool mixed;		/* positions are not in the order of age ... */
	struct age_parts *parts;	/* ... nor while they are put into it */
	bool mending;		/* kept: the journal counts, not the runs */
	unsigned copy;		/* kept: which half of the runs' piece counts */
	struct kept *memory;	/* of a kept list, or NULL ... */
	struct list_kept *kept;
	struct age_run *runs;	/* ... its piece: two tables of them */
	struct aged *journal;
	int64_t newest;		/* no position has a higher sequence number */
};

/* Of this list, which keeps its records or does not. */
int age_init(struct age *, const struct blklist *);
void age_fini(struct age *);
void age_clear(struct age *);
/* No position is live: the next one is 0 again. */
void age_restart(struct age *);
/* As store_make_ready() and store_ahead(), for positions. */
void age_make_ready(struct age *);
bool age_ahead(struct age *);
/* One word's worth of the sweep, which it begins if there is none. */
void age_sweep(struct age *, struct store_node *);
/* Puts positions into order, at once, and leaves no gap. */
void age_mend(struct age *, struct store_node *, uint64_t key_mask);
/*
 * The same in parts, each of which looks at about `work` blocks;
 * true when they are in order.  In between all else may be done.
 */
bool age_mend_part(struct age *, struct store_node *, uint64_t key_mask,
    uint32_t work);
/* A run for this number and time begins at the next position. */
void age_begin_run(struct age *, uint64_t seq, int64_t ms);
/* The run that a position before the last run is in. */
const struct age_run *age_earlier_run(const struct age *, uint32_t pos);
/* Position of the k-th oldest, of the next live one, and the reverse. */
uint32_t age_select(const struct age *, uint32_t k);
uint32_t age_next(const struct age *, uint32_t pos);
uint32_t age_rank(const struct age *, uint32_t pos);
size_t age_memory(const struct age *);

/*
 * In the memory of a list that was killed: takes its runs up again, so that
 * age_seq() tells of each record.  What a killed age_mend() had begun is done.
 * `ready` records may be there.  -ESTALE.
 */
int age_reopen(struct age *, struct store_node *, uint32_t ready,
    uint64_t key_mask);
/* The record is listed at the position that it says; false if that cannot be. */
bool age_adopt(struct age *, const struct store_node *, uint32_t index);
/* All have been adopted: leaves no gap. */
void age_close(struct age *, struct store_node *, uint64_t key_mask);

static inline bool
age_is_mixed(const struct age *a)
{
	return a->mixed || a->parts != NULL;
}

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

static inline bool
age_run_takes(const struct age_run *r, uint64_t seq, int64_t ms)
{
	return seq >> 32 == r->seq_high &&
	    (uint64_t)ms - (uint64_t)r->ms_base <= UINT32_MAX;
}

static inline const struct age_run *
age_run_of(const struct age *a, uint32_t pos)
{
	const struct age_run *last = &a->run[a->nruns - 1];

	return __builtin_expect(pos >= last->first, 1) ? last :
	    age_earlier_run(a, pos);
}

/* Of a record that is live. */
static inline uint64_t
age_seq(const struct age *a, const struct store_node *n)
{
	return (uint64_t)age_run_of(a, n->pos)->seq_high << 32 | n->seq;
}

static inline int64_t
age_ms(const struct age *a, const struct store_node *n)
{
	uint64_t base = (uint64_t)age_run_of(a, n->pos)->ms_base;

	return (int64_t)(base + (uint32_t)(n->ms - (uint32_t)base));
}

static inline void
age_append(struct age *a, struct store_node *node, uint32_t index,
    uint64_t seq, int64_t ms)
{
	uint32_t pos = a->next;

	if (__builtin_expect(!age_run_takes(&a->run[a->nruns - 1], seq, ms),
	    0))
		age_begin_run(a, seq, ms);
	a->next++;
	a->ord[pos] = index;
	store_set_pos(&node[index], pos);
	age_set(a, pos);
	a->live++;
	if (__builtin_expect((int64_t)seq <= a->newest, 0))
		a->mixed = true;
	else
		a->newest = (int64_t)seq;
	if ((pos & (AGE_STEP - 1)) != AGE_STEP - 1)
		return;
	if (__builtin_expect(pos + 1 == a->ready, 0))
		age_make_ready(a);
	/* Sweeping eight positions for each one taken, next never reaches cap. */
	if (a->sweeping ||
	    a->next > a->live + (uint64_t)a->live * 3 / 8 + AGE_SLACK)
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

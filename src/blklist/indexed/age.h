/*
 * age: the order of age.
 *
 * Every allocation takes the next position; ord[position] is the index of its
 * record, and a bit says that it is live.  A free clears the bit and touches no
 * neighbour.  Counts of live bits, one for each AGE_CHUNK positions, find the
 * k-th oldest.
 *
 * Vocabulary
 *	run	positions that have the high half of their sequence numbers in
 *		common, and times within 2^32 milliseconds: records have only
 *		the low halves.  A new one begins every 2^32 records or every
 *		few weeks.
 *	sweep	moves live blocks down over empty positions in their order, a
 *		word of bits with each 8 allocations, when there are three
 *		eighths more positions than live blocks.  It begins where it
 *		wins most positions per move, so old blocks stay where they are.
 *		[begin, to) is swept, [to, from) is empty, [from, next) is still
 *		to do.
 *	unsorted	blocks have come out of order (put back, or put in by
 *		address) and taken the next positions.  The order is restored at
 *		once when it is asked for, or in parts before: old blocks move
 *		in their order to a second area of positions, and new ones take
 *		positions behind the places reserved for them.  A sweep brings
 *		all back to the first area.
 *
 * In a persistent list the runs are persistent, and the records say their
 * positions: with both a successor knows every record's number and time, at any
 * instruction.  A run is written before the first position that is in it.  A
 * table of runs is replaced by writing another one and then the word that says
 * which counts.  While all positions are given anew a journal counts instead.
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
	uint32_t end;		/* of all areas: two, in a persistent list one */
	uint32_t next;
	uint32_t live;
	uint32_t top;		/* highest next since pages were given back */
	uint32_t present;	/* end of prefaulted positions of ord[] */
	uint32_t seen;		/* next at the last age_prefault_ahead() */
	uint32_t from, to;	/* of the sweep */
	uint32_t run_from;	/* the first run that it has not come to */
	bool sweeping;
	bool unsorted;
	struct age_parts *parts;	/* restoring the order, or NULL */

	/* Of a persistent list; zero in others. */
	bool restoring;		/* the journal counts, not the runs */
	unsigned copy;		/* which table of runs counts */
	struct pmem *memory;
	struct list_persistent *persistent;
	struct age_run *runs;	/* two tables */
	struct age_entry *journal;

	int64_t newest;		/* no position has a higher sequence number */
};

int age_init(struct age *, const struct blklist *);
void age_fini(struct age *);
void age_clear(struct age *);
/* No position is live: starts again at 0. */
void age_restart(struct age *);
/* As store_prefault() and store_prefault_ahead(), for positions. */
void age_prefault(struct age *);
bool age_prefault_ahead(struct age *);
/* Sweeps one word; begins a sweep if there is none. */
void age_sweep(struct age *, struct store_node *);
/* Puts positions into order at once, without gaps. */
void age_restore(struct age *, struct store_node *, uint64_t key_mask);
/* The same in parts of about `work` blocks; true when they are in order. */
bool age_restore_part(struct age *, struct store_node *, uint64_t key_mask,
    uint32_t work);
/* Begins a run for this number and time at the next position. */
void age_begin_run(struct age *, uint64_t seq, int64_t ms);
/* The run of a position before the last run. */
const struct age_run *age_earlier_run(const struct age *, uint32_t pos);
/* The position of the k-th oldest; the next live one; the reverse of select. */
uint32_t age_select(const struct age *, uint32_t k);
uint32_t age_next(const struct age *, uint32_t pos);
uint32_t age_rank(const struct age *, uint32_t pos);
size_t age_memory(const struct age *);

/*
 * In the memory of a killed list: resumes its runs, so that age_seq() works for
 * the first `present` records, and completes a killed age_restore().  -ESTALE.
 */
int age_reopen(struct age *, struct store_node *, uint32_t present,
    uint64_t key_mask);
/* The record is listed at its position; false if that is impossible. */
bool age_adopt(struct age *, const struct store_node *, uint32_t index);
/* All have been adopted: closes the gaps. */
void age_close(struct age *, struct store_node *, uint64_t key_mask);

static inline bool
age_is_unsorted(const struct age *a)
{
	return a->unsorted || a->parts != NULL;
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

/* Of a live record. */
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
		a->unsorted = true;
	else
		a->newest = (int64_t)seq;
	if ((pos & (AGE_STEP - 1)) != AGE_STEP - 1)
		return;
	if (__builtin_expect(pos + 1 == a->present, 0))
		age_prefault(a);
	/* Sweeping eight positions for each taken, next never reaches cap. */
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

/*
 * A radix sort in portions, from the lowest digit on.  Digits that all numbers
 * share are skipped: as a rule two or three remain.
 */
#define AGE_DIGIT 11
#define AGE_DIGIT_VALUES (1u << AGE_DIGIT)

/* In parts of 32 bits: a list needs two keys for each block. */
struct age_key {
	uint32_t low, high;	/* of the unsigned number to sort by */
	uint32_t which;		/* its owner */
};

_Static_assert(sizeof(struct age_key) == 12, "without a gap");

struct age_sort {
	struct age_key *key;	/* when it is done, in order */
	struct age_key *other;	/* room for as many */
	uint32_t n;
	uint32_t at;		/* of this digit */
	uint64_t differ;	/* bits from `shift` on in which not all are the same */
	unsigned shift;		/* of this digit */
	bool moving;		/* or counting */
	uint32_t place[AGE_DIGIT_VALUES];	/* how many; then where the next one goes */
};

/* Room for so many at most; none yet.  -ENOMEM. */
int age_sort_init(struct age_sort *, uint32_t max);
void age_sort_fini(struct age_sort *, uint32_t max);
/* After the sort: gives the memory of these keys back. */
void age_sort_release(struct age_sort *, uint32_t from, uint32_t to);
/* Looks at up to *work keys, and takes these off it; true: all are in order. */
bool age_sort_step(struct age_sort *, uint32_t *work);

static inline uint64_t
age_key_value(const struct age_key *k)
{
	return (uint64_t)k->high << 32 | k->low;
}

/* Adds a key of a signed number. */
static inline void
age_sort_add(struct age_sort *s, int64_t seq, uint32_t which)
{
	uint64_t value = (uint64_t)seq ^ UINT64_C(1) << 63;

	s->key[s->n++] = (struct age_key){ (uint32_t)value,
		(uint32_t)(value >> 32), which };
	s->differ |= value ^ age_key_value(&s->key[0]);
}

#endif

/*
 * The struct and functions that blklist.c and the kinds of list share.  Private to
 * this room.
 *
 * Vocabulary
 *	key	a block's address with its layer in bit 51, as both stand in
 *		the first word of a record: ascending keys are address order.
 *	chunk	at most LIST_CHUNK records of a batch, applied at a time so that
 *		records and marks stay in the cache.
 *	pair	an allocation and its free that cancel each other.
 *	limbo	for each thread the block that its last free-by-realloc took
 *		out, or how that free was counted, until the realloc has
 *		succeeded: REC_UNDO takes back all that the free did.
 *	plain	said of a type whose allocations are only counted and listed.
 *		One look decides, so that rules for few types cost the others
 *		nothing.
 *
 * The rules of counting are written twice, once in each kind, for one is the
 * oracle of the other; this file has no rule in it.
 */
#ifndef BLKLIST_LIST_H
#define BLKLIST_LIST_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <stdatomic.h>

#include "../base/hashmap.h"
#include "../base/kept.h"
#include "blklist.h"
#include "memory.h"

#define LIST_CHUNK 4096
#define LIST_LAYER_BIT 51
#define LIST_KEY_MASK (REC_ADDR_MASK | UINT64_C(1) << LIST_LAYER_BIT)
#define LIST_THREADS 65536
#define LIST_INFO_MAX 65536	/* requesters; entry 0 is none */

struct list_slot;
struct list_kept;

struct list_chunk {
	const struct rec *rec;
	unsigned n;
	uint64_t seq;
	const uint64_t *seqs;		/* or NULL */
	int64_t near_ms;
	const int64_t *ms;		/* or NULL */
	const struct blklist_batch_info *info;	/* not yet passed, ninfo of them */
	size_t ninfo;
	size_t at;			/* of rec[0] in the batch */
	bool cancel;
	uint64_t *left_out;		/* of the batch; or NULL */
};

/* A kind of list.  Keys are masked already; windows are inside the list. */
struct list_ops {
	int (*open)(struct blklist *);
	void (*close)(struct blklist *);
	/* Applies the chunk; returns the pairs left out.  NULL: takes no records. */
	unsigned (*apply)(struct blklist *, struct list_chunk *);
	/* Takes memory ahead; NULL: it has all from the start. */
	void (*ahead)(struct blklist *);
	/* Mends the order of age, in parts; NULL: it is always right. */
	bool (*mend)(struct blklist *, uint32_t work);
	/*
	 * Cuts rows [*first, *first + *n) to those that are held, without a gap
	 * from the end that is shown first.  NULL: all are held.
	 */
	void (*clip)(const struct blklist *, enum blklist_order, bool reverse,
	    uint32_t *first, size_t *n);
	size_t (*window)(const struct blklist *, enum blklist_order,
	    uint32_t first, struct blk *out, size_t n);
	size_t (*after)(const struct blklist *, bool from_start, uint64_t key,
	    struct blk *out, size_t n);
	int (*get)(const struct blklist *, uint64_t key, struct blk *out);
	int64_t (*rank)(const struct blklist *, enum blklist_order,
	    uint64_t key);
	int (*put)(struct blklist *, uint64_t key, const struct blk *);
	/* The block's size through `size`. */
	int (*take)(struct blklist *, uint64_t key, uint64_t *size);
	void (*clear)(struct blklist *);
	size_t (*memory)(const struct blklist *);
	int (*check)(const struct blklist *, char *why, size_t cap);
	/*
	 * Resumes from kept memory, without the changes of records from `next`
	 * on, which removed `since` blocks.  -ESTALE, -ENOMEM.  NULL: not kept.
	 */
	int (*reopen)(struct blklist *, const struct list_slot *,
	    uint32_t since, uint64_t next);
};

extern const struct list_ops list_literal;
extern const struct list_ops list_indexed;
extern const struct list_ops list_windowed;

enum limbo_state {
	LIMBO_NONE,
	LIMBO_BLOCK,			/* took blk out */
	LIMBO_UNKNOWN,
	LIMBO_EARLIER,
	LIMBO_LATE,
};

struct limbo {
	struct blk blk;
	uint64_t key;
	enum limbo_state state;
	uint64_t generation;		/* kept: of the commit before it was last changed */
};

/* What a thread's last free-by-realloc began; see reallocs.c. */
struct list_pending {
	uint64_t seq, size;		/* of the block that it took out */
	uint32_t told;			/* as in the record */
	bool open;			/* its allocation has not come yet */
	bool block;			/* it took one out */
};

struct list_reallocs {
	struct list_pending *pending;	/* LIST_THREADS of them, pages as used */
	unsigned used;			/* one more than the highest thread in it */
	struct blklist_move *ring;
	uint32_t cap;			/* a power of two */
	uint64_t n;			/* ever */
	uint64_t untold;
	int64_t since_ns;
	bool gaps;			/* in the batch that is being applied */
};

/* When looking for pairs is worth it; counted in records. */
struct list_adapt {
	unsigned tried;			/* since the last verdict */
	unsigned paired;		/* of them */
	unsigned skip;			/* still to pass without looking */
};

/*
 * The estimate from a sample, in whole parts of a block and of a byte, so that a
 * free subtracts what its allocation added and an empty list estimates 0.  False
 * records may make it wrap.
 */
#define LIST_EST_SHIFT 8

struct list_estimate {
	uint64_t blocks;
	uint64_t bytes;
	uint64_t peak_bytes;
};

/*
 * A block that a record took out, in one line of the cache: each free writes one,
 * and it is read only when the target forks or a kept list's process dies.  An
 * entry whose w[0] is 0 is empty.
 */
struct list_removed {
	_Alignas(64) uint64_t seq;	/* of the record */
	uint64_t w[2], w3;		/* as in struct rec */
	uint64_t blk_seq;
	int64_t ms;
	uint64_t rest;			/* ticket 32, info 16 */
	uint64_t zero;
};

_Static_assert(sizeof(struct list_removed) == 64, "written past the cache, line by line");

/* What each thread's records of this round add up to. */
struct list_rises {
	uint64_t all;			/* of their highest */
	uint32_t round;			/* from 1 on */
	struct {
		int64_t sum, highest;
		uint32_t round;		/* another: both are 0 */
	} of[LIST_THREADS];
};

struct list_infos {
	struct blklist_info *entry;	/* entry[0] is unused */
	struct hashindex index;		/* of the entries */
	uint32_t n;			/* in use, entry[0] too */
};

struct blklist {
	const struct list_ops *ops;
	void *impl;			/* the kind's own */
	struct blklist_counts counts;
	uint64_t key_mask;		/* LIST_KEY_MASK, without the layer if opaque */
	uint64_t legal[4];		/* a bit for each type code ... */
	uint64_t plain[4];		/* ... and without those that want more than a count */
	uint64_t period;		/* of the sample; 0: none */
	struct list_estimate est;
	struct list_rises *rises;	/* NULL: not counted */
	bool aside;			/* there is one of these two */
	bool since_click;
	bool opaque;			/* the low nibble says nothing */
	struct list_adapt adapt;
	struct limbo *limbo;		/* LIST_THREADS of them, pages as used */
	unsigned limbo_used;		/* one more than the highest thread in it */
	struct limbo *limbo_was;	/* kept: at the last commit, where it changed since */
	struct list_removed *removed;
	uint32_t removed_cap;		/* a power of two; 0: none kept */
	struct blklist_removed asked;	/* the result of the last blklist_removed() */
	uint64_t removed_n;		/* ever */
	struct list_reallocs *moves;	/* NULL: they are not followed */
	struct list_infos infos;
	struct kept *memory;		/* borrowed; NULL: not a kept list ... */
	struct list_kept *kept;		/* ... or what is written in it: commit.h */
};

/*
 * Orders stores before it before those after it, as seen in memory that a kill has
 * left.  A barrier for the compiler only: a kill stops at an instruction.
 */
static inline void
list_in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* A list without commits and blocks, in kept memory if that is not NULL. */
int list_begin(struct blklist **, enum blklist_kind, uint32_t aRecMax,
    struct kept *);

void list_infos_fini(struct blklist *);
/* Resumes the first n kept requesters.  -ESTALE, -ENOMEM. */
int list_infos_reopen(struct blklist *, uint32_t n);
size_t list_infos_memory(const struct list_infos *);

/* The requester of record i of the chunk; called with ascending i. */
uint16_t list_info_find(struct blklist *, struct list_chunk *, unsigned i);

static inline uint16_t
list_info_at(struct blklist *l, struct list_chunk *c, unsigned i)
{
	return c->ninfo == 0 ? 0 : list_info_find(l, c, i);
}

static inline uint64_t
list_key(const struct blklist *l, const struct rec *r)
{
	return r->w[0] & l->key_mask;
}

static inline uint64_t
list_key_of(const struct blklist *l, unsigned layer, uint64_t addr)
{
	return ((addr & REC_ADDR_MASK) |
	    (uint64_t)(layer & 1) << LIST_LAYER_BIT) & l->key_mask;
}

static inline uint64_t
list_blk_key(const struct blklist *l, const struct blk *b)
{
	return rec_w0(b->addr, b->flags, 0) & l->key_mask;
}

/* Sizes are kept in the 48 bits that a record has for them. */
static inline uint64_t
list_blk_size(const struct blk *b)
{
	return b->size > REC_ADDR_MASK ? REC_ADDR_MASK : b->size;
}

static inline uint64_t
list_seq(const struct list_chunk *c, unsigned i)
{
	return c->seqs != NULL ? c->seqs[i] : c->seq + i;
}

static inline int64_t
list_ms(const struct list_chunk *c, unsigned i)
{
	if (c->ms != NULL)
		return c->ms[i];
	return rec_ms_near(&c->rec[i], c->near_ms);
}

/* True when ticket a was drawn before ticket b; both wrap. */
static inline bool
list_older(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool
list_is_failed(const struct blklist *l, const struct rec *r)
{
	return rec_level(r) == REC_LEVEL_FAILED && !l->opaque;
}

/* After each change of `legal` or `moves`. */
void list_set_plain(struct blklist *);
/* Handles an allocation of a type that is not plain. */
void list_odd_alloc(struct blklist *, const struct list_chunk *, unsigned i);

static inline void
list_odd_alloc_too(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	unsigned type = rec_type(&c->rec[i]);

	if (__builtin_expect(!(l->plain[type >> 6] >> (type & 63) & 1), 0))
		list_odd_alloc(l, c, i);
}

/* Counts an allocation that succeeded, listed or not. */
static inline void
list_count_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	l->counts.allocs++;
	list_odd_alloc_too(l, c, i);
}

/* Counts in estimates and rises, which few lists have.  r: the record, or NULL. */
void list_aside_add(struct blklist *, const struct rec *r, uint64_t key,
    uint64_t size);
void list_aside_sub(struct blklist *, const struct rec *r, uint64_t key,
    uint64_t size);

/* A block of this key and size is live from here on. */
static inline void
list_live_add(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	l->counts.live_bytes += size;
	if (l->counts.live_bytes > l->counts.peak_bytes)
		l->counts.peak_bytes = l->counts.live_bytes;
	if (__builtin_expect(l->aside, 0))
		list_aside_add(l, r, key, size);
}

/* And no longer. */
static inline void
list_live_sub(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	l->counts.live_bytes -= size;
	if (__builtin_expect(l->aside, 0))
		list_aside_sub(l, r, key, size);
}

/*
 * The two halves of a pair.  Its bytes are live in between, so that the peak
 * is the same whether pairs are looked for or not.
 */
static inline void
list_pair_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	const struct rec *alloc = &c->rec[i];

	list_count_alloc(l, c, i);
	list_live_add(l, alloc, list_key(l, alloc), rec_size(alloc));
}

static inline void
list_pair_free(struct blklist *l, const struct rec *alloc)
{
	l->counts.frees++;
	l->counts.cancelled++;
	list_live_sub(l, alloc, list_key(l, alloc), rec_size(alloc));
}

/*
 * As many whole pairs, each free right behind its allocation, as stand in a row
 * from i on, before `end`; returns where the row ends.  All the while the same
 * bytes are live but for the one block, so that the largest of them tells.
 */
static inline unsigned
list_pairs(struct blklist *l, const struct list_chunk *c, const uint16_t *mate,
    unsigned i, unsigned end)
{
	uint64_t most = 0, n = 0;

	for (; i + 1 < end && mate[i] == i + 1; i += 2, n++) {
		const struct rec *alloc = &c->rec[i];

		list_odd_alloc_too(l, c, i);
		if (rec_size(alloc) > most)
			most = rec_size(alloc);
		if (__builtin_expect(l->aside, 0)) {
			list_live_add(l, alloc, list_key(l, alloc), rec_size(alloc));
			list_live_sub(l, alloc, list_key(l, alloc), rec_size(alloc));
		}
	}
	l->counts.allocs += n;
	l->counts.frees += n;
	l->counts.cancelled += n;
	if (l->counts.live_bytes + most > l->counts.peak_bytes)
		l->counts.peak_bytes = l->counts.live_bytes + most;
	return i;
}

#ifdef __SSE2__
static inline void
list_stream(uint64_t *to, uint64_t low, uint64_t high)
{
	_mm_stream_si128((__m128i *)(void *)to,
	    _mm_set_epi64x((long long)high, (long long)low));
}
#endif

/*
 * Past the cache where that can be: a busy target's frees would push out what
 * the list needs.  Number and address come last: a killed list's successor
 * knows the entry by them.
 */
static inline void
list_removed(struct blklist *l, const struct list_removed *r)
{
	struct list_removed *to;

	/* Counted all the same: who asks is to see that it was forgotten. */
	if (l->removed_cap == 0) {
		l->removed_n++;
		return;
	}
	to = &l->removed[l->removed_n++ & (l->removed_cap - 1)];
#ifdef __SSE2__
	list_stream(&to->w[1], r->w[1], r->w3);
	list_stream(&to->blk_seq, r->blk_seq, (uint64_t)r->ms);
	list_stream(&to->rest, r->rest, r->zero);
	list_in_order();
	list_stream(&to->seq, r->seq, r->w[0]);
#else
	to->w[0] = 0;
	list_in_order();
	to->seq = r->seq;
	to->w[1] = r->w[1];
	to->w3 = r->w3;
	to->blk_seq = r->blk_seq;
	to->ms = r->ms;
	to->rest = r->rest;
	list_in_order();
	to->w[0] = r->w[0];
#endif
	list_in_order();
}

void list_removed_blk(const struct list_removed *, struct blk *);
/* The ring's memory.  -ENOMEM. */
int list_removed_take(struct blklist *, uint32_t n);
/* How many in it are from records that came after the commit. */
uint32_t list_removed_since(const struct blklist *, const struct list_slot *,
    uint64_t next);

/* The same of a row; `seq` is the record's. */
void list_removed_row(struct blklist *, uint64_t seq, const struct blk *);

/* What a free-by-realloc did; blk only with LIMBO_BLOCK. */
void list_limbo_keep(struct blklist *, const struct rec *, uint64_t key,
    enum limbo_state, const struct blk *);
/*
 * Takes back the counts of the free that `undo` is for and hands out what it
 * did; LIMBO_NONE when this thread's last free-by-realloc was of another block.
 */
enum limbo_state list_limbo_take(struct blklist *, const struct rec *undo,
    uint64_t key, struct blk *);

/* --- reallocs.c: nothing while moves are not followed --------------------- */

/* A free-by-realloc took that block out; NULL: none. */
void list_reallocs_free(struct blklist *, const struct rec *, const struct blk *);
/* That allocation was made by a realloc. */
void list_reallocs_alloc(struct blklist *, const struct list_chunk *, unsigned i);
/* And that one has failed. */
void list_reallocs_undo(struct blklist *, const struct rec *);
/* A batch begins: with gaps nothing in it is tied to anything before it. */
void list_reallocs_batch(struct blklist *, bool gaps);
void list_reallocs_clear(struct blklist *);
void list_reallocs_fini(struct blklist *);
size_t list_reallocs_memory(const struct blklist *);

#endif

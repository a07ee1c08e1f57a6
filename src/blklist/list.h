/*
 * list: the struct and functions that blklist.c and the kinds of list share.
 * Private to this room and to blklist/indexed.
 *
 * Vocabulary
 *	key	a block's address with its layer in bit 51, as both are in the
 *		first word of a record: ascending keys are address order.
 *	chunk	at most LIST_CHUNK records of a batch, applied at a time so that
 *		records and marks stay in the cache.
 *	pair	an allocation and its free that cancel each other.
 *	undo	for each thread the block that its last free by realloc removed,
 *		or how that free was counted: REC_UNDO takes back all that the
 *		free did.
 *	plain	a type whose allocations are only counted and listed.  One test
 *		decides, so that rules for few types cost the others nothing.
 *	extra	what few lists have: estimates from a sample, peaks by thread, a
 *		watcher.
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
#include "../base/pmem.h"
#include "blklist.h"
#include "memory.h"

#define LIST_CHUNK 4096
#define LIST_LAYER_BIT 51
#define LIST_KEY_MASK (REC_ADDR_MASK | UINT64_C(1) << LIST_LAYER_BIT)
#define LIST_THREADS 65536
#define LIST_INFO_MAX 65536	/* requesters; entry 0 is none */

struct list_slot;

struct list_chunk {
	const struct rec *rec;
	unsigned n;
	uint64_t seq;
	const uint64_t *seqs;		/* or NULL */
	int64_t near_ms;
	const int64_t *ms;		/* or NULL */
	const struct blklist_batch_info *info;	/* ninfo of them, not yet passed */
	size_t ninfo;
	size_t at;			/* of rec[0] in the batch */
	bool cancel;
	uint64_t *left_out;		/* of the batch; or NULL */
	uint64_t *replaced;		/* likewise */
};

/* A kind of list.  Keys are masked, windows are inside the list. */
struct list_ops {
	int (*open)(struct blklist *);
	void (*close)(struct blklist *);
	/* Applies the chunk; returns its pairs.  NULL: takes no records. */
	unsigned (*apply)(struct blklist *, struct list_chunk *);
	/* Takes memory ahead; NULL: it has all from the start. */
	void (*prefault)(struct blklist *);
	/* Restores the order of age, in parts; NULL: it is always right. */
	bool (*restore_order)(struct blklist *, uint32_t work);
	/* Cuts rows to those that it has, at the far end.  NULL: it has all. */
	void (*clip)(const struct blklist *, enum blklist_order, bool reverse,
	    uint32_t *first, size_t *n);
	size_t (*window)(const struct blklist *, enum blklist_order,
	    uint32_t first, struct blk *out, size_t n);
	/* This, put and take may be NULL: not supported. */
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
	 * Resumes from persistent memory, without the changes of records from
	 * `next` on, which removed `since` blocks.  -ESTALE, -ENOMEM.
	 */
	int (*reopen)(struct blklist *, const struct list_slot *,
	    uint32_t since, uint64_t next);
};

extern const struct list_ops list_literal;
extern const struct list_ops list_indexed;
extern const struct list_ops list_windowed;

enum undo_state {
	UNDO_NONE,
	UNDO_BLOCK,			/* removed blk */
	UNDO_UNKNOWN,
	UNDO_EARLIER,
	UNDO_LATE,
};

struct list_undo {
	struct blk blk;
	uint64_t key;
	enum undo_state state;
	uint64_t generation;		/* persistent: of the commit before its last change */
};

struct list_undos {
	struct list_undo *of;		/* LIST_THREADS of them, pages as used */
	struct list_undo *committed;	/* persistent: as of the last commit, where changed since */
	unsigned used;			/* one more than the highest thread in it */
};

/* A thread's free by realloc whose allocation is expected; see reallocs.c. */
struct list_pending {
	uint64_t seq, size;		/* of the block that it removed */
	uint32_t told;			/* as in the record */
	bool open;			/* its allocation has not come yet */
	bool block;			/* it removed one */
};

struct list_reallocs {
	struct list_pending *pending;	/* LIST_THREADS of them, pages as used */
	unsigned used;			/* one more than the highest thread in it */
	struct blklist_realloc *ring;
	uint32_t cap;			/* a power of two */
	uint64_t n;			/* ever */
	uint64_t unmatched;
	int64_t since_ns;
	bool gaps;			/* in the batch that is being applied */
};

/* When looking for pairs is worth it; counted in records. */
struct list_adapt {
	unsigned tried;			/* since the last decision */
	unsigned paired;		/* of them */
	unsigned skip;			/* still to pass without looking */
};

/*
 * The estimate from a sample, in whole parts of a block and of a byte, so that
 * a free subtracts what its allocation added and an empty list estimates 0.
 * False records may make it wrap.
 */
#define LIST_EST_SHIFT 8

struct list_estimate {
	uint64_t blocks;
	uint64_t bytes;
	uint64_t peak_bytes;
};

/*
 * A block that a record removed, in one cache line: each free writes one, and
 * it is read only when the target forks or a persistent list is resumed.  An
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

_Static_assert(sizeof(struct list_removed) == 64, "a cache line");

struct list_removed_ring {
	struct list_removed *ring;
	uint32_t cap;			/* a power of two; 0: none are remembered */
	uint64_t n;			/* ever */
	struct blklist_removed last;	/* the result of the last blklist_removed() */
};

/* The sum and the peak of each thread's records. */
struct list_thread_peaks {
	uint64_t sum;			/* of all peaks */
	uint32_t round;			/* from 1 on */
	struct {
		int64_t sum, peak;
		uint32_t round;		/* another one: both are 0 */
	} of[LIST_THREADS];
};

struct list_infos {
	struct blklist_info *entry;	/* entry[0] is unused */
	struct hashindex index;		/* of the entries */
	uint32_t n;			/* in use, entry[0] too */
};

/* --- persistent.c: a persistent list's words beside its records ------------ */

/*
 * They are the first piece of persistent memory.  A commit writes into a slot
 * what the listed records do not tell; the words before the slots are true at
 * every instruction.  So a successor has nothing to do again, only to revert:
 * records tell by their sequence numbers that they came after the commit, and
 * the ring of removed blocks has what was removed after it.
 *
 * Pieces are taken in this order: this one, undos twice, requesters, records,
 * their requesters, runs twice, the journal of ages, the ring of the removed.
 */

/* Changes when the meaning of a persistent word does; sizes are checked. */
#define LIST_LAYOUT UINT64_C(0x506b4c6973740002)

struct list_slot {
	uint64_t generation;		/* of the commit; 0: none yet */
	uint64_t unrecorded;
	uint64_t removed_n;
	uint64_t period;
	uint64_t legal[4];
	struct blklist_counts counts;
	struct list_estimate est;
	struct list_adapt adapt;
	uint32_t infos;
	uint32_t since_click;		/* a bool */
	uint32_t opaque;		/* a bool */
};

struct list_persistent {
	uint64_t layout;		/* of a new list: written last */
	uint64_t generation;		/* of the latest commit */
	uint64_t unrecorded;		/* changes by no record, which cannot be reverted */
	uint64_t removed_from;		/* removed blocks before this one are overwritten */
	uint64_t runs;			/* which runs of ages count, and how many: age.c */
	uint32_t removed_cap;
	uint32_t present;		/* no record from this one on is listed */
	uint32_t undo_used;
	uint32_t any_info;		/* a record may have one */
	struct list_slot slot[2];
};

/* Takes the first pieces.  -ENOMEM, -ESTALE when they are not such a list's. */
int list_persistent_take(struct blklist *);

struct blklist {
	const struct list_ops *ops;
	void *impl;			/* the kind's own */
	struct blklist_counts counts;
	uint64_t key_mask;		/* LIST_KEY_MASK, without the layer if opaque */
	uint64_t legal[4];		/* a bit for each type code */
	uint64_t plain[4];		/* those of them that are plain */
	uint64_t period;		/* of the sample; 0: none */
	struct list_estimate est;
	struct list_thread_peaks *peaks;	/* NULL: not counted */
	blklist_watch_fn *watch;	/* NULL: nobody watches */
	void *watch_arg;
	bool extra;			/* a sample, peaks, or a watcher */
	bool since_click;
	bool opaque;			/* the low nibble has no meaning */
	struct list_adapt adapt;
	struct list_undos undo;
	struct list_removed_ring removed;
	struct list_reallocs *reallocs;	/* NULL: not followed */
	struct list_infos infos;
	struct pmem *memory;		/* of a persistent list, borrowed, or NULL */
	struct list_persistent *persistent;	/* its first piece */
};

/* Orders stores for a successor: a kill stops at an instruction. */
static inline void
list_in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* An empty list, in persistent memory if that is not NULL. */
int list_begin(struct blklist **, enum blklist_kind, uint32_t aRecMax,
    struct pmem *);

void list_infos_fini(struct blklist *);
/* Resumes the first n persistent requesters.  -ESTALE, -ENOMEM. */
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

/* Sizes have 48 bits, as in a record. */
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

/* True if ticket a was drawn before ticket b; both wrap. */
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

/* Call it after each change of `legal` or `reallocs`. */
void list_set_plain(struct blklist *);
/* Handles an allocation of a type that is not plain. */
void list_special_alloc(struct blklist *, const struct list_chunk *, unsigned i);

static inline void
list_alloc_type(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	unsigned type = rec_type(&c->rec[i]), level = rec_level(&c->rec[i]);

	if (__builtin_expect(level != 0, 0))
		l->counts.by_level[level]++;
	if (__builtin_expect(!(l->plain[type >> 6] >> (type & 63) & 1), 0))
		list_special_alloc(l, c, i);
}

static inline void
list_count_duplicate(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	l->counts.duplicate++;
	if (c->replaced != NULL)
		c->replaced[(c->at + i) / 64] |= UINT64_C(1) << (c->at + i) % 64;
}

/* Counts an allocation that succeeded, listed or not. */
static inline void
list_count_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	l->counts.allocs++;
	list_alloc_type(l, c, i);
}

/* Count in estimates and peaks.  r: the record, or NULL. */
void list_extra_add(struct blklist *, const struct rec *r, uint64_t key,
    uint64_t size);
/* While the block is listed still.  r an allocation: it replaces the block. */
void list_extra_sub(struct blklist *, const struct rec *r, uint64_t key,
    uint64_t size);
/* The same of a pair, which is not listed. */
void list_extra_pair(struct blklist *, const struct rec *alloc,
    const struct rec *free);

/* An event that changes nothing that is live. */
static inline void
list_tell(struct blklist *l, enum blklist_event event, const struct blk *b,
    const struct rec *r)
{
	if (__builtin_expect(l->watch != NULL, 0))
		l->watch(l->watch_arg, event, b, r);
}

/* The same of an allocation that is not listed. */
void list_tell_unlisted(struct blklist *, const struct rec *);

/* A block of this key and size becomes live. */
static inline void
list_live_add(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	l->counts.live_bytes += size;
	if (l->counts.live_bytes > l->counts.peak_bytes)
		l->counts.peak_bytes = l->counts.live_bytes;
	if (__builtin_expect(l->extra, 0))
		list_extra_add(l, r, key, size);
}

static inline void
list_live_sub(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	l->counts.live_bytes -= size;
	if (__builtin_expect(l->extra, 0))
		list_extra_sub(l, r, key, size);
}

static inline void
list_pair_sub(struct blklist *l, const struct rec *alloc,
    const struct rec *free)
{
	l->counts.live_bytes -= rec_size(alloc);
	if (__builtin_expect(l->extra, 0))
		list_extra_pair(l, alloc, free);
}

/* Halves of a pair.  Its bytes are live in between, for the peak. */
static inline void
list_pair_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	const struct rec *alloc = &c->rec[i];

	list_count_alloc(l, c, i);
	list_live_add(l, alloc, list_key(l, alloc), rec_size(alloc));
}

static inline void
list_pair_free(struct blklist *l, const struct rec *alloc,
    const struct rec *free)
{
	l->counts.frees++;
	l->counts.cancelled++;
	list_pair_sub(l, alloc, free);
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
 * Stores the removed block past the cache, where the machine can: a busy
 * target's frees would push out what the list needs.  Number and address come
 * last: they make the entry valid for a successor.
 */
static inline void
list_removed(struct blklist *l, const struct list_removed *r)
{
	struct list_removed *to;

	/* Counted all the same, so that a reader notices the gap. */
	if (l->removed.cap == 0) {
		l->removed.n++;
		return;
	}
	to = &l->removed.ring[l->removed.n++ & (l->removed.cap - 1)];
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
/* How many of them were removed by records after the commit. */
uint32_t list_removed_since(const struct blklist *, const struct list_slot *,
    uint64_t next);

/* As list_removed(), of a row; `seq` is the record's. */
void list_removed_row(struct blklist *, uint64_t seq, const struct blk *);

/* Stores what a free by realloc did; blk only with UNDO_BLOCK. */
void list_undo_store(struct blklist *, const struct rec *, uint64_t key,
    enum undo_state, const struct blk *);
/*
 * Reverts the counts of the free that `undo` is for and returns what it did;
 * UNDO_NONE when this thread's last free by realloc was of another block.
 */
enum undo_state list_undo_take(struct blklist *, const struct rec *undo,
    uint64_t key, struct blk *);

/* --- reallocs.c: no effect while reallocs are not followed ----------------- */

/* A free by realloc removed that block; NULL: none. */
void list_reallocs_free(struct blklist *, const struct rec *, const struct blk *);
/* An allocation by realloc. */
void list_reallocs_alloc(struct blklist *, const struct list_chunk *, unsigned i);
/* A realloc has failed. */
void list_reallocs_undo(struct blklist *, const struct rec *);
/* A batch begins: with gaps it is tied to nothing before it. */
void list_reallocs_batch(struct blklist *, bool gaps);
void list_reallocs_clear(struct blklist *);
void list_reallocs_fini(struct blklist *);
size_t list_reallocs_memory(const struct blklist *);

/* --- literal.c ------------------------------------------------------------ */

#define LITERAL_MAX (UINT32_C(1) << 22)	/* all records are written at once */

struct arec {
	struct arec *aFwd;	/* next in ascending key, or next free one */
	uint64_t aKey;		/* what the list is ordered by */
	struct blk blk;		/* aInfo, aAddr, aSize, aFlag, aType, time ... */
};

struct literal {
	struct arec *aRec;	/* the array, aRecMax of them */
	struct arec *aHead;	/* active, ascending; NULL: none */
	struct arec *fHead;	/* free, last freed first */
	struct arec *aRecPtr;	/* the latest record processed, or NULL */
	uint32_t aRecFree;	/* on fHead */
	bool paired[LIST_CHUNK];	/* a free that cancels the allocation ... */
	unsigned mate[LIST_CHUNK];	/* ... with this index */
};

#endif

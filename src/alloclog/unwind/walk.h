/*
 * walk: walks a stack by rules, from the trail.  Private to this room.
 *
 * Example
 *	walker_void(w, generation);		once
 *	n = walker_walk(w, frame, depth, generation, &hash);
 *						n levels: walker_level(w, i)
 */
#ifndef ALLOCLOG_WALK_H
#define ALLOCLOG_WALK_H

#include <string.h>

#include "mapped.h"
#include "rules.h"
#include "unwind.h"

#pragma GCC visibility push(hidden)

#define TRAIL 192		/* levels that a thread remembers */

/* A level's registers, and how they were found. */
struct level {
	_Alignas(64) uintptr_t slot;	/* where pc was read */
	uintptr_t pc;
	uintptr_t rbp;
	uintptr_t reload;	/* where the step to here read rbp; 0: it is the inner level's */
	uint64_t sum;		/* hash of this frame, in the trail also of those further out */
	uint64_t flags;		/* enum level_flags, and above them the module, 0 not known */
	uintptr_t sp;		/* of LEVEL_FAR, and where the walk stands */
	uintptr_t via;		/* of LEVEL_FAR: where the step read sp; 0: computed */
};

enum level_flags {
	LEVEL_EXACT = 1,	/* pc is where a signal struck, not behind a call */
	LEVEL_RBP_LOST = 2,
	LEVEL_USES_RBP = 4,	/* by the step from here */
	LEVEL_NEEDS_RBP = 8,	/* by this step, or one further out before a reload */
	LEVEL_OUTERMOST = 16,
	LEVEL_FAR = 32,		/* has a via, or an sp that is not right above the slot */
	LEVEL_MORE = 0x80,	/* more than its slot is compared; fits mores */
};

#define LEVEL_MODULE 48		/* the module's first bit, as in a frame */

static inline uint64_t
level_frame(const struct level *l)
{
	return frame_make(l->pc + (l->flags & LEVEL_EXACT),
	    (unsigned)(l->flags >> LEVEL_MODULE));
}

static inline uintptr_t
level_sp(const struct level *l)
{
	return (l->flags & LEVEL_FAR) != 0 ? l->sp : l->slot + sizeof(l->slot);
}

static inline uintptr_t
level_via(const struct level *l)
{
	return (l->flags & LEVEL_FAR) != 0 ? l->via : 0;
}

/*
 * Verifies a level; apart, so that a whole stack takes few lines of cache.
 * Only of the thread's own stack, where any slot may be read.  Zeros never
 * agree and lead to no other memory, as in wiped pages.
 */
struct mark {
	uintptr_t from;		/* distance of the slot from mark_base */
	uintptr_t not_pc;	/* its value, inverted */
};

#define MARK_ROUND 4		/* marks compared in one go */

/* LEVEL_MORE of levels in a row, the innermost in the lowest byte. */
typedef uint64_t __attribute__((may_alias, aligned(1))) mores;
#define MORE_ROUND sizeof(mores)

/*
 * A stack met lately: its hash, with the site in the lowest bits.  58 bits of
 * hashes must agree for two stacks to be taken for one: among 100,000 stacks
 * that happens in one program of twenty millions.
 */
typedef uint64_t memo;
#define MEMO_SITE ((uint64_t)RING_SITES - 1)
#define MEMO_SETS 2048		/* a power of two: walker_memo() takes so many bits */
#define MEMO_SETS_FIRST 64	/* sets in use at first, to touch few pages */
#define MEMO_WAYS 4

#define AT_SLOTS 1024		/* words of a stack with a place of their own in w->at */

static inline unsigned
at_of(uintptr_t slot)
{
	return (unsigned)(slot / sizeof(slot)) % AT_SLOTS;
}

/* The memory of a thread's walks. */
struct walker {
	struct mapped mapped;
	enum ring_end end;		/* of the last walk */
	uint32_t trail_at;		/* trail[trail_at .. TRAIL) are levels, innermost first */
	struct level fresh[RING_STACK_MAX + 1];
	uint8_t at[AT_SLOTS];		/* trail index at which such a slot was put last */
	_Alignas(64) struct mark mark[TRAIL + MARK_ROUND];	/* of the trail; those behind never agree */
	uint8_t more[TRAIL + MORE_ROUND];	/* LEVEL_MORE or 0; those behind are 0 */
	unsigned power_of;		/* for hash_of(): depth ... */
	uint64_t power;			/* ... and FACTOR to its power */
	uint32_t memo_sets;		/* sets in use - 1 */
	uint32_t memos;			/* memos that were stored so far */
	uint32_t far_left;		/* walks to come that use no near rules */
	struct level trail[TRAIL];
	struct rules_near near;
	_Alignas(64) memo memo[MEMO_SETS][MEMO_WAYS];	/* the latest first */
};

static inline memo *
walker_memo(struct walker *w, uint64_t hash)
{
	return w->memo[hash * UINT64_C(0xe7037ed1a0b428db) >> 53 & w->memo_sets];
}

/* Counts a stored memo.  As the sets fill, more are used; then some lookups miss. */
static inline void
walker_count_memo(struct walker *w)
{
	if (++w->memos > 2 * w->memo_sets && w->memo_sets < MEMO_SETS - 1)
		w->memo_sets = 2 * w->memo_sets + 1;
}

/* Begins with zeros; the first walks use no near rules, which lie on many pages. */
void walker_begin(struct walker *, uint32_t generation, uint32_t far);

/* Forgets the thread, whose stack is gone; not rules and memos. */
static inline void
walker_reset_thread(struct walker *w)
{
	w->trail_at = TRAIL;
	w->mapped = (struct mapped) { 0 };
	memset(w->mark, 0, sizeof(w->mark));
	memset(w->more, 0, sizeof(w->more));
	memset(w->at, 0, sizeof(w->at));
}

/* Forgets everything, for this generation of rules. */
void walker_void(struct walker *, uint32_t generation);

/*
 * Walks at most `depth` levels from the origin, which become the innermost part
 * of the trail; returns their number.  0: a handler has forked.
 *
 * hash: of all those frames, why they end, and the generation.  From the
 * trail's sums, so that only fresh levels are hashed.
 */
unsigned walker_walk(struct walker *, uintptr_t frame, unsigned depth,
    uint32_t generation, uint64_t *hash);

/* Level i of the last walk. */
static inline const struct level *
walker_level(const struct walker *w, unsigned i)
{
	return &w->trail[w->trail_at + i];
}

/* Walks without a trail. */
void walk_plain(uintptr_t frame, unsigned depth, struct stack_frames *out);

#pragma GCC visibility pop

#endif

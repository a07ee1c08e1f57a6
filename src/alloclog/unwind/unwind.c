/*
 * An event verifies the one chain that its return address and stack pointer
 * lead to, by a load and a comparison for each slot.  If that fails it walks
 * (walk.c), and looks for the frames' hash among this thread's memos; if it is
 * not there, it asks sites_put(), which compares in full.
 *
 * A handler that interrupts this finds the cache busy and walks by itself.  If
 * it forks, the child has a cache of zeros and another generation: nothing
 * under way is kept.
 */
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "syscalls.h"
#include "walk.h"

/* A program's assembler may call malloc on a stack aligned to 8 only. */
#ifdef __x86_64__
#define REALIGNED __attribute__((noinline, force_align_arg_pointer))
#else
#define REALIGNED __attribute__((noinline))
#endif

#define WORD sizeof(uintptr_t)

/* Limits of a thread. */
#define CHAINS 512		/* a power of two */
#define CHAINS_FIRST 32		/* chains in use at first, to touch few pages */
#define CHAIN_PAIRS 20
#define CHAIN_SINGLES 34	/* a stack that needs more has no chain */

/*
 * Chains pay while half of the stacks are found among them; otherwise walks
 * from the trail are cheaper, and chains are tried in one of TRIED periods.  A
 * period is so many walks.  The first one has no chains: most programs end in it, and
 * each chain that is stored costs them memory.
 */
#define PERIOD 256
#define TRIED 32

#define FAR_WALKS 32	/* of a thread other than the program's first */

/*
 * Slots, as words above the stack pointer, and their values.  A saved rbp and
 * the return address above it are a pair, compared as one.  The last of each
 * kind is repeated up to an even number.  Only of a thread's own stack, where
 * all slots can be read at once, without a branch for each.
 */
struct chain {
	_Alignas(64) uintptr_t sp;	/* of the origin's caller */
	uintptr_t pc;
	uintptr_t rbp;
	uintptr_t rbp_mask;	/* all ones, or 0 if the register does not matter */
	uint32_t generation;
	uint32_t site;		/* 0: no room for one */
	uint8_t npair, nsingle;
	uint16_t pair_at[CHAIN_PAIRS];
	uint16_t single_at[CHAIN_SINGLES];
	struct pair {
		_Alignas(16) uintptr_t held[2];
	} pair[CHAIN_PAIRS];
	uintptr_t single[CHAIN_SINGLES];
};

struct stack_cache {
	struct stack_cache_head head;
	uint32_t depth;
	uint32_t generation;
	bool chains;		/* chains are in use */
	bool known;		/* has begun: rules and memos stay for the next thread */
	uint32_t hits;		/* in this period */
	uint32_t walks;
	uint32_t chains_used;	/* chains in use - 1; grows as they fill, then some lookups miss */
	uint32_t kept;		/* chains that were stored so far */
	struct walker walker;
	uint64_t frame[RING_STACK_MAX];
	uint64_t key[CHAINS];		/* of the chains: a miss reads no line of theirs */
	struct chain chain[CHAINS];
};

/* Never 0. */
static inline uint64_t
chain_key(uintptr_t sp, uintptr_t pc)
{
	return ((pc * UINT64_C(0x9e3779b97f4a7c15)) ^ sp << 12) | 1;
}

static inline unsigned
chain_index(const struct stack_cache *c, uint64_t key, uintptr_t sp)
{
	return (unsigned)((key >> 40) ^ (sp >> 4)) & c->chains_used;
}

/* Adds to *sum how two words at `at` differ from a pair. */
static inline void
pair_differs(struct pair *sum, uintptr_t at, const struct pair *p)
{
#ifdef __SSE2__
	__m128i now = _mm_loadu_si128((const __m128i *)at);
	__m128i *all = (__m128i *)sum;

	now = _mm_xor_si128(now, *(const __m128i *)p);
	*all = _mm_or_si128(*all, now);
#else
	sum->held[0] |= mapped_peek(at) ^ p->held[0];
	sum->held[1] |= mapped_peek(at + sizeof(uintptr_t)) ^ p->held[1];
#endif
}

static inline bool
chain_verified(const struct chain *ch, uintptr_t sp, uintptr_t pc,
    uintptr_t rbp, uint32_t generation)
{
	const struct pair *pair = ch->pair;
	const uintptr_t *single = ch->single;
	struct pair pairs = { { 0, 0 } };
	uintptr_t singles = 0;

	/* One branch for what nearly always agrees. */
	if (((ch->sp ^ sp) | (ch->pc ^ pc) | ((ch->rbp ^ rbp) & ch->rbp_mask) |
		(ch->generation ^ generation)) != 0)
		return false;
	for (const uint16_t *w = ch->pair_at, *end = w + ch->npair; w < end;
	     w += 2, pair += 2) {
		pair_differs(&pairs, sp + w[0] * WORD, &pair[0]);
		pair_differs(&pairs, sp + w[1] * WORD, &pair[1]);
	}
	for (const uint16_t *w = ch->single_at, *end = w + ch->nsingle;
	     w < end; w += 2, single += 2) {
		singles |= mapped_peek(sp + w[0] * WORD) ^ single[0];
		singles |= mapped_peek(sp + w[1] * WORD) ^ single[1];
	}
	return (pairs.held[0] | pairs.held[1] | singles) == 0;
}

/* A chain that is being built. */
struct making {
	struct chain *ch;
	uintptr_t sp;
	uintptr_t hi;		/* slots from here on are not on this stack */
};

/* The slot's distance in words; -1: it cannot be kept. */
static int
chain_distance(const struct making *m, uintptr_t at)
{
	uintptr_t words = (at - m->sp) / WORD;

	return at < m->sp || at >= m->hi || words > UINT16_MAX ? -1 :
	    (int)words;
}

static bool
chain_single(struct making *m, uintptr_t at, uintptr_t held)
{
	struct chain *ch = m->ch;
	int words = chain_distance(m, at);

	if (words < 0 || ch->nsingle == CHAIN_SINGLES)
		return false;
	ch->single_at[ch->nsingle] = (uint16_t)words;
	ch->single[ch->nsingle++] = held;
	return true;
}

static bool
chain_pair(struct making *m, uintptr_t at, uintptr_t first, uintptr_t second)
{
	struct chain *ch = m->ch;
	int words = chain_distance(m, at);

	if (words < 0 || ch->npair == CHAIN_PAIRS)
		return false;
	ch->pair_at[ch->npair] = (uint16_t)words;
	ch->pair[ch->npair++] = (struct pair) { { first, second } };
	return true;
}

/* The slots of the step to this level. */
static bool
chain_level(struct making *m, const struct level *l)
{
	bool reloads = l->reload != 0 && (l->flags & LEVEL_NEEDS_RBP) != 0;

	if (level_via(l) != 0 && !chain_single(m, l->via, l->sp))
		return false;
	if (reloads && l->reload + WORD == l->slot)
		return chain_pair(m, l->reload, l->rbp, l->pc);
	return chain_single(m, l->slot, l->pc) &&
	    (!reloads || chain_single(m, l->reload, l->rbp));
}

static void
chain_even(struct chain *ch)
{
	if (ch->npair % 2 != 0) {
		ch->pair_at[ch->npair] = ch->pair_at[ch->npair - 1];
		ch->pair[ch->npair] = ch->pair[ch->npair - 1];
		ch->npair++;
	}
	if (ch->nsingle % 2 != 0) {
		ch->single_at[ch->nsingle] = ch->single_at[ch->nsingle - 1];
		ch->single[ch->nsingle] = ch->single[ch->nsingle - 1];
		ch->nsingle++;
	}
}

static NOINLINE void
chain_keep(struct stack_cache *c, unsigned depth, uint32_t site,
    uint32_t generation)
{
	const struct level *first = walker_level(&c->walker, 0);
	const struct mapped *mapped = &c->walker.mapped;
	uintptr_t sp = level_sp(first);
	uint64_t key = chain_key(sp, first->pc);
	unsigned at = chain_index(c, key, sp);
	struct chain *ch = &c->chain[at];
	struct making m = { .ch = ch, .sp = sp, .hi = mapped->stack_hi - WORD };

	if (sp - mapped->stack_lo >= mapped->stack_hi - mapped->stack_lo)
		return;
	c->key[at] = 0;
	ch->npair = ch->nsingle = 0;
	for (unsigned i = 1; i < depth; i++)
		if (!chain_level(&m, first + i))
			return;
	chain_even(ch);
	ch->pc = first->pc;
	ch->rbp = first->rbp;
	ch->rbp_mask = (first->flags & LEVEL_NEEDS_RBP) != 0 ? ~(uintptr_t)0 : 0;
	ch->site = site;
	ch->generation = generation;
	ch->sp = sp;
	c->key[at] = key;
	if (++c->kept > 2 * c->chains_used && c->chains_used < CHAINS - 1)
		c->chains_used = 2 * c->chains_used + 1;
}

/* Not inline, like chain_keep(): every walk's stack includes caller_walked()'s frame. */
static NOINLINE uint32_t
site_unmet(struct stack_cache *c, unsigned depth, uint64_t hash,
    uint32_t generation)
{
	memo *set = walker_memo(&c->walker, hash);
	uint32_t site;

	for (unsigned i = 0; i < depth; i++)
		c->frame[i] = level_frame(walker_level(&c->walker, i));
	site = sites_put(c->frame, depth, c->walker.end);
	if (c->generation == generation && site != 0) {
		for (unsigned i = MEMO_WAYS - 1; i > 0; i--)
			set[i] = set[i - 1];
		set[0] = (hash & ~MEMO_SITE) | site;
		walker_count_memo(&c->walker);
	}
	return site;
}

static uint32_t
site_of(struct stack_cache *c, unsigned depth, uint64_t hash,
    uint32_t generation)
{
	uint64_t known = UINT64_MAX, tag = hash & ~MEMO_SITE;
	const memo *set = walker_memo(&c->walker, hash);

	/* XOR with the tag leaves only the site of the matching entry. */
#pragma GCC unroll 4
	for (unsigned i = 0; i < MEMO_WAYS; i++)
		known = (set[i] ^ tag) < known ? set[i] ^ tag : known;
	if (__builtin_expect(known - 1 < MEMO_SITE, 1))
		return (uint32_t)known;
	return site_unmet(c, depth, hash, generation);
}

/* Chains and memos of another generation never agree. */
static void
cache_void(struct stack_cache *c, uint32_t generation)
{
	walker_void(&c->walker, generation);
	c->generation = generation;
}

/* Are chains worth it?  Once for each walk. */
static inline void
judge_chains(struct stack_cache *c)
{
	if (__builtin_expect(++c->walks % PERIOD != 0, 1))
		return;
	c->chains = (c->chains && c->hits >= PERIOD) ||
	    c->walks / PERIOD % TRIED == 1;
	c->hits = 0;
}

/* A stack without a verified chain.  After a handler's fork nothing is kept. */
static REALIGNED uint64_t
caller_walked(struct stack_cache *c, uintptr_t frame, uint32_t generation)
{
	unsigned depth;
	uint32_t site = 0;
	uint64_t hash;

	if (c->generation != generation)
		cache_void(c, generation);
	sites_count_walk();
	depth = walker_walk(&c->walker, frame, c->depth, generation, &hash);
	if (depth != 0) {
		site = site_of(c, depth, hash, generation);
		judge_chains(c);
		if (c->chains && c->generation == generation)
			chain_keep(c, depth, site, generation);
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&c->head.busy, 0, memory_order_relaxed);
	return site != 0 ? rec_site_caller(site) :
	    rec_plain_caller(mapped_peek(frame + WORD));
}

REALIGNED uint64_t
stack_walk(uintptr_t frame, unsigned depth)
{
	struct stack_frames s;
	uint32_t site;

	sites_count_walk();
	walk_plain(frame, depth, &s);
	site = sites_put(s.frame, s.depth, s.end);
	return site != 0 ? rec_site_caller(site) :
	    rec_plain_caller(mapped_peek(frame + WORD));
}

/* A chain that was kept without a site. */
static __attribute__((noinline, cold)) uint64_t
caller_without_site(uintptr_t pc)
{
	sites_count_full();
	return rec_plain_caller(pc);
}

/* The rare paths are jumps, so that nothing is saved for them. */
uint64_t
stack_caller(struct stack_cache *c, uintptr_t frame)
{
	uintptr_t rbp = mapped_peek(frame);
	uintptr_t pc = mapped_peek(frame + sizeof(uintptr_t));
	uintptr_t sp = frame + 2 * sizeof(uintptr_t);
	uint32_t generation = atomic_load_explicit(&rules_generation,
	    memory_order_relaxed);
	uint64_t key = chain_key(sp, pc);
	unsigned at = chain_index(c, key, sp);
	const struct chain *ch = &c->chain[at];
	uint32_t site;

	if (__builtin_expect(atomic_load_explicit(&c->head.busy,
		memory_order_relaxed) != 0, 0))
		return stack_walk(frame, c->depth);
	atomic_store_explicit(&c->head.busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* Otherwise it is computed anew for each member. */
	__asm__("" : "+r"(ch));
	if (!c->chains || __builtin_expect(c->key[at] != key, 0) ||
	    __builtin_expect(!chain_verified(ch, sp, pc, rbp, generation), 0))
		return caller_walked(c, frame, generation);
	site = ch->site;
	c->hits++;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&c->head.busy, 0, memory_order_relaxed);
	return __builtin_expect(site != 0, 1) ? rec_site_caller(site) :
	    caller_without_site(pc);
}

void
stack_frames(struct stack_cache *c, uintptr_t frame, unsigned depth,
    struct stack_frames *out)
{
	const uint64_t *kept = NULL;
	uint64_t caller;

	if (c != NULL) {
		caller = stack_caller(c, frame);
		if (rec_is_site(caller))
			kept = sites_get(rec_site(caller), &out->depth,
			    &out->end);
	}
	if (kept != NULL)
		memcpy(out->frame, kept, out->depth * sizeof(*kept));
	else
		walk_plain(frame, depth, out);
}

void
stack_forget_rules(void)
{
	rules_forget();
}

void
stack_cache_renew(struct stack_cache *c, unsigned depth, bool frees)
{
	static _Atomic bool begun;	/* by a thread of this program, or of its parent */
	bool used = c->depth != 0;

	depth = depth == 0 ? 1 :
	    depth > RING_STACK_MAX ? RING_STACK_MAX : depth;
	if (used) {
		c->depth = depth;
		c->head.frees = frees;
		return;
	}
	atomic_store(&c->head.busy, 1);
	c->depth = depth;
	c->head.frees = frees;
	/* Otherwise zeros, as new or wiped pages are. */
	if (!c->known) {
		bool first = !atomic_exchange(&begun, true);

		/* Most forked children, and many threads, end soon. */
		if (first)
			call_populate(c, (size_t)((char *)&c->walker.memo[
			    MEMO_SETS_FIRST] - (char *)c));
		walker_begin(&c->walker, atomic_load(&rules_generation),
		    first ? 0 : FAR_WALKS);
		c->chains_used = CHAINS_FIRST - 1;
		c->generation = c->walker.near.generation;
		c->known = true;
	}
	atomic_store(&c->head.busy, 0);
}

void
stack_cache_reset_thread(struct stack_cache *c)
{
	memset(c->key, 0, sizeof(c->key));
	walker_reset_thread(&c->walker);
	c->depth = 0;
}

struct stack_cache *
stack_cache_new(unsigned depth, bool frees)
{
	struct stack_cache *c = call_map_wiped(sizeof(*c), sizeof(*c));

	if (c != NULL)
		stack_cache_renew(c, depth, frees);
	return c;
}

void
stack_cache_free(struct stack_cache *c)
{
	if (c != NULL)
		call_unmap_private(c, sizeof(*c));
}

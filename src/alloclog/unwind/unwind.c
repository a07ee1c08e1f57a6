/*
 * Recognising a stack.
 *
 * An event first looks at the one chain that its return address and stack
 * pointer lead to and verifies it, which costs a load and a comparison for
 * each slot.  When that fails it walks (walk.c), and looks for the frames' hash
 * among those that this thread has met lately; when it is not there either,
 * sites_put() is asked, which compares in full.
 *
 * A handler that interrupts this finds the cache busy and walks by itself.
 * One that forks leaves the child a cache of zeros, and a generation that
 * what was under way does not have: nothing of it is kept.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "syscalls.h"
#include "walk.h"

/*
 * A program's own assembler may call malloc on a stack that is aligned to 8
 * only, and live.  What recognises a chain keeps nothing on the stack.
 */
#ifdef __x86_64__
#define REALIGNED __attribute__((noinline, force_align_arg_pointer))
#else
#define REALIGNED __attribute__((noinline))
#endif

#define WORD sizeof(uintptr_t)

/* Of a thread: */
#define CHAINS 512		/* a power of two */
#define CHAIN_PAIRS 20
#define CHAIN_SINGLES 34	/* a stack that needs more has no chain */

/*
 * Chains are of use while at least half of the stacks are found among them.
 * Otherwise a walk from the trail costs less than they do, and they are tried
 * in one of so many periods only; a period is so many walks.
 */
#define PERIOD 256
#define TRIED 32

/*
 * Slots, as words above the stack pointer, and what they held.  A saved rbp and
 * the return address right above it are a pair, compared as one.  The last of
 * each kind is repeated up to an even number.
 *
 * Chains are kept of a thread's own stack alone: there all slots may be read
 * at once, whatever they hold, and no branch waits for each of them.
 */
struct chain {
	_Alignas(64) uintptr_t sp;	/* of the origin's caller */
	uintptr_t pc;
	uintptr_t rbp;
	uintptr_t rbp_mask;	/* 0: the register at the origin does not matter; else all ones */
	uint32_t generation;
	uint32_t site;		/* 0: there was no room for one */
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
	bool chains;		/* are looked for and kept */
	bool known;		/* it has begun: its rules and memos go on for the next thread, too */
	uint32_t hits;		/* in this period */
	uint32_t walks;
	struct walker walker;
	uint64_t frame[RING_STACK_MAX];
	uint64_t key[CHAINS];		/* of the chains: so that one that is not kept costs no line of its own */
	struct chain chain[CHAINS];
};

/* --- chains -------------------------------------------------------------- */

/* No place has 0. */
static inline uint64_t
chain_key(uintptr_t sp, uintptr_t pc)
{
	return ((pc * UINT64_C(0x9e3779b97f4a7c15)) ^ sp << 12) | 1;
}

static inline unsigned
chain_index(uint64_t key, uintptr_t sp)
{
	return (unsigned)((key >> 40) ^ (sp >> 4)) % CHAINS;
}

/* What two words at `at` have in common with a pair: nothing but zeros. */
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

/* Of a chain in the making. */
struct making {
	struct chain *ch;
	uintptr_t sp;
	uintptr_t hi;		/* slots from here on are not on this stack */
};

/* The distance of a slot in words; -1: it cannot be kept. */
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

/* The slots of the step that led to this level. */
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

static void
chain_keep(struct stack_cache *c, unsigned depth, uint32_t site,
    uint32_t generation)
{
	const struct level *first = walker_level(&c->walker, 0);
	const struct mapped *mapped = &c->walker.mapped;
	uintptr_t sp = level_sp(first);
	uint64_t key = chain_key(sp, first->pc);
	unsigned at = chain_index(key, sp);
	struct chain *ch = &c->chain[at];
	struct making m = { .ch = ch, .sp = sp, .hi = mapped->own_hi - WORD };

	if (sp - mapped->own_lo >= mapped->own_hi - mapped->own_lo)
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
}

/* --- memos --------------------------------------------------------------- */

static uint32_t
site_of(struct stack_cache *c, unsigned depth, uint64_t hash,
    uint32_t generation)
{
	uint64_t known = UINT64_MAX;
	memo *set = walker_memo(&c->walker, hash);
	uint32_t site;

	/* Of the one that is meant nothing is left but its site. */
	hash &= ~MEMO_SITE;
#pragma GCC unroll 4
	for (unsigned i = 0; i < MEMO_WAYS; i++)
		known = (set[i] ^ hash) < known ? set[i] ^ hash : known;
	if (__builtin_expect(known - 1 < MEMO_SITE, 1))
		return (uint32_t)known;
	for (unsigned i = 0; i < depth; i++)
		c->frame[i] = level_frame(walker_level(&c->walker, i));
	site = sites_put(c->frame, depth, c->walker.end);
	if (c->generation == generation && site != 0) {
		for (unsigned i = MEMO_WAYS - 1; i > 0; i--)
			set[i] = set[i - 1];
		set[0] = hash | site;
	}
	return site;
}

/* --- the stack of an event ----------------------------------------------- */

/* Chains and memos of another generation do not agree by themselves. */
static void
cache_void(struct stack_cache *c, uint32_t generation)
{
	walker_void(&c->walker, generation);
	c->generation = generation;
}

/* Whether chains are of use; once for each walk. */
static inline void
judge_chains(struct stack_cache *c)
{
	if (__builtin_expect(++c->walks % PERIOD != 0, 1))
		return;
	c->chains = (c->chains && c->hits >= PERIOD) ||
	    c->walks / PERIOD % TRIED == 0;
	c->hits = 0;
}

/*
 * A stack that no chain was verified for.  When a handler has forked in the
 * middle of it, cache and generation are not those that it began with, and
 * nothing is kept.  The cache is busy, and is not any more afterwards.
 */
static REALIGNED uint64_t
caller_walked(struct stack_cache *c, uintptr_t frame, uint32_t generation)
{
	unsigned depth;
	uint32_t site = 0;
	uint64_t hash;

	if (c->generation != generation)
		cache_void(c, generation);
	sites_walked();
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

	sites_walked();
	walk_plain(frame, depth, &s);
	site = sites_put(s.frame, s.depth, s.end);
	return site != 0 ? rec_site_caller(site) :
	    rec_plain_caller(mapped_peek(frame + WORD));
}

/* What is known of a stack that found no room when its chain was kept. */
static __attribute__((noinline, cold)) uint64_t
caller_alone(uintptr_t pc)
{
	sites_left_out();
	return rec_plain_caller(pc);
}

/* The rare ways are jumps, so that nothing is saved for them. */
uint64_t
stack_caller(struct stack_cache *c, uintptr_t frame)
{
	uintptr_t rbp = mapped_peek(frame);
	uintptr_t pc = mapped_peek(frame + sizeof(uintptr_t));
	uintptr_t sp = frame + 2 * sizeof(uintptr_t);
	uint32_t generation = atomic_load_explicit(&rules_generation,
	    memory_order_relaxed);
	uint64_t key = chain_key(sp, pc);
	unsigned at = chain_index(key, sp);
	const struct chain *ch = &c->chain[at];
	uint32_t site;

	if (__builtin_expect(atomic_load_explicit(&c->head.busy,
		memory_order_relaxed) != 0, 0))
		return stack_walk(frame, c->depth);
	atomic_store_explicit(&c->head.busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* Else it is made out anew for each of its members. */
	__asm__("" : "+r"(ch));
	if (!c->chains || __builtin_expect(c->key[at] != key, 0) ||
	    __builtin_expect(!chain_verified(ch, sp, pc, rbp, generation), 0))
		return caller_walked(c, frame, generation);
	site = ch->site;
	c->hits++;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&c->head.busy, 0, memory_order_relaxed);
	return __builtin_expect(site != 0, 1) ? rec_site_caller(site) :
	    caller_alone(pc);
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
stack_forget(void)
{
	rules_forget();
}

/* --- a cache ------------------------------------------------------------- */

void
stack_cache_renew(struct stack_cache *c, unsigned depth, bool frees)
{
	bool used = c->depth != 0;

	depth = depth == 0 ? 1 :
	    depth > RING_STACK_MAX ? RING_STACK_MAX : depth;
	if (used) {
		c->depth = depth;
		c->head.frees = frees;
		return;
	}
	atomic_store(&c->head.busy, 1);
	c->chains = true;
	c->depth = depth;
	c->head.frees = frees;
	/* Else it is zeros, as new pages are and those that a fork has wiped. */
	if (!c->known) {
		walker_begin(&c->walker, atomic_load(&rules_generation));
		c->generation = c->walker.near.generation;
		c->known = true;
	}
	atomic_store(&c->head.busy, 0);
}

void
stack_cache_hand_on(struct stack_cache *c)
{
	memset(c->key, 0, sizeof(c->key));
	walker_hand_on(&c->walker);
	c->depth = 0;
}

struct stack_cache *
stack_cache_new(unsigned depth, bool frees)
{
	int saved = errno;
	struct stack_cache *c = call_mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (c != MAP_FAILED && call_madvise(c, sizeof(*c), MADV_WIPEONFORK) != 0) {
		call_munmap(c, sizeof(*c));
		c = MAP_FAILED;
	}
	errno = saved;
	if (c == MAP_FAILED)
		return NULL;
	stack_cache_renew(c, depth, frees);
	return c;
}

void
stack_cache_free(struct stack_cache *c)
{
	int saved = errno;

	if (c != NULL)
		call_munmap(c, sizeof(*c));
	errno = saved;
}

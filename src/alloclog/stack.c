/*
 * Recognising a stack.
 *
 * An event first looks at the one chain that its return address and stack
 * pointer lead to and verifies it, which costs a load and a comparison for
 * each slot.  When that fails it walks (walk.c), and looks the frames up among
 * those that this thread has met lately, by their hash and then in full; only
 * when they are not there either, sites_put() is asked.
 *
 * A handler that interrupts this finds the cache busy and walks by itself.
 * One that forks leaves the child a cache of zeros, and a generation that
 * what was under way does not have: nothing of it is kept.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "walk.h"

#define CHAINS 512		/* of a thread, a power of two */
#define CHAIN_SLOTS 40		/* longer chains are not kept */
#define MEMOS 8192		/* likewise */

/*
 * Chains are kept while at least half of the stacks are found among them, and
 * one of SPARSE otherwise; judged anew after so many walks.
 */
#define JUDGED 256
#define SPARSE 8

/*
 * A slot in one word: its distance from the stack pointer in words, 16 bits,
 * and what it held, 48: an address.
 */
typedef uint64_t slot;

struct chain {
	uintptr_t sp;		/* of the origin's caller; 0: empty */
	uintptr_t pc;
	uintptr_t rbp;
	uint32_t generation;
	uint32_t site;		/* 0: there was no room for one */
	uint16_t nslot;
	bool needs_rbp;		/* the register at the origin */
	slot slot[CHAIN_SLOTS];
};

/*
 * A stack met lately: its hash, and its site in place of the lowest bits.
 * With those that lead to the memo, 60 bits of a hash agree before two stacks
 * are taken for one: among a million stacks that happens in one program of
 * millions.
 */
typedef uint64_t memo;
#define MEMO_SITE ((uint64_t)RING_SITES - 1)

struct stack_cache {
	_Atomic uint32_t busy;
	uint32_t depth;
	uint32_t generation;
	bool frees;
	bool sparse;
	uint32_t hits;		/* since it was judged */
	uint32_t walks;
	struct walker walker;
	uint64_t frame[RING_STACK_MAX];
	memo memo[MEMOS];
	struct chain chain[CHAINS];
};

/* --- chains -------------------------------------------------------------- */

static inline struct chain *
chain_at(struct stack_cache *c, uintptr_t sp, uintptr_t pc)
{
	return &c->chain[((sp >> 4) ^ ((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 40)) %
	    CHAINS];
}

static inline bool
chain_verified(const struct chain *ch, uintptr_t sp, uintptr_t pc,
    uintptr_t rbp, uint32_t generation)
{
	if (ch->sp != sp || ch->pc != pc || ch->generation != generation ||
	    (ch->needs_rbp && ch->rbp != rbp))
		return false;
	for (unsigned i = 0; i < ch->nslot; i++) {
		slot s = ch->slot[i];

		if (mapped_peek(sp + (s >> 48) * sizeof(uintptr_t)) !=
		    (s & REC_ADDR_MASK))
			return false;
	}
	return true;
}

static bool
chain_slot(struct chain *ch, uintptr_t sp, uintptr_t at, uintptr_t held)
{
	uintptr_t words = (at - sp) / sizeof(uintptr_t);

	if (ch->nslot == CHAIN_SLOTS || words > 0xffff || held > REC_ADDR_MASK)
		return false;
	ch->slot[ch->nslot++] = (uint64_t)words << 48 | held;
	return true;
}

/* The slots of the step that led to this level. */
static bool
chain_level(struct chain *ch, uintptr_t sp, const struct level *l)
{
	return (l->via == 0 || chain_slot(ch, sp, l->via, l->sp)) &&
	    chain_slot(ch, sp, l->slot, l->pc) &&
	    (l->reload == 0 || !l->needs_rbp ||
		chain_slot(ch, sp, l->reload, l->rbp));
}

static void
chain_keep(struct stack_cache *c, const struct walk *k, unsigned depth,
    uint32_t site, uint32_t generation)
{
	const struct level *first = walk_level(k, 0);
	struct chain *ch = chain_at(c, first->sp, first->pc);

	ch->sp = 0;
	ch->nslot = 0;
	for (unsigned i = 1; i < depth; i++)
		if (!chain_level(ch, first->sp, walk_level(k, i)))
			return;
	ch->pc = first->pc;
	ch->rbp = first->rbp;
	ch->needs_rbp = first->needs_rbp;
	ch->site = site;
	ch->generation = generation;
	ch->sp = first->sp;
}

/* --- memos --------------------------------------------------------------- */

static uint32_t
site_of(struct stack_cache *c, const struct walk *k, unsigned depth,
    uint32_t generation)
{
	uint64_t hash = walk_hash(k, depth) +
	    generation * UINT64_C(0xa0761d6478bd642f);
	memo *m = &c->memo[hash * UINT64_C(0xe7037ed1a0b428db) >> 51];
	uint32_t site;

	if (((*m ^ hash) & ~MEMO_SITE) == 0 && (*m & MEMO_SITE) != 0)
		return (uint32_t)(*m & MEMO_SITE);
	for (unsigned i = 0; i < depth; i++)
		c->frame[i] = walk_level(k, i)->frame;
	site = sites_put(c->frame, depth, k->w->end);
	if (c->generation == generation && site != 0)
		*m = (hash & ~MEMO_SITE) | site;
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

/* True when a chain is worth keeping; once for each walk. */
static bool
judge(struct stack_cache *c)
{
	if (++c->walks % JUDGED == 0) {
		c->sparse = c->hits < JUDGED;
		c->hits = 0;
	}
	return !c->sparse || c->walks % SPARSE == 0;
}

/*
 * A stack that no chain was verified for.  When a handler has forked in the
 * middle of it, cache and generation are not those that it began with, and
 * nothing is kept.
 */
static __attribute__((noinline)) uint64_t
caller_walked(struct stack_cache *c, uintptr_t frame, uint32_t generation)
{
	struct walk k;
	unsigned depth;
	uint32_t site;

	if (c->generation != generation)
		cache_void(c, generation);
	sites_walked();
	depth = walker_walk(&c->walker, frame, c->depth, &k);
	site = site_of(c, &k, depth, generation);
	if (c->generation == generation) {
		if (judge(c))
			chain_keep(c, &k, depth, site, generation);
		walker_splice(&c->walker, &k);
	}
	return site != 0 ? rec_site_caller(site) :
	    mapped_peek(frame + sizeof(uintptr_t));
}

uint64_t
stack_walk(uintptr_t frame, unsigned depth)
{
	struct stack_frames s;
	uint32_t site;

	sites_walked();
	walk_plain(frame, depth, &s);
	site = sites_put(s.frame, s.depth, s.end);
	return site != 0 ? rec_site_caller(site) :
	    mapped_peek(frame + sizeof(uintptr_t));
}

uint64_t
stack_caller(struct stack_cache *c, uintptr_t frame)
{
	uintptr_t rbp = mapped_peek(frame), pc = mapped_peek(frame + sizeof(uintptr_t));
	uintptr_t sp = frame + 2 * sizeof(uintptr_t);
	uint32_t generation = atomic_load_explicit(&rules_generation,
	    memory_order_relaxed);
	const struct chain *ch = chain_at(c, sp, pc);
	uint64_t caller;

	if (__builtin_expect(atomic_load_explicit(&c->busy,
		memory_order_relaxed) != 0, 0))
		return stack_walk(frame, c->depth);
	atomic_store_explicit(&c->busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(chain_verified(ch, sp, pc, rbp, generation), 1)) {
		caller = ch->site != 0 ? rec_site_caller(ch->site) : pc;
		c->hits++;
	} else
		caller = caller_walked(c, frame, generation);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&c->busy, 0, memory_order_relaxed);
	return caller;
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
	atomic_store(&c->busy, 1);
	c->depth = depth == 0 ? 1 :
	    depth > RING_STACK_MAX ? RING_STACK_MAX : depth;
	c->frees = frees;
	/* The rest is zeros, as new pages are and those that a fork has wiped. */
	walker_begin(&c->walker, atomic_load(&rules_generation));
	c->generation = c->walker.near.generation;
	atomic_store(&c->busy, 0);
}

struct stack_cache *
stack_cache_new(unsigned depth, bool frees)
{
	int saved = errno;
	struct stack_cache *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (c != MAP_FAILED && madvise(c, sizeof(*c), MADV_WIPEONFORK) != 0) {
		munmap(c, sizeof(*c));
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
		munmap(c, sizeof(*c));
	errno = saved;
}

bool
stack_of_frees(const struct stack_cache *c)
{
	return c->frees;
}

/*
 * Walking: level by level, by the rules of the thread, one word each.  Each
 * level is looked up in the trail: from there on slots are only compared with
 * their former values, innermost first, up to the first that differs.
 *
 * A slot that agrees vouches for the place of the next: the return address
 * determines the rule, rule and registers the next slot.  If a rule uses rbp
 * its value is compared too, where the walk joined or where it was reloaded
 * since.
 */
#include <errno.h>
#include <string.h>

#include "walk.h"

#define WORD sizeof(uintptr_t)

/* Levels of w->fresh, then levels of the trail. */
struct walk {
	struct walker *w;
	unsigned n;		/* levels in w->fresh */
	unsigned join;		/* trail level that follows; TRAIL: none */
	unsigned verified;	/* levels from join on that hold */
};

static void
level_origin(struct level *l, uintptr_t frame)
{
	l->slot = frame + WORD;
	l->pc = mapped_peek(frame + WORD);
	l->rbp = mapped_peek(frame);
	l->reload = 0;
	l->flags = 0;
	l->sp = frame + 2 * WORD;
	l->via = 0;
}

/* Computes next->sp, the CFA; notes in *l if it depends on rbp. */
static enum ring_end
step_cfa(struct level *l, const struct cfi_rule *r, struct mapped *m,
    struct level *next)
{
	bool by_rbp = r->base == CFI_RBP || r->base == CFI_AT_RBP;
	uintptr_t at = (by_rbp ? l->rbp : l->sp) + (uintptr_t)(intptr_t)r->cfa;

	if (by_rbp && (l->flags & LEVEL_RBP_LOST) != 0)
		return RING_END_RULE;
	if (by_rbp || r->rbp == CFI_RBP_AT_RBP)
		l->flags |= LEVEL_USES_RBP;
	next->via = 0;
	next->sp = at;
	if (r->base == CFI_AT_RSP || r->base == CFI_AT_RBP) {
		next->via = at;
		if (!mapped_fetch(m, at, &next->sp))
			return RING_END_MEMORY;
	}
	return 0;
}

static enum ring_end
step_rbp(const struct level *l, const struct cfi_rule *r, struct mapped *m,
    struct level *next)
{
	uintptr_t from;

	next->rbp = l->rbp;
	next->flags = l->flags & LEVEL_RBP_LOST;
	next->reload = 0;
	switch (r->rbp) {
	case CFI_RBP_SAME:
		return 0;
	case CFI_RBP_AT_CFA:
		from = next->sp;
		break;
	case CFI_RBP_AT_RSP:
		from = l->sp;
		break;
	case CFI_RBP_AT_RBP:
		from = l->rbp;
		break;
	default:
		next->flags = LEVEL_RBP_LOST;
		return 0;
	}
	next->reload = from + (uintptr_t)(intptr_t)r->rbp_off;
	next->flags = 0;
	return mapped_fetch(m, next->reload, &next->rbp) ? 0 : RING_END_MEMORY;
}

/* To the caller: 0, or why not.  Only a signal frame leads to another stack. */
static enum ring_end
step_out(struct level *l, const struct cfi_rule *r, struct mapped *m,
    struct level *next)
{
	enum ring_end end;

	end = step_cfa(l, r, m, next);
	if (end != 0)
		return end;
	if (!r->signal && next->sp <= l->sp)
		return RING_END_STUCK;
	if (next->sp % WORD != 0)
		return RING_END_STUCK;
	next->slot = (r->ra_at_rsp ? l->sp : next->sp) +
	    (uintptr_t)(intptr_t)r->ra;
	if (!mapped_fetch(m, next->slot, &next->pc))
		return RING_END_MEMORY;
	end = step_rbp(l, r, m, next);
	if (end != 0)
		return end;
	if (r->signal)
		next->flags |= LEVEL_EXACT;
	if (next->via != 0 || next->sp != next->slot + WORD)
		next->flags |= LEVEL_FAR;
	if (next->pc == 0)
		return RING_END_OUTERMOST;
	/* No program has code there, and a frame could not hold it. */
	return (uint64_t)next->pc >> (REC_ADDR_BITS - 1) != 0 ? RING_END_STUCK : 0;
}

/* Sets the module; why this level is the last, or 0: *r leads on. */
static enum ring_end
level_rule(struct rules_near *near, struct level *l, struct rule *r)
{
	int rc = rules_find(near, l->pc, (l->flags & LEVEL_EXACT) != 0, r);

	l->flags &= LEVEL_EXACT | LEVEL_RBP_LOST | LEVEL_FAR;
	l->flags |= (uint64_t)r->module << LEVEL_MODULE;
	if (rc == -ENOENT)
		return RING_END_NO_TABLE;
	if (rc < 0)
		return RING_END_RULE;
	if (!r->cfi.outermost)
		return 0;
	l->flags |= LEVEL_OUTERMOST;
	return RING_END_OUTERMOST;
}

/* The long form: any memory, all slots of the step to trail level i. */
static bool
verified_more(struct walker *w, unsigned i)
{
	const struct level *l = &w->trail[i];
	struct mapped *m = &w->mapped;

	if (level_via(l) != 0 &&
	    !(mapped_has(m, l->via) && mapped_peek(l->via) == l->sp))
		return false;
	if (!mapped_has(m, l->slot) || mapped_peek(l->slot) != l->pc)
		return false;
	return l->reload == 0 || (l->flags & LEVEL_NEEDS_RBP) == 0 ||
	    (mapped_has(m, l->reload) && mapped_peek(l->reload) == l->rbp);
}

/* The most common extra slot: one reload, on the thread's own stack. */
static inline bool
verified_reload(const struct walker *w, unsigned i)
{
	const struct level *l = &w->trail[i];
	const struct mapped *m = &w->mapped;

	return (l->flags & LEVEL_FAR) == 0 && l->reload % WORD == 0 &&
	    l->reload - m->stack_lo < m->stack_hi - m->stack_lo &&
	    mapped_peek(l->reload) == l->rbp;
}

/* A word that is 0. */
static const uintptr_t mark_base;

/* The bits that are as before. */
static inline uintptr_t
mark_same(const struct mark *k)
{
	return *(const uintptr_t *)((uintptr_t)&mark_base + k->from) ^
	    k->not_pc;
}

static inline bool
mark_is_set(const struct mark *k)
{
	return (k->from | k->not_pc) != 0;
}

static inline void
mark_level(struct walker *w, unsigned at, const struct level *l)
{
	const struct mapped *m = &w->mapped;
	struct mark *k = &w->mark[at];

	w->at[at_of(l->slot)] = (uint8_t)at;
	w->more[at] = (uint8_t)(l->flags & LEVEL_MORE);
	k->from = l->slot - (uintptr_t)&mark_base;
	k->not_pc = ~l->pc;
	if (__builtin_expect(l->slot - m->stack_lo >= m->stack_hi - m->stack_lo, 0))
		k->from = k->not_pc = 0;
}

static inline unsigned
marks_run(const struct walker *w, unsigned at, unsigned count)
{
	const struct mark *first = &w->mark[at], *k = first;
	const struct mark *end = first + count;

	/* In rounds: where a stack differs cannot be predicted. */
	for (; k < end; k += MARK_ROUND) {
		uintptr_t same = mark_same(&k[0]) & mark_same(&k[1]);

		same &= mark_same(&k[2]) & mark_same(&k[3]);
		if (same != ~(uintptr_t)0)
			break;
	}
	while (k < end && mark_same(k) == ~(uintptr_t)0)
		k++;
	return k < end ? (unsigned)(k - first) : count;
}

static inline unsigned
more_next(const struct walker *w, unsigned at, unsigned end)
{
	for (; at < end; at += MORE_ROUND) {
		uint64_t some = *(const mores *)&w->more[at];

		if (some != 0) {
			at += (unsigned)__builtin_ctzll(some) / 8;
			break;
		}
	}
	return at < end ? at : end;
}

static unsigned
verified_run(struct walker *w, unsigned at, unsigned count)
{
	unsigned n = 0;

	for (;;) {
		unsigned end = at + n + marks_run(w, at + n, count - n);

		for (unsigned i = more_next(w, at + n, end); i < end;
		    i = more_next(w, i + 1, end))
			if (!verified_reload(w, i) && !verified_more(w, i))
				return i - at;
		n = end - at;
		/* A level of another stack has no mark. */
		if (n >= count || mark_is_set(&w->mark[end]) ||
		    !verified_more(w, end))
			return n;
		n++;
	}
}

/* The trail level that *l is; TRAIL: none. */
static inline unsigned
joins(const struct walker *w, const struct level *l)
{
	unsigned i = w->at[at_of(l->slot)];
	const struct level *t = &w->trail[i];

	if (i < w->trail_at || t->slot != l->slot || t->pc != l->pc ||
	    ((t->flags ^ l->flags) & LEVEL_EXACT) != 0)
		return TRAIL;
	if (((t->flags | l->flags) & LEVEL_FAR) != 0 &&
	    level_sp(t) != level_sp(l))
		return TRAIL;
	if ((t->flags & LEVEL_NEEDS_RBP) != 0 &&
	    (l->rbp != t->rbp || (l->flags & LEVEL_RBP_LOST) != 0))
		return TRAIL;
	return i;
}

#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t
mixed(uint64_t x)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)
	    (x ^ UINT64_C(0xa0761d6478bd642f)) * UINT64_C(0xe7037ed1a0b428db);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
#endif
}

/* FACTOR to the power of n. */
static uint64_t
power(unsigned n)
{
	uint64_t p = 1, f = FACTOR;

	for (; n > 0; n >>= 1, f *= f)
		if (n & 1)
			p *= f;
	return p;
}

/* Adds the flags about rbp.  *needs: do the levels outside, and this one? */
static inline uint64_t
level_flags(const struct level *l, bool *needs)
{
	uint64_t flags = l->flags &
	    ~(uint64_t)(LEVEL_NEEDS_RBP | LEVEL_MORE);
	bool reloads = l->reload != 0;

	if (*needs || (flags & LEVEL_USES_RBP) != 0) {
		flags |= LEVEL_NEEDS_RBP | (reloads ? LEVEL_MORE : 0);
		*needs = !reloads;
	}
	return level_via(l) != 0 ? flags | LEVEL_MORE : flags;
}

/* Word by word: a wide load of words just stored would wait for the cache. */
static inline void
level_copy(struct level *to, const struct level *l)
{
	to->rbp = mapped_peek((uintptr_t)&l->rbp);
	to->reload = mapped_peek((uintptr_t)&l->reload);
	if (__builtin_expect((l->flags & LEVEL_FAR) != 0, 0)) {
		to->sp = l->sp;
		to->via = l->via;
	}
}

/* Needs rbp of the level inside. */
static inline bool
asks_rbp(const struct level *l)
{
	return (l->flags & LEVEL_NEEDS_RBP) != 0 && l->reload == 0;
}

static void
trail_take(struct walk *k, const struct level *l, unsigned count)
{
	struct walker *w = k->w;
	const struct level *t = &w->trail[k->join];
	uintptr_t rbp = l->rbp;
	bool lost = (l->flags & LEVEL_RBP_LOST) != 0;

	for (unsigned i = 0; i < count; i++) {
		struct level *f = &w->fresh[k->n + i];

		*f = t[i];
		if (i > 0 && f->reload != 0)
			lost = !mapped_fetch(&w->mapped, f->reload, &rbp);
		else if (i > 0 && (f->flags & LEVEL_RBP_LOST) != 0)
			lost = true;
		f->sum = mixed(level_frame(f));
		f->sp = level_sp(f);
		f->rbp = rbp;
		f->flags &= ~(uint64_t)LEVEL_RBP_LOST;
		if (lost)
			f->flags |= LEVEL_RBP_LOST;
	}
	k->n += count - 1;
}

/*
 * The walk stands at fresh[k->n], which is trail level k->join, and has `want`
 * levels to go.  Verifies outwards; false: the stack goes on differently behind
 * fresh[k->n].
 */
static inline bool
trail_follow(struct walk *k, unsigned want)
{
	struct walker *w = k->w;
	const struct level *l = &w->fresh[k->n];
	struct level *t = &w->trail[k->join];
	unsigned most = TRAIL - k->join, i;
	uint64_t flags;

	/* The way in is the walk's, the way on the trail's. */
	level_copy(t, l);
	flags = (t->flags & ~(uint64_t)(LEVEL_RBP_LOST | LEVEL_MORE | LEVEL_FAR)) |
	    (l->flags & (LEVEL_RBP_LOST | LEVEL_FAR));
	if (level_via(l) != 0 ||
	    (l->reload != 0 && (flags & LEVEL_NEEDS_RBP) != 0))
		flags |= LEVEL_MORE;
	t->flags = flags;
	w->more[k->join] = (uint8_t)(flags & LEVEL_MORE);
	i = 1 + verified_run(w, k->join + 1, (want < most ? want : most) - 1);
	k->verified = i;
	if ((t[i - 1].flags & LEVEL_OUTERMOST) != 0) {
		w->end = RING_END_OUTERMOST;
		return true;
	}
	w->end = RING_END_DEPTH;
	if (i == want)
		return true;
	trail_take(k, l, i);
	return false;
}

/* `depth` levels from trail level `first` on, whose sum is given. */
static inline uint64_t
hash_of(struct walker *w, uint64_t sum, unsigned depth, unsigned first,
    enum ring_end end)
{
	if (__builtin_expect(w->power_of != depth, 0)) {
		w->power_of = depth;
		w->power = power(depth);
	}
	if (depth < TRAIL - first)
		sum -= w->trail[first + depth].sum * w->power;
	return sum + mixed((uint64_t)w->near.generation << 16 |
	    (uint64_t)end << 8 | depth);
}

/* Prefetches the memo of the stack in case all of the trail holds. */
static inline void
memo_soon(struct walker *w, unsigned depth, unsigned n, unsigned join,
    uint64_t sum)
{
	unsigned all = n + TRAIL - join;
	uint64_t hash = hash_of(w, sum, all < depth ? all : depth, join - n,
	    all < depth ? RING_END_OUTERMOST : RING_END_DEPTH);

	__builtin_prefetch(walker_memo(w, hash));
}

/* The rule may be near, and rbp is known. */
static inline bool
is_near(const struct walker *w, const struct level *l)
{
	const struct mapped *m = &w->mapped;

	return w->far_left == 0 &&
	    l->sp - m->stack_lo < m->stack_hi - m->stack_lo &&
	    l->sp % WORD == 0 && near_may(l->pc) &&
	    (l->flags & (LEVEL_EXACT | LEVEL_RBP_LOST)) == 0;
}

/*
 * From fresh[k->n] outwards by near rules, until the walk joins the trail at
 * k->join, a rule is missing, or the last level.
 *
 * The same steps as level_rule() and step_out(), from as few words as possible.
 * Reads only between the level's sp and the end of the thread's own stack, and
 * leaves everything unusual to them.
 */
static inline void
walk_near(struct walk *k, unsigned depth)
{
	struct walker *w = k->w;
	struct level *l = &w->fresh[k->n];
	const struct level *last = &w->fresh[depth - 1];
	const uintptr_t stack_hi = w->mapped.stack_hi;
	uintptr_t sp = l->sp, pc = l->pc, rbp = l->rbp;
	uint64_t sum = 0, factor = 1;
	unsigned join = TRAIL;

	while (l < last && join == TRAIL) {
		uint64_t rule = rules_near(&w->near, pc);
		uintptr_t below = near_rbp(rule), up = near_cfa(rule), kept;
		uint64_t uses = 0, module;

		if (__builtin_expect(!near_leads(rule), 0))
			break;
		if ((rule & NEAR_BY_RBP) != 0) {
			up += rbp - sp;
			if (up == 0 || up < below || up % WORD != 0)
				break;
			uses = LEVEL_USES_RBP;
		}
		if (__builtin_expect(up > stack_hi - sp, 0))
			break;
		pc = mapped_peek(sp + up - WORD);
		if (__builtin_expect(!near_may(pc), 0))
			break;
		sp += up;
		module = (rule & NEAR_MODULE) << LEVEL_MODULE;
		l->flags = (l->flags & LEVEL_FAR) | uses | module;
		l->sum = mixed(l->pc | module);
		sum += l->sum * factor;
		factor *= FACTOR;
		/* No branch, for it cannot be predicted if rbp is saved. */
		kept = -(uintptr_t)(below != 0);
		__asm__("" : "+r"(kept));
		rbp ^= (rbp ^ mapped_peek(sp - WORD -
		    ((below - WORD) & kept))) & kept;
		l++;
		l->slot = sp - WORD;
		l->pc = pc;
		l->rbp = rbp;
		l->reload = (sp - below) & kept;
		l->flags = 0;
		join = joins(w, l);
	}
	l->sp = sp;
	if (k->n == 0 && join < TRAIL)
		memo_soon(w, depth, (unsigned)(l - w->fresh), join,
		    sum + w->trail[join].sum * factor);
	k->n = (unsigned)(l - w->fresh);
	k->join = join;
}

/* One step by the table of rules: 0, or why not. */
static __attribute__((noinline)) enum ring_end
walk_far(struct walk *k, unsigned depth)
{
	struct walker *w = k->w;
	struct level *l = &w->fresh[k->n++];
	enum ring_end end;
	struct rule r;

	end = level_rule(w->far_left == 0 ? &w->near : NULL, l, &r);
	l->sum = mixed(level_frame(l));
	if (end != 0)
		return end;
	if (k->n >= depth)
		return RING_END_DEPTH;
	return step_out(l, &r.cfi, &w->mapped, l + 1);
}

/* The first level is not looked up: stacks differ in it or in the second. */
static void
walk_levels(struct walk *k, uintptr_t frame, unsigned depth)
{
	struct walker *w = k->w;

	level_origin(&w->fresh[0], frame);
	for (;;) {
		k->join = TRAIL;
		if (is_near(w, &w->fresh[k->n]))
			walk_near(k, depth);
		if (__builtin_expect(k->join == TRAIL, 0)) {
			w->end = walk_far(k, depth);
			if (w->end != 0)
				return;
			k->join = joins(w, &w->fresh[k->n]);
			if (k->join == TRAIL)
				continue;
		}
		if (trail_follow(k, depth - k->n))
			return;
	}
}

/* Drops the outermost levels, also from the sums: there is no room inside. */
static __attribute__((noinline)) unsigned
trail_make_room(struct walker *w, unsigned join)
{
	unsigned keep = TRAIL - join < TRAIL / 2 ? TRAIL - join : TRAIL / 2;
	unsigned first = TRAIL - keep;
	bool needs = false;
	uint64_t sum = 0;

	memmove(&w->trail[first], &w->trail[join], keep * sizeof(w->trail[0]));
	for (unsigned i = TRAIL; i-- > first;) {
		struct level *t = &w->trail[i];

		t->flags = level_flags(t, &needs);
		t->sum = sum = sum * FACTOR + mixed(level_frame(t));
		mark_level(w, i, t);
	}
	return first;
}

/* The walk becomes the innermost part of the trail. */
static inline void
splice(struct walker *w, unsigned n, unsigned join)
{
	bool needs = false;
	uint64_t sum = 0;

	if (join < TRAIL && n > join)
		join = trail_make_room(w, join);
	if (join < TRAIL) {
		needs = asks_rbp(&w->trail[join]);
		sum = w->trail[join].sum;
	}
	w->trail_at = join - n;
	while (n > 0) {
		const struct level *l = &w->fresh[--n];
		struct level *t = &w->trail[--join];

		sum = sum * FACTOR + l->sum;
		t->sum = sum;
		t->flags = level_flags(l, &needs);
		t->slot = l->slot;
		t->pc = l->pc;
		level_copy(t, l);
		mark_level(w, join, t);
	}
}

unsigned
walker_walk(struct walker *w, uintptr_t frame, unsigned depth,
    uint32_t generation, uint64_t *hash)
{
	struct walk k = { .w = w, .join = TRAIL };

	if (__builtin_expect(depth == 0, 0))
		depth = 1;
	mapped_begin(&w->mapped, frame);
	walk_levels(&k, frame, depth);
	if (__builtin_expect(w->far_left != 0, 0))
		w->far_left--;
	if (w->near.generation != generation)
		return 0;
	depth = k.n + (k.join < TRAIL ? k.verified : 0);
	splice(w, k.n, k.join);
	*hash = hash_of(w, walker_level(w, 0)->sum, depth, w->trail_at,
	    w->end);
	return depth;
}

void
walker_begin(struct walker *w, uint32_t generation, uint32_t far)
{
	w->far_left = far;
	w->trail_at = TRAIL;
	w->near.generation = generation;
	w->memo_sets = MEMO_SETS_FIRST - 1;
}

void
walker_void(struct walker *w, uint32_t generation)
{
	rules_near_void(&w->near, generation);
	w->trail_at = TRAIL;
	w->mapped = (struct mapped) { 0 };
}

void
walk_plain(uintptr_t frame, unsigned depth, struct stack_frames *out)
{
	struct mapped mapped = { 0 };
	struct level l, next;
	struct rule r;

	mapped_begin(&mapped, frame);
	level_origin(&l, frame);
	for (out->depth = 0;;) {
		out->end = level_rule(NULL, &l, &r);
		out->frame[out->depth++] = level_frame(&l);
		if (out->end != 0)
			return;
		out->end = RING_END_DEPTH;
		if (out->depth >= depth)
			return;
		out->end = step_out(&l, &r.cfi, &mapped, &next);
		if (out->end != 0)
			return;
		l = next;
	}
}

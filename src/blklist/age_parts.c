/*
 * Putting positions into the order of age in parts, while blocks come and go.
 *
 * A position is never given twice in the meantime: the old ones, all in the
 * first area, are only left, and what comes takes positions in the second one.
 * So an old position that is still live is the same block's as when it was
 * looked at, and of one that is not nothing has to be done any more.  Every
 * record says where it is, in whichever area: at any moment all that is said
 * of positions is true of these, but for their order.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "age_mend.h"

#define LOOKS 8			/* at each block, all in all; at the most */
#define FETCH_ORD (2 * AGE_AHEAD)
#define RELEASE (UINT32_C(1) << 16)	/* keys whose memory is given back together */

enum step {
	STEP_HOME,		/* ends the sweep out of the second area */
	STEP_COLLECT,
	STEP_SORT,
	STEP_PLACE,
};

struct age_parts {
	enum step step;
	uint64_t key_mask;
	uint32_t old;		/* positions before this one are old ... */
	uint32_t old_taken;	/* ... and memory was taken for so many */
	uint32_t old_runs;
	uint32_t room;		/* blocks that are placed, at most */
	uint32_t at;		/* old position, then key, that comes next */
	uint32_t run;		/* of `at` */
	uint32_t same;		/* keys before this one are in order altogether */
	uint32_t to;		/* position that comes next */
	uint32_t to_runs;	/* behind those of old positions */
	struct age_sort sort;
};

void
age_parts_drop(struct age *a)
{
	struct age_parts *p = a->parts;

	if (p == NULL)
		return;
	/* What has come since is as a rule behind none of the rest. */
	if (p->step > STEP_HOME)
		a->mixed = true;
	age_sort_fini(&p->sort, p->room);
	free(p);
	a->parts = NULL;
}

size_t
age_parts_memory(const struct age *a)
{
	const struct age_parts *p = a->parts;

	return p == NULL ? 0 : sizeof(*p) +
	    (size_t)p->room * 2 * sizeof(struct age_key);
}

/*
 * A sweep out of the second area needs room for an eighth of what it passes.
 * If blocks come so fast that there may be none, all is done at once.
 */
bool
age_parts_pass(struct age *a, struct store_node *node)
{
	const struct age_parts *p = a->parts;

	if (p->step == STEP_HOME)
		return false;
	if (a->next - a->cap > a->cap / 4 * 3)
		age_mend(a, node, p->key_mask);
	return true;
}

/*
 * Whether it is worth it, and there is room for the runs: in the second area at
 * most each position that age_parts_pass() allows begins one.
 */
static bool
begin(struct age *a, uint64_t key_mask, uint32_t work)
{
	if (a->kept != NULL || a->live <= work / LOOKS ||
	    a->nruns > a->cap / 4 - 2 * AGE_STEP)
		return false;
	a->parts = calloc(1, sizeof(*a->parts));
	if (a->parts == NULL)
		return false;
	a->parts->key_mask = key_mask;
	return true;
}

/* From here on positions are taken in the second area. */
static bool
leave_old(struct age *a, struct age_parts *p)
{
	struct age_run *r = &a->run[a->nruns];

	if (age_sort_init(&p->sort, a->live) < 0)
		return false;
	p->room = a->live;
	p->old = a->next;
	p->old_taken = age_taken(a);
	p->old_runs = a->nruns++;
	p->to = a->cap;
	*r = r[-1];
	r->first = a->cap + p->room;
	a->sweeping = false;
	a->mixed = false;
	a->next = a->seen = a->top = r->first;
	a->ready = (a->next + AGE_READY_GRAIN) & ~(AGE_READY_GRAIN - 1);
	p->step = STEP_COLLECT;
	return true;
}

static void
collect_word(const struct age *a, struct age_parts *p,
    const struct store_node *node)
{
	if (p->at + 64 < p->old)
		age_fetch_word(a, node, p->at + 64);
	for (uint64_t w = a->bits[p->at >> 6]; w != 0; w &= w - 1) {
		uint32_t pos = p->at + (uint32_t)__builtin_ctzll(w);

		while (p->run + 1 < p->old_runs &&
		    a->run[p->run + 1].first <= pos)
			p->run++;
		age_sort_add(&p->sort, (int64_t)
		    ((uint64_t)a->run[p->run].seq_high << 32 |
		    node[a->ord[pos]].seq), pos);
	}
	p->at += 64;
}

/* --- places --------------------------------------------------------------- */

struct same {
	const struct age *a;
	const struct store_node *node;
	uint64_t key_mask;
};

/* What has gone meanwhile is anywhere among them. */
static int
compare_same(const void *va, const void *vb, void *arg)
{
	const struct age_key *a = va, *b = vb;
	const struct same *s = arg;
	uint64_t ka = s->node[s->a->ord[a->which]].w[0] & s->key_mask;
	uint64_t kb = s->node[s->a->ord[b->which]].w[0] & s->key_mask;

	return ka < kb ? -1 : ka > kb;
}

/* Keys with the number of this one, of which there is one in an honest stream. */
static void
order_same(const struct age *a, struct age_parts *p,
    const struct store_node *node)
{
	struct same s = { a, node, p->key_mask };
	const struct age_key *key = p->sort.key;
	uint32_t end = p->at + 1;

	while (end < p->sort.n &&
	    age_key_value(&key[end]) == age_key_value(&key[p->at]))
		end++;
	if (end - p->at > 1)
		qsort_r(&p->sort.key[p->at], end - p->at, sizeof(*key),
		    compare_same, &s);
	p->same = end;
}

/* The run that the next place is in has this number and time. */
static void
run_of_place(struct age *a, struct age_parts *p, uint64_t seq, int64_t ms)
{
	struct age_run *r = &a->run[p->old_runs + p->to_runs];

	if (p->to_runs > 0 && age_run_takes(r - 1, seq, ms))
		return;
	/* As a rule that of what has come since. */
	memmove(r + 1, r, (a->nruns++ - p->old_runs - p->to_runs++) *
	    sizeof(*r));
	if (!age_run_takes(r, seq, ms)) {
		r->seq_high = (uint32_t)(seq >> 32);
		r->ms_base = (int64_t)((uint64_t)ms - (UINT64_C(1) << 31));
	}
	r->first = p->to;
}

static void
place_next(struct age *a, struct age_parts *p, struct store_node *node)
{
	const struct age_key *key = p->sort.key;
	uint32_t at = p->at++, pos = key[at].which, index = a->ord[pos];
	struct store_node *n = &node[index];

	if (at + FETCH_ORD < p->sort.n)
		__builtin_prefetch(&a->ord[key[at + FETCH_ORD].which]);
	if (at + AGE_AHEAD < p->sort.n)
		__builtin_prefetch(
		    &node[a->ord[key[at + AGE_AHEAD].which]].pos, 1);
	if (p->at % RELEASE == 0)
		age_sort_release(&p->sort, p->at - RELEASE, p->at);
	if (!age_is_live(a, pos))
		return;
	run_of_place(a, p, age_seq(a, n), age_ms(a, n));
	a->ord[p->to] = index;
	age_unset(a, pos);
	age_set(a, p->to);
	store_set_pos(n, p->to++);
}

/* Nothing is in the first area any more; a sweep brings all back to it. */
static void
end(struct age *a, struct age_parts *p)
{
	struct age_run *to = a->run, *from = to + p->old_runs;
	uint32_t n = a->nruns - p->old_runs;

	for (uint32_t i = 0; i < n; i++)
		if (to == a->run || to[-1].seq_high != from[i].seq_high ||
		    to[-1].ms_base != from[i].ms_base)
			*to++ = from[i];
	a->nruns = (uint32_t)(to - a->run);
	list_release(a->ord, a->ord + p->old_taken);
	list_release(a->bits, a->bits + (p->old_taken >> 6));
	a->sweeping = true;
	a->from = a->cap;
	a->to = 0;
	a->run_from = 0;
	age_sort_fini(&p->sort, p->room);
	free(p);
	a->parts = NULL;
}

/* --- parts ---------------------------------------------------------------- */

/* One look at a word or a key, of `work`; false if it cannot be done in parts. */
static bool
one_step(struct age *a, struct age_parts *p, struct store_node *node,
    uint32_t *work)
{
	uint32_t cost = 0;

	switch (p->step) {
	case STEP_HOME:
		if (a->next < a->cap)
			return leave_old(a, p);
		assert(a->sweeping);
		age_sweep(a, node);
		cost = 64;
		break;
	case STEP_COLLECT:
		if (p->at >= p->old) {
			p->at = 0;
			p->step = STEP_SORT;
			break;
		}
		collect_word(a, p, node);
		cost = 64;
		break;
	case STEP_SORT:
		if (age_sort_step(&p->sort, work))
			p->step = STEP_PLACE;
		break;
	case STEP_PLACE:
		if (p->at >= p->same)
			order_same(a, p, node);
		place_next(a, p, node);
		cost = 2;
		break;
	}
	*work -= cost < *work ? cost : *work;
	return true;
}

bool
age_mend_part(struct age *a, struct store_node *node, uint64_t key_mask,
    uint32_t work)
{
	struct age_parts *p;

	if (!age_is_mixed(a))
		return true;
	if (work == 0)
		return false;
	if (a->parts == NULL && !begin(a, key_mask, work)) {
		age_mend(a, node, key_mask);
		return true;
	}
	p = a->parts;
	while (work > 0) {
		if (p->step == STEP_PLACE && p->at >= p->sort.n) {
			end(a, p);
			/* Unless others have come out of order. */
			return !a->mixed;
		}
		if (!one_step(a, p, node, &work)) {
			age_mend(a, node, key_mask);
			return true;
		}
	}
	return false;
}

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "age.h"
#include "regions.h"

#define AGE_AHEAD 16		/* records fetched ahead */
#define AGE_PREFAULT_GRAIN UINT32_C(1024)	/* a page of ord[] */

struct age_entry {
	int64_t seq;
	int64_t ms;
	uint32_t index;
};

struct age_keys {
	const struct store_node *node;
	uint64_t mask;
};

#define AGE_RUNS_JOURNAL 2u

static inline size_t
age_chunks(const struct age *a)
{
	return a->end >> AGE_CHUNK_SHIFT;
}

static inline __attribute__((always_inline)) void
age_fetch_word(const struct age *a, const struct store_node *node,
    uint32_t from)
{
	for (uint64_t w = a->bits[from >> 6]; w != 0; w &= w - 1)
		__builtin_prefetch(&node[a->ord[from +
		    (uint32_t)__builtin_ctzll(w)]].pos, 1);
}

static void age_parts_drop(struct age *);
static bool age_parts_pass(struct age *, struct store_node *);
static size_t age_parts_memory(const struct age *);

/* Pages go back when so many are above four times the positions in use. */
#define RELEASE_SLACK 65536

static size_t
ord_bytes(const struct age *a)
{
	return (size_t)a->end * sizeof(*a->ord);
}

/* One mapping for three tables: unmapping is dear for a short program. */
static size_t
tables_bytes(const struct age *a, size_t *bits, size_t *chunk)
{
	*bits = zeros_pages(ord_bytes(a));
	*chunk = *bits + zeros_pages(a->end / 8);
	return *chunk + age_chunks(a) * sizeof(*a->chunk);
}

static int
map_tables(struct age *a)
{
	size_t bits, chunk, bytes = tables_bytes(a, &bits, &chunk);
	char *p = list_map(bytes);

	if (p == NULL)
		return -ENOMEM;
	a->ord = (void *)p;
	a->bits = (void *)(p + bits);
	a->chunk = (void *)(p + chunk);
	return 0;
}

static void
unmap_tables(struct age *a)
{
	size_t bits, chunk;

	list_unmap(a->ord, tables_bytes(a, &bits, &chunk));
}

/* At the worst each position has a run of its own. */
static size_t
runs_bytes(const struct age *a)
{
	return (size_t)a->cap * sizeof(struct age_run);
}

/* Stores which runs of a persistent list count, how many, or the journal. */
static void
set_runs(struct age *a, unsigned which, uint32_t n)
{
	if (a->persistent == NULL)
		return;
	list_in_order();
	a->persistent->runs = (uint64_t)which << 32 | n;
	list_in_order();
}

static void
set_nruns(struct age *a)
{
	if (!a->restoring)
		set_runs(a, a->copy, a->nruns);
}

/* Where a new table of runs is written: in place unless it is persistent. */
static struct age_run *
other_runs(const struct age *a)
{
	if (a->persistent == NULL)
		return a->run;
	return a->runs + (a->copy ^ 1) * (size_t)a->cap;
}

static void
use_other_runs(struct age *a, uint32_t n)
{
	a->run = other_runs(a);
	a->copy ^= a->persistent != NULL;
	a->nruns = n;
	set_nruns(a);
}

static int
take_persistent(struct age *a, size_t max)
{
	a->runs = pmem_take(a->memory, 2 * runs_bytes(a));
	a->journal = pmem_take(a->memory, max * sizeof(*a->journal));
	if (a->runs == NULL || a->journal == NULL)
		return -ENOMEM;
	a->run = a->runs;
	return 0;
}

/*
 * A sweep begins with at most 11/8 of max and AGE_SLACK positions, leaves fewer
 * than it began with (begin_sweep()), and passes eight while one more is taken:
 * twice as many are always enough.
 */
int
age_init(struct age *a, const struct blklist *l)
{
	uint32_t max = l->counts.aRecMax;
	uint64_t cap = 2 * ((uint64_t)max + AGE_SLACK);

	cap = (cap + AGE_CHUNK - 1) & ~(uint64_t)(AGE_CHUNK - 1);
	*a = (struct age){ .cap = (uint32_t)cap, .newest = INT64_MIN,
		.end = (uint32_t)(l->memory != NULL ? cap : 2 * cap),
		.memory = l->memory, .persistent = l->persistent };
	if (map_tables(a) != 0)
		return -ENOMEM;
	if (a->memory != NULL)
		(void)take_persistent(a, max);
	else
		a->run = list_map(runs_bytes(a));
	if (a->run == NULL) {
		age_fini(a);
		return -ENOMEM;
	}
	a->nruns = 1;
	a->present = AGE_PREFAULT_GRAIN;
	if (a->persistent != NULL && a->persistent->runs == 0)
		set_nruns(a);
	return 0;
}

void
age_fini(struct age *a)
{
	if (a->parts != NULL)
		age_parts_drop(a);
	unmap_tables(a);
	if (a->memory == NULL)
		list_unmap(a->run, runs_bytes(a));
}

static uint32_t
age_taken(const struct age *a)
{
	uint32_t top = a->next > a->top ? a->next : a->top;

	return a->present > top ? a->present : top;
}

void
age_prefault(struct age *a)
{
	uint32_t from = a->present > a->next ? a->present : a->next;

	/* No huge pages: it is written and read in order. */
	a->present = (uint32_t)(list_prefault(a->ord, ord_bytes(a), SIZE_MAX,
	    (size_t)from * sizeof(*a->ord), false) / sizeof(*a->ord));
}

bool
age_prefault_ahead(struct age *a)
{
	uint32_t grown = a->next > a->seen ? a->next - a->seen : 0;
	uint64_t early = list_prefault_margin(a->present * sizeof(*a->ord)) /
	    sizeof(*a->ord);

	a->seen = a->next;
	if (early < 2 * (uint64_t)grown)
		early = 2 * (uint64_t)grown;
	if (grown == 0 || a->present >= a->end || a->present > a->next + early)
		return false;
	age_prefault(a);
	return true;
}

static void
age_release(struct age *a)
{
	if (a->next > a->top)
		a->top = a->next;
	if (a->top < a->cap && a->top / 4 < a->next + RELEASE_SLACK / 4)
		return;
	list_release(a->ord + a->next, a->ord + age_taken(a));
	a->present = (a->next + AGE_PREFAULT_GRAIN) & ~(AGE_PREFAULT_GRAIN - 1);
	list_release(a->bits + (a->next >> 6) + 1, a->bits + (a->top >> 6));
	a->top = a->next;
}

void
age_begin_run(struct age *a, uint64_t seq, int64_t ms)
{
	uint32_t n = a->nruns + (a->run[a->nruns - 1].first < a->next);

	/* It replaces the last one if no position is in that. */
	a->run[n - 1] = (struct age_run){
		.first = a->next,
		.seq_high = (uint32_t)(seq >> 32),
		/* Earlier times may follow. */
		.ms_base = (int64_t)((uint64_t)ms - (UINT64_C(1) << 31)),
	};
	a->nruns = n;
	set_nruns(a);
}

const struct age_run *
age_earlier_run(const struct age *a, uint32_t pos)
{
	uint32_t low = 0, high = a->nruns - 1;

	while (low < high) {
		uint32_t half = low + (high - low + 1) / 2;

		if (a->run[half].first <= pos)
			low = half;
		else
			high = half - 1;
	}
	return &a->run[low];
}

/* No position is taken: leaves the last run, which probably goes on. */
static void
age_drop_runs(struct age *a)
{
	struct age_run *to;

	if (a->nruns > 1) {
		to = other_runs(a);
		to[0] = a->run[a->nruns - 1];
		to[0].first = 0;
		use_other_runs(a, 1);
	} else
		a->run[0].first = 0;
}

/* The sweep has come to `from`, which moves to `to`. */
static void
move_runs(struct age *a, uint32_t from)
{
	/* After the positions before it have moved. */
	list_in_order();
	while (a->run_from < a->nruns && a->run[a->run_from].first <= from)
		a->run[a->run_from++].first = a->to;
}

static void
close_runs(struct age *a)
{
	struct age_run *to = other_runs(a);
	uint32_t n = 0, i;

	for (i = 1; i < a->nruns; i++)
		if (a->run[i - 1].first >= a->run[i].first)
			break;
	if (i >= a->nruns)
		return;
	for (i = 0; i < a->nruns; i++)
		if (i + 1 == a->nruns || a->run[i].first < a->run[i + 1].first)
			to[n++] = a->run[i];
	use_other_runs(a, n);
}

void
age_restart(struct age *a)
{
	if (a->parts != NULL)
		age_parts_drop(a);
	if (a->next > a->top)
		a->top = a->next;
	a->next = 0;
	a->sweeping = false;
	a->unsorted = false;
	a->newest = INT64_MIN;
	age_drop_runs(a);
	age_release(a);
}

void
age_clear(struct age *a)
{
	if (a->parts != NULL)
		age_parts_drop(a);
	list_zero(a->ord, ord_bytes(a));
	list_zero(a->bits, a->end / 8);
	list_zero(a->chunk, age_chunks(a) * sizeof(*a->chunk));
	a->live = a->next = a->top = 0;
	a->present = AGE_PREFAULT_GRAIN;
	age_restart(a);
}

static void
move_down(struct age *a, struct store_node *node, uint32_t pos)
{
	uint32_t index = a->ord[pos];

	if (pos != a->to) {
		age_unset(a, pos);
		age_set(a, a->to);
		a->ord[a->to] = index;
		store_set_pos(&node[index], a->to);
	}
	a->to++;
}

/*
 * Begins where a sweep moves the fewest blocks for each position that it wins,
 * and wins at least a quarter of all.  There are 3/8 as many empty positions as
 * live ones, so it moves at most 8/3 for each; little more than half a position
 * is taken meanwhile.
 */
static void
begin_sweep(struct age *a)
{
	uint32_t last = (a->next - 1) >> AGE_CHUNK_SHIFT, begin = 0;
	uint64_t live = 0, best_live = a->live;
	uint64_t best_won = a->next - a->live, least = best_won / 4;

	for (uint32_t c = last; c > 0; c--) {
		uint64_t won;

		live += a->chunk[c];
		won = a->next - (c << AGE_CHUNK_SHIFT) - live;
		if (won >= least && live * best_won <= best_live * won) {
			best_live = live;
			best_won = won;
			begin = c << AGE_CHUNK_SHIFT;
		}
	}
	a->sweeping = true;
	a->from = a->to = begin;
	for (a->run_from = 0; a->run_from < a->nruns &&
	    a->run[a->run_from].first < begin; a->run_from++)
		continue;
}

static void
sweep_word(struct age *a, struct store_node *node, uint32_t from)
{
	bool runs = a->run_from < a->nruns &&
	    a->run[a->run_from].first < from + 64;

	for (uint64_t w = a->bits[from >> 6]; w != 0; w &= w - 1) {
		uint32_t pos = from + (uint32_t)__builtin_ctzll(w);

		if (__builtin_expect(runs, 0))
			move_runs(a, pos);
		move_down(a, node, pos);
	}
	if (__builtin_expect(runs, 0))
		move_runs(a, from + 63);
}

/* The last word, where positions are still being taken, ends the sweep. */
void
age_sweep(struct age *a, struct store_node *node)
{
	if (a->parts != NULL && age_parts_pass(a, node))
		return;
	if (!a->sweeping)
		begin_sweep(a);
	sweep_word(a, node, a->from);
	a->from += 64;
	if (a->from < a->next) {
		age_fetch_word(a, node, a->from);
		return;
	}
	if (a->next > a->top)
		a->top = a->next;
	a->next = a->to;
	a->sweeping = false;
	close_runs(a);
	age_release(a);
}

uint32_t
age_select(const struct age *a, uint32_t k)
{
	uint32_t c = 0;

	while (k >= a->chunk[c])
		k -= a->chunk[c++];
	return (c << AGE_CHUNK_SHIFT) +
	    bits_select(a->bits + ((size_t)c << (AGE_CHUNK_SHIFT - 6)), k);
}

uint32_t
age_next(const struct age *a, uint32_t pos)
{
	uint32_t base = pos & ~UINT32_C(63);
	uint64_t w = a->bits[base >> 6] & ~UINT64_C(0) << (pos & 63);

	while (w == 0) {
		base += 64;
		while ((base & (AGE_CHUNK - 1)) == 0 &&
		    a->chunk[base >> AGE_CHUNK_SHIFT] == 0)
			base += AGE_CHUNK;
		w = a->bits[base >> 6];
	}
	return base + (uint32_t)__builtin_ctzll(w);
}

uint32_t
age_rank(const struct age *a, uint32_t pos)
{
	uint32_t c = pos >> AGE_CHUNK_SHIFT, rank = 0;

	for (uint32_t i = 0; i < c; i++)
		rank += a->chunk[i];
	return rank +
	    bits_rank(a->bits + ((size_t)c << (AGE_CHUNK_SHIFT - 6)),
	    pos & (AGE_CHUNK - 1));
}

size_t
age_memory(const struct age *a)
{
	size_t top = age_taken(a);

	/* Nothing is between the two areas. */
	if (top > a->cap)
		top -= a->cap - (a->sweeping ? a->to : 0);
	return top * sizeof(*a->ord) + top / 8 + age_parts_memory(a) +
	    age_chunks(a) * sizeof(*a->chunk) + a->nruns * sizeof(*a->run);
}

/* Small pages: keys go to 2,000 places, each of which would take a huge one. */
int
age_sort_init(struct age_sort *s, uint32_t max)
{
	*s = (struct age_sort){
		.key = list_map(max * sizeof(*s->key)),
		.other = list_map(max * sizeof(*s->other)),
	};
	if (s->key != NULL && s->other != NULL)
		return 0;
	age_sort_fini(s, max);
	return -ENOMEM;
}

void
age_sort_fini(struct age_sort *s, uint32_t max)
{
	list_unmap(s->key, max * sizeof(*s->key));
	list_unmap(s->other, max * sizeof(*s->other));
	s->key = s->other = NULL;
}

void
age_sort_release(struct age_sort *s, uint32_t from, uint32_t to)
{
	list_release(&s->key[from], &s->key[to]);
	list_release(&s->other[from], &s->other[to]);
}

static inline unsigned
key_digit(const struct age_key *k, unsigned shift)
{
	return (unsigned)(age_key_value(k) >> shift) & (AGE_DIGIT_VALUES - 1);
}

static void
count_digits(struct age_sort *s, uint32_t end)
{
	for (; s->at < end; s->at++)
		s->place[key_digit(&s->key[s->at], s->shift)]++;
}

static void
move_keys(struct age_sort *s, uint32_t end)
{
	for (; s->at < end; s->at++) {
		const struct age_key *k = &s->key[s->at];

		s->other[s->place[key_digit(k, s->shift)]++] = *k;
	}
}

static void
end_counting(struct age_sort *s)
{
	uint32_t sum = 0, n;

	for (unsigned i = 0; i < AGE_DIGIT_VALUES; i++) {
		n = s->place[i];
		s->place[i] = sum;
		sum += n;
	}
	s->moving = true;
	s->at = 0;
}

static void
end_moving(struct age_sort *s)
{
	struct age_key *was = s->key;

	s->key = s->other;
	s->other = was;
	memset(s->place, 0, sizeof(s->place));
	s->moving = false;
	s->at = 0;
	s->differ &= ~(uint64_t)(AGE_DIGIT_VALUES - 1) << s->shift;
}

bool
age_sort_step(struct age_sort *s, uint32_t *work)
{
	uint32_t end;

	while (s->differ != 0) {
		if (s->at == 0 && !s->moving)
			s->shift = (unsigned)__builtin_ctzll(s->differ);
		end = s->n - s->at < *work ? s->n : s->at + *work;
		*work -= end - s->at;
		(s->moving ? move_keys : count_digits)(s, end);
		if (end < s->n)
			return false;
		(s->moving ? end_moving : end_counting)(s);
	}
	return true;
}

/*
 * Blocks come and go meanwhile.  No position is given twice: old ones, all in
 * the first area, are only left, and new blocks take positions in the second
 * one.  So an old position that is still live is of the same block.  Every
 * record says its position, in whichever area: but for the order all is valid
 * at any moment.
 */

#define LOOKS 8			/* at each block, all in all; at the most */
#define FETCH_ORD (2 * AGE_AHEAD)
#define RELEASE (UINT32_C(1) << 16)	/* keys whose memory is given back together */

enum step {
	STEP_SWEEP,		/* ends the sweep out of the second area */
	STEP_COLLECT,
	STEP_SORT,
	STEP_PLACE,
};

struct age_parts {
	enum step step;
	uint64_t key_mask;
	uint32_t old;		/* positions before this one are old */
	uint32_t old_taken;	/* positions with memory then */
	uint32_t old_runs;
	uint32_t room;		/* blocks that are placed, at most */
	uint32_t at;		/* old position, then key, that comes next */
	uint32_t run;		/* of `at` */
	uint32_t same;		/* keys before this one are completely in order */
	uint32_t to;		/* position that comes next */
	uint32_t to_runs;	/* behind those of old positions */
	struct age_sort sort;
};

/* Gives up; every position is valid, in order or not. */
static void
age_parts_drop(struct age *a)
{
	struct age_parts *p = a->parts;

	/* New blocks may be before old ones. */
	if (p->step > STEP_SWEEP)
		a->unsorted = true;
	age_sort_fini(&p->sort, p->room);
	free(p);
	a->parts = NULL;
}

static size_t
age_parts_memory(const struct age *a)
{
	const struct age_parts *p = a->parts;

	return p == NULL ? 0 : sizeof(*p) +
	    (size_t)p->room * 2 * sizeof(struct age_key);
}

/*
 * A sweep out of the second area needs room for an eighth of what it passes.
 * If blocks come so fast that there may be none, restores now.  False: sweep.
 */
static bool
age_parts_pass(struct age *a, struct store_node *node)
{
	const struct age_parts *p = a->parts;

	if (p->step == STEP_SWEEP)
		return false;
	if (a->next - a->cap > a->cap / 4 * 3)
		age_restore(a, node, p->key_mask);
	return true;
}

/* False if it is not worth it, or runs (one a position at worst) lack room. */
static bool
begin_parts(struct age *a, uint64_t key_mask, uint32_t work)
{
	if (a->persistent != NULL || a->live <= work / LOOKS ||
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
	a->unsorted = false;
	a->next = a->seen = a->top = r->first;
	a->present = (a->next + AGE_PREFAULT_GRAIN) & ~(AGE_PREFAULT_GRAIN - 1);
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

struct same {
	const struct age *a;
	const struct store_node *node;
	uint64_t key_mask;
};

/* By key; blocks that have gone meanwhile come anywhere. */
static int
compare_same(const void *va, const void *vb, void *arg)
{
	const struct age_key *a = va, *b = vb;
	const struct same *s = arg;
	uint64_t ka = s->node[s->a->ord[a->which]].w[0] & s->key_mask;
	uint64_t kb = s->node[s->a->ord[b->which]].w[0] & s->key_mask;

	return ka < kb ? -1 : ka > kb;
}

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

/* Makes the run of the next place fit this number and time. */
static void
run_of_place(struct age *a, struct age_parts *p, uint64_t seq, int64_t ms)
{
	struct age_run *r = &a->run[p->old_runs + p->to_runs];

	if (p->to_runs > 0 && age_run_takes(r - 1, seq, ms))
		return;
	/* As a rule it is the run of the new blocks. */
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

/* The first area is empty; begins a sweep that brings all back to it. */
static void
end_parts(struct age *a, struct age_parts *p)
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

/* One step, taken off *work; false if it cannot be done in parts. */
static bool
one_step(struct age *a, struct age_parts *p, struct store_node *node,
    uint32_t *work)
{
	uint32_t cost = 0;

	switch (p->step) {
	case STEP_SWEEP:
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
age_restore_part(struct age *a, struct store_node *node, uint64_t key_mask,
    uint32_t work)
{
	struct age_parts *p;

	if (!age_is_unsorted(a))
		return true;
	if (work == 0)
		return false;
	if (a->parts == NULL && !begin_parts(a, key_mask, work)) {
		age_restore(a, node, key_mask);
		return true;
	}
	p = a->parts;
	while (work > 0) {
		if (p->step == STEP_PLACE && p->at >= p->sort.n) {
			end_parts(a, p);
			/* Others may have come out of order. */
			return !a->unsorted;
		}
		if (!one_step(a, p, node, &work)) {
			age_restore(a, node, key_mask);
			return true;
		}
	}
	return false;
}

#define SORT_FEW 1024		/* not worth taking memory for */

static int
compare_entries(const void *va, const void *vb, void *arg)
{
	const struct age_entry *a = va, *b = vb;
	const struct age_keys *k = arg;
	uint64_t ka, kb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	ka = k->node[a->index].w[0] & k->mask;
	kb = k->node[b->index].w[0] & k->mask;
	return ka < kb ? -1 : ka > kb;
}

/* Collects the live ones; returns how many at the beginning are in order. */
static uint32_t
collect_entries(const struct age *a, struct age_keys *keys, struct age_entry *out)
{
	uint32_t n = 0, sorted = 0;

	for (uint32_t base = 0; base < a->next; base += 64) {
		if ((base & (AGE_CHUNK - 1)) == 0 &&
		    a->chunk[base >> AGE_CHUNK_SHIFT] == 0) {
			base += AGE_CHUNK - 64;
			continue;
		}
		if (base + 64 < a->next)
			age_fetch_word(a, keys->node, base + 64);
		for (uint64_t w = a->bits[base >> 6]; w != 0; w &= w - 1) {
			uint32_t i = a->ord[base + (uint32_t)__builtin_ctzll(w)];

			out[n] = (struct age_entry){
				.seq = (int64_t)age_seq(a, &keys->node[i]),
				.ms = age_ms(a, &keys->node[i]),
				.index = i,
			};
			if (sorted == n && (n == 0 ||
			    compare_entries(&out[n - 1], &out[n], keys) < 0))
				sorted = n + 1;
			n++;
		}
	}
	assert(n == a->live);
	return sorted;
}

static void
sort_same(struct age_entry *row, uint32_t n, struct age_keys *keys)
{
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && row[end].seq == row[i].seq;)
			end++;
		if (end - i > 1)
			qsort_r(row + i, end - i, sizeof(*row), compare_entries,
			    keys);
	}
}

static int
sort_many(struct age_entry *row, uint32_t n, struct age_keys *keys)
{
	struct age_entry *out = list_map(n * sizeof(*out));
	struct age_sort *s = malloc(sizeof(*s));
	int err = -ENOMEM;

	if (out == NULL || s == NULL || age_sort_init(s, n) < 0)
		goto no_memory;
	for (uint32_t i = 0; i < n; i++)
		age_sort_add(s, row[i].seq, i);
	age_sort_step(s, &(uint32_t){ UINT32_MAX });
	for (uint32_t i = 0; i < n; i++) {
		if (i + AGE_AHEAD < n)
			__builtin_prefetch(&row[s->key[i + AGE_AHEAD].which]);
		out[i] = row[s->key[i].which];
	}
	memcpy(row, out, n * sizeof(*row));
	sort_same(row, n, keys);
	age_sort_fini(s, n);
	err = 0;
no_memory:
	free(s);
	list_unmap(out, n * sizeof(*out));
	return err;
}

static void
sort_rows(struct age_entry *row, uint32_t n, struct age_keys *keys)
{
	if (n < SORT_FEW || sort_many(row, n, keys) < 0)
		qsort_r(row, n, sizeof(*row), compare_entries, keys);
}

static void
set_all(struct age *a)
{
	uint32_t n = a->live;

	for (uint32_t c = 0; c <= (a->next - 1) >> AGE_CHUNK_SHIFT; c++)
		if (a->chunk[c] != 0)
			memset(&a->bits[c << (AGE_CHUNK_SHIFT - 6)], 0,
			    AGE_CHUNK / 8);
	memset(a->bits, 0xff, (size_t)(n >> 6) * sizeof(*a->bits));
	if (n & 63)
		a->bits[n >> 6] = (UINT64_C(1) << (n & 63)) - 1;
	for (uint32_t c = 0; c <= (a->next - 1) >> AGE_CHUNK_SHIFT; c++) {
		uint32_t first = c << AGE_CHUNK_SHIFT;

		a->chunk[c] = n <= first ? 0 :
		    n - first < AGE_CHUNK ? n - first : AGE_CHUNK;
	}
	if (a->next > a->top)
		a->top = a->next;
	a->next = n;
	a->sweeping = false;
	a->unsorted = false;
	age_release(a);
}

static void
place_position(struct age *a, struct store_node *node, uint32_t pos,
    const struct age_entry *one)
{
	uint64_t seq = (uint64_t)one->seq;

	a->next = pos;
	if (!age_run_takes(&a->run[a->nruns - 1], seq, one->ms))
		age_begin_run(a, seq, one->ms);
	a->ord[pos] = one->index;
	node[one->index].pos = pos;
	a->newest = one->seq;
}

/* Merges two rows; meanwhile the journal of a persistent list counts. */
static void
merge(struct age *a, struct store_node *node, struct age_keys *keys,
    const struct age_entry *all, uint32_t sorted, uint32_t n)
{
	const struct age_entry *x = all, *y = all + sorted;
	const struct age_entry *x_end = y, *y_end = all + n;
	uint32_t next = a->next;

	a->restoring = a->persistent != NULL;
	age_drop_runs(a);
	for (uint32_t pos = 0; pos < n; pos++) {
		bool take_x = y == y_end ||
		    (x != x_end && compare_entries(x, y, keys) < 0);
		const struct age_entry *one = take_x ? x++ : y++;

		if (x_end - x > AGE_AHEAD)
			__builtin_prefetch(&node[x[AGE_AHEAD].index].pos, 1);
		if (y_end - y > AGE_AHEAD)
			__builtin_prefetch(&node[y[AGE_AHEAD].index].pos, 1);
		place_position(a, node, pos, one);
	}
	a->restoring = false;
	set_nruns(a);
	a->next = next;
	set_all(a);
	if (a->persistent != NULL)
		pmem_zero(a->memory, a->journal, n * sizeof(*a->journal));
}

/* As a rule a long row is in order: sorts the short rest and merges the two. */
void
age_restore(struct age *a, struct store_node *node, uint64_t key_mask)
{
	struct age_keys keys = { .node = node, .mask = key_mask };
	uint32_t n = a->live, sorted;
	struct age_entry *all;

	if (n == 0)
		return;
	if (a->parts != NULL)
		age_parts_drop(a);
	all = a->persistent != NULL ? a->journal : list_map(n * sizeof(*all));
	if (all == NULL)
		return;
	sorted = collect_entries(a, &keys, all);
	sort_rows(all + sorted, n - sorted, &keys);
	set_runs(a, AGE_RUNS_JOURNAL, n);
	merge(a, node, &keys, all, sorted, n);
	if (a->persistent == NULL)
		list_unmap(all, n * sizeof(*all));
}

/* Length of the journal's first sorted row; 0 if there are over two. */
static uint32_t
first_row(const struct age *a, struct age_keys *keys, uint32_t n)
{
	const struct age_entry *all = a->journal;
	uint32_t sorted = n;

	for (uint32_t i = 1; i < n; i++) {
		if (compare_entries(&all[i - 1], &all[i], keys) < 0)
			continue;
		if (sorted < n)
			return 0;
		sorted = i;
	}
	return sorted;
}

static int
reopen_journal(struct age *a, struct store_node *node, uint32_t n,
    uint32_t present, uint64_t key_mask)
{
	struct age_keys keys = { .node = node, .mask = key_mask };
	uint32_t sorted;

	if (n == 0 || n > present)
		return -ESTALE;
	for (uint32_t i = 0; i < n; i++)
		if (a->journal[i].index >= present)
			return -ESTALE;
	sorted = first_row(a, &keys, n);
	if (sorted == 0)
		return -ESTALE;
	a->live = a->next = n;
	merge(a, node, &keys, a->journal, sorted, n);
	/* They are adopted like all others. */
	memset(a->bits, 0, (((size_t)n + 63) >> 6) * sizeof(*a->bits));
	memset(a->chunk, 0, age_chunks(a) * sizeof(*a->chunk));
	a->live = a->next = 0;
	return 0;
}

int
age_reopen(struct age *a, struct store_node *node, uint32_t present,
    uint64_t key_mask)
{
	uint32_t n = (uint32_t)a->persistent->runs;
	unsigned which = (unsigned)(a->persistent->runs >> 32);

	if (which == AGE_RUNS_JOURNAL)
		return reopen_journal(a, node, n, present, key_mask);
	if (which > 1 || n == 0 || n > a->cap)
		return -ESTALE;
	a->copy = which;
	a->run = a->runs + which * (size_t)a->cap;
	a->nruns = n;
	return 0;
}

bool
age_adopt(struct age *a, const struct store_node *n, uint32_t index)
{
	if (age_is_live(a, n->pos))
		return false;
	a->ord[n->pos] = index;
	age_set(a, n->pos);
	a->live++;
	if (n->pos >= a->next)
		a->next = n->pos + 1;
	return true;
}

/* Restores even what is in order: positions may have come near their end. */
void
age_close(struct age *a, struct store_node *node, uint64_t key_mask)
{
	if (a->live == 0)
		age_restart(a);
	else
		age_restore(a, node, key_mask);
}

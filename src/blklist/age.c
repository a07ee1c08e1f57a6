/*
 * The order of age: sweeping, mending, finding the k-th.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "age.h"
#include "age_mend.h"
#include "bits.h"
#include "commit.h"

/* More positions than this above four times those in use: pages go back. */
#define RELEASE_SLACK 65536

static size_t
ord_bytes(const struct age *a)
{
	return (size_t)a->end * sizeof(*a->ord);
}

/*
 * The three tables lie behind each other, for to give a mapping back costs more
 * than what a short program has in all of them.
 */
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

void
age_say_runs(struct age *a, unsigned which, uint32_t n)
{
	if (a->kept == NULL)
		return;
	list_in_order();
	a->kept->runs = (uint64_t)which << 32 | n;
	list_in_order();
}

void
age_say_nruns(struct age *a)
{
	if (!a->mending)
		age_say_runs(a, a->copy, a->nruns);
}

/* Where a shorter table is written: in place if nobody may find it half done. */
static struct age_run *
other_runs(const struct age *a)
{
	if (a->kept == NULL)
		return a->run;
	return a->runs + (a->copy ^ 1) * (size_t)a->cap;
}

static void
use_other_runs(struct age *a, uint32_t n)
{
	a->run = other_runs(a);
	a->copy ^= a->kept != NULL;
	a->nruns = n;
	age_say_nruns(a);
}

static int
take_kept(struct age *a, size_t max)
{
	a->runs = kept_take(a->memory, 2 * runs_bytes(a));
	a->journal = kept_take(a->memory, max * sizeof(*a->journal));
	if (a->runs == NULL || a->journal == NULL)
		return -ENOMEM;
	a->run = a->runs;
	return 0;
}

/*
 * A sweep begins with at most 11/8 of max and AGE_SLACK positions, for each one
 * leaves fewer than it began with (begin_sweep()), and takes eight while one
 * more is taken: twice as many are always enough.
 */
int
age_init(struct age *a, const struct blklist *l)
{
	uint32_t max = l->counts.aRecMax;
	uint64_t cap = 2 * ((uint64_t)max + AGE_SLACK);

	cap = (cap + AGE_CHUNK - 1) & ~(uint64_t)(AGE_CHUNK - 1);
	*a = (struct age){ .cap = (uint32_t)cap, .newest = INT64_MIN,
		.end = (uint32_t)(l->memory != NULL ? cap : 2 * cap),
		.memory = l->memory, .kept = l->kept };
	if (map_tables(a) != 0)
		return -ENOMEM;
	if (a->memory != NULL)
		(void)take_kept(a, max);
	else
		a->run = list_map(runs_bytes(a));
	if (a->run == NULL) {
		age_fini(a);
		return -ENOMEM;
	}
	a->nruns = 1;
	a->ready = AGE_READY_GRAIN;
	if (a->kept != NULL && a->kept->runs == 0)
		age_say_nruns(a);
	return 0;
}

void
age_fini(struct age *a)
{
	age_parts_drop(a);
	unmap_tables(a);
	if (a->memory == NULL)
		list_unmap(a->run, runs_bytes(a));
}

/* Positions that there has been memory for since pages were given back. */
uint32_t
age_taken(const struct age *a)
{
	uint32_t top = a->next > a->top ? a->next : a->top;

	return a->ready > top ? a->ready : top;
}

void
age_make_ready(struct age *a)
{
	uint32_t from = a->ready > a->next ? a->ready : a->next;

	/*
	 * It is written and read in order, so that huge pages gain nothing and
	 * the last one would be half empty.
	 */
	a->ready = (uint32_t)(list_make_ready(a->ord, ord_bytes(a), SIZE_MAX,
	    (size_t)from * sizeof(*a->ord)) / sizeof(*a->ord));
}

bool
age_ahead(struct age *a)
{
	uint32_t grown = a->next > a->seen ? a->next - a->seen : 0;
	uint64_t early = list_ready_early(a->ready * sizeof(*a->ord)) /
	    sizeof(*a->ord);

	a->seen = a->next;
	if (early < 2 * (uint64_t)grown)
		early = 2 * (uint64_t)grown;
	if (grown == 0 || a->ready >= a->end || a->ready > a->next + early)
		return false;
	age_make_ready(a);
	return true;
}

void
age_release(struct age *a)
{
	if (a->next > a->top)
		a->top = a->next;
	if (a->top < a->cap && a->top / 4 < a->next + RELEASE_SLACK / 4)
		return;
	list_release(a->ord + a->next, a->ord + age_taken(a));
	a->ready = (a->next + AGE_READY_GRAIN) & ~(AGE_READY_GRAIN - 1);
	list_release(a->bits + (a->next >> 6) + 1, a->bits + (a->top >> 6));
	a->top = a->next;
}

/* --- runs ----------------------------------------------------------------- */

void
age_begin_run(struct age *a, uint64_t seq, int64_t ms)
{
	uint32_t n = a->nruns + (a->run[a->nruns - 1].first < a->next);

	/* Either it is one more, or nothing is in the one that it replaces. */
	a->run[n - 1] = (struct age_run){
		.first = a->next,
		.seq_high = (uint32_t)(seq >> 32),
		/* There may yet come times before it. */
		.ms_base = (int64_t)((uint64_t)ms - (UINT64_C(1) << 31)),
	};
	a->nruns = n;
	age_say_nruns(a);
}

/* The last one that begins at the position or before it. */
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

/* No position is taken; what comes is as a rule as what came last. */
void
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
	/* After what was before it has moved. */
	list_in_order();
	while (a->run_from < a->nruns && a->run[a->run_from].first <= from)
		a->run[a->run_from++].first = a->to;
}

/* Runs of which nothing is live have shrunk to nothing. */
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

/* --- the sweep ------------------------------------------------------------ */

void
age_restart(struct age *a)
{
	age_parts_drop(a);
	if (a->next > a->top)
		a->top = a->next;
	a->next = 0;
	a->sweeping = false;
	a->mixed = false;
	a->newest = INT64_MIN;
	age_drop_runs(a);
	age_release(a);
}

void
age_clear(struct age *a)
{
	age_parts_drop(a);
	list_zero(a->ord, ord_bytes(a));
	list_zero(a->bits, a->end / 8);
	list_zero(a->chunk, age_chunks(a) * sizeof(*a->chunk));
	a->live = a->next = a->top = 0;
	a->ready = AGE_READY_GRAIN;
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
 * Where a sweep moves the fewest blocks for each position that it wins, and
 * wins a quarter of those to be had.  There are 3/8 as many empty ones as live
 * ones, so that is at most 8/3; while it passes those and the one that it wins,
 * with what is taken meanwhile, little more than half a position is taken.
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

/*
 * The last word, where positions are still being taken, is swept together
 * with the end of the sweep: what is taken next comes behind what was moved.
 */
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

/* --- finding -------------------------------------------------------------- */

uint32_t
age_select(const struct age *a, uint32_t k)
{
	uint32_t c = 0;

	while (k >= a->chunk[c])
		k -= a->chunk[c++];
	return (c << AGE_CHUNK_SHIFT) +
	    bits_select(a->bits + ((size_t)c << (AGE_CHUNK_SHIFT - 6)), k);
}

/* Where there is none for long, whole chunks are passed. */
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

	/* Between the two areas there is nothing. */
	if (top > a->cap)
		top -= a->cap - (a->sweeping ? a->to : 0);
	return top * sizeof(*a->ord) + top / 8 + age_parts_memory(a) +
	    age_chunks(a) * sizeof(*a->chunk) + a->nruns * sizeof(*a->run);
}

/*
 * The order of age: sweeping, mending, finding the k-th.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "age.h"
#include "age_sort.h"
#include "bits.h"
#include "commit.h"

/* More positions than this above four times those in use: pages go back. */
#define RELEASE_SLACK 65536
#define AHEAD 16		/* records fetched ahead */
#define SORT_FEW 1024		/* not worth taking memory for */
#define READY_GRAIN UINT32_C(1024)	/* a page of ord[], and whole steps */

static size_t
chunks(const struct age *a)
{
	return a->cap >> AGE_CHUNK_SHIFT;
}

/* At the worst each position has a run of its own. */
static size_t
runs_bytes(const struct age *a)
{
	return (size_t)a->cap * sizeof(struct age_run);
}

/* What age_mend() sorts. */
struct aged {
	int64_t seq;
	int64_t ms;
	uint32_t index;
};

/* Which runs count, of a kept list: the table and how many; or the journal. */
#define RUNS_JOURNAL 2u

static void
say_runs(struct age *a, unsigned which, uint32_t n)
{
	if (a->kept == NULL)
		return;
	list_in_order();
	a->kept->runs = (uint64_t)which << 32 | n;
	list_in_order();
}

static void
say_nruns(struct age *a)
{
	if (!a->mending)
		say_runs(a, a->copy, a->nruns);
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
	say_nruns(a);
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
 * A sweep begins with at most 3/2 of max and AGE_SLACK positions, for each one
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
		.memory = l->memory, .kept = l->kept };
	a->ord = list_map_huge(cap * sizeof(*a->ord), LIST_HUGE_FROM);
	a->bits = list_map(cap / 8);
	a->chunk = list_map(chunks(a) * sizeof(*a->chunk));
	if (a->memory != NULL)
		(void)take_kept(a, max);
	else
		a->run = list_map(runs_bytes(a));
	if (a->ord == NULL || a->bits == NULL || a->chunk == NULL ||
	    a->run == NULL) {
		age_fini(a);
		return -ENOMEM;
	}
	a->nruns = 1;
	a->ready = READY_GRAIN;
	if (a->kept != NULL && a->kept->runs == 0)
		say_nruns(a);
	return 0;
}

void
age_fini(struct age *a)
{
	list_unmap(a->ord, (size_t)a->cap * sizeof(*a->ord));
	list_unmap(a->bits, a->cap / 8);
	list_unmap(a->chunk, chunks(a) * sizeof(*a->chunk));
	if (a->memory == NULL)
		list_unmap(a->run, runs_bytes(a));
}

/* Positions that there has been memory for since pages were given back. */
static uint32_t
taken(const struct age *a)
{
	uint32_t top = a->next > a->top ? a->next : a->top;

	return a->ready > top ? a->ready : top;
}

void
age_make_ready(struct age *a)
{
	uint32_t from = a->ready > a->next ? a->ready : a->next;

	a->ready = (uint32_t)(list_make_ready(a->ord,
	    (size_t)a->cap * sizeof(*a->ord), LIST_HUGE_FROM,
	    (size_t)from * sizeof(*a->ord)) / sizeof(*a->ord));
}

bool
age_ahead(struct age *a)
{
	uint32_t grown = a->next > a->seen ? a->next - a->seen : 0;

	a->seen = a->next;
	if (a->ready >= a->cap || a->ready > a->next + 2 * (uint64_t)grown)
		return false;
	age_make_ready(a);
	return true;
}

static void
release(struct age *a)
{
	if (a->next > a->top)
		a->top = a->next;
	if (a->top / 4 < a->next + RELEASE_SLACK / 4)
		return;
	list_release(a->ord + a->next, a->ord + taken(a));
	a->ready = (a->next + READY_GRAIN) & ~(READY_GRAIN - 1);
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
	say_nruns(a);
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
static void
drop_runs(struct age *a)
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
	if (a->next > a->top)
		a->top = a->next;
	a->next = 0;
	a->sweeping = false;
	a->mixed = false;
	a->newest = INT64_MIN;
	drop_runs(a);
	release(a);
}

void
age_clear(struct age *a)
{
	list_zero(a->ord, (size_t)a->cap * sizeof(*a->ord));
	list_zero(a->bits, a->cap / 8);
	list_zero(a->chunk, chunks(a) * sizeof(*a->chunk));
	a->live = a->next = a->top = 0;
	a->ready = READY_GRAIN;
	age_restart(a);
}

/* The records of a word that is looked at next. */
static inline __attribute__((always_inline)) void
fetch_word(const struct age *a, const struct store_node *node, uint32_t from)
{
	for (uint64_t w = a->bits[from >> 6]; w != 0; w &= w - 1)
		__builtin_prefetch(&node[a->ord[from +
		    (uint32_t)__builtin_ctzll(w)]].pos, 1);
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
 * wins a quarter of those to be had.  There are half as many empty ones as
 * live ones, so that is at most two; while it passes those three, less than
 * half a position is taken.
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
	if (!a->sweeping)
		begin_sweep(a);
	sweep_word(a, node, a->from);
	a->from += 64;
	if (a->from < a->next) {
		fetch_word(a, node, a->from);
		return;
	}
	if (a->next > a->top)
		a->top = a->next;
	a->next = a->to;
	a->sweeping = false;
	close_runs(a);
	release(a);
}

/* --- mending -------------------------------------------------------------- */

struct aged_keys {
	const struct store_node *node;
	uint64_t mask;
};

static int
compare_aged(const void *va, const void *vb, void *arg)
{
	const struct aged *a = va, *b = vb;
	const struct aged_keys *k = arg;
	uint64_t ka, kb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	ka = k->node[a->index].w[0] & k->mask;
	kb = k->node[b->index].w[0] & k->mask;
	return ka < kb ? -1 : ka > kb;
}

/* The live ones as they stand; returns how many begin in order. */
static uint32_t
collect(const struct age *a, struct aged_keys *keys, struct aged *out)
{
	uint32_t n = 0, sorted = 0;

	for (uint32_t base = 0; base < a->next; base += 64) {
		if (base + 64 < a->next)
			fetch_word(a, keys->node, base + 64);
		for (uint64_t w = a->bits[base >> 6]; w != 0; w &= w - 1) {
			uint32_t i = a->ord[base + (uint32_t)__builtin_ctzll(w)];

			out[n] = (struct aged){
				.seq = (int64_t)age_seq(a, &keys->node[i]),
				.ms = age_ms(a, &keys->node[i]),
				.index = i,
			};
			if (sorted == n && (n == 0 ||
			    compare_aged(&out[n - 1], &out[n], keys) < 0))
				sorted = n + 1;
			n++;
		}
	}
	assert(n == a->live);
	return sorted;
}

/* Those with the same number, of which there are none in an honest stream. */
static void
sort_same(struct aged *row, uint32_t n, struct aged_keys *keys)
{
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && row[end].seq == row[i].seq;)
			end++;
		if (end - i > 1)
			qsort_r(row + i, end - i, sizeof(*row), compare_aged,
			    keys);
	}
}

static int
sort_many(struct aged *row, uint32_t n, struct aged_keys *keys)
{
	struct aged *out = list_map(n * sizeof(*out));
	struct age_sort *s = malloc(sizeof(*s));
	int err = -ENOMEM;

	if (out == NULL || s == NULL || age_sort_init(s, n) < 0)
		goto no_memory;
	for (uint32_t i = 0; i < n; i++)
		age_sort_add(s, row[i].seq, i);
	age_sort_step(s, UINT32_MAX);
	for (uint32_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(&row[s->key[i + AHEAD].which]);
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
sort_rows(struct aged *row, uint32_t n, struct aged_keys *keys)
{
	if (n < SORT_FEW || sort_many(row, n, keys) < 0)
		qsort_r(row, n, sizeof(*row), compare_aged, keys);
}

/* Everything at positions 0 to live - 1, all bits of them set, no others. */
static void
fill_all(struct age *a)
{
	uint32_t n = a->live;

	memset(a->bits, 0, (((size_t)a->next + 63) >> 6) * sizeof(*a->bits));
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
	a->mixed = false;
	release(a);
}

static void
place(struct age *a, struct store_node *node, uint32_t pos,
    const struct aged *one)
{
	uint64_t seq = (uint64_t)one->seq;

	a->next = pos;
	if (!age_run_takes(&a->run[a->nruns - 1], seq, one->ms))
		age_begin_run(a, seq, one->ms);
	a->ord[pos] = one->index;
	node[one->index].pos = pos;
	a->newest = one->seq;
}

/*
 * Two rows, each in order, become one.  The journal of a kept list has both,
 * and counts until every position is written.
 */
static void
merge(struct age *a, struct store_node *node, struct aged_keys *keys,
    const struct aged *all, uint32_t sorted, uint32_t n)
{
	const struct aged *x = all, *y = all + sorted;
	const struct aged *x_end = y, *y_end = all + n;
	uint32_t next = a->next;

	a->mending = a->kept != NULL;
	drop_runs(a);
	for (uint32_t pos = 0; pos < n; pos++) {
		bool take_x = y == y_end ||
		    (x != x_end && compare_aged(x, y, keys) < 0);
		const struct aged *one = take_x ? x++ : y++;

		if (x_end - x > AHEAD)
			__builtin_prefetch(&node[x[AHEAD].index].pos, 1);
		if (y_end - y > AHEAD)
			__builtin_prefetch(&node[y[AHEAD].index].pos, 1);
		place(a, node, pos, one);
	}
	a->mending = false;
	say_nruns(a);
	a->next = next;
	fill_all(a);
	if (a->kept != NULL)
		kept_zero(a->memory, a->journal, n * sizeof(*a->journal));
}

/*
 * What is in order already is long and what is not is short, as a rule: the
 * rest is sorted and the two are merged.
 */
void
age_mend(struct age *a, struct store_node *node, uint64_t key_mask)
{
	struct aged_keys keys = { .node = node, .mask = key_mask };
	uint32_t n = a->live, sorted;
	struct aged *all;

	if (n == 0)
		return;
	all = a->kept != NULL ? a->journal : list_map(n * sizeof(*all));
	if (all == NULL)
		return;
	sorted = collect(a, &keys, all);
	sort_rows(all + sorted, n - sorted, &keys);
	say_runs(a, RUNS_JOURNAL, n);
	merge(a, node, &keys, all, sorted, n);
	if (a->kept == NULL)
		list_unmap(all, n * sizeof(*all));
}

/* --- after a kill ---------------------------------------------------------- */

/* So many of the journal begin in order; 0 unless the others are so, too. */
static uint32_t
first_row(const struct age *a, struct aged_keys *keys, uint32_t n)
{
	const struct aged *all = a->journal;
	uint32_t sorted = n;

	for (uint32_t i = 1; i < n; i++) {
		if (compare_aged(&all[i - 1], &all[i], keys) < 0)
			continue;
		if (sorted < n)
			return 0;
		sorted = i;
	}
	return sorted;
}

static int
reopen_journal(struct age *a, struct store_node *node, uint32_t n,
    uint32_t ready, uint64_t key_mask)
{
	struct aged_keys keys = { .node = node, .mask = key_mask };
	uint32_t sorted;

	if (n == 0 || n > ready)
		return -ESTALE;
	for (uint32_t i = 0; i < n; i++)
		if (a->journal[i].index >= ready)
			return -ESTALE;
	sorted = first_row(a, &keys, n);
	if (sorted == 0)
		return -ESTALE;
	a->live = a->next = n;
	merge(a, node, &keys, a->journal, sorted, n);
	/* They are adopted like those that were never in a journal. */
	memset(a->bits, 0, (((size_t)n + 63) >> 6) * sizeof(*a->bits));
	memset(a->chunk, 0, chunks(a) * sizeof(*a->chunk));
	a->live = a->next = 0;
	return 0;
}

int
age_reopen(struct age *a, struct store_node *node, uint32_t ready,
    uint64_t key_mask)
{
	uint32_t n = (uint32_t)a->kept->runs;
	unsigned which = (unsigned)(a->kept->runs >> 32);

	if (which == RUNS_JOURNAL)
		return reopen_journal(a, node, n, ready, key_mask);
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

/*
 * Also where nothing is out of order: positions may have come near their end,
 * and the last run may begin where none is taken.
 */
void
age_close(struct age *a, struct store_node *node, uint64_t key_mask)
{
	if (a->live == 0)
		age_restart(a);
	else
		age_mend(a, node, key_mask);
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
	size_t top = taken(a);

	return top * sizeof(*a->ord) + top / 8 +
	    chunks(a) * sizeof(*a->chunk) + a->nruns * sizeof(*a->run);
}

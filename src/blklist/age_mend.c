/*
 * Putting positions into the order of age, all at once; and after a kill.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "age_mend.h"
#include "commit.h"

#define SORT_FEW 1024		/* not worth taking memory for */

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
		if ((base & (AGE_CHUNK - 1)) == 0 &&
		    a->chunk[base >> AGE_CHUNK_SHIFT] == 0) {
			base += AGE_CHUNK - 64;
			continue;
		}
		if (base + 64 < a->next)
			age_fetch_word(a, keys->node, base + 64);
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
	a->mixed = false;
	age_release(a);
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
	age_drop_runs(a);
	for (uint32_t pos = 0; pos < n; pos++) {
		bool take_x = y == y_end ||
		    (x != x_end && compare_aged(x, y, keys) < 0);
		const struct aged *one = take_x ? x++ : y++;

		if (x_end - x > AGE_AHEAD)
			__builtin_prefetch(&node[x[AGE_AHEAD].index].pos, 1);
		if (y_end - y > AGE_AHEAD)
			__builtin_prefetch(&node[y[AGE_AHEAD].index].pos, 1);
		place(a, node, pos, one);
	}
	a->mending = false;
	age_say_nruns(a);
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
	age_parts_drop(a);
	all = a->kept != NULL ? a->journal : list_map(n * sizeof(*all));
	if (all == NULL)
		return;
	sorted = collect(a, &keys, all);
	sort_rows(all + sorted, n - sorted, &keys);
	age_say_runs(a, AGE_RUNS_JOURNAL, n);
	merge(a, node, &keys, all, sorted, n);
	if (a->kept == NULL)
		list_unmap(all, n * sizeof(*all));
}

/* --- after a kill --------------------------------------------------------- */

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
	memset(a->chunk, 0, age_chunks(a) * sizeof(*a->chunk));
	a->live = a->next = 0;
	return 0;
}

int
age_reopen(struct age *a, struct store_node *node, uint32_t ready,
    uint64_t key_mask)
{
	uint32_t n = (uint32_t)a->kept->runs;
	unsigned which = (unsigned)(a->kept->runs >> 32);

	if (which == AGE_RUNS_JOURNAL)
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

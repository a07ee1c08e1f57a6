/*
 * The rules of cancellation, one test each, for every kind of list.
 */
#include <string.h>

#include "chance.h"
#include "harness.h"

#include "blklist_recs.h"

static const enum blklist_kind kinds[] = { BLKLIST_INDEXED, BLKLIST_LITERAL };

CASE("rules of every kind", .seconds = 60);

LOOP_TEST(pair_in_one_batch_is_left_out_and_counted, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	ck_assert_int_eq(blklist_remember(l, 4), 0);
	APPLY_PAIRS(l, ALLOC(0x10), ALLOC(0x20), FREE(0x10), ALLOC(0x10),
	    FREE(0x10));
	ck_assert_uint_eq(COUNT(l, cancelled), 2);
	ck_assert_uint_eq(COUNT(l, records), 5);
	ck_assert_uint_eq(COUNT(l, allocs), 3);
	ck_assert_uint_eq(COUNT(l, frees), 2);
	ck_assert_uint_eq(COUNT(l, aRecActive), 1);
	ck_assert_uint_eq(COUNT(l, live_bytes), 16);
	ck_assert_uint_eq(COUNT(l, peak_bytes), 32);
	ck_assert_ptr_null(blklist_removed(l, 0));
	blklist_free(l);
}

LOOP_TEST(nothing_cancels_when_not_asked_to, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct rec r[] = { ALLOC(0x10), FREE(0x10) };

	apply_batch(l, r, 2, false);
	ck_assert_uint_eq(COUNT(l, cancelled), 0);
	ck_assert_uint_eq(COUNT(l, frees), 1);
	blklist_free(l);
}

/* Each row: no pair, for the reason given. */
LOOP_TEST(what_stands_between_keeps_a_pair_apart, 0, NELEM(kinds))
{
	const struct { const char *why; struct rec r[3]; } t[] = {
		{ "another allocation", { ALLOC(0x10), ALLOC(0x10) } },
		{ "the other layer", { ALLOC(0x10), FREE(0x10, .low = 8) } },
		{ "a free before", { FREE(0x10), ALLOC(0x10) } },
		{ "by realloc", { ALLOC(0x10), REC(.op = REC_FREE,
		    .type = TYPE_BY_REALLOC, .addr = 0x10) } },
		{ "by realloc, then freed", { ALLOC(0x10), REC(.op = REC_FREE,
		    .type = TYPE_BY_REALLOC, .addr = 0x10), FREE(0x10) } },
		{ "an older free", { ALLOC(0x10, .ticket = 9),
		    FREE(0x10, .ticket = 8) } },
		{ "a range", { ALLOC(0x10), REC(.op = REC_RANGE, .low = 8),
		    FREE(0x10) } },
		{ "an undo", { ALLOC(0x10), REC(.op = REC_UNDO, .addr = 0x10),
		    FREE(0x10) } },
	};

	for (size_t i = 0; i < NELEM(t); i++) {
		struct blklist *l = list_of(kinds[_i], 8);

		apply_batch(l, t[i].r, t[i].r[2].w[0] != 0 ? 3 : 2, true);
		ck_assert_msg(COUNT(l, cancelled) == 0, "%s", t[i].why);
		blklist_free(l);
	}
}

/* Each row: one pair, in spite of what stands between. */
LOOP_TEST(what_is_no_event_of_the_block_keeps_no_pair_apart, 0, NELEM(kinds))
{
	const struct { const char *why; struct rec r; } t[] = {
		{ "another block", ALLOC(0x20) },
		{ "the other layer", ALLOC(0x10, .low = 8) },
		{ "a failed request", REC(.op = REC_ALLOC,
		    .low = REC_LEVEL_FAILED, .addr = 0x10) },
		{ "a control record", REC(.op = REC_CONTROL, .addr = 0x10) },
		{ "a loss", REC(.op = REC_LOSS, .addr = 0x10) },
	};

	for (size_t i = 0; i < NELEM(t); i++) {
		struct blklist *l = list_of(kinds[_i], 8);
		const struct rec r[] = { ALLOC(0x10), t[i].r, FREE(0x10) };

		apply_batch(l, r, 3, true);
		ck_assert_msg(COUNT(l, cancelled) == 1, "%s", t[i].why);
		blklist_free(l);
	}
}

/* A block freed past the library is still listed when its address comes again. */
LOOP_TEST(pair_at_a_listed_address_replaces_that_block, 0, NELEM(kinds))
{
	const struct {
		const char *why;
		struct rec r[6];
		unsigned duplicate, unknown, cancelled, active;
	} t[] = {
		{ "adjacent", { ALLOC(0x10), FREE(0x10) }, 1, 0, 0, 0 },
		{ "not adjacent", { ALLOC(0x10), ALLOC(0x20), FREE(0x10) },
		    1, 0, 0, 1 },
		{ "after it a pair", { ALLOC(0x10), FREE(0x10), ALLOC(0x10),
		    FREE(0x10) }, 1, 0, 1, 0 },
		{ "twice in a row", { ALLOC(0x10), ALLOC(0x10), FREE(0x10) },
		    2, 0, 0, 0 },
		{ "within another", { ALLOC(0x10), ALLOC(0x10), FREE(0x10),
		    FREE(0x10) }, 2, 1, 0, 0 },
		{ "within one of another address", { ALLOC(0x20), ALLOC(0x20),
		    FREE(0x20), FREE(0x20) }, 1, 1, 0, 1 },
		{ "freed before", { FREE(0x10), ALLOC(0x10), FREE(0x10) },
		    0, 0, 1, 0 },
		{ "moved by realloc", { REC(.op = REC_FREE,
		    .type = TYPE_BY_REALLOC, .addr = 0x10), ALLOC(0x10),
		    FREE(0x10) }, 0, 0, 1, 0 },
		{ "the other layer", { ALLOC(0x10, .low = 8),
		    FREE(0x10, .low = 8) }, 0, 0, 1, 1 },
	};

	for (size_t i = 0; i < NELEM(t); i++) {
		struct blklist *l = list_of(kinds[_i], 8);
		size_t n = 2;

		while (n < NELEM(t[i].r) && t[i].r[n].w[0] != 0)
			n++;
		APPLY(l, ALLOC(0x10));
		apply_batch(l, t[i].r, n, true);
		ck_assert_msg(COUNT(l, duplicate) == t[i].duplicate &&
		    COUNT(l, unknown_free) == t[i].unknown &&
		    COUNT(l, cancelled) == t[i].cancelled &&
		    COUNT(l, aRecActive) == t[i].active, "%s: %d %d %d %d",
		    t[i].why, (int)COUNT(l, duplicate),
		    (int)COUNT(l, unknown_free), (int)COUNT(l, cancelled),
		    (int)COUNT(l, aRecActive));
		ck_assert_uint_eq(COUNT(l, allocs) + COUNT(l, frees), n + 1);
		blklist_free(l);
	}
}

/* The note's list, record by record, is right by its rules. */
struct trio {
	struct blklist *note, *list[NELEM(kinds)];
};

static void
same_as_the_note(const struct trio *t, unsigned slots)
{
	struct blklist_counts want = *blklist_counts(t->note), have;
	static struct blk a[4096], b[4096];
	size_t n = blklist_window(t->note, BLKLIST_BY_AGE, false, 0, a, slots);

	for (size_t i = 0; i < NELEM(kinds); i++) {
		have = *blklist_counts(t->list[i]);
		ck_assert_uint_eq(have.duplicate, want.duplicate);
		ck_assert_uint_eq(have.unknown_free, want.unknown_free);
		ck_assert_uint_eq(blklist_window(t->list[i], BLKLIST_BY_AGE,
		    false, 0, b, slots), n);
		ck_assert_mem_eq(a, b, n * sizeof a[0]);
		ck_assert_uint_eq(have.cancelled,
		    blklist_counts(t->list[0])->cancelled);
		have.cancelled = 0;
		ck_assert_mem_eq(&have, &want, sizeof want);
	}
}

/* Of 1,000 frees `past` are not logged; blocks live so long that many pair. */
static const struct {
	unsigned slots, n, past, batches;
} past_us[] = {
	{ 3, 12, 300, 3000 },
	{ 40, 300, 100, 500 },
	{ 300, 3000, 10, 60 },
	{ 3000, 9000, 200, 20 },
};

LOOP_TEST(lists_with_blocks_freed_past_the_library_equal_the_notes, 0, NELEM(past_us))
{
	static struct rec r[9000];
	static bool live[3000];
	struct trio t;
	uint64_t x = check_seed(88172645463325252u + (uint64_t)_i), left[9000 / 64 + 1],
	    replaced[9000 / 64 + 1];
	unsigned slots = past_us[_i].slots;
	uint64_t told = 0;

	memset(live, 0, sizeof live);
	t.note = list_of(BLKLIST_LITERAL, 4096);
	for (size_t i = 0; i < NELEM(kinds); i++)
		t.list[i] = list_of(kinds[i], 4096);
	for (int batch = 0; batch < check_rounds((int)past_us[_i].batches); batch++) {
		struct blklist_batch b = { .rec = r, .seq = next_seq,
			.near_ms = 1000 };
		size_t n = 1 + chance_next(&x) % past_us[_i].n;

		while (b.n < n) {
			unsigned slot = (unsigned)(chance_next(&x) >> 33) % slots;
			uint64_t addr = 0x1000 + 48 * slot;

			/* Every other one is freed at once. */
			if (!live[slot])
				r[b.n++] = ALLOC(addr);
			if (live[slot] || chance_next(&x) >> 63) {
				live[slot] = false;
				if (chance_next(&x) % 1000 >= past_us[_i].past &&
				    b.n < n)
					r[b.n++] = FREE(addr);
			} else
				live[slot] = true;
		}
		next_seq += b.n;
		blklist_apply(t.note, &b);
		b.cancel = true;
		b.replaced = replaced;
		for (size_t i = 0; i < NELEM(kinds); i++) {
			memset(left, 0, sizeof left);
			memset(replaced, 0, sizeof replaced);
			b.left_out = left;
			blklist_apply(t.list[i], &b);
			sound(t.list[i]);
			for (size_t k = 0; k < NELEM(left); k++) {
				ck_assert_uint_eq(left[k] & replaced[k], 0);
				told += (unsigned)__builtin_popcountll(replaced[k]);
			}
		}
		same_as_the_note(&t, slots);
	}
	ck_assert_uint_gt(COUNT(t.note, duplicate), 0);
	ck_assert_uint_gt(COUNT(t.list[0], cancelled), 0);
	ck_assert_uint_eq(told, NELEM(kinds) * COUNT(t.note, duplicate));
	blklist_free(t.note);
	for (size_t i = 0; i < NELEM(kinds); i++)
		blklist_free(t.list[i]);
}

/* Bytes from one address to the next. */
static const uint64_t steps[] = { 16, 8, 1, 1 << 18 };

/* So many blocks that the indexed list fetches ahead. */
LOOP_TEST(pairs_at_listed_addresses_of_a_long_list_replace_those_blocks, 0,
    NELEM(steps))
{
	enum { LIVE = 70000, N = 4096 };
	static struct rec r[N];
	static struct blk a[2 * LIVE], b[2 * LIVE];
	struct blklist *l = list_of(BLKLIST_INDEXED, 2 * LIVE);
	struct blklist *m = list_of(BLKLIST_INDEXED, 2 * LIVE);
	uint64_t x = check_seed(88172645463325252u);
	struct blklist_counts have, want;

	for (unsigned i = 0; i < LIVE; i += N) {
		for (unsigned k = 0; k < N; k++)
			r[k] = ALLOC(0x1000 + steps[_i] * (i + k));
		apply_batch(l, r, N, false);
		next_seq -= N;
		apply_batch(m, r, N, false);
	}
	for (int batch = 0; batch < 5; batch++) {
		for (unsigned i = 0; i < N; i += 2) {
			uint64_t addr = 0x1000 +
			    steps[_i] * (chance_next(&x) % (2 * LIVE));

			r[i] = ALLOC(addr);
			r[i + 1] = chance_next(&x) % 4 == 0 ?
			    ALLOC(addr + 2 * steps[_i]) : FREE(addr);
		}
		apply_batch(l, r, N, true);
		next_seq -= N;
		apply_batch(m, r, N, false);
	}
	ck_assert_uint_gt(COUNT(l, cancelled), 0);
	have = *blklist_counts(l);
	want = *blklist_counts(m);
	ck_assert_uint_gt(want.duplicate, N);
	have.cancelled = 0;
	ck_assert_mem_eq(&have, &want, sizeof want);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 0, a,
	    2 * LIVE), want.aRecActive);
	ck_assert_uint_eq(blklist_window(m, BLKLIST_BY_AGE, false, 0, b,
	    2 * LIVE), want.aRecActive);
	ck_assert_mem_eq(a, b, want.aRecActive * sizeof a[0]);
	blklist_free(l);
	blklist_free(m);
}

LOOP_TEST(pairs_are_not_looked_for_where_there_are_none, 0, NELEM(kinds))
{
	enum { N = 4096 };
	static struct rec r[N];
	struct blklist *l = list_of(kinds[_i], 8 * N);
	uint64_t addr = 0x1000, found;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++)
			r[i] = ALLOC(addr += 16);
		apply_batch(l, r, N, true);
	}
	for (int i = 0; i < N; i++)
		r[i] = i % 2 == 0 ? ALLOC(addr += 16) : FREE(addr);
	apply_batch(l, r, N, true);
	ck_assert_uint_eq(COUNT(l, cancelled), 0);
	/* ... but tried again after a while. */
	for (int round = 0; round < 64; round++)
		apply_batch(l, r, N, true);
	found = COUNT(l, cancelled);
	ck_assert_uint_gt(found, N);
	apply_batch(l, r, N, true);
	ck_assert_uint_eq(COUNT(l, cancelled), found + N / 2);
	blklist_free(l);
}

/* One allocation and its free right behind it, again and again; sampled or not. */
LOOP_TEST(peak_has_the_largest_of_pairs_in_a_row, 0, NELEM(kinds))
{
	const struct rec r[] = {
		REC(.op = REC_ALLOC, .addr = 0x10, .size = 100),
		REC(.op = REC_ALLOC, .addr = 0x20, .size = 7),
		FREE(0x20),
		REC(.op = REC_ALLOC, .addr = 0x20, .size = 1000),
		FREE(0x20),
		REC(.op = REC_ALLOC, .addr = 0x30, .size = 8),
		FREE(0x30),
	};

	for (uint64_t period = 0; period <= 4096; period += 4096) {
		struct blklist *a = list_of(kinds[_i], 8);
		struct blklist *b = list_of(kinds[_i], 8);

		blklist_sample(a, period);
		blklist_sample(b, period);
		apply_batch(a, r, NELEM(r), true);
		apply_batch(b, r, NELEM(r), false);
		ck_assert_uint_eq(COUNT(a, cancelled), 3);
		ck_assert_uint_eq(COUNT(a, peak_bytes), 1100);
		ck_assert_uint_eq(COUNT(b, peak_bytes), 1100);
		ck_assert_uint_eq(COUNT(a, est_peak_bytes),
		    COUNT(b, est_peak_bytes));
		ck_assert_uint_eq(COUNT(a, allocs), COUNT(b, allocs));
		ck_assert_uint_eq(COUNT(a, frees), COUNT(b, frees));
		blklist_free(a);
		blklist_free(b);
	}
}

LOOP_TEST(peak_is_the_same_with_and_without_cancellation, 0, NELEM(kinds))
{
	struct blklist *a = list_of(kinds[_i], 8), *b = list_of(kinds[_i], 8);
	struct rec r[] = {
		REC(.op = REC_ALLOC, .addr = 0x10, .size = 100),
		REC(.op = REC_ALLOC, .addr = 0x20, .size = 1000),
		FREE(0x10),
		REC(.op = REC_ALLOC, .addr = 0x30, .size = 5),
		FREE(0x20),
	};

	apply_batch(a, r, NELEM(r), true);
	apply_batch(b, r, NELEM(r), false);
	ck_assert_uint_eq(COUNT(a, peak_bytes), 1100);
	ck_assert_uint_eq(COUNT(b, peak_bytes), 1100);
	ck_assert_uint_eq(COUNT(a, live_bytes), 5);
	blklist_free(a);
	blklist_free(b);
}

/* Without them the others, one by one, come to the same list. */
LOOP_TEST(records_of_pairs_are_told, 0, NELEM(kinds))
{
	enum { N = 1003 };
	struct blklist *l = list_of(kinds[_i], N), *m = list_of(kinds[_i], N);
	uint64_t out[N / 64 + 1] = { 0 }, x = 88172645463325252u;
	struct rec r[N];
	struct blklist_batch b = { .rec = r, .n = N, .seq = 1, .near_ms = 1000,
		.cancel = true, .left_out = out };
	struct blk have[N], want[N];
	bool live[100] = { false };
	unsigned told = 0;
	size_t n;

	for (int i = 0; i < N; i++) {
		chance_next(&x);
		r[i] = live[x % 100] ? FREE(0x1000 + x % 100 * 16) :
		    ALLOC(0x1000 + x % 100 * 16);
		live[x % 100] = !live[x % 100];
	}
	blklist_apply(l, &b);
	for (int i = 0; i < N; i++, next_seq++) {
		told += out[i / 64] >> i % 64 & 1;
		if (out[i / 64] >> i % 64 & 1)
			continue;
		apply_batch(m, &r[i], 1, false);
		next_seq--;
	}
	for (size_t i = N; i < 64 * NELEM(out); i++)
		ck_assert_uint_eq(out[i / 64] >> i % 64 & 1, 0);
	/* The note's list does not tell. */
	ck_assert_uint_eq(told, kinds[_i] == BLKLIST_LITERAL ? 0 :
	    2 * COUNT(l, cancelled));
	ck_assert_uint_eq(COUNT(m, unknown_free), 0);
	ck_assert_uint_eq(COUNT(m, duplicate), 0);
	n = blklist_window(l, BLKLIST_BY_AGE, false, 0, want, N);
	ck_assert_uint_eq(blklist_window(m, BLKLIST_BY_AGE, false, 0, have, N),
	    n);
	ck_assert_mem_eq(have, want, n * sizeof(*want));
	blklist_free(l);
	blklist_free(m);
}

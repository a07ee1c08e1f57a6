/*
 * Corners of the indexed list, seen from inside and compared with the literal
 * one where that can follow.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "../src/blklist/indexed/indexed.h"
#include "blklist_both.h"

static const struct indexed *
inside(const struct both *l)
{
	return l->ix->impl;
}

static void
one(const struct both *l, struct rec r, uint64_t *seq)
{
	struct blklist_batch b = { .rec = &r, .n = 1, .seq = (*seq)++ };

	both_apply(l, &b);
}

static void
same_ends(const struct both *l)
{
	struct blk a[ROWS], b[ROWS];
	size_t na, nb;

	for (int reverse = 0; reverse < 2; reverse++) {
		na = blklist_window(l->lit, BLKLIST_BY_AGE, reverse, 0, a, ROWS);
		nb = blklist_window(l->ix, BLKLIST_BY_AGE, reverse, 0, b, ROWS);
		ck_assert_uint_eq(na, nb);
		same_rows(a, b, na, "ends");
	}
}

CASE("corners", .seconds = 120);

/*
 * The sweep's last word is the one where positions are being taken.  _i
 * places what is taken, and what is freed, differently in it.
 */
LOOP_TEST(blocks_that_come_in_the_last_word_of_a_sweep_stay_in_order, 0, 32)
{
	struct both l;
	uint64_t seq = 1, addr = 0x1000, first = addr;
	unsigned sweeps = 0, in_last_word = 0;

	both_new(&l, 2048);
	for (int i = 0; i < 100 + _i; i++, addr += 16)
		one(&l, ALLOC(addr), &seq);
	while (sweeps < 3) {
		bool was = inside(&l)->age.sweeping;

		one(&l, ALLOC(addr), &seq);
		addr += 16;
		one(&l, FREE(first), &seq);
		first += 16;
		if (inside(&l)->age.sweeping &&
		    inside(&l)->age.from + 64 >= inside(&l)->age.next) {
			in_last_word++;
			sound_both(&l);
			same_ends(&l);
		}
		if (was && !inside(&l)->age.sweeping) {
			sweeps++;
			sound_both(&l);
			same_ends(&l);
		}
	}
	ck_assert_uint_gt(in_last_word, 0);
	both_free(&l);
}

LOOP_TEST(positions_never_run_out, 0, 3)
{
	enum { MAX = 3000 };
	struct both l;
	uint64_t seq = 1;

	/* Full, then one out and one in for ever, oldest or newest first. */
	both_new(&l, MAX);
	for (uint64_t i = 0; i < MAX; i++)
		one(&l, ALLOC(0x1000 + i * 16), &seq);
	for (uint64_t i = 0; i < 30000; i++) {
		uint64_t slot = _i == 0 ? i % MAX : _i == 1 ? 7 :
		    i * 7919 % MAX;

		one(&l, FREE(0x1000 + slot * 16), &seq);
		one(&l, ALLOC(0x1000 + slot * 16), &seq);
		ck_assert_uint_lt(inside(&l)->age.next, inside(&l)->age.cap);
		if (i % 1000 == 0)
			sound_both(&l);
	}
	same_ends(&l);
	both_free(&l);
}

TEST(old_numbers_in_no_order_are_put_into_order)
{
	struct both l;
	uint64_t seq = 1000000;

	seed = check_seed(42);
	both_new(&l, 20000);
	for (int part = 0; part < 5; part++) {
		for (uint64_t i = 0; i < 1000; i++) {
			struct blk b = {
				.addr = (part * 1000 + i) * 64,
				.seq = 1 + below(3000), .flags = 0xa0,
			};

			ck_assert_int_eq(blklist_put(l.lit, &b), 0);
			ck_assert_int_eq(blklist_put(l.ix, &b), 0);
		}
		for (uint64_t i = 0; i < 100; i++)
			one(&l, ALLOC(0x7f0000000000 + (part * 100 + i) * 16),
			    &seq);
		ck_assert(inside(&l)->age.unsorted);
		same_ends(&l);
		ck_assert(!inside(&l)->age.unsorted);
		sound_both(&l);
	}
	one(&l, FREE(0), &seq);
	one(&l, ALLOC(0), &seq);
	ck_assert(!inside(&l)->age.unsorted);
	same_ends(&l);
	both_free(&l);
}

TEST(high_number_that_has_gone_keeps_no_later_one_out_of_order)
{
	struct both l;
	uint64_t seq = 1;
	struct blk b = { .addr = 0x20, .seq = 1000000, .flags = 0xa0 };

	both_new(&l, 64);
	one(&l, ALLOC(0x1000), &seq);
	ck_assert_int_eq(blklist_put(l.ix, &b), 0);
	ck_assert_int_eq(blklist_put(l.lit, &b), 0);
	ck_assert_int_eq(blklist_take(l.ix, 0, 0x20), 0);
	ck_assert_int_eq(blklist_take(l.lit, 0, 0x20), 0);
	one(&l, ALLOC(0x2000), &seq);
	same_ends(&l);
	one(&l, ALLOC(0x3000), &seq);
	ck_assert(!inside(&l)->age.unsorted);
	same_ends(&l);
	both_free(&l);
}

TEST(order_is_mended_in_the_middle_of_a_sweep)
{
	struct both l;
	uint64_t seq = 1, addr = 0x1000, first = addr;
	struct blk b = { .addr = 0x20, .seq = 0, .flags = 0xa0 };

	both_new(&l, 4096);
	for (int i = 0; i < 500; i++, addr += 16)
		one(&l, ALLOC(addr), &seq);
	while (!inside(&l)->age.sweeping) {
		one(&l, ALLOC(addr), &seq);
		addr += 16;
		one(&l, FREE(first), &seq);
		first += 16;
	}
	ck_assert_int_eq(blklist_put(l.lit, &b), 0);
	ck_assert_int_eq(blklist_put(l.ix, &b), 0);
	for (int i = 0; i < 70; i++, addr += 16)
		one(&l, ALLOC(addr), &seq);
	ck_assert(inside(&l)->age.sweeping);
	sound_both(&l);
	same_ends(&l);
	sound_both(&l);
	for (int i = 0; i < 9000; i++) {
		one(&l, ALLOC(addr), &seq);
		addr += 16;
		one(&l, FREE(first), &seq);
		first += 16;
	}
	same_ends(&l);
	sound_both(&l);
	both_free(&l);
}

/*
 * A heap that stands, and young blocks that come and go: sweeps leave those
 * that stand alone.  Numbers leap, so that runs are moved too.
 */
TEST(sweep_moves_the_young_of_a_long_list)
{
	enum { OLD = 200000, YOUNG = 30000, EVENTS = 4000 };
	static struct rec r[EVENTS];
	struct blklist *l;
	struct blklist_batch b = { .rec = r, .seq = 1 };
	const struct indexed *ix;
	static uint64_t seq[OLD + YOUNG];	/* by address; 0: not listed */
	uint64_t at = 0, runs = 0;
	unsigned sweeps = 0, of_part = 0;
	bool was = false;

	ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, OLD + YOUNG), 0);
	ix = l->impl;
	while (sweeps < (check_is_shortened() ? 3 : 6)) {
		for (b.n = 0; b.n + 3 <= EVENTS; at++) {
			uint64_t young = at - OLD;

			if (at < OLD) {
				r[b.n++] = ALLOC(at * 32);
				continue;
			}
			if (young >= YOUNG)
				r[b.n++] = FREE((OLD + young % YOUNG) * 32);
			r[b.n++] = ALLOC((OLD + young % YOUNG) * 32);
			/* Now and then an old one goes: nothing is too old. */
			if (young % 64 == 0)
				r[b.n++] = FREE(young / 64 * 32);
		}
		for (size_t i = 0; i < b.n; i++) {
			struct blklist_batch one = { .rec = &r[i], .n = 1,
				.seq = b.seq + i, .near_ms = (int64_t)b.seq };

			blklist_apply(l, &one);
			seq[rec_addr(&r[i]) / 32] =
			    rec_op(&r[i]) == REC_ALLOC ? one.seq : 0;
			if (!was && ix->age.sweeping) {
				sweeps++;
				of_part += ix->age.to >= AGE_CHUNK;
			}
			was = ix->age.sweeping;
		}
		runs += ix->age.nruns > 1;
		b.seq += UINT64_C(1) << 29;
		if (at / EVENTS % 8 == 0)
			sound(l);
	}
	sound(l);
	for (uint64_t i = 0; i < OLD + YOUNG; i++) {
		struct blk row;

		if (blklist_get(l, 0, i * 32, &row) != 0)
			row.seq = 0;
		if (row.seq != seq[i])
			ck_abort_msg("block %lu has another number", (long)i);
	}
	ck_assert_uint_eq(blklist_counts(l)->unknown_free, 0);
	ck_assert_uint_eq(blklist_counts(l)->duplicate, 0);
	ck_assert_uint_gt(of_part, 0);
	ck_assert_uint_gt(runs, 0);
	blklist_free(l);
}

TEST(short_list_gives_the_memory_of_a_long_one_back)
{
	enum { N = 500000 };
	static struct rec r[4096];
	struct blklist *l;
	struct blklist_batch b = { .rec = r, .seq = 1 };
	size_t long_list, short_list;
	struct blk rows[64];

	ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, N), 0);
	for (int freeing = 0; freeing < 2; freeing++) {
		for (uint64_t i = 0; i < N; i += b.n) {
			for (b.n = 0; b.n < 4096 && i + b.n < N; b.n++) {
				/* Every 8,192nd stays. */
				uint64_t a = (i + b.n) * 48;

				r[b.n] = !freeing ? ALLOC(a) :
				    (i + b.n) % 8192 == 8191 ?
				    REC(.op = REC_CONTROL) : FREE(a);
			}
			blklist_apply(l, &b);
			b.seq += b.n;
		}
		sound(l);
		if (!freeing)
			long_list = blklist_memory(l);
	}
	short_list = blklist_memory(l);
	ck_assert_uint_eq(blklist_counts(l)->unknown_free, 0);
	ck_assert_uint_gt(long_list, N * 50);
	ck_assert_uint_lt(short_list, long_list / 8);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 0, rows, 64),
	    N / 8192);
	for (unsigned i = 0; i < N / 8192; i++)
		ck_assert_uint_eq(rows[i].addr, (i * 8192 + 8191) * UINT64_C(48));
	blklist_free(l);
}

TEST(list_of_many_blocks_is_the_literal_one)
{
	enum { N = 80000, EVENTS = 4000 };
	static struct rec r[EVENTS];
	struct both l;
	struct blklist_batch b = { .rec = r, .seq = 1 };
	unsigned char *live = calloc(N, 1);

	/* Above 64 k the indexed list fetches ahead; blocks come ascending, so
	 * the hint keeps the literal one quick. */
	seed = check_seed(4711);
	both_new(&l, N);
	for (uint64_t i = 0; i < N; i += b.n) {
		for (b.n = 0; b.n < EVENTS; b.n++)
			r[b.n] = ALLOC((i + b.n) * 32);
		both_apply(&l, &b);
		b.seq += b.n;
		memset(live + i, 1, b.n);
	}
	b.cancel = true;
	for (int round = 0; round < 4; round++) {
		uint64_t at = below(N / 2);

		for (b.n = 0; b.n < EVENTS; b.n++) {
			at += below(3);
			r[b.n] = live[at] ? FREE(at * 32) : ALLOC(at * 32);
			live[at] = !live[at];
		}
		both_apply(&l, &b);
		b.seq += b.n;
		sound_both(&l);
		for (int order = 0; order < 4; order++)
			same_window(&l, order & 1 ? BLKLIST_BY_AGE :
			    BLKLIST_BY_ADDRESS, order & 2);
		same_block(&l, 0, below(N) * UINT64_C(32));
	}
	ck_assert_uint_gt(blklist_counts(l.ix)->cancelled, 0);
	ck_assert_uint_gt(blklist_counts(l.ix)->aRecActive, 65536);
	both_free(&l);
	free(live);
}

TEST(millions_of_blocks_are_sound)
{
	enum { N = 2200000, EVENTS = 4096 };
	static struct rec r[EVENTS];
	struct blklist *l;
	struct blklist_batch b = { .rec = r, .n = EVENTS, .seq = 1 };
	struct blk row;
	uint64_t made = 0, at = 0;

	seed = check_seed(31);
	ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, N), 0);
	while (made < N - EVENTS) {
		for (size_t i = 0; i < EVENTS; i++)
			r[i] = ALLOC(made++ * 32);
		blklist_apply(l, &b);
		b.seq += b.n;
	}
	for (int round = 0; round < check_rounds(300); round++) {
		for (size_t i = 0; i < EVENTS; i += 2) {
			at = (at + 7919 * below(100)) % made;
			r[i] = FREE(at * 32);
			r[i + 1] = ALLOC(at * 32);
		}
		blklist_apply(l, &b);
		b.seq += b.n;
	}
	sound(l);
	ck_assert_uint_eq(blklist_counts(l)->aRecActive, made);
	ck_assert_uint_eq(blklist_counts(l)->unknown_free, 0);
	ck_assert_uint_eq(blklist_counts(l)->duplicate, 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t offs = below((unsigned)made);

		ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false,
		    offs, &row, 1), 1);
		ck_assert_int_eq(blklist_rank(l, BLKLIST_BY_AGE, 0, row.addr),
		    offs);
		ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_ADDRESS, false,
		    offs, &row, 1), 1);
		ck_assert_uint_eq(row.addr, offs * 32);
	}
	blklist_free(l);
}

/* What an entry of another round says must never be believed. */
TEST(generations_of_the_pair_table_may_wrap)
{
	static struct cancel c;
	static struct rec r[8];
	struct blklist *l;

	ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, 8), 0);
	for (int i = 0; i < 8; i++)
		r[i] = ALLOC(0x1000 + i * 16);
	ck_assert_uint_eq(cancel_pairs(&c, l, r, 8, 0), 0);
	ck_assert_uint_eq(c.generation, 1);
	r[2] = FREE(0x1000 + 5 * 16);
	c.generation = (1u << 20) - 1;
	ck_assert_uint_eq(cancel_pairs(&c, l, r, 8, 0), 0);
	ck_assert_uint_eq(c.generation, 1);
	r[6] = FREE(0x1000 + 5 * 16);
	ck_assert_uint_eq(cancel_pairs(&c, l, r, 8, 0), 1);
	ck_assert_uint_eq(c.mate[6], 5);
	ck_assert_uint_eq(c.mate[5], 6);
	ck_assert_uint_eq(c.mate[2], CANCEL_NONE);
	blklist_free(l);
}

CASE("limits", .tags = TAG_KERNEL);

/*
 * With a sanitizer address space cannot be limited, for it takes terabytes of
 * it; the lists there are the same.
 */
#ifndef SANITIZED
TEST(list_without_memory_counts_full_and_goes_on)
{
	enum { N = 200000 };
	struct blklist *l;
	struct rlimit unlimited, limit;
	struct blk row;
	uint64_t seq = 1, active;
	long pages = 0;
	char why[200] = "";
	int checked;
	FILE *f;

	ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, N), 0);
	f = fopen("/proc/self/statm", "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%ld", &pages), 1);
	fclose(f);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &unlimited), 0);
	limit = unlimited;
	limit.rlim_cur = (rlim_t)pages * 4096 + (400 << 10);
	/* From here to where it is lifted nothing but the list may allocate. */
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	/* Far apart, so that regions and the hash both ask for more. */
	for (uint64_t i = 0; i < N; i++) {
		struct rec r = ALLOC((i % 2 ? i * 0x40000 : i * 16) + (i & 1));
		struct blklist_batch b = { .rec = &r, .n = 1, .seq = seq++ };

		blklist_apply(l, &b);
	}
	active = blklist_counts(l)->aRecActive;
	checked = blklist_check(l, why, sizeof(why));
	while (blklist_window(l, BLKLIST_BY_ADDRESS, false, 0, &row, 1) == 1) {
		struct rec r = FREE(row.addr);
		struct blklist_batch b = { .rec = &r, .n = 1, .seq = seq++ };

		blklist_apply(l, &b);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &unlimited), 0);
	ck_assert_msg(checked == 0, "%s", why);
	sound(l);
	ck_assert_uint_gt(active, 1000);
	ck_assert_uint_gt(blklist_counts(l)->full, 0);
	ck_assert_uint_eq(active + blklist_counts(l)->full, N);
	ck_assert_uint_eq(blklist_counts(l)->unknown_free, 0);
	ck_assert_uint_eq(blklist_counts(l)->frees, active);
	blklist_free(l);
}
#endif

#ifndef SANITIZED
TEST(list_is_smaller_where_memory_is_limited)
{
	struct rlimit unlimited, limit;
	struct blklist *l, *none;
	int most, all;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &unlimited), 0);
	limit = unlimited;
	limit.rlim_cur = 256 << 20;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	all = blklist_new(&none, BLKLIST_INDEXED, 1 << 23);
	most = blklist_new_most(&l, BLKLIST_INDEXED, 1 << 23);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &unlimited), 0);
	ck_assert_int_eq(all, -ENOMEM);
	ck_assert_int_eq(most, 0);
	ck_assert_uint_lt(blklist_counts(l)->aRecMax, 1 << 23);
	ck_assert_uint_gt(blklist_counts(l)->aRecMax, 1 << 16);
	sound(l);
	blklist_free(l);
}
#endif

CASE("corners");

TEST(list_is_as_large_as_its_address_space_has_room_for)
{
	struct rec r = ALLOC(0x1000);
	struct blklist_batch b = { .rec = &r, .n = 1, .seq = 1 };
	struct blklist *l;
	uint32_t max;

	ck_assert_int_eq(blklist_new_most(&l, BLKLIST_INDEXED, BLKLIST_MAX), 0);
	max = blklist_counts(l)->aRecMax;
#if SIZE_MAX > UINT32_MAX
	ck_assert_uint_eq(max, BLKLIST_MAX);
#else
	ck_assert_uint_lt(max, BLKLIST_MAX);
	ck_assert_uint_ge(max, 1u << 22);
#endif
	blklist_apply(l, &b);
	ck_assert_uint_eq(blklist_counts(l)->aRecActive, 1);
	blklist_free(l);
	if (max < BLKLIST_MAX)
		ck_assert_int_eq(blklist_new(&l, BLKLIST_INDEXED, max * 2),
		    -ENOMEM);
}

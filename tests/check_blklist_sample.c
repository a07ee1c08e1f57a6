/*
 * What a sample of the blocks stands for, for every kind of list.
 */
#include "harness.h"

#include <math.h>
#include <string.h>

#include "blklist_both.h"

#define PERIOD (512 * 1024)
#define SIZED(a, ...) \
	REC(.op = REC_ALLOC, .type = TYPE_MALLOC, .addr = (a), __VA_ARGS__)

static const enum blklist_kind kinds[] = { BLKLIST_INDEXED, BLKLIST_LITERAL };

/* How many blocks one of layer 0 and this size stands for. */
static double
weight(const struct blklist *l, uint64_t size)
{
	struct blk b = { .size = size, .flags = 0xa0 };

	return blklist_weight(l, &b);
}

static void
near(double a, double b, double part)
{
	ck_assert_msg(fabs(a - b) <= fabs(b) * part + 1, "%g is not %g", a, b);
}

CASE("rules");

LOOP_TEST(without_a_sample_estimates_are_exact, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	APPLY(l, SIZED(0x10, .size = 5), SIZED(0x20, .size = 7),
	    SIZED(0x30, .size = 9), FREE(0x20));
	ck_assert_uint_eq(COUNT(l, est_blocks), 2);
	ck_assert_uint_eq(COUNT(l, est_bytes), 14);
	ck_assert_uint_eq(COUNT(l, est_peak_bytes), 21);
	ck_assert_int_eq(blklist_take(l, 0, 0x10), 0);
	ck_assert_uint_eq(COUNT(l, est_blocks), 1);
	ck_assert_uint_eq(COUNT(l, est_bytes), 9);
	ck_assert(weight(l, 5) == 1);
	blklist_free(l);
}

/* Each row: a size, and how many blocks one of it stands for. */
LOOP_TEST(block_stands_for_the_reciprocal_of_its_chance, 0, NELEM(kinds))
{
	const struct { uint64_t size; double weight; } t[] = {
		{ 0, PERIOD + 0.5 },
		{ 1, PERIOD + 0.5 },
		{ 1024, 512.5 },
		{ PERIOD, 1.58197 },
		{ 3 * PERIOD, 1.05240 },
		{ UINT64_C(1) << 40, 1 },
		{ REC_ADDR_MASK, 1 },
	};

	for (size_t i = 0; i < NELEM(t); i++) {
		struct blklist *l = list_of(kinds[_i], 8);

		blklist_sample(l, PERIOD);
		ck_assert(fabs(weight(l, t[i].size) / t[i].weight -
		    1) < 0.001);
		APPLY(l, SIZED(0x10, .size = t[i].size));
		near((double)COUNT(l, est_blocks), t[i].weight, 0.001);
		near((double)COUNT(l, est_bytes),
		    t[i].weight * (double)t[i].size, 0.003);
		ck_assert_uint_eq(COUNT(l, est_peak_bytes),
		    COUNT(l, est_bytes));
		ck_assert_uint_eq(COUNT(l, live_bytes), t[i].size);
		blklist_free(l);
	}
}

/* Of the API's layer, however it came to be listed and whatever it is freed by. */
LOOP_TEST(block_of_the_api_stands_for_itself, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 16);
	struct blk b = { .addr = 0x990, .size = 3, .flags = 0xa8 };

	blklist_sample(l, PERIOD);
	ck_assert(blklist_is_sample(l));
	ck_assert(blklist_weight(l, &b) == 1);
	APPLY(l, SIZED(0x10, .low = 8, .size = 1),
	    SIZED(0x20, .low = 8, .size = 100),
	    SIZED(0x30, .low = 8, .size = 7));
	ck_assert_int_eq(blklist_put(l, &b), 0);
	ck_assert_uint_eq(COUNT(l, est_blocks), 4);
	ck_assert_uint_eq(COUNT(l, est_bytes), 111);
	/* One of layer 0 at the same address is of the sample. */
	APPLY(l, SIZED(0x10, .size = 1024));
	near((double)COUNT(l, est_blocks), 516.5, 0.001);
	APPLY(l, FREE(0x10));
	/* Replaced, freed, taken out, in a range. */
	APPLY(l, SIZED(0x20, .low = 8, .size = 50),
	    REC(.op = REC_FREE, .low = 8, .type = TYPE_FREE, .addr = 0x30));
	ck_assert_uint_eq(COUNT(l, est_bytes), 54);
	ck_assert_int_eq(blklist_take(l, 1, 0x990), 0);
	ck_assert_uint_eq(COUNT(l, est_blocks), 2);
	APPLY(l, REC(.op = REC_RANGE, .low = 8, .addr = 0x10, .size = 32));
	ck_assert_uint_eq(COUNT(l, est_blocks), 0);
	ck_assert_uint_eq(COUNT(l, est_bytes), 0);
	blklist_free(l);
}

LOOP_TEST(longest_period_does_not_overflow, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	blklist_sample(l, UINT64_MAX);
	APPLY(l, SIZED(0x10, .size = REC_ADDR_MASK), SIZED(0x20, .size = 1));
	ck_assert_uint_ge(COUNT(l, est_bytes), REC_ADDR_MASK);
	ck_assert_uint_le(COUNT(l, est_bytes), UINT64_C(1) << 49);
	blklist_free(l);
}

/* By all the ways out that there are: nothing is left. */
LOOP_TEST(estimates_of_an_empty_list_are_zero, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 64);
	struct blk b = { .addr = 0x990, .size = 1234567, .flags = 0xa0 };
	struct rec r[32];

	blklist_sample(l, PERIOD);
	seed = check_seed(88172645463325252u);
	for (unsigned i = 0; i < 32; i++)
		r[i] = SIZED(0x1000 + i * 16, .low = i / 16 * 8,
		    .size = rng() >> (rng() & 63));
	apply_batch(l, r, 32, true);
	ck_assert_int_eq(blklist_put(l, &b), 0);
	/* A duplicate, a failed realloc, a pair, a free, a take, a range. */
	APPLY(l, SIZED(0x1000, .size = 77),
	    REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x1010),
	    REC(.op = REC_UNDO, .addr = 0x1010));
	APPLY_PAIRS(l, SIZED(0x10, .size = 3), FREE(0x10));
	ck_assert_uint_gt(COUNT(l, est_blocks), 33);
	for (unsigned i = 0; i < 16; i++)
		APPLY(l, FREE(0x1000 + i * 16));
	ck_assert_int_eq(blklist_take(l, 0, 0x990), 0);
	APPLY(l, REC(.op = REC_RANGE, .low = 8, .addr = 0x1000, .size = 4096));
	ck_assert_uint_eq(COUNT(l, aRecActive), 0);
	ck_assert_uint_eq(COUNT(l, est_blocks), 0);
	ck_assert_uint_eq(COUNT(l, est_bytes), 0);
	ck_assert_uint_gt(COUNT(l, est_peak_bytes), 0);
	blklist_free(l);
}

LOOP_TEST(cleared_list_keeps_its_period, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	blklist_sample(l, PERIOD);
	APPLY(l, SIZED(0x10, .size = 1024));
	blklist_clear(l);
	ck_assert_uint_eq(COUNT(l, est_blocks), 0);
	ck_assert_uint_eq(COUNT(l, est_peak_bytes), 0);
	APPLY(l, SIZED(0x10, .size = 1024));
	near((double)COUNT(l, est_blocks), 512.5, 0.001);
	blklist_free(l);
}

/*
 * A heap of which a block is sampled by that chance: what is estimated is near
 * what there is.  A hundred thousand bytes' worth of periods: 1 % is far off.
 */
TEST(estimate_is_near_the_heap_it_samples)
{
	enum { BLOCKS = 200000, P = 4096 };
	struct blklist *l = list_of(BLKLIST_INDEXED, BLOCKS);
	double blocks = 0, bytes = 0;

	blklist_sample(l, P);
	seed = check_seed(88172645463325252u);
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint64_t size = 16 + (rng() & 0xfff) * (rng() & 1);
		double chance = 1 - exp(-(double)size / P);
		struct rec r = SIZED(0x1000 + i * 16, .size = size);
		struct blklist_batch b = { .rec = &r, .n = 1, .seq = i + 1 };

		blocks++;
		bytes += (double)size;
		if ((double)(rng() >> 11) / 9007199254740992.0 < chance)
			blklist_apply(l, &b);
	}
	ck_assert_uint_lt(COUNT(l, aRecActive), BLOCKS / 4);
	near((double)COUNT(l, est_bytes), bytes, 0.02);
	near((double)COUNT(l, est_blocks), blocks, 0.1);
	blklist_free(l);
}

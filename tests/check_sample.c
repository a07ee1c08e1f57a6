/*
 * Sampling: that the draws are what they claim to be, beside libm, and that no
 * sampled block is ever missed at its free.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/alloclog/produce/sample.h"
#include "harness.h"

/* --- the draws --------------------------------------------------------------- */

#define DRAWS check_rounds(1000000)
#define BINS 100

static const uint64_t periods[] = {
	3, 100, 4096, 524288, UINT64_C(1) << 30, UINT64_C(1) << 40,
};

#define PERIODS (sizeof(periods) / sizeof(periods[0]))

static struct sampler
begun(uint64_t period, uint64_t seed)
{
	struct sampler s = { .left = 0 };

	sample_begin(&s, period, seed);
	return s;
}

CASE("draws", .seconds = 60);

LOOP_TEST(draws_have_the_mean_that_was_asked_for, 0, PERIODS)
{
	struct sampler s = begun(periods[_i], 1);
	double p = -expm1(-1.0 / (double)periods[_i]), sum = 0;
	double sigma = sqrt(1 - p) / p;		/* of the whole bytes */

	for (int i = 0; i < DRAWS; i++)
		sum += (double)sample_draw(&s);
	ck_assert_double_lt(fabs(sum / DRAWS - 1 / p),
	    4 * sigma / sqrt(DRAWS));
}

/* Bins that share out all draws alike. */
static unsigned
bin_of(uint64_t draw, double period)
{
	/* The chance of less than this one, and of no more. */
	double low = -expm1(-((double)draw - 1) / period);

	return low < 1 ? (unsigned)(low * BINS) : BINS - 1;
}

LOOP_TEST(draws_are_spread_as_the_exponential_is, 0, PERIODS)
{
	const double period = (double)periods[_i];
	struct sampler s = begun(periods[_i], 2);
	double expected[BINS] = { 0 }, chi = 0, low, high;
	unsigned seen[BINS] = { 0 }, bins = 0;
	uint64_t n;

	for (int i = 0; i < DRAWS; i++)
		seen[bin_of(sample_draw(&s), period)]++;
	/* A small period has few values: what a bin holds is summed up. */
	if (period > 10000) {
		for (unsigned b = 0; b < BINS; b++)
			expected[b] = (double)DRAWS / BINS;
	} else {
		for (n = 1; (double)n < 60 * period; n++) {
			low = -expm1(-((double)n - 1) / period);
			high = -expm1(-(double)n / period);
			expected[bin_of(n, period)] += (high - low) * DRAWS;
		}
	}
	for (unsigned b = 0; b < BINS; b++) {
		double d = (double)seen[b] - expected[b];

		if (expected[b] < 5)
			continue;
		chi += d * d / expected[b];
		bins++;
	}
	ck_assert_uint_ge(bins, 3);
	/* Mean bins - 1, and its spread. */
	ck_assert_double_lt(fabs(chi - (bins - 1)), 4.5 * sqrt(2.0 * bins));
}

/* The bits of one number and the next have nothing in common either. */
TEST(a_draw_says_nothing_about_the_next)
{
	struct sampler s = begun(524288, 3);
	double sum = 0, mean = 524288.5, last = 0;

	for (int i = 0; i < DRAWS; i++) {
		double d = (double)sample_draw(&s) - mean;

		sum += d * last;
		last = d;
	}
	ck_assert_double_lt(fabs(sum / DRAWS / mean / mean),
	    4 / sqrt(DRAWS));
}

TEST(threads_draw_differently)
{
	struct sampler a = begun(524288, 4), b = begun(524288, 5);
	unsigned same = 0;

	for (int i = 0; i < 1000; i++)
		same += sample_draw(&a) == sample_draw(&b);
	ck_assert_uint_eq(same, 0);
}

/* --- which blocks ---------------------------------------------------------- */

#define BLOCKS check_rounds(400000)

static const uint64_t sizes[] = { 0, 1, 16, 100, 4095, 4096, 10000, 100000 };

CASE("blocks", .seconds = 60);

/* A block of s bytes with 1 - exp(-s / period), whatever lies between. */
TEST(a_block_is_met_in_proportion_to_its_bytes)
{
	struct sampler s = begun(4096, 6);
	unsigned met[8] = { 0 };
	uint64_t bytes = 0;
	double truth = 0, estimate = 0, spread = 0;

	for (int i = 0; i < 8 * BLOCKS; i++)
		met[i * 5 % 8] += sample_due(&s, sizes[i * 5 % 8]);
	for (unsigned k = 0; k < 8; k++) {
		uint64_t size = sizes[k] ? sizes[k] : 1;
		double p = -expm1(-(double)size / 4096);

		ck_assert_double_lt(fabs(met[k] - p * BLOCKS),
		    1 + 4 * sqrt(BLOCKS * p * (1 - p)));
		bytes = size * (uint64_t)BLOCKS;
		truth += (double)bytes;
		estimate += met[k] * (double)size / p;
		spread += (double)BLOCKS * (double)size * (double)size *
		    (1 - p) / p;
	}
	ck_assert_double_lt(fabs(estimate - truth), 3 * sqrt(spread));
}

TEST(a_block_that_is_met_often_is_one)
{
	struct sampler s = begun(100, 7);

	for (int i = 0; i < 1000; i++)
		ck_assert(sample_due(&s, 1000000));
	ck_assert(sample_due(&s, UINT64_MAX));
	ck_assert_uint_ge(s.left, 1);
}

TEST(without_a_period_nothing_is_counted)
{
	struct sampler s = begun(0, 8);

	ck_assert_uint_eq(s.left, 0);
	ck_assert(!sample_skips(&s, 0));
	ck_assert(!sample_skips(&s, 100));
	ck_assert_uint_eq(s.left, 0);
}

/* Bytes to the next sample, looked at by strides: as many as were drawn. */
TEST(a_countdown_goes_on_from_stride_to_stride)
{
	struct sampler s = begun(UINT64_C(1) << 24, 10);

	for (int i = 0; i < 1000; i++) {
		uint64_t bytes = s.left + s.after_stride, size = 1 + (uint64_t)i * 4001;
		uint64_t met = 0;

		ck_assert_uint_le(s.left, SAMPLE_STRIDE);
		do
			met += size;
		while (!sample_due(&s, size));
		ck_assert_uint_ge(met, bytes);
		ck_assert_uint_lt(met - size, bytes);
	}
}

TEST(a_stride_without_a_period_is_skipped_and_nothing_behind_it)
{
	struct sampler s = begun(0, 11);

	sample_stride(&s);
	ck_assert(sample_skips(&s, SAMPLE_STRIDE - 1));
	ck_assert(!sample_skips(&s, 1));
	ck_assert_uint_eq(s.period, 0);
	ck_assert_uint_eq(s.after_stride, 0);
}

TEST(an_enormous_period_is_a_very_long_one)
{
	struct sampler s = begun(UINT64_MAX, 9);

	for (int i = 0; i < 100000; i++) {
		uint64_t n = sample_draw(&s);

		ck_assert_uint_ge(n, 1);
		ck_assert_uint_le(n, SAMPLE_PERIOD_MAX * 64);
	}
}

/* --- the set ------------------------------------------------------------------ */

#define MANY 300000	/* more than the second table holds */

static void *
block(uint64_t i)
{
	return (void *)(uintptr_t)(UINT64_C(0x7f0000000000) + 16 * i);
}

CASE("set", .seconds = 60);

TEST(what_is_kept_is_found_once)
{
	for (uint64_t i = 0; i < MANY; i++)
		ck_assert(sample_add(block(i * 3)));
	for (uint64_t i = 0; i < MANY; i++) {
		ck_assert(sample_filter_has(block(i * 3)));
		ck_assert(sample_has(block(i * 3)));
		ck_assert(!sample_has(block(i * 3 + 1)));
		ck_assert(!sample_remove(block(i * 3 + 1)));
		ck_assert(sample_remove(block(i * 3)));
		ck_assert(!sample_has(block(i * 3)));
		ck_assert(!sample_remove(block(i * 3)));
	}
}

/* Few at a time, as it is: the filter is clean again when they have gone. */
TEST(an_empty_set_asks_nobody_to_look)
{
	unsigned maybe = 0;

	for (uint64_t i = 0; i < 1000; i++)
		ck_assert(sample_add(block(i * 77)));
	for (uint64_t i = 0; i < MANY; i++)
		maybe += sample_filter_has(block(i * 5 + 3));
	/* A thousand counts in eight thousand: few of the others' blocks. */
	ck_assert_uint_lt(maybe, MANY / 6);
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert(sample_remove(block(i * 77)));
	for (uint64_t i = 0; i < MANY; i++)
		ck_assert(!sample_filter_has(block(i)));
}

TEST(a_count_that_has_come_to_its_end_hides_nobody)
{
	void *same[1000];
	unsigned n = 0;
	uint32_t bucket = sample_bucket(block(0));

	for (uint64_t i = 0; n < 1000; i++)
		if (sample_bucket(block(i)) == bucket)
			same[n++] = block(i);
	for (unsigned k = 0; k < n; k++)
		ck_assert(sample_add(same[k]));
	for (unsigned k = 0; k < n; k++) {
		ck_assert(sample_filter_has(same[k]));
		ck_assert(sample_remove(same[k]));
	}
}

/* By which the set finds a block's lines. */
#define HASH UINT64_C(0x9e3779b97f4a7c15)

/* Whose block that is; 0: no address has it. */
static uint64_t
addr_of_hash(uint64_t hash)
{
	uint64_t inverse = 1;

	/* Each step doubles the low bits that are right. */
	for (int i = 0; i < 6; i++)
		inverse *= 2 - HASH * inverse;
	hash *= inverse;
	return hash < UINT64_C(1) << 58 ? hash << 4 : 0;
}

/* All that fall into one line of each table: they differ in other bits alone. */
TEST(a_full_set_keeps_nothing_by_halves)
{
	uint64_t line = UINT64_C(0x123456789abcdef0) >> 20 << 20, addr;
	void *same[64];
	unsigned n = 0, kept = 0;

	for (uint64_t i = 0; n < 64; i++)
		if ((addr = addr_of_hash(line | i)) != 0)
			same[n++] = (void *)(uintptr_t)addr;
	while (kept < n && sample_add(same[kept]))
		kept++;
	ck_assert_uint_eq(kept, 40);
	for (unsigned k = kept; k < n; k++)
		ck_assert(!sample_remove(same[k]));
	ck_assert(sample_remove(same[5]));
	ck_assert(sample_add(same[50]));
	ck_assert(sample_remove(same[50]));
	for (unsigned k = 0; k < kept; k++)
		ck_assert(sample_remove(same[k]) == (k != 5));
	for (unsigned k = 0; k < n; k++)
		ck_assert(!sample_filter_has(same[k]));
}

/* 16 bytes apart, a page, or anything up to a kilobyte, as a heap has them. */
static const unsigned strides[] = { 1, 7, 256, 0 };

LOOP_TEST(two_million_blocks_are_kept_however_they_lie, 0,
    sizeof(strides) / sizeof(strides[0]))
{
	unsigned stride = strides[_i], refused = 0;
	uint64_t at = 0, random = 1;

	for (int i = 0; i < check_rounds(2000000); i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		at += stride != 0 ? stride : 1 + (random >> 58);
		refused += !sample_add(block(at));
	}
	ck_assert_uint_eq(refused, 0);
}

TEST(a_held_block_is_nobodys_until_it_is_put_back)
{
	sample_place *place;

	ck_assert_ptr_null(sample_hold(block(1)));
	ck_assert(sample_add(block(1)));
	place = sample_hold(block(1));
	ck_assert_ptr_nonnull(place);
	ck_assert(!sample_has(block(1)));
	ck_assert(!sample_remove(block(1)));
	ck_assert_ptr_null(sample_hold(block(1)));
	/* Meanwhile another's block lies there, begins and ends. */
	ck_assert(sample_add(block(1)));
	ck_assert(sample_remove(block(1)));
	sample_restore(place);
	ck_assert(sample_filter_has(block(1)));
	place = sample_hold(block(1));
	ck_assert_ptr_nonnull(place);
	sample_release(place);
	ck_assert(!sample_remove(block(1)));
	ck_assert(!sample_filter_has(block(1)));
}

TEST(a_bootstrap_block_is_in_the_filter_and_not_in_the_set)
{
	ck_assert(!sample_filter_has(block(1)));
	sample_filter_add(block(1));
	ck_assert(sample_filter_has(block(1)));
	ck_assert(!sample_has(block(1)));
	ck_assert(!sample_remove(block(1)));
	ck_assert(sample_filter_has(block(1)));
	/* One of the two is enough. */
	ck_assert(sample_add(block(1)));
	sample_filter_remove(block(1));
	ck_assert(sample_filter_has(block(1)));
	ck_assert(sample_remove(block(1)));
	ck_assert(!sample_filter_has(block(1)));
}

TEST(a_fork_has_a_set_of_its_own)
{
	int status;
	pid_t pid;

	for (uint64_t i = 0; i < 10000; i++)
		ck_assert(sample_add(block(i)));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (uint64_t i = 0; i < 10000; i++)
			if (!sample_filter_has(block(i)) ||
			    !sample_remove(block(i)))
				_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	for (uint64_t i = 0; i < 10000; i++)
		ck_assert(sample_remove(block(i)));
}

/* --- threads ------------------------------------------------------------------ */

#define THREADS 8
#define STEPS check_rounds(60000)
#define ADDRESSES 4096

static _Atomic bool taken[ADDRESSES];		/* the allocator */
static _Atomic uint32_t cells[256];		/* address + 1 of a live block */
static bool sampled[ADDRESSES];			/* its owner's word */
static _Atomic unsigned wrong;

static void
let_go(uint32_t a)
{
	bool was = sampled[a];

	if (was && !sample_filter_has(block(a)))
		atomic_fetch_add(&wrong, 1);
	if (sample_remove(block(a)) != was)
		atomic_fetch_add(&wrong, 1);
	atomic_store(&taken[a], false);
}

/* As realloc does it: held, and then one or the other. */
static void
again(uint32_t a, uint64_t random)
{
	sample_place *place = sample_hold(block(a));

	if ((place != NULL) != sampled[a])
		atomic_fetch_add(&wrong, 1);
	if (place == NULL)
		return;
	if (random & 1) {
		sample_restore(place);
	} else {
		sample_release(place);
		sampled[a] = false;
	}
}

static void *
work(void *arg)
{
	struct sampler s = begun(64, (uintptr_t)arg);
	uint64_t r = (uintptr_t)arg;

	for (int i = 0; i < STEPS; i++) {
		uint32_t a, old;

		r = r * UINT64_C(6364136223846793005) + 1;
		a = (uint32_t)(r >> 40) % ADDRESSES;
		if (atomic_exchange(&taken[a], true))
			continue;
		sampled[a] = sample_due(&s, 32) && sample_add(block(a));
		if (r >> 33 & 1)
			again(a, r >> 34);
		old = atomic_exchange(&cells[r >> 56], a + 1);
		if (old != 0)
			let_go(old - 1);
	}
	return NULL;
}

CASE("threads", .seconds = 60);

TEST(blocks_go_from_thread_to_thread_and_none_is_missed)
{
	pthread_t thread[THREADS];
	uint32_t old;

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, work,
				     (void *)(i + 1)), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	for (unsigned c = 0; c < 256; c++)
		if ((old = atomic_load(&cells[c])) != 0)
			let_go(old - 1);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	for (unsigned a = 0; a < ADDRESSES; a++)
		ck_assert(!sample_filter_has(block(a)));
}

/*
 * The set is a row of tables, each eight times as large as the one before and
 * mapped when that has no room; a block has one line of eight places in each.
 * So nothing moves, a look-up is a few cache lines, and a few hundred samples
 * need one small table.
 *
 * Lines fill unevenly: when a quarter of all is used, some block finds its line
 * full in each of four tables.  The last table, as large as the one before it,
 * takes those and spreads them by other bits.
 */
#include <sys/mman.h>

#include "../unwind/syscalls.h"
#include "sample.h"

/* splitmix64: any seed will do. */
static uint64_t
random_next(struct sampler *s)
{
	uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The upper half of the product's 128 bits. */
static inline uint64_t
product_high(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	return (uint64_t)((unsigned __int128)a * b >> 64);
#else
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	uint64_t mid = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
	uint64_t more = (a & UINT32_MAX) * (b >> 32) + (mid & UINT32_MAX);

	return (a >> 32) * (b >> 32) + (mid >> 32) + (more >> 32);
#endif
}

/* -log2(u / 2^64), 32 bits of fraction, one a squaring: libm is not loaded. */
static uint64_t
minus_log2(uint64_t u)
{
	unsigned lead = (unsigned)__builtin_clzll(u);
	uint64_t m = u << lead, fraction = 0;

	for (int i = 0; i < 32; i++) {
		m = product_high(m, m);
		fraction = fraction << 1 | m >> 63;
		if (m >> 63 == 0)
			m <<= 1;
	}
	return ((uint64_t)(lead + 1) << 32) - fraction;
}

#define LN2 UINT64_C(0xb17217f7d1cf79ab) /* in units of 2^-64 */

/* An exponential draw: of s bytes one is met with 1 - exp(-s / period). */
uint64_t
sample_draw(struct sampler *s)
{
	uint64_t u = random_next(s), e;

	e = product_high(minus_log2(u | (u == 0)), LN2);
	return 1 + (product_high(s->period, e) << 32 | s->period * e >> 32);
}

static void
count_from(struct sampler *s, uint64_t bytes)
{
	s->left = bytes < SAMPLE_STRIDE ? bytes : SAMPLE_STRIDE;
	s->after_stride = bytes - s->left;
}

void
sample_stride(struct sampler *s)
{
	count_from(s, SAMPLE_STRIDE);
}

void
sample_begin(struct sampler *s, uint64_t period, uint64_t seed)
{
	count_from(s, 0);
	s->period = period < SAMPLE_PERIOD_MAX ? period : SAMPLE_PERIOD_MAX;
	s->random = seed;
	if (period != 0)
		count_from(s, sample_draw(s));
}

/* The block's bytes beyond the one that was met do not count. */
bool
sample_due(struct sampler *s, uint64_t size)
{
	uint64_t behind = size + (size == 0) - s->left;

	if (sample_skips(s, size))
		return false;
	if (behind < s->after_stride) {
		count_from(s, s->after_stride - behind);
		return false;
	}
	count_from(s, sample_draw(s));
	return true;
}

SELDOM _Atomic uint8_t sample_filter[1 << SAMPLE_FILTER_BITS];

static void
filter_count(const void *ptr, int by)
{
	_Atomic uint8_t *count = &sample_filter[sample_bucket(ptr)];
	uint8_t n = atomic_load_explicit(count, memory_order_relaxed);

	while (n != UINT8_MAX &&
	    !atomic_compare_exchange_weak_explicit(count, &n,
		(uint8_t)(n + by), memory_order_acq_rel,
		memory_order_relaxed))
		;
}

void
sample_filter_add(const void *ptr)
{
	filter_count(ptr, 1);
}

void
sample_filter_remove(const void *ptr)
{
	filter_count(ptr, -1);
}

#define LINE 8		/* places; a cache line */
#define FIRST_BITS 9	/* lines of the first table */
#define MORE_BITS 3
#define TABLES 5	/* 4.5 million places; the first block is refused beyond 2.4 */
#define LAST (TABLES - 1)
#define HELD (UINT64_C(1) << 63)

static SELDOM _Alignas(64) sample_place first[LINE << FIRST_BITS];
static _Atomic(sample_place *) more[TABLES - 1];

static size_t
table_lines(unsigned i)
{
	return (size_t)1 << (FIRST_BITS + MORE_BITS * (i < LAST ? i : LAST - 1));
}

static sample_place *
table_get(unsigned i)
{
	return i == 0 ? first : atomic_load_explicit(&more[i - 1],
	    memory_order_acquire);
}

static sample_place *
table_map(unsigned i)
{
	size_t len = table_lines(i) * LINE * sizeof(sample_place);
	sample_place *t = call_map_private(len), *none = NULL;

	if (t == NULL ||
	    atomic_compare_exchange_strong(&more[i - 1], &none, t))
		return t;
	call_unmap_private(t, len);
	return none;
}

static sample_place *
line_of(sample_place *table, unsigned i, uint64_t addr)
{
	uint64_t hash = (addr >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	hash >>= i < LAST ? 20 : 46;
	return &table[(hash & (table_lines(i) - 1)) * LINE];
}

/* The filter first: blocks found in the set are found there too. */
bool
sample_add(const void *ptr)
{
	uint64_t addr = (uintptr_t)ptr;

	filter_count(ptr, 1);
	for (unsigned i = 0; i < TABLES; i++) {
		sample_place *table = table_get(i), *line;

		if (table == NULL && (table = table_map(i)) == NULL)
			break;
		line = line_of(table, i, addr);
		for (unsigned k = 0; k < LINE; k++) {
			uint64_t none = 0;

			if (atomic_load_explicit(&line[k],
				memory_order_relaxed) == 0 &&
			    atomic_compare_exchange_strong(&line[k], &none,
				addr))
				return true;
		}
	}
	filter_count(ptr, -1);
	return false;
}

bool
sample_has(const void *ptr)
{
	uint64_t addr = (uintptr_t)ptr;

	for (unsigned i = 0; i < TABLES; i++) {
		sample_place *table = table_get(i), *line;

		if (table == NULL)
			break;
		line = line_of(table, i, addr);
		for (unsigned k = 0; k < LINE; k++)
			if (atomic_load_explicit(&line[k],
				memory_order_relaxed) == addr)
				return true;
	}
	return false;
}

/* Its place, which now holds `then`; NULL: not in the set. */
static sample_place *
take_sample(uint64_t addr, uint64_t then)
{
	for (unsigned i = 0; i < TABLES; i++) {
		sample_place *table = table_get(i), *line;

		if (table == NULL)
			break;
		line = line_of(table, i, addr);
		for (unsigned k = 0; k < LINE; k++) {
			uint64_t was = addr;

			if (atomic_load_explicit(&line[k],
				memory_order_relaxed) == addr &&
			    atomic_compare_exchange_strong(&line[k], &was,
				then))
				return &line[k];
		}
	}
	return NULL;
}

bool
sample_remove(const void *ptr)
{
	uint64_t addr = (uintptr_t)ptr;

	if (take_sample(addr, 0) == NULL)
		return false;
	filter_count(ptr, -1);
	return true;
}

sample_place *
sample_hold(const void *ptr)
{
	uint64_t addr = (uintptr_t)ptr;

	return take_sample(addr, addr | HELD);
}

void
sample_release(sample_place *place)
{
	uint64_t addr = atomic_exchange(place, 0) & ~HELD;

	filter_count((void *)(uintptr_t)addr, -1);
}

void
sample_restore(sample_place *place)
{
	atomic_fetch_and(place, ~HELD);
}

/*
 * Counts by caller, type and size, as they follow a list of either kind: random
 * records against counts of the list's own blocks.
 */
#include <errno.h>
#include <string.h>

#include "../src/blklist/blklist.h"
#include "../src/usage/usage.h"
#include "chance.h"
#include "harness.h"

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))
#define SLOTS 300u
#define BATCH 200u
#define BATCHES 60u
#define ROWS 8192

static const enum blklist_kind kinds[] = { BLKLIST_INDEXED, BLKLIST_LITERAL };

static struct blklist *list;
static struct usage *usage;
static struct usage_row rows[ROWS];
static size_t nrows;
static uint32_t clock_ms, ticket;

static void
begin(enum blklist_kind kind, uint32_t max, uint32_t nrow)
{
	ck_assert_int_eq(blklist_new(&list, kind, max), 0);
	ck_assert_int_eq(usage_new(&usage, nrow), 0);
	clock_ms = 5000;
	ticket = 0;
}

static void
end(void)
{
	usage_free(usage);
	blklist_free(list);
	usage = NULL;
	list = NULL;
}

static void
read_rows(unsigned asker, size_t portion)
{
	size_t from = 0, n;

	nrows = 0;
	do {
		ck_assert_uint_le(nrows + portion, ROWS);
		n = usage_read(usage, &from, asker, rows + nrows, portion);
		nrows += n;
	} while (n > 0);
	ck_assert_uint_eq(nrows, usage_rows(usage));
}

static struct usage_row
row_of(uint64_t caller, unsigned type, uint64_t size, enum usage_kind kind)
{
	for (size_t i = 0; i < nrows; i++)
		if (rows[i].caller == caller && rows[i].type == type &&
		    rows[i].size == size && rows[i].kind == kind)
			return rows[i];
	ck_abort_msg("no such row: %#" PRIx64 " %#x %" PRIu64, caller, type, size);
}

static struct usage_row
sum_of_rows(void)
{
	struct usage_row sum = { 0 };

	for (size_t i = 0; i < nrows; i++) {
		sum.allocs += rows[i].allocs;
		sum.frees += rows[i].frees;
		sum.alloc_bytes += rows[i].alloc_bytes;
		sum.live += rows[i].live;
		sum.live_bytes += rows[i].live_bytes;
		sum.brief += rows[i].brief;
		sum.then += rows[i].then;
		sum.then_bytes += rows[i].then_bytes;
	}
	return sum;
}

static void
sums_are_totals(void)
{
	struct usage_row sum = sum_of_rows();
	struct usage_totals t;

	usage_sums(usage, clock_ms, &t);
	ck_assert_uint_eq(sum.allocs, t.allocs);
	ck_assert_uint_eq(sum.frees, t.frees);
	ck_assert_uint_eq(sum.alloc_bytes, t.alloc_bytes);
	ck_assert_uint_eq(sum.live, t.live);
	ck_assert_uint_eq(sum.live_bytes, t.live_bytes);
	ck_assert_uint_eq(sum.brief, t.brief);
	ck_assert_uint_eq(sum.then, t.peak);
	ck_assert_uint_eq(sum.then_bytes, t.peak_bytes);
}

/* --- records ---------------------------------------------------------------- */

static struct rec
record(enum rec_op op, uint64_t addr, unsigned type, uint64_t size,
    unsigned thread, uint64_t caller)
{
	return (struct rec){ { rec_w0(addr, REC_FLAGS(op, 0), type),
	    rec_w1(size, thread), rec_w2(++ticket, clock_ms),
	    rec_w3(caller, 0) } };
}

static void
apply(const struct rec *rec, size_t n)
{
	struct blklist_batch b = { .rec = rec, .n = n,
		.seq = blklist_counts(list)->records + 1, .near_ms = clock_ms,
		.cancel = true };

	blklist_apply(list, &b);
}

static struct rec
allocation(uint64_t addr, uint64_t size, uint64_t caller)
{
	return record(REC_ALLOC, addr, TYPE_MALLOC, size, 1, caller);
}

static void
alloc(uint64_t addr, uint64_t size, uint64_t caller)
{
	struct rec r = allocation(addr, size, caller);

	apply(&r, 1);
}

static void
release(uint64_t addr, unsigned type)
{
	struct rec r = record(REC_FREE, addr, type, 0, 1, 0);

	apply(&r, 1);
}

/* Mostly of a program's kind, some that lie. */
static struct rec
any_record(void)
{
	uint64_t addr = 0x10000 + any(SLOTS) * 16, size = any(40) * any(40);
	unsigned thread = 1 + any(3), layer = any(4) == 0;
	struct rec r;

	clock_ms += any(10) == 0 ? any(100) : 0;
	switch (any(24)) {
	case 0:
		return record(REC_FREE, addr, TYPE_BY_REALLOC, rec_told(size),
		    thread, 0);
	case 1:
		return record(REC_UNDO, addr, TYPE_BY_REALLOC, 0, thread, 0);
	case 2:
		r = record(REC_RANGE, addr, 0, any(64), thread, 0);
		r.w[0] |= (uint64_t)REC_LAYER_API << 48;
		return r;
	case 3:
		r = record(REC_FREE, addr, TYPE_FREE, 0, thread, 0);
		r.w[2] -= any(2) ? 40 : 0;	/* late */
		return r;
	case 4:
		return record(REC_ALLOC, 0, TYPE_MALLOC, size, thread, 7);
	default:
		if (any(2))
			r = record(REC_FREE, addr, TYPE_FREE, 0, thread, 0);
		else
			r = record(REC_ALLOC, addr, TYPE_MALLOC + any(3), size,
			    thread, 0x400 + any(5));
		r.w[0] |= (uint64_t)layer * REC_LAYER_API << 48;
		return r;
	}
}

/* --- the oracle: what the list itself holds ---------------------------------- */

struct held {
	uint64_t caller, size, n;
	unsigned type;
};

static struct held peak_held[SLOTS * 3];
static size_t npeak;

static size_t
count_list(struct held *out)
{
	static struct blk blk[SLOTS * 3];
	size_t n = blklist_window(list, BLKLIST_BY_AGE, false, 0, blk,
	    NELEM(blk)), kinds_of = 0, j;

	for (size_t i = 0; i < n; i++) {
		for (j = 0; j < kinds_of; j++)
			if (out[j].caller == blk[i].caller &&
			    out[j].size == blk[i].size &&
			    out[j].type == blk[i].type)
				break;
		if (j == kinds_of)
			out[kinds_of++] = (struct held){ blk[i].caller,
				blk[i].size, 0, blk[i].type };
		out[j].n++;
	}
	return kinds_of;
}

static void
rows_are_the_lists(void)
{
	static struct held held[SLOTS * 3];
	const struct blklist_counts *c = blklist_counts(list);
	size_t n = count_list(held);
	struct usage_totals t;

	read_rows(USAGE_NO_ASKER, 1 + any(50));
	sums_are_totals();
	usage_sums(usage, clock_ms, &t);
	ck_assert_uint_eq(t.live, c->aRecActive);
	ck_assert_uint_eq(t.live_bytes, c->live_bytes);
	ck_assert_uint_eq(t.allocs, c->allocs);
	ck_assert_uint_eq(t.frees, c->frees);
	ck_assert_uint_eq(t.peak_bytes, c->peak_bytes);
	for (size_t i = 0; i < n; i++) {
		struct usage_row r = row_of(held[i].caller, held[i].type,
		    held[i].size, USAGE_SIZE);

		ck_assert_uint_eq(r.live, held[i].n);
		ck_assert_uint_eq(r.live_bytes, held[i].n * held[i].size);
	}
}

CASE("a list");

/* Of pairs, reallocs that fail, ranges, duplicates, late and unknown frees. */
LOOP_TEST(rows_add_up_to_the_counts_of_the_list, 0, 16)
{
	static struct rec rec[BATCH];

	chance_begin(_i);
	/* A short list has no room for all of them. */
	begin(kinds[_i % 2], _i % 4 < 2 ? SLOTS * 3 : 40, USAGE_ROWS);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	for (unsigned b = 0; b < BATCHES; b++) {
		size_t n = 1 + any(BATCH);

		for (size_t i = 0; i < n; i++)
			rec[i] = any_record();
		apply(rec, n);
		rows_are_the_lists();
	}
	end();
}

/* One record at a time, so that no pair hides what was held. */
LOOP_TEST(rows_know_what_they_held_at_the_peak, 0, 4)
{
	uint64_t peak = 0;
	struct rec r;

	chance_begin(_i);
	begin(kinds[_i % 2], SLOTS * 3, USAGE_ROWS);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	for (unsigned i = 0; i < 3000; i++) {
		r = any_record();
		apply(&r, 1);
		if (blklist_counts(list)->peak_bytes > peak)
			npeak = count_list(peak_held);
		peak = blklist_counts(list)->peak_bytes;
	}
	read_rows(USAGE_NO_ASKER, 100);
	sums_are_totals();
	for (size_t i = 0; i < npeak; i++)
		ck_assert_uint_eq(row_of(peak_held[i].caller, peak_held[i].type,
		    peak_held[i].size, USAGE_SIZE).then, peak_held[i].n);
	end();
}

TEST(blocks_that_were_there_are_held_but_not_allocated)
{
	struct usage_row r;

	begin(BLKLIST_INDEXED, 8192, USAGE_ROWS);
	for (unsigned i = 0; i < 3000; i++)
		alloc(0x10000 + i * 64, 10, 7);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	release(0x10000, TYPE_FREE);
	alloc(0x10000, 10, 7);
	read_rows(USAGE_NO_ASKER, 100);
	ck_assert_uint_eq(nrows, 1);
	r = row_of(7, TYPE_MALLOC, 10, USAGE_SIZE);
	ck_assert_uint_eq(r.live, 3000);
	ck_assert_uint_eq(r.most, 3000);
	ck_assert_uint_eq(r.allocs, 1);
	ck_assert_uint_eq(r.frees, 1);
	ck_assert_uint_eq(r.then_bytes, 30000);
	end();
}

TEST(a_list_has_one_watcher_until_it_leaves)
{
	struct usage *other;

	begin(BLKLIST_INDEXED, 100, USAGE_ROWS);
	ck_assert_int_eq(usage_new(&other, USAGE_ROWS), 0);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	ck_assert_int_eq(usage_watch(other, list, NULL, NULL), -EBUSY);
	usage_leave(usage);
	alloc(0x1000, 10, 7);
	ck_assert_uint_eq(usage_rows(usage), 0);
	ck_assert_int_eq(usage_watch(other, list, NULL, NULL), 0);
	ck_assert_uint_eq(usage_rows(other), 1);
	usage_free(other);
	end();
}

LOOP_TEST(blocks_that_lived_shorter_than_a_cycle_are_brief, 0, 2)
{
	struct rec pair[2];

	begin(kinds[_i], 100, USAGE_ROWS);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		pair[0] = allocation(0x1000, 10, 7);
		clock_ms += i < 3 ? USAGE_CYCLE_MS - 1 : USAGE_CYCLE_MS;
		pair[1] = record(REC_FREE, 0x1000, TYPE_FREE, 0, 1, 0);
		if (i % 2 == 0)
			apply(pair, 1);
		apply(pair + (i % 2 == 0), i % 2 == 0 ? 1 : 2);
	}
	/* A block that has grown has not ended, and a failed realloc ends none. */
	alloc(0x2000, 10, 7);
	release(0x2000, TYPE_BY_REALLOC);
	pair[0] = record(REC_UNDO, 0x2000, TYPE_BY_REALLOC, 0, 1, 0);
	apply(pair, 1);
	read_rows(USAGE_NO_ASKER, 100);
	ck_assert_uint_eq(rows[0].allocs, 5);
	ck_assert_uint_eq(rows[0].frees, 4);
	ck_assert_uint_eq(rows[0].live, 1);
	ck_assert_uint_eq(rows[0].brief, 3);
	end();
}

/* The realloc began before counting did, and fails after. */
LOOP_TEST(a_free_that_was_not_counted_is_not_taken_back, 0, NELEM(kinds))
{
	struct usage_totals t;
	struct rec undo;

	begin(kinds[_i], 100, USAGE_ROWS);
	alloc(0x1000, 10, 7);
	alloc(0x2000, 10, 8);
	release(0x1000, TYPE_BY_REALLOC);
	undo = record(REC_UNDO, 0x1000, TYPE_BY_REALLOC, 0, 1, 0);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	release(0x2000, TYPE_FREE);
	apply(&undo, 1);
	read_rows(USAGE_NO_ASKER, 100);
	ck_assert_uint_eq(nrows, 2);
	for (size_t i = 0; i < nrows; i++) {
		ck_assert_uint_eq(rows[i].frees, rows[i].caller == 8);
		ck_assert_uint_eq(rows[i].live, rows[i].caller == 7);
	}
	usage_sums(usage, clock_ms, &t);
	ck_assert_uint_eq(t.frees, 1);
	end();
}

CASE("askers");

TEST(each_asker_has_its_own_maximum)
{
	unsigned a, b;

	begin(BLKLIST_INDEXED, 1000, USAGE_ROWS);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	for (unsigned i = 0; i < 9; i++)
		alloc(0x1000 + i * 64, 10, 7);
	for (unsigned i = 0; i < 4; i++)
		release(0x1000 + i * 64, TYPE_FREE);
	ck_assert_int_eq(usage_ask(usage, &a), 0);
	ck_assert_int_eq(usage_ask(usage, &b), 0);
	read_rows(a, 1);
	ck_assert_uint_eq(rows[0].high, 5);	/* since it asked */
	ck_assert_uint_eq(rows[0].most, 9);
	alloc(0x1000, 10, 7);
	release(0x1000, TYPE_FREE);
	read_rows(a, 1);
	ck_assert_uint_eq(rows[0].high, 6);
	release(0x1100, TYPE_FREE);
	read_rows(a, 1);
	ck_assert_uint_eq(rows[0].high, 5);
	read_rows(a, 1);
	ck_assert_uint_eq(rows[0].high, 4);
	read_rows(b, 1);
	ck_assert_uint_eq(rows[0].high, 6);
	read_rows(b, 1);
	ck_assert_uint_eq(rows[0].high, 4);
	usage_unask(usage, a);
	ck_assert_int_eq(usage_ask(usage, &a), 0);
	for (unsigned i = 2; i < USAGE_ASKERS; i++)
		ck_assert_int_eq(usage_ask(usage, &b), 0);
	ck_assert_int_eq(usage_ask(usage, &b), -EBUSY);
	end();
}

CASE("bounds");

TEST(tables_have_a_few_rows_at_least)
{
	ck_assert_int_eq(usage_new(&usage, USAGE_ROWS_MIN - 1), -EINVAL);
	ck_assert_int_eq(usage_new(&usage, USAGE_ROWS_MAX + 1), -EINVAL);
}

/* The sum over rows whose sizes are above half of a power of two, up to it. */
static uint64_t
histogram(uint64_t power)
{
	uint64_t n = 0;

	for (size_t i = 0; i < nrows; i++)
		if (rows[i].size <= power && rows[i].size > power / 2)
			n += rows[i].allocs;
	return n;
}

TEST(other_sizes_of_a_caller_are_rounded)
{
	struct usage_row r;

	begin(BLKLIST_INDEXED, 10000, USAGE_ROWS);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	for (unsigned size = 0; size < 5000; size++)
		alloc(0x100000 + size * 0x10000, size, 7);
	alloc(0xf0, 4999, 8);
	read_rows(USAGE_NO_ASKER, 100);
	sums_are_totals();
	ck_assert_uint_le(nrows, USAGE_SIZES + 10);
	ck_assert_uint_eq(row_of(7, TYPE_MALLOC, 100, USAGE_SIZE).live, 1);
	ck_assert_uint_eq(row_of(8, TYPE_MALLOC, 4999, USAGE_SIZE).live, 1);
	r = row_of(7, TYPE_MALLOC, 1024, USAGE_ROUNDED);
	ck_assert_uint_eq(r.live, 512);
	ck_assert_uint_eq(r.live_bytes, (513 + 1024) * 512 / 2);
	ck_assert_uint_eq(histogram(256), 128);
	ck_assert_uint_eq(histogram(4096), 2048);
	for (unsigned size = 0; size < 5000; size++)
		release(0x100000 + size * 0x10000, TYPE_FREE);
	read_rows(USAGE_NO_ASKER, 100);
	sums_are_totals();
	ck_assert_uint_eq(sum_of_rows().live, 1);
	end();
}

/* Sizes at the edges of their 48 bits, and more callers than there are rows. */
TEST(a_full_table_counts_in_other)
{
	static const uint64_t sizes[] = { 0, 1, 2, 3, REC_ADDR_MASK };
	struct usage_totals t;

	begin(BLKLIST_INDEXED, 20000, USAGE_ROWS_MIN);
	ck_assert_int_eq(usage_watch(usage, list, NULL, NULL), 0);
	for (unsigned i = 0; i < 10000; i++)
		alloc(0x100000 + i * 64, sizes[i % NELEM(sizes)], 1 + i);
	read_rows(USAGE_NO_ASKER, 100);
	sums_are_totals();
	ck_assert_uint_le(nrows, USAGE_ROWS_MIN);
	ck_assert_uint_eq(histogram(1), 2000);
	ck_assert_uint_eq(histogram(4), 2000);
	ck_assert_uint_eq(histogram(UINT64_C(1) << 48), 2000);
	ck_assert_uint_gt(row_of(0, 0, 0, USAGE_OTHER).live, 1900);
	usage_sums(usage, 0, &t);
	ck_assert_uint_gt(t.crowded, 9000);
	for (unsigned i = 0; i < 10000; i++)
		release(0x100000 + i * 64, TYPE_FREE);
	read_rows(USAGE_NO_ASKER, 100);
	sums_are_totals();
	ck_assert_uint_eq(sum_of_rows().live, 0);
	ck_assert_uint_eq(sum_of_rows().live_bytes, 0);
	end();
}

CASE("no list");

TEST(frees_of_what_was_never_counted_take_nothing)
{
	struct blk b = { .caller = 7, .size = 10, .type = TYPE_MALLOC };

	ck_assert_int_eq(usage_new(&usage, USAGE_ROWS), 0);
	usage_freed(usage, &b, false);
	usage_freed_unknown(usage);
	usage_alloc(usage, &b, 1);
	read_rows(USAGE_NO_ASKER, 100);
	ck_assert_uint_eq(nrows, 2);
	ck_assert_uint_eq(row_of(0, 0, 0, USAGE_UNKNOWN).frees, 1);
	ck_assert_uint_eq(row_of(7, TYPE_MALLOC, 10, USAGE_SIZE).frees, 1);
	ck_assert_uint_eq(row_of(7, TYPE_MALLOC, 10, USAGE_SIZE).live, 1);
	sums_are_totals();
	usage_free(usage);
}

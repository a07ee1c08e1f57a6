/*
 * Memory of the node's own: what is given out, from where, and what is told
 * of it.
 */
#include "../src/allocp/allocp.h"
#include "../src/base/base.h"
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PAGE 4096
#define EVENTS_MAX 64

static struct allocp *memory;
static struct allocp_event told[EVENTS_MAX];
static size_t ntold;

static void
on_event(void *arg, const struct allocp_event *e)
{
	ck_assert_ptr_eq(arg, &memory);
	told[ntold++ % EVENTS_MAX] = *e;
}

static void
up(size_t first, size_t second)
{
	ntold = 0;
	ck_assert_int_eq(allocp_new(&memory, &(struct allocp_opts){
	    .size = { first, second }, .told = on_event, .arg = &memory }), 0);
}

static void
down(void)
{
	allocp_free(memory);
	memory = NULL;
}

static const struct allocp_event *
last_told(void)
{
	ck_assert_uint_gt(ntold, 0);
	return &told[(ntold - 1) % EVENTS_MAX];
}

static uint32_t
address(const void *p)
{
	ck_assert_uint_lt((uintptr_t)p, UINT64_C(1) << 32);
	return (uint32_t)(uintptr_t)p;
}

static uint32_t
base_of(unsigned no)
{
	uint32_t base;
	size_t size;

	allocp_region(memory, no, &base, &size);
	return base;
}

/*
 * Segments lie one behind the other, each header 8 bytes before its address,
 * fill their regions, and no two free ones are neighbours.
 */
static void
check_segments(void)
{
	struct allocp_segment s = { 0 }, prev = { 0 };
	uint32_t base = 0, at = 0;
	size_t size = 0;

	while (allocp_next(memory, &s)) {
		if (s.region != prev.region) {
			ck_assert_uint_eq(at, (uint32_t)(base + size));
			ck_assert_uint_eq(s.region, prev.region + 1);
			allocp_region(memory, s.region, &base, &size);
			at = base;
		} else {
			ck_assert(s.given || prev.given);
		}
		ck_assert_uint_eq(s.addr, at + ALLOCP_HEAD);
		ck_assert_uint_eq(s.addr % ALLOCP_ALIGN, 0);
		at = s.addr + (uint32_t)((s.size + 7) / 8 * 8);
		prev = s;
	}
	ck_assert_uint_eq(prev.region, ALLOCP_REGIONS);
	ck_assert_uint_eq(at, base + size);
}

/* --- what is given out -------------------------------------------------- */

CASE("given out");

TEST(addresses_follow_each_other_as_on_the_notes_page)
{
	/* The five gaps of the note's picture, from 008E6588 on. */
	static const size_t sizes[] = { 0x40, 0x50, 0x30, 0x30, 0x18, 0x48 };
	uint32_t at, want;

	up(PAGE, PAGE);
	want = base_of(1) + ALLOCP_HEAD;
	for (size_t i = 0; i < BASE_NELEM(sizes); i++) {
		at = address(AllocP(memory, sizes[i], 1));
		ck_assert_uint_eq(at, want);
		want = at + (uint32_t)sizes[i] + ALLOCP_HEAD;
		check_segments();
	}
	down();
}

TEST(each_call_is_told_with_address_size_type_and_level)
{
	const struct allocp_event *e;
	void *p;

	up(PAGE, PAGE);
	p = AllocP(memory, 0x48, 0x0c);
	e = last_told();
	ck_assert_uint_eq(e->op, 0xa);
	ck_assert_uint_eq(e->addr, address(p));
	ck_assert_uint_eq(e->size, 0x48);
	ck_assert_uint_eq(e->type, 0x0c);
	ck_assert_uint_eq(e->level, 1);
	ck_assert_int_eq(FreeP(memory, p), 0);
	e = last_told();
	ck_assert_uint_eq(e->op, 0xf);
	ck_assert_uint_eq(e->addr, address(p));
	ck_assert_uint_eq(e->size, 0x48);
	ck_assert_uint_eq(e->type, 0x0c);
	ck_assert_uint_eq(e->level, 0);
	ck_assert_uint_eq(ntold, 2);
	down();
}

TEST(the_first_gap_that_is_large_enough_is_taken)
{
	void *p[6], *q;

	up(PAGE, PAGE);
	for (int i = 0; i < 6; i++)
		p[i] = AllocP(memory, i == 1 ? 8 : 32, 1);
	FreeP(memory, p[1]);
	FreeP(memory, p[3]);
	q = AllocP(memory, 16, 2);
	ck_assert_ptr_eq(q, p[3]);
	q = AllocP(memory, 4, 2);
	ck_assert_ptr_eq(q, p[1]);
	check_segments();
	down();
}

LOOP_TEST(neighbours_that_are_free_are_one, 0, 6)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 },
		{ 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 } };
	void *p[3], *last;

	up(PAGE, PAGE);
	for (int i = 0; i < 3; i++)
		p[i] = AllocP(memory, 40, 1);
	last = AllocP(memory, 1, 1);
	for (int i = 0; i < 3; i++) {
		FreeP(memory, p[orders[_i][i]]);
		check_segments();
	}
	ck_assert_ptr_eq(AllocP(memory, 3 * 40 + 2 * ALLOCP_HEAD, 1), p[0]);
	ck_assert_int_eq(FreeP(memory, last), 0);
	check_segments();
	down();
}

TEST(region_2_satisfies_what_region_1_cannot)
{
	uint32_t base;
	size_t size;
	void *p;

	up(PAGE, 2 * PAGE);
	ck_assert_ptr_nonnull(AllocP(memory, PAGE - ALLOCP_HEAD, 1));
	ck_assert_uint_eq(last_told()->level, 1);
	p = AllocP(memory, 0, 1);
	ck_assert_uint_eq(last_told()->level, 2);
	allocp_region(memory, 2, &base, &size);
	ck_assert_uint_eq(size, 2 * PAGE);
	ck_assert_uint_eq(address(p), base + ALLOCP_HEAD);
	check_segments();
	down();
}

TEST(without_room_the_request_fails_at_level_6_and_is_told)
{
	const struct allocp_event *e;
	void *p, *q;

	up(PAGE, PAGE);
	p = AllocP(memory, PAGE - ALLOCP_HEAD, 1);
	q = AllocP(memory, PAGE - ALLOCP_HEAD, 1);
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(q);
	ck_assert_ptr_null(AllocP(memory, 0, 7));
	e = last_told();
	ck_assert_uint_eq(e->op, 0xa);
	ck_assert_uint_eq(e->addr, 0);
	ck_assert_uint_eq(e->type, 7);
	ck_assert_uint_eq(e->level, ALLOCP_FAILED);
	ck_assert_uint_eq(allocp_counts(memory)->failed, 1);
	ck_assert_uint_eq(allocp_counts(memory)->allocs, 2);
	FreeP(memory, q);
	ck_assert_ptr_eq(AllocP(memory, 1, 1), q);
	down();
}

static const struct {
	size_t size;
	bool given;
} sizes[] = {
	{ 0, true }, { 1, true }, { 7, true }, { 8, true }, { 9, true },
	{ 65528, true }, { 65529, true }, { 65535, true }, { 65536, false },
	{ SIZE_MAX, false },
};

LOOP_TEST(sizes_of_a_record_and_no_others, 0, BASE_NELEM(sizes))
{
	struct allocp_segment s = { 0 };
	uint8_t *p;

	up(PAGE, 20 * PAGE);
	p = AllocP(memory, sizes[_i].size, 1);
	ck_assert_int_eq(p != NULL, sizes[_i].given);
	ck_assert_uint_eq(last_told()->size, sizes[_i].size);
	if (p == NULL) {
		down();
		return;
	}
	for (size_t i = 0; i < sizes[_i].size; i++)
		ck_assert_uint_eq(p[i], 0);
	memset(p, 0xff, sizes[_i].size);
	check_segments();
	while (allocp_next(memory, &s) && !s.given)
		;
	ck_assert_uint_eq(s.size, sizes[_i].size);
	ck_assert_int_eq(FreeP(memory, p), 0);
	ck_assert_uint_eq(last_told()->size, sizes[_i].size);
	ck_assert_uint_eq(allocp_counts(memory)->damaged, 0);
	/* Zero again, whatever was there before. */
	p = AllocP(memory, sizes[_i].size, 1);
	for (size_t i = 0; i < sizes[_i].size; i++)
		ck_assert_uint_eq(p[i], 0);
	down();
}

TEST(all_of_it_lies_below_4_gib)
{
	uint32_t base;
	size_t size;

	up(ALLOCP_REGION_MAX, ALLOCP_REGION_MAX);
	for (unsigned no = 1; no <= ALLOCP_REGIONS; no++) {
		allocp_region(memory, no, &base, &size);
		ck_assert_uint_eq(size, ALLOCP_REGION_MAX);
		ck_assert_uint_lt((uint64_t)base + size, UINT64_C(1) << 32);
		/* It is there, from the first byte to the last. */
		((volatile uint8_t *)(uintptr_t)base)[size - 1] = 1;
	}
	down();
}

LOOP_TEST(regions_of_no_size_or_too_large_are_refused, 0, 4)
{
	static const size_t bad[][2] = { { 0, PAGE }, { PAGE, 0 },
		{ ALLOCP_REGION_MAX + 1, PAGE }, { PAGE, SIZE_MAX } };
	struct allocp *none = NULL;

	ck_assert_int_eq(allocp_new(&none, &(struct allocp_opts){
	    .size = { bad[_i][0], bad[_i][1] } }), -EINVAL);
	ck_assert_ptr_null(none);
}

/* --- what goes wrong ---------------------------------------------------- */

CASE("wrong");

TEST(a_free_of_what_is_no_block_is_counted_and_not_told)
{
	uint8_t *p, *q;
	int outside;

	up(PAGE, PAGE);
	p = AllocP(memory, 64, 1);
	q = AllocP(memory, 64, 1);
	FreeP(memory, q);
	ntold = 0;
	ck_assert_int_eq(FreeP(memory, q), -EINVAL);
	ck_assert_int_eq(FreeP(memory, p + 8), -EINVAL);
	ck_assert_int_eq(FreeP(memory, p + 1), -EINVAL);
	ck_assert_int_eq(FreeP(memory, p - 8), -EINVAL);
	ck_assert_int_eq(FreeP(memory, &outside), -EINVAL);
	ck_assert_int_eq(FreeP(memory, NULL), 0);
	ck_assert_uint_eq(allocp_counts(memory)->wrong, 5);
	ck_assert_uint_eq(ntold, 0);
	check_segments();
	ck_assert_int_eq(FreeP(memory, p), 0);
	down();
}

/* Whose header is overwritten: a block's, or a free segment's. */
LOOP_TEST(a_damaged_header_is_counted_once_and_survived, 0, 2)
{
	bool block = _i == 0;
	uint8_t *p, *q, *r;

	up(PAGE, PAGE);
	p = AllocP(memory, 24, 1);
	q = AllocP(memory, 20, 1);
	r = AllocP(memory, 24, 1);
	if (!block)
		FreeP(memory, q);
	/* p is written to beyond its end. */
	memset(p, 0x55, 24 + ALLOCP_HEAD);
	ck_assert_ptr_nonnull(AllocP(memory, 200, 1));
	ck_assert_uint_eq(allocp_counts(memory)->damaged, 1);
	check_segments();
	if (block) {
		ck_assert_int_eq(FreeP(memory, q), 0);
		ck_assert_uint_eq(last_told()->addr, address(q));
		ck_assert_uint_eq(last_told()->type, ALLOCP_LOST);
		ck_assert_uint_eq(last_told()->size, 24);
	}
	ck_assert_int_eq(FreeP(memory, p), 0);
	ck_assert_int_eq(FreeP(memory, r), 0);
	check_segments();
	/* All of it can be given out again. */
	ck_assert_ptr_eq(AllocP(memory, 3 * 24 + 2 * ALLOCP_HEAD, 1), p);
	ck_assert_uint_eq(allocp_counts(memory)->damaged, 1);
	down();
}

TEST(a_header_that_is_met_first_by_a_free_is_mended_too)
{
	uint8_t *p, *q;

	up(PAGE, PAGE);
	p = AllocP(memory, 16, 3);
	q = AllocP(memory, 16, 4);
	memset(p, 0, 16 + ALLOCP_HEAD);
	ck_assert_int_eq(FreeP(memory, p), 0);
	ck_assert_uint_eq(allocp_counts(memory)->damaged, 0);
	ck_assert_int_eq(FreeP(memory, q), 0);
	ck_assert_uint_eq(allocp_counts(memory)->damaged, 1);
	ck_assert_uint_eq(last_told()->type, ALLOCP_LOST);
	check_segments();
	down();
}

/* --- against a plain model ---------------------------------------------- */

#define MODEL_BYTES (2 * PAGE)
#define BLOCKS_MAX 512

/* A byte each: whose it is, from 1 on; 0 free. */
struct model {
	uint16_t byte[ALLOCP_REGIONS][MODEL_BYTES];
	struct {
		uint8_t *p;
		size_t size;
		uint8_t type;
	} block[BLOCKS_MAX];
	unsigned n;
};

static uint64_t
random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* The first place for so many bytes and their header; the level. */
static unsigned
model_find(const struct model *m, size_t size, size_t *at)
{
	size_t want = ALLOCP_HEAD + (size + 7) / 8 * 8;

	for (unsigned r = 0; r < ALLOCP_REGIONS; r++) {
		size_t run = 0;

		for (size_t i = 0; i < MODEL_BYTES; i++) {
			run = m->byte[r][i] == 0 ? run + 1 : 0;
			if (run < want)
				continue;
			*at = i + 1 - want;
			return r + 1;
		}
	}
	return ALLOCP_FAILED;
}

static void
model_fill(struct model *m, unsigned region, size_t at, size_t size,
    uint16_t owner)
{
	for (size_t i = 0; i < ALLOCP_HEAD + (size + 7) / 8 * 8; i++)
		m->byte[region - 1][at + i] = owner;
}

static void
model_alloc(struct model *m, uint64_t *state)
{
	size_t size = random_next(state) % 4 == 0 ?
	    random_next(state) % 700 : random_next(state) % 80;
	uint8_t type = (uint8_t)random_next(state), *p;
	unsigned level, k = 0;
	size_t at = 0;

	while (k < BLOCKS_MAX && m->block[k].p != NULL)
		k++;
	if (k == BLOCKS_MAX)
		return;
	level = model_find(m, size, &at);
	p = AllocP(memory, size, type);
	ck_assert_uint_eq(last_told()->level, level);
	if (level == ALLOCP_FAILED) {
		ck_assert_ptr_null(p);
		return;
	}
	ck_assert_uint_eq(address(p), base_of(level) + at + ALLOCP_HEAD);
	model_fill(m, level, at, size, (uint16_t)(k + 1));
	memset(p, (int)k, size);
	m->block[k].p = p;
	m->block[k].size = size;
	m->block[k].type = type;
	m->n++;
}

static void
model_free(struct model *m, uint64_t *state)
{
	unsigned k = (unsigned)(random_next(state) % BLOCKS_MAX);
	unsigned region;
	uint8_t *p;
	size_t at;

	while (m->n > 0 && m->block[k].p == NULL)
		k = (k + 1) % BLOCKS_MAX;
	p = m->block[k].p;
	if (p == NULL)
		return;
	for (size_t i = 0; i < m->block[k].size; i++)
		ck_assert_uint_eq(p[i], (uint8_t)k);
	region = address(p) - base_of(1) < MODEL_BYTES ? 1 : 2;
	at = address(p) - base_of(region) - ALLOCP_HEAD;
	ck_assert_int_eq(FreeP(memory, p), 0);
	ck_assert_uint_eq(last_told()->size, m->block[k].size);
	ck_assert_uint_eq(last_told()->type, m->block[k].type);
	model_fill(m, region, at, m->block[k].size, 0);
	m->block[k].p = NULL;
	m->n--;
}

CASE("random", .seconds = 60);

LOOP_TEST(random_calls_end_as_in_a_plain_model, 0, 4)
{
	unsigned long long calls = check_events((unsigned)
	    check_rounds(20000));
	struct model *m = calloc(1, sizeof *m);
	uint64_t state = check_seed((uint64_t)_i + 1);
	unsigned phase = 0;

	up(MODEL_BYTES, MODEL_BYTES);
	for (unsigned long long i = 0; i < calls; i++) {
		/* Now it fills up, and now it empties. */
		if (i % 700 == 0)
			phase = (unsigned)(random_next(&state) % 10);
		if (random_next(&state) % 10 < phase)
			model_alloc(m, &state);
		else
			model_free(m, &state);
		if (i % 97 == 0)
			check_segments();
	}
	while (m->n > 0)
		model_free(m, &state);
	check_segments();
	ck_assert_uint_eq(allocp_counts(memory)->damaged, 0);
	ck_assert_uint_eq(allocp_counts(memory)->allocs,
	    allocp_counts(memory)->frees);
	ck_assert_uint_gt(allocp_counts(memory)->failed, 0);
	ck_assert_ptr_nonnull(AllocP(memory, MODEL_BYTES - ALLOCP_HEAD, 1));
	ck_assert_ptr_nonnull(AllocP(memory, MODEL_BYTES - ALLOCP_HEAD, 1));
	down();
	free(m);
}

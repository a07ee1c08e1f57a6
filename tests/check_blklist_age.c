/*
 * The order of age of an indexed list against a plain sorted list of the same
 * blocks, whatever order they came in.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../src/blklist/indexed/indexed.h"
#include "blklist_both.h"

/* Numbers as a kind of stream has them. */
struct numbers {
	const char *name;
	unsigned blocks;
	uint64_t (*of)(uint64_t slot);
	int64_t (*ms)(uint64_t slot);
};

static uint64_t
scattered(uint64_t slot)
{
	return slot * UINT64_C(0x9e3779b97f4a7c15);
}

/* Below the numbers of what comes later. */
static uint64_t
all_over(uint64_t slot)
{
	return (uint64_t)((int64_t)scattered(slot) >> 2);
}

static uint64_t
dense(uint64_t slot)
{
	return 1 + (scattered(slot) >> 20 & 0xffff) * 0x4000 + slot;
}

static uint64_t
descending(uint64_t slot)
{
	return 1000000 - slot;
}

/* As after a fork: what it inherits is numbered back from 0. */
static uint64_t
around_nothing(uint64_t slot)
{
	return slot % 3 == 0 ? slot : -slot;
}

/* Past 32 bits, each side of it. */
static uint64_t
long_ones(uint64_t slot)
{
	return (slot % 5 << 31) + dense(slot);
}

/* What no honest stream has. */
static uint64_t
few_for_many(uint64_t slot)
{
	return slot % 40;
}

static int64_t
soon(uint64_t slot)
{
	return (int64_t)(1000 + slot / 16);
}

static int64_t
for_years(uint64_t slot)
{
	return (int64_t)(scattered(slot) >> 25);
}

static const struct numbers numbers[] = {
	{ "dense", 20000, dense, soon },
	{ "descending", 9000, descending, soon },
	{ "around nothing", 9000, around_nothing, soon },
	{ "past 32 bits", 20000, long_ones, soon },
	{ "all over, for years", 6000, all_over, for_years },
	{ "few for many", 5000, few_for_many, soon },
	{ "hardly any", 300, dense, soon },
};

/* What is listed, by slot; the numbers of those that come later are higher. */
struct plain {
	const struct numbers *of;
	struct blklist *list;
	struct blk *blk;		/* size 0: not listed */
	struct blk *sorted, *rows;
	unsigned slots, live;
	uint64_t next;
};

static struct blk
block(const struct plain *p, unsigned slot, uint64_t seq)
{
	return (struct blk){ .addr = 0x10000 + (uint64_t)slot * 16,
		.size = 1 + slot, .seq = seq, .ms = p->of->ms(slot),
		.flags = 0xa2, .type = TYPE_MALLOC };
}

static void
put(struct plain *p, unsigned slot, uint64_t seq)
{
	p->blk[slot] = block(p, slot, seq);
	ck_assert_int_eq(blklist_put(p->list, &p->blk[slot]), 0);
	p->live++;
}

/* It comes or goes, as programs do it: by a record, with the next number. */
static void
change(struct plain *p, unsigned slot)
{
	struct blk *b = &p->blk[slot], made = block(p, slot, p->next++);
	struct rec r = b->size != 0 ? FREE(b->addr) :
	    REC(.op = REC_ALLOC, .low = 2, .type = TYPE_MALLOC,
	    .addr = made.addr, .size = made.size);
	struct blklist_batch batch = { .rec = &r, .n = 1, .seq = made.seq,
		.ms = &made.ms };

	blklist_apply(p->list, &batch);
	p->live += b->size == 0 ? 1 : -1u;
	if (b->size == 0)
		*b = made;
	else
		b->size = 0;
}

static void
any_change(struct plain *p)
{
	change(p, below(p->slots));
}

/* An old number, in a slot that is free. */
static void
put_free_slot(struct plain *p)
{
	unsigned slot;

	do
		slot = below(p->slots);
	while (p->blk[slot].size != 0);
	put(p, slot, p->of->of(rng() % 1000000));
}

static const struct indexed *
inside(const struct plain *p)
{
	return p->list->impl;
}

static void
plain_new(struct plain *p, const struct numbers *of)
{
	seed = check_seed(362436069 + (uint64_t)(of - numbers));
	*p = (struct plain){ .of = of, .slots = 2 * of->blocks,
		.next = UINT64_C(1) << 62 };
	p->blk = calloc(p->slots, sizeof(*p->blk));
	p->sorted = calloc(p->slots, sizeof(*p->sorted));
	p->rows = calloc(p->slots, sizeof(*p->rows));
	ck_assert_int_eq(blklist_new(&p->list, BLKLIST_INDEXED, p->slots), 0);
}

/* As a page that comes late gets them. */
static void
put_by_address(struct plain *p)
{
	for (unsigned i = 0; i < p->of->blocks; i++)
		put(p, 2 * i, p->of->of(i));
}

static void
plain_free(struct plain *p)
{
	blklist_free(p->list);
	free(p->blk);
	free(p->sorted);
	free(p->rows);
}

static int
by_age(const void *va, const void *vb)
{
	const struct blk *a = va, *b = vb;

	if (a->seq != b->seq)
		return (int64_t)a->seq < (int64_t)b->seq ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void
same_as_plain(struct plain *p)
{
	size_t n = 0;

	for (unsigned i = 0; i < p->slots; i++)
		if (p->blk[i].size != 0)
			p->sorted[n++] = p->blk[i];
	ck_assert_uint_eq(n, p->live);
	qsort(p->sorted, n, sizeof(*p->sorted), by_age);
	ck_assert_uint_eq(blklist_window(p->list, BLKLIST_BY_AGE, false, 0,
	    p->rows, p->slots), n);
	same_rows(p->sorted, p->rows, n, p->of->name);
	for (unsigned k = 0; k < 20 && n > 0; k++) {
		size_t at = below((unsigned)n);

		ck_assert_int_eq(blklist_rank(p->list, BLKLIST_BY_AGE, 0,
		    p->sorted[at].addr), (int64_t)at);
	}
	sound(p->list);
}

CASE("order", .seconds = 60);

LOOP_TEST(age_order_is_that_of_a_plain_sorted_list, 0, NELEM(numbers))
{
	struct plain p;

	plain_new(&p, &numbers[_i]);
	put_by_address(&p);
	same_as_plain(&p);
	for (int round = 0; round < check_rounds(6); round++) {
		for (unsigned i = 0; i < p.of->blocks / 2; i++) {
			unsigned slot = below(p.slots);

			any_change(&p);
			if (p.blk[slot].size == 0 && below(50) == 0)
				put(&p, slot, p.of->of(rng() % 1000000));
		}
		same_as_plain(&p);
	}
	plain_free(&p);
}

/*
 * Blocks come and go between any two parts: records are used again, positions
 * left and taken.  Of each kind of numbers with each of `works`.
 */
static const uint32_t works[] = { 1, 64, 1000, 5000 };

LOOP_TEST(age_order_is_the_same_when_it_is_mended_in_parts, 0,
    NELEM(numbers) * NELEM(works))
{
	uint32_t work = works[_i % NELEM(works)];
	struct plain p;
	unsigned parts = 0, begun = 0;

	if (_i % check_stride(3) != 0)
		return;
	plain_new(&p, &numbers[_i / (int)NELEM(works)]);
	put_by_address(&p);
	for (int round = 0; round < (check_is_shortened() ? 2 : 3); round++) {
		while (!blklist_restore_order(p.list, work)) {
			parts++;
			begun += inside(&p)->age.parts != NULL;
			for (unsigned i = below(4); i > 0; i--)
				any_change(&p);
			if (below(work < 64 ? 20000 : 50) == 0)
				sound(p.list);
			/* Once more, by one that comes out of order meanwhile. */
			if (parts == 40)
				put_free_slot(&p);
		}
		ck_assert(!age_is_unsorted(&inside(&p)->age));
		sound(p.list);
		same_as_plain(&p);
		ck_assert(!age_is_unsorted(&inside(&p)->age));
		/* From the second area back to the first, half of the times. */
		for (unsigned i = below(2) * 2 * p.slots; i > 0; i--)
			any_change(&p);
		put_free_slot(&p);
		if (round == 1)
			same_as_plain(&p);
	}
	ck_assert(parts > 0 || p.of->blocks < work);
	ck_assert(begun > 0 || p.of->blocks < work);
	plain_free(&p);
}

/* At whatever step: rows are asked for, all blocks go, the list is cleared. */
LOOP_TEST(parts_may_be_left_at_any_step, 0, 3)
{
	struct plain p;
	uint32_t work = 3000;

	plain_new(&p, &numbers[3]);
	for (int left = 0; left < 40; left += check_stride(3)) {
		for (unsigned i = 0; i < p.slots; i += 2)
			if (p.blk[i].size == 0)
				put(&p, i, p.of->of(i / 2));
		for (int i = 0; i < left; i++)
			if (blklist_restore_order(p.list, work))
				break;
		if (_i == 1) {
			while (p.live > 0)
				for (unsigned i = 0; i < p.slots; i++)
					if (p.blk[i].size != 0)
						change(&p, i);
		} else if (_i == 2) {
			blklist_clear(p.list);
			for (unsigned i = 0; i < p.slots; i++)
				p.blk[i].size = 0;
			p.live = 0;
		}
		sound(p.list);
		same_as_plain(&p);
		any_change(&p);
		same_as_plain(&p);
	}
	plain_free(&p);
}

/* More come than there are positions for while it is mended. */
LOOP_TEST(positions_never_run_out_while_order_is_mended, 0, 4)
{
	struct plain p;
	unsigned rounds = 0, done = 0;

	plain_new(&p, &numbers[2]);
	put_by_address(&p);
	while (rounds++ < 400) {
		done += blklist_restore_order(p.list, 1 + _i * 50);
		for (unsigned i = 0; i < 1000; i++)
			any_change(&p);
		if (rounds % 50 == 0)
			put_free_slot(&p);
	}
	sound(p.list);
	ck_assert_uint_gt(done, 0);
	same_as_plain(&p);
	plain_free(&p);
}

TEST(memory_of_the_second_area_is_given_back)
{
	struct plain p;
	size_t in_order;

	plain_new(&p, &numbers[0]);
	put_by_address(&p);
	same_as_plain(&p);
	in_order = blklist_memory(p.list);
	put_free_slot(&p);
	while (!blklist_restore_order(p.list, 1000))
		continue;
	ck_assert_uint_lt(blklist_memory(p.list), in_order + in_order / 8);
	for (unsigned i = 0; i < 2 * p.slots; i++)
		any_change(&p);
	ck_assert_uint_lt(inside(&p)->age.next, inside(&p)->age.cap);
	ck_assert_uint_lt(inside(&p)->age.top, inside(&p)->age.cap);
	plain_free(&p);
}

TEST(address_order_does_not_wait_for_the_order_of_age)
{
	struct plain p;
	struct blk row;

	plain_new(&p, &numbers[0]);
	put_by_address(&p);
	ck_assert(inside(&p)->age.unsorted);
	ck_assert_int_eq(blklist_rank(p.list, BLKLIST_BY_ADDRESS, 0,
	    p.blk[2 * 77].addr), 77);
	ck_assert_int_eq(blklist_rank(p.list, BLKLIST_BY_AGE, 0, 1), -ENOENT);
	ck_assert_uint_eq(blklist_window(p.list, BLKLIST_BY_ADDRESS, false, 5,
	    &row, 1), 1);
	ck_assert(inside(&p)->age.unsorted);
	plain_free(&p);
}

static int
by_value(const void *va, const void *vb)
{
	const struct age_key *a = va, *b = vb;

	if (age_key_value(a) != age_key_value(b))
		return age_key_value(a) < age_key_value(b) ? -1 : 1;
	return a->which < b->which ? -1 : a->which > b->which;
}

/* As many at a time as _i says; equal ones stay in the order they came in. */
LOOP_TEST(numbers_are_sorted_however_little_is_done_at_a_time, 0, 5)
{
	enum { N = 5000 };
	static const uint32_t some[] = { 1, 7, 1000, N, UINT32_MAX };
	static struct age_sort s;
	struct age_key *want = calloc(N, sizeof(*want));
	uint32_t work;

	for (unsigned k = 0; k < NELEM(numbers); k++) {
		ck_assert_int_eq(age_sort_init(&s, N), 0);
		for (uint32_t i = 0; i < N; i++)
			age_sort_add(&s, (int64_t)numbers[k].of(i), i);
		memcpy(want, s.key, N * sizeof(*want));
		qsort(want, N, sizeof(*want), by_value);
		do
			work = some[_i];
		while (!age_sort_step(&s, &work));
		ck_assert_mem_eq(s.key, want, N * sizeof(*want));
		age_sort_fini(&s, N);
	}
	free(want);
}

/*
 * The literal and the indexed list side by side: the same into both, and the
 * same asked of both.
 */
#ifndef TESTS_BLKLIST_BOTH_H
#define TESTS_BLKLIST_BOTH_H

#include <string.h>

#include "blklist_recs.h"
#include "chance.h"
#include "harness.h"

static uint64_t seed;

static inline uint64_t
rng(void)
{
	return chance_next(&seed);
}

static inline unsigned
below(unsigned n)
{
	return (unsigned)(rng() >> 33) % n;
}

struct both {
	struct blklist *lit, *ix;
};

#define ROWS 40

static inline void
same_rows(const struct blk *a, const struct blk *b, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(memcmp(&a[i], &b[i], sizeof(a[i])) == 0,
		    "%s: row %zu: %#lx seq %ld against %#lx seq %ld", what, i,
		    (long)a[i].addr, (long)a[i].seq, (long)b[i].addr,
		    (long)b[i].seq);
}

static inline void
same_window(const struct both *l, enum blklist_order order, bool reverse)
{
	static struct blk a[ROWS], b[ROWS];
	uint32_t active = blklist_counts(l->lit)->aRecActive;
	uint64_t offs = below(active + 2);
	size_t n = below(ROWS + 1), na, nb;

	if (below(3) == 0)
		offs = 0;
	na = blklist_window(l->lit, order, reverse, offs, a, n);
	nb = blklist_window(l->ix, order, reverse, offs, b, n);
	ck_assert_uint_eq(na, nb);
	same_rows(a, b, na, order == BLKLIST_BY_AGE ? "age" : "address");
}

static inline void
same_block(const struct both *l, unsigned layer, uint64_t addr)
{
	struct blk a[ROWS], b[ROWS];
	int ea = blklist_get(l->lit, layer, addr, &a[0]);
	size_t na, nb;

	ck_assert_int_eq(ea, blklist_get(l->ix, layer, addr, &b[0]));
	if (ea == 0)
		same_rows(a, b, 1, "get");
	ck_assert_int_eq(blklist_rank(l->lit, BLKLIST_BY_ADDRESS, layer, addr),
	    blklist_rank(l->ix, BLKLIST_BY_ADDRESS, layer, addr));
	ck_assert_int_eq(blklist_rank(l->lit, BLKLIST_BY_AGE, layer, addr),
	    blklist_rank(l->ix, BLKLIST_BY_AGE, layer, addr));
	na = blklist_after(l->lit, false, layer, addr, a, ROWS);
	nb = blklist_after(l->ix, false, layer, addr, b, ROWS);
	ck_assert_uint_eq(na, nb);
	same_rows(a, b, na, "after");
}

static inline void
sound_both(const struct both *l)
{
	const struct blklist_counts *a = blklist_counts(l->lit);
	const struct blklist_counts *b = blklist_counts(l->ix);

	sound(l->lit);
	sound(l->ix);
	ck_assert_uint_eq(a->cancelled, b->cancelled);
	ck_assert_uint_eq(a->unknown_free, b->unknown_free);
	ck_assert_uint_eq(a->late, b->late);
	ck_assert_uint_eq(a->duplicate, b->duplicate);
	ck_assert_uint_eq(a->full, b->full);
	ck_assert_mem_eq(a, b, sizeof(*a));
}

static inline void
both_new(struct both *l, uint32_t aRecMax)
{
	ck_assert_int_eq(blklist_new(&l->lit, BLKLIST_LITERAL, aRecMax), 0);
	ck_assert_int_eq(blklist_new(&l->ix, BLKLIST_INDEXED, aRecMax), 0);
}

static inline void
both_free(struct both *l)
{
	blklist_free(l->lit);
	blklist_free(l->ix);
}

static inline void
both_apply(const struct both *l, const struct blklist_batch *b)
{
	blklist_apply(l->lit, b);
	blklist_apply(l->ix, b);
}

#endif

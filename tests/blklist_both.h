/*
 * The literal and the indexed list side by side: the same into both, and the
 * same asked of both.
 */
#ifndef TESTS_BLKLIST_BOTH_H
#define TESTS_BLKLIST_BOTH_H

#include <inttypes.h>
#include <stddef.h>
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

#define FIELD(f) { #f, offsetof(struct blk, f), sizeof(((struct blk *)0)->f) }

static const struct row_field {
	const char *name;
	size_t at, bytes;
} row_fields[] = {
	FIELD(addr), FIELD(size), FIELD(seq), FIELD(ms), FIELD(caller),
	FIELD(ticket), FIELD(thread), FIELD(overhead), FIELD(info),
	FIELD(flags), FIELD(type), FIELD(zero),
};

#undef FIELD

/* The field's value, whatever its width and the machine's order of bytes. */
static inline uint64_t
row_value(const struct blk *b, const struct row_field *f)
{
	const char *p = (const char *)b + f->at;
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	switch (f->bytes) {
	case 8:
		return memcpy(&v8, p, 8), v8;
	case 4:
		return memcpy(&v4, p, 4), v4;
	case 2:
		return memcpy(&v2, p, 2), v2;
	default:
		return (uint8_t)*p;
	}
}

static inline void
same_rows(const struct blk *a, const struct blk *b, size_t n, const char *what)
{
	const struct row_field *f = row_fields;

	for (size_t i = 0; i < n; i++) {
		if (memcmp(&a[i], &b[i], sizeof(a[i])) == 0)
			continue;
		while (row_value(&a[i], f) == row_value(&b[i], f))
			f++;
		ck_abort_msg("%s: row %zu, %#" PRIx64 " of seq %" PRId64
		    ": %s is %#" PRIx64 " against %#" PRIx64, what, i,
		    a[i].addr, (int64_t)a[i].seq, f->name,
		    row_value(&a[i], f), row_value(&b[i], f));
	}
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

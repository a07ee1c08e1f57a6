/*
 * Ranges that may overlap, and the innermost that has an address.
 */
#include "reader.h"

#ifdef HAVE_ELFUTILS

#include "../base/base.h"

#include <stdlib.h>

void
ranges_add(struct ranges *t, uint64_t lo, uint64_t hi, uint32_t what,
    uint32_t rank)
{
	void *array = t->r;

	if (lo >= hi || base_grow(&array, &t->cap, t->n + 1, sizeof(*t->r)) < 0)
		return;
	t->r = array;
	t->r[t->n++] = (struct range) {
		.lo = lo,
		.hi = hi,
		.what = what,
		.rank = rank,
	};
}

/* Outer ones first, the best of those that are alike last. */
static int
compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi > y->hi ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->what < y->what ? 1 : x->what > y->what ? -1 : 0;
}

void
ranges_sort(struct ranges *t)
{
	uint64_t reach = 0;

	if (t->n > 0)
		qsort(t->r, t->n, sizeof(*t->r), compare);
	for (size_t i = 0; i < t->n; i++) {
		if (t->r[i].hi > reach)
			reach = t->r[i].hi;
		t->r[i].reach = reach;
	}
}

const struct range *
ranges_find(const struct ranges *t, uint64_t addr)
{
	size_t lo = 0, hi = t->n;

	/* The first that begins beyond it; those before it are candidates. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->r[mid].lo > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	while (lo > 0 && t->r[lo - 1].reach > addr) {
		lo--;
		if (t->r[lo].hi > addr)
			return &t->r[lo];
	}
	return NULL;
}

void
ranges_fini(struct ranges *t)
{
	free(t->r);
	*t = (struct ranges) { 0 };
}

#endif

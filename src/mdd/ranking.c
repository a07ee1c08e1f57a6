/*
 * Groups in the order of their measure, as far as it is looked at: the rows of
 * a window are selected from all of them, and only those are sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "grouping.h"

struct profile_ranking {
	struct grouping g;
	size_t next, of;	/* caller that is counted next, of so many ... */
	size_t kept;		/* ... and then group of the other one */
	const struct profile_ranking *keep;	/* whose order this one has ... */
	bool keeps;		/* ... or had, when all were counted */
	size_t nlate;
	uint32_t *order;	/* groups; in their places as far as they were asked for */
	size_t cap;
	bool reverse;
	bool ordered;		/* order has all groups, and their values are made */
};

static int
compare(const struct profile_ranking *r, const struct group *a,
    const struct group *b)
{
	int c;

	if (a->kept != b->kept)
		return a->kept ? -1 : 1;
	if (a->value != b->value)
		return (a->value > b->value) != r->reverse ? -1 : 1;
	c = strcmp(a->name, b->name);
	if (c == 0 && a->tag != b->tag)
		c = a->tag < b->tag ? -1 : 1;
	if (c == 0)
		c = a->key < b->key ? -1 : a->key > b->key;
	/* Where names alone say the order it is theirs that is reversed. */
	return r->reverse && r->g.measure == PROFILE_NAME ? -c : c;
}

static inline const struct group *
ranked(const struct profile_ranking *r, size_t i)
{
	return (const struct group *)r->g.groups.item + r->order[i];
}

static inline void
swap(uint32_t *a, uint32_t *b)
{
	uint32_t was = *a;

	*a = *b;
	*b = was;
}

/* The middle one of three, so that what is sorted already is no worst case. */
static size_t
pivot_of(const struct profile_ranking *r, size_t from, size_t to)
{
	size_t a = from, b = from + (to - from) / 2, c = to - 1, t;

	if (compare(r, ranked(r, b), ranked(r, a)) < 0) {
		t = a;
		a = b;
		b = t;
	}
	if (compare(r, ranked(r, c), ranked(r, a)) < 0)
		return a;
	return compare(r, ranked(r, c), ranked(r, b)) < 0 ? c : b;
}

/* Those before one of them to its left, those behind to its right: where it is. */
static size_t
part(struct profile_ranking *r, size_t from, size_t to)
{
	size_t at = from, i;

	swap(&r->order[pivot_of(r, from, to)], &r->order[to - 1]);
	for (i = from; i + 1 < to; i++)
		if (compare(r, ranked(r, i), ranked(r, to - 1)) < 0)
			swap(&r->order[i], &r->order[at++]);
	swap(&r->order[at], &r->order[to - 1]);
	return at;
}

/* [from, to) of [lo, hi) get the groups that belong there, in their order. */
static void
sort_part(struct profile_ranking *r, size_t lo, size_t hi, size_t from,
    size_t to)
{
	size_t at;

	while (hi - lo > 1 && from < hi && to > lo) {
		at = part(r, lo, hi);
		/* The smaller side first: no deeper than there are bits. */
		if (at - lo < hi - at - 1) {
			sort_part(r, lo, at, from, to);
			lo = at + 1;
		} else {
			sort_part(r, at + 1, hi, from, to);
			hi = at;
		}
	}
}

static uint64_t
value_of(const struct profile_ranking *r, const struct group *g)
{
	switch (r->g.measure) {
	case PROFILE_SELF:
		return sums_measure(&g->self, PROFILE_BYTES, r->g.now_ms);
	case PROFILE_TYPE:
		return MIXED - g->type;
	case PROFILE_THREAD:
		return MIXED - g->thread;
	case PROFILE_BYTES:
	case PROFILE_BLOCKS:
	case PROFILE_AGE:
	case PROFILE_NAME:
		break;
	}
	return sums_measure(&g->total, r->g.measure, r->g.now_ms);
}

/* What the group is called by now. */
static uint64_t
heir_of(const struct profile_ranking *r, const struct group *old)
{
	uint64_t key;

	if (r->g.by == PROFILE_FRAME ||
	    hashmap_find(&r->g.groups, old->key) >= 0 ||
	    profile_key_of(r->g.p, r->g.by, old->caller, &key) < 0)
		return old->key;
	return key;
}

/* A group of the other one gets the place that it has there. */
static int
keep_place(struct profile_ranking *r, const struct group *old)
{
	struct group *g;
	uint64_t key;
	bool added;
	int64_t at;

	/* It was late there. */
	if (r->keep->keeps && !old->kept)
		return 0;
	key = heir_of(r, old);
	at = hashmap_put(&r->g.groups, key, &added);
	if (at < 0)
		return -ENOMEM;
	g = hashmap_item(&r->g.groups, (size_t)at);
	if (added) {
		*g = *old;
		g->key = key;
		g->total = g->self = (struct sums){ 0 };
	} else if (g->kept && (old->value > g->value) == r->reverse) {
		/* Of two that have become one the first place counts. */
		return 0;
	}
	g->kept = true;
	g->value = old->value;
	return 0;
}

/* Up to at_most of them; 1 when these were all. */
static int
keep_places(struct profile_ranking *r, size_t at_most)
{
	const struct hashmap *were = &r->keep->g.groups;
	int err = 0;

	for (; r->kept < were->n && at_most > 0 && err == 0; at_most--)
		err = keep_place(r, hashmap_item(were, r->kept++));
	return err < 0 ? err : r->kept == were->n;
}

/* All groups are counted: they get their values, and are in no order yet. */
static int
make_order(struct profile_ranking *r)
{
	struct group *all;
	void *order = r->order;
	size_t n, i;
	int err = 0;

	if (r->ordered)
		return 0;
	if (r->keep != NULL)
		err = keep_places(r, SIZE_MAX);
	if (err < 0)
		return err;
	all = r->g.groups.item;
	n = r->g.groups.n;
	err = base_grow(&order, &r->cap, n > 0 ? n : 1, sizeof *r->order);
	if (err < 0)
		return err;
	r->order = order;
	for (i = 0; i < n; i++) {
		r->order[i] = (uint32_t)i;
		if (!all[i].kept)
			all[i].value = value_of(r, &all[i]);
		r->nlate += r->keeps && !all[i].kept;
	}
	r->keep = NULL;
	r->ordered = true;
	return 0;
}

int
profile_ranking_new(struct profile_ranking **out)
{
	struct profile_ranking *r = calloc(1, sizeof *r);

	if (r == NULL)
		return -ENOMEM;
	r->g.groups.size = sizeof(struct group);
	*out = r;
	return 0;
}

void
profile_ranking_free(struct profile_ranking *r)
{
	if (r == NULL)
		return;
	hashmap_fini(&r->g.groups);
	free(r->order);
	free(r);
}

int
profile_ranking_begin(struct profile_ranking *r, struct profile *p,
    enum profile_by by, enum profile_measure measure, int64_t now_ms)
{
	int err = profile_prepare(p);

	if (err < 0)
		return err;
	hashmap_clear(&r->g.groups);
	r->g = (struct grouping){ .p = p, .groups = r->g.groups, .by = by,
	    .measure = measure, .now_ms = now_ms };
	r->next = 0;
	r->of = p->callers.n;
	r->ordered = r->reverse = r->keeps = false;
	r->keep = NULL;
	r->kept = r->nlate = 0;
	return 0;
}

void
profile_ranking_keep(struct profile_ranking *r,
    const struct profile_ranking *keep)
{
	r->keep = keep;
	r->keeps = true;
}

size_t
profile_ranking_late(const struct profile_ranking *r)
{
	return r->nlate;
}

struct grouping *
ranking_grouping(struct profile_ranking *r)
{
	return &r->g;
}

void
profile_ranking_reverse(struct profile_ranking *r, bool reverse)
{
	r->reverse = reverse;
}

void
profile_ranking_cells(struct profile_ranking *r, const struct profile_cells *c)
{
	r->g.cells = c;
	r->of = c->shown.n;
}

void
profile_ranking_below(struct profile_ranking *r,
    const struct profile_ranking_below *below, size_t n)
{
	r->g.below = below;
	r->g.nbelow = n;
}

/* All are counted. */
static int
end(struct profile_ranking *r)
{
	int err = make_order(r);
	size_t i;

	for (i = 0; i < r->g.nbelow && err == 0; i++)
		err = make_order(r->g.below[i].ranking);
	if (err == 0)
		r->g.nbelow = 0;
	return err;
}

int
profile_ranking_count(struct profile_ranking *r, size_t at_most, size_t *left)
{
	size_t until = r->of - r->next > at_most ? r->next + at_most : r->of;
	int err = 0;

	for (; r->next < until && err == 0; r->next++)
		err = grouping_count(&r->g, r->next);
	if (err == 0 && r->next == r->of && r->keep != NULL) {
		err = keep_places(r, at_most);
		if (err == 0) {
			*left = r->keep->g.groups.n - r->kept;
			return 0;
		}
	}
	if (err >= 0 && r->next == r->of)
		err = end(r);
	if (err >= 0)
		*left = r->of - r->next;
	return err < 0 ? err : 0;
}

size_t
profile_ranking_size(const struct profile_ranking *r)
{
	return r->ordered ? r->g.groups.n : 0;
}

#define AT_ONCE 256

/* Places of the first that come behind the group. */
static size_t
behind(const struct profile_ranking *r, const struct group *g,
    const uint32_t *order, size_t n)
{
	const struct group *all = r->g.groups.item;
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (compare(r, g, &all[order[mid]]) < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void
find_some(const struct profile_ranking *r, const uint64_t *key, size_t n,
    int64_t *at)
{
	const struct group *all = r->g.groups.item;
	size_t before[AT_ONCE + 1] = { 0 }, i, k, have = 0;
	uint32_t order[AT_ONCE];
	int64_t sum = 0;

	for (i = 0; i < n; i++) {
		at[i] = r->ordered ? hashmap_find(&r->g.groups, key[i]) : -1;
		if (at[i] < 0)
			continue;
		k = behind(r, &all[at[i]], order, have++);
		memmove(&order[k + 1], &order[k],
		    (have - 1 - k) * sizeof *order);
		order[k] = (uint32_t)at[i];
	}
	for (i = 0; i < r->g.groups.n && have > 0; i++)
		before[behind(r, &all[i], order, have)]++;
	/* Those that are before the k-th one: itself is counted behind. */
	for (k = 0; k < have; k++) {
		sum += (int64_t)before[k];
		for (i = 0; i < n; i++)
			if (at[i] == order[k])
				at[i] = -(sum + 2);
	}
	for (i = 0; i < n; i++)
		at[i] = at[i] == -1 ? -ENOENT : -at[i] - 2;
}

void
profile_ranking_find_all(const struct profile_ranking *r, const uint64_t *key,
    size_t n, int64_t *at)
{
	size_t i, some;

	for (i = 0; i < n; i += some) {
		some = n - i < AT_ONCE ? n - i : AT_ONCE;
		find_some(r, key + i, some, at + i);
	}
}

int64_t
profile_ranking_find(const struct profile_ranking *r, uint64_t key)
{
	int64_t at;

	profile_ranking_find_all(r, &key, 1, &at);
	return at;
}

bool
profile_ranking_sum(const struct profile_ranking *r, uint64_t key,
    struct profile_sum *out)
{
	const struct group *g = r->ordered ? hashmap_get(&r->g.groups, key) :
	    NULL;

	if (g != NULL)
		*out = sums_out(&g->total);
	return g != NULL;
}

int
profile_ranking_group(struct profile_ranking *r, uint64_t key,
    struct profile_group *out)
{
	const struct group *g = r->ordered ? hashmap_get(&r->g.groups, key) :
	    NULL;

	return g != NULL ? grouping_row(&r->g, g, out) : -ENOENT;
}

int
profile_ranking_rows(struct profile_ranking *r, size_t offs,
    struct profile_group *out, size_t n, size_t *got)
{
	size_t have = profile_ranking_size(r), i = 0;
	int err = 0;

	if (offs < have && n > 0) {
		if (n > have - offs)
			n = have - offs;
		sort_part(r, 0, have, offs, offs + n);
		for (; i < n && err == 0; i++)
			err = grouping_row(&r->g, ranked(r, offs + i), &out[i]);
	}
	if (err == 0)
		*got = i;
	return err;
}

int
grouping_rows(struct grouping *g, size_t offs, struct profile_group *out, size_t n,
    size_t *got)
{
	struct profile_ranking r = { .g = *g };
	int err = make_order(&r);

	if (err == 0)
		err = profile_ranking_rows(&r, offs, out, n, got);
	free(r.order);
	return err;
}

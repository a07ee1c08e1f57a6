/*
 * Entries under one key, and who stands next to a function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "profile.h"

struct group {
	uint64_t key;
	const char *name;
	struct place place;
	struct sums total, self;
	uint32_t stacks;
	uint64_t caller;	/* the heaviest ... */
	uint64_t heaviest;	/* ... and how heavy it is */
	uint64_t value;		/* what groups are sorted by */
};

struct grouping {
	struct profile *p;
	struct table groups;
	enum profile_by by;
	enum profile_measure measure;
	int64_t now_ms;
	bool one;		/* only the group of that key */
	uint64_t key;
};

struct profile_ranking {
	struct grouping g;
	size_t next, of;	/* caller that is counted next, and the last but one */
	uint32_t *order;	/* groups; in their places as far as they were asked for */
	size_t cap;
	bool ordered;		/* order has all groups, and their values are made */
};

/* --- places --------------------------------------------------------------- */

void
place_add(const struct profile *p, struct place *place, const struct line *l)
{
	const char *module = profile_function(p, l->function)->module;

	if (!place->any) {
		*place = (struct place){ .any = true, .module = module,
			.file = l->file, .line = l->line };
		return;
	}
	if (place->module != module)
		place->module = "";
	if (place->file != l->file)
		place->file = "";
	if (place->file[0] == '\0' || place->line != l->line)
		place->line = 0;
}

int
place_where(struct profile *p, const struct place *place, const char **out)
{
	char text[WIRE_TEXT_MAX + 16];
	int n;

	if (place->file[0] == '\0')
		return texts_keep(&p->texts, text_base(place->module),
		    strlen(text_base(place->module)), out);
	if (place->line == 0)
		return texts_keep(&p->texts, text_base(place->file),
		    strlen(text_base(place->file)), out);
	n = snprintf(text, sizeof text, "%s:%u", text_base(place->file),
	    place->line);
	return texts_keep(&p->texts, text, (size_t)n < sizeof text ?
	    (size_t)n : sizeof text - 1, out);
}

/* --- keys ----------------------------------------------------------------- */

/* The key and the name that a line has in such groups. */
static uint64_t
key_of(const struct profile *p, enum profile_by by, uint64_t caller,
    const struct line *l, const char **name)
{
	const struct function *f = profile_function(p, l->function);

	*name = f->name;
	switch (by) {
	case PROFILE_SITE:
		/* Every number is a key of its own, and none is a function's. */
		return caller * UINT64_C(0xff51afd7ed558ccd);
	case PROFILE_LINE:
		return l->key;
	case PROFILE_MODULE:
		*name = f->module[0] != '\0' ? text_base(f->module) :
		    "(module not known)";
		return text_hash(1, f->module);
	case PROFILE_FUNCTION:
	case PROFILE_FRAME:
		break;
	}
	return f->key;
}

int
profile_key_of(struct profile *p, enum profile_by by, uint64_t caller,
    uint64_t *key)
{
	int64_t at = table_find(&p->callers, sizeof(struct caller), caller);
	uint32_t lines[PROFILE_LINES_MAX];
	const char *name;
	size_t n;

	if (at < 0)
		return -ENOENT;
	if (profile_prepare(p) < 0)
		return -ENOMEM;
	n = profile_lines(p, (size_t)at, lines);
	*key = key_of(p, by, caller,
	    &p->line[lines[profile_origin(p, lines, n)]], &name);
	return 0;
}

bool
profile_in_group(struct profile *p, enum profile_by by, uint64_t key,
    uint64_t caller)
{
	int64_t at = table_find(&p->callers, sizeof(struct caller), caller);
	uint32_t lines[PROFILE_LINES_MAX];
	const char *name;
	size_t n, i;

	if (at < 0 || profile_prepare(p) < 0)
		return false;
	n = profile_lines(p, (size_t)at, lines);
	for (i = profile_origin(p, lines, n); i < n; i++) {
		if (key_of(p, by, caller, &p->line[lines[i]], &name) == key)
			return true;
		if (by != PROFILE_FRAME)
			break;
	}
	return false;
}

/* --- filling -------------------------------------------------------------- */

static int
count(struct grouping *g, size_t caller, const struct line *l, bool self)
{
	const struct caller *c = profile_caller(g->p, caller);
	uint64_t heavy = sums_measure(&c->sums, g->measure, g->now_ms);
	struct group *to;
	const char *name;
	uint64_t key = key_of(g->p, g->by, c->caller, l, &name);
	bool added;
	int64_t i;

	if (g->one && key != g->key)
		return 0;
	i = table_put(&g->groups, sizeof *to, key, &added);
	if (i < 0)
		return -ENOMEM;
	to = (struct group *)g->groups.item + i;
	to->name = name;
	place_add(g->p, &to->place, l);
	sums_add(&to->total, &c->sums);
	if (self)
		sums_add(&to->self, &c->sums);
	/* Of two that are as heavy, the same one each time. */
	if (added || heavy > to->heaviest ||
	    (heavy == to->heaviest && c->caller < to->caller)) {
		to->heaviest = heavy;
		to->caller = c->caller;
	}
	to->stacks++;
	return 0;
}

/* A function that has been counted stands at one more place. */
static void
add_place(struct grouping *g, const struct function *f, const struct line *l)
{
	int64_t i = table_find(&g->groups, sizeof(struct group), f->key);

	/* None: not the one that is asked for. */
	if (i >= 0)
		place_add(g->p, &((struct group *)g->groups.item + i)->place,
		    l);
}

/* Each function of the stack, once, as far out as wrappers end. */
static int
count_frames(struct grouping *g, size_t caller, const uint32_t *lines,
    size_t n, size_t origin)
{
	uint32_t mark = profile_next_mark(g->p);
	int r = 0;

	for (size_t i = origin; i < n && r == 0; i++) {
		const struct line *l = &g->p->line[lines[i]];
		struct function *f = profile_function(g->p, l->function);

		if (f->mark == mark) {
			add_place(g, f, l);
			continue;
		}
		f->mark = mark;
		r = count(g, caller, l, i == origin);
	}
	return r;
}

/* What lies at or outside of the caller's origin. */
static int
count_caller(struct grouping *g, size_t i)
{
	uint32_t lines[PROFILE_LINES_MAX];
	size_t n, origin;

	if (profile_caller(g->p, i)->sums.blocks == 0)
		return 0;
	n = profile_lines(g->p, i, lines);
	origin = profile_origin(g->p, lines, n);
	if (g->by == PROFILE_FRAME)
		return count_frames(g, i, lines, n, origin);
	return count(g, i, &g->p->line[lines[origin]], true);
}

static int
fill(struct grouping *g)
{
	int r = profile_prepare(g->p);

	for (size_t i = 0; i < g->p->callers.n && r == 0; i++)
		r = count_caller(g, i);
	return r;
}

/* --- out ------------------------------------------------------------------ */

static int
compare(const struct group *a, const struct group *b)
{
	int c;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	c = strcmp(a->name, b->name);
	if (c != 0)
		return c;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int
put_out(struct grouping *g, const struct group *from,
    struct profile_group *out)
{
	bool frames = g->by == PROFILE_FRAME;
	struct place place = from->place;

	/* A module's place is the module. */
	if (g->by == PROFILE_MODULE) {
		place.file = "";
		place.line = 0;
	}
	*out = (struct profile_group){
		.name = from->name,
		.file = place.file,
		.line = place.line,
		.module = place.module,
		.total = sums_out(&from->total),
		.self = sums_out(frames ? &from->self : &from->total),
		.stacks = from->stacks,
		.key = from->key,
		.caller = from->caller,
	};
	if (g->by != PROFILE_MODULE)
		return place_where(g->p, &place, &out->where);
	out->where = place.module;
	return 0;
}

/* --- rankings ------------------------------------------------------------- */

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

	if (compare(ranked(r, b), ranked(r, a)) < 0) {
		t = a;
		a = b;
		b = t;
	}
	if (compare(ranked(r, c), ranked(r, a)) < 0)
		return a;
	return compare(ranked(r, c), ranked(r, b)) < 0 ? c : b;
}

/* Those before one of them to its left, those behind to its right: where it is. */
static size_t
part(struct profile_ranking *r, size_t from, size_t to)
{
	size_t at = from, i;

	swap(&r->order[pivot_of(r, from, to)], &r->order[to - 1]);
	for (i = from; i + 1 < to; i++)
		if (compare(ranked(r, i), ranked(r, to - 1)) < 0)
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

/* All groups are counted: they get their values, and are in no order yet. */
static int
make_order(struct profile_ranking *r)
{
	struct group *all = r->g.groups.item;
	size_t n = r->g.groups.n, i;
	void *order = r->order;
	int err;

	if (r->ordered)
		return 0;
	err = base_grow(&order, &r->cap, n > 0 ? n : 1, sizeof *r->order);
	if (err < 0)
		return err;
	r->order = order;
	for (i = 0; i < n; i++) {
		r->order[i] = (uint32_t)i;
		all[i].value = sums_measure(&all[i].total, r->g.measure,
		    r->g.now_ms);
	}
	r->ordered = true;
	return 0;
}

int
profile_ranking_new(struct profile_ranking **out)
{
	struct profile_ranking *r = calloc(1, sizeof *r);

	if (r == NULL)
		return -ENOMEM;
	*out = r;
	return 0;
}

void
profile_ranking_free(struct profile_ranking *r)
{
	if (r == NULL)
		return;
	table_fini(&r->g.groups);
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
	table_clear(&r->g.groups);
	r->g = (struct grouping){ .p = p, .groups = r->g.groups, .by = by,
	    .measure = measure, .now_ms = now_ms };
	r->next = 0;
	r->of = p->callers.n;
	r->ordered = false;
	return 0;
}

int
profile_ranking_count(struct profile_ranking *r, size_t at_most, size_t *left)
{
	size_t until = r->of - r->next > at_most ? r->next + at_most : r->of;
	int err = 0;

	for (; r->next < until && err == 0; r->next++)
		err = count_caller(&r->g, r->next);
	if (err == 0 && r->next == r->of)
		err = make_order(r);
	if (err == 0)
		*left = r->of - r->next;
	return err;
}

size_t
profile_ranking_size(const struct profile_ranking *r)
{
	return r->ordered ? r->g.groups.n : 0;
}

int64_t
profile_ranking_find(const struct profile_ranking *r, uint64_t key)
{
	const struct group *all = r->g.groups.item;
	int64_t at = r->ordered ? table_find(&r->g.groups, sizeof *all, key) :
	    -1;
	int64_t before = 0;
	size_t i;

	if (at < 0)
		return -ENOENT;
	for (i = 0; i < r->g.groups.n; i++)
		before += compare(&all[i], &all[at]) < 0;
	return before;
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
			err = put_out(&r->g, ranked(r, offs + i), &out[i]);
	}
	if (err == 0)
		*got = i;
	return err;
}

/* --- all at once ---------------------------------------------------------- */

/* Rows [offs, offs + n) of what was counted, which ends with that. */
static int
hand_out(struct grouping *g, size_t offs, struct profile_group *out, size_t n,
    size_t *got)
{
	struct profile_ranking r = { .g = *g };
	int err = make_order(&r);

	if (err == 0)
		err = profile_ranking_rows(&r, offs, out, n, got);
	free(r.order);
	return err;
}

int
profile_groups(struct profile *p, enum profile_by by,
    enum profile_measure measure, int64_t now_ms, size_t offs,
    struct profile_group *out, size_t n, size_t *got, size_t *groups)
{
	struct grouping g = { .p = p, .by = by, .measure = measure,
	    .now_ms = now_ms };
	int r;

	r = fill(&g);
	if (r == 0)
		r = hand_out(&g, offs, out, n, got);
	if (r == 0)
		*groups = g.groups.n;
	table_fini(&g.groups);
	return r;
}

int
profile_group(struct profile *p, enum profile_by by, uint64_t key,
    enum profile_measure measure, int64_t now_ms, struct profile_group *out)
{
	struct grouping g = { .p = p, .by = by, .measure = measure,
	    .now_ms = now_ms, .one = true, .key = key };
	int64_t at;
	int r;

	r = fill(&g);
	if (r == 0) {
		at = table_find(&g.groups, sizeof(struct group), key);
		r = at < 0 ? -ENOENT : put_out(&g,
		    (struct group *)g.groups.item + at, out);
	}
	table_fini(&g.groups);
	return r;
}

/* --- neighbours ----------------------------------------------------------- */

/* Where the function stands in the stack, n if nowhere. */
static size_t
find_in(const struct profile *p, const uint32_t *lines, size_t n,
    uint64_t key, bool outermost)
{
	size_t found = n;

	for (size_t i = 0; i < n; i++) {
		const struct line *l = &p->line[lines[i]];

		if (profile_function(p, l->function)->key != key)
			continue;
		found = i;
		if (!outermost)
			break;
	}
	return found;
}

static int
count_neighbour(struct grouping *g, size_t caller, uint64_t key, bool outwards)
{
	uint32_t lines[PROFILE_LINES_MAX];
	size_t n = profile_lines(g->p, caller, lines);
	size_t origin = profile_origin(g->p, lines, n);
	size_t at = find_in(g->p, lines, n, key, outwards);

	if (at == n || (outwards && at + 1 == n))
		return 0;
	/* What an origin calls to get memory is its own asking. */
	if (!outwards && (at == 0 || at == origin))
		return 0;
	at = outwards ? at + 1 : at - 1;
	return count(g, caller, &g->p->line[lines[at]], at == origin);
}

int
profile_neighbours(struct profile *p, uint64_t key, bool outwards,
    enum profile_measure measure, int64_t now_ms, struct profile_group *out,
    size_t n, size_t *got)
{
	struct grouping g = { .p = p, .by = PROFILE_FRAME, .measure = measure,
	    .now_ms = now_ms };
	int r = profile_prepare(p);

	for (size_t i = 0; i < p->callers.n && r == 0; i++)
		if (profile_caller(p, i)->sums.blocks > 0)
			r = count_neighbour(&g, i, key, outwards);
	if (r == 0)
		r = hand_out(&g, 0, out, n, got);
	table_fini(&g.groups);
	return r;
}

/* --- ends ----------------------------------------------------------------- */

int
profile_ends(struct profile *p, struct profile_sum out[RING_ENDS])
{
	struct sums sums[RING_ENDS] = { 0 };
	int r = profile_prepare(p);

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->callers.n; i++) {
		unsigned end = p->stack[i].end;

		sums_add(&sums[end < RING_ENDS ? end : 0],
		    &profile_caller(p, i)->sums);
	}
	for (unsigned end = 0; end < RING_ENDS; end++)
		out[end] = sums_out(&sums[end]);
	return 0;
}

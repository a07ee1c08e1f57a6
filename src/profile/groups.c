/*
 * Groups, rankings of them, and the neighbours of a function.  Only the rows of
 * a window are selected from the groups and sorted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "profile_tables.h"

struct group {
	uint64_t key;
	const char *name;
	struct place place;
	struct sums total, self;
	uint32_t stacks;
	uint32_t type, thread;	/* as a cell has them; 0 of callers */
	unsigned sources;	/* by PROFILE_CTYPE: a bit for each enum wire_type_from */
	uint64_t tag;
	uint64_t caller;	/* the heaviest */
	uint64_t heaviest;	/* its measure */
	uint64_t value;		/* groups are sorted by it */
	bool placed;		/* at the same place as in the model */
};

struct grouping {
	struct profile *p;
	struct hashmap groups;
	enum profile_by by;
	enum profile_measure measure;
	int64_t now_ms;
	const struct profile_cells *cells;	/* counted instead of callers, or NULL */
	const struct profile_subgroups *subgroups;
	size_t nsubgroups;
	bool one;		/* only the group of that key */
	uint64_t key;
};

struct profile_ranking {
	struct grouping g;
	size_t next, count;	/* the next caller or cell, and their number */
	const struct profile_ranking *model;	/* to copy its order; NULL */
	size_t copied;		/* groups of the model */
	bool has_model;		/* true also after the copy */
	size_t nnew;		/* groups that the model did not have */
	uint32_t *order;	/* groups; sorted as far as requested */
	size_t cap;
	bool reverse;
	bool ordered;		/* order has all groups, with their values */
};

static int grouping_count(struct grouping *, size_t at);
static int grouping_rows(struct grouping *, size_t offs,
    struct profile_group *out, size_t n, size_t *got);

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
		return text_intern(&p->texts, text_base(place->module),
		    strlen(text_base(place->module)), out);
	if (place->line == 0)
		return text_intern(&p->texts, text_base(place->file),
		    strlen(text_base(place->file)), out);
	n = snprintf(text, sizeof text, "%s:%u", text_base(place->file),
	    place->line);
	return text_intern(&p->texts, text, (size_t)n < sizeof text ?
	    (size_t)n : sizeof text - 1, out);
}

static uint64_t
type_key(const struct profile *p, uint64_t caller, const char **name)
{
	int64_t at = hashmap_find(&p->callers, caller);
	const char *type = "";

	if (at >= 0)
		(void)profile_type_at(p, (size_t)at, &type);
	*name = type[0] != '\0' ? type : "(type not known)";
	return text_hash(2, type);
}

static uint64_t
group_key(const struct profile *p, enum profile_by by, uint64_t caller,
    const struct line *l, const char **name)
{
	const struct function *f = profile_function(p, l->function);

	*name = f->name;
	switch (by) {
	case PROFILE_SITE:
		/* A key for each number, unlike those of functions. */
		return caller * UINT64_C(0xff51afd7ed558ccd);
	case PROFILE_LINE:
		return l->key;
	case PROFILE_MODULE:
		*name = f->module[0] != '\0' ? text_base(f->module) :
		    "(module not known)";
		return text_hash(1, f->module);
	case PROFILE_CTYPE:
		return type_key(p, caller, name);
	case PROFILE_FUNCTION:
	case PROFILE_FRAME:
	case PROFILE_TAG:		/* groups by a tag have no line */
	case PROFILE_TAG_SECOND:
		break;
	}
	return f->key;
}

static bool
is_by_tag(enum profile_by by)
{
	return by == PROFILE_TAG || by == PROFILE_TAG_SECOND;
}

uint64_t
profile_tag_key(uint64_t tag)
{
	return (tag + 1) * UINT64_C(0xc4ceb9fe1a85ec53);
}

int
profile_key_of(struct profile *p, enum profile_by by, uint64_t caller,
    uint64_t *key)
{
	int64_t at = hashmap_find(&p->callers, caller);
	uint32_t lines[PROFILE_LINES_MAX];
	const char *name;
	size_t n;

	if (at < 0 || is_by_tag(by))
		return -ENOENT;
	if (profile_prepare(p) < 0)
		return -ENOMEM;
	n = profile_lines(p, (size_t)at, lines);
	*key = group_key(p, by, caller,
	    &p->line[lines[profile_origin(p, lines, n)]], &name);
	return 0;
}

int
profile_keys_of(struct profile *p, enum profile_by by, uint64_t caller,
    uint64_t *key, size_t cap)
{
	int64_t at = hashmap_find(&p->callers, caller);
	uint32_t lines[PROFILE_LINES_MAX], mark;
	size_t n, i, got = 0;
	const char *name;
	int r;

	if (by != PROFILE_FRAME) {
		r = profile_key_of(p, by, caller, key);
		return r < 0 ? r : 1;
	}
	if (at < 0)
		return -ENOENT;
	if (profile_prepare(p) < 0)
		return -ENOMEM;
	n = profile_lines(p, (size_t)at, lines);
	mark = profile_next_mark(p);
	for (i = profile_origin(p, lines, n); i < n && got < cap; i++) {
		struct function *f = profile_function(p,
		    p->line[lines[i]].function);

		if (f->mark != mark)
			key[got++] = group_key(p, by, caller,
			    &p->line[lines[i]], &name);
		f->mark = mark;
	}
	return (int)got;
}

bool
profile_in_group(struct profile *p, enum profile_by by, uint64_t key,
    uint64_t caller)
{
	int64_t at = hashmap_find(&p->callers, caller);
	uint32_t lines[PROFILE_LINES_MAX];
	const char *name;
	size_t n, i;

	if (at < 0 || is_by_tag(by) || profile_prepare(p) < 0)
		return false;
	n = profile_lines(p, (size_t)at, lines);
	for (i = profile_origin(p, lines, n); i < n; i++) {
		if (group_key(p, by, caller, &p->line[lines[i]], &name) == key)
			return true;
		if (by != PROFILE_FRAME)
			break;
	}
	return false;
}

struct entry {
	size_t at;
	size_t caller;
	const struct sums *sums;
	const struct cell *cell;	/* NULL: all of the caller's */
};

static struct entry
entry_at(const struct grouping *g, size_t at)
{
	const struct cell *cell;

	if (g->cells == NULL)
		return (struct entry){ .at = at, .caller = at,
			.sums = &profile_caller(g->p, at)->sums };
	cell = hashmap_item(&g->cells->shown, at);
	return (struct entry){ .at = at, .caller = cell->caller,
		.sums = &cell->sums, .cell = cell };
}

static int
add_to_group(struct grouping *g, const struct entry *e, uint64_t key,
    const char *name, bool self, struct group **out)
{
	uint64_t heavy = sums_measure(e->sums, g->measure, g->now_ms);
	uint64_t caller = profile_caller(g->p, e->caller)->caller;
	struct group *to;
	bool added;
	int64_t i;

	i = hashmap_put(&g->groups, key, &added);
	if (i < 0)
		return -ENOMEM;
	*out = to = hashmap_item(&g->groups, (size_t)i);
	to->name = name;
	sums_add(&to->total, e->sums);
	if (self)
		sums_add(&to->self, e->sums);
	if (e->cell != NULL) {
		to->type = mixed(to->type, e->cell->type);
		to->thread = mixed(to->thread, e->cell->thread);
	}
	/* Ties always have the same winner. */
	if (added || heavy > to->heaviest ||
	    (heavy == to->heaviest && caller < to->caller)) {
		to->heaviest = heavy;
		to->caller = caller;
	}
	to->stacks++;
	return 0;
}

static const struct place nowhere = { .any = true, .module = "", .file = "" };

static int
count_entry(struct grouping *g, const struct entry *e, const struct line *l,
    bool self)
{
	struct group *to;
	const char *name;
	uint64_t key = group_key(g->p, g->by, profile_caller(g->p,
	    e->caller)->caller, l, &name);
	int r;

	if (g->one && key != g->key)
		return 0;
	r = add_to_group(g, e, key, name, self, &to);
	if (r < 0)
		return r;
	if (g->by == PROFILE_CTYPE) {
		to->place = nowhere;
		to->sources |= 1u << profile_type_at(g->p, e->caller, &name);
	} else {
		place_add(g->p, &to->place, l);
	}
	return 0;
}

static int
count_tag(struct grouping *g, const struct entry *e)
{
	uint64_t tag = e->cell->tag[g->by == PROFILE_TAG_SECOND];
	struct group *to;
	int r = add_to_group(g, e, profile_tag_key(tag), "", true, &to);

	if (r < 0)
		return r;
	to->tag = tag;
	to->place = nowhere;
	return 0;
}

static void
add_place(struct grouping *g, const struct function *f, const struct line *l)
{
	struct group *to = hashmap_get(&g->groups, f->key);

	/* NULL: only the group of one key is counted, and this is another. */
	if (to != NULL)
		place_add(g->p, &to->place, l);
}

static int
count_frames(struct grouping *g, const struct entry *e, const uint32_t *lines,
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
		r = count_entry(g, e, l, i == origin);
	}
	return r;
}

static int
count_in_subgroup(struct grouping *g, const struct entry *e, uint64_t key)
{
	size_t i;

	BASE_FIND_FIRST(i, g->nsubgroups, g->subgroups[i].key >= key);
	return i < g->nsubgroups && g->subgroups[i].key == key ?
	    grouping_count(&g->subgroups[i].ranking->g, e->at) : 0;
}

static bool
is_first(const struct profile *p, const uint32_t *lines, size_t from, size_t i)
{
	for (; from < i; from++)
		if (p->line[lines[from]].function ==
		    p->line[lines[i]].function)
			return false;
	return true;
}

static int
count_in_subgroups(struct grouping *g, const struct entry *e,
    const uint32_t *lines, size_t n, size_t origin)
{
	uint64_t caller = profile_caller(g->p, e->caller)->caller;
	const char *name;
	int r = 0;

	for (size_t i = origin; i < n && r == 0; i++) {
		if (is_first(g->p, lines, origin, i))
			r = count_in_subgroup(g, e, group_key(g->p, g->by, caller,
			    &g->p->line[lines[i]], &name));
		if (g->by != PROFILE_FRAME)
			break;
	}
	return r;
}

static int
grouping_count(struct grouping *g, size_t i)
{
	struct entry e = entry_at(g, i);
	uint32_t lines[PROFILE_LINES_MAX];
	size_t n, origin;
	int r;

	if (e.sums->blocks == 0)
		return 0;
	if (is_by_tag(g->by)) {
		r = count_tag(g, &e);
		return r == 0 && g->nsubgroups > 0 ? count_in_subgroup(g, &e,
		    profile_tag_key(e.cell->tag[g->by == PROFILE_TAG_SECOND])) :
		    r;
	}
	n = profile_lines(g->p, e.caller, lines);
	origin = profile_origin(g->p, lines, n);
	if (g->by == PROFILE_FRAME)
		r = count_frames(g, &e, lines, n, origin);
	else
		r = count_entry(g, &e, &g->p->line[lines[origin]], true);
	/* After the calls above, which use the functions' marks too. */
	if (r == 0 && g->nsubgroups > 0)
		r = count_in_subgroups(g, &e, lines, n, origin);
	return r;
}

static int
fill_groups(struct grouping *g)
{
	int r = profile_prepare(g->p);

	for (size_t i = 0; i < g->p->callers.n && r == 0; i++)
		r = grouping_count(g, i);
	return r;
}

static int
value_or_none(uint32_t all)
{
	return all == 0 || all == MIXED ? -1 : (int)(all - 1);
}

/* "template, call"; "" of types that are not known. */
static int
name_sources(struct profile *p, unsigned sources, const char **out)
{
	char text[64];
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = WIRE_TYPE_UNKNOWN + 1; i < WIRE_TYPE_SOURCES; i++)
		if ((sources & 1u << i) != 0)
			base_append(text, sizeof text, &len, "%s%s", len > 0 ?
			    ", " : "", profile_type_source(i));
	return text_intern(&p->texts, text, len, out);
}

static int
grouping_row(struct grouping *g, const struct group *from,
    struct profile_group *out)
{
	bool frames = g->by == PROFILE_FRAME;
	struct place place = from->place;

	/* The group of a module has the module as its place. */
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
		.tag = from->tag,
		.type = value_or_none(from->type),
		.thread = value_or_none(from->thread),
	};
	if (g->by == PROFILE_CTYPE)
		return name_sources(g->p, from->sources, &out->where);
	if (g->by != PROFILE_MODULE)
		return place_where(g->p, &place, &out->where);
	out->where = place.module;
	return 0;
}

int
profile_group(struct profile *p, enum profile_by by, uint64_t key,
    enum profile_measure measure, int64_t now_ms, struct profile_group *out)
{
	struct grouping g = { .p = p, .groups.size = sizeof(struct group),
	    .by = by, .measure = measure, .now_ms = now_ms, .one = true, .key = key };
	const struct group *found;
	int r;

	r = fill_groups(&g);
	if (r == 0) {
		found = hashmap_get(&g.groups, key);
		r = found == NULL ? -ENOENT : grouping_row(&g, found, out);
	}
	hashmap_fini(&g.groups);
	return r;
}

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
	struct entry e = entry_at(g, caller);

	if (at == n || (outwards && at + 1 == n))
		return 0;
	/* Skipped functions are not callees of an origin. */
	if (!outwards && (at == 0 || at == origin))
		return 0;
	at = outwards ? at + 1 : at - 1;
	return count_entry(g, &e, &g->p->line[lines[at]], at == origin);
}

int
profile_neighbours(struct profile *p, uint64_t key, bool outwards,
    enum profile_measure measure, int64_t now_ms, struct profile_group *out,
    size_t n, size_t *got)
{
	struct grouping g = { .p = p, .groups.size = sizeof(struct group),
	    .by = PROFILE_FRAME, .measure = measure, .now_ms = now_ms };
	int r = profile_prepare(p);

	for (size_t i = 0; i < p->callers.n && r == 0; i++)
		if (profile_caller(p, i)->sums.blocks > 0)
			r = count_neighbour(&g, i, key, outwards);
	if (r == 0)
		r = grouping_rows(&g, 0, out, n, got);
	hashmap_fini(&g.groups);
	return r;
}

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

/* "" and NULL come last. */
static int
compare_paths(const char *a, const char *b)
{
	bool none = a == NULL || a[0] == '\0', other = b == NULL || b[0] == '\0';

	return none || other ? none - other : strcmp(text_base(a), text_base(b));
}

static int
compare_places(enum profile_measure by, const struct place *a,
    const struct place *b)
{
	int c;

	if (by == PROFILE_OF_MODULE)
		return compare_paths(a->module, b->module);
	if (by != PROFILE_OF_FILE && by != PROFILE_OF_LINE)
		return 0;
	c = compare_paths(a->file, b->file);
	return c != 0 || by == PROFILE_OF_FILE ? c :
	    (a->line > b->line) - (a->line < b->line);
}

static bool
is_by_text(enum profile_measure by)
{
	return by == PROFILE_NAME || by == PROFILE_OF_MODULE ||
	    by == PROFILE_OF_FILE || by == PROFILE_OF_LINE;
}

static int
compare(const struct profile_ranking *r, const struct group *a,
    const struct group *b)
{
	int c;

	if (a->placed != b->placed)
		return a->placed ? -1 : 1;
	if (a->value != b->value)
		return (a->value > b->value) != r->reverse ? -1 : 1;
	c = compare_places(r->g.measure, &a->place, &b->place);
	if (c == 0)
		c = strcmp(a->name, b->name);
	if (c == 0 && a->tag != b->tag)
		c = a->tag < b->tag ? -1 : 1;
	if (c == 0)
		c = a->key < b->key ? -1 : a->key > b->key;
	/* An order by texts is reversed, too. */
	return r->reverse && is_by_text(r->g.measure) ? -c : c;
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

/* The median of three: sorted input is then not the worst case. */
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

static size_t
partition(struct profile_ranking *r, size_t from, size_t to)
{
	size_t at = from, i;

	swap(&r->order[pivot_of(r, from, to)], &r->order[to - 1]);
	for (i = from; i + 1 < to; i++)
		if (compare(r, ranked(r, i), ranked(r, to - 1)) < 0)
			swap(&r->order[i], &r->order[at++]);
	swap(&r->order[at], &r->order[to - 1]);
	return at;
}

/* Sorts [lo, hi) until [from, to) of it is in order. */
static void
sort_part(struct profile_ranking *r, size_t lo, size_t hi, size_t from,
    size_t to)
{
	size_t at;

	while (hi - lo > 1 && from < hi && to > lo) {
		at = partition(r, lo, hi);
		/* The smaller side first: the depth stays logarithmic. */
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
	case PROFILE_OF_MODULE:
	case PROFILE_OF_FILE:
	case PROFILE_OF_LINE:
		break;
	}
	return sums_measure(&g->total, r->g.measure, r->g.now_ms);
}

static uint64_t
current_key(const struct profile_ranking *r, const struct group *old)
{
	uint64_t key;

	if (r->g.by == PROFILE_FRAME ||
	    hashmap_find(&r->g.groups, old->key) >= 0 ||
	    profile_key_of(r->g.p, r->g.by, old->caller, &key) < 0)
		return old->key;
	return key;
}

static int
copy_place(struct profile_ranking *r, const struct group *old)
{
	struct group *g;
	uint64_t key;
	bool added;
	int64_t at;

	/* A group that is new in the model has no place. */
	if (r->model->has_model && !old->placed)
		return 0;
	key = current_key(r, old);
	at = hashmap_put(&r->g.groups, key, &added);
	if (at < 0)
		return -ENOMEM;
	g = hashmap_item(&r->g.groups, (size_t)at);
	if (added) {
		*g = *old;
		g->key = key;
		g->total = g->self = (struct sums){ 0 };
	} else if (g->placed && (old->value > g->value) == r->reverse) {
		/* Two groups have merged: the first place counts. */
		return 0;
	}
	g->placed = true;
	g->value = old->value;
	return 0;
}

/* Copies up to at_most places; 1 at the end. */
static int
copy_places(struct profile_ranking *r, size_t at_most)
{
	const struct hashmap *were = &r->model->g.groups;
	int err = 0;

	for (; r->copied < were->n && at_most > 0 && err == 0; at_most--)
		err = copy_place(r, hashmap_item(were, r->copied++));
	return err < 0 ? err : r->copied == were->n;
}

/* Gives all groups their values, after counting; they are not sorted yet. */
static int
make_order(struct profile_ranking *r)
{
	struct group *all;
	void *order = r->order;
	size_t n, i;
	int err = 0;

	if (r->ordered)
		return 0;
	if (r->model != NULL)
		err = copy_places(r, SIZE_MAX);
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
		if (!all[i].placed)
			all[i].value = value_of(r, &all[i]);
		r->nnew += r->has_model && !all[i].placed;
	}
	r->model = NULL;
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
	r->count = p->callers.n;
	r->ordered = r->reverse = r->has_model = false;
	r->model = NULL;
	r->copied = r->nnew = 0;
	return 0;
}

void
profile_ranking_keep_order(struct profile_ranking *r,
    const struct profile_ranking *model)
{
	r->model = model;
	r->has_model = true;
}

size_t
profile_ranking_new_groups(const struct profile_ranking *r)
{
	return r->nnew;
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
	r->count = c->shown.n;
}

void
profile_ranking_subgroups(struct profile_ranking *r,
    const struct profile_subgroups *subgroups, size_t n)
{
	r->g.subgroups = subgroups;
	r->g.nsubgroups = n;
}

static int
end_ranking(struct profile_ranking *r)
{
	int err = make_order(r);
	size_t i;

	for (i = 0; i < r->g.nsubgroups && err == 0; i++)
		err = make_order(r->g.subgroups[i].ranking);
	if (err == 0)
		r->g.nsubgroups = 0;
	return err;
}

int
profile_ranking_count(struct profile_ranking *r, size_t at_most, size_t *left)
{
	size_t until = r->count - r->next > at_most ? r->next + at_most : r->count;
	int err = 0;

	for (; r->next < until && err == 0; r->next++)
		err = grouping_count(&r->g, r->next);
	if (err == 0 && r->next == r->count && r->model != NULL) {
		err = copy_places(r, at_most);
		if (err == 0) {
			*left = r->model->g.groups.n - r->copied;
			return 0;
		}
	}
	if (err >= 0 && r->next == r->count)
		err = end_ranking(r);
	if (err >= 0)
		*left = r->count - r->next;
	return err < 0 ? err : 0;
}

size_t
profile_ranking_size(const struct profile_ranking *r)
{
	return r->ordered ? r->g.groups.n : 0;
}

#define AT_ONCE 256

/* Number of the n groups in order up to this group. */
static size_t
rank_in(const struct profile_ranking *r, const struct group *g,
    const uint32_t *order, size_t n)
{
	const struct group *all = r->g.groups.item;
	size_t i;

	BASE_FIND_FIRST(i, n, compare(r, g, &all[order[i]]) < 0);
	return i;
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
		k = rank_in(r, &all[at[i]], order, have++);
		memmove(&order[k + 1], &order[k],
		    (have - 1 - k) * sizeof *order);
		order[k] = (uint32_t)at[i];
	}
	for (i = 0; i < r->g.groups.n && have > 0; i++)
		before[rank_in(r, &all[i], order, have)]++;
	/* The groups before the k-th one, without it. */
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

static int
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

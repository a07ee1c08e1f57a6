/*
 * Entries under one key, and who stands next to a function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grouping.h"

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
		return text_keep(&p->texts, text_base(place->module),
		    strlen(text_base(place->module)), out);
	if (place->line == 0)
		return text_keep(&p->texts, text_base(place->file),
		    strlen(text_base(place->file)), out);
	n = snprintf(text, sizeof text, "%s:%u", text_base(place->file),
	    place->line);
	return text_keep(&p->texts, text, (size_t)n < sizeof text ?
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
	case PROFILE_TAG:		/* of no line */
	case PROFILE_TAG_BELOW:
		break;
	}
	return f->key;
}

static bool
is_by_tag(enum profile_by by)
{
	return by == PROFILE_TAG || by == PROFILE_TAG_BELOW;
}

/* Not the tag itself: keys are spread over all numbers. */
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
	*key = key_of(p, by, caller,
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
			key[got++] = key_of(p, by, caller,
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
		if (key_of(p, by, caller, &p->line[lines[i]], &name) == key)
			return true;
		if (by != PROFILE_FRAME)
			break;
	}
	return false;
}

/* --- filling -------------------------------------------------------------- */

/* What is counted: a caller's blocks, or those of one of its cells. */
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

static struct entry
entry_of(const struct profile *p, size_t caller)
{
	return (struct entry){ .at = caller, .caller = caller,
		.sums = &profile_caller(p, caller)->sums };
}

static int
add_to(struct grouping *g, const struct entry *e, uint64_t key,
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
	/* Of two that are as heavy, the same one each time. */
	if (added || heavy > to->heaviest ||
	    (heavy == to->heaviest && caller < to->caller)) {
		to->heaviest = heavy;
		to->caller = caller;
	}
	to->stacks++;
	return 0;
}

static int
count(struct grouping *g, const struct entry *e, const struct line *l,
    bool self)
{
	struct group *to;
	const char *name;
	uint64_t key = key_of(g->p, g->by, profile_caller(g->p,
	    e->caller)->caller, l, &name);
	int r;

	if (g->one && key != g->key)
		return 0;
	r = add_to(g, e, key, name, self, &to);
	if (r == 0)
		place_add(g->p, &to->place, l);
	return r;
}

static int
count_tag(struct grouping *g, const struct entry *e)
{
	static const struct place nowhere = { .any = true, .module = "",
		.file = "" };
	uint64_t tag = e->cell->tag[g->by == PROFILE_TAG_BELOW];
	struct group *to;
	int r = add_to(g, e, profile_tag_key(tag), "", true, &to);

	if (r < 0)
		return r;
	to->tag = tag;
	to->place = nowhere;
	return 0;
}

/* A function that has been counted stands at one more place. */
static void
add_place(struct grouping *g, const struct function *f, const struct line *l)
{
	struct group *to = hashmap_get(&g->groups, f->key);

	/* NULL: it is not the one group that is counted. */
	if (to != NULL)
		place_add(g->p, &to->place, l);
}

/* Each function of the stack, once, as far out as wrappers end. */
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
		r = count(g, e, l, i == origin);
	}
	return r;
}

/* Once more in the group of that key, if that is wanted. */
static int
count_below(struct grouping *g, const struct entry *e, uint64_t key)
{
	size_t lo = 0, hi = g->nbelow, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (g->below[mid].key == key)
			return grouping_count(ranking_grouping(
			    g->below[mid].ranking), e->at);
		if (g->below[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* A function that recurs is one group all the same. */
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
count_all_below(struct grouping *g, const struct entry *e,
    const uint32_t *lines, size_t n, size_t origin)
{
	uint64_t caller = profile_caller(g->p, e->caller)->caller;
	const char *name;
	int r = 0;

	for (size_t i = origin; i < n && r == 0; i++) {
		if (is_first(g->p, lines, origin, i))
			r = count_below(g, e, key_of(g->p, g->by, caller,
			    &g->p->line[lines[i]], &name));
		if (g->by != PROFILE_FRAME)
			break;
	}
	return r;
}

int
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
		return r == 0 && g->nbelow > 0 ? count_below(g, &e,
		    profile_tag_key(e.cell->tag[g->by == PROFILE_TAG_BELOW])) :
		    r;
	}
	n = profile_lines(g->p, e.caller, lines);
	origin = profile_origin(g->p, lines, n);
	if (g->by == PROFILE_FRAME)
		r = count_frames(g, &e, lines, n, origin);
	else
		r = count(g, &e, &g->p->line[lines[origin]], true);
	/* Behind all of them: functions have one mark. */
	if (r == 0 && g->nbelow > 0)
		r = count_all_below(g, &e, lines, n, origin);
	return r;
}

static int
fill(struct grouping *g)
{
	int r = profile_prepare(g->p);

	for (size_t i = 0; i < g->p->callers.n && r == 0; i++)
		r = grouping_count(g, i);
	return r;
}

/* --- out ------------------------------------------------------------------ */

static int
common(uint32_t all)
{
	return all == 0 || all == MIXED ? -1 : (int)(all - 1);
}

int
grouping_row(struct grouping *g, const struct group *from,
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
		.tag = from->tag,
		.type = common(from->type),
		.thread = common(from->thread),
	};
	if (g->by != PROFILE_MODULE)
		return place_where(g->p, &place, &out->where);
	out->where = place.module;
	return 0;
}

/* --- all at once ---------------------------------------------------------- */

int
profile_groups(struct profile *p, enum profile_by by,
    enum profile_measure measure, int64_t now_ms, size_t offs,
    struct profile_group *out, size_t n, size_t *got, size_t *groups)
{
	struct grouping g = { .p = p, .groups.size = sizeof(struct group),
	    .by = by, .measure = measure, .now_ms = now_ms };
	int r;

	r = fill(&g);
	if (r == 0)
		r = grouping_rows(&g, offs, out, n, got);
	if (r == 0)
		*groups = g.groups.n;
	hashmap_fini(&g.groups);
	return r;
}

int
profile_group(struct profile *p, enum profile_by by, uint64_t key,
    enum profile_measure measure, int64_t now_ms, struct profile_group *out)
{
	struct grouping g = { .p = p, .groups.size = sizeof(struct group),
	    .by = by, .measure = measure, .now_ms = now_ms, .one = true, .key = key };
	const struct group *found;
	int r;

	r = fill(&g);
	if (r == 0) {
		found = hashmap_get(&g.groups, key);
		r = found == NULL ? -ENOENT : grouping_row(&g, found, out);
	}
	hashmap_fini(&g.groups);
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
	struct entry e = entry_of(g->p, caller);

	if (at == n || (outwards && at + 1 == n))
		return 0;
	/* What an origin calls to get memory is its own asking. */
	if (!outwards && (at == 0 || at == origin))
		return 0;
	at = outwards ? at + 1 : at - 1;
	return count(g, &e, &g->p->line[lines[at]], at == origin);
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

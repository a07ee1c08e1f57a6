/*
 * The groups of a difference: cells folded into them, a portion a picture, and
 * what they are called.  Names are those that page K's groups have, made in the
 * same way of the callers that are in them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "since_parts.h"

#define FOLD_CELLS 8192		/* in one picture ... */
#define FOLD_FRAMES 1024	/* ... when they count with each of their frames */
#define NAMES_AT_ONCE 4096

double
page_since_net(const struct page_since_sum *sum)
{
	return sum->came_bytes - sum->went_bytes;
}

int64_t
page_since_net_listed(const struct page_since_sum *sum)
{
	return (int64_t)(sum->came_listed_bytes - sum->went_listed_bytes);
}

int64_t
page_since_rounded(double n)
{
	return (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
}

void
since_add_sum(struct page_since_sum *to, const struct page_since_sum *of)
{
	to->came += of->came;
	to->came_bytes += of->came_bytes;
	to->went += of->went;
	to->went_bytes += of->went_bytes;
	to->came_listed += of->came_listed;
	to->came_listed_bytes += of->came_listed_bytes;
	to->went_listed += of->went_listed;
	to->went_listed_bytes += of->went_listed_bytes;
	if (of->oldest_ms != 0 && (to->oldest_ms == 0 ||
	    of->oldest_ms < to->oldest_ms))
		to->oldest_ms = of->oldest_ms;
}

/* --- kinds ---------------------------------------------------------------- */

bool
since_by_time(const struct page *page)
{
	const struct page_group_kind *k = page_group_kind(page->group);

	return k != NULL && k->by_time;
}

unsigned
since_kind_for(const struct page_since *s, const struct page *page)
{
	return page->group != 0 && since_by_time(page) == (s->tags != NULL) ?
	    page->group : page_group_kind_called("function");
}

bool
since_is_of(struct page_since *s, struct page_since_cell *c)
{
	const struct page_group_kind *k = page_group_kind(s->kind);

	/* Where it belongs is known once it has been folded. */
	if (!c->named) {
		s->next.missed = true;
		return false;
	}
	if (k->by != PROFILE_FRAME)
		return c->key == s->next.of_key;
	if (c->asked != s->asked) {
		c->asked = s->asked;
		c->in = profile_in_group(s->profile, k->by, s->next.of_key,
		    c->caller);
	}
	return c->in;
}

/* --- the fold ------------------------------------------------------------- */

/* Callers of what differs now, for the others say nothing of a group's place. */
static int
name_cells(struct page_since *s, const struct page_view *v)
{
	struct page_since_cell *c;
	size_t i;
	int r;

	profile_restart(s->profile);
	for (i = 0; i < s->ncell; i++) {
		c = &s->cell[i];
		if (c->sum[s->at].came == 0 && c->sum[s->at].went == 0)
			continue;
		r = profile_add(s->profile, c->caller, 0, 0);
		if (r < 0)
			return r;
		c->named = true;
	}
	r = profile_resolve_some(s->profile, &v->words, NAMES_AT_ONCE);
	return r < 0 ? r : 0;
}

int
since_fold_begin(struct page_since *s, struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k;
	int r;

	if (s->round != page->round)
		profile_set_wrappers(s->profile, v->wrappers);
	s->round = page->round;
	s->names_no = v->names_no;
	s->kind = since_kind_for(s, page);
	s->folded = 0;
	hashmap_clear(&s->coming);
	r = name_cells(s, v);
	k = page_group_kind(s->kind);
	if (r == 0 && k->tag == NULL)
		r = profile_ranking_begin(s->coming_names, s->profile, k->by,
		    PROFILE_BYTES, 0);
	if (r == 0)
		s->step = SINCE_FOLD;
	return r;
}

static int
fold_into(struct page_since *s, const struct page_since_cell *c, uint64_t key,
    uint64_t tag)
{
	const struct page_since_sum *sum = &c->sum[s->at];
	struct page_since_group *g = hashmap_add(&s->coming, key);
	int k;

	if (g == NULL)
		return -ENOMEM;
	if (g->sum.came == 0 && g->sum.went == 0) {
		g->type = c->type;
		g->thread = c->thread;
		g->born_ms = c->ms;
	}
	if (g->type != c->type)
		g->type = -1;
	if (g->thread != c->thread)
		g->thread = -1;
	if (c->ms < g->born_ms)
		g->born_ms = c->ms;
	g->caller = c->caller;
	g->tag = tag;
	since_add_sum(&g->sum, sum);
	for (k = 0; k < PAGE_SINCE_POINTS; k++)
		g->net[k] += c->net[k];
	return 0;
}

/* By any frame a cell is in as many groups as its stack has functions. */
static int
fold_cell(struct page_since *s, const struct page_view *v,
    struct page_since_cell *c)
{
	const struct page_group_kind *k = page_group_kind(s->kind);
	const struct page_since_sum *sum = &c->sum[s->at];
	uint64_t key[PROFILE_LINES_MAX], tag = 0;
	struct blk b = { .type = c->type, .thread = c->thread };
	int n = 1, i, r = 0;

	if (!c->named)
		return 0;
	if (k->tag != NULL) {
		tag = s->tags != NULL ? c->tag : k->tag(v, 0, &b);
		key[0] = profile_tag_key(tag);
	} else {
		n = profile_keys_of(s->profile, k->by, c->caller, key,
		    BASE_NELEM(key));
		if (n < 0)
			return n;
	}
	c->key = k->by != PROFILE_FRAME ? key[0] : 0;
	if (sum->came == 0 && sum->went == 0)
		return 0;
	for (i = 0; i < n && r == 0; i++)
		r = fold_into(s, c, key[i], tag);
	return r;
}

static int
by_net(const void *a, const void *b)
{
	const struct page_since_group *x = a, *y = b;
	double n = page_since_net(&x->sum), m = page_since_net(&y->sum);

	if (n != m)
		return n > m ? -1 : 1;
	if (x->sum.came != y->sum.came)
		return x->sum.came > y->sum.came ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The rows become those of this fold. */
static int
end_fold(struct page_since *s)
{
	struct page_since_group *sorted = NULL;
	struct profile_ranking *names = s->names;
	size_t n = s->coming.n;

	if (n > 0) {
		sorted = malloc(n * sizeof *sorted);
		if (sorted == NULL)
			return -ENOMEM;
		memcpy(sorted, s->coming.item, n * sizeof *sorted);
		qsort(sorted, n, sizeof *sorted, by_net);
	}
	free(s->group);
	s->group = sorted;
	s->ngroup = n;
	s->shown_kind = s->kind;
	s->names = s->coming_names;
	s->coming_names = names;
	s->taken = true;
	s->step = SINCE_IDLE;
	return 0;
}

int
since_fold_next(struct page_since *s, const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(s->kind);
	size_t some = k->by == PROFILE_FRAME ? FOLD_FRAMES : FOLD_CELLS;
	size_t end = s->folded + some, left = 0;
	int r = 0;

	for (; r == 0 && s->folded < s->ncell && s->folded < end; s->folded++)
		r = fold_cell(s, v, &s->cell[s->folded]);
	if (r < 0 || s->folded < s->ncell)
		return r;
	if (k->tag == NULL)
		r = profile_ranking_count(s->coming_names, some, &left);
	return r < 0 || left > 0 ? r : end_fold(s);
}

/* --- what has been found -------------------------------------------------- */

const struct page_since_group *
page_since_row(const struct page_since *s, size_t at)
{
	return at < s->ngroup ? &s->group[at] : NULL;
}

unsigned
page_since_ups(const struct page_since *s, const struct page_since_group *g,
    unsigned *n)
{
	unsigned i, ups = 0;

	for (i = 0; i < s->npoints; i++)
		if (g->net[i] > (i > 0 ? g->net[i - 1] : 0))
			ups++;
	*n = s->npoints;
	return ups;
}

const struct page_group_kind *
page_since_kind(const struct page_since *s)
{
	return page_group_kind(s->shown_kind);
}

bool
page_since_named(const struct page_since *s, const struct page_since_group *g,
    struct profile_group *out)
{
	const struct page_group_kind *k = page_since_kind(s);

	if (k->tag == NULL)
		return profile_ranking_group(s->names, g->key, out) == 0;
	*out = (struct profile_group){
		.name = "",
		.where = "",
		.file = "",
		.module = "",
		.key = g->key,
		.caller = g->caller,
		.tag = g->tag,
		.type = g->type,
		.thread = g->thread,
		.total = { .oldest_ms = g->born_ms },
	};
	return true;
}

bool
page_marked_change(const struct page *page, uint64_t key, enum profile_by by,
    struct page_since_sum *sum)
{
	const struct page_since *s = page_is_marked(page) ?
	    page->marked->since : NULL;
	const struct page_since_group *g;

	if (s == NULL || !page_since_known(page, s) || s->step == SINCE_FOLD ||
	    s->kind != page->group || page_group_kind(s->kind)->by != by)
		return false;
	g = hashmap_get(&s->coming, key);
	*sum = g != NULL ? g->sum : (struct page_since_sum){ 0 };
	return true;
}

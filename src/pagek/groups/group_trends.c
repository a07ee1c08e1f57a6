#include <stdlib.h>

#include "expanded_groups.h"
#include "group_trends.h"

struct point {
	uint64_t key;
	uint64_t group;		/* key of the group of the first level */
	uint64_t below;		/* of the second level: the key in that group */
	bool second;
	uint64_t caller;	/* one that is in the group */
	uint64_t bytes;
};

struct moment {
	int64_t number;
	size_t n;
	struct point point[PAGE_TREND_GROUPS];	/* ascending by key */
};

struct page_trends {
	struct page_groups_question of;
	unsigned kind, below;
	uint32_t stream_no;
	uint64_t names_no;
	bool any;		/* there is a moment */
	int64_t last;		/* number of the last one */
	struct moment moment[PAGE_TREND_POINTS];	/* by number modulo */
	struct profile_group row[PAGE_TREND_GROUPS / 2];	/* scratch */
};

void
page_trends_free(struct page_trends *t)
{
	free(t);
}

uint64_t
page_trends_below(uint64_t key, uint64_t below)
{
	return (key ^ below >> 7) * UINT64_C(0xff51afd7ed558ccd) ^ below;
}

static int
by_key(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void
sort_points(struct moment *m)
{
	size_t i, n = 0;

	qsort(m->point, m->n, sizeof *m->point, by_key);
	/* Groups that have become one by their name have one sum. */
	for (i = 0; i < m->n; i++) {
		if (n > 0 && m->point[n - 1].key == m->point[i].key)
			m->point[n - 1].bytes += m->point[i].bytes;
		else
			m->point[n++] = m->point[i];
	}
	m->n = n;
}

static void
add_point(struct moment *m, const struct page_branch *in,
    const struct profile_group *row)
{
	struct point *p = &m->point[m->n];

	if (m->n == PAGE_TREND_GROUPS)
		return;
	m->n++;
	*p = (struct point){ .key = row->key, .group = row->key,
		.caller = row->caller, .bytes = row->total.bytes };
	if (in == NULL)
		return;
	p->second = true;
	p->group = in->of.key;
	p->below = row->key;
	p->key = page_trends_below(p->group, p->below);
}

static void
take_points(struct page_trends *t, struct page_groups *g, struct moment *m)
{
	size_t i, k, n = 0;

	m->n = 0;
	for (i = 0; i < g->window.n; i++)
		add_point(m, NULL, &g->window.row[i]);
	for (i = 0; g->branches != NULL && i < g->branches->n; i++) {
		const struct page_branch *b = g->branches->branch[i];

		for (k = 0; !b->leaf && !b->closed && k < b->window.n; k++)
			add_point(m, b, &b->window.row[k]);
	}
	if (profile_ranking_rows(g->shown.groups, 0, t->row, BASE_NELEM(t->row),
	    &n) < 0)
		n = 0;
	for (i = 0; i < n; i++)
		if (i < g->window.at || i >= g->window.at + g->window.n)
			add_point(m, NULL, &t->row[i]);
	sort_points(m);
}

/* By any frame a caller is in several groups: those points keep their keys. */
static void
rename_points(struct page_trends *t, const struct page_groups *g)
{
	const struct page_group_kind *k = page_group_kind(t->kind);
	const struct page_group_kind *k2 = page_group_kind(t->below);
	size_t i, j;

	for (i = 0; i < PAGE_TREND_POINTS; i++) {
		struct moment *m = &t->moment[i];

		for (j = 0; j < m->n; j++) {
			struct point *p = &m->point[j];

			if (k->by != PROFILE_FRAME)
				profile_key_of(g->profile, k->by, p->caller,
				    &p->group);
			if (p->second && k2 != NULL && k2->by != PROFILE_FRAME)
				profile_key_of(g->profile, k2->by, p->caller,
				    &p->below);
			p->key = p->second ? page_trends_below(p->group,
			    p->below) : p->group;
		}
		sort_points(m);
	}
}

static bool
is_outdated(const struct page_trends *t, const struct page *page,
    const struct page_view *v)
{
	return !page_groups_question_same(&t->of, &page->groups->shown.of) ||
	       t->kind != page->group.kind ||
	       t->below != page_group_below(page) ||
	       t->stream_no != v->look->stream_no;
}

static void
forget_points(struct page_trends *t, const struct page *page,
    const struct page_view *v)
{
	size_t i;

	t->of = page->groups->shown.of;
	t->kind = page->group.kind;
	t->below = page_group_below(page);
	t->stream_no = v->look->stream_no;
	t->any = false;
	for (i = 0; i < PAGE_TREND_POINTS; i++)
		t->moment[i].n = 0;
}

void
page_trends_note(struct page_groups *g, const struct page *page,
    const struct page_view *v)
{
	int64_t number = v->look->now_ms / PAGE_TREND_MS;
	struct page_trends *t = g->trends;
	struct moment *m;

	if (page->group.kind == 0 || g->shown.kind != page->group.kind ||
	    g->nrow == 0 || number < 0)
		return;
	if (t == NULL)
		t = g->trends = calloc(1, sizeof *t);
	if (t == NULL)
		return;
	if (is_outdated(t, page, v))
		forget_points(t, page, v);
	if (t->any && t->last == number)
		return;
	/* The profile may already skip other functions than the rows. */
	if (t->names_no != v->names_no &&
	    page_groups_question_same(&t->of, &g->source.of)) {
		rename_points(t, g);
		t->names_no = v->names_no;
	}
	m = &t->moment[number % PAGE_TREND_POINTS];
	m->number = number;
	take_points(t, g, m);
	t->any = true;
	t->last = number;
}

size_t
page_trends_get(const struct page_trends *t, uint64_t key, uint64_t now,
    uint64_t out[PAGE_TREND_POINTS])
{
	struct point wanted = { .key = key };
	const struct point *found;
	size_t n = 0;
	int i;

	for (i = PAGE_TREND_POINTS - 2; t != NULL && t->any && i >= 0; i--) {
		int64_t number = t->last - i;
		const struct moment *m;

		if (number < 0)
			continue;
		m = &t->moment[number % PAGE_TREND_POINTS];
		found = m->number != number ? NULL : bsearch(&wanted,
		    m->point, m->n, sizeof *m->point, by_key);
		if (n > 0 || found != NULL)
			out[n++] = found != NULL ? found->bytes : 0;
	}
	out[n++] = now;
	return n;
}

/*
 * Brings the counts of a target in portions, for a page takes 10 times the memory on
 * its way, and switches counting.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "refcnt.h"

#define PORTION 16384		/* pages */
#define GAP 16			/* pages between two blocks that are counted with them */
#define AT_ONCE 256		/* blocks */

/* --- reading ------------------------------------------------------------------------ */

static void
begin_copy(struct refcnt_reader *r)
{
	refcnt_copy_fini(&r->next);
	r->from = 0;
	r->asked = false;
}

void
refcnt_reader_forget(struct refcnt_reader *r)
{
	begin_copy(r);
	refcnt_copy_fini(&r->copy);
	r->known = false;
	r->pages = 0;
	r->error = 0;
	r->why[0] = '\0';
}

void
refcnt_reader_fini(struct refcnt_reader *r)
{
	refcnt_reader_forget(r);
}

static int
fail(struct refcnt_reader *r, int err, const char *why)
{
	begin_copy(r);
	r->error = err;
	base_copy_text(r->why, sizeof r->why, why[0] != '\0' ? why :
	    strerror(-err));
	return err;
}

/* The first counted address from there on; false: there is none. */
static bool
find_counted(const struct refcnt_copy *c, uint64_t from, uint64_t *at)
{
	for (size_t i = 0; i < c->ranges; i++)
		if (c->range[i].vaddr + (c->range[i].len - 1) >= from) {
			*at = c->range[i].vaddr > from ? c->range[i].vaddr :
			    from;
			return true;
		}
	return false;
}

/* The first question is for the ranges alone. */
static int
ask_portion(struct refcnt_reader *r, struct nodes_session *s)
{
	uint64_t size = PORTION * (uint64_t)REFCNT_PAGE;
	int err;

	if (!r->known)
		r->to = 1;
	else if (r->pages <= PORTION)
		r->from = r->to = 0;
	else
		r->to = r->from < UINT64_MAX - size ? r->from + size : 0;
	r->asked_no = nodes_session_refcnt(s)->no;
	err = nodes_session_ask_refcnt(s, r->from, r->to, r->plane);
	r->asked = err == 0;
	return err == -EBUSY || err == 0 ? 0 :
	    fail(r, err, err == -ENOENT ? "there is no list" : "");
}

static int
take_portion(struct refcnt_reader *r, const struct nodes_refcnt *t)
{
	struct refcnt_copy *c = &r->next;
	int err = refcnt_copy_set_ranges(c, t->range, t->nranges);

	if (err == 0)
		err = refcnt_copy_add(c, t->page, t->n);
	c->now_ms = t->now_ms;
	c->period_ms = t->period_ms;
	r->pages = t->pages;
	r->periods = t->periods;
	return err;
}

/* True if pages are left for another portion. */
static bool
has_more(struct refcnt_reader *r, bool first)
{
	uint64_t at;

	if (r->next.ranges == 0 || (!first && r->to == 0) ||
	    !find_counted(&r->next, first ? 0 : r->to, &at))
		return false;
	r->from = at;
	return true;
}

static int
take_answer(struct refcnt_reader *r, const struct nodes_refcnt *t)
{
	bool first = !r->known;
	int err;

	r->asked = false;
	if (t->error < 0 || t->no == r->asked_no)
		return fail(r, t->error < 0 ? t->error : -EIO, t->why);
	err = take_portion(r, t);
	if (err < 0)
		return fail(r, err, "");
	r->error = 0;
	base_copy_text(r->why, sizeof r->why, t->why);
	r->known = true;
	if (has_more(r, first))
		return 0;
	refcnt_copy_fini(&r->copy);
	r->copy = r->next;
	r->next = (struct refcnt_copy){ 0 };
	r->from = 0;
	find_counted(&r->copy, 0, &r->from);
	r->copies++;
	return 1;
}

int
refcnt_reader_step(struct refcnt_reader *r, struct nodes_session *s)
{
	const struct nodes_refcnt *t = nodes_session_refcnt(s);
	int done;

	if (t->pending)
		return 0;
	done = r->asked ? take_answer(r, t) : 0;
	return done != 0 ? done : ask_portion(r, s);
}

/* --- switching ------------------------------------------------------------------------ */

void
refcnt_switch_fini(struct refcnt_switch *w)
{
	free(w->range);
	*w = (struct refcnt_switch){ 0 };
}

static int
append_range(struct refcnt_range **range, size_t *n, size_t *cap, uint64_t from,
    uint64_t to)
{
	void *array = *range;
	int err = base_grow(&array, cap, *n + 1, sizeof **range);

	*range = array;
	if (err == 0)
		(*range)[(*n)++] = (struct refcnt_range){ .vaddr = from,
			.len = to - from, .source = REFCNT_REFS };
	return err;
}

int
refcnt_switch_range(struct refcnt_switch *w, uint64_t vaddr, uint64_t len)
{
	size_t cap = 0;

	refcnt_switch_fini(w);
	return append_range(&w->range, &w->n, &cap, vaddr, vaddr + len);
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static int
by_address(const void *a, const void *b)
{
	const struct refcnt_range *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static uint64_t
end_of(const struct refcnt_range *r)
{
	return r->vaddr + r->len;
}

/* Joins ranges with at most so many bytes between them. */
static void
join(struct refcnt_switch *w, uint64_t most)
{
	size_t n = w->n > 0;

	for (size_t i = 1; i < w->n; i++) {
		struct refcnt_range *last = &w->range[n - 1], *r = &w->range[i];

		if (r->vaddr > end_of(last) && r->vaddr - end_of(last) > most)
			w->range[n++] = *r;
		else if (end_of(r) > end_of(last))
			last->len = end_of(r) - last->vaddr;
	}
	w->n = n;
}

/* Joins ranges across the smallest gaps until they are few.  -ENOMEM. */
static int
join_ranges(struct refcnt_switch *w)
{
	uint64_t *gap;

	if (w->n > 1)
		qsort(w->range, w->n, sizeof *w->range, by_address);
	join(w, GAP * (uint64_t)REFCNT_PAGE);
	if (w->n <= REFCNT_SWITCH_RANGES)
		return 0;
	gap = malloc(w->n * sizeof *gap);
	if (gap == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < w->n; i++)
		gap[i - 1] = w->range[i].vaddr - end_of(&w->range[i - 1]);
	qsort(gap, w->n - 1, sizeof *gap, by_size);
	join(w, gap[REFCNT_SWITCH_RANGES - 1]);
	free(gap);
	return 0;
}

/*
 * Leaves out what is counted already: somebody else has asked for it, and it is not
 * to end with this wish.  -ENOMEM.
 */
static int
cut_counted(struct refcnt_switch *w, const struct refcnt_copy *c)
{
	struct refcnt_switch left = *w;
	size_t cap = 0;
	int err = 0;

	left.range = NULL;
	left.n = 0;
	for (size_t i = 0; i < w->n && err == 0; i++) {
		uint64_t at = w->range[i].vaddr, end = end_of(&w->range[i]);

		for (size_t k = 0; k < c->ranges && err == 0; k++) {
			const struct refcnt_range *r = &c->range[k];

			if (end_of(r) <= at || r->vaddr >= end)
				continue;
			if (r->vaddr > at)
				err = append_range(&left.range, &left.n, &cap,
				    at, r->vaddr);
			at = end_of(r);
		}
		if (err == 0 && at < end)
			err = append_range(&left.range, &left.n, &cap, at, end);
	}
	free(w->range);
	*w = left;
	return err;
}

struct gathering {
	struct refcnt_switch *w;
	size_t cap;
	uint64_t from, to;		/* to 0: nothing yet */
};

static int
add_block(struct gathering *g, const struct blk *b)
{
	uint64_t from = refcnt_page_of(b->addr);
	uint64_t to = refcnt_page_of(b->addr + (b->size > 0 ? b->size - 1 : 0)) +
	    REFCNT_PAGE;
	int err = 0;

	if (to < from)
		return 0;
	if (g->to != 0 && from >= g->from && from <= g->to) {
		if (to > g->to)
			g->to = to;
		return 0;
	}
	if (g->to != 0)
		err = append_range(&g->w->range, &g->w->n, &g->cap, g->from,
		    g->to);
	g->from = from;
	g->to = to;
	return err;
}

static bool
is_wanted(const struct page_view *v, const struct blk *b, int64_t age_ms)
{
	struct refcnt_touch t;

	return v->look->now_ms - b->ms >= age_ms && (v->refcnt == NULL ||
	    !refcnt_touch_of(v->refcnt, b->addr, b->size, b->ms, &t));
}

int
refcnt_switch_blocks(struct refcnt_switch *w, const struct page_view *v,
    int64_t age_ms, uint64_t *pages)
{
	struct gathering g = { .w = w };
	struct blk row[AT_ONCE];
	size_t n = 0;
	int err = 0;

	refcnt_switch_fini(w);
	do {
		n = blklist_after(v->look->list, n == 0, n > 0 ?
		    blk_layer(&row[n - 1]) : 0, n > 0 ? row[n - 1].addr : 0, row,
		    AT_ONCE);
		for (size_t i = 0; i < n && err == 0; i++)
			if (is_wanted(v, &row[i], age_ms))
				err = add_block(&g, &row[i]);
	} while (n == AT_ONCE && err == 0);
	if (g.to != 0 && err == 0)
		err = append_range(&w->range, &w->n, &g.cap, g.from, g.to);
	if (err == 0)
		err = join_ranges(w);
	if (err == 0 && v->refcnt != NULL)
		err = cut_counted(w, v->refcnt);
	*pages = 0;
	for (size_t i = 0; i < w->n; i++)
		*pages += w->range[i].len / REFCNT_PAGE;
	return err;
}

bool
refcnt_switch_step(struct refcnt_switch *w, struct nodes_session *s)
{
	const struct nodes_count *c = &nodes_session_refcnt(s)->count;
	int err;

	if (c->pending)
		return false;
	if (w->asked) {
		w->asked = false;
		if (c->error < 0) {
			w->failed++;
			w->error = c->error;
			base_copy_text(w->why, sizeof w->why, c->why[0] != '\0' ?
			    c->why : strerror(-c->error));
		}
		w->at++;
	}
	if (w->at == w->n)
		return true;
	err = nodes_session_count(s, w->range[w->at].vaddr,
	    w->range[w->at].len, w->range[w->at].source, w->on,
	    w->period_ms);
	if (err < 0 && err != -EBUSY) {
		base_copy_text(w->why, sizeof w->why, err == -ENOENT ?
		    "there is no list" : strerror(-err));
		w->failed += w->n - w->at;
		w->error = err;
		w->at = w->n;
		return true;
	}
	w->asked = err == 0;
	return false;
}

/* In portions, for a page takes 10 times the memory on its way. */
#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "refcnt.h"

#define PORTION 16384		/* pages */
#define GAP 16			/* pages between two blocks that are counted with them */

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
	bool first = c->ranges == 0;
	int err = refcnt_copy_set_ranges(c, t->range, t->nranges);

	if (err == 0)
		err = refcnt_copy_add(c, t->page, t->n);
	c->now_ms = t->now_ms;
	c->period_ms = t->period_ms;
	r->pages = t->pages;
	if (first)
		r->periods = t->periods;
	r->latest = t->latest;
	return err;
}

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
	base_copy_text(r->virtual, sizeof r->virtual, t->virtual);
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

void
refcnt_switch_fini(struct refcnt_switch *w)
{
	page_ranges_fini(&w->ranges);
	*w = (struct refcnt_switch){ 0 };
}

int
refcnt_switch_range(struct refcnt_switch *w, uint64_t vaddr, uint64_t len)
{
	refcnt_switch_fini(w);
	return page_ranges_add(&w->ranges, vaddr, len);
}

struct wanted {
	const struct page_view *v;
	int64_t age_ms;
};

static bool
is_wanted(const void *arg, const struct blk *b)
{
	const struct wanted *w = arg;
	struct refcnt_touch t;

	return w->v->look->now_ms - b->ms >= w->age_ms && (w->v->refcnt == NULL ||
	    !refcnt_touch_of(w->v->refcnt, b->addr, b->size, b->ms, &t));
}

/*
 * Leaves out blocks that somebody else counts: their counting must not end
 * with this wish.
 */
int
refcnt_switch_blocks(struct refcnt_switch *w, const struct page_view *v,
    int64_t age_ms, uint64_t *pages)
{
	int err;

	refcnt_switch_fini(w);
	err = page_ranges_add_blocks(&w->ranges, v->look->list, is_wanted,
	    &(struct wanted){ v, age_ms });
	if (err == 0)
		err = page_ranges_join(&w->ranges, GAP * (uint64_t)REFCNT_PAGE,
		    REFCNT_SWITCH_RANGES);
	if (err == 0 && v->refcnt != NULL)
		err = page_ranges_leave_out(&w->ranges, v->refcnt);
	*pages = page_ranges_pages(&w->ranges);
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
	if (w->at == w->ranges.n)
		return true;
	err = nodes_session_count(s, w->ranges.range[w->at].vaddr,
	    w->ranges.range[w->at].len, w->ranges.range[w->at].source, w->on,
	    w->period_ms);
	if (err < 0 && err != -EBUSY) {
		base_copy_text(w->why, sizeof w->why, err == -ENOENT ?
		    "there is no list" : strerror(-err));
		w->failed += w->ranges.n - w->at;
		w->error = err;
		w->at = w->ranges.n;
		return true;
	}
	w->asked = err == 0;
	return false;
}

/* See past.h. */
#include <stdlib.h>
#include <string.h>

#include "past.h"

#define SECOND INT64_C(1000000000)
#define SPAN 120		/* seconds that states should reach back */
#define APART_MAX 32		/* seconds */
#define GONE_MAX (PAGE_PAST_BYTES / sizeof(struct blk))

struct page_past {
	const struct blklist *list;	/* never looked into: is it another one? */
	uint32_t stream_no;
	uint64_t inherited;
	uint64_t seen;			/* removals of the list */
	struct page_past_state state[PAGE_PAST_STATES];	/* a ring */
	size_t from, n;
	uint64_t ngone;			/* of all states */
	unsigned apart;
	struct mono last;		/* when the last state was kept */
	struct blklist *names;		/* requesters, as that list numbers them */
};

void
page_past_free(struct page_past *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < PAGE_PAST_STATES; i++)
		free(p->state[i].gone);
	blklist_free(p->names);
	free(p);
}

size_t
page_past_states(const struct page_past *p)
{
	return p != NULL ? p->n : 0;
}

static const struct page_past_state *
nth(const struct page_past *p, size_t i)
{
	return &p->state[(p->from + i) % PAGE_PAST_STATES];
}

struct page_past_state *
page_past_state(struct page_past *p, size_t i)
{
	return p != NULL && i < p->n ?
	    &p->state[(p->from + i) % PAGE_PAST_STATES] : NULL;
}

/* Of those that are there: `apart` is what the next one will be. */
bool
page_past_apart(const struct page_past *p, unsigned *least, unsigned *most)
{
	unsigned low = 0, high = 0, s;
	size_t i;

	if (p == NULL || p->n < 2)
		return false;
	for (i = 1; i < p->n; i++) {
		s = (unsigned)((nth(p, i)->now_ms - nth(p, i - 1)->now_ms +
		    500) / 1000);
		if (i == 1 || s < low)
			low = s;
		if (s > high)
			high = s;
	}
	*least = low;
	*most = high;
	return true;
}

const struct blklist *
page_past_names(const struct page_past *p)
{
	return p->names;
}

uint64_t
page_past_gone(const struct page_past *p)
{
	return p != NULL ? p->ngone : 0;
}

uint64_t
page_past_bytes(const struct page_past *p)
{
	uint64_t bytes = sizeof *p;
	size_t i;

	for (i = 0; i < PAGE_PAST_STATES; i++)
		bytes += p->state[i].cap * sizeof *p->state[i].gone;
	return bytes;
}

/* --- states come and go ------------------------------------------------- */

static void
drop_oldest(struct page_past *p)
{
	struct page_past_state *s = page_past_state(p, 0);

	p->ngone -= s->ngone;
	free(s->gone);
	*s = (struct page_past_state){ 0 };
	p->from = (p->from + 1) % PAGE_PAST_STATES;
	p->n--;
}

static void
forget(struct page_past *p)
{
	while (p->n > 0)
		drop_oldest(p);
}

/* What is kept reaches back less far than it should. */
static bool
is_short(const struct page_past *p)
{
	return p->n * p->apart < SPAN && p->apart < APART_MAX;
}

/* Nothing is added to it any more. */
static void
fit(struct page_past_state *s)
{
	void *gone;

	if (s == NULL || s->ngone == 0 || s->ngone == s->cap)
		return;
	gone = realloc(s->gone, s->ngone * sizeof *s->gone);
	if (gone == NULL)
		return;
	s->gone = gone;
	s->cap = s->ngone;
}

static void
keep_state(struct page_past *p, const struct page_view *v)
{
	struct page_past_state *s;

	fit(page_past_state(p, p->n - 1));
	if (p->n == PAGE_PAST_STATES)
		drop_oldest(p);
	s = &p->state[(p->from + p->n++) % PAGE_PAST_STATES];
	*s = (struct page_past_state){
		.as_of = v->look->as_of,
		.now_ms = v->look->now_ms,
		.node_wall_ms = v->look->node_wall_ms,
		.total_records = v->look->total_records,
		.counts = *v->counts,
	};
	p->last = v->now;
	if (p->apart > 1 && p->n * p->apart > 2 * SPAN &&
	    p->ngone < GONE_MAX / 4)
		p->apart /= 2;
}

/* --- what is freed ------------------------------------------------------ */

/* Requesters are numbered by each list for itself. */
static uint16_t
name_of(struct page_past *p, const struct blklist *list, uint16_t info)
{
	const struct blklist_info *entry = blklist_info_get(list, info);

	if (entry == NULL || (p->names == NULL &&
	    blklist_new(&p->names, BLKLIST_INDEXED, 1) < 0))
		return 0;
	return blklist_info_intern(p->names, entry);
}

/* False: without memory the states before know too little. */
static bool
keep_gone(struct page_past *p, const struct blklist *list,
    const struct blklist_removed *r)
{
	struct page_past_state *s = page_past_state(p, p->n - 1);
	bool spread = false;
	void *gone;
	int err;

	/* It came after the last state: no state has it. */
	if (s == NULL || (int64_t)(r->blk.seq - s->as_of) > 0)
		return true;
	while (p->ngone >= GONE_MAX) {
		/* Once: what one block drops says one time that it is so. */
		if (!spread && is_short(p)) {
			p->apart *= 2;
			spread = true;
		}
		drop_oldest(p);
		if (p->n == 0)
			return true;
	}
	gone = s->gone;
	err = base_grow(&gone, &s->cap, s->ngone + 1, sizeof *s->gone);
	s->gone = gone;
	if (err < 0)
		return false;
	s->gone[s->ngone] = r->blk;
	if (r->blk.info != 0)
		s->gone[s->ngone].info = name_of(p, list, r->blk.info);
	s->ngone++;
	p->ngone++;
	return true;
}

/*
 * All that the list has dropped since the last time; false: it has forgotten
 * some.
 */
static bool
keep_freed(struct page_past *p, const struct blklist *list)
{
	uint64_t all = blklist_removals(list), k;
	struct blklist_removed r;

	if (all < p->seen)
		return false;
	for (k = all - p->seen; k-- > 0 && p->n > 0;) {
		if (k > UINT32_MAX ||
		    blklist_removed_get(list, (uint32_t)k, &r) < 0 ||
		    !keep_gone(p, list, &r))
			return false;
	}
	p->seen = all;
	return true;
}

static bool
is_whole(const struct page_view *v)
{
	const struct nodes_look *look = v->look;

	return look->list != NULL && look->settled && !look->window &&
	    !look->behind;
}

static bool
is_same(const struct page_past *p, const struct page_view *v)
{
	return p->list == v->look->list &&
	    p->stream_no == v->look->stream_no &&
	    p->inherited == v->counts->inherited;
}

void
page_past_note(struct page *page, const struct page_view *v)
{
	struct page_past *p = page->past;

	if (!page->on_screen || page->frozen != NULL ||
	    page->freezing != NULL || v->look != v->live)
		return;
	if (p == NULL) {
		p = page->past = calloc(1, sizeof *p);
		if (p == NULL)
			return;
		p->apart = 1;
	}
	if (!is_whole(v)) {
		forget(p);
		p->list = NULL;
		return;
	}
	if (!is_same(p, v) || !keep_freed(p, v->look->list)) {
		forget(p);
		p->list = v->look->list;
		p->stream_no = v->look->stream_no;
		p->inherited = v->counts->inherited;
		p->seen = blklist_removals(v->look->list);
	}
	if (p->n == 0 ||
	    mono_diff_ns(v->now, p->last) >= (int64_t)p->apart * SECOND)
		keep_state(p, v);
}

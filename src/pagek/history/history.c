#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "history.h"

#define SECOND INT64_C(1000000000)
#define SPAN 120		/* seconds that states should reach back */
#define INTERVAL_MAX 32		/* seconds */
#define FREED_MAX (PAGE_HISTORY_BYTES / sizeof(struct blk))

struct page_history {
	const struct blklist *list;	/* of the states; compared, never read */
	uint32_t stream_no;
	uint64_t inherited;
	uint64_t seen;			/* removals of the list that were read */
	struct page_history_state state[PAGE_HISTORY_STATES];	/* a ring */
	size_t from, n;
	uint64_t nfreed;		/* of all states */
	unsigned interval;		/* to the next state, seconds */
	struct mono last;		/* time of the last state */
	struct blklist *requesters;	/* of freed blocks */
};

void
page_history_free(struct page_history *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < PAGE_HISTORY_STATES; i++)
		free(p->state[i].freed);
	blklist_free(p->requesters);
	free(p);
}

size_t
page_history_count(const struct page_history *p)
{
	return p != NULL ? p->n : 0;
}

struct page_history_state *
page_history_state(struct page_history *p, size_t i)
{
	return p != NULL && i < p->n ?
	    &p->state[(p->from + i) % PAGE_HISTORY_STATES] : NULL;
}

bool
page_history_interval(struct page_history *p, unsigned *shortest,
    unsigned *longest)
{
	unsigned low = UINT_MAX, high = 0, s;
	size_t i;

	if (page_history_count(p) < 2)
		return false;
	for (i = 1; i < p->n; i++) {
		s = (unsigned)((page_history_state(p, i)->now_ms -
		    page_history_state(p, i - 1)->now_ms + 500) / 1000);
		if (s < low)
			low = s;
		if (s > high)
			high = s;
	}
	*shortest = low;
	*longest = high;
	return true;
}

const struct blklist *
page_history_requesters(const struct page_history *p)
{
	return p->requesters;
}

uint64_t
page_history_freed(const struct page_history *p)
{
	return p != NULL ? p->nfreed : 0;
}

uint64_t
page_history_bytes(const struct page_history *p)
{
	uint64_t bytes = sizeof *p;
	size_t i;

	for (i = 0; i < PAGE_HISTORY_STATES; i++)
		bytes += p->state[i].cap * sizeof *p->state[i].freed;
	return bytes;
}

uint16_t
page_copy_requester(const struct blklist *from, struct blklist *to,
    uint16_t info)
{
	const struct blklist_info *entry = blklist_info_get(from, info);

	return entry != NULL ? blklist_info_intern(to, entry) : 0;
}

static void
drop_oldest_state(struct page_history *p)
{
	struct page_history_state *s = page_history_state(p, 0);

	p->nfreed -= s->nfreed;
	free(s->freed);
	*s = (struct page_history_state){ 0 };
	p->from = (p->from + 1) % PAGE_HISTORY_STATES;
	p->n--;
}

static void
drop_states(struct page_history *p)
{
	while (p->n > 0)
		drop_oldest_state(p);
}

static bool
is_short(const struct page_history *p)
{
	return p->n * p->interval < SPAN && p->interval < INTERVAL_MAX;
}

static void
trim_state(struct page_history_state *s)
{
	void *freed;

	if (s == NULL || s->nfreed == 0 || s->nfreed == s->cap)
		return;
	freed = realloc(s->freed, s->nfreed * sizeof *s->freed);
	if (freed == NULL)
		return;
	s->freed = freed;
	s->cap = s->nfreed;
}

static void
add_state(struct page_history *p, const struct page_view *v)
{
	trim_state(page_history_state(p, p->n - 1));
	if (p->n == PAGE_HISTORY_STATES)
		drop_oldest_state(p);
	p->n++;
	*page_history_state(p, p->n - 1) = (struct page_history_state){
		.as_of = v->look->as_of,
		.now_ms = v->look->now_ms,
		.node_wall_ms = v->look->node_wall_ms,
		.total_records = v->look->work.total_records,
		.counts = *v->counts,
	};
	p->last = v->now;
	if (p->interval > 1 && p->n * p->interval > 2 * SPAN &&
	    p->nfreed < FREED_MAX / 4)
		p->interval /= 2;
}

/* Drops states until there is room for one more; false: none is left. */
static bool
make_room(struct page_history *p)
{
	bool doubled = false;

	for (; p->nfreed >= FREED_MAX; drop_oldest_state(p))
		if (!doubled && is_short(p)) {
			p->interval *= 2;
			doubled = true;
		}
	return p->n > 0;
}

/* False: no memory, so that earlier states lack the block. */
static bool
add_freed(struct page_history *p, const struct blklist *list,
    const struct blk *b)
{
	struct page_history_state *s = page_history_state(p, p->n - 1);
	void *freed;
	int r;

	/* No state has a block that was allocated after the last one. */
	if (s == NULL || (int64_t)(b->seq - s->as_of) > 0 || !make_room(p))
		return true;
	freed = s->freed;
	r = base_grow(&freed, &s->cap, s->nfreed + 1, sizeof *s->freed);
	s->freed = freed;
	if (r < 0)
		return false;
	s->freed[s->nfreed] = *b;
	if (b->info != 0)
		s->freed[s->nfreed].info = p->requesters != NULL ||
		    blklist_new(&p->requesters, BLKLIST_INDEXED, 1) == 0 ?
		    page_copy_requester(list, p->requesters, b->info) : 0;
	s->nfreed++;
	p->nfreed++;
	return true;
}

/* Reads what the list has removed since the last call; false: some is missing. */
static bool
read_removals(struct page_history *p, const struct blklist *list)
{
	uint64_t all = blklist_removals(list), k;
	struct blklist_removed r;

	if (all < p->seen)
		return false;
	for (k = all - p->seen; k-- > 0 && p->n > 0;) {
		if (k > UINT32_MAX ||
		    blklist_removed_get(list, (uint32_t)k, &r) < 0 ||
		    !add_freed(p, list, &r.blk))
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
is_same(const struct page_history *p, const struct page_view *v)
{
	return p->list == v->look->list &&
	    p->stream_no == v->look->stream_no &&
	    p->inherited == v->counts->inherited;
}

void
page_history_update(struct page *page, const struct page_view *v)
{
	struct page_history *p = page->history;

	if (!page_is_on_screen(page) || page->paused != NULL ||
	    page->pausing != NULL || v->look != v->live)
		return;
	if (p == NULL) {
		p = page->history = calloc(1, sizeof *p);
		if (p == NULL)
			return;
		p->interval = 1;
	}
	if (!is_whole(v)) {
		drop_states(p);
		p->list = NULL;
		return;
	}
	if (!is_same(p, v) || !read_removals(p, v->look->list)) {
		drop_states(p);
		p->list = v->look->list;
		p->stream_no = v->look->stream_no;
		p->inherited = v->counts->inherited;
		p->seen = blklist_removals(v->look->list);
	}
	if (p->n == 0 ||
	    mono_diff_ns(v->now, p->last) >= (int64_t)p->interval * SECOND)
		add_state(p, v);
}

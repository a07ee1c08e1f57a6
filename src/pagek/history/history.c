#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

/* --- states ------------------------------------------------------------- */

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

/* Gives back the memory that a complete state does not need. */
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

/* --- freed blocks ------------------------------------------------------- */

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

/* --- steps -------------------------------------------------------------- */

/*
 * The list of a state has the paused list's blocks of that time, by age, then
 * the blocks freed since, which blklist_restore_order() sorts in at the end.
 */

#define COPY_PORTION 256	/* blocks between two looks at the clock */
#define SKIP_PORTION 2048	/* blocks that are only looked at, likewise */
#define ORDER_PORTION 16384	/* of blklist_restore_order(), likewise */
#define ORDER_LOOKS 8		/* that it takes at each block, at most */

void
page_steps_begin(struct page_steps *st, struct page_history *history,
    const struct blklist *paused, uint64_t sample)
{
	*st = (struct page_steps){
		.history = history,
		.paused = paused,
		.sample = sample,
		.at = page_history_count(history),
		.to = page_history_count(history),
	};
}

static void
drop_next(struct page_steps *st)
{
	blklist_free(st->next);
	st->next = NULL;
	st->done = 0;
}

static void
drop_shown(struct page_steps *st)
{
	blklist_free(st->list);
	st->list = NULL;
}

void
page_steps_fini(struct page_steps *st)
{
	drop_next(st);
	drop_shown(st);
}

const struct blklist *
page_steps_list(const struct page_steps *st)
{
	return st->list != NULL ? st->list : st->paused;
}

bool
page_steps_stop(struct page_steps *st)
{
	bool was = st->to != st->at;

	drop_next(st);
	st->to = st->at;
	return was;
}

unsigned
page_steps_percent(const struct page_steps *st)
{
	uint64_t all = blklist_counts(st->paused)->aRecActive +
	    page_history_freed(st->history);

	/* Sorting is a third of the work. */
	all += all / 2;
	return all > 0 && st->done < all ? (unsigned)(st->done * 100 / all) :
	    99;
}

/* --- the next list ------------------------------------------------------ */

static int
begin_next(struct page_steps *st)
{
	const struct blklist_counts *counts = blklist_counts(st->paused);
	uint64_t room;
	int r;

	room = counts->aRecActive + page_history_freed(st->history) + 1;
	if (room > BLKLIST_MAX)
		room = BLKLIST_MAX;
	r = blklist_new(&st->next, BLKLIST_INDEXED, (uint32_t)room);
	if (r < 0)
		return r;
	blklist_sample(st->next, st->sample);
	st->part = PAGE_STEPS_REQUESTERS;
	st->next_at = st->to;
	st->row = 0;
	st->done = 0;
	return 0;
}

/* In the paused list's order, so that all lists number requesters alike. */
static int
copy_requesters(struct page_steps *st)
{
	const struct blklist_info *entry;
	unsigned i;

	for (i = 0; i < COPY_PORTION; i++) {
		entry = blklist_info_get(st->paused,
		    (uint16_t)(st->row + 1));
		if (entry == NULL) {
			st->part = PAGE_STEPS_PAUSED;
			st->row = 0;
			return 0;
		}
		if (blklist_info_intern(st->next, entry) != ++st->row)
			return -ENOMEM;
	}
	return 0;
}

/* The oldest first, up to the first block that was allocated after the state. */
static int
copy_paused_blocks(struct page_steps *st)
{
	uint64_t as_of = page_history_state(st->history, st->next_at)->as_of;
	struct blk some[COPY_PORTION];
	size_t n, i;
	int r;

	n = blklist_window(st->paused, BLKLIST_BY_AGE, false, st->row, some,
	    COPY_PORTION);
	for (i = 0; i < n && (int64_t)(some[i].seq - as_of) <= 0; i++) {
		r = blklist_put(st->next, &some[i]);
		if (r < 0)
			return r;
	}
	st->row += i;
	st->done += i;
	if (i == COPY_PORTION)
		return 0;
	st->done = blklist_counts(st->paused)->aRecActive;
	st->part = PAGE_STEPS_FREED;
	st->state = page_history_count(st->history) - 1;
	st->row = page_history_state(st->history, st->state)->nfreed;
	return 0;
}

/* The last freed first; only those that the state has. */
static int
copy_freed_blocks(struct page_steps *st)
{
	uint64_t as_of = page_history_state(st->history, st->next_at)->as_of;
	const struct page_history_state *s = page_history_state(st->history,
	    st->state);
	const struct blklist *requesters = page_history_requesters(st->history);
	unsigned looked, put = 0;
	struct blk b;
	int r;

	for (looked = 0; looked < SKIP_PORTION && put < COPY_PORTION &&
	    st->row > 0; looked++) {
		b = s->freed[--st->row];
		st->done++;
		if ((int64_t)(b.seq - as_of) > 0)
			continue;
		if (b.info != 0)
			b.info = page_copy_requester(requesters, st->next,
			    b.info);
		r = blklist_put(st->next, &b);
		/* -EEXIST: the free was undone, the paused list has the block. */
		if (r < 0 && r != -EEXIST)
			return r;
		put++;
	}
	if (st->row > 0)
		return 0;
	if (st->state > st->next_at) {
		st->state--;
		st->row = page_history_state(st->history, st->state)->nfreed;
	} else {
		st->part = PAGE_STEPS_ORDER;
	}
	return 0;
}

static void
show_next(struct page_steps *st)
{
	drop_shown(st);
	st->list = st->next;
	st->at = st->next_at;
	st->next = NULL;
	st->done = 0;
}

static int
sort_next(struct page_steps *st)
{
	st->done += ORDER_PORTION / ORDER_LOOKS;
	if (blklist_restore_order(st->next, ORDER_PORTION))
		show_next(st);
	return 0;
}

static int
step_portion(struct page_steps *st)
{
	static int (*const parts[])(struct page_steps *) = {
		[PAGE_STEPS_REQUESTERS] = copy_requesters,
		[PAGE_STEPS_PAUSED] = copy_paused_blocks,
		[PAGE_STEPS_FREED] = copy_freed_blocks,
		[PAGE_STEPS_ORDER] = sort_next,
	};

	return parts[st->part](st);
}

/* --- which state ----------------------------------------------------------- */

int
page_steps_ask(struct page_steps *st, bool back)
{
	if (back ? st->to == 0 : st->to >= page_history_count(st->history))
		return -ENOENT;
	st->to += back ? (size_t)-1 : 1;
	return 0;
}

/* The list being built has no block yet that is too young for the state asked for. */
static bool
can_retarget(const struct page_steps *st)
{
	struct blk last;

	if (st->part == PAGE_STEPS_REQUESTERS ||
	    (st->part == PAGE_STEPS_PAUSED && st->row == 0))
		return true;
	return st->part == PAGE_STEPS_PAUSED &&
	    blklist_window(st->paused, BLKLIST_BY_AGE, false, st->row - 1,
	    &last, 1) == 1 &&
	    (int64_t)(last.seq -
	    page_history_state(st->history, st->to)->as_of) <= 0;
}

/*
 * A list that does not suit the state asked for is completed and shown all the
 * same: while the key is held down, the picture moves.
 */
static void
retarget_next(struct page_steps *st)
{
	if (st->to == page_history_count(st->history)) {
		drop_next(st);
		drop_shown(st);
		st->at = st->to;
	} else if (st->to == st->at) {
		drop_next(st);
	} else if (st->next != NULL && st->next_at != st->to &&
	    can_retarget(st)) {
		st->next_at = st->to;
	}
}

int
page_steps_advance(struct page_steps *st, int64_t budget_ns)
{
	struct mono begun = mono_now();
	int r = 0;

	retarget_next(st);
	while (st->at != st->to) {
		if (st->next == NULL)
			r = begin_next(st);
		if (r == 0)
			r = step_portion(st);
		if (r < 0) {
			page_steps_stop(st);
			return r;
		}
		if (st->next == NULL || mono_diff_ns(mono_now(), begun) >=
		    budget_ns)
			break;
	}
	return st->at == st->to ? 0 : -EAGAIN;
}

/* See history.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

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
forget_states(struct page_past *p)
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

	if (!page_is_on_screen(page) || page->frozen != NULL ||
	    page->freezing != NULL || v->look != v->live)
		return;
	if (p == NULL) {
		p = page->past = calloc(1, sizeof *p);
		if (p == NULL)
			return;
		p->apart = 1;
	}
	if (!is_whole(v)) {
		forget_states(p);
		p->list = NULL;
		return;
	}
	if (!is_same(p, v) || !keep_freed(p, v->look->list)) {
		forget_states(p);
		p->list = v->look->list;
		p->stream_no = v->look->stream_no;
		p->inherited = v->counts->inherited;
		p->seen = blklist_removals(v->look->list);
	}
	if (p->n == 0 ||
	    mono_diff_ns(v->now, p->last) >= (int64_t)p->apart * SECOND)
		keep_state(p, v);
}

/* --- the list as it was at a state ---------------------------------------- */

/*
 * The list as it was at a state, made anew beside the one that is shown: first
 * what the paused list has of that time, in the order of age, then what has
 * been freed since.  The first is nearly all of it and goes in as it comes; what
 * the other leaves out of order is mended at the end.
 */

#define SOME 256		/* blocks, between two looks at the clock */
#define SOME_GONE 2048		/* the same of those that are only looked at */
#define ORDER_PART 16384	/* of blklist_restore_order(), likewise */
#define ORDER_LOOKS 8		/* that it takes at each block, at most */

void
page_steps_begin(struct page_steps *st, struct page_past *past,
    const struct blklist *paused, uint64_t sample)
{
	*st = (struct page_steps){
		.past = past,
		.paused = paused,
		.sample = sample,
		.at = page_past_states(past),
		.to = page_past_states(past),
	};
}

static void
drop_next(struct page_steps *st)
{
	if (st->next != NULL)
		blklist_free(st->next);
	st->next = NULL;
	st->done = 0;
}

static void
drop_shown(struct page_steps *st)
{
	if (st->list != NULL)
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
	    page_past_gone(st->past);

	/* To put it into order is a third of the work. */
	all += all / 2;
	return all > 0 && st->done < all ? (unsigned)(st->done * 100 / all) :
	    99;
}

/* --- the next list ------------------------------------------------------ */

static int
begin_next(struct page_steps *st)
{
	const struct blklist_counts *counts = blklist_counts(st->paused);
	uint64_t room = counts->aRecActive + page_past_gone(st->past) + 1;
	int r;

	if (room > BLKLIST_MAX)
		room = BLKLIST_MAX;
	r = blklist_new(&st->next, BLKLIST_INDEXED, (uint32_t)room);
	if (r < 0)
		return r;
	blklist_sample(st->next, st->sample);
	st->part = PAGE_STEPS_NAMES;
	st->next_at = st->to;
	st->row = 0;
	st->done = 0;
	return 0;
}

/*
 * All that the paused list has, in their order: so requesters have the same
 * numbers in each list of these, whichever is shown.
 */
static int
copy_names(struct page_steps *st)
{
	const struct blklist_info *entry;
	unsigned i;

	for (i = 0; i < SOME; i++) {
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

/* The oldest first, up to what came after that state. */
static int
copy_paused(struct page_steps *st)
{
	uint64_t as_of = page_past_state(st->past, st->next_at)->as_of;
	struct blk some[SOME];
	size_t n, i;
	int r;

	n = blklist_window(st->paused, BLKLIST_BY_AGE, false, st->row, some,
	    SOME);
	for (i = 0; i < n && (int64_t)(some[i].seq - as_of) <= 0; i++) {
		r = blklist_put(st->next, &some[i]);
		if (r < 0)
			return r;
	}
	st->row += i;
	st->done += i;
	if (i == SOME)
		return 0;
	st->done = blklist_counts(st->paused)->aRecActive;
	st->part = PAGE_STEPS_GONE;
	st->state = page_past_states(st->past) - 1;
	st->row = page_past_state(st->past, st->state)->ngone;
	return 0;
}

/* Requesters of what is gone have numbers of their own. */
static uint16_t
name_in(struct page_steps *st, uint16_t info)
{
	const struct blklist *names = page_past_names(st->past);
	const struct blklist_info *entry = names != NULL && info != 0 ?
	    blklist_info_get(names, info) : NULL;

	return entry != NULL ? blklist_info_intern(st->next, entry) : 0;
}

/* The last one that went first; what was there at that state. */
static int
copy_gone(struct page_steps *st)
{
	uint64_t as_of = page_past_state(st->past, st->next_at)->as_of;
	const struct page_past_state *s = page_past_state(st->past,
	    st->state);
	unsigned looked, put = 0;
	struct blk b;
	int r;

	for (looked = 0; looked < SOME_GONE && put < SOME && st->row > 0;
	    looked++) {
		b = s->gone[--st->row];
		st->done++;
		if ((int64_t)(b.seq - as_of) > 0)
			continue;
		b.info = name_in(st, b.info);
		r = blklist_put(st->next, &b);
		/* Its end was taken back: it has been there all the time. */
		if (r < 0 && r != -EEXIST)
			return r;
		put++;
	}
	if (st->row > 0)
		return 0;
	if (st->state > st->next_at) {
		st->state--;
		st->row = page_past_state(st->past, st->state)->ngone;
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
order(struct page_steps *st)
{
	st->done += ORDER_PART / ORDER_LOOKS;
	if (blklist_restore_order(st->next, ORDER_PART))
		show_next(st);
	return 0;
}

static int
step_portion(struct page_steps *st)
{
	static int (*const parts[])(struct page_steps *) = {
		[PAGE_STEPS_NAMES] = copy_names,
		[PAGE_STEPS_PAUSED] = copy_paused,
		[PAGE_STEPS_GONE] = copy_gone,
		[PAGE_STEPS_ORDER] = order,
	};

	return parts[st->part](st);
}

/* --- where to ----------------------------------------------------------- */

int
page_steps_ask(struct page_steps *st, bool back)
{
	if (back ? st->to == 0 : st->to >= page_past_states(st->past))
		return -ENOENT;
	st->to += back ? (size_t)-1 : 1;
	return 0;
}

/*
 * The list that is on its way is as good for that state: it has nothing yet
 * that came later.
 */
static bool
can_turn(const struct page_steps *st)
{
	struct blk last;

	if (st->part == PAGE_STEPS_NAMES ||
	    (st->part == PAGE_STEPS_PAUSED && st->row == 0))
		return true;
	return st->part == PAGE_STEPS_PAUSED &&
	    blklist_window(st->paused, BLKLIST_BY_AGE, false, st->row - 1,
	    &last, 1) == 1 &&
	    (int64_t)(last.seq - page_past_state(st->past, st->to)->as_of) <=
	    0;
}

/*
 * One that cannot be made to lead there is made to its end and shown, so that
 * somebody who holds the key down sees that he goes back.
 */
static void
turn_round(struct page_steps *st)
{
	if (st->to == page_past_states(st->past)) {
		drop_next(st);
		drop_shown(st);
		st->at = st->to;
	} else if (st->to == st->at) {
		drop_next(st);
	} else if (st->next != NULL && st->next_at != st->to && can_turn(st)) {
		st->next_at = st->to;
	}
}

int
page_steps_on(struct page_steps *st, int64_t budget_ns)
{
	struct mono begun = mono_now();
	int r = 0;

	turn_round(st);
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

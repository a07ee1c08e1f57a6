/*
 * The copy is a block list as large as the original, until the pause ends.
 *
 * A large list changes while it is copied, a portion a picture.  The copy is of
 * the first portion's moment all the same: younger blocks are left out by their
 * sequence numbers, and blocks that were freed before they were copied are
 * among the list's last removals.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hashmap.h"
#include "../../base/scan.h"
#include "../page/view.h"
#include "../rows/frozen_order.h"
#include "history.h"

#define TEXT_MAX 256
#define COPY_ROWS 256
#define COPY_PORTION 65536	/* blocks copied for one picture ... */
#define COPY_NS INT64_C(7000000)	/* ... fewer where they take longer */
#define MORE 1024		/* room for frees that are undone meanwhile */
#define ORDER_PORTION 65536	/* of blklist_restore_order() at once ... */
#define ORDER_NS INT64_C(4000000)	/* ... and time for it in one picture */
#define STEP_PORTION 256	/* blocks of a state between two looks at the clock */
#define SKIP_PORTION 2048	/* blocks that are only looked at, likewise */
#define STEP_ORDER 16384	/* of blklist_restore_order(), likewise */
#define ORDER_LOOKS 8		/* that it takes at each block, at most */

struct look_copy {
	uint64_t keeper[WIRE_STATS_COUNT];
	uint64_t node[WIRE_STATS_COUNT];
	struct stream_types types;
	struct wire_region region[WIRE_REGIONS_MAX];
	char node_name[TEXT_MAX];
	char target_name[TEXT_MAX];
	char reason[TEXT_MAX];
	char output[TEXT_MAX];
	char socket[TEXT_MAX];
};

struct paused_list {
	struct blklist *list;		/* owned; NULL: the view has none */
	const struct blklist *from;	/* the view's, and at the first portion its: */
	uint64_t inherited, youngest, removals;
	unsigned layer;			/* of the last block copied ... */
	uint64_t addr;			/* ... and its address */
	uint64_t passed;		/* blocks copied or left out */
	bool passed_all;
	struct scan scan;
};

enum name_kind { STACK, WORDS, THREAD, NAME_KINDS };

struct cached_name {
	uint64_t key;
	void *copy;		/* one piece of memory; owned */
};

struct name_cache {
	struct hashmap copies[NAME_KINDS];	/* of struct cached_name */
	bool same;		/* the view still has the paused stream */
	struct profile_words live;
	const char *(*live_thread)(void *arg, uint16_t thread);
	void *live_arg;
};

/*
 * The way through the states, while the history does not change.  The list of
 * a state is built in portions beside the one shown: up to three exist, each
 * as large as the paused one.  It has the paused list's blocks of that time, by
 * age, then the blocks freed since, which are sorted in at the end.
 */
struct steps {
	struct page_history *history;	/* borrowed, and so is: */
	const struct blklist *paused;	/* in the order of age; it does not change */
	uint64_t sample;		/* period of both, or 0 */
	struct blklist *list;		/* of the state shown; NULL: the paused one is */
	size_t at;			/* the state shown; page_history_count(): the pause */
	size_t to;			/* the state asked for */

	struct blklist *next;
	size_t next_at;			/* its state */
	enum {
		STEP_REQUESTERS,
		STEP_PAUSED,		/* blocks that the paused list has */
		STEP_FREED,		/* blocks that were freed since */
		STEP_ORDER_BY_AGE,
	} part;
	size_t state;			/* whose freed blocks come next ... */
	uint64_t row;			/* ... from there down; of other parts: done up to there */
	uint64_t done;			/* blocks looked at */
};

struct page_paused {
	struct nodes_look look;		/* of the picture shown */
	struct blklist_counts counts;
	struct nodes_look paused_look;	/* of the pause */
	struct blklist_counts paused_counts;
	struct look_copy fields;
	struct paused_list copy;
	struct name_cache names;
	struct steps steps;
};

static int
copy_block(struct paused_list *c, struct blk *b)
{
	int r;

	if ((int64_t)(b->seq - c->youngest) > 0)
		return 0;
	b->info = page_copy_requester(c->from, c->list, b->info);
	r = blklist_put(c->list, b);
	return r == -EEXIST ? 0 : r;
}

static int
copy_removed(struct paused_list *c)
{
	uint64_t all = blklist_removals(c->from);
	struct blklist_removed freed;
	int r = 0;

	for (; r == 0 && c->removals < all; c->removals++) {
		uint64_t k = all - c->removals - 1;

		if (k > UINT32_MAX ||
		    blklist_removed_get(c->from, (uint32_t)k, &freed) < 0)
			return -ESTALE;
		r = copy_block(c, &freed.blk);
	}
	return r;
}

/* Blocks were put in by address; false: the order of age takes longer. */
static bool
sort_portion(struct paused_list *c)
{
	scan_portion(&c->scan, 0, ORDER_NS);
	while (!blklist_restore_order(c->list, ORDER_PORTION))
		if (!scan_has_budget(&c->scan))
			return false;
	return true;
}

/* -EAGAIN: there is more to copy. */
static int
copy_portion(struct paused_list *c)
{
	struct blk rows[COPY_ROWS];
	size_t n, i;
	int r;

	scan_portion(&c->scan, COPY_PORTION, COPY_NS);
	r = copy_removed(c);
	while (r == 0 && !c->passed_all) {
		n = blklist_after(c->from, c->passed == 0, c->layer, c->addr,
		    rows, COPY_ROWS);
		c->passed_all = n == 0;
		if (n == 0)
			break;
		c->layer = blk_layer(&rows[n - 1]);
		c->addr = rows[n - 1].addr;
		c->passed += n;
		for (i = 0; i < n && r == 0; i++)
			r = copy_block(c, &rows[i]);
		scan_spend(&c->scan, (int64_t)n);
		if (!scan_has_budget(&c->scan))
			break;
	}
	if (r < 0)
		return r;
	return c->passed_all && sort_portion(c) ? 0 : -EAGAIN;
}

static int
begin_copy(struct paused_list *c, const struct page_view *v)
{
	uint64_t room = (uint64_t)v->counts->aRecActive + MORE;
	struct blk youngest;
	int r;

	r = blklist_new(&c->list, BLKLIST_INDEXED,
	    (uint32_t)(room < BLKLIST_MAX ? room : BLKLIST_MAX));
	if (r < 0)
		return r;
	blklist_sample(c->list, v->look->sample);
	c->from = v->look->list;
	c->inherited = v->counts->inherited;
	c->removals = blklist_removals(c->from);
	c->passed_all = blklist_window(c->from, BLKLIST_BY_AGE, true, 0,
	    &youngest, 1) != 1;
	if (!c->passed_all)
		c->youngest = youngest.seq;
	return 0;
}

/* Blocks that were put in without a record are not told by their numbers. */
static bool
is_same_list(const struct page_paused *f, const struct page_view *v)
{
	return v->look->list == f->copy.from && !v->look->window &&
	    v->look->stream_no == f->look.stream_no &&
	    v->counts->inherited == f->copy.inherited &&
	    blklist_removals(v->look->list) >= f->copy.removals;
}

static const char *
copy_text(char out[TEXT_MAX], const char *text)
{
	snprintf(out, TEXT_MAX, "%s", text != NULL ? text : "");
	return out;
}

static void
copy_look(struct page_paused *f, const struct nodes_look *look)
{
	struct look_copy *to = &f->fields;

	f->look = *look;
	f->look.list = NULL;
	if (look->regions.n > 0)
		memcpy(to->region, look->regions.at,
		    look->regions.n * sizeof *to->region);
	f->look.regions.at = to->region;
	if (look->types != NULL) {
		to->types = *look->types;
		f->look.types = &to->types;
	}
	if (look->keeper != NULL) {
		memcpy(to->keeper, look->keeper, sizeof to->keeper);
		f->look.keeper = to->keeper;
	}
	if (look->node.numbers != NULL) {
		memcpy(to->node, look->node.numbers, sizeof to->node);
		f->look.node.numbers = to->node;
	}
	f->look.node.name = copy_text(to->node_name, look->node.name);
	f->look.target.name = copy_text(to->target_name, look->target.name);
	f->look.reason = copy_text(to->reason, look->reason);
	f->look.command.output = copy_text(to->output, look->command.output);
	f->look.node.socket = copy_text(to->socket, look->node.socket);
}

static void *
find_name(const struct name_cache *c, enum name_kind kind, uint64_t key)
{
	const struct cached_name *name = hashmap_get(&c->copies[kind], key);

	return name != NULL ? name->copy : NULL;
}

/* Takes over the copy.  Without memory the view is asked each time. */
static void
add_name(struct name_cache *c, enum name_kind kind, uint64_t key, void *copy)
{
	struct cached_name *name = NULL;

	if (copy != NULL)
		name = hashmap_add(&c->copies[kind], key);
	if (name != NULL)
		name->copy = copy;
	else
		free(copy);
}

static bool
cached_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	struct name_cache *c = arg;
	const struct stream_site *copy = find_name(c, STACK, caller);

	if (copy != NULL) {
		*out = *copy;
		return true;
	}
	if (!c->same || !c->live.stack(c->live.arg, caller, out))
		return false;
	add_name(c, STACK, caller, nodes_stack_copy(out));
	return true;
}

/* Words that are not final are passed on and not copied. */
static const struct wire_words *
cached_words(void *arg, uint64_t frame)
{
	struct name_cache *c = arg;
	const struct wire_words *w = find_name(c, WORDS, frame);

	if (w != NULL)
		return w;
	w = c->same ? c->live.words(c->live.arg, frame) : NULL;
	if (w != NULL && w->known != WIRE_K_PENDING && !w->fetching)
		add_name(c, WORDS, frame, nodes_words_copy(w));
	return w;
}

static const char *
cached_thread(void *arg, uint16_t thread)
{
	struct name_cache *c = arg;
	const char *name = find_name(c, THREAD, thread);

	if (name != NULL)
		return name;
	name = c->same ? c->live_thread(c->live_arg, thread) : "";
	if (name[0] != '\0')
		add_name(c, THREAD, thread, strdup(name));
	return name;
}

static void
use_names(struct name_cache *c, struct page_view *v)
{
	c->live = v->words;
	c->live_thread = v->thread;
	c->live_arg = v->arg;
	v->words = (struct profile_words){
		.stack = cached_stack,
		.words = cached_words,
		.arg = c,
	};
	v->thread = cached_thread;
	v->arg = c;
}

static void
free_names(struct name_cache *c)
{
	for (int i = 0; i < NAME_KINDS; i++) {
		const struct cached_name *name = c->copies[i].item;

		for (size_t j = 0; j < c->copies[i].n; j++)
			free(name[j].copy);
		hashmap_fini(&c->copies[i]);
	}
}

static void
free_paused(struct page_paused *f)
{
	if (f == NULL)
		return;
	blklist_free(f->steps.next);
	blklist_free(f->steps.list);
	blklist_free(f->copy.list);
	free_names(&f->names);
	free(f);
}

static int
begin_pause(struct page *page, const struct page_view *v)
{
	struct page_paused *f;
	int r = 0, i;

	page_history_update(page, v);
	f = calloc(1, sizeof *f);
	if (f == NULL)
		return -ENOMEM;
	for (i = 0; i < NAME_KINDS; i++)
		f->names.copies[i].size = sizeof(struct cached_name);
	copy_look(f, v->look);
	f->counts = *v->counts;
	if (v->look->list != NULL)
		r = begin_copy(&f->copy, v);
	if (r < 0) {
		free_paused(f);
		return r;
	}
	f->look.list = f->copy.list;
	page_resume(page);
	page->pausing = f;
	return 0;
}

int
page_pause(struct page *page, const struct page_view *v)
{
	struct page_paused *f;
	int r = 0;

	if (page->pausing == NULL)
		r = begin_pause(page, v);
	if (r < 0)
		return r;
	f = page->pausing;
	if (f->copy.list != NULL)
		r = is_same_list(f, v) ? copy_portion(&f->copy) : -ESTALE;
	if (r == -EAGAIN)
		return r;
	page->pausing = NULL;
	if (r < 0) {
		free_paused(f);
		return r;
	}
	page->round++;
	f->paused_look = f->look;
	f->paused_counts = f->counts;
	f->steps = (struct steps){
		.history = page->history,
		.paused = f->copy.list,
		.sample = f->look.sample,
		.at = page_history_count(page->history),
		.to = page_history_count(page->history),
	};
	page->paused = f;
	return 0;
}

unsigned
page_pause_percent(const struct page *page)
{
	const struct page_paused *f = page->pausing;

	if (f == NULL || f->counts.aRecActive == 0)
		return 0;
	return scan_percent(f->copy.passed, f->counts.aRecActive);
}

void
page_resume(struct page *page)
{
	free_paused(page->pausing);
	page->pausing = NULL;
	if (page->paused == NULL)
		return;
	free_paused(page->paused);
	page->paused = NULL;
	page->round++;
}

void
page_view_paused(struct page_view *v, const struct page *page)
{
	struct page_paused *f = page->paused;

	if (f == NULL)
		return;
	v->look = &f->look;
	v->counts = &f->counts;
	f->names.same = v->live->stream_no == f->look.stream_no;
	use_names(&f->names, v);
}

static void
drop_next(struct steps *st)
{
	blklist_free(st->next);
	st->next = NULL;
	st->done = 0;
}

static void
drop_shown(struct steps *st)
{
	blklist_free(st->list);
	st->list = NULL;
}

static int
begin_next(struct steps *st)
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
	st->part = STEP_REQUESTERS;
	st->next_at = st->to;
	st->row = 0;
	st->done = 0;
	return 0;
}

/* In the paused list's order, so that all lists number requesters alike. */
static int
copy_requesters(struct steps *st)
{
	const struct blklist_info *entry;
	unsigned i;

	for (i = 0; i < STEP_PORTION; i++) {
		entry = blklist_info_get(st->paused,
		    (uint16_t)(st->row + 1));
		if (entry == NULL) {
			st->part = STEP_PAUSED;
			st->row = 0;
			return 0;
		}
		if (blklist_info_intern(st->next, entry) != ++st->row)
			return -ENOMEM;
	}
	return 0;
}

static int
copy_paused_blocks(struct steps *st)
{
	uint64_t as_of = page_history_state(st->history, st->next_at)->as_of;
	struct blk some[STEP_PORTION];
	size_t n, i;
	int r;

	n = blklist_window(st->paused, BLKLIST_BY_AGE, false, st->row, some,
	    STEP_PORTION);
	for (i = 0; i < n && (int64_t)(some[i].seq - as_of) <= 0; i++) {
		r = blklist_put(st->next, &some[i]);
		if (r < 0)
			return r;
	}
	st->row += i;
	st->done += i;
	if (i == STEP_PORTION)
		return 0;
	st->done = blklist_counts(st->paused)->aRecActive;
	st->part = STEP_FREED;
	st->state = page_history_count(st->history) - 1;
	st->row = page_history_state(st->history, st->state)->nfreed;
	return 0;
}

static int
copy_freed_blocks(struct steps *st)
{
	uint64_t as_of = page_history_state(st->history, st->next_at)->as_of;
	const struct page_history_state *s = page_history_state(st->history,
	    st->state);
	const struct blklist *requesters = page_history_requesters(st->history);
	unsigned looked, put = 0;
	struct blk b;
	int r;

	for (looked = 0; looked < SKIP_PORTION && put < STEP_PORTION &&
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
		st->part = STEP_ORDER_BY_AGE;
	}
	return 0;
}

static void
show_next(struct steps *st)
{
	drop_shown(st);
	st->list = st->next;
	st->at = st->next_at;
	st->next = NULL;
	st->done = 0;
}

static int
sort_next(struct steps *st)
{
	st->done += STEP_ORDER / ORDER_LOOKS;
	if (blklist_restore_order(st->next, STEP_ORDER))
		show_next(st);
	return 0;
}

static int
step_portion(struct steps *st)
{
	static int (*const parts[])(struct steps *) = {
		[STEP_REQUESTERS] = copy_requesters,
		[STEP_PAUSED] = copy_paused_blocks,
		[STEP_FREED] = copy_freed_blocks,
		[STEP_ORDER_BY_AGE] = sort_next,
	};

	return parts[st->part](st);
}

static bool
can_retarget(const struct steps *st)
{
	struct blk last;

	if (st->part == STEP_REQUESTERS ||
	    (st->part == STEP_PAUSED && st->row == 0))
		return true;
	return st->part == STEP_PAUSED &&
	    blklist_window(st->paused, BLKLIST_BY_AGE, false, st->row - 1,
	    &last, 1) == 1 &&
	    (int64_t)(last.seq -
	    page_history_state(st->history, st->to)->as_of) <= 0;
}

/* An unsuitable list is completed and shown: a held key moves the picture. */
static void
retarget_next(struct steps *st)
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

static void
show_state(struct page_paused *f)
{
	const struct page_history_state *s =
	    page_history_state(f->steps.history, f->steps.at);

	f->look = f->paused_look;
	f->counts = f->paused_counts;
	if (s == NULL)
		return;
	f->look.list = f->steps.list;
	f->look.as_of = s->as_of;
	f->look.now_ms = s->now_ms;
	f->look.node_wall_ms = s->node_wall_ms;
	f->look.work.total_records = s->total_records;
	f->counts = s->counts;
	f->counts.aRecActive = blklist_counts(f->look.list)->aRecActive;
	/* Regions that were known completely at the state are not known now. */
	f->look.regions.n = 0;
}

/* The last state may be of the same moment as the pause. */
static bool
asks_for_pause(const struct page_paused *f)
{
	const struct page_history_state *s =
	    page_history_state(f->steps.history, f->steps.to);

	return s != NULL && s->as_of == f->paused_look.as_of;
}

static int
ask_step(struct steps *st, bool back)
{
	if (back ? st->to == 0 : st->to >= page_history_count(st->history))
		return -ENOENT;
	st->to += back ? (size_t)-1 : 1;
	return 0;
}

int
page_step(struct page *page, bool back)
{
	struct page_paused *f = page->paused;
	int r;

	if (f == NULL || f->copy.list == NULL)
		return -EINVAL;
	r = ask_step(&f->steps, back);
	if (r < 0 || !asks_for_pause(f))
		return r;
	r = ask_step(&f->steps, back);
	if (r < 0)
		ask_step(&f->steps, !back);
	return r;
}

bool
page_step_stop(struct page *page)
{
	struct page_paused *f = page->paused;
	bool asked = f != NULL && f->steps.to != f->steps.at;

	if (f == NULL)
		return false;
	drop_next(&f->steps);
	f->steps.to = f->steps.at;
	return asked;
}

int
page_step_advance(struct page *page, int64_t budget_ns)
{
	struct page_paused *f = page->paused;
	struct mono begun = mono_now();
	struct steps *st;
	size_t was;
	int r = 0;

	if (f == NULL)
		return -EINVAL;
	st = &f->steps;
	was = st->at;
	retarget_next(st);
	while (r == 0 && st->at != st->to) {
		if (st->next == NULL)
			r = begin_next(st);
		if (r == 0)
			r = step_portion(st);
		if (st->next == NULL ||
		    mono_diff_ns(mono_now(), begun) >= budget_ns)
			break;
	}
	if (r < 0)
		page_step_stop(page);
	else if (st->at != st->to)
		r = -EAGAIN;
	if (st->at != was) {
		show_state(f);
		page_freeze_end_brief(page);
		page->round++;
	}
	return r;
}

bool
page_step_percent(const struct page *page, unsigned *percent)
{
	const struct page_paused *f = page->paused;
	uint64_t all;

	if (f == NULL || f->steps.to == f->steps.at)
		return false;
	/* Sorting is a third of the work. */
	all = blklist_counts(f->copy.list)->aRecActive +
	    page_history_freed(f->steps.history);
	all += all / 2;
	*percent = f->steps.done < all ?
	    (unsigned)(f->steps.done * 100 / all) : 99;
	return true;
}

bool
page_step_age(const struct page *page, int64_t *ms)
{
	const struct page_paused *f = page->paused;

	if (f == NULL || f->steps.at >= page_history_count(f->steps.history))
		return false;
	*ms = f->paused_look.now_ms - f->look.now_ms;
	return true;
}

void
page_step_text(const struct page *page, char *out, size_t cap)
{
	const struct page_paused *f = page->paused;
	const struct page_history_state *s;
	char when[PAGE_CLOCK], interval[48] = "";
	unsigned shortest, longest;
	size_t len = 0;

	out[0] = '\0';
	if (f == NULL)
		return;
	s = page_history_state(f->steps.history, f->steps.to);
	page_clock(page, &f->paused_look, s != NULL ? s->node_wall_ms :
	    f->paused_look.node_wall_ms, when);
	if (page_history_interval(f->steps.history, &shortest, &longest))
		base_append(interval, sizeof interval, &len,
		    shortest == longest ? ", %u s apart" :
		    ", %u to %u s apart", shortest, longest);
	len = 0;
	base_append(out, cap, &len, "picture of %s, %zu of %zu%s", when,
	    f->steps.to + 1, page_history_count(f->steps.history) + 1,
	    interval);
}

void
page_view_shown(struct page_view *v, const struct page *page,
    struct nodes_session *session)
{
	page_view_live(v, session);
	page_view_paused(v, page);
	v->units = page->units;
	v->utc = page->opts.utc;
	v->wrappers = page->opts.wrappers;
	v->refcnt = page->opts.refcnt;
}

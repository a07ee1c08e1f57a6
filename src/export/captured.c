/*
 * A part of a capture as a source.  Its events are read twice: first for the sums of
 * each caller, then, as often as they are asked for, one after the other.
 *
 * The list of live blocks is kept beside them, so that a free has its block.  After
 * lost events, the next known list shows which blocks have come and gone: they are
 * written as allocated and freed there.  A realloc that failed has freed nothing;
 * that is known only later, so the first reading notes the number of its free, unless
 * another event has had its address meanwhile, which only damaged data have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../capture/capture.h"
#include "export.h"

#define BATCH 4096
#define NS_PER_MS INT64_C(1000000)
#define NOTE_BYTES 512

struct captured {
	struct captured_opts o;
	struct capture_part_info part;
	struct profile *profile;
	struct hashmap callers;		/* struct export_caller */
	struct hashmap undone;		/* numbers of frees by reallocs that failed */
	uint64_t inherited;		/* blocks of its first list */
	uint64_t lost;			/* events */
	struct export_source *s;
};

struct walk {
	struct captured *x;
	int (*step)(struct walk *, enum export_kind, const struct blk *);
	bool first;			/* undone frees are not known yet */
	bool lists;			/* steps are of the difference of two lists */
	struct capture_list *list;
	bool known, begun;		/* the list is; it was */
	bool over;
	struct hashmap by_realloc;	/* struct last_free by thread */
	struct hashmap untouched;	/* of these, places without an event since */
	/* For the later readings. */
	int (*take)(void *, const struct export_event *);
	void *arg;
	struct capture_event event[BATCH];
};

struct last_free {
	uint64_t thread, seq;
	struct blk row;			/* flags 0: the block was not known */
};

static int
compare_rows(const struct blk *a, const struct blk *b)
{
	if (a->seq != b->seq)
		return (int64_t)a->seq < (int64_t)b->seq ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (int)blk_layer(a) - (int)blk_layer(b);
}

static int
step_lost_free(struct walk *w, const struct blk *b, int64_t ms)
{
	struct blk freed = { .addr = b->addr, .size = b->size, .ms = ms,
		.flags = b->flags, .type = TYPE_FREE };

	return w->step(w, EXPORT_FREE, &freed);
}

static int
reconcile(struct walk *w, const struct blk *to, size_t n, int64_t ms)
{
	size_t have, i = 0, k = 0;
	const struct blk *is = capture_list_rows(w->list, &have);
	int r = is == NULL ? -ENOMEM : 0;

	w->lists = true;
	/* Frees first: another block may have the address now. */
	for (; r == 0 && i < have; i++) {
		while (k < n && compare_rows(&to[k], &is[i]) < 0)
			k++;
		if (k == n || compare_rows(&to[k], &is[i]) != 0)
			r = step_lost_free(w, &is[i], ms);
	}
	for (i = k = 0; r == 0 && k < n; k++) {
		while (i < have && compare_rows(&is[i], &to[k]) < 0)
			i++;
		if (i == have || compare_rows(&is[i], &to[k]) != 0)
			r = w->step(w, EXPORT_ALLOC, &to[k]);
	}
	w->lists = false;
	return r;
}

static int
take_state(struct walk *w, const struct capture_event *ev)
{
	const struct captured_opts *o = &w->x->o;
	struct capture_list *l;
	const struct blk *row;
	size_t n;
	int r;

	if (w->known)
		return 0;
	r = capture_seek(o->c, o->part, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = ev->seq }, &l);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	row = capture_list_rows(l, &n);
	r = row == NULL ? -ENOMEM : reconcile(w, row, n, ev->ms);
	if (w->first && !w->begun)
		w->x->inherited = n;
	capture_list_free(w->list);
	w->list = l;
	w->known = w->begun = true;
	return r;
}

static struct blk
block_of(const struct walk *w, const struct capture_event *ev)
{
	struct blk b = blk_of_rec(&ev->rec, ev->seq, ev->ms);

	if (w->x->part.part.options & CAPTURE_CLASSIC)
		b.flags &= (uint8_t)~REC_LAYER_API;
	return b;
}

static uint64_t
place_of(const struct blk *b)
{
	return b->addr | (uint64_t)blk_layer(b) << 63;
}

static void
touch(struct walk *w, const struct blk *b)
{
	int64_t at = hashmap_find(&w->untouched, place_of(b));

	if (at >= 0)
		hashmap_remove(&w->untouched, (size_t)at);
}

static int
note_by_realloc(struct walk *w, const struct blk *freed, const struct blk *row)
{
	struct last_free *last = hashmap_add(&w->by_realloc, freed->thread);

	if (last == NULL)
		return -ENOMEM;
	if (last->row.flags != 0)
		touch(w, &last->row);
	last->seq = freed->seq;
	last->row = row != NULL ? *row : (struct blk){ .flags = 0 };
	return row != NULL && w->first && hashmap_put(&w->untouched,
	    place_of(row), NULL) < 0 ? -ENOMEM : 0;
}

/* The frees of the blocks that the event has removed; one of no known block. */
static int
take_frees(struct walk *w, const struct capture_event *ev)
{
	struct blk b = block_of(w, ev);
	size_t n;
	const struct blk *row = capture_list_removed(w->list, &n);
	int r = 0;

	if (rec_op(&ev->rec) == REC_FREE && b.type == TYPE_BY_REALLOC) {
		r = note_by_realloc(w, &b, n > 0 ? row : NULL);
		if (r < 0 || hashmap_find(&w->x->undone, ev->seq) >= 0)
			return r;
	}
	if (n == 0 && rec_op(&ev->rec) == REC_FREE) {
		touch(w, &b);
		b.size = 0;
		return w->step(w, EXPORT_FREE, &b);
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		b.addr = row[i].addr;
		b.size = row[i].size;
		r = w->step(w, EXPORT_FREE, &b);
	}
	return r;
}

/* If the free could not be left out, its block is allocated once more. */
static int
take_undo(struct walk *w, const struct capture_event *ev)
{
	struct captured *x = w->x;
	const struct last_free *last = hashmap_get(&w->by_realloc,
	    rec_thread(&ev->rec));

	if (last == NULL)
		return 0;
	if (w->first && (last->row.flags == 0 || hashmap_find(&w->untouched,
	    place_of(&last->row)) >= 0))
		return hashmap_put(&x->undone, last->seq, NULL) < 0 ? -ENOMEM :
		    0;
	return last->row.flags == 0 || hashmap_find(&x->undone, last->seq) >=
	    0 ? 0 : w->step(w, EXPORT_ALLOC, &last->row);
}

static int
take_record(struct walk *w, const struct capture_event *ev)
{
	const struct capture_totals *t = capture_list_totals(w->list);
	uint64_t failed = t->failed, unknown = t->unknown_undo;
	struct blk b = block_of(w, ev);
	int r = capture_list_apply(w->list, ev);

	if (r < 0)
		return r;
	switch (rec_op(&ev->rec)) {
	case REC_ALLOC:
		if (t->failed != failed)
			return 0;
		touch(w, &b);
		return w->step(w, EXPORT_ALLOC, &b);
	case REC_FREE:
	case REC_RANGE:
		return take_frees(w, ev);
	case REC_UNDO:
		return t->unknown_undo != unknown ? 0 : take_undo(w, ev);
	default:
		return 0;
	}
}

static int
take_gap(struct walk *w, const struct capture_event *ev)
{
	if (ev->rec.w[0] == 0)
		w->known = false;
	return w->step(w, EXPORT_LOST, &(struct blk){ .ms = ev->ms,
	    .size = ev->rec.w[1] });
}

static int
take_event(struct walk *w, const struct capture_event *ev)
{
	const uint64_t to = w->x->o.to;

	w->over = ev->what == CAPTURE_STATE ? ev->seq > to : ev->seq >= to;
	if (w->over)
		return 0;
	switch (ev->what) {
	case CAPTURE_STATE:
		return take_state(w, ev);
	case CAPTURE_GAP:
		return take_gap(w, ev);
	default:
		return take_record(w, ev);
	}
}

static int
read_all(struct walk *w)
{
	const struct captured_opts *o = &w->x->o;
	size_t n = 1;
	int r = capture_list_new(&w->list, w->x->part.part.options);

	capture_rewind_part(o->c, o->part);
	while (r == 0 && n > 0 && !w->over) {
		r = capture_next(o->c, w->event, BATCH, &n);
		for (size_t i = 0; r == 0 && i < n && !w->over; i++)
			r = take_event(w, &w->event[i]);
	}
	/* The list of the moment is what counts. */
	return r == 0 ? reconcile(w, o->row, o->rows, o->ms) : r;
}

static int
walk(struct captured *x, bool first,
    int (*step)(struct walk *, enum export_kind, const struct blk *),
    int (*take)(void *, const struct export_event *), void *arg)
{
	struct walk *w = calloc(1, sizeof *w);
	int r;

	if (w == NULL)
		return -ENOMEM;
	w->x = x;
	w->first = first;
	w->step = step;
	w->by_realloc.size = sizeof(struct last_free);
	w->untouched.size = sizeof(uint64_t);
	w->take = take;
	w->arg = arg;
	r = read_all(w);
	capture_list_free(w->list);
	hashmap_fini(&w->by_realloc);
	hashmap_fini(&w->untouched);
	free(w);
	return r;
}

static struct export_caller *
put_caller(struct captured *x, const struct blk *b)
{
	bool added;
	int64_t at = hashmap_put(&x->callers, b->caller, &added);

	return at < 0 || (added && profile_add(x->profile, b->caller, b->size,
	    b->ms) < 0) ? NULL : hashmap_item(&x->callers, (size_t)at);
}

static int
sum_step(struct walk *w, enum export_kind kind, const struct blk *b)
{
	struct export_caller *of;

	if (kind == EXPORT_LOST)
		w->x->lost += b->size;
	if (kind == EXPORT_LOST || (kind == EXPORT_FREE && !w->x->o.frees))
		return 0;
	of = put_caller(w->x, b);
	if (of == NULL)
		return -ENOMEM;
	if (kind == EXPORT_ALLOC && !w->lists) {
		of->sums.all_blocks++;
		of->sums.all_bytes += b->size;
	}
	return 0;
}

static int
sum_live(struct captured *x)
{
	for (size_t i = 0; i < x->o.rows; i++) {
		struct export_caller *of = put_caller(x, &x->o.row[i]);

		if (of == NULL)
			return -ENOMEM;
		of->sums.live_blocks++;
		of->sums.live_bytes += x->o.row[i].size;
	}
	return 0;
}

static int64_t
wall_ms(const struct captured *x, int64_t ms)
{
	return capture_wall_ns(x->o.c, ms) / NS_PER_MS;
}

static int
event_step(struct walk *w, enum export_kind kind, const struct blk *b)
{
	const struct captured *x = w->x;
	const struct export_caller *of = hashmap_get(&x->callers, b->caller);
	struct export_event e = { .kind = kind, .layer = blk_layer(b),
		.wall_ms = wall_ms(x, b->ms), .address = b->addr,
		.size = b->size, .stack = of != NULL ? of->stack : EXPORT_NONE,
		.thread = b->thread, .type = b->type };
	const char *name;

	(void)capture_thread(x->o.c, x->o.part, b->thread, &e.tid, &name);
	return w->take(w->arg, &e);
}

static int
captured_events(const struct export_source *s,
    int (*take)(void *, const struct export_event *), void *arg)
{
	return walk(s->of, false, event_step, take, arg);
}

/* A file that lay at several places has none. */
static void
place_module(struct export_module *to, const struct stream_module *m)
{
	bool other = to->end != 0 && to->start != m->start;

	to->start = other ? 0 : m->start;
	to->end = other ? 0 : m->end;
	to->build_id_len = m->build_id_len;
	memcpy(to->build_id, m->build_id, m->build_id_len);
}

static int
place_modules(struct export_source *s, void *arg)
{
	const struct captured *x = arg;
	struct intern paths = { 0 };
	struct stream_module m;
	int64_t no = 0;

	for (size_t i = 0; i < s->modules && no >= 0; i++)
		no = intern_put(&paths, s->module[i].path,
		    strlen(s->module[i].path));
	for (unsigned i = 1; no >= 0 && i <= capture_modules(x->o.c,
	    x->o.part); i++) {
		if (!capture_module(x->o.c, x->o.part, i, &m))
			continue;
		if (m.path[0] == '\0')
			m.path = x->part.part.exe;
		no = intern_put(&paths, m.path, strlen(m.path));
		if (no < 0 || (size_t)no >= s->modules)
			continue;
		place_module(&s->module[no], &m);
		if (strcmp(m.path, x->part.part.exe) == 0)
			s->program = (uint32_t)no;
	}
	intern_fini(&paths);
	return no < 0 ? -ENOMEM : 0;
}

static void
make_note(const struct captured *x, char note[NOTE_BYTES])
{
	size_t len = 0;

	note[0] = '\0';
	if (x->inherited > 0)
		base_append(note, NOTE_BYTES, &len, "%s blocks are older than "
		    "the capture; ", base_digits(x->inherited).text);
	if (x->lost > 0)
		base_append(note, NOTE_BYTES, &len, "INCOMPLETE: %s events are "
		    "lost; ", base_digits(x->lost).text);
	else if (x->o.unknown)
		base_append(note, NOTE_BYTES, &len, "INCOMPLETE: events are "
		    "missing at this moment; ");
	if (x->part.part.sample != 0)
		base_append(note, NOTE_BYTES, &len, "sampled: only logged "
		    "blocks are in it; ");
	if (len >= 2)
		note[len - 2] = '\0';
}

static int
make_source(struct captured *x)
{
	char note[NOTE_BYTES];
	int r;

	make_note(x, note);
	r = export_of_callers(&x->s, &(struct export_callers){
	    .profile = x->profile, .callers = &x->callers,
	    .target = x->o.target, .note = note, .place = place_modules,
	    .arg = x });
	if (r < 0)
		return r;
	x->s->counts_all = true;
	x->s->sample = x->part.part.sample;
	x->s->wall_ms = wall_ms(x, x->o.ms);
	x->s->events = captured_events;
	x->s->of = x;
	x->s->has_frees = true;
	return 0;
}

int
captured_new(struct captured **out, const struct captured_opts *o)
{
	struct captured *x = calloc(1, sizeof *x);
	int r;

	if (x == NULL)
		return -ENOMEM;
	x->o = *o;
	x->callers.size = sizeof(struct export_caller);
	x->undone.size = sizeof(uint64_t);
	(void)capture_part(o->c, o->part, &x->part);
	r = profile_new(&x->profile);
	if (r == 0)
		r = walk(x, true, sum_step, NULL, NULL);
	if (r == 0)
		r = sum_live(x);
	if (r == 0) {
		profile_set_wrappers(x->profile, o->wrappers);
		r = capture_names_resolve(o->names, x->profile);
	}
	if (r == 0)
		r = make_source(x);
	if (r < 0) {
		captured_free(x);
		return r;
	}
	*out = x;
	return 0;
}

const struct export_source *
captured_source(const struct captured *x)
{
	return x->s;
}

uint64_t
captured_lost(const struct captured *x)
{
	return x->lost;
}

void
captured_free(struct captured *x)
{
	if (x == NULL)
		return;
	export_free(x->s);
	profile_free(x->profile);
	hashmap_fini(&x->callers);
	hashmap_fini(&x->undone);
	free(x);
}

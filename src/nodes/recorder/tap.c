#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../host/proc.h"
#include "../keeper/node.h"
#include "recorder.h"

#define COPY_BLOCKS 1024
#define NAMES_A_SECOND 16	/* of all threads of a recording, by three system calls each */
#define HOLD_MS 500		/* targets wait no longer for a writer without progress */
#define STATE_EVERY_MS 5000	/* a list is copied again at most so often */

/* A family of images shares a store of stacks, which is told once. */
struct tap_store {
	TAILQ_ENTRY(tap_store) link;
	const struct stream_sites *sites;
	uint32_t part;			/* its definitions are of this part */
	unsigned users;			/* taps that live */
	uint32_t told;			/* sites up to this number */
	unsigned modules;		/* modules likewise */
};

struct tap {
	struct keeper_tap tap;		/* first: a keeper knows this */
	TAILQ_ENTRY(tap) link;
	struct recording *recording;
	struct keeper *keeper;		/* NULL: the image has ended */
	pid_t pid;
	uint64_t start;			/* of the process, as the keeper has it */
	uint64_t stream;
	uint32_t part;
	struct tap_store *store;	/* NULL: no stacks */
	unsigned named;			/* the thread whose name was read last */
	uint64_t naming;		/* recording.namings after that */
	int64_t state_ms;		/* the list was copied last */
};

static struct tap_store *
use_store(struct recording *r, const struct stream_sites *sites, uint32_t part)
{
	struct tap_store *s;

	if (sites == NULL)
		return NULL;
	TAILQ_FOREACH(s, &r->stores, link)
		if (s->sites == sites && s->part == part) {
			s->users++;
			return s;
		}
	s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	*s = (struct tap_store){ .sites = sites, .part = part, .users = 1 };
	TAILQ_INSERT_HEAD(&r->stores, s, link);
	return s;
}

static void
leave_store(struct tap *t)
{
	struct tap_store *s = t->store;

	t->store = NULL;
	if (s == NULL || --s->users > 0)
		return;
	TAILQ_REMOVE(&t->recording->stores, s, link);
	free(s);
}

/* Stacks that have come since the last call. */
static void
tell_sites(struct tap *t)
{
	struct tap_store *s = t->store;
	uint32_t n = s != NULL ? stream_sites_count(s->sites) : 0;
	struct stream_site site;

	while (s != NULL && s->told < n)
		if (stream_sites_get(s->sites, ++s->told, &site))
			capture_writer_site(t->recording->writer, s->part,
			    s->told, &site);
}

/* The new modules, up to that number: their full paths are found after a pass. */
static void
tell_modules(struct tap *t, unsigned upto)
{
	struct tap_store *s = t->store;
	struct stream_module m;

	while (s != NULL && s->modules < upto)
		if (stream_sites_get_module(s->sites, ++s->modules, &m))
			capture_writer_module(t->recording->writer, s->part,
			    s->modules, &m);
}

static void
tell_thread(struct tap *t, unsigned index)
{
	struct keeper *k = t->keeper;
	char name[64];
	uint32_t tid = index < k->threads.n ? k->threads.at[index].tid : 0;

	keeper_thread_name(k, index, name, sizeof name);
	capture_writer_thread(t->recording->writer, t->part, index, tid, name);
}

static void
tell_threads(struct tap *t)
{
	const struct keeper_threads *a = &t->keeper->threads;

	for (unsigned i = 1; i < a->n; i++)
		if (a->at[i].tid != 0)
			tell_thread(t, i);
	for (unsigned i = 0; i < a->ninherited; i++)
		tell_thread(t, KEEPER_THREADS_MAX - i);
}

static void
tell_type(struct tap *t, unsigned code)
{
	const struct stream_types *types = t->keeper->declared.types;

	if (types != NULL && types->by_code[code].name[0] != '\0')
		capture_writer_type(t->recording->writer, t->part,
		    &types->by_code[code]);
}

/* The requesters of these blocks, each once. */
static void
tell_requesters(struct tap *t, const struct blk *blk, size_t n, uint64_t *told)
{
	const struct blklist_info *info;

	for (size_t i = 0; i < n; i++) {
		unsigned no = blk[i].info;

		if (no == 0 || (told[no / 64] >> no % 64 & 1) != 0)
			continue;
		told[no / 64] |= UINT64_C(1) << no % 64;
		info = blklist_info_get(t->keeper->list, blk[i].info);
		if (info != NULL)
			capture_writer_requester(t->recording->writer, t->part,
			    blk[i].info, info);
	}
}

/* The list as it is, before the next record. */
static void
tell_list(struct tap *t)
{
	static struct blk blk[COPY_BLOCKS];
	static uint64_t told[(UINT16_MAX + 1) / 64];
	struct keeper *k = t->keeper;
	bool from_start = true;
	unsigned layer = 0;
	uint64_t addr = 0;
	int err = 0;
	size_t n;

	memset(told, 0, sizeof told);
	do {
		n = blklist_after(k->list, from_start, layer, addr, blk,
		    COPY_BLOCKS);
		tell_requesters(t, blk, n, told);
		if (n > 0) {
			err = capture_writer_blocks(t->recording->writer,
			    t->part, blk, n);
			addr = blk[n - 1].addr;
			layer = blk_layer(&blk[n - 1]);
		}
		from_start = false;
		visits_beat(k->node);
	} while (n == COPY_BLOCKS && err == 0);
	t->state_ms = mono_ms(mono_now());
	/* Without it the part's list is incomplete, and asked for again. */
	if (err == 0)
		(void)capture_writer_state(t->recording->writer, t->part,
		    keeper_next(k), keeper_now_ms(k), NULL);
}

static void
tell_clock(struct recording *r, int64_t ms)
{
	capture_writer_clock(r->writer, ms, base_wall_ns());
}

static const struct tap *
find_stream(const struct recording *r, uint64_t stream)
{
	const struct tap *t;

	TAILQ_FOREACH(t, &r->taps, link)
		if (t->stream == stream)
			return t;
	return NULL;
}

/* The last image of that process; start 0: one that lives. */
static const struct tap *
find_process(const struct recording *r, pid_t pid, uint64_t start)
{
	const struct tap *t;

	TAILQ_FOREACH(t, &r->taps, link)
		if (t->pid == pid && pid != 0 &&
		    (start != 0 ? t->start == start : t->keeper != NULL))
			return t;
	return NULL;
}

/* The origin: its parent by fork, its process before exec, or its starter. */
static const struct tap *
find_origin(const struct recording *r, const struct keeper *k)
{
	const struct tap *t = NULL;

	if (k->image.origin == IMAGE_FORKED)
		t = find_stream(r, k->image.parent);
	if (t == NULL)
		t = find_process(r, k->image.pid, k->image.start);
	if (t == NULL)
		t = find_process(r, k->image.starter != 0 ? k->image.starter :
		    k->image.ppid, 0);
	return t;
}

bool
tap_has_origin(const struct recording *r, const struct keeper *k)
{
	return find_origin(r, k) != NULL;
}

/* The part whose definitions the family's are. */
static uint32_t
store_of(const struct recording *r, const struct stream_sites *sites)
{
	const struct tap_store *s;

	TAILQ_FOREACH(s, &r->stores, link)
		if (s->sites == sites)
			return s->part;
	return 0;
}

/*
 * Begins the part of the tap, whose keeper has a list; TAP_GOES_ON: the one that it had.
 */
static int
begin_part(struct tap *t, enum capture_began began)
{
	struct recording *r = t->recording;
	struct keeper *k = t->keeper;
	const struct node_opts *o = &k->node->opts;
	const struct tap *origin = find_origin(r, k);
	uint32_t store;
	struct capture_part p = {
		.stream = k->index != KEEPER_NO_ROW ?
		    k->node->dstrm.row[k->index].name : "",
		.comm = k->image.comm,
		.exe = k->process.exe != NULL ? k->process.exe : "",
		.cwd = k->process.cwd != NULL ? k->process.cwd : "",
		.pid = k->image.pid,
		.ppid = k->image.starter != 0 ? k->image.starter :
		    k->image.ppid,
		.uid = k->image.uid,
		.start_ns = k->image.start != 0 ?
		    proc_start_ms(k->image.start) * 1000000 : 0,
		.parent = origin != NULL && origin != t ? origin->part : 0,
		.began = began,
		.options = (o->stack > 0 ? CAPTURE_STACKS : 0) |
		    (o->stack > 0 && o->free_stacks ? CAPTURE_FREE_STACKS : 0) |
		    (k->format.classic ? CAPTURE_CLASSIC : 0),
		.sample = k->format.sample,
		.first = keeper_next(k),
		.ms = keeper_now_ms(k),
		.wall_ns = base_wall_ns(),
	};
	int err;

	leave_store(t);
	store = p.store = store_of(r, k->sites);
	err = began == TAP_GOES_ON ?
	    capture_writer_resume(r->writer, &p, &t->part, &store) :
	    capture_writer_part(r->writer, &p, &t->part);
	if (err < 0)
		return err;
	t->store = use_store(r, k->sites, store != 0 ? store : t->part);
	for (unsigned code = 0; code < 256; code++)
		tell_type(t, code);
	tell_threads(t);
	tell_sites(t);
	tell_modules(t, k->modules.named);
	tell_list(t);
	return 0;
}

static void
end_part(struct tap *t, const char *why)
{
	struct keeper *k = t->keeper;

	tell_sites(t);
	if (t->store != NULL)
		tell_modules(t, stream_sites_modules(t->store->sites));
	capture_writer_end_part(t->recording->writer, t->part,
	    keeper_now_ms(k), k->life.status, why);
}

/* Keeps the newest ended images, whose children may still come. */
static void
drop_oldest_ended(struct recording *r)
{
	struct tap *t;

	if (++r->ended <= RECORDER_ENDED_TAPS)
		return;
	TAILQ_FOREACH_REVERSE(t, &r->taps, tap_list, link)
		if (t->keeper == NULL)
			break;
	TAILQ_REMOVE(&r->taps, t, link);
	free(t);
	r->ended--;
}

/* For an image that has ended or is no longer recorded.  May free the tap. */
static void
forget_keeper(struct tap *t)
{
	struct recording *r = t->recording;

	leave_store(t);
	t->keeper = NULL;
	if (--r->live == 0)
		r->alone_ms = mono_ms(mono_now());
	drop_oldest_ended(r);
}

/* A viewer that may only read a target must not slow it down. */
static bool
may_slow(const struct recording *r, const struct keeper *k)
{
	const struct node *node = k->node;

	return !node->opts.no_wait && (r->viewer == 0 ||
	    access_controls(&node->access, &r->peer, k->image.uid));
}

/* Holds targets back while the writer's buffer fills, unless it waits for its disk. */
static bool
tap_holds(struct keeper_tap *tap, struct keeper *k)
{
	struct recording *r = ((struct tap *)tap)->recording;
	struct capture_progress now;

	capture_writer_look(r->writer, &now);
	return now.filling && now.stopped == 0 && now.disk_ms < HOLD_MS &&
	    may_slow(r, k);
}

static void
tap_records(struct keeper_tap *tap, struct keeper *k,
    const struct blklist_batch *b)
{
	struct tap *t = (struct tap *)tap;

	tell_sites(t);
	tell_modules(t, k->modules.named);
	/* Without room the writer counts a gap. */
	(void)capture_writer_records(t->recording->writer, t->part, b);
}

static void
tap_control(struct keeper_tap *tap, struct keeper *k, const struct rec *rec)
{
	struct tap *t = (struct tap *)tap;

	(void)k;
	switch (rec_type(rec)) {
	case REC_CTL_THREAD:
		tell_thread(t, rec_thread(rec));
		break;
	case REC_CTL_TYPE:
	case REC_CTL_TYPE_TEXT:
		tell_type(t, rec_size(rec) & 0xff);
		break;
	default:
		break;
	}
}

static void
tap_lost(struct keeper_tap *tap, struct keeper *k, uint64_t seq,
    unsigned cause, uint64_t count)
{
	struct tap *t = (struct tap *)tap;

	(void)k;
	t->recording->lost += count;
	capture_writer_lost(t->recording->writer, t->part, seq, cause, count);
}

static void
tap_mark(struct keeper_tap *tap, struct keeper *k,
    const struct wire_named_mark *m)
{
	struct tap *t = (struct tap *)tap;

	capture_writer_mark(t->recording->writer, t->part, keeper_next(k),
	    m->ms, m->name);
}

static void
tap_restarted(struct keeper_tap *tap, struct keeper *k)
{
	struct tap *t = (struct tap *)tap;

	end_part(t, "its list begins again");
	if (begin_part(t, CAPTURE_JOINED) == 0)
		return;
	SLIST_REMOVE(&k->queue.taps, tap, keeper_tap, link);
	keeper_settle_pairs(k);
	forget_keeper(t);
}

static void
tap_ended(struct keeper_tap *tap, struct keeper *k)
{
	struct tap *t = (struct tap *)tap;

	tell_clock(t->recording, keeper_now_ms(k));
	end_part(t, k->life.state == WIRE_S_EXECED ? "exec" :
	    k->life.reason[0] != '\0' ? k->life.reason : "ended");
	forget_keeper(t);
}

static const struct keeper_tap_ops tap_ops = {
	.holds = tap_holds,
	.records = tap_records,
	.control = tap_control,
	.lost = tap_lost,
	.mark = tap_mark,
	.restarted = tap_restarted,
	.ended = tap_ended,
};

int
tap_begin(struct recording *r, struct keeper *k, enum capture_began began)
{
	struct tap *t = calloc(1, sizeof *t);
	int err;

	if (t == NULL)
		return -ENOMEM;
	*t = (struct tap){ .tap.ops = &tap_ops, .recording = r, .keeper = k,
		.pid = k->image.pid, .start = k->image.start,
		.stream = k->stream };
	tell_clock(r, keeper_now_ms(k));
	err = begin_part(t, began);
	if (err < 0) {
		free(t);
		return err;
	}
	TAILQ_INSERT_HEAD(&r->taps, t, link);
	SLIST_INSERT_HEAD(&k->queue.taps, &t->tap, link);
	keeper_settle_pairs(k);
	r->images += began != TAP_GOES_ON;
	r->live++;
	r->alone_ms = 0;
	return 0;
}

bool
tap_is_of(const struct recording *r, const struct keeper *k)
{
	const struct tap *t;

	TAILQ_FOREACH(t, &r->taps, link)
		if (t->keeper == k)
			return true;
	return false;
}

void
tap_go_on(struct recording *r, struct keeper *k)
{
	int err;

	if (k->list == NULL || tap_is_of(r, k))
		return;
	err = tap_begin(r, k, TAP_GOES_ON);
	/* Later events of the file may come again. */
	if (err == -ENOENT && (r->viewer == 0 || tap_has_origin(r, k)))
		err = tap_begin(r, k, CAPTURE_JOINED);
	if (err < 0 && err != -ENOENT)
		r->lost++;
}

static bool
has_list(const struct tap *t)
{
	return t->keeper != NULL && t->keeper->list != NULL;
}

/* The tap whose names have waited longest; NULL: all were read since `since`. */
static struct tap *
next_to_name(const struct recording *r, uint64_t since)
{
	struct tap *t, *next = NULL;

	TAILQ_FOREACH(t, &r->taps, link)
		if (has_list(t) && t->naming <= since &&
		    (next == NULL || t->naming <= next->naming))
			next = t;
	return next;
}

/* Some names of threads, the taps in turns. */
static void
tell_names(struct recording *r)
{
	uint64_t since = r->namings;
	unsigned names = 0;
	struct tap *t;

	while (names < NAMES_A_SECOND &&
	    (t = next_to_name(r, since)) != NULL) {
		const struct keeper_threads *a = &t->keeper->threads;

		t->naming = ++r->namings;
		for (unsigned i = 1; i < a->n && names < NAMES_A_SECOND;
		    i++, names++) {
			t->named = t->named + 1 < a->n ? t->named + 1 : 1;
			if (a->at[t->named].tid != 0)
				tell_thread(t, t->named);
		}
	}
}

void
tap_second(struct recording *r)
{
	int64_t now = mono_ms(mono_now());
	struct tap *t;

	if (r->live > 0)
		tell_clock(r, now);
	tell_names(r);
	TAILQ_FOREACH(t, &r->taps, link) {
		if (!has_list(t))
			continue;
		if (now - t->state_ms >= STATE_EVERY_MS &&
		    capture_writer_wants_state(r->writer, t->part))
			tell_list(t);
	}
}

void
tap_end_all(struct recording *r, const char *why)
{
	struct tap *t;

	while ((t = TAILQ_FIRST(&r->taps)) != NULL) {
		TAILQ_REMOVE(&r->taps, t, link);
		if (t->keeper != NULL) {
			SLIST_REMOVE(&t->keeper->queue.taps, &t->tap, keeper_tap,
			    link);
			keeper_settle_pairs(t->keeper);
			end_part(t, why);
			leave_store(t);
		}
		free(t);
	}
	r->live = r->ended = 0;
}

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../base/base.h"
#include "../../refcnt/guard/guard.h"
#include "../../refcnt/hint/hint.h"
#include "../../refcnt/refs.h"
#include "../../refcnt/writes.h"
#include "../../stream/feed/feed.h"
#include "worker.h"

#define CUT_MS 600	/* that a target has for a request to cut its mappings */
#define CUT_LOOK_MS 5
#define LOOK_MS 100	/* between reads of a source with a small buffer */
#define SHARE 10	/* at most this part of the time is spent with reading */

struct work {
	struct counted_target *t;
	struct refs *refs;		/* NULL: not open */
	struct writes *writes;		/* the same */
	struct guard *guard;		/* the same */
	struct hints *hints;		/* the same */
	struct balancing *balancing;	/* open while `hints` is */
	uint64_t lost;			/* samples of hints lost before this period */
	struct placement *placement;	/* NULL: places are not known */
	struct refcnt_table *table;	/* NULL: not made yet */
	int64_t begun_ms;		/* the period */
	bool goes_on;			/* the target has not answered: the period lasts longer */
	bool fresh;			/* some pages are counted for a part of it only */
	bool ends;			/* the last cuts are undone */
	unsigned counting;		/* sources that have begun a period: bits 1 << source */
	unsigned waiting;		/* ... that wait for the target's next allocation */
	char why[NODE_REFCNT_WHY];		/* ... and why others have not */
};

static void
set_why(struct counted_target *t, const char *text)
{
	pthread_mutex_lock(&t->lock);
	if (!t->ended)
		snprintf(t->why, sizeof t->why, "%s", text);
	pthread_mutex_unlock(&t->lock);
}

static void
explain(struct work *w, int err)
{
	snprintf(w->why, sizeof w->why, err == -EACCES || err == -EPERM ?
	    "the node may not read the target's page tables (%s): its user or "
	    "root may" : "the target's page tables cannot be read: %s",
	    strerror(-err));
}

static void
sleep_ms(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

static int
post_cuts(const struct work *w, const struct ring_cut *cut, size_t n)
{
	struct counted_target *t = w->t;
	int err = -ESRCH;

	pthread_mutex_lock(&t->lock);
	if (!t->wanted && !w->ends)
		err = -ECANCELED;
	else if (t->feed != NULL)
		err = stream_feed_cut(t->feed, cut, n);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* 1 done, 0 not yet. */
static int
are_cut(struct counted_target *t)
{
	int done = -ESRCH;

	pthread_mutex_lock(&t->lock);
	if (t->feed != NULL)
		done = stream_feed_cut_done(t->feed);
	pthread_mutex_unlock(&t->lock);
	return done;
}

/*
 * The target cuts its own mappings, the next time that it looks.  An epoch may take many
 * requests, so none is made when nobody waits for it any more.
 */
static int
cut(void *arg, const struct ring_cut *cuts, size_t n)
{
	struct work *w = arg;
	struct counted_target *t = w->t;
	struct mono begun = mono_now();
	int r = post_cuts(w, cuts, n);

	if (r < 0)
		return r;
	while ((r = are_cut(t)) == 0 && mono_ms_since(begun) < CUT_MS)
		sleep_ms(CUT_LOOK_MS);
	t->waited_ms += mono_ms_since(begun);
	return r < 0 ? r : r == 0 ? -ETIMEDOUT : 0;
}

struct touch {
	uint64_t vaddr;
	unsigned node;
	uint64_t reads, writes;
	bool coarse;
	bool fresh;	/* it may be from before the page was counted */
};

static void
count_touch(struct work *w, const struct touch *touch)
{
	struct refcnt_page page;
	int64_t now_ms = mono_ms(mono_now());
	bool frames = w->placement != NULL && placement_has_frames(w->placement);

	if ((touch->fresh || frames) &&
	    !refcnt_page(w->t->counts, touch->vaddr, REFCNT_WIDE, &page))
		return;
	if (touch->fresh && page.since_ms >= w->begun_ms)
		return;
	if (!refcnt_count(w->t->counts, touch->vaddr, touch->node, touch->reads,
	    touch->writes, now_ms))
		return;
	if (frames)
		frames_count(w->t->frames, &page, touch->node, touch->reads +
		    touch->writes, touch->coarse, now_ms);
	if (touch->coarse)
		refcnt_coarse(w->t->counts, touch->vaddr);
}

static void
count_epoch(void *arg, uint64_t vaddr, bool coarse)
{
	struct work *w = arg;

	count_touch(w, &(struct touch){ .vaddr = vaddr, .reads = 1,
	    .coarse = coarse, .fresh = w->fresh });
}

static void
count_write(void *arg, uint64_t vaddr, bool coarse)
{
	struct work *w = arg;

	count_touch(w, &(struct touch){ .vaddr = vaddr, .writes = 1,
	    .coarse = coarse, .fresh = w->fresh });
}

static void
count_sample(void *arg, uint64_t vaddr, unsigned node, bool coarse)
{
	struct work *w = arg;

	count_touch(w, &(struct touch){ .vaddr = vaddr, .node = node, .reads = 1,
	    .coarse = coarse, .fresh = w->fresh });
}

static void
count_touches(void *arg, uint64_t vaddr, unsigned node, uint64_t reads,
    uint64_t writes)
{
	count_touch(arg, &(struct touch){ .vaddr = vaddr, .node = node,
	    .reads = reads, .writes = writes });
}

static int
begin_refs(struct work *w)
{
	int err = 0;

	if (w->refs == NULL)
		err = refs_open(&w->refs, w->t->pid, cut, w);
	if (err == 0)
		err = refs_begin(w->refs);
	if (err < 0)
		explain(w, err);
	return err;
}

static int
end_refs(struct work *w)
{
	int err = refs_end(w->refs, w->t->counts, count_epoch, w);

	if (err < 0 && err != -EAGAIN)
		explain(w, err);
	return err;
}

static void
close_refs(struct work *w)
{
	refs_close(w->refs);
	w->refs = NULL;
}

/* Takes the target's answer: a descriptor or a negative errno; 0: none so far. */
static int
take_given(struct counted_target *t, enum node_refcnt_given what, bool awaits)
{
	int got;

	pthread_mutex_lock(&t->lock);
	got = t->given[what];
	t->given[what] = 0;
	t->awaits[what] = awaits && got == 0;
	pthread_mutex_unlock(&t->lock);
	return got;
}

/* It sends it before it answers.  Each call lets the request go on to wait. */
static int
ask_for(struct work *w, enum node_refcnt_given what)
{
	const struct ring_cut ask = { 0, 0, what == NODE_REFCNT_GUARD ?
		RING_CUT_GUARD : RING_CUT_WRITES };
	struct mono begun;
	int got = take_given(w->t, what, true), err;

	if (got != 0)
		return got;
	err = cut(w, &ask, 1);
	begun = mono_now();
	while ((got = take_given(w->t, what, true)) == 0 && err == 0 &&
	    mono_ms_since(begun) < CUT_MS)
		sleep_ms(CUT_LOOK_MS);
	return got != 0 ? got : err != 0 ? err : -EAGAIN;
}

/* The target has not answered yet. */
static bool
must_wait(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -ETIMEDOUT;
}

static int
open_writes(struct work *w)
{
	int fd = ask_for(w, NODE_REFCNT_WRITES), err = fd;

	if (fd > 0)
		err = writes_open(&w->writes, w->t->pid, fd);
	if (must_wait(err))
		snprintf(w->why, sizeof w->why, "writes are not counted yet: the "
		    "node waits for the program's next call of the allocator, "
		    "which makes a userfaultfd(2)");
	else if (err < 0 && fd < 0 && err != -ESRCH && err != -ECANCELED)
		snprintf(w->why, sizeof w->why, "writes are not counted: the target "
		    "gets no userfaultfd(2): %s", strerror(-err));
	else if (err < 0)
		explain(w, err);
	return err;
}

static int
begin_writes(struct work *w)
{
	int err = w->writes == NULL ? open_writes(w) : 0;

	if (err < 0)
		return err;
	err = writes_begin(w->writes, w->t->counts);
	if (err < 0)
		explain(w, err);
	else if (writes_left_out(w->writes) > 0)
		snprintf(w->why, sizeof w->why, "writes to %s pages are not counted: "
		    "the kernel does not protect their mapping, or the program has "
		    "a userfaultfd(2) there",
		    base_digits(writes_left_out(w->writes)).text);
	return err;
}

static int
end_writes(struct work *w)
{
	int err = writes_end(w->writes, count_write, w);

	if (err < 0)
		explain(w, err);
	return err;
}

static void
close_writes(struct work *w)
{
	writes_close(w->writes);
	w->writes = NULL;
}

static void
close_hints(struct work *w)
{
	hints_close(w->hints);
	balancing_end(w->balancing);
	w->hints = NULL;
	w->balancing = NULL;
	w->lost = 0;
}

static int
open_hints(struct work *w)
{
	char why[REFCNT_WHY] = "";
	const char *file;
	int err = hints_open(&w->hints, w->t->pid, w->t->topology);

	if (err < 0) {
		snprintf(w->why, sizeof w->why, err == -EMFILE ?
		    "the target has more threads than the node can observe with "
		    "perf (%s)" : "perf cannot report the target's page faults: %s",
		    strerror(-err));
		return err;
	}
	err = node_refcnt_balancing_file(&file);
	if (err < 0)
		snprintf(why, sizeof why, "cannot save the settings of automatic "
		    "NUMA balancing in %s: %s", file, strerror(-err));
	else
		err = balancing_begin(&w->balancing, "/", file, why);
	snprintf(w->why, sizeof w->why, "%.*s", NODE_REFCNT_WHY - 1, why);
	if (err < 0)
		close_hints(w);
	return err;
}

static int
begin_hints(struct work *w)
{
	int err = w->hints == NULL ? open_hints(w) : 0;

	if (err < 0)
		return err;
	err = hints_begin(w->hints);
	if (err < 0)
		explain(w, err);
	else if (!balancing_is_on(w->balancing))
		snprintf(w->why, sizeof w->why, "there are no samples: somebody "
		    "has switched automatic NUMA balancing off "
		    "(kernel.numa_balancing)");
	return err;
}

static void
look_at_hints(struct work *w)
{
	/* end_hints() reports the error. */
	(void)hints_read(w->hints, count_sample, w);
}

static int
end_hints(struct work *w)
{
	int err = hints_read(w->hints, count_sample, w);
	uint64_t lost = hints_lost(w->hints);

	if (err < 0)
		explain(w, err);
	else if (lost > w->lost)
		snprintf(w->why, sizeof w->why, "%s samples of this period are "
		    "lost: the kernel's buffer was full",
		    base_digits(lost - w->lost).text);
	w->lost = lost;
	return err;
}

static void
close_guard(struct work *w)
{
	guard_close(w->guard);
	w->guard = NULL;
}

static int
open_guard(struct work *w)
{
	int fd = ask_for(w, NODE_REFCNT_GUARD), err = fd;

	if (fd > 0)
		err = guard_open(&w->guard, fd, w->t->topology);
	if (err == -EALREADY)
		snprintf(w->why, sizeof w->why, "a thread of the target has not left "
		    "its last guard: touches are counted when it makes a system "
		    "call");
	else if (must_wait(err))
		snprintf(w->why, sizeof w->why, "touches are not counted yet: the "
		    "node waits for the program's next call of the allocator, "
		    "which makes the guard");
	else if (err == -EOPNOTSUPP)
		snprintf(w->why, sizeof w->why, "a guard needs x86-64: use the source "
		    "refs");
	else if (err < 0 && fd < 0 && err != -ESRCH && err != -ECANCELED)
		snprintf(w->why, sizeof w->why, "the target cannot make a guard: %s",
		    strerror(-err));
	else if (err < 0)
		explain(w, err);
	return err;
}

/* Requests the guard again if it has ended for a temporary reason. */
static int
begin_guard(struct work *w)
{
	char why[REFCNT_WHY];
	bool again = true;
	int err;

	if (w->guard != NULL && !guard_explain(w->guard, why, &again) && again)
		close_guard(w);
	err = w->guard == NULL ? open_guard(w) : 0;
	if (err == 0)
		err = guard_begin(w->guard, w->t->counts);
	if (err == -ESTALE)
		close_guard(w);
	if (w->guard != NULL) {
		(void)guard_explain(w->guard, why, &again);
		snprintf(w->why, sizeof w->why, "%.*s", NODE_REFCNT_WHY - 1, why);
	}
	return err == -E2BIG ? 0 : err;
}

static void
look_at_guard(struct work *w)
{
	guard_beat(w->guard);
}

static int
end_guard(struct work *w)
{
	guard_end(w->guard, count_touches, w);
	return 0;
}

/* The first may ask for a longer period: -EAGAIN. */
static const struct counting {
	enum refcnt_source source, other;	/* counted in the same way */
	int (*begin)(struct work *);
	void (*look)(struct work *);	/* NULL; or each LOOK_MS meanwhile */
	int (*end)(struct work *);
	void (*close)(struct work *);	/* also what is not open */
	bool asks;			/* the target, which may answer much later */
} counting[] = {
	{ REFCNT_REFS, REFCNT_REFS, begin_refs, NULL, end_refs, close_refs, false },
	{ REFCNT_WP, REFCNT_WP, begin_writes, NULL, end_writes, close_writes, true },
	{ REFCNT_GUARD, REFCNT_EXACT, begin_guard, look_at_guard, end_guard,
	    close_guard, true },
	{ REFCNT_HINT, REFCNT_HINT, begin_hints, look_at_hints, end_hints, close_hints,
	    false },
};

static unsigned
bit_of(const struct counting *c)
{
	return 1u << c->source;
}

static void
begin_source(struct work *w, const struct counting *c)
{
	int err = c->begin(w);

	w->waiting &= ~bit_of(c);
	if (err == 0)
		w->counting |= bit_of(c);
	else if (c->asks && must_wait(err))
		w->waiting |= bit_of(c);
}

static void
begin_period(struct work *w)
{
	struct counted_target *t = w->t;
	struct refcnt_sums sums;

	if (w->goes_on)
		return;
	refcnt_sums(t->counts, &sums);
	pthread_mutex_lock(&t->lock);
	t->fresh = false;
	w->begun_ms = mono_ms(mono_now());
	pthread_mutex_unlock(&t->lock);
	w->counting = w->waiting = 0;
	w->why[0] = '\0';
	for (size_t i = 0; i < BASE_NELEM(counting); i++) {
		const struct counting *c = &counting[i];

		if (!refcnt_has(t->counts, c->source) &&
		    !refcnt_has(t->counts, c->other))
			c->close(w);
		else
			begin_source(w, c);
	}
	if (w->why[0] != '\0')
		set_why(t, w->why);
	pthread_mutex_lock(&t->lock);
	t->periods = sums.periods;
	pthread_mutex_unlock(&t->lock);
}

/* For other programs to map; returns why not, in `why`, or "". */
static void
write_files(struct work *w, char why[NODE_REFCNT_WHY])
{
	struct counted_target *t = w->t;
	struct refcnt_table_options opts = { .topology = t->topology,
		.pid = t->pid, .started = t->started };
	char folder[NODE_REFCNT_FOLDER], text[REFCNT_WHY] = "";
	int err = 0;

	if (w->table == NULL) {
		err = node_refcnt_folder(folder);
		opts.folder = folder;
		if (err == 0)
			err = refcnt_table_new(&w->table, &opts);
	}
	if (err == 0)
		err = refcnt_table_write(w->table, t->counts, text);
	why[0] = '\0';
	if (err < 0)
		snprintf(why, NODE_REFCNT_WHY, "counts are not in the mapped files: "
		    "%.150s", text[0] != '\0' ? text : strerror(-err));
	else if (frames_are_full(t->frames))
		snprintf(why, NODE_REFCNT_WHY, "the machine's mapped files have no room "
		    "for further frames until all counting has ended");
	if (w->placement != NULL && placement_has_frames(w->placement))
		frames_write(t->frames, mono_ms(mono_now()));
}

static void
end_period(struct work *w)
{
	struct counted_target *t = w->t;
	char why[NODE_REFCNT_WHY];
	int err = 0;

	pthread_mutex_lock(&t->lock);
	w->fresh = t->fresh;
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < BASE_NELEM(counting) && err != -EAGAIN; i++) {
		if ((w->counting & bit_of(&counting[i])) == 0)
			continue;
		err = counting[i].end(w);
		if (err < 0 && err != -EAGAIN)
			w->counting &= ~bit_of(&counting[i]);
	}
	w->goes_on = err == -EAGAIN;
	if (w->goes_on)
		return;
	if (w->counting != 0) {
		refcnt_period(t->counts, mono_ms(mono_now()));
		write_files(w, why);
	}
	set_why(t, w->counting == 0 || w->why[0] != '\0' ? w->why : why);
}

static struct timespec
after_ms(int64_t ms)
{
	struct timespec due;

	clock_gettime(CLOCK_MONOTONIC, &due);
	due.tv_sec += ms / 1000;
	due.tv_nsec += ms % 1000 * 1000000;
	if (due.tv_nsec >= 1000000000) {
		due.tv_nsec -= 1000000000;
		due.tv_sec++;
	}
	return due;
}

/* True if a source that counts now has a look function, or one waits. */
static bool
wants_looks(const struct work *w)
{
	if (w->waiting != 0)
		return true;
	for (size_t i = 0; i < BASE_NELEM(counting); i++)
		if (counting[i].look != NULL && (w->counting & bit_of(&counting[i])))
			return true;
	return false;
}

/* A source whose target has answered begins at once. */
static void
look(struct work *w)
{
	for (size_t i = 0; i < BASE_NELEM(counting); i++) {
		const struct counting *c = &counting[i];

		if (c->look != NULL && (w->counting & bit_of(c)))
			c->look(w);
		if (!refcnt_has(w->t->counts, c->source))
			w->waiting &= ~bit_of(c);
		if ((w->waiting & bit_of(c)) == 0)
			continue;
		w->why[0] = '\0';
		begin_source(w, c);
		set_why(w->t, w->why);
	}
}

/*
 * Waits until the period ends; false: nothing is to be counted any more.  A longer one
 * that is asked for meanwhile begins with the next: its asker knows when that was.
 */
static bool
wait_period(struct work *w, struct mono begun, int64_t spent_ms)
{
	struct counted_target *t = w->t;
	bool wanted, looks = wants_looks(w);
	struct timespec due;
	int64_t ms;

	pthread_mutex_lock(&t->lock);
	for (int64_t most = t->period_ms;;) {
		ms = most < t->period_ms ? most : t->period_ms;
		ms = ms > SHARE * spent_ms ? ms : SHARE * spent_ms;
		t->lasts_ms = ms;
		ms -= mono_ms_since(begun);
		if (!t->wanted || ms <= 0)
			break;
		due = after_ms(looks && ms > LOOK_MS ? LOOK_MS : ms);
		(void)pthread_cond_timedwait(&t->wake, &t->lock, &due);
		if (!looks)
			continue;
		pthread_mutex_unlock(&t->lock);
		look(w);
		looks = wants_looks(w);
		pthread_mutex_lock(&t->lock);
	}
	wanted = t->wanted;
	pthread_mutex_unlock(&t->lock);
	return wanted;
}

static void
count(struct counted_target *t)
{
	struct work w = { .t = t };
	struct mono begun;
	int64_t spent = 0;

	(void)placement_new(&w.placement, t->pid, t->topology);
	/* Must precede begin(), after which a source may let the kernel move pages. */
	if (w.placement != NULL)
		placement_step(w.placement, t->counts);
	for (;;) {
		begun = mono_now();
		begin_period(&w);
		if (w.placement != NULL)
			placement_step(w.placement, t->counts);
		if (!wait_period(&w, begun, spent))
			break;
		begun = mono_now();
		t->waited_ms = 0;
		end_period(&w);
		spent = mono_ms_since(begun) - t->waited_ms;
	}
	w.ends = true;
	for (size_t i = 0; i < BASE_NELEM(counting); i++)
		counting[i].close(&w);
	placement_free(w.placement);
	refcnt_table_free(w.table);
}

static void *
worker_main(void *arg)
{
	struct counted_target *t = arg;
	bool again;

	(void)pthread_setname_np(pthread_self(), NODE_REFCNT_THREAD);
	do {
		count(t);
		/* A range may have come meanwhile. */
		pthread_mutex_lock(&t->lock);
		again = t->wanted;
		t->done = !again;
		pthread_mutex_unlock(&t->lock);
	} while (again);
	return NULL;
}

int
worker_start(struct counted_target *t)
{
	sigset_t all, old;
	bool runs;
	int err;

	pthread_mutex_lock(&t->lock);
	runs = t->has_thread && !t->done;
	t->wanted = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	if (runs)
		return 0;
	worker_join(t);
	t->done = false;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&t->thread, NULL, worker_main, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	t->has_thread = err == 0;
	return -err;
}

void
worker_stop(struct counted_target *t)
{
	pthread_mutex_lock(&t->lock);
	t->wanted = false;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

bool
worker_has_ended(struct counted_target *t)
{
	bool done;

	pthread_mutex_lock(&t->lock);
	done = t->done || !t->has_thread;
	pthread_mutex_unlock(&t->lock);
	return done;
}

void
worker_join(struct counted_target *t)
{
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	t->has_thread = false;
}

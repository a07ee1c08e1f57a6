#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../base/base.h"
#include "../../refcnt/refs.h"
#include "../../stream/feed/feed.h"
#include "worker.h"

#define CUT_MS 600	/* that a target has for a request to cut its mappings */
#define CUT_LOOK_MS 5
#define SHARE 10	/* at most this part of the time is spent with reading */

/* The state of one worker. */
struct work {
	struct counted_target *t;
	struct refs *refs;		/* NULL: not open */
	struct placement *placement;	/* NULL: places are not known */
	struct refcnt_table *table;	/* NULL: not made yet */
	int64_t begun_ms;		/* the period; 0: none has */
	bool goes_on;			/* the target has not answered: the period lasts longer */
	bool fresh;			/* some pages are counted for a part of it only */
	bool ends;			/* the last cuts are undone */
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
explain(struct counted_target *t, int err)
{
	char text[NODE_REFCNT_WHY];

	snprintf(text, sizeof text, err == -EACCES || err == -EPERM ?
	    "the node may not read the target's page tables (%s): its user or "
	    "root may" : "the target's page tables cannot be read: %s",
	    strerror(-err));
	set_why(t, text);
}

static void
sleep_ms(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* --- cuts ----------------------------------------------------------------------- */

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

/* --- a period ----------------------------------------------------------------------- */

static void
touch(void *arg, uint64_t vaddr, bool coarse)
{
	struct work *w = arg;
	struct refcnt_page page;
	int64_t now_ms = mono_ms(mono_now());
	bool frames = w->placement != NULL && placement_has_frames(w->placement);

	if ((w->fresh || frames) &&
	    !refcnt_page(w->t->counts, vaddr, REFCNT_WIDE, &page))
		return;
	/* The bit may be from before it was counted. */
	if (w->fresh && page.since_ms >= w->begun_ms)
		return;
	refcnt_count(w->t->counts, vaddr, 0, 1, 0, now_ms);
	if (frames)
		frames_count(w->t->frames, &page, coarse, now_ms);
	if (coarse)
		refcnt_coarse(w->t->counts, vaddr);
}

static void
begin_period(struct work *w)
{
	struct counted_target *t = w->t;
	int err = 0;

	if (w->goes_on)
		return;
	pthread_mutex_lock(&t->lock);
	t->fresh = false;
	w->begun_ms = mono_ms(mono_now());
	pthread_mutex_unlock(&t->lock);
	if (w->refs == NULL)
		err = refs_open(&w->refs, t->pid, cut, w);
	if (err == 0)
		err = refs_begin(w->refs);
	if (err == 0)
		return;
	w->begun_ms = 0;
	explain(t, err);
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
	int err;

	if (w->begun_ms == 0)
		return;
	pthread_mutex_lock(&t->lock);
	w->fresh = t->fresh;
	pthread_mutex_unlock(&t->lock);
	err = refs_end(w->refs, t->counts, touch, w);
	w->goes_on = err == -EAGAIN;
	if (w->goes_on)
		return;
	if (err < 0) {
		explain(t, err);
		return;
	}
	refcnt_period(t->counts, mono_ms(mono_now()));
	write_files(w, why);
	set_why(t, why);
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

/* Waits until the period ends; false: nothing is to be counted any more. */
static bool
wait_period(struct counted_target *t, struct mono begun, int64_t spent_ms)
{
	struct timespec due;
	int64_t ms;
	bool wanted;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		ms = t->period_ms > SHARE * spent_ms ? t->period_ms :
		    SHARE * spent_ms;
		t->lasts_ms = ms;
		ms -= mono_ms_since(begun);
		if (!t->wanted || ms <= 0)
			break;
		due = after_ms(ms);
		(void)pthread_cond_timedwait(&t->wake, &t->lock, &due);
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
	for (;;) {
		begun = mono_now();
		begin_period(&w);
		if (w.placement != NULL)
			placement_step(w.placement, t->counts);
		if (!wait_period(t, begun, spent))
			break;
		begun = mono_now();
		t->waited_ms = 0;
		end_period(&w);
		spent = mono_ms_since(begun) - t->waited_ms;
	}
	w.ends = true;
	if (w.refs != NULL)
		refs_close(w.refs);
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

/* --- the thread ----------------------------------------------------------------------- */

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

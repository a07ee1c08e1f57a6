#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "../../base/base.h"
#include "../../stream/feed/feed.h"
#include "visits.h"
#include "keeper.h"
#include "node.h"
#include "takeover_memory.h"

#define VISIT_MUCH 16384	/* records of a visit: the next one at once */
#define VISIT_SOME 512		/* the next one in a millisecond */
#define FIRST_MS 3		/* most short programs have ended by then */
#define CALM_MS 16		/* interval from which on a bell watches */
#define FRESH_MS 10
#define TURN_MS 2
#define BEAT_MS 20		/* well below the 100 ms of RING_STALL_MS */
#define SLEEP_MS 250		/* a closed bell may sleep so long in its feed */

struct bell {
	struct bells *all;
	struct stream_feed *feed;
	sem_t armed;
	atomic_bool is_armed, rung, closed;
	pthread_mutex_t lock;		/* of wake */
	uv_async_t *wake;		/* NULL after close */
};

static void
bells_init(struct bells *all)
{
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->none, NULL);
	all->open = 0;
}

static void
bells_fini(struct bells *all)
{
	pthread_mutex_lock(&all->lock);
	while (all->open > 0)
		pthread_cond_wait(&all->none, &all->lock);
	pthread_mutex_unlock(&all->lock);
	pthread_cond_destroy(&all->none);
	pthread_mutex_destroy(&all->lock);
}

static void
ring(struct bell *b)
{
	atomic_store(&b->is_armed, false);
	atomic_store(&b->rung, true);
	pthread_mutex_lock(&b->lock);
	if (b->wake != NULL)
		uv_async_send(b->wake);
	pthread_mutex_unlock(&b->lock);
}

static void *
sleeper(void *arg)
{
	struct bell *b = arg;
	struct bells *all = b->all;

	while (!atomic_load(&b->closed)) {
		if (!atomic_load(&b->is_armed))
			while (sem_wait(&b->armed) < 0 && errno == EINTR)
				continue;
		else if (stream_feed_wait_bell(b->feed, SLEEP_MS) == 0)
			ring(b);
	}
	stream_feed_free(b->feed);
	sem_destroy(&b->armed);
	pthread_mutex_destroy(&b->lock);
	free(b);
	pthread_mutex_lock(&all->lock);
	if (--all->open == 0)
		pthread_cond_signal(&all->none);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

static int
bell_open(struct bell **out, struct bells *all, struct stream_feed *feed,
    uv_async_t *wake)
{
	struct bell *b = calloc(1, sizeof *b);
	int r;

	if (b == NULL)
		return -ENOMEM;
	b->all = all;
	b->feed = feed;
	b->wake = wake;
	pthread_mutex_init(&b->lock, NULL);
	sem_init(&b->armed, 0, 0);
	pthread_mutex_lock(&all->lock);
	all->open++;
	pthread_mutex_unlock(&all->lock);
	r = base_thread_start(sleeper, b);
	if (r < 0) {
		pthread_mutex_lock(&all->lock);
		all->open--;
		pthread_mutex_unlock(&all->lock);
		sem_destroy(&b->armed);
		pthread_mutex_destroy(&b->lock);
		free(b);
		return r;
	}
	*out = b;
	return 0;
}

static void
bell_arm(struct bell *b)
{
	if (!atomic_exchange(&b->is_armed, true))
		sem_post(&b->armed);
}

/* True once after it has rung; it is then no longer armed. */
static bool
bell_rung(struct bell *b)
{
	return atomic_exchange(&b->rung, false);
}

void
bell_close(struct bell *b, struct stream_feed *feed)
{
	if (b->feed != feed)
		stream_feed_free(feed);
	pthread_mutex_lock(&b->lock);
	b->wake = NULL;
	pthread_mutex_unlock(&b->lock);
	atomic_store(&b->closed, true);
	sem_post(&b->armed);
}

void
visits_beat(struct node *node)
{
	int64_t now = mono_ms(mono_now());
	struct keeper *k;

	if (now - node->drain.beat_ms < BEAT_MS)
		return;
	node->drain.beat_ms = now;
	TAILQ_FOREACH(k, &node->live, link)
		keeper_beat(k, now);
}

static void
next_visit(struct keeper *k, int found, int64_t now)
{
	if (k->source.make != NULL)
		k->visits.interval_ms = DRAIN_CYCLE_MS;
	else if (found >= VISIT_MUCH || keeper_is_behind(k))
		k->visits.interval_ms = 0;
	else if (found >= VISIT_SOME || k->visits.held)
		k->visits.interval_ms = 1;
	else
		k->visits.interval_ms = k->visits.interval_ms == 0 ? FIRST_MS :
		    2 * k->visits.interval_ms + 1;
	if (k->visits.interval_ms > DRAIN_CYCLE_MS)
		k->visits.interval_ms = DRAIN_CYCLE_MS;
	k->visits.due_ms = now + k->visits.interval_ms;
}

static void
watch_calm(struct keeper *k)
{
	if (k->feed == NULL || k->visits.interval_ms < CALM_MS)
		return;
	/* Without a bell it is visited at 15 Hz all the same. */
	if (k->visits.bell == NULL &&
	    bell_open(&k->visits.bell, &k->node->drain.bells, k->feed,
	    &k->node->drain.wake) < 0)
		return;
	bell_arm(k->visits.bell);
}

static void
visit(struct keeper *k)
{
	int64_t now = mono_ms(mono_now());
	int found = keeper_visit(k, now);

	if (found > 0)
		k->visits.silent_since_ms = now;
	next_visit(k, found, mono_ms(mono_now()));
	watch_calm(k);
}

static void on_timer(uv_timer_t *);

static void
check_bells(struct node *node, int64_t now)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->visits.bell != NULL && bell_rung(k->visits.bell) &&
		    k->visits.due_ms > now)
			k->visits.due_ms = now;
}

/* The target that has been due for longest and was not visited in this turn. */
static struct keeper *
most_due(struct node *node, int64_t now)
{
	struct keeper *k, *most = NULL;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->visits.due_ms <= now &&
		    k->visits.turn != node->drain.turn &&
		    (most == NULL || k->visits.due_ms < most->visits.due_ms))
			most = k;
	return most;
}

static int64_t
next_due(struct node *node, int64_t now)
{
	int64_t next = now + DRAIN_CYCLE_MS;
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->visits.due_ms < next)
			next = k->visits.due_ms;
	return next;
}

static void
visit_due(struct node *node)
{
	int64_t begun = mono_ms(mono_now()), now = begun, next;
	struct keeper *k;

	check_bells(node, now);
	node->drain.turn++;
	while (now - begun < TURN_MS && (k = most_due(node, begun)) != NULL) {
		k->visits.turn = node->drain.turn;
		visit(k);
		visits_beat(node);
		now = mono_ms(mono_now());
	}
	next = next_due(node, now);
	if (next <= now) {
		/*
		 * Not by a timer of 0: libuv before 1.45 would run it at once,
		 * and pages would wait while a target is busy.
		 */
		uv_timer_stop(&node->drain.timer);
		uv_async_send(&node->drain.wake);
		return;
	}
	uv_update_time(node->loop);
	uv_timer_start(
	    &node->drain.timer, on_timer, (uint64_t)(next - now), 0);
}

static void
on_timer(uv_timer_t *timer)
{
	visit_due(timer->data);
}

static void
on_wake(uv_async_t *wake)
{
	struct node *node = wake->data;

	/* New targets first: a fork is cut from its parent's recent past. */
	node->hooks->adopt(node);
	visit_due(node);
	node_check_done(node);
}

int
visits_init(struct node *node)
{
	int r;

	node->drain.timer.data = node->drain.wake.data = node;
	r = uv_timer_init(node->loop, &node->drain.timer);
	if (r < 0)
		return r;
	r = uv_async_init(node->loop, &node->drain.wake, on_wake);
	if (r < 0)
		uv_close((uv_handle_t *)&node->drain.timer, NULL);
	else
		bells_init(&node->drain.bells);
	return r;
}

void
visits_close(struct node *node)
{
	uv_close((uv_handle_t *)&node->drain.timer, NULL);
	uv_close((uv_handle_t *)&node->drain.wake, NULL);
}

void
visits_fini(struct node *node)
{
	bells_fini(&node->drain.bells);
}

void
visits_join(struct keeper *k)
{
	int64_t now = mono_ms(mono_now());

	k->visits.joined_ms = k->visits.silent_since_ms = now;
	k->visits.due_ms = now;
	k->visits.interval_ms = 0;
	uv_timer_start(&k->node->drain.timer, on_timer, 0, 0);
}

void
visits_freshen(struct keeper *k)
{
	int64_t now = mono_ms(mono_now());

	k->visits.read_ms = now;
	if (k->feed != NULL &&
	    now - (k->visits.due_ms - k->visits.interval_ms) >= FRESH_MS)
		visit(k);
	takeover_note_shown(k);
}

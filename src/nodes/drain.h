/*
 * drain: when each target is visited.
 *
 * A visit is one pass.  What counts is how full the fullest ring was: the next
 * one comes so soon that it should find a sixteenth to a quarter of it, after a
 * cycle of 15 Hz at the latest, and a bell rings for a target that becomes
 * busier meanwhile.  More visits than that would cost the target's machine, for
 * each takes a core from somebody and finds its caches cold; fewer could let a
 * burst fill a ring.  A visit takes about a millisecond at most,
 * and a turn of the loop visits a target once at most and ends after TURN_MS,
 * so pages are served between visits however many targets are busy.  Who has
 * been due for longest is visited first.
 */
#ifndef NODES_DRAIN_H
#define NODES_DRAIN_H

#include <stdint.h>
#include <uv.h>

struct keeper;
struct node;

#define DRAIN_CYCLE_MS 66	/* 1000 / NODES_HZ */

struct drain {
	uv_timer_t timer;
	uv_async_t wake;		/* by bells and the acceptor */
	unsigned turn;			/* counts them */
	int64_t beat_ms;		/* last time all heartbeats were known to be fresh */
};

/*
 * The next interval, in milliseconds, after one that ended with the fullest
 * ring at `fill` (stream_feed_fill()).
 */
int drain_interval(int interval_ms, unsigned fill);

int drain_init(struct node *);
void drain_close(struct node *);

/* A keeper that has just joined the live ones: its first visit is now. */
void drain_join(struct keeper *);

/* A page is about to look: a visit, unless the last one was a moment ago. */
void drain_freshen(struct keeper *);

/*
 * To be called every few milliseconds of any longer work on the loop's
 * thread: waiting producers take a heart that stands still for a dead keeper.
 */
void drain_beat(struct node *);

#endif

/*
 * visits: when each target is visited.
 *
 * A visit is one pass.  One that found much is followed by another at once or
 * after a millisecond; from then on the interval doubles up to the cycle of
 * 15 Hz, where a bell takes over.  A visit takes about a millisecond at most,
 * and a turn of the loop visits a target once at most and ends after TURN_MS,
 * so pages are served between visits however many targets are busy.  The target
 * that has been due for longest is visited first.
 *
 * A bell is a thread that sleeps until a calm target's ring fills, and wakes the
 * loop.  It is opened when a target has become calm for the first time, for a
 * busy one is visited anyway, and armed whenever it is calm again.
 */
#ifndef NODES_KEEPER_VISITS_H
#define NODES_KEEPER_VISITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct bell;
struct keeper;
struct node;
struct stream_feed;

#define DRAIN_CYCLE_MS 66	/* 1000 / NODES_HZ */

struct drain {
	uv_timer_t timer;
	uv_async_t wake;		/* by bells and the acceptor */
	unsigned turn;			/* counts them */
	int64_t beat_ms;		/* last time all heartbeats were known to be fresh */
	struct bells {
		pthread_mutex_t lock;
		pthread_cond_t none;
		unsigned open;
	} bells;
};

int visits_init(struct node *);
void visits_close(struct node *);
/* Waits until the threads of all bells are gone: a fraction of a second at most. */
void visits_fini(struct node *);

/* A keeper that has just joined the live ones: its first visit is now. */
void visits_join(struct keeper *);

/* A page is about to look: visits the target unless that was done a moment ago. */
void visits_freshen(struct keeper *);

/*
 * To be called every few milliseconds of any longer work on the loop's thread:
 * waiting producers take a heartbeat that stands still for a dead keeper.
 */
void visits_beat(struct node *);

/*
 * Ends the thread soon; it frees the feed, which it may sleep in.  The caller
 * has neither any more.
 */
void bell_close(struct bell *, struct stream_feed *);

#endif

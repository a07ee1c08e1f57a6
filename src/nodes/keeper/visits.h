/*
 * visits: when each target is visited.
 *
 * A visit is one pass.  After one that found much the next is at once or after
 * 1 ms; then the interval doubles up to the cycle, where a bell takes over.  A
 * visit takes about 1 ms; a turn visits a target once and ends after TURN_MS,
 * so pages are served between.  The most overdue target is first.
 *
 * A bell is a thread that sleeps until a calm target's ring fills, and wakes
 * the loop; opened when a target first becomes calm, armed whenever it is calm
 * again.
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
 * Every few ms of longer work on the loop: producers take a still heartbeat
 * for a dead keeper.
 */
void visits_beat(struct node *);

/*
 * Ends the thread, which frees the feed that it may sleep in.  The caller has
 * neither any more.
 */
void bell_close(struct bell *, struct stream_feed *);

#endif

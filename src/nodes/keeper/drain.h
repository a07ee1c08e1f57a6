/*
 * drain: when each target is visited.
 *
 * A visit is one pass.  One that found much is followed by another at once or
 * after a millisecond; from then on the interval doubles up to the cycle of
 * 15 Hz, where a bell takes over.  A visit takes about a millisecond at most,
 * and a turn of the loop visits a target once at most and ends after TURN_MS,
 * so pages are served between visits however many targets are busy.  Who has
 * been due for longest is visited first.
 */
#ifndef NODES_KEEPER_DRAIN_H
#define NODES_KEEPER_DRAIN_H

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

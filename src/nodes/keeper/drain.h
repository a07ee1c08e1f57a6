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

#include <pthread.h>
#include <stdbool.h>
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

/* --- bell ------------------------------------------------------------------ */

/*
 * A thread that sleeps until a calm target's ring fills, and wakes the
 * loop.
 *
 * A busy target is drained every millisecond anyway and a target that ends at
 * once never needs one, so a bell is opened when a target has become calm,
 * and armed whenever it is calm again.
 */

struct bell;
struct stream_feed;
struct uv_async_s;

struct bells {
	pthread_mutex_t lock;
	pthread_cond_t none;
	unsigned open;
};

void bells_init(struct bells *);
/* Waits until every thread is gone: a fraction of a second at most. */
void bells_fini(struct bells *);

/* `wake` is sent when the armed bell has rung.  -EAGAIN, -ENOMEM. */
int bell_open(struct bell **, struct bells *, struct stream_feed *,
    struct uv_async_s *wake);
void bell_arm(struct bell *);
/* True once after it has rung; it is then no longer armed. */
bool bell_rung(struct bell *);
/*
 * The thread ends soon and frees the feed, which it may be asleep in; both
 * are out of the caller's hands.
 */
void bell_close(struct bell *, struct stream_feed *);

#endif

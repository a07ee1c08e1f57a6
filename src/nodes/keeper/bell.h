/*
 * bell: a thread that sleeps until a calm target's ring fills, and wakes the
 * loop.
 *
 * A busy target is drained every millisecond anyway and a target that ends at
 * once never needs one, so a bell is opened when a target has become calm,
 * and armed whenever it is calm again.
 */
#ifndef NODES_KEEPER_BELL_H
#define NODES_KEEPER_BELL_H

#include <pthread.h>
#include <stdbool.h>

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

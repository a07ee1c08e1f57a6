/*
 * arming: which targets log, on whose wish, and for how long.
 *
 * Vocabulary
 *	dormant	joined, and logs nothing; its list is empty.
 *	watcher	a connection that wants the target to log for as long as it
 *		lasts.  A link may be lost and come back: the target logs for
 *		ARMING_GRACE_MS after the last watcher has gone.
 *	origin	the image that an image comes from: its parent by fork, or the
 *		image before it by exec.  It is armed as its origin is.
 *
 * Each change restarts the stream: another epoch, an empty list, and frees of
 * blocks from before count as earlier.
 */
#ifndef NODES_KEEPER_ARMING_H
#define NODES_KEEPER_ARMING_H

#include <stdbool.h>
#include <stdint.h>

#include "../../stream/wire/wire.h"

#define ARMING_GRACE_MS 60000
#define ARMING_WATCHERS 256

struct keeper;
struct node;

enum arming_mode {
	ARMING_ALWAYS,		/* logs since its start, watched or not */
	ARMING_DORMANT,
	ARMING_WATCHED,		/* logs as long as it has watchers */
	ARMING_HELD,		/* logs until ARM with WIRE_ARM_OFF */
};

struct arming {
	enum arming_mode mode;
	int64_t wall_ms;		/* wall clock of the arming; 0: logs since its start, or is dormant */
	int64_t alone_ms;		/* monotonic, since when there is no watcher; 0: there is one */
	uint64_t watcher[ARMING_WATCHERS];	/* ids of connections */
	unsigned watchers;
};

/*
 * For a feed whose descriptors are about to be sent: dormant, unless the node
 * logs or some target of it does, which may be the origin.  Any thread.
 */
void arming_welcome(struct keeper *);

/*
 * A target that has just joined is armed as its origin is; NULL: as the node
 * was told.  True if what it has logged so far continues the origin's list.
 */
bool arming_join(struct keeper *, const struct keeper *origin);

/*
 * The same for a target that has said hello again, because its earlier keeper
 * is gone; that may still be there.  If it logged, it goes on, with a list
 * from this moment on.
 */
void arming_rejoin(struct keeper *, const struct keeper *earlier);

/* Does what ARM asks for.  -ENOTSUP: it is no process, or has ended; -ENOMEM. */
int arming_ask(struct keeper *, uint64_t conn, enum wire_arming);

/* The supervisor is gone: dormant targets now have this process as their owner. */
void arming_owner_changed(struct node *);

/* Once a second: targets that nobody watches any more become dormant. */
void arming_second(struct node *, int64_t mono_ms);

#endif

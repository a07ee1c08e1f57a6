/*
 * arming: which targets log, on whose wish, and for how long.
 *
 * Vocabulary
 *	dormant	joined, and logs nothing; its list is empty.
 *	watcher	a connection that wants the target to log.  The target logs for
 *		ARMING_GRACE_MS after the last one: links come back.
 *	origin	the parent by fork, or the image before by exec: armed alike.
 *
 * Each change restarts the stream: another epoch, an empty list, earlier
 * frees.
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
 * Before the descriptors are sent: dormant, unless node or a target, perhaps
 * the origin, logs.  Any thread.
 */
void arming_welcome(struct keeper *);

/*
 * A new target is armed as its origin; NULL: as the node.  True: it continues
 * the origin's list.
 */
bool arming_join(struct keeper *, const struct keeper *origin);

/*
 * After another hello; the earlier keeper may still be there.  One that logged
 * goes on, with a new list.
 */
void arming_rejoin(struct keeper *, const struct keeper *earlier);

/* Does what ARM asks for.  -ENOTSUP: it is no process, or has ended; -ENOMEM. */
int arming_ask(struct keeper *, uint64_t conn, enum wire_arming);

/* The supervisor is gone: dormant targets now have this process as their owner. */
void arming_owner_changed(struct node *);

/* Once a second: targets that nobody watches any more become dormant. */
void arming_second(struct node *, int64_t mono_ms);

#endif

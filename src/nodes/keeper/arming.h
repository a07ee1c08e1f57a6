/*
 * arming: which targets log, on whose wish, and for how long.
 *
 * Vocabulary
 *	dormant	joined, and logs nothing; its list is empty.
 *	watcher	a connection that wants the target to log for as long as it
 *		lasts.  A link may be lost and come back: the target logs for
 *		ARMING_GRACE_MS after the last watcher has gone.
 *	held	it logs until it is sent to sleep, whoever is connected.
 *	kin	whom an image comes from: its parent by fork, or the image
 *		before it by exec.  It is as its kin is.
 *
 * Each change begins the stream anew: another epoch, an empty list, and frees
 * of blocks from before count as earlier.  A target that has logged since its
 * start goes on whoever is there: only ARM with WIRE_ARM_OFF sends it to sleep.
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

struct arming {
	bool asleep;
	bool wished;			/* logs because somebody wants it */
	bool held;
	int64_t wall_ms;		/* wall clock of the arming; 0: logs since its start, or sleeps */
	int64_t alone_ms;		/* monotonic; since when there is no watcher, 0: there is one */
	uint64_t watcher[ARMING_WATCHERS];	/* ids of connections */
	unsigned watchers;
};

/*
 * For a feed whose descriptors are about to be sent: dormant, unless the node
 * logs or some target of it does, which may be the kin.  Any thread.
 */
void arming_welcome(struct keeper *);

/*
 * A target that has just joined becomes what its kin is; NULL: what the node
 * was told.  True when what it has logged so far continues what its kin has.
 */
bool arming_join(struct keeper *, const struct keeper *kin);

/*
 * The same for one whose keeper is gone.  It logs if it did, and its list is
 * of this moment on: who has asked for that has a while to come back.
 */
void arming_again(struct keeper *, const struct keeper *before);

/* Does what ARM asks for.  -ENOTSUP: it is no process, or has ended; -ENOMEM. */
int arming_ask(struct keeper *, uint64_t conn, enum wire_arming);

/* Once a second: targets that nobody watches any more go to sleep. */
void arming_second(struct node *, int64_t mono_ms);

#endif

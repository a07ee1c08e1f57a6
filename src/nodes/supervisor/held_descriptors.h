/*
 * held: the descriptors that a supervisor holds for its child.
 */
#ifndef NODES_SUPERVISOR_HELD_DESCRIPTORS_H
#define NODES_SUPERVISOR_HELD_DESCRIPTORS_H

#include <stddef.h>

#include "../host/fdstore.h"
#include "../host/inherited.h"

struct held_entry {
	int fd;
	char name[FDSTORE_NAME];
};

struct held {
	struct held_entry entry[INHERITED_MAX];
	int n;
	int passed;			/* of them, to ourselves: they stay */
	int max;			/* half of what we may have: a child needs as many of its own */
	size_t names;			/* bytes of all names, with a separator each */
};

/* What was passed to us.  A negative errno. */
int held_begin(struct held *);
/* Nothing was passed to us. */
void held_limit(struct held *);
/* Its own from now on; more than can be passed on, or than is good, is closed. */
void held_add(struct held *, int fd, const char *name);
/* Closes what has that name, but not what we were passed. */
void held_drop(struct held *, const char *name);
/*
 * Closes all that the child may die of: nobody reads its report, and whoever
 * began it anew would lose what it has.
 */
void held_drop_deadly(struct held *);

/*
 * In a child: puts them from INHERITED_FIRST on and says so in the environment.
 * The number of `fd` then, which comes behind them; -1 when it cannot be done.
 */
int held_pass(struct held *, int fd);

#endif

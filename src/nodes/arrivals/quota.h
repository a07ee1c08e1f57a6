/*
 * quota: how many live targets there are, and of whom.
 *
 * A target is a process; two images of one, while it calls exec, are one.  The
 * acceptor of targets counts whom it gives a stream to there and then, for a
 * burst would be over before the loop has heard of it; the loop counts who has
 * ended.
 */
#ifndef NODES_ARRIVALS_QUOTA_H
#define NODES_ARRIVALS_QUOTA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define QUOTA_TARGETS 1024	/* more than NODE_TARGETS_MAX: who is beyond it is not counted */

struct keeper;

struct quota {
	pthread_mutex_t lock;
	size_t n;
	struct {
		pid_t pid;
		uid_t uid;		/* of the image that came last */
		unsigned images;
	} target[QUOTA_TARGETS];
};

void quota_init(struct quota *);
void quota_fini(struct quota *);

/* One more image of the process; false when there is no place to count it. */
bool quota_add(struct quota *, pid_t, uid_t);
/* One less. */
void quota_remove(struct quota *, pid_t);

/*
 * The keeper's target counts as live until quota_uncount(); once is enough.  May
 * be called by the acceptor's thread before it is adopted.
 */
void quota_count(struct keeper *);
void quota_uncount(struct keeper *);

/* Targets beside `pid`, and those of them that are the user's. */
void quota_beside(struct quota *, pid_t, uid_t, unsigned *all, unsigned *own);

#endif

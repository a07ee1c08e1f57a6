/*
 * quota: how many live targets each user has.  The loop counts, the acceptor
 * of targets looks.
 */
#ifndef NODES_QUOTA_H
#define NODES_QUOTA_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#define QUOTA_USERS 1024	/* more have targets at no time: see NODE_TARGETS_MAX */

struct quota {
	pthread_mutex_t lock;
	size_t n;
	struct {
		uid_t uid;
		unsigned targets;	/* 0: the place is free */
	} user[QUOTA_USERS];
};

void quota_init(struct quota *);
void quota_fini(struct quota *);

void quota_add(struct quota *, uid_t, int);
unsigned quota_used(struct quota *, uid_t);

#endif

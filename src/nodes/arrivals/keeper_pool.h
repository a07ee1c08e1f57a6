/*
 * keeper pool: keepers made in advance.
 *
 * It takes a third of a millisecond to make a keeper and to store the descriptors for
 * the node's next process, and a target waits for its welcome.  So a thread of low
 * priority makes some keepers in advance; the acceptor and the targets that it has just
 * welcomed have precedence.
 *
 * A keeper with the areas of an ended target is only for processes of the node's own
 * user.
 *
 * Streams are numbered as they are made, so a target that comes when the pool is
 * empty may overtake a keeper that is being made: only connections are numbered
 * in the order of welcomes.
 */
#ifndef NODES_ARRIVALS_KEEPER_POOL_H
#define NODES_ARRIVALS_KEEPER_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../keeper/keeper.h"

#define KEEPER_POOL_SIZE 3		/* a started program forks and executes, and so does that */
#define KEEPER_POOL_MOST 8		/* size while there is idle memory of ended targets */

struct pooled_keeper {
	struct keeper *keeper;
	int fds[3];			/* the last is not for the target; -1 none */
};

struct keeper_pool {
	struct node *node;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;		/* of all that follows */
	pthread_cond_t changed;
	bool stop;
	uint64_t making;		/* number of the one that is being stored; 0 none */
	struct pooled_keeper ready[KEEPER_POOL_MOST + 1];	/* the next one first; one may be put back */
	size_t n;
};

/*
 * Starts the thread with the caller's signal mask.  If that fails, each target
 * waits until its keeper is made.
 */
void keeper_pool_start(struct keeper_pool *, struct node *);
/* Ends it, and drops what is left. */
void keeper_pool_stop(struct keeper_pool *);

/* Takes the next keeper for a process of that user, or makes one; the caller owns it. */
int keeper_pool_get(struct keeper_pool *, uid_t, struct pooled_keeper *);
/* Puts back a keeper that was not used. */
void keeper_pool_put_back(struct keeper_pool *, const struct pooled_keeper *);
bool keeper_pool_has(struct keeper_pool *, uint64_t stream);
void keeper_pool_refill(struct keeper_pool *);

void pooled_keeper_drop(const struct pooled_keeper *);
void pooled_keeper_close_fds(const struct pooled_keeper *);

#endif

/*
 * keeper pool: keepers made in advance.
 *
 * To make a keeper and to store what the next process takes over takes a third
 * of a millisecond, and a target waits for its welcome.  So some are made ahead,
 * by a thread that yields to all others: the acceptor's own has precedence, and
 * targets that it has just welcomed would wait for it.
 *
 * A keeper whose areas another target has had is for processes of the node's own
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
#define KEEPER_POOL_MOST 8		/* while ended targets leave what they need */

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

/* The next one for a process of that user, or a new one; the caller owns it.  Negative errno. */
int keeper_pool_get(struct keeper_pool *, uid_t, struct pooled_keeper *);
/* Puts back one that was not used. */
void keeper_pool_put_back(struct keeper_pool *, const struct pooled_keeper *);
bool keeper_pool_has(struct keeper_pool *, uint64_t stream);
void keeper_pool_refill(struct keeper_pool *);

void pooled_keeper_drop(const struct pooled_keeper *);
void pooled_keeper_close_fds(const struct pooled_keeper *);

#endif

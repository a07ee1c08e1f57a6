/*
 * spare: keepers that wait for their targets.
 *
 * To make a keeper, and to have what of it outlives us kept, takes a third of a
 * millisecond, and a target waits for its welcome.  So some are made ahead, by
 * a thread that steps back for whoever has work to do: the acceptor's own goes
 * before others, and what it has just welcomed would wait for it.
 *
 * Streams are numbered as they are made.  Who comes when there is no spare gets
 * one that is made for him, and may overtake one that is being made: only
 * connections are numbered as targets are welcomed.
 */
#ifndef NODES_ARRIVALS_KEEPER_POOL_H
#define NODES_ARRIVALS_KEEPER_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../keeper/keeper.h"

#define KEEPER_POOL_SIZE 3		/* what is started forks and executes, and so does that */

struct pooled_keeper {
	struct keeper *keeper;
	int fds[3];			/* the last is not for the target; -1 none */
};

struct keeper_pool {
	struct node *node;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;		/* of all that follows */
	pthread_cond_t look;		/* something has changed */
	bool stop;
	uint64_t making;		/* the number of the one that is made; 0: none */
	struct pooled_keeper spare[KEEPER_POOL_SIZE + 1];	/* the next one first; one more may be put back */
	size_t n;
};

/*
 * Starts the thread, with the signals of who calls this.  Without it, for want
 * of anything, each target waits until its own is made.
 */
void keeper_pool_start(struct keeper_pool *, struct node *);
/* Ends it, and drops what is left. */
void keeper_pool_stop(struct keeper_pool *);

/* The next one, or a new one; 0, or a negative errno.  The caller's from now on. */
int keeper_pool_get(struct keeper_pool *, struct pooled_keeper *);
/* It was not used, and is the next one again. */
void keeper_pool_put_back(struct keeper_pool *, const struct pooled_keeper *);
/* Is it the number of one that nobody has been given? */
bool keeper_pool_has(struct keeper_pool *, uint64_t stream);
/* There is time to make more. */
void keeper_pool_refill(struct keeper_pool *);

/* It is nobody's. */
void pooled_keeper_drop(const struct pooled_keeper *);
void pooled_keeper_close_fds(const struct pooled_keeper *);

#endif

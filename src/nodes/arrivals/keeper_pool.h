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

#define SPARES 3		/* what is started forks and executes, and so does that */

struct spare {
	struct keeper *keeper;
	int fds[3];			/* the last is not for the target; -1 none */
};

struct spares {
	struct node *node;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;		/* of all that follows */
	pthread_cond_t look;		/* something has changed */
	bool stop;
	uint64_t making;		/* the number of the one that is made; 0: none */
	struct spare spare[SPARES + 1];	/* the next one first; one more may be put back */
	size_t n;
};

/*
 * Starts the thread, with the signals of who calls this.  Without it, for want
 * of anything, each target waits until its own is made.
 */
void spares_start(struct spares *, struct node *);
/* Ends it, and drops what is left. */
void spares_stop(struct spares *);

/* The next one, or a new one; 0, or a negative errno.  The caller's from now on. */
int spares_take(struct spares *, struct spare *);
/* It was not used, and is the next one again. */
void spares_put_back(struct spares *, const struct spare *);
/* Is it the number of one that nobody has been given? */
bool spares_have(struct spares *, uint64_t stream);
/* There is time to make more. */
void spares_refill(struct spares *);

/* It is nobody's. */
void spare_drop(const struct spare *);
void spare_close_fds(const struct spare *);

#endif

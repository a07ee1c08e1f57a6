/*
 * arrivals: how targets come in.
 *
 * Vocabulary
 *	hello	the message of a target's library; a target waits 50 ms for its
 *		welcome.
 *	acceptor	the thread that answers hellos, for the loop may be in the
 *		middle of a pass.
 *	arrived	welcomed, with a keeper, and not adopted by the loop yet.
 *	missed	said hello and has no stream: its keeper has the reason only.
 *	quota	how many live targets there are, and whose.
 *
 * hello.c answers targets and has the queue of those that have arrived,
 * keeper_pool.c makes keepers in advance, quota.c counts.  The loop takes
 * targets out of the queue: see images.h.
 *
 * Example: a node that is started
 *	hello_listen(node->hello, node, path);
 *	hello_start(node->hello);
 *	...
 *	hello_stop(node->hello);
 *	... and when the loop has run down:
 *	hello_fini(node->hello);
 */
#ifndef NODES_ARRIVALS_H
#define NODES_ARRIVALS_H

#include <stddef.h>
#include <sys/types.h>
#include <pthread.h>
#include <stdbool.h>

#include "../host/socket.h"
#include "../keeper/keeper.h"

#define HELLO_BEHIND 32		/* so many came in and were not adopted: the loop cannot follow */
#define HELLO_MISSED_MAX 1024	/* so many without a stream wait to be told of */

struct hello {
	struct node *node;
	uint64_t first_stream;		/* the last id that another process has given, or 0 */
	uint64_t given;			/* the highest id that a target of ours has got, or that */
	uint64_t arrivals;		/* number of the last connection, of processes before us too */
	uint64_t *taken;		/* those of them whose streams are ours by now; since the start */
	size_t ntaken;
	int listen_fd;			/* -1: targets cannot come in */
	int stop_fd;
	bool running;
	bool inherited;			/* the socket is not ours to remove */
	pthread_t thread;
	pthread_mutex_t lock;		/* of the next four, and held while one is welcomed */
	struct keepers arrived;
	size_t waiting;			/* so many are in it ... */
	size_t behind;			/* ... and have been welcomed */
	uint64_t untold;		/* images without a stream for which it had no room */
	size_t missed_max;		/* room for those */
	_Atomic uint64_t held;		/* hellos that had to wait for the loop */
	char path[SOCKET_PATH];
	struct socket_file file;	/* what we have bound there */
};

/* Binds the socket; nobody is answered yet. */
int hello_listen(struct hello *, struct node *, const char *path);
/*
 * The same with a bound socket, which is hello's from now on, also on failure.
 * inherited: it listens already, and stays where it is.
 */
int hello_listen_fd(struct hello *, struct node *, int fd, const char *path,
    bool inherited);
/* Starts the thread.  Streams that were taken over are among the live by now. */
int hello_start(struct hello *);
/* Ends it, with who has connected by then; removes the socket. */
void hello_stop(struct hello *);
/* Frees who was not adopted. */
void hello_fini(struct hello *);

/* --- targets that have arrived, in the order of their welcome ------------- */

void hello_queue_init(struct hello *);
/* One more; with the lock held. */
void hello_put(struct hello *, struct keeper *);
/*
 * One that a process before us has welcomed, where its connection's number puts
 * it: parents before their children.  Before hello_start().
 */
void hello_put_back(struct hello *, struct keeper *);
/*
 * How many have come in and were not taken yet; a target that has been welcomed
 * by the time of the call is among them.
 */
size_t hello_waiting(struct hello *);
/* The next of them, or NULL: it can have ended, but not be missed. */
struct keeper *hello_take(struct hello *);
/*
 * As many have been welcomed and wait as there can be targets, of all or, at the
 * system's node, of this user: there is no place for one more of his.
 */
bool hello_is_full(struct hello *, uid_t);
/* For one more without a stream; only the acceptor's thread puts any in. */
bool hello_has_room(struct hello *);
/* One of those; NULL: it is counted, and nobody hears more of it. */
void hello_put_missed(struct hello *, struct keeper *);
/* How many have been counted so since the last call. */
uint64_t hello_take_untold(struct hello *);
/* Out of turn the first of this process, unless a fork made it; NULL: none. */
struct keeper *hello_take_image(struct hello *, pid_t);

/* --- quota ----------------------------------------------------------------- */

/*
 * How many live targets there are, and of whom.
 *
 * A target is a process; two images of one, while it calls exec, are one.  The
 * acceptor of targets counts whom it gives a stream to there and then, for a
 * burst would be over before the loop has heard of it; the loop counts who has
 * ended.
 */

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

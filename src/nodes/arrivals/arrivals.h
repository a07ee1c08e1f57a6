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
 *	unseen	could not even say hello, and has left a word (stream/ring.h).
 *	quota	how many live targets there are, and whose.
 *
 *	hello.c		the acceptor, which welcomes or refuses a target; the queue of
 *			targets that have arrived
 *	keeper_pool.h	keepers made in advance
 *	quota.c		counts live targets
 *	unseen.c	the page for those that cannot say hello
 *
 * The loop takes targets out of the queue; see images/images.h.
 *
 * Example: a node that is started
 *	hello_init(node->hello, node);
 *	hello_listen(node->hello, fd, path, false);
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

#include "../host/host.h"
#include "../keeper/keeper.h"

#define HELLO_BEHIND 32		/* so many targets not adopted: the loop is behind */
#define HELLO_MISSED_MAX 1024	/* missed images in the queue */

struct unseen {
	struct ring_unseen *page;	/* NULL: none */
	int fd;				/* its memfd; -1 none */
	uint32_t changes;		/* of the page, at the last look */
	size_t next;			/* word to look at next */
	uint64_t paired[RING_UNSEEN_WHYS];	/* how many of page->counted have a row */
};

struct unseen_process {
	pid_t pid, ppid;		/* as it sees them */
	const char *why;		/* static */
};

/*
 * Opens the page of the node's previous process, or a new one; none without
 * memory.
 */
void unseen_open(struct unseen *, struct node *);
void unseen_close(struct unseen *);
/* The text for an enum ring_unseen_why, from a target. */
const char *unseen_why(unsigned why);
/* True if a word was left since the last call: unseen_take() begins again. */
bool unseen_changed(struct unseen *);
bool unseen_take(struct unseen *, struct unseen_process *);
/*
 * For a process that was found and left no word: takes it for one of those
 * counted.  Returns why that one could not register, or NULL if none is left.
 */
const char *unseen_pair(struct unseen *);
/*
 * How many were counted and not found.  *why: the reason of some of them; why
 * may be NULL.
 */
uint64_t unseen_counted(const struct unseen *, const char **why);

struct hello {
	struct node *node;
	struct unseen unseen;
	uint64_t first_stream;		/* last id given by the process before; 0 none */
	uint64_t last_stream;		/* highest id given to a target so far */
	uint64_t arrivals;		/* number of the last connection, over all processes */
	uint64_t *taken_over;		/* ids of streams taken over */
	size_t ntaken_over;
	int listen_fd;			/* -1: targets cannot come in */
	int stop_fd;
	bool running;
	bool inherited;			/* the socket is not ours to remove */
	pthread_t thread;
	pthread_mutex_t lock;		/* of the next five, and held during a welcome */
	struct keepers arrived;
	size_t narrived;
	size_t nmissed;			/* of them */
	uint64_t missed_beyond;		/* missed images beyond missed_max; counted only */
	const char *beyond_why;		/* ... why the first of them was */
	size_t missed_max;
	_Atomic uint64_t delayed;	/* hellos that had to wait for the loop */
	char path[SOCKET_PATH];
	struct socket_file file;	/* what we have bound there */
};

/* An empty queue; targets cannot come in yet. */
void hello_init(struct hello *, struct node *);
/*
 * Listens at a bound socket; owns fd, also on failure.  Nobody is answered yet.
 * inherited: it listens already, and stays where it is.
 */
int hello_listen(struct hello *, int fd, const char *path, bool inherited);
/* Starts the thread, after streams were taken over. */
int hello_start(struct hello *);
/* Answers those who have connected, ends the thread, removes the socket. */
void hello_stop(struct hello *);
void hello_fini(struct hello *);

/*
 * Inserts a target that the process before has welcomed, by the number of its
 * connection: parents come before their children.  Before hello_start().
 */
void hello_put_back(struct hello *, struct keeper *);
/* Length of the queue; it includes every target welcomed by the time of the call. */
size_t hello_waiting(struct hello *);
/* The next one, or NULL.  It may have ended by now. */
struct keeper *hello_take(struct hello *);
/* How many missed images have only been counted since the last call, and why. */
uint64_t hello_take_missed(struct hello *, const char **why);
/* The first image of this process, out of turn, unless it was forked; else NULL. */
struct keeper *hello_take_image(struct hello *, pid_t);

/*
 * A target is a process; two images of one, during an exec, count once.  The
 * acceptor counts a target as soon as it has a stream, for a burst would be over
 * before the loop has heard of it; the loop counts ended ones.
 */

#define QUOTA_TARGETS 1024	/* more than NODE_TARGETS_MAX; others are not counted */

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

/* One more image of the process; false: there is no place to count it. */
bool quota_add(struct quota *, pid_t, uid_t);
void quota_remove(struct quota *, pid_t);

/* Counts the keeper's target as live, once.  Any thread before it is adopted. */
void quota_count(struct keeper *);
void quota_uncount(struct keeper *);

/* Counts targets other than `pid`, and those of them that are the user's. */
void quota_beside(struct quota *, pid_t, uid_t, unsigned *all, unsigned *own);

#endif

/*
 * fdstore: descriptors that outlive this process.
 *
 * The store, our supervisor or systemd, keeps descriptors under names by the
 * protocol of sd_pid_notify_with_fds(3) and passes them to the next process as
 * in sd_listen_fds(3).
 *
 * Example
 *	fdstore_open(&store, -1);		systemd, if it started us
 *	inherited_take(..., fdstore_inherit, &store);
 *	fd = fdstore_take(&store, "pagek.t");	from the process before
 *	fdstore_put(&store, "pagek.t", fd);	for the next one
 *
 * Put, remove and say are for any thread, the rest for the first. fdstore_say()
 * may be lost while the store's queue is full.
 */
#ifndef NODES_HOST_FDSTORE_H
#define NODES_HOST_FDSTORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define FDSTORE_OURS "pagek."		/* prefix of our names */
#define STORED_PAGE FDSTORE_OURS "page"	/* the first page's connection; not stored */
#define STORED_RECORDING FDSTORE_OURS "recording"	/* of a command's node; passed to each process */
#define STORED_REPORT FDSTORE_OURS "report"
#define FDSTORE_NAME 48			/* bytes of a name, with its NUL */
#define FDSTORE_MESSAGE 512		/* bytes of a message */

struct fdstore_entry {
	char name[FDSTORE_NAME];
	int fd;				/* -1: taken */
};

struct fdstore {
	int fd;				/* socket to the store; -1 none */
	_Atomic bool gone;		/* the store has ended */
	_Atomic bool full;		/* its queue was full at the last message */
	char unsaid[FDSTORE_MESSAGE];	/* lines of fdstore_insist() that wait for room */
	struct fdstore_entry *inherited;
	size_t n, cap;
};

/*
 * Takes over fd, connected to a supervisor; -1: connects to $NOTIFY_SOCKET if
 * set. Removes that from the environment.
 */
void fdstore_open(struct fdstore *, int fd);
/* Closes inherited descriptors that were not taken; the store still has them. */
void fdstore_close(struct fdstore *);

/* True if a process before us has stored something. Before inherited_take(). */
bool fdstore_follows(void);

/* True if there is a store. */
bool fdstore_keeps(const struct fdstore *);

/*
 * Stores a descriptor beside others of that name; it stays the caller's.
 * -EAGAIN if the store's queue is full, -ENOTCONN if there is no store.
 */
int fdstore_put(struct fdstore *, const char *name, int fd);
/*
 * The same for several in one message. A store without room for all may take
 * some; they may come back in any order.
 */
#define FDSTORE_FDS 8			/* limit of a message */
int fdstore_put_all(struct fdstore *, const char *name, const int *fds,
    size_t n);
/* Removes all descriptors of that name. */
int fdstore_remove(struct fdstore *, const char *name);
/* Sends a line such as STATUS=text. */
int fdstore_say(struct fdstore *, const char *state);

/*
 * Sends a line that must arrive, such as READY=1, later if the queue is full.
 * -ENOTCONN without a store, -EMSGSIZE if more waits than a message holds.
 */
int fdstore_insist(struct fdstore *, const char *state);
/* Once a second: sends what waits for room. */
void fdstore_second(struct fdstore *);

/* For inherited_take(): takes a descriptor with one of our names; else false. */
bool fdstore_inherit(void *store, const char *name, int fd);
/* An inherited descriptor, now the caller's; -1: none of that name. */
int fdstore_take(struct fdstore *, const char *name);

#endif

/*
 * fdstore: descriptors that outlive this process.
 *
 * Somebody keeps them for us, under names: our supervisor, or systemd with its
 * file descriptor store.  Both speak one protocol, sd_pid_notify_with_fds(3),
 * and hand what they have to the next process as sd_listen_fds(3) says.
 *
 * Example
 *	fdstore_open(&store, -1);		systemd, if it started us
 *	inherited_take(..., fdstore_inherit, &store);
 *	fd = fdstore_take(&store, "pagek.t");	what the one before us had
 *	fdstore_put(&store, "pagek.t", fd);	for the one after us
 *
 * To put, remove and say is for any thread, the rest for the first.  What is
 * only said may be lost, when whoever keeps is slow to take it.
 */
#ifndef NODES_HOST_FDSTORE_H
#define NODES_HOST_FDSTORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define FDSTORE_OURS "pagek."		/* all names of ours begin so */
/* The first page's connection: of the process that starts, and kept by nobody. */
#define STORED_PAGE FDSTORE_OURS "page"
/*
 * Where the report goes: for whoever comes after us, whatever becomes of the
 * rest.
 */
#define STORED_REPORT FDSTORE_OURS "report"
#define FDSTORE_NAME 48			/* of a descriptor, with its NUL */
#define FDSTORE_MESSAGE 512		/* the longest one */

struct fdstore_entry {
	char name[FDSTORE_NAME];
	int fd;				/* -1: taken */
};

struct fdstore {
	int fd;				/* socket to whoever keeps; -1 nobody does */
	_Atomic bool gone;		/* he did, and is no more */
	_Atomic bool full;		/* his queue was, when something was sent last */
	char unsaid[FDSTORE_MESSAGE];	/* lines that must arrive and wait for room */
	struct fdstore_entry *inherited;
	size_t n, cap;
};

/*
 * fd: connected to a supervisor, and the store's from now on; -1: $NOTIFY_SOCKET
 * is where to, if it is set.  It is not for whoever we start, and so it is
 * taken out of the environment.
 */
void fdstore_open(struct fdstore *, int fd);
/* Closes what was inherited and not taken; whoever keeps it has it still. */
void fdstore_close(struct fdstore *);

/*
 * Has a process before us had something kept?  To be asked before what was
 * passed is taken.
 */
bool fdstore_follows(void);

/* Is there anybody who keeps? */
bool fdstore_keeps(const struct fdstore *);

/*
 * Kept from now on, beside what else has that name.  The descriptor stays the
 * caller's.  -EAGAIN when it could not be sent soon, -ENOTCONN when nobody keeps.
 */
int fdstore_put(struct fdstore *, const char *name, int fd);
/*
 * The same for several under one name and in one message, which all of them go
 * out with or none: each message wakes whoever keeps.  One who has no room for
 * all may take some.  They may come back in any order.
 */
#define FDSTORE_FDS 8			/* in one message, at most */
int fdstore_put_all(struct fdstore *, const char *name, const int *fds,
    size_t n);
/* Whatever has that name is kept no longer. */
int fdstore_remove(struct fdstore *, const char *name);
/* STATUS=text, for whoever watches over us. */
int fdstore_say(struct fdstore *, const char *state);

/*
 * The same for a word that he waits for, as READY=1: what finds no room is
 * kept, and said once there is some.  -ENOTCONN when nobody keeps, -EMSGSIZE
 * when more waits than one message holds.
 */
int fdstore_insist(struct fdstore *, const char *state);
/* Once a second: says what waits for room. */
void fdstore_second(struct fdstore *);

/*
 * For inherited_take(): a descriptor that was passed to us.  True when it has
 * one of the names that only we give, and is the store's from now on.
 */
bool fdstore_inherit(void *store, const char *name, int fd);
/* The caller's from now on; -1 when nothing of that name was passed. */
int fdstore_take(struct fdstore *, const char *name);

#endif

/*
 * inherited: descriptors that were passed to us, as in sd_listen_fds(3), of
 * which a few lines are needed: sockets that systemd has opened, and what a
 * process before us has had somebody keep.
 */
#ifndef NODES_HOST_INHERITED_H
#define NODES_HOST_INHERITED_H

#include <stdbool.h>

#include "socket.h"

#define INHERITED_FIRST 3	/* number of the first one */
#define INHERITED_MAX 4096	/* more can only be wrong */
/* Bytes of all names, with what separates them: the kernel takes 128 KiB. */
#define INHERITED_NAMES (120 << 10)

struct inherited {
	int fd;				/* -1: none of this type was passed */
	char path[SOCKET_PATH];
};

/*
 * Each descriptor that was passed, with its name ("" none), in their order;
 * they are `one`'s from then on.  They close on exec, and the environment says
 * nothing of them any more.  -EINVAL for more than INHERITED_MAX, which are
 * left alone.
 */
int inherited_each(void (*one)(void *arg, const char *name, int fd),
    void *arg);

/*
 * Takes over those for which `ours` (NULL: none) says false: the listening Unix
 * sockets of type SOCK_STREAM and SOCK_SEQPACKET, one of each at most.  -EINVAL
 * for anything else among them, and then those are closed.
 */
int inherited_take(struct inherited *stream, struct inherited *seqpacket,
    bool (*ours)(void *arg, const char *name, int fd), void *arg);

/* The path of a listening Unix socket; -EINVAL for whatever is none. */
int inherited_path(int fd, char path[SOCKET_PATH]);

#endif

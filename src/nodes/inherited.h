/*
 * inherited: sockets that systemd has opened for us, and telling it that we
 * are up: sd_listen_fds(3) and sd_notify(3), of which a few lines are needed.
 */
#ifndef NODES_INHERITED_H
#define NODES_INHERITED_H

#include "socket.h"

struct inherited {
	int fd;				/* -1: none of this type was passed */
	char path[SOCKET_PATH];
};

/*
 * Takes over what was passed: the listening Unix sockets of type SOCK_STREAM
 * and SOCK_SEQPACKET, one of each at most.  -EINVAL for anything else among
 * it, and then all of it is closed; also for more than 64, which are left
 * alone, for that number can only be wrong.
 */
int inherited_take(struct inherited *stream, struct inherited *seqpacket);

/* Tells whoever waits for it that we serve from now on. */
void inherited_ready(void);

#endif

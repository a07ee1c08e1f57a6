/*
 * socket: a Unix socket of ours at a path.
 */
#ifndef NODES_SOCKET_H
#define NODES_SOCKET_H

#include <sys/types.h>

#define SOCKET_PATH 108		/* what an address takes, with its NUL */

/*
 * A bound socket that only this user can connect to; it does not block and
 * does not listen yet.  Whatever had the name before is removed: the caller
 * knows that it is nobody's.  A descriptor for the caller to close, or a
 * negative errno.
 */
int socket_bind(const char *path, int type);

/* The same, for others too: `mode`, and `group` unless that is (gid_t)-1. */
int socket_bind_for(const char *path, int type, mode_t mode, gid_t group);

/*
 * A connected stream socket, or a negative errno: of a node whose backlog is
 * full -EAGAIN, for nobody is held up.
 */
int socket_connect(const char *path);

/* 0 when somebody listens there; a full backlog says so too.  Negative errno. */
int socket_probe(const char *path, int type);

#endif

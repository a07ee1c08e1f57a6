/*
 * socket: a Unix socket of ours at a path.
 */
#ifndef NODES_HOST_SOCKET_H
#define NODES_HOST_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
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

/*
 * What stands at a path, as far as it can be told from what may stand there
 * later.  As long as a socket is open its file keeps its number.
 */
struct socket_file {
	uint64_t dev, ino;		/* ino 0: it is not known */
};

/* The file of a path that has just been bound. */
struct socket_file socket_file(const char *path);
/* Does that still stand there?  -ENOENT when nothing does. */
int socket_is_there(const char *path, const struct socket_file *);
/*
 * Removes what stands there if it is that; to be called before the socket is
 * closed.  Whoever puts another in its place between a look and a call, which
 * no system call does at once, would lose his; but he would have to hold our
 * lock, or have removed our folder in the same moment.
 */
void socket_remove(const char *path, const struct socket_file *);

/* 0 when somebody listens there; a full backlog says so too.  Negative errno. */
int socket_probe(const char *path, int type);

#endif

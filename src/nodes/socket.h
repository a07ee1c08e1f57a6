/*
 * socket: a Unix socket of ours at a path.
 */
#ifndef NODES_SOCKET_H
#define NODES_SOCKET_H

#define SOCKET_PATH 108		/* what an address takes, with its NUL */

/*
 * A bound socket that only this user can connect to; it does not block and
 * does not listen yet.  Its name has our pid, so whoever had it before is gone
 * and is removed.  A descriptor for the caller to close, or a negative errno.
 */
int socket_bind(const char *path, int type);

#endif

/*
 * host: what page and node use of this machine.
 *
 * Vocabulary
 *	peer	the process at the other end of a local socket.
 *	role	what a page may do at a node: read, list-put, control.
 *	store	keeps descriptors for the next process of a node: systemd, or the
 *		node's supervisor.
 *	worker	a thread of libuv's pool, for work that may wait for a disk.
 *
 *	socket.c	Unix sockets
 *	inherited.c	descriptors that systemd or a supervisor has passed on
 *	workers.c	threads for work that may wait
 *	access.h	peers, their roles and streams
 *	fdstore.h	descriptors in the store
 *	proc.h		/proc: processes, threads, mappings
 *
 * Functions return a negative errno; the caller owns descriptors unless a
 * comment says otherwise.
 *
 * Example: may the peer read streams of `uid`?
 *	struct peer peer;
 *	if (access_peer(&access, fd, &peer) == 0 && access_reads(&access, &peer, uid))
 *		...
 */
#ifndef NODES_HOST_H
#define NODES_HOST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#define SOCKET_PATH 108		/* bytes of an address, with its NUL */

/*
 * A bound socket for this user, non-blocking, not listening.  Removes any file
 * at the path.  The caller closes it.
 */
int socket_bind(const char *path, int type);

/* The same with another mode, and a group unless that is (gid_t)-1. */
int socket_bind_for(const char *path, int type, mode_t mode, gid_t group);

/* A connected stream socket. -EAGAIN if the node's backlog is full. */
int socket_connect(const char *path);

/* Identity of a socket's file; no other file has it while the socket is open. */
struct socket_file {
	uint64_t dev, ino;		/* ino 0: unknown */
};

/* The file of a path that has just been bound. */
struct socket_file socket_file(const char *path);
/* 1 if that file is at the path, 0 if another, -ENOENT if none. */
int socket_is_there(const char *path, const struct socket_file *);
/*
 * Removes that file, before the socket closes.  Not atomic: the caller holds
 * the folder's lock.
 */
void socket_remove(const char *path, const struct socket_file *);

/* 0 if somebody listens there, even with a full backlog. */
int socket_probe(const char *path, int type);

/*
 * A node opens no path of a viewer, who offers a descriptor at the socket for
 * targets, and claims it by the token.
 */
#define FILE_OFFER_MAGIC 0x6b677046u
#define FILE_OFFER_TOKEN 16

struct file_offer {
	uint32_t magic, version;	/* version 1 */
	uint8_t token[FILE_OFFER_TOKEN];	/* random */
};

/*
 * Sends the descriptor, still the caller's, to the socket for targets.
 * -EAGAIN: full backlog.
 */
int socket_offer_file(const char *path, const struct file_offer *, int fd);

/* As in sd_listen_fds(3): systemd's sockets, and descriptors from the store. */
#define INHERITED_FIRST 3	/* the first descriptor */
#define INHERITED_MAX 4096	/* limit of descriptors */
#define INHERITED_NAMES (120 << 10)	/* limit of all names; the kernel has 128 KiB */

struct inherited {
	int fd;				/* -1: none of this type */
	char path[SOCKET_PATH];
};

/*
 * Passes inherited descriptors with names ("" none) to `one`, their owner;
 * CLOEXEC, and clears the environment.  -EINVAL: over INHERITED_MAX, left
 * alone.
 */
int inherited_each(void (*one)(void *arg, const char *name, int fd),
    void *arg);

/*
 * Those that `ours` (optional) does not take: a SOCK_STREAM and a
 * SOCK_SEQPACKET listener at most.  -EINVAL: others; then all are closed.
 */
int inherited_take(struct inherited *stream, struct inherited *seqpacket,
    bool (*ours)(void *arg, const char *name, int fd), void *arg);

/* The path of a listening Unix socket; -EINVAL for any other descriptor. */
int inherited_path(int fd, char path[SOCKET_PATH]);

/*
 * A page asks a supervisor (sigqueue(3)) to pass a signal on; the value:
 * which, and whose.  Not if that sender sent it to the supervisor, too: then
 * the whole group has it.
 */
#define SIGNAL_PASS (SIGRTMIN + 6)
#define SIGNAL_PASS_VALUE(sig, from) ((int)(from) << 6 | (sig))
#define SIGNAL_PASS_SIG(value) ((value) & 63)
#define SIGNAL_PASS_FROM(value) ((pid_t)((value) >> 6))

/*
 * Threads for uv_queue_work(), one if not all; further calls do nothing.
 * -EAGAIN: none; work would make libuv abort.
 */
int nodes_workers(uv_loop_t *);
/* nodes_workers(), then uv_queue_work(). */
int nodes_queue_work(uv_loop_t *, uv_work_t *, uv_work_cb, uv_after_work_cb);

#endif

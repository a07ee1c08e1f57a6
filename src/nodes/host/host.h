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
 * Functions that can fail return a negative errno. The caller owns descriptors
 * unless a comment says otherwise.
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
 * A bound socket for this user only, non-blocking, not listening yet. Removes
 * any file at the path. The caller closes it.
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
 * Removes that file; before the socket is closed. The check and the removal are
 * not atomic: the caller holds the folder's lock.
 */
void socket_remove(const char *path, const struct socket_file *);

/* 0 if somebody listens there, even with a full backlog. */
int socket_probe(const char *path, int type);

/*
 * A node opens no path that a viewer names: a viewer offers it a descriptor of
 * an open file at the socket for targets, and claims it as a page by the token.
 */
#define FILE_OFFER_MAGIC 0x6b677046u
#define FILE_OFFER_TOKEN 16

struct file_offer {
	uint32_t magic, version;	/* version 1 */
	uint8_t token[FILE_OFFER_TOKEN];	/* random */
};

/*
 * Sends the descriptor, which stays the caller's, to the socket for targets at
 * the path.  -EAGAIN if its backlog is full.
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
 * Passes each inherited descriptor with its name ("" none) to `one`, which owns
 * it from then on; sets CLOEXEC and clears the environment. -EINVAL for more
 * than INHERITED_MAX, which are left alone.
 */
int inherited_each(void (*one)(void *arg, const char *name, int fd),
    void *arg);

/*
 * Takes those that `ours` (optional) does not: listening Unix sockets, one of
 * type SOCK_STREAM and one of SOCK_SEQPACKET at most. -EINVAL for anything
 * else; then all are closed.
 */
int inherited_take(struct inherited *stream, struct inherited *seqpacket,
    bool (*ours)(void *arg, const char *name, int fd), void *arg);

/* The path of a listening Unix socket; -EINVAL for any other descriptor. */
int inherited_path(int fd, char path[SOCKET_PATH]);

/*
 * A page asks a command's supervisor by this signal (sigqueue(3)) to pass another
 * one on; the value says which, and its sender.  The supervisor does not if the
 * same sender has sent it to the supervisor, too: that signal was to the whole
 * process group, and the command has it.
 */
#define SIGNAL_PASS (SIGRTMIN + 6)
#define SIGNAL_PASS_VALUE(sig, from) ((int)(from) << 6 | (sig))
#define SIGNAL_PASS_SIG(value) ((value) & 63)
#define SIGNAL_PASS_FROM(value) ((pid_t)((value) >> 6))

/*
 * Makes the threads for uv_queue_work(), only one if there cannot be all.
 * Further calls do nothing. -EAGAIN if there can be none: no work may be queued
 * then, for libuv would abort.
 */
int nodes_workers(uv_loop_t *);
/* nodes_workers(), then uv_queue_work(). */
int nodes_queue_work(uv_loop_t *, uv_work_t *, uv_work_cb, uv_after_work_cb);

#endif

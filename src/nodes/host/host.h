/*
 * host: what a page and a node want of the machine that they run on.
 *
 * Vocabulary
 *	peer	the process at the other end of a local socket.
 *	role	what a page may do at a node: read, list-put, control.
 *	store	whoever keeps descriptors for the next process of a node:
 *		systemd, or the node's supervisor.
 *	worker	a thread of libuv's pool, for work that may wait for a disk.
 *
 *	access.h	peers, and which roles and streams they get
 *	fdstore.h	descriptors in the store
 *	inherited.h	descriptors that were passed to this process
 *	proc.h		/proc: processes, threads, mappings
 *	socket.h	Unix sockets with a path
 *	workers.h	work beside the loop
 *
 * Functions that can fail return a negative errno.  The caller owns descriptors
 * unless a comment says otherwise.
 *
 * Example: who has connected, and may he read the streams of `uid`?
 *	struct peer peer;
 *	if (access_peer(&access, fd, &peer) == 0 && access_reads(&access, &peer, uid))
 *		...
 */
#ifndef NODES_HOST_H
#define NODES_HOST_H

#include "access.h"
#include "fdstore.h"
#include "inherited.h"
#include "proc.h"
#include "socket.h"
#include "workers.h"

#endif

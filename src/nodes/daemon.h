/*
 * daemon: the node that stands alone.
 *
 * It listens at two sockets beside each other: `node`, for pages, and
 * `node.hello`, for targets that are started with liballoclog.so in LD_PRELOAD
 * and nothing else.  A user's are in that user's folder; the system's are in
 * /run/pagek, where the members of a group may come as pages, and processes of
 * any user as targets.  systemd may have opened them already; then they are
 * taken over.
 */
#ifndef NODES_DAEMON_H
#define NODES_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "fdstore.h"

struct node;
struct keeper;
struct kept;
struct takeover_node;

#define DAEMON_SYSTEM_FOLDER "/run/pagek"
#define DAEMON_SOCKET "node"
#define DAEMON_HELLO ".hello"		/* behind a node's path: its targets' socket */
#define DAEMON_OWN_STREAM "ALLOCLOG"	/* of the node itself */

struct daemon {
	struct fdstore store;		/* what is to outlive us */
	_Atomic size_t target_bytes;	/* of the last target's kept memory ... */
	_Atomic size_t sites_bytes;	/* ... and of the last stacks'; 0 not known */
	struct kept *kept;		/* memory of the next; NULL none */
	struct takeover_node *same;	/* what is the same in the process after us; NULL: nothing */
	uv_poll_t *above;		/* on our supervisor's socket; NULL none */
	int lock_fd;			/* held as long as the sockets are ours; 0 none */
	uv_signal_t interrupt;
	bool watching;
	struct keeper *own;		/* its row stands as long as the node does; NULL none */
};

/* Their names in the store. */
#define KEPT_PAGES FDSTORE_OURS "pages"
#define KEPT_TARGETS FDSTORE_OURS "targets"

/* Whoever watches over us, supervisor or systemd, is known from now on. */
void daemon_store(struct node *);

/* The report goes on where the process before us wrote it. */
void daemon_report(struct node *);

/*
 * A socket of this user's alone at a path: that of the process before us, on
 * which connections wait, else a new one, which is kept for the next.  *stays is
 * set when the path is another's by now.
 */
int daemon_socket(struct node *, const char *kept, const char *path, int type,
    bool *stays);

/* Listens, and is ready for targets when it returns; what fails is said. */
int daemon_begin(struct node *);
void daemon_close(struct node *);

#endif

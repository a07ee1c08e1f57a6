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
#ifndef NODES_PAGEKNODE_DAEMON_H
#define NODES_PAGEKNODE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct node;

#define DAEMON_OWN_STREAM "ALLOCLOG"	/* of the node itself */

struct daemon {
	uv_poll_t *above;		/* on our supervisor's socket; NULL none */
	int lock_fd;			/* held as long as the sockets are ours; 0 none */
	uv_signal_t interrupt;
	bool watching;
};

/* Finds our supervisor or systemd, which keeps descriptors for the next process. */
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

/*
 * pageknode: the program; it puts the rooms of the node together.
 *
 *	main.c, node.c	the node's parts, the program's start and end
 *	arguments.c	its arguments and --help
 *	daemon.c	a node that stands alone, and what each node takes over
 *			from the process before
 *	run.c		a node that runs a command
 *
 * A node that runs a command ends when the command's process tree has ended and
 * no page is connected; a generator or device ends with its last page; a daemon
 * ends when it is told to.
 *
 * A daemon listens at two sockets beside each other: `node`, for pages, and
 * `node.hello`, for targets that are started with liballoclog.so in LD_PRELOAD
 * and nothing else.  A user's are in that user's folder; the system's are in
 * /run/pagek, where the members of a group may come as pages, and processes of
 * any user as targets.  Sockets that systemd has opened are used instead.
 *
 * The command is a child of our supervisor (supervisor/command.h); the supervisor
 * tells us of each process of the tree that it has to reap, and when none is left.  So both
 * outlive this process: the next one hears the same, and listens at the same path.
 *
 * Example: a node in a test
 *	node_init(&node, &loop, &opts);
 *	... uv_run(&loop, UV_RUN_DEFAULT) ...
 *	node_close(&node);
 *	uv_run(&loop, UV_RUN_DEFAULT);
 *	node_fini(&node);
 */
#ifndef NODES_PAGEKNODE_H
#define NODES_PAGEKNODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "../../stream/wire/wire.h"
#include "../keeper/node.h"

#define NODE_USAGE 2			/* exit status: wrong arguments */
#define DAEMON_OWN_STREAM "ALLOCLOG"	/* of the node itself */

/* --- node.c ---------------------------------------------------------------- */

/*
 * Makes a node that does not serve yet; opts are copied, their strings are
 * borrowed.  node_fini() after the loop has run down.
 */
int node_init(struct node *, uv_loop_t *, const struct node_opts *);
/* Closes every handle; the loop has then to be run until it is empty. */
void node_close(struct node *);
void node_fini(struct node *);

/* The program's main, so that tests can link it; returns an exit status. */
int nodes_main(int argc, char **argv);

/* --- arguments.c ----------------------------------------------------------- */

/* -1: opts are set; else the status to end with, after a message. */
int node_options(int argc, char **argv, struct node_opts *);

/* --- daemon.c -------------------------------------------------------------- */

struct daemon {
	uv_poll_t *above;		/* on our supervisor's socket; NULL none */
	int lock_fd;			/* held as long as the sockets are ours; 0 none */
	uv_signal_t interrupt;
	bool watching;
};

/* Connects to our supervisor, or to systemd's store. */
void daemon_open_store(struct node *);

/* Takes over the report of the process before, or stores the new one. */
void daemon_share_report(struct node *);

/*
 * Listen for targets or pages beside or at a path, at the socket of the process
 * before if it is there; report errors.
 */
int daemon_listen_targets(struct node *, const char *path);
int daemon_listen_pages(struct node *, const char *path);

/* Listens, and is ready for targets when it returns; reports errors. */
int daemon_begin(struct node *);
void daemon_close(struct node *);

/* --- run.c ----------------------------------------------------------------- */

struct run {
	int32_t status;			/* wait status of the command; -1 it lives */
	int64_t begun_ms;		/* start of this process */
	bool page_returns;		/* the process before had a page */
	int64_t ended_ms;		/* wall clock */
	int error;			/* errno of a command that could not be run */
	char comm[64];			/* safe text */
	char reason[256];
	char lacks[128];		/* which of its targets have no totals; "" none */
	char output[108];		/* file of the target's output; "" none */
	uv_signal_t term;
	bool watching;
};

/*
 * Listens, takes over what the process before has left, and has the command
 * started unless it was; reports errors.
 */
int run_begin(struct node *, const char *folder);

/* A message of our supervisor. */
void run_message(struct node *, const char *text);
/* Our supervisor is gone: the tree ends for us with the last target that we see. */
void run_lost_supervisor(struct node *);
void run_second(struct node *);

/* May a page still come back to see how the command has ended? */
bool run_awaits_page(const struct node *);

/* Handles SIGTERM from now on. */
int run_watch(struct node *);
void run_close(struct node *);

/* STATS of the node itself. */
void run_stat(struct node *, struct wire_stats *);

#endif

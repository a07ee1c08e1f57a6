/*
 * command: the command that a node runs, from its arguments to its process.
 *
 * It is started by the node's supervisor (reaper.h), whose child it is.  What a
 * user and his shell meant for it, signals that are ignored, limits, closed
 * descriptors, is kept from us and given back to it.
 */
#ifndef NODES_SUPERVISOR_COMMAND_H
#define NODES_SUPERVISOR_COMMAND_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../host/socket.h"

struct node_opts;

#define COMMAND_IGNORED 8		/* signals that only the command heeds */
#define COMMAND_LIFTED 5		/* limits that hold for it only */

struct command {
	char *const *argv;
	bool tell;			/* there is no page that would */
	char hello[SOCKET_PATH + 32];	/* where its processes say hello */
	char library[PATH_MAX];
	struct sigaction before[COMMAND_IGNORED];	/* as they were for our starter */
	struct sigaction chld;		/* likewise, SIGCHLD */
	struct rlimit limits[COMMAND_LIFTED];	/* likewise */
	sigset_t mask;			/* likewise */
	int output_fd;			/* -1: its own three descriptors */
	pid_t pid;			/* 0: not started, or it could not be run */
	int error;			/* errno of a command that could not be run */
};

/*
 * All that can be done before there is a node; what fails is said.  From then
 * on signals and limits are as we need them.
 */
int command_prepare(struct command *, const struct node_opts *);

/*
 * Forks it; the child becomes the command once its environment is set.  Called
 * while the process has one thread, and when its hello is answered.  A command
 * that cannot be executed is no failure of this call: it is told by `error`,
 * and the child's status.
 */
int command_start(struct command *);

/* Where its output goes if it must not go to the terminal. */
int command_output(char *path, size_t cap, const char *folder, pid_t);

/*
 * Ignores the terminal's signals: the node outlives ^C and ^Z.  NULL:
 * nobody wants to know how it was.
 */
void command_ignore_terminal(struct sigaction before[COMMAND_IGNORED]);

/*
 * A limit on memory, time, file sizes or descriptors is meant for the command;
 * our rings and lists would not fit.
 */
void command_lift_limits(struct rlimit was[COMMAND_LIFTED]);

/* A reader of the target's or the page's pipe must not wait for our end too. */
void command_release_stdio(void);

#endif

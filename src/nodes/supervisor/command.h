/*
 * command: the command that a node runs, from its arguments to its process, and
 * the process tree of it.
 *
 * Signals that are ignored, limits and closed descriptors are meant for the
 * command: we set our own and restore the user's for it.
 *
 * An orphan's new parent can only be a process above it, so the supervisor starts
 * the command and reaps its tree, and not the node's process, which may die and
 * be followed by another.  The tree is over when the supervisor has no other
 * child than the node's process.
 *
 * One message each tells the node's process what it would see as a parent; a
 * process that has ended is reaped after the node's process has looked at it.
 * The next process of the node is told everything again.
 */
#ifndef NODES_SUPERVISOR_COMMAND_H
#define NODES_SUPERVISOR_COMMAND_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../host/host.h"

struct signalfd_siginfo;

struct node_opts;

#define COMMAND_IGNORED 8		/* signals that only the command heeds */
#define COMMAND_LIFTED 5		/* limits that hold for it only */

struct command {
	char *const *argv;
	const char *debug_data;		/* see struct node_opts */
	bool reports;			/* errors itself, for there is no page */
	char hello[SOCKET_PATH + 32];	/* where its processes say hello */
	char library[PATH_MAX];
	struct sigaction before[COMMAND_IGNORED];	/* as they were at our start */
	struct sigaction chld;		/* likewise, SIGCHLD */
	struct rlimit limits[COMMAND_LIFTED];	/* likewise */
	sigset_t mask;			/* likewise */
	int output_fd;			/* -1: our standard descriptors */
	pid_t pid;			/* 0: not started, or it could not be run */
	int error;			/* errno of a command that could not be run */
};

/*
 * Prepares the command before there is a node, and sets signals and limits as the
 * node needs them.  Reports errors.
 */
int command_prepare(struct command *, const struct node_opts *);

/*
 * Forks a child that becomes the command.  Called while the process has one
 * thread, and when hellos are answered.  A command that cannot be executed is no
 * failure: `error` and the child's status tell it.
 */
int command_start(struct command *);

/* The file that it executes for the command's first word; false: none. */
bool command_find(const char *word, char file[PATH_MAX]);

/* The path of the file for its output, if that must not go to the terminal. */
int command_output(char *path, size_t cap, const char *folder, pid_t);

/*
 * Ignores the terminal's signals: the node outlives ^C and ^Z.  before: receives
 * the earlier actions; may be NULL.
 */
void command_ignore_terminal(struct sigaction before[COMMAND_IGNORED]);

/* Lifts limits on memory, time, file sizes and descriptors; was: may be NULL. */
void command_lift_limits(struct rlimit was[COMMAND_LIFTED]);

/* Releases descriptors 0 to 2: their readers must not wait for our end. */
void command_release_stdio(void);

/* --- reaper.c -------------------------------------------------------------- */

/* To the node's process. */
#define REAPER_STARTED "STARTED="		/* the command's pid, its wait status or -1 */
#define REAPER_NOTRUN "NOTRUN="		/* errno, status of its child or -1 */
#define REAPER_ENDED "ENDED="		/* pid, wait status: it waits to be reaped */
#define REAPER_OVER "OVER=1"		/* no process is left */

/* From it. */
#define REAPER_RUN "RUN=1"		/* targets are answered: the command may start */
#define REAPER_REAP "REAP="		/* pid: it has been looked at */

#define REAPER_SIGNALS 16		/* SIGTERM is the highest of those passed on */
#define REAPER_WAIT_MS 50	/* timeout(1) sends one to the page and one to the group */
#define REAPER_GROUP_MS 200	/* so long one to us counts as the group's */

struct reaper {
	struct command *command;	/* NULL: the node has none */
	pid_t node;			/* the node's process */
	int channel;			/* socket to that; -1 none */
	pid_t shown;			/* process whose end it was told and has not confirmed; 0 none */
	int32_t status;			/* of the command; -1 it lives */
	bool run;			/* the command was started, or failed to */
	int signal;			/* for a command that is not started yet; 0 none */
	struct {
		pid_t from;		/* sender of the last one to us; may be 0 */
		int64_t ms;		/* time of that; 0: none */
		pid_t asked_from;	/* sender of the one that a page wants passed on */
		int64_t due_ms;		/* when to pass it on, unless it comes to us too; 0: none */
		uint64_t no;		/* order of the pages' requests */
	} heard[REAPER_SIGNALS];	/* by the signal's number */
	uint64_t asked;
	bool over;
};

#define CANNOT_RUN 125			/* exit status for a command that cannot be started */

/* Orphans of the tree become our children from now on. */
int reaper_begin(struct reaper *, struct command *);
/* The node has another process. */
void reaper_set_node(struct reaper *, pid_t node, int channel);
/* Handles a line of a message.  Negative errno: the command cannot be started. */
int reaper_take_line(struct reaper *, const char *line);
/*
 * True if the signal is for the command, whose end ends the node; without a page
 * this passes it on.
 */
bool reaper_takes_signal(struct reaper *, int sig);
/* Passes a signal on for a page (SIGNAL_PASS), after a pause; NULL: those that are due. */
void reaper_pass_signal(struct reaper *, const struct signalfd_siginfo *);
/* Milliseconds until reaper_pass_signal(r, NULL) is due; -1: no signal waits. */
int reaper_pass_timeout(const struct reaper *);
/* Remembers a signal to us. */
void reaper_hear_signal(struct reaper *, const struct signalfd_siginfo *);
/* Looks for processes that have ended; after a SIGCHLD. */
void reaper_look(struct reaper *);

#endif

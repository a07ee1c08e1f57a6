/*
 * reaper: the processes of a node's command, as the node's supervisor has them.
 *
 * No process can be given another parent than the next reaper above it, so it is
 * the supervisor that starts the command and is the reaper of its tree, and not
 * the node's process, which dies and is followed by another.  The tree is over
 * when the supervisor has no other child than that: what the node's process has
 * started for itself ends with it.
 *
 * A message each tells the node's process what it would see as a parent: one
 * that has ended is not reaped before that has looked at it.  The next process
 * of the node is told everything again.
 */
#ifndef NODES_SUPERVISOR_REAPER_H
#define NODES_SUPERVISOR_REAPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct command;

/* To the node's process. */
#define REAPER_STARTED "STARTED="		/* the command's pid, its wait status or -1 */
#define REAPER_NOTRUN "NOTRUN="		/* errno, status of its child or -1 */
#define REAPER_ENDED "ENDED="		/* pid, wait status: it waits to be reaped */
#define REAPER_OVER "OVER=1"		/* no process is left */

/* From it. */
#define REAPER_RUN "RUN=1"		/* targets are answered: the command may start */
#define REAPER_REAP "REAP="		/* pid: it has been looked at */

struct reaper {
	struct command *command;	/* NULL: the node has none */
	pid_t node;			/* the node's process */
	int channel;			/* socket to that; -1 none */
	pid_t shown;			/* it was told of this end; 0 none */
	int32_t status;			/* of the command; -1 it lives */
	bool run;			/* the command was started, or could not be */
	bool over;
};

/* Orphans of the tree come to us from now on. */
int reaper_begin(struct reaper *, struct command *);
/* Another process is the node's. */
void reaper_set_node(struct reaper *, pid_t node, int channel);
/* A line that it has sent.  Negative errno: the command cannot be started. */
int reaper_take_line(struct reaper *, const char *line);
/* Have processes ended?  After a SIGCHLD, and when the node's was reaped. */
void reaper_look(struct reaper *);

#endif

/*
 * ward: the processes of a node's command, as the node's supervisor has them.
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
#ifndef NODES_SUPERVISOR_WARD_H
#define NODES_SUPERVISOR_WARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct command;

/* To the node's process. */
#define WARD_STARTED "STARTED="		/* the command's pid, its wait status or -1 */
#define WARD_NOTRUN "NOTRUN="		/* errno, status of its child or -1 */
#define WARD_ENDED "ENDED="		/* pid, wait status: it waits to be reaped */
#define WARD_OVER "OVER=1"		/* no process is left */

/* From it. */
#define WARD_RUN "RUN=1"		/* targets are answered: the command may start */
#define WARD_REAP "REAP="		/* pid: it has been looked at */

struct ward {
	struct command *command;	/* NULL: the node has none */
	pid_t node;			/* the node's process */
	int channel;			/* socket to that; -1 none */
	pid_t shown;			/* it was told of this end; 0 none */
	int32_t status;			/* of the command; -1 it lives */
	bool run;			/* the command was started, or could not be */
	bool over;
};

/* Orphans of the tree come to us from now on. */
int ward_begin(struct ward *, struct command *);
/* Another process is the node's. */
void ward_node(struct ward *, pid_t node, int channel);
/* A line that it has sent.  Negative errno: the command cannot be started. */
int ward_hear(struct ward *, const char *line);
/* Have processes ended?  After a SIGCHLD, and when the node's was reaped. */
void ward_look(struct ward *);

#endif

/*
 * run: the command that the node was started for, and its process tree.
 *
 * The node is the reaper of the whole tree: it adopts what is orphaned, so the
 * tree has ended exactly when the node has no child left.
 */
#ifndef NODES_RUN_H
#define NODES_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <uv.h>

#include "../stream/wire.h"

struct node;

#define RUN_IGNORED 8			/* signals that only the target heeds */
#define RUN_LIFTED 5			/* limits that hold for the target only */

struct run {
	struct sigaction before[RUN_IGNORED];	/* as they were for our starter */
	struct rlimit limits[RUN_LIFTED];	/* likewise */
	pid_t root;			/* 0: there is no command, or it could not be run */
	int32_t status;			/* wait status of the command; -1 it lives */
	bool ended;			/* the tree */
	int64_t ended_ms;		/* wall clock */
	int error;			/* errno of a command that could not be run */
	char comm[64];			/* safe text */
	char reason[128];
	char output[108];		/* file of the target's output; "" none */
	uv_signal_t chld, term;
	bool watching;
};

/*
 * What a terminal sends is not for the node: it has to outlive ^C and ^Z.  The
 * command gets its signals back as they were.
 */
void run_ignore_terminal(struct run *);

/*
 * A limit on memory, time, file sizes or descriptors is meant for the command;
 * our rings and lists would not fit.  The command gets its limits back.
 */
void run_lift_limits(struct run *);

/* A reader of the target's or the page's pipe must not wait for our end too. */
void run_release_stdio(void);

/*
 * Forks the command, which becomes it once its environment is set.  Called
 * while the process has one thread; the hello socket must be bound.  A command
 * that cannot be executed is no failure of this call: it is told by run.error.
 */
int run_start(struct node *, const char *hello_path, const char *folder);

/* Signal handles: children that end, and being told to end. */
int run_watch(struct node *);
void run_close(struct node *);

/* Takes in every child that has ended. */
void run_reap(struct node *);

/* STATS of the node itself. */
void run_stat(struct node *, struct wire_stats *);

#endif

/*
 * pageknode: the program; it puts the rooms of the node together.
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

#include "../keeper/node.h"
#include "daemon.h"
#include "run.h"

#define NODE_USAGE 2			/* exit status: wrong arguments */

/*
 * Makes a node that serves nobody yet; opts are copied, their strings are the
 * caller's.  node_fini() after the loop has run down.
 */
int node_init(struct node *, uv_loop_t *, const struct node_opts *);
/* Closes every handle; the loop has then to be run until it is empty. */
void node_close(struct node *);
void node_fini(struct node *);

/*
 * Parses the program's arguments (arguments.c).  -1: there is a node to be made
 * of them; else the status to end with, after a message.
 */
int node_options(int argc, char **argv, struct node_opts *);

/* The program's main, so that tests can link it; returns an exit status. */
int nodes_main(int argc, char **argv);

#endif

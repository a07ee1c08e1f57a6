/*
 * run: the command that the node was started for, and its process tree.
 *
 * The command is our supervisor's child (reaper.h), which tells us of each process
 * of the tree that it has to reap, and when there is none left.  So both outlive
 * this process: the next one hears the same, and listens at the same path.
 */
#ifndef NODES_PAGEKNODE_RUN_H
#define NODES_PAGEKNODE_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "../../stream/wire/wire.h"

struct node;

struct run {
	pid_t root;			/* 0: there is no command, or it could not be run */
	int32_t status;			/* wait status of the command; -1 it lives */
	int64_t begun_ms;		/* this process of the node */
	bool page_returns;		/* the one before us had a page */
	int64_t ended_ms;		/* wall clock */
	int error;			/* errno of a command that could not be run */
	char comm[64];			/* safe text */
	char reason[128];
	char lacks[128];		/* what of its targets is gone; "" nothing */
	char output[108];		/* file of the target's output; "" none */
	uv_signal_t term;
	bool watching;
};

/*
 * Listens, takes up what the process before us has left, and has the command
 * started, unless it has been; what fails is said.
 */
int run_begin(struct node *, const char *folder);

/* A message of our supervisor's. */
void run_told(struct node *, const char *word);
/* It is gone: the tree ends for us with the last target that we see. */
void run_deserted(struct node *);
void run_second(struct node *);

/* A page may come back, and wants to know how the command has ended. */
bool run_awaits_page(const struct node *);

/* A signal handle: being told to end. */
int run_watch(struct node *);
void run_close(struct node *);

/* STATS of the node itself. */
void run_stat(struct node *, struct wire_stats *);

#endif

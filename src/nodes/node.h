/*
 * node: what the parts of pageknode share.  One loop, one thread; beside it
 * the acceptor of targets (hello.c), who makes what they are given (spare.c), a
 * sleeper for each calm target (bell.c) and libuv's workers (what lies at frames,
 * /proc).
 */
#ifndef NODES_NODE_H
#define NODES_NODE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "../base/base.h"
#include "../stream/stream.h"
#include "../stream/wire/wire.h"
#include "access.h"
#include "bell.h"
#include "daemon.h"
#include "drain.h"
#include "dstrm.h"
#include "friendly.h"
#include "hello.h"
#include "keeper.h"
#include "node_options.h"
#include "nodes.h"
#include "own.h"
#include "quota.h"
#include "report.h"
#include "run.h"
#include "serve.h"

#define NODE_PATH SOCKET_PATH		/* of the folder, and of what is in it */
#define NODE_TARGETS_MAX 480		/* that live */
#define NODE_USER_TARGETS 120		/* of them of one user, at a system's node */
#define NODE_ENDED_ROWS 256		/* of ended images that a daemon keeps */
#define NODE_ENDED_MS (60 * 60 * 1000)	/* ... and for how long */
#define NODE_ENDED_USERS 64		/* whose images are told apart; of more the first ones' */
#define NODE_LISTS_KEPT 16		/* of ended targets */
#define NODE_LISTS_BYTES (256u << 20)	/* and all of them together at most */

#define NODE_USAGE 2

struct device;

struct node {
	uv_loop_t *loop;
	struct node_opts opts;
	char name[64];			/* safe text */
	uint16_t number;
	uint8_t id[WIRE_EPOCH];
	uint8_t boot[WIRE_EPOCH];
	struct mono begun;
	struct access access;
	struct friendly friendly;	/* its table of nodes */
	struct stream_types types;	/* table "types" */

	struct dstrm dstrm;
	struct keepers live;		/* with a row, not ended */
	struct keepers ended;		/* with a row, first ended first */
	struct ended_user {
		uid_t uid;
		uint32_t rows;		/* of these */
	} ended_user[NODE_ENDED_USERS];
	struct keepers shelved;		/* of the ended the ones that still have their lists */
	struct {
		uint64_t images, peak, peak_most, lost, missed, full;
	} gone;				/* ended, and their rows given up */
	struct quota quota;		/* live targets that have a stream */
	_Atomic uint64_t last_stream;	/* ids given out, or to be */
	_Atomic bool awake;		/* some target logs, as far as is known */

	struct serve serve;
	struct lookup lookup;
	struct drain drain;
	struct bells bells;
	struct hello hello;
	struct run run;
	struct daemon daemon;
	struct own own;
	struct report report;
	struct listings listings;
	struct device *device;		/* NULL: its records do not come from one */
	uv_timer_t second;
	bool scanning;			/* a look for processes without a stream is on */
	bool closing;
};

/*
 * Makes a node that serves nobody yet; opts are copied, their strings are the
 * caller's.  node_fini() after the loop has run down.
 */
int node_init(struct node *, uv_loop_t *, const struct node_opts *);
/* Closes every handle; the loop has then to be run until it is empty. */
void node_close(struct node *);
void node_fini(struct node *);

/*
 * The program's arguments (arguments.c): -1 when there is a node to be made of them, else
 * the status to end with, all being said.
 */
int node_options(int argc, char **argv, struct node_opts *);

/* Says what went wrong with what, and returns r. */
int node_say(const char *what, int r);
/* The same of the folder that nodes_folder() could not have. */
int node_say_folder(int r);

/* Stops the loop when there is nobody left to serve. */
void node_done_check(struct node *);

#endif

/*
 * node: what the rooms of pageknode share.  One loop, one thread; beside it the
 * thread that accepts targets (hello.c), the one that makes keepers in advance
 * (keeper_pool.c), a sleeping thread for each calm target (visits.c) and libuv's
 * workers (symbols, /proc).
 *
 * Rooms above the keepers define their own state; node has pointers to it.  A
 * room calls those above it through node_hooks.
 */
#ifndef NODES_KEEPER_NODE_H
#define NODES_KEEPER_NODE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "../../base/base.h"
#include "../../stream/stream.h"
#include "../../stream/wire/wire.h"
#include "../host/access.h"
#include "../host/host.h"
#include "../node_options/node_options.h"
#include "../places/friendly.h"
#include "visits.h"
#include "dstrm.h"
#include "keeper.h"
#include "takeover_memory.h"

#define NODE_PATH SOCKET_PATH		/* of the folder, and of what is in it */
#define NODE_TARGETS_MAX 480		/* live targets */
#define NODE_USER_TARGETS 120		/* live targets of one user at a system's node */

struct daemon;
struct device;
struct hello;
struct images;
struct node_stress;
struct self_watch;
struct quota;
struct recorder;
struct replay;
struct run;
struct serve;
struct node_refcnt;

/* Calls from a room to one above it. */
struct node_hooks {
	/* Adopts the targets that have arrived. */
	void (*adopt)(struct node *);
	/* Stops the loop when there is nobody left to serve. */
	void (*check_done)(struct node *);
	/* Is that page's connection still open? */
	bool (*is_connected)(struct node *, uint64_t conn);
	/* Fills in the state of the node's command, as in STATS of the node. */
	void (*stat_command)(struct node *, struct wire_stats *);
	/* The target's feed is to be freed. */
	void (*feed_ends)(struct keeper *);
	/* The target wants references counted, or no longer. */
	void (*count)(struct keeper *, const struct rec *);
};

/* The process tree of the node's command. */
struct command_tree {
	pid_t parent;			/* our supervisor, the command's parent */
	pid_t root;			/* the command; 0: it could not be run, or none */
	const char *takes_none;		/* why nothing is preloaded into it; NULL: it is */
	bool ended;
	bool unsupervised;		/* our supervisor is gone */
};

struct node {
	uv_loop_t *loop;
	const struct node_hooks *hooks;
	struct node_opts opts;
	char name[64];			/* safe text */
	uint16_t number;
	uint8_t id[WIRE_EPOCH];
	uint8_t boot[WIRE_EPOCH];
	struct {
		struct mono begun;
		bool closing;
		_Atomic bool awake;	/* some target logs, as far as is known */
		uv_timer_t second;
	} life;
	struct access access;
	struct friendly friendly;	/* its table of nodes */
	struct stream_types types;	/* table "types" */

	struct dstrm dstrm;
	struct keepers live;		/* with a row, not ended */
	struct keeper *own_stream;	/* the node's own blocks; NULL none */
	struct drain drain;
	struct node_store store;
	struct command_tree command;
	_Atomic uint64_t last_stream;	/* last id given to a stream */

	struct self_watch *self_watch;
	struct node_stress *stress;
	struct recorder *recorder;
	struct hello *hello;
	struct quota *quota;
	struct images *images;
	struct serve *serve;
	struct node_refcnt *refcnt;
	struct device *device;		/* NULL: its records do not come from one */
	struct replay *replay;		/* NULL: it replays no capture */
	struct run *run;
	struct daemon *daemon;
};

static inline void
node_check_done(struct node *node)
{
	node->hooks->check_done(node);
}

#endif

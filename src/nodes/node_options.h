/*
 * node_options: what a node can be told, by the options of pageknode or by the
 * page that starts it; nodes_start() and the node's own parser go by one table,
 * node_options.def.
 *
 * Example: a node of our own that runs a command
 *	nodes_start(&link, loop, &(struct node_opts){ NODE_OPTS_NONE,
 *	    .argv = argv, .stack = 16 });
 *
 * A new option is a row of node_options.def and a field; one that pagek takes
 * too is named in pagek's options.def.
 */
#ifndef NODES_NODE_OPTIONS_H
#define NODES_NODE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "../base/option.h"

#define NODE_STACK 16			/* frames of a daemon's targets, unless told otherwise */

/* Kinds of node, as a mask. */
enum node_kind {
	NODE_COMMAND = 1,		/* runs a command */
	NODE_DEMO = 2,			/* generates records, or reads a device */
	NODE_DAEMON = 4,		/* stands alone */
	NODE_ANY = NODE_COMMAND | NODE_DEMO | NODE_DAEMON,
	NODE_BRIDGE = 8,		/* no node: a page's way to one */
	NODE_PRIVATE = 16,		/* of options alone: for pages, not for people */
};

struct node_opts {
	int fd;				/* the first page; -1 none */
	uint32_t max;			/* aRecMax; 0: the default */
	bool no_wait;
	bool own_session;
	bool check_list;
	unsigned stack;			/* frames of an allocation's stack; 0: its caller alone */
	bool free_stacks;		/* frees have theirs too */
	bool no_pairs;			/* a record for each event: peaks are exact */
	bool dormant;			/* targets log nothing until they are armed */
	uint64_t sample;		/* mean bytes between samples; 0: every event */
	const char *report;
	const char *hello;		/* of another node, whose targets the command's are */
	const char *demo;
	const char *demo_at;
	const char *demo_stream;
	int device;			/* descriptor of a classic stream; -1 none */
	const char *device_name;	/* what it is called */
	bool device_once;		/* no other writer of a FIFO is waited for */
	unsigned baud;			/* of a terminal; 0: as it is */
	char *const *argv;		/* the command, NULL-ended; NULL none */
	bool bridge;			/* no node at all: see bridge.h */
	const char *target;		/* of the bridge's page; NULL none */
	uint16_t page_node;		/* that the bridge's page is on; 0 not known */
	bool daemon;			/* neither a command nor a generator: it stands alone */
	bool system;			/* for all users */
	bool alone;			/* without a supervisor */
	int supervised;			/* socket to our supervisor; -1 none, or it has yet to be */
	uint32_t roles;			/* the most that pages are granted; 0: all */
	unsigned clients;		/* pages at a time; 0: SERVE_CONNS */
	const char *spool;		/* folder of listings; NULL: the usual one */
	bool print;			/* listings that have come */
	const char *printer;		/* NULL: lp's own choice */
};

/* No descriptors; all else is 0. */
#define NODE_OPTS_NONE .fd = -1, .device = -1, .supervised = -1

enum node_option_id {
#define HANDED(id, name, argument, value, kinds, help) NODE_OPTION_##id,
#define OWN(id, name, argument, value, kinds, help) NODE_OPTION_##id,
#include "node_options.def"
#undef HANDED
#undef OWN
	NODE_OPTIONS
};

struct node_option {
	struct base_option option;	/* its fields are struct node_opts' */
	unsigned kinds;			/* of node that take it: enum node_kind */
};

/* Those that a page gives on; the others have no name here. */
extern const struct node_option node_handed[NODE_OPTIONS];

enum node_kind node_kind(const struct node_opts *);

/*
 * The command line of pageknode for these options, as far as its kind of node
 * takes them and a page may give them; the caller's to free, its texts are the
 * options'.  NULL: no memory.
 */
char **node_options_argv(const struct node_opts *);

/* False for a speed that no terminal has. */
bool node_options_speed(unsigned baud, speed_t *);

#endif

/*
 * node_options: the options of pageknode. node_options.def is the table for its
 * parser, its --help and the command line by which nodes_start() starts it.
 * pagek sets the HANDED rows by its options.def.
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

#include "../../base/option.h"

#define NODES_HZ 15		/* cycles a second */
#define NODES_MAX (1u << 20)	/* aRecMax of a list, unless told otherwise ... */
#define NODES_MAX_CLASSIC 2048	/* ... and of a classic stream: the note's */

/* Begin of a node's reason if lines of its report could not be written. */
#define NODES_REPORT_MISSING "lines of the report are missing"

/* Exit statuses of the bridge, those of pagek; 255 and 127 are ssh's own. */
#define BRIDGE_FAILED 1
#define BRIDGE_NO_NODE 3
#define BRIDGE_DENIED 4
/* Begin of its message with that status; a page on another machine looks for it. */
#define BRIDGE_SAYS_NO_NODE "no node of "

/* Origin of a page on this machine that came through ssh. */
#define BRIDGE_LOOP "localhost"

#define RECORD_RING_MAX (UINT64_C(1) << 50)
#define NODE_STACK 16			/* default frames of a daemon's targets */

/* Kinds of node, as a mask. */
enum node_kind {
	NODE_COMMAND = 1,		/* runs a command */
	NODE_DEMO = 2,			/* generates records, reads a device, or replays a capture */
	NODE_DAEMON = 4,		/* stands alone */
	NODE_ANY = NODE_COMMAND | NODE_DEMO | NODE_DAEMON,
	NODE_BRIDGE = 8,		/* no node: connects a page to one */
	NODE_PRIVATE = 16,		/* of options: not in --help, for pages only */
};

struct node_opts {
	int fd;				/* socket of the first page; -1 none */
	uint32_t max;			/* aRecMax; 0: the default */
	bool no_wait;
	bool own_session;
	bool check_list;
	unsigned stack;			/* frames of an allocation's stack; 0: its caller alone */
	bool free_stacks;		/* record stacks of frees too */
	bool no_pairs;			/* a record for each event: peaks are exact */
	bool usage;			/* count each image by caller, type and size */
	bool dormant;			/* targets log nothing until they are armed */
	uint64_t sample;		/* mean bytes between samples; 0: every event */
	const char *report;
	const char *root;		/* folder with copies of the kernel's files; NULL: this machine's */
	const char *debug_data;		/* settings of the command's memory debug data; NULL: none */
	const char *hello;		/* socket of the node that keeps the command's targets; NULL: this one */
	struct {
		const char *name;	/* of the demo; NULL none */
		const char *at;		/* time at which its clock stands; NULL */
		const char *stream;	/* name in DSTRM; NULL: the default */
	} demo;
	struct {
		int fd;			/* classic stream; -1 none */
		const char *name;
		bool once;		/* end when the writer of a FIFO ends */
		unsigned baud;		/* speed of a terminal; 0: as it is set */
	} device;
	struct {
		int fd;			/* file or folder of the command's recording; -1 none */
		uint64_t ring;		/* bytes of the folder's files; 0: a file */
	} record;
	struct {
		const char *path;	/* capture to replay; NULL none */
		uint32_t part;
		const char *at;		/* its moment; NULL: the end */
		bool plays;		/* from there on */
		bool follows;		/* it waits at the end of a capture that has none */
	} replay;
	char *const *argv;		/* the command, NULL-ended; NULL none */
	struct {
		bool on;		/* connect a page to a node: see bridge.h */
		const char *target;	/* of the page; NULL none */
		uint16_t page_node;	/* that the page is on; 0 unknown */
	} bridge;
	bool daemon;			/* node that stands alone: no command, demo or device */
	bool system;			/* serve all users */
	bool alone;			/* run without a supervisor */
	int supervised;			/* socket to the supervisor; -1 none yet */
	uint32_t roles;			/* roles that pages may have; 0: all */
	unsigned clients;		/* maximum of pages; 0: SERVE_CONNS */
	const char *spool;		/* folder of listings; NULL: the default */
	struct {
		bool on;		/* print listings that arrive */
		const char *printer;	/* NULL: lp chooses */
	} print;
};

/* Initialiser: no descriptors. All other fields are 0. */
#define NODE_OPTS_NONE .fd = -1, .device.fd = -1, .supervised = -1, \
	.record.fd = -1

enum node_option_id {
#define HANDED(id, name, argument, value, kinds, help) NODE_OPTION_##id,
#define OWN(id, name, argument, value, kinds, help) NODE_OPTION_##id,
#include "node_options.def"
#undef HANDED
#undef OWN
	NODE_OPTIONS
};

struct node_option {
	struct base_option option;	/* its field is in struct node_opts */
	unsigned kinds;			/* kinds of node that take it: enum node_kind */
};

/* Options that a page hands on; other rows have no name. */
extern const struct node_option node_handed[NODE_OPTIONS];

enum node_kind node_kind(const struct node_opts *);

/*
 * The command line of pageknode for these options. Options of another kind of
 * node, and those that a page does not hand on, are left out. Free with free();
 * texts are borrowed from the options. NULL: no memory.
 */
char **node_options_argv(const struct node_opts *);

/* Reports on standard error what failed with negative errno r, and returns r. */
int node_say(const char *what, int r);
/* The same for the folder that nodes_folder() could not provide. */
int node_say_folder(int r);

/* The terminal's constant for a speed; false: no terminal has it. */
bool node_options_speed(unsigned baud, speed_t *);

#endif

/*
 * The arguments of pageknode, all of them in one table: parsing and --help are
 * made from it.
 */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "node.h"
#include "spool_print.h"

#define HELP_COLUMN 24
#define DESCRIPTOR_MAX (1 << 20)

enum node_option {
	OPT_FD = 256, OPT_MAX, OPT_NO_WAIT, OPT_REPORT, OPT_OWN_SESSION,
	OPT_CHECK_LIST, OPT_DEMO, OPT_AT, OPT_STREAM, OPT_STACK,
	OPT_FREE_STACK, OPT_DORMANT, OPT_SAMPLE, OPT_SYSTEM, OPT_ROLE,
	OPT_CLIENTS, OPT_HELLO, OPT_STDIO, OPT_TARGET, OPT_NODE,
	OPT_NO_SUPERVISOR, OPT_SUPERVISED,
	OPT_DEVICE, OPT_DEVICE_NAME, OPT_DEVICE_ONCE, OPT_BAUD,
	OPT_SPOOL, OPT_PRINT, OPT_NO_PAIRS,
	OPT_HELP, OPT_VERSION,
};

/* Of which kinds of node an option is. */
#define COMMAND 1
#define DEMO 2
#define DAEMON 4
#define ANY (COMMAND | DEMO | DAEMON)
#define BRIDGE 8

struct option_entry {
	const char *name;
	const char *argument;		/* NULL: it takes none; in brackets: it may be left out */
	enum node_option option;
	unsigned kinds;
	const char *help;		/* NULL: for the page that starts us */
	/* NULL: of it nothing is remembered. */
	int (*take)(struct node_opts *, const struct option_entry *,
	    const char *arg);
	size_t at;			/* of what it fills in node_opts */
	uint64_t max;			/* of a number */
};

/* --- what they take ------------------------------------------------------- */

static void *
place_of(struct node_opts *o, const struct option_entry *e)
{
	return (char *)o + e->at;
}

static int
take_flag(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	bool *flag = place_of(o, e);

	(void)arg;
	*flag = true;
	return 0;
}

static int
take_text(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	const char **text = place_of(o, e);

	*text = arg;
	return 0;
}

static int
take_number(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	unsigned *number = place_of(o, e);
	unsigned long n;
	char *end;

	if (*arg < '0' || *arg > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno != 0 || *end != '\0' || n > e->max)
		return -EINVAL;
	*number = (unsigned)n;
	return 0;
}

static int
take_size(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	return base_parse_size(arg, e->max, place_of(o, e));
}

static int
take_clients(struct node_opts *o, const struct option_entry *e,
    const char *arg)
{
	int r = take_number(o, e, arg);

	return r == 0 && o->clients == 0 ? -EINVAL : r;
}

static int
take_folder(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	return arg[0] != '\0' ? take_text(o, e, arg) : -EINVAL;
}

static int
take_target(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	return bridge_target_ok(arg) ? take_text(o, e, arg) : -EINVAL;
}

static int
take_node(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	(void)e;
	return nodes_parse_number(arg, strlen(arg), &o->page_node) &&
	    o->page_node != 0 ? 0 : -EINVAL;
}

static int
take_roles(struct node_opts *o, const struct option_entry *e, const char *arg)
{
	(void)e;
	return access_parse_roles(arg, &o->roles);
}

/* Without one lp chooses. */
static int
take_printer(struct node_opts *o, const struct option_entry *e,
    const char *arg)
{
	o->print = true;
	return arg == NULL || print_name_ok(arg) ? take_text(o, e, arg) :
	    -EINVAL;
}

/* --- the table ------------------------------------------------------------ */

#define AT(field) offsetof(struct node_opts, field)

static const struct option_entry options[] = {
	{ "system", NULL, OPT_SYSTEM, DAEMON,
	    "serve all users, at /run/pagek/node",
	    .take = take_flag, .at = AT(system) },
	{ "stdio", NULL, OPT_STDIO, BRIDGE,
	    "no node: a page's way to one, as over ssh",
	    .take = take_flag, .at = AT(bridge) },
	{ "target", "TARGET", OPT_TARGET, BRIDGE,
	    "to that of several nodes that has it: pid:N, a stream",
	    .take = take_target, .at = AT(target) },
	{ "node", "NNNN", OPT_NODE, BRIDGE,
	    "the page is on the node with this number, and no other",
	    .take = take_node, .at = AT(page_node) },
	{ "role", "ROLES", OPT_ROLE, ANY | BRIDGE,
	    "the most that pages may do: read,list-put,control",
	    .take = take_roles, .at = AT(roles) },
	{ "clients", "N", OPT_CLIENTS, ANY,
	    "pages at a time, 64 unless given, 256 at most",
	    .take = take_clients, .at = AT(clients), .max = SERVE_CONNS_MAX },
	{ "max", "N", OPT_MAX, ANY,
	    "blocks that the list of a target can hold (aRecMax)",
	    .take = take_number, .at = AT(max), .max = BLKLIST_MAX },
	{ "stack", "N", OPT_STACK, COMMAND | DAEMON,
	    "frames of each allocation's stack, 0 to 64",
	    .take = take_number, .at = AT(stack), .max = RING_STACK_MAX },
	{ "free-stack", NULL, OPT_FREE_STACK, COMMAND | DAEMON,
	    "stacks of frees too",
	    .take = take_flag, .at = AT(free_stacks) },
	{ "no-pairs", NULL, OPT_NO_PAIRS, COMMAND | DAEMON,
	    "a record for each event: peaks are exact, and it costs more",
	    .take = take_flag, .at = AT(no_pairs) },
	{ "sample", "SIZE", OPT_SAMPLE, COMMAND | DAEMON,
	    "log a sample: one allocation in SIZE bytes",
	    .take = take_size, .at = AT(sample), .max = BLKLIST_SAMPLE_MAX },
	{ "dormant", NULL, OPT_DORMANT, COMMAND | DAEMON,
	    "targets log nothing until they are armed",
	    .take = take_flag, .at = AT(dormant) },
	{ "no-wait", NULL, OPT_NO_WAIT, COMMAND | DAEMON,
	    "never make a target wait for room: drop and count",
	    .take = take_flag, .at = AT(no_wait) },
	{ "report", "FILE", OPT_REPORT, COMMAND | DAEMON,
	    "a JSON line for each process image that has ended",
	    .take = take_text, .at = AT(report) },
	{ "check-list", NULL, OPT_CHECK_LIST, ANY,
	    "keep the literal list beside, and compare",
	    .take = take_flag, .at = AT(check_list) },
	{ "spool", "DIR", OPT_SPOOL, ANY,
	    "store listings in DIR",
	    .take = take_folder, .at = AT(spool) },
	{ "print", "[PRINTER]", OPT_PRINT, DAEMON,
	    "print each listing that has come, with lp",
	    .take = take_printer, .at = AT(printer) },
	{ "no-supervisor", NULL, OPT_NO_SUPERVISOR, DAEMON,
	    "nobody of ours starts it again: systemd does, or nobody",
	    .take = take_flag, .at = AT(alone) },
	{ "supervised", "N", OPT_SUPERVISED, COMMAND | DAEMON, NULL,
	    .take = take_number, .at = AT(supervised), .max = DESCRIPTOR_MAX },
	{ "fd", "N", OPT_FD, COMMAND | DEMO, NULL,
	    .take = take_number, .at = AT(fd), .max = DESCRIPTOR_MAX },
	{ "hello", "PATH", OPT_HELLO, COMMAND, NULL,
	    .take = take_text, .at = AT(hello) },
	{ "own-session", NULL, OPT_OWN_SESSION, COMMAND, NULL,
	    .take = take_flag, .at = AT(own_session) },
	{ "demo", "NAME", OPT_DEMO, DEMO, NULL,
	    .take = take_text, .at = AT(demo) },
	{ "at", "TIME", OPT_AT, DEMO, NULL,
	    .take = take_text, .at = AT(demo_at) },
	{ "stream", "NAME", OPT_STREAM, DEMO, NULL,
	    .take = take_text, .at = AT(demo_stream) },
	{ "device", "N", OPT_DEVICE, DEMO, NULL,
	    .take = take_number, .at = AT(device), .max = DESCRIPTOR_MAX },
	{ "device-name", "NAME", OPT_DEVICE_NAME, DEMO, NULL,
	    .take = take_text, .at = AT(device_name) },
	{ "device-once", NULL, OPT_DEVICE_ONCE, DEMO, NULL,
	    .take = take_flag, .at = AT(device_once) },
	{ "baud", "N", OPT_BAUD, DEMO, NULL,
	    .take = take_number, .at = AT(baud), .max = UINT32_MAX },
	{ "help", NULL, OPT_HELP, ANY | BRIDGE, .help = "print this and end" },
	{ "version", NULL, OPT_VERSION, ANY | BRIDGE,
	    .help = "print the version and end" },
};

static void
print_help(void)
{
	printf("usage: pageknode [OPTIONS]\n"
	    "       pageknode [OPTIONS] -- COMMAND [ARGUMENT ...]\n"
	    "       pageknode --stdio [--target TARGET] [--role ROLES] [--node NNNN]\n"
	    "Keeps what programs hold in memory, and serves it to pagek.\n\n");
	for (size_t i = 0; i < BASE_NELEM(options); i++) {
		const struct option_entry *e = &options[i];
		char left[40];
		size_t len = 0;

		if (e->help == NULL)
			continue;
		base_append(left, sizeof left, &len, "  --%s", e->name);
		if (e->argument != NULL && e->argument[0] == '[')
			base_append(left, sizeof left, &len, "[=%s",
			    e->argument + 1);
		else if (e->argument != NULL)
			base_append(left, sizeof left, &len, " %s",
			    e->argument);
		printf("%-*s%s\n", HELP_COLUMN, left, e->help);
	}
}

static const struct option_entry *
find_entry(int option)
{
	size_t i = 0;

	while ((int)options[i].option != option)
		i++;
	return &options[i];
}

/* Options that were given but are of another kind of node. */
static int
check_kind(uint64_t given, unsigned kind)
{
	for (size_t i = 0; i < BASE_NELEM(options); i++) {
		if ((given >> i & 1) == 0 || (options[i].kinds & kind) != 0)
			continue;
		fprintf(stderr, "pageknode: --%s is not for %s\n",
		    options[i].name, kind == DAEMON ?
		    "a node that stands alone" : kind == COMMAND ?
		    "a node that runs a command" : kind == DEMO ?
		    "a node that is a demo" : "--stdio, which is no node");
		return -EINVAL;
	}
	return 0;
}

static int
settle(struct node_opts *o, uint64_t given)
{
	unsigned kind = o->bridge ? BRIDGE : o->argv != NULL ? COMMAND :
	    o->demo != NULL || o->device >= 0 ? DEMO : DAEMON;

	if (o->bridge && o->argv != NULL) {
		fprintf(stderr, "pageknode: one of a command and --stdio\n");
		return -EINVAL;
	}
	if (o->argv != NULL && o->demo != NULL) {
		fprintf(stderr, "pageknode: one of a command and --demo\n");
		return -EINVAL;
	}
	if (o->device >= 0 && (o->argv != NULL || o->demo != NULL)) {
		fprintf(stderr, "pageknode: --device is a target of its own\n");
		return -EINVAL;
	}
	if (check_kind(given, kind) < 0)
		return -EINVAL;
	o->daemon = kind == DAEMON;
	if (o->daemon && (given >> (find_entry(OPT_STACK) - options) & 1) == 0)
		o->stack = NODE_STACK;
	return 0;
}

int
node_options(int argc, char **argv, struct node_opts *o)
{
	struct option longs[BASE_NELEM(options) + 1] = { 0 };
	const struct option_entry *e;
	uint64_t given = 0;
	int c;

	_Static_assert(BASE_NELEM(options) <= 64, "a bit for each");
	for (size_t i = 0; i < BASE_NELEM(options); i++)
		longs[i] = (struct option){ .name = options[i].name,
			.has_arg = options[i].argument == NULL ? no_argument :
			    options[i].argument[0] == '[' ?
			    optional_argument : required_argument,
			.val = (int)options[i].option };
	*o = (struct node_opts){ .fd = -1, .device = -1,
		.supervised = -1 };
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == '?')
			return NODE_USAGE;
		if (c == OPT_HELP) {
			print_help();
			return 0;
		}
		if (c == OPT_VERSION) {
			printf("pageknode %s\n", PAGEK_VERSION);
			return 0;
		}
		e = find_entry(c);
		if (e->take(o, e, optarg) < 0) {
			fprintf(stderr, "pageknode: --%s takes %s, not '%s'\n",
			    e->name, e->argument, optarg);
			return NODE_USAGE;
		}
		given |= UINT64_C(1) << (e - options);
	}
	if (optind < argc)
		o->argv = &argv[optind];
	return settle(o, given) < 0 ? NODE_USAGE : -1;
}

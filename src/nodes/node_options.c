/*
 * The arguments of pageknode, all of them in one table: parsing and --help are
 * made from it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "node.h"
#include "spool_print.h"

#define HELP_COLUMN 24

enum node_option {
	OPT_FD = 256, OPT_MAX, OPT_NO_WAIT, OPT_REPORT, OPT_OWN_SESSION,
	OPT_CHECK_LIST, OPT_DEMO, OPT_AT, OPT_STREAM, OPT_STACK,
	OPT_FREE_STACK, OPT_DORMANT, OPT_SAMPLE, OPT_SYSTEM, OPT_ROLE,
	OPT_CLIENTS, OPT_HELLO, OPT_STDIO, OPT_TARGET, OPT_NODE,
	OPT_NO_SUPERVISOR, OPT_SUPERVISED,
	OPT_DEVICE, OPT_DEVICE_NAME, OPT_DEVICE_ONCE, OPT_BAUD,
	OPT_SPOOL, OPT_PRINT,
	OPT_HELP, OPT_VERSION,
};

/* Of which kinds of node an option is. */
#define COMMAND 1
#define DEMO 2
#define DAEMON 4
#define ANY (COMMAND | DEMO | DAEMON)
#define BRIDGE 8

static const struct option_entry {
	const char *name;
	const char *argument;		/* NULL: it takes none; in brackets: it may be left out */
	enum node_option option;
	unsigned kinds;
	const char *help;		/* NULL: for the page that starts us */
} options[] = {
	{ "system", NULL, OPT_SYSTEM, DAEMON,
	    "serve all users, at /run/pagek/node" },
	{ "stdio", NULL, OPT_STDIO, BRIDGE,
	    "no node: a page's way to one, as over ssh" },
	{ "target", "TARGET", OPT_TARGET, BRIDGE,
	    "to that of several nodes that has it: pid:N, a stream" },
	{ "node", "NNNN", OPT_NODE, BRIDGE,
	    "the page is on the node with this number, and no other" },
	{ "role", "ROLES", OPT_ROLE, ANY | BRIDGE,
	    "the most that pages may do: read,list-put,control" },
	{ "clients", "N", OPT_CLIENTS, ANY,
	    "pages at a time, 64 unless given, 256 at most" },
	{ "max", "N", OPT_MAX, ANY,
	    "blocks that the list of a target can hold (aRecMax)" },
	{ "stack", "N", OPT_STACK, COMMAND | DAEMON,
	    "frames of each allocation's stack, 0 to 64" },
	{ "free-stack", NULL, OPT_FREE_STACK, COMMAND | DAEMON,
	    "stacks of frees too" },
	{ "sample", "SIZE", OPT_SAMPLE, COMMAND | DAEMON,
	    "log a sample: one allocation in SIZE bytes" },
	{ "dormant", NULL, OPT_DORMANT, COMMAND | DAEMON,
	    "targets log nothing until they are armed" },
	{ "no-wait", NULL, OPT_NO_WAIT, COMMAND | DAEMON,
	    "never make a target wait for room: drop and count" },
	{ "report", "FILE", OPT_REPORT, COMMAND | DAEMON,
	    "a JSON line for each process image that has ended" },
	{ "check-list", NULL, OPT_CHECK_LIST, ANY,
	    "keep the literal list beside, and compare" },
	{ "spool", "DIR", OPT_SPOOL, ANY,
	    "store listings in DIR" },
	{ "print", "[PRINTER]", OPT_PRINT, DAEMON,
	    "print each listing that has come, with lp" },
	{ "no-supervisor", NULL, OPT_NO_SUPERVISOR, DAEMON,
	    "nobody of ours starts it again: systemd does, or nobody" },
	{ "supervised", "N", OPT_SUPERVISED, COMMAND | DAEMON, NULL },
	{ "fd", "N", OPT_FD, COMMAND | DEMO, NULL },
	{ "hello", "PATH", OPT_HELLO, COMMAND, NULL },
	{ "own-session", NULL, OPT_OWN_SESSION, COMMAND, NULL },
	{ "demo", "NAME", OPT_DEMO, DEMO, NULL },
	{ "at", "TIME", OPT_AT, DEMO, NULL },
	{ "stream", "NAME", OPT_STREAM, DEMO, NULL },
	{ "device", "N", OPT_DEVICE, DEMO, NULL },
	{ "device-name", "NAME", OPT_DEVICE_NAME, DEMO, NULL },
	{ "device-once", NULL, OPT_DEVICE_ONCE, DEMO, NULL },
	{ "baud", "N", OPT_BAUD, DEMO, NULL },
	{ "help", NULL, OPT_HELP, ANY | BRIDGE, "print this and end" },
	{ "version", NULL, OPT_VERSION, ANY | BRIDGE, "print the version and end" },
};

static int
parse_number(const char *text, unsigned long max, unsigned long *out)
{
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

static int
take_option(struct node_opts *o, enum node_option option, const char *arg)
{
	unsigned long n = 0;
	int r = 0;

	switch (option) {
	case OPT_FD:
		r = parse_number(arg, 1 << 20, &n);
		o->fd = (int)n;
		break;
	case OPT_MAX:
		r = parse_number(arg, BLKLIST_MAX, &n);
		o->max = (uint32_t)n;
		break;
	case OPT_NO_WAIT:
		o->no_wait = true;
		break;
	case OPT_REPORT:
		o->report = arg;
		break;
	case OPT_OWN_SESSION:
		o->own_session = true;
		break;
	case OPT_CHECK_LIST:
		o->check_list = true;
		break;
	case OPT_DEMO:
		o->demo = arg;
		break;
	case OPT_AT:
		o->demo_at = arg;
		break;
	case OPT_STREAM:
		o->demo_stream = arg;
		break;
	case OPT_DEVICE:
		r = parse_number(arg, 1 << 20, &n);
		o->device = (int)n;
		break;
	case OPT_DEVICE_NAME:
		o->device_name = arg;
		break;
	case OPT_DEVICE_ONCE:
		o->device_once = true;
		break;
	case OPT_BAUD:
		r = parse_number(arg, UINT32_MAX, &n);
		o->baud = (unsigned)n;
		break;
	case OPT_STACK:
		r = parse_number(arg, RING_STACK_MAX, &n);
		o->stack = (unsigned)n;
		break;
	case OPT_FREE_STACK:
		o->free_stacks = true;
		break;
	case OPT_DORMANT:
		o->dormant = true;
		break;
	case OPT_SAMPLE:
		r = base_parse_size(arg, BLKLIST_SAMPLE_MAX, &o->sample);
		break;
	case OPT_SYSTEM:
		o->system = true;
		break;
	case OPT_STDIO:
		o->bridge = true;
		break;
	case OPT_TARGET:
		o->target = arg;
		r = bridge_target_ok(arg) ? 0 : -EINVAL;
		break;
	case OPT_NODE:
		r = nodes_parse_number(arg, strlen(arg), &o->page_node) &&
		    o->page_node != 0 ? 0 : -EINVAL;
		break;
	case OPT_ROLE:
		r = access_parse_roles(arg, &o->roles);
		break;
	case OPT_CLIENTS:
		r = parse_number(arg, SERVE_CONNS_MAX, &n);
		o->clients = (unsigned)n;
		if (n == 0)
			r = -EINVAL;
		break;
	case OPT_HELLO:
		o->hello = arg;
		break;
	case OPT_SPOOL:
		o->spool = arg;
		if (arg[0] == '\0')
			r = -EINVAL;
		break;
	case OPT_PRINT:
		o->print = true;
		o->printer = arg;
		if (arg != NULL && !print_name_ok(arg))
			r = -EINVAL;
		break;
	case OPT_NO_SUPERVISOR:
		o->alone = true;
		break;
	case OPT_SUPERVISED:
		r = parse_number(arg, 1 << 20, &n);
		o->supervised = (int)n;
		break;
	case OPT_HELP:
	case OPT_VERSION:
		break;
	}
	return r;
}

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
		if (take_option(o, (enum node_option)c, optarg) < 0) {
			fprintf(stderr, "pageknode: --%s takes %s, not '%s'\n",
			    find_entry(c)->name, find_entry(c)->argument,
			    optarg);
			return NODE_USAGE;
		}
		given |= UINT64_C(1) << (find_entry(c) - options);
	}
	if (optind < argc)
		o->argv = &argv[optind];
	return settle(o, given) < 0 ? NODE_USAGE : -1;
}

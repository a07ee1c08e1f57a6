#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "../bridge/bridge.h"
#include "../keeper/node.h"
#include "../serve/serve.h"
#include "../spool/spool.h"
#include "pageknode.h"

#define HELP_COLUMN 22
#define VALUE_BASE 256		/* getopt's values: above every letter */

static bool
is_named(const char *text)
{
	return text[0] != '\0';
}

static bool
is_target(const char *text)
{
	pid_t pid;

	return nodes_parse_target(text, &pid);
}

static int
take_node(void *into, const char *text)
{
	struct node_opts *o = into;

	return nodes_parse_number(text, strlen(text), &o->bridge.page_node) &&
	    o->bridge.page_node != 0 ? 0 : -EINVAL;
}

static int
take_roles(void *into, const char *text)
{
	struct node_opts *o = into;

	return access_parse_roles(text, &o->roles);
}

static int
take_printer(void *into, const char *text)
{
	struct node_opts *o = into;

	if (text != NULL && !print_name_ok(text))
		return -EINVAL;
	o->print.on = true;
	o->print.printer = text;
	return 0;
}

#define ROW_STRUCT struct node_opts
#include "../../base/option.h"

static const struct node_option own[NODE_OPTIONS] = {
#define HANDED(id, name, argument, value, kinds, help)
#define OWN(id, name_, argument_, value_, kinds_, help_) \
	[NODE_OPTION_##id] = { .option = { .name = name_, \
	    .argument = argument_, .value = value_, .help = help_ }, \
	    .kinds = kinds_ },
#include "../node_options/node_options.def"
};

static const struct node_option *
row_of(unsigned id)
{
	return own[id].option.name != NULL ? &own[id] : &node_handed[id];
}

static void
print_help(void)
{
	printf("usage: pageknode [OPTIONS]\n"
	    "       pageknode [OPTIONS] -- COMMAND [ARGUMENT ...]\n"
	    "       pageknode --stdio [--target TARGET] [--role ROLES] [--node NNNN]\n"
	    "Lists the memory blocks of programs, and serves them to pagek.\n\n");
	for (unsigned i = 0; i < NODE_OPTIONS; i++) {
		const struct base_option *e = &row_of(i)->option;
		char usage[40];

		if ((row_of(i)->kinds & NODE_PRIVATE) != 0)
			continue;
		base_option_usage(e, ' ', usage, sizeof usage);
		printf("  %-*s%s\n", HELP_COLUMN, usage, e->help);
	}
}

static int
check_kind(uint64_t given, enum node_kind kind)
{
	for (unsigned i = 0; i < NODE_OPTIONS; i++) {
		if ((given >> i & 1) == 0 || (row_of(i)->kinds & kind) != 0)
			continue;
		fprintf(stderr, "pageknode: --%s is not for %s\n",
		    row_of(i)->option.name, kind == NODE_DAEMON ?
		    "a standalone node" : kind == NODE_COMMAND ?
		    "a node that runs a command" : kind == NODE_DEMO ?
		    "a node that is a demo" : "--stdio, which is no node");
		return -EINVAL;
	}
	return 0;
}

static int
check_options(struct node_opts *o, uint64_t given)
{
	enum node_kind kind = node_kind(o);

	if (o->bridge.on && o->argv != NULL) {
		fprintf(stderr, "pageknode: --stdio takes no command\n");
		return -EINVAL;
	}
	if (o->argv != NULL && o->demo.name != NULL) {
		fprintf(stderr, "pageknode: --demo takes no command\n");
		return -EINVAL;
	}
	if (o->device.fd >= 0 && (o->argv != NULL || o->demo.name != NULL)) {
		fprintf(stderr, "pageknode: --device takes no command and "
		    "no --demo\n");
		return -EINVAL;
	}
	if (check_kind(given, kind) < 0)
		return -EINVAL;
	o->daemon = kind == NODE_DAEMON;
	if (o->daemon && (given >> NODE_OPTION_STACK & 1) == 0)
		o->stack = NODE_STACK;
	return 0;
}

/* Takes one option. -1: go on; else the exit status. */
static int
take_option(struct node_opts *o, unsigned id, const char *text)
{
	const struct base_option *option = &row_of(id)->option;
	char wrong[128];

	if (id == NODE_OPTION_HELP) {
		print_help();
		return 0;
	}
	if (id == NODE_OPTION_VERSION) {
		printf("pageknode %s\n", PAGEK_VERSION);
		return 0;
	}
	if (base_option_take(option, o, text) == 0)
		return -1;
	base_option_wrong(option, wrong, sizeof wrong);
	fprintf(stderr, "pageknode: --%s=%s: %s\n", option->name,
	    base_shown(text), wrong);
	return NODE_USAGE;
}

/* As getopt(3) says it, which writes the word as it is. */
static int
refuse_option(char **argv, int c)
{
	const char *word = argv[optind - 1];

	/* getopt moves on only behind the last letter of a word. */
	if (word[0] != '-' && argv[optind] != NULL)
		word = argv[optind];
	fprintf(stderr, "pageknode: %s '%s'\n", c == ':' ?
	    "no value for option" : optopt >= VALUE_BASE ?
	    "no value is taken by option" : "unrecognized option",
	    base_shown(word));
	return NODE_USAGE;
}

int
node_options(int argc, char **argv, struct node_opts *o)
{
	struct option longs[NODE_OPTIONS + 1] = { 0 };
	uint64_t given = 0;
	int c, r;

	_Static_assert(NODE_OPTIONS <= 64, "a bit for each");
	for (unsigned i = 0; i < NODE_OPTIONS; i++)
		longs[i] = (struct option){ .name = row_of(i)->option.name,
			.has_arg = base_option_has_arg(&row_of(i)->option),
			.val = VALUE_BASE + (int)i };
	*o = (struct node_opts){ NODE_OPTS_NONE };
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return refuse_option(argv, c);
		r = take_option(o, (unsigned)(c - VALUE_BASE), optarg);
		if (r >= 0)
			return r;
		given |= UINT64_C(1) << (c - VALUE_BASE);
	}
	if (optind < argc)
		o->argv = &argv[optind];
	return check_options(o, given) < 0 ? NODE_USAGE : -1;
}

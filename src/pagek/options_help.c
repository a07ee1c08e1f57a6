/*
 * The tables of options and commands, and the help that is made from them.
 */
#include <string.h>

#include "../base/base.h"
#include "../filter/filter.h"
#include "options_table.h"

#define C_TOP (1u << COMMAND_TOP)
#define C_RUN (1u << COMMAND_RUN)
#define C_LIST (1u << COMMAND_LIST)
#define C_TREE (1u << COMMAND_TREE)
#define C_EXPORT (1u << COMMAND_EXPORT)
#define C_TARGETS (1u << COMMAND_TARGETS)
#define C_NODES (1u << COMMAND_NODES)
#define C_LISTINGS (1u << COMMAND_LISTINGS)
#define C_WATCH (1u << COMMAND_WATCH)
#define C_CHECK (1u << COMMAND_CHECK)
#define C_CONFIG (1u << COMMAND_CONFIG)
#define C_ARM (1u << COMMAND_ARM)
#define C_DISARM (1u << COMMAND_DISARM)
#define C_COMPLETION (1u << COMMAND_COMPLETION)
#define C_HELP (1u << COMMAND_HELP)
#define C_FILE OPTION_FILE
#define C_ALL (C_TOP | C_RUN | C_LIST | C_TREE | C_EXPORT | C_TARGETS | \
	C_NODES | C_LISTINGS | C_CONFIG | C_ARM | C_DISARM | \
	C_WATCH | C_CHECK | C_COMPLETION | C_HELP)

const struct option_row option_rows[OPTIONS] = {
#define OPT(id, name_, letter_, argument_, commands_, help_) \
	[OPTION_##id] = { .name = name_, .letter = letter_, \
	    .argument = argument_, .commands = commands_, .help = help_ },
#include "options.def"
#undef OPT
};

const struct command_row command_rows[COMMANDS] = {
	[COMMAND_TOP] = { "top", "[OPTIONS] [TARGET]",
	    "show the page; 'top' may be left out" },
	[COMMAND_RUN] = { "run", "[OPTIONS] [--] COMMAND [ARGUMENT...]",
	    "start a command and watch it" },
	[COMMAND_LIST] = { "list", "[OPTIONS] [TARGET]",
	    "list a target's blocks once" },
	[COMMAND_TREE] = { "tree", "[OPTIONS] [TARGET]",
	    "who called whom for the memory that is held" },
	[COMMAND_EXPORT] = { "export", "--folded [OPTIONS] [TARGET]",
	    "write the stacks of what is held for other programs" },
	[COMMAND_TARGETS] = { "targets", "[OPTIONS] [TARGET]",
	    "list what can be watched" },
	[COMMAND_NODES] = { "nodes", "[OPTIONS]",
	    "list the nodes that have a number and a name" },
	[COMMAND_LISTINGS] = { "listings", "[OPTIONS] [TARGET] [NAME]",
	    "list the listings that a node has stored, or print one" },
	[COMMAND_WATCH] = { "watch", "[OPTIONS] [TARGET]",
	    "print what a target holds, a line each interval" },
	[COMMAND_CHECK] = { "check", "[OPTIONS] [TARGET | -- COMMAND...]",
	    "test whether a program stays within what it may hold" },
	[COMMAND_CONFIG] = { "config", "--show [OPTIONS]",
	    "print the settings, and where each one comes from" },
	[COMMAND_ARM] = { "arm", "[OPTIONS] TARGET",
	    "let a dormant target log until it is disarmed" },
	[COMMAND_DISARM] = { "disarm", "[OPTIONS] TARGET",
	    "let a target log nothing more; its list is gone" },
	[COMMAND_COMPLETION] = { "completion", "[OPTIONS] bash|zsh|fish|targets",
	    "print what lets a shell complete command lines of pagek" },
	[COMMAND_HELP] = { "help", "[COMMAND]", "explain a command" },
};

/* --- help --------------------------------------------------------------- */

static void
print_option(FILE *out, const struct option_row *row)
{
	char left[96];
	size_t len = 0;

	if (row->letter != 0)
		base_append(left, sizeof left, &len, "-%c, ", row->letter);
	else
		base_append(left, sizeof left, &len, "    ");
	base_append(left, sizeof left, &len, "--%s", row->name);
	if (row->argument != NULL && row->argument[0] == '[')
		base_append(left, sizeof left, &len, "[=%s",
		    row->argument + 1);
	else if (row->argument != NULL)
		base_append(left, sizeof left, &len, "=%s", row->argument);
	if (len > 27)
		fprintf(out, "  %s\n  %27s %s\n", left, "", row->help);
	else
		fprintf(out, "  %-27s %s\n", left, row->help);
}

static void
print_targets(FILE *out)
{
	fputs("\nTARGET is one of\n"
	    "  local        what holds most of the live targets of this user's newest\n"
	    "               node that has any (default)\n"
	    "  pid:N        the target with this process id\n"
	    "  NODE[/TARGET]\n"
	    "               a node of the table, by its name or its number of "
	    "four hex digits\n"
	    "  ssh:[USER@]HOST[/TARGET]\n"
	    "               the node of another machine; TARGET is pid:N or "
	    "the name of a stream\n"
	    "  unix:PATH    the node that listens at this socket; so does a "
	    "path with a slash\n"
	    "  raw:PATH     16-byte records from a serial line, a FIFO, a file "
	    "or, as raw:-, a pipe\n"
	    "  demo:NAME    a generator: note, 1, flood\n", out);
}

static void
print_filter(FILE *out)
{
	const char *line;

	fputs("\nEXPRESSION is made of FIELD OP VALUE with & (and), | (or), "
	    "! (not) and\nparentheses; OP is one of = != < <= > >=, and of "
	    "text = != ~ (contains) !~;\na word alone is looked for in the "
	    "text of a row.  The fields are\n", out);
	for (size_t k = 0; (line = filter_help(k)) != NULL; k++)
		fprintf(out, "  %s\n", line);
}

void
options_help(FILE *out, enum command about)
{
	bool all = about >= COMMANDS;
	int i;

	if (all) {
		fputs("pagek shows every memory block that a program holds, "
		    "live.\n\n", out);
		for (i = 0; i < COMMANDS; i++)
			fprintf(out, "%s pagek %-8s %s\n", i == 0 ? "usage:" :
			    "      ", i == 0 ? "[top]" : command_rows[i].name,
			    command_rows[i].usage);
		fputs("\nCommands\n", out);
		for (i = 0; i < COMMANDS; i++)
			fprintf(out, "  %-12s %s\n", command_rows[i].name,
			    command_rows[i].help);
	} else {
		fprintf(out, "usage: pagek %s %s\n\n%s: %s\n",
		    command_rows[about].name, command_rows[about].usage,
		    command_rows[about].name, command_rows[about].help);
	}
	if (all || strstr(command_rows[about].usage, "TARGET") != NULL)
		print_targets(out);
	fputs("\nOptions\n", out);
	for (i = 0; i < OPTIONS; i++)
		if (all || option_taken(&option_rows[i], about))
			print_option(out, &option_rows[i]);
	if (!all && option_taken(&option_rows[OPTION_FILTER], about))
		print_filter(out);
	if (all)
		fputs("\n'pagek help COMMAND' tells which options a command "
		    "takes; pagek(1) has the rest.\n", out);
}

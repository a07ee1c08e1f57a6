#include <string.h>

#include "../../base/base.h"
#include "../../filter/filter.h"
#include "../cli/cli.h"

#define USAGE_COLUMNS 23
#define TARGET_COLUMNS 12

static void
print_option(FILE *out, const struct option_row *row)
{
	char letter[4] = "", usage[256];

	if (row->letter != 0)
		snprintf(letter, sizeof letter, "-%c,", row->letter);
	base_option_usage(row->option, '=', usage, sizeof usage);
	fprintf(out, "  %-3s %-*s", letter, USAGE_COLUMNS, usage);
	if (strlen(usage) > USAGE_COLUMNS)
		fprintf(out, "\n  %3s %*s", "", USAGE_COLUMNS, "");
	fprintf(out, " %s\n", row->option->help);
}

static void
print_targets(FILE *out, bool machines)
{
	const struct target_form *f;
	const char *machine;

	fputs("\nTARGET is one of\n", out);
	for (f = target_forms; f->usage != NULL; f++) {
		machine = machines ? f->machine : NULL;
		if (machine != NULL && machine[0] == '\0')
			continue;
		if (strlen(f->usage) > TARGET_COLUMNS)
			fprintf(out, "  %s\n  %*s ", f->usage, TARGET_COLUMNS,
			    "");
		else
			fprintf(out, "  %-*s ", TARGET_COLUMNS, f->usage);
		fprintf(out, "%s%s\n", machine != NULL ? machine : f->what,
		    machine != NULL ? "" : f->more);
	}
}

static void
print_filter(FILE *out, const struct filter_table *table)
{
	const char *line;

	fputs("\nEXPRESSION is made of FIELD OP VALUE with & (and), | (or), ! "
	    "(not) and\nparentheses; OP is one of = != < <= > >=, and of text "
	    "= != ~ (contains) !~;\na single word matches if any text of a row "
	    "contains it.  The fields are\n", out);
	for (size_t k = 0; (line = filter_help(table, k)) != NULL; k++)
		fprintf(out, "  %s\n", line);
}

static bool
takes_target(const struct command_row *row)
{
	return row->words == WORDS_TARGET || row->words == WORDS_LISTING ||
	    row->words == WORDS_MARK ||
	    row->words == WORDS_TARGET_OR_PROGRAM ||
	    row->words == WORDS_DUMPS || row->words == WORDS_CAPTURE;
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
			    command_rows[i].synopsis);
		fputs("\nCommands\n", out);
		for (i = 0; i < COMMANDS; i++)
			fprintf(out, "  %-12s %s\n", command_rows[i].name,
			    command_rows[i].help);
	} else {
		fprintf(out, "usage: pagek %s %s\n\n%s: %s\n",
		    command_rows[about].name, command_rows[about].synopsis,
		    command_rows[about].name, command_rows[about].help);
	}
	if (all || takes_target(&command_rows[about]))
		print_targets(out, about == COMMAND_STRESS);
	fputs("\nOptions\n", out);
	for (i = 0; i < OPTIONS; i++)
		if (all || option_taken(&option_rows[i], about))
			print_option(out, &option_rows[i]);
	if (!all && option_taken(&option_rows[OPTION_FILTER], about))
		print_filter(out, about == COMMAND_USAGE ? &filter_usage :
		    &filter_blocks);
	if (all)
		fputs("\n'pagek help COMMAND' lists the options of a command; "
		    "pagek(1) has the rest.\n", out);
}

int
cmd_help(const struct options *o, uv_loop_t *loop)
{
	(void)loop;
	options_help(stdout, o->words.topic);
	/* Checks for a write error before another call overwrites errno. */
	output_going(stdout);
	return output_close(stdout, NULL, PAGEK_OK);
}

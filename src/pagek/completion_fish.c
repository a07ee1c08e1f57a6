/*
 * Completion for fish.
 */
#include "completion.h"

static const char helpers[] =
"# The command of the line so far; top may be left out.\n"
"function __fish_pagek_command\n"
"	for word in (commandline -opc)[2..-1]\n"
"		if contains -- $word $__fish_pagek_commands\n"
"			echo $word\n"
"			return 0\n"
"		end\n"
"	end\n"
"	echo top\n"
"	return 1\n"
"end\n"
"\n"
"function __fish_pagek_in\n"
"	contains -- (__fish_pagek_command) $argv\n"
"end\n"
"\n"
"function __fish_pagek_no_command\n"
"	not __fish_pagek_command >/dev/null\n"
"end\n"
"\n"
"function __fish_pagek_targets\n"
"	command pagek completion targets 2>/dev/null\n"
"end\n\n";

static void
put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	completion_escape(out, text, "'\\", "\\");
	fputc('\'', out);
}

static void
put_option(FILE *out, const struct option_row *row)
{
	char words[COMPLETION_WORDS_MAX];

	fputs("complete -c pagek -n '__fish_pagek_in", out);
	for (int c = 0; c < COMMANDS; c++)
		if (option_taken(row, (enum command)c))
			fprintf(out, " %s", command_rows[c].name);
	fputs("'", out);
	if (row->letter != 0)
		fprintf(out, " -s %c", row->letter);
	fprintf(out, " -l %s", row->name);
	switch (completion_of_option(row)) {
	case COMPLETION_WORDS:
		completion_words(row->argument, words);
		fprintf(out, "%s -a '%s'", completion_needs_argument(row) ?
		    " -x" : "", words);
		break;
	case COMPLETION_FILE:
		fputs(" -r -F", out);
		break;
	default:
		fputs(row->argument != NULL ? " -x" : "", out);
		break;
	}
	fputs(" -d ", out);
	put_quoted(out, row->help);
	fputc('\n', out);
}

static void
put_words(FILE *out, enum command c)
{
	char words[COMPLETION_WORDS_MAX];

	switch (completion_of_command(c)) {
	case COMPLETION_TARGET:
		fprintf(out, "complete -c pagek -n '__fish_pagek_in %s' -a "
		    "'(__fish_pagek_targets)'\n", command_rows[c].name);
		break;
	case COMPLETION_PROGRAM:
		fprintf(out, "complete -c pagek -n '__fish_pagek_in %s' -F -a "
		    "'(__fish_complete_command)'\n", command_rows[c].name);
		break;
	case COMPLETION_COMMAND:
		fprintf(out, "complete -c pagek -n '__fish_pagek_in %s' -a "
		    "'$__fish_pagek_commands'\n", command_rows[c].name);
		break;
	case COMPLETION_WORDS:
		completion_words(command_rows[c].usage, words);
		fprintf(out, "complete -c pagek -n '__fish_pagek_in %s' -a "
		    "'%s'\n", command_rows[c].name, words);
		break;
	default:
		break;
	}
}

void
completion_fish(FILE *out)
{
	fprintf(out, "# fish completion for pagek %s, from 'pagek completion "
	    "fish'\n\nset -g __fish_pagek_commands", PAGEK_VERSION);
	for (int c = 0; c < COMMANDS; c++)
		fprintf(out, " %s", command_rows[c].name);
	fprintf(out, "\n\n%scomplete -c pagek -f\n", helpers);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "complete -c pagek -n __fish_pagek_no_command "
		    "-a %s -d ", command_rows[c].name);
		put_quoted(out, command_rows[c].help);
		fputc('\n', out);
	}
	for (int c = 0; c < COMMANDS; c++)
		put_words(out, (enum command)c);
	for (int id = 0; id < OPTIONS; id++)
		put_option(out, &option_rows[id]);
}

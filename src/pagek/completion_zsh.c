/*
 * Completion for zsh.
 */
#include "completion.h"

static const char helpers[] =
"# A line of each target: the word, a tab, and what it is.\n"
"_pagek_targets() {\n"
"	local -a lines words\n"
"	local line\n"
"	lines=(${(f)\"$(command pagek completion targets 2>/dev/null)\"})\n"
"	for line in $lines; do\n"
"		words+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
"	done\n"
"	_describe -t targets target words\n"
"	[[ $PREFIX == */* ]] && _files\n"
"}\n"
"\n"
"_pagek_first() {\n"
"	_pagek_commands\n"
"	_pagek_targets\n"
"}\n";

/* Which command it is: the first word that is one. */
static const char find[] =
"	local command=top word\n"
"	for word in ${words[2,CURRENT-1]}; do\n"
"		[[ $word == -- ]] && break\n"
"		if (( ${_pagek_names[(Ie)$word]} )); then\n"
"			command=$word\n"
"			break\n"
"		fi\n"
"	done\n";

/* Inside single quotes. */
static void
put_quoted(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == '[' || *text == ']' || *text == ':' ||
		    *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void
put_argument(FILE *out, const struct option_row *row)
{
	char words[COMPLETION_WORDS_MAX];

	if (row->argument == NULL)
		return;
	fputs(completion_needs_argument(row) ? ":" : "::", out);
	put_quoted(out, row->name);
	fputc(':', out);
	switch (completion_of_option(row)) {
	case COMPLETION_WORDS:
		completion_words(row->argument, words);
		fprintf(out, "(%s)", words);
		break;
	case COMPLETION_FILE:
		fputs("_files", out);
		break;
	default:
		fputc(' ', out);
		break;
	}
}

static void
put_option(FILE *out, const struct option_row *row)
{
	const char *help = row->help;
	bool needs = completion_needs_argument(row);

	if (row->letter != 0) {
		fprintf(out, "		'(-%c --%s)-%c%s[", row->letter,
		    row->name, row->letter, needs ? "+" : "");
		put_quoted(out, help);
		fputc(']', out);
		put_argument(out, row);
		fprintf(out, "'\n		'(-%c --%s)", row->letter, row->name);
	} else {
		fputs("		'", out);
	}
	fprintf(out, "--%s%s[", row->name, needs ? "=" :
	    row->argument != NULL ? "=-" : "");
	put_quoted(out, help);
	fputc(']', out);
	put_argument(out, row);
	fputs("'\n", out);
}

/* The words of a command: itself, unless it is left out, and what follows. */
static void
put_words(FILE *out, enum command c)
{
	char words[COMPLETION_WORDS_MAX];

	fputs(c == COMMAND_TOP ? "		'1:: :_pagek_first'\n" :
	    "		'1: :_pagek_commands'\n", out);
	switch (completion_of_command(c)) {
	case COMPLETION_TARGET:
		fputs("		'2::target:_pagek_targets'\n", out);
		break;
	case COMPLETION_PROGRAM:
		fputs("		'(-)2:program:_command_names -e'\n"
		    "		'*::argument:_normal'\n", out);
		break;
	case COMPLETION_COMMAND:
		fputs("		'2::command:_pagek_commands'\n", out);
		break;
	case COMPLETION_WORDS:
		completion_words(command_rows[c].usage, words);
		fprintf(out, "		'2:shell:(%s)'\n", words);
		break;
	default:
		break;
	}
}

static void
put_commands(FILE *out)
{
	fputs("_pagek_names=(", out);
	for (int c = 0; c < COMMANDS; c++)
		fprintf(out, "%s%s", c == 0 ? "" : " ", command_rows[c].name);
	fputs(")\n\n_pagek_commands() {\n	local -a commands=(\n", out);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "		'%s:", command_rows[c].name);
		put_quoted(out, command_rows[c].help);
		fputs("'\n", out);
	}
	fputs("	)\n	_describe -t commands command commands\n}\n\n", out);
}

void
completion_zsh(FILE *out)
{
	fprintf(out, "#compdef pagek\n# zsh completion for pagek %s, from "
	    "'pagek completion zsh'\n\n", PAGEK_VERSION);
	put_commands(out);
	fprintf(out, "%s\n_pagek() {\n%s	local -a specs\n"
	    "	case $command in\n", helpers, find);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "	%s) specs=(\n", command_rows[c].name);
		for (int id = 0; id < OPTIONS; id++)
			if (option_taken(&option_rows[id], (enum command)c))
				put_option(out, &option_rows[id]);
		put_words(out, (enum command)c);
		fputs("	) ;;\n", out);
	}
	/* Loaded by itself, or read by `source`. */
	fputs("	esac\n	_arguments -s -S : $specs\n}\n\n"
	    "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
	    "	_pagek \"$@\"\nelse\n	compdef _pagek pagek\nfi\n", out);
}

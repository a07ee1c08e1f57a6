#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../cli/cli.h"
#include "../cli/pump.h"

#define NODES_MS 300		/* timeout for all nodes together */
#define COMPLETION_WORDS_MAX 128

enum completion {
	COMPLETION_NOTHING,	/* no argument, or an unknown one */
	COMPLETION_DUMPS,	/* files, or a target */
	COMPLETION_WORDS,	/* one of completion_words() */
	COMPLETION_FILE,
	COMPLETION_TARGET,
	COMPLETION_COMMAND,	/* a command of pagek */
	COMPLETION_PROGRAM,	/* a program and its own arguments */
};

/* A word such as "FILE"; else alternatives, such as "text|json". */
static bool
is_placeholder(const char *argument)
{
	return strchr(argument, '|') == NULL &&
	    isupper((unsigned char)argument[0]);
}

static enum completion
completion_of_option(const struct option_row *row)
{
	const char *argument = row->option->argument;

	if (argument == NULL)
		return COMPLETION_NOTHING;
	if (!is_placeholder(argument))
		return COMPLETION_WORDS;
	return strcmp(argument, "FILE") == 0 || strcmp(argument, "PATH") == 0 ?
	    COMPLETION_FILE : COMPLETION_NOTHING;
}

static enum completion
completion_of_command(enum command c)
{
	switch (command_rows[c].words) {
	case WORDS_PROGRAM:
		return COMPLETION_PROGRAM;
	case WORDS_TOPIC:
		return COMPLETION_COMMAND;
	case WORDS_SHELL:
		return COMPLETION_WORDS;
	case WORDS_NONE:
		return COMPLETION_NOTHING;
	case WORDS_DUMPS:
	case WORDS_CAPTURE:
		return COMPLETION_DUMPS;
	default:
		return COMPLETION_TARGET;
	}
}

static void
completion_words(const char *alternatives, char out[COMPLETION_WORDS_MAX])
{
	size_t n = 0;

	if (strrchr(alternatives, ' ') != NULL)
		alternatives = strrchr(alternatives, ' ') + 1;
	for (; *alternatives != '\0' && n + 1 < COMPLETION_WORDS_MAX;
	    alternatives++) {
		if (*alternatives == '|')
			out[n++] = ' ';
		else if (strchr("[]", *alternatives) == NULL)
			out[n++] = *alternatives;
	}
	out[n] = '\0';
}

static bool
needs_argument(const struct option_row *row)
{
	return row->option->argument != NULL && row->option->argument[0] != '[';
}

/* Joins words that bash splits at '=' and ':'; at[]: indexes of first parts. */
static const char bash_words[] =
"	local -a words=() at=()\n"
"	local command=top named= program= option= glue= word cur i n\n"
"	for ((i = 0; i <= COMP_CWORD; i++)); do\n"
"		word=${COMP_WORDS[i]}\n"
"		if [[ $i -gt 0 && ( -n $glue || $word == [=:]* ) ]]; then\n"
"			words[-1]+=$word\n"
"		else\n"
"			words+=(\"$word\") at+=(\"$i\")\n"
"		fi\n"
"		glue=\n"
"		[[ $word == *[=:] ]] && glue=1\n"
"	done\n"
"	if [[ -n $glue && ${COMP_LINE:COMP_POINT-1:1} == ' ' ]]; then\n"
"		words+=('') at+=(\"$COMP_CWORD\")\n"
"	fi\n"
"	n=$((${#words[@]} - 1))\n"
"	cur=${words[n]}\n";

/* The command, and the option that the last word belongs to. */
static const char bash_walk[] =
"	for ((i = 1; i < n; i++)); do\n"
"		word=${words[i]}\n"
"		if [[ -n $option ]]; then\n"
"			option=\n"
"		elif [[ $word == -- ]]; then\n"
"			program=$((i + 1))\n"
"			break\n"
"		elif _pagek_needs \"$word\"; then\n"
"			option=$word\n"
"		elif [[ $word == -* ]]; then\n"
"			:\n"
"		elif [[ -z $named ]]; then\n"
"			named=1\n"
"			_pagek_command \"$word\" && command=$word\n"
"		elif [[ $command == run ]]; then\n"
"			program=$i\n"
"			break\n"
"		fi\n"
"	done\n"
"	[[ $command == run && -n $named && -z $option && -z $program &&\n"
"	    $cur != -* ]] && program=$n\n";

static const char bash_reply[] =
"	COMPREPLY=()\n"
"	if [[ -n $program ]]; then\n"
"		_pagek_program \"$program\" \"${at[program]}\" \"$cur\" \"$n\"\n"
"	elif [[ -n $option ]]; then\n"
"		_pagek_value \"$option\" \"$cur\" ''\n"
"	elif [[ $cur == --*=* ]]; then\n"
"		word=\n"
"		[[ $COMP_WORDBREAKS == *=* ]] || word=${cur%%=*}=\n"
"		_pagek_value \"${cur%%=*}\" \"${cur#*=}\" \"$word\"\n"
"	elif [[ $cur == -* ]]; then\n"
"		_pagek_options \"$command\" \"$cur\"\n"
"		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
"	else\n"
"		[[ -n $named ]] || _pagek_from \"$cur\" '' \"$_pagek_commands\"\n"
"		_pagek_word \"$command\" \"$cur\"\n"
"	fi\n"
"	return 0\n";

static const char bash_helpers[] =
"_pagek_command()\n"
"{\n"
"	[[ \" $_pagek_commands \" == *\" $1 \"* ]]\n"
"}\n"
"\n"
"# CURRENT PREFIX WORDS: those that begin so, without any expansion.\n"
"_pagek_from()\n"
"{\n"
"	local word\n"
"	for word in $3; do\n"
"		[[ $word == \"$1\"* ]] && COMPREPLY+=(\"$2$word\")\n"
"	done\n"
"}\n"
"\n"
"# CURRENT PREFIX\n"
"_pagek_files()\n"
"{\n"
"	local word\n"
"	compopt -o filenames\n"
"	while IFS= read -r word; do\n"
"		COMPREPLY+=(\"$2$word\")\n"
"	done < <(compgen -f -- \"$1\")\n"
"}\n"
"\n"
"# What bash took for a word of its own, up to a colon, is there already.\n"
"_pagek_targets()\n"
"{\n"
"	local word rest begun= prefix=\n"
"	[[ $1 == *:* && $COMP_WORDBREAKS == *:* ]] && begun=${1%\"${1##*:}\"}\n"
"	[[ -n $begun ]] || prefix=${1%%:*}:\n"
"	while IFS=$'\\t' read -r word rest; do\n"
"		[[ $word == \"$1\"* ]] || continue\n"
"		COMPREPLY+=(\"${word#\"$begun\"}\")\n"
"		[[ $word == *: ]] && compopt -o nospace\n"
"	done < <(command pagek completion targets 2>/dev/null)\n"
"	if [[ $1 == */* && $1 != *:* ]]; then\n"
"		_pagek_files \"$1\" ''\n"
"	elif [[ $1 == raw:* || $1 == unix:* ]]; then\n"
"		_pagek_files \"${1#*:}\" \"$prefix\"\n"
"	fi\n"
"}\n"
"\n"
"_pagek_dumps()\n"
"{\n"
"	_pagek_targets \"$1\"\n"
"	_pagek_files \"$1\" ''\n"
"}\n"
"\n"
"# AT AT-OF-BASH CURRENT LAST: a program, and what is its own.\n"
"_pagek_program()\n"
"{\n"
"	if declare -F _command_offset >/dev/null; then\n"
"		_command_offset \"$2\"\n"
"	elif [[ $1 == \"$4\" && $3 != */* ]]; then\n"
"		mapfile -t COMPREPLY < <(compgen -c -- \"$3\" | sort -u)\n"
"	else\n"
"		_pagek_files \"$3\" ''\n"
"	fi\n"
"}\n";

static void
put_bash_needs(FILE *out)
{
	const char *bar = "";

	fputs("\n_pagek_needs()\n{\n	case $1 in\n	", out);
	for (int id = 0; id < OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];

		if (!needs_argument(row))
			continue;
		fprintf(out, "%s--%s", bar, row->option->name);
		bar = " | ";
		if (row->letter != 0)
			fprintf(out, "%s-%c", bar, row->letter);
	}
	fputs(") return 0 ;;\n	esac\n	return 1\n}\n", out);
}

static void
put_bash_values(FILE *out)
{
	char words_of[COMPLETION_WORDS_MAX];

	fputs("\n# OPTION CURRENT PREFIX\n_pagek_value()\n{\n	case $1 in\n",
	    out);
	for (int id = 0; id < OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];
		enum completion of = completion_of_option(row);

		if (of == COMPLETION_NOTHING)
			continue;
		fprintf(out, "	--%s", row->option->name);
		if (row->letter != 0)
			fprintf(out, " | -%c", row->letter);
		if (of == COMPLETION_FILE) {
			fputs(") _pagek_files \"$2\" \"$3\" ;;\n", out);
			continue;
		}
		completion_words(row->option->argument, words_of);
		fprintf(out, ") _pagek_from \"$2\" \"$3\" '%s' ;;\n", words_of);
	}
	fputs("	esac\n}\n", out);
}

static void
put_bash_options(FILE *out)
{
	fputs("\n# COMMAND CURRENT\n_pagek_options()\n{\n	local options=\n"
	    "	case $1 in\n", out);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "	%s) options='", command_rows[c].name);
		for (int id = 0; id < OPTIONS; id++) {
			const struct option_row *row = &option_rows[id];

			if (!option_taken(row, (enum command)c))
				continue;
			if (row->letter != 0)
				fprintf(out, " -%c", row->letter);
			fprintf(out, " --%s%s", row->option->name,
			    needs_argument(row) ? "=" : "");
		}
		fputs(" ' ;;\n", out);
	}
	fputs("	esac\n	_pagek_from \"$2\" '' \"$options\"\n}\n", out);
}

static void
put_bash_words(FILE *out)
{
	char words_of[COMPLETION_WORDS_MAX];

	fputs("\n# COMMAND CURRENT\n_pagek_word()\n{\n	case $1 in\n", out);
	for (int c = 0; c < COMMANDS; c++) {
		enum completion of = completion_of_command((enum command)c);

		if (of == COMPLETION_NOTHING || of == COMPLETION_PROGRAM)
			continue;
		fprintf(out, "	%s) ", command_rows[c].name);
		if (of == COMPLETION_TARGET) {
			fputs("_pagek_targets \"$2\" ;;\n", out);
		} else if (of == COMPLETION_DUMPS) {
			fputs("_pagek_dumps \"$2\" ;;\n", out);
		} else if (of == COMPLETION_COMMAND) {
			fputs("_pagek_from \"$2\" '' \"$_pagek_commands\" ;;\n",
			    out);
		} else {
			completion_words(command_rows[c].synopsis, words_of);
			fprintf(out, "_pagek_from \"$2\" '' '%s' ;;\n",
			    words_of);
		}
	}
	fputs("	esac\n}\n", out);
}

static void
put_bash(FILE *out)
{
	fprintf(out, "# bash completion for pagek %s, from 'pagek completion "
	    "bash'\n\n_pagek_commands='", PAGEK_VERSION);
	for (int c = 0; c < COMMANDS; c++)
		fprintf(out, "%s%s", c == 0 ? "" : " ", command_rows[c].name);
	fprintf(out, "'\n\n%s", bash_helpers);
	put_bash_needs(out);
	put_bash_values(out);
	put_bash_options(out);
	put_bash_words(out);
	fprintf(out, "\n_pagek()\n{\n%s%s%s}\n\ncomplete -F _pagek pagek\n",
	    bash_words, bash_walk, bash_reply);
}

static const char fish_helpers[] =
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
put_fish_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text != '\0'; text++)
		fprintf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "",
		    *text);
	fputc('\'', out);
}

static void
put_fish_option(FILE *out, const struct option_row *row)
{
	char words[COMPLETION_WORDS_MAX];

	fputs("complete -c pagek -n '__fish_pagek_in", out);
	for (int c = 0; c < COMMANDS; c++)
		if (option_taken(row, (enum command)c))
			fprintf(out, " %s", command_rows[c].name);
	fputs("'", out);
	if (row->letter != 0)
		fprintf(out, " -s %c", row->letter);
	fprintf(out, " -l %s", row->option->name);
	switch (completion_of_option(row)) {
	case COMPLETION_WORDS:
		completion_words(row->option->argument, words);
		fprintf(out, "%s -a '%s'", needs_argument(row) ?
		    " -x" : "", words);
		break;
	case COMPLETION_FILE:
		fputs(" -r -F", out);
		break;
	default:
		fputs(row->option->argument != NULL ? " -x" : "", out);
		break;
	}
	fputs(" -d ", out);
	put_fish_quoted(out, row->option->help);
	fputc('\n', out);
}

static void
put_fish_words(FILE *out, enum command c)
{
	static const char *const words[] = {
		[COMPLETION_TARGET] = "-a '(__fish_pagek_targets)'",
		[COMPLETION_DUMPS] = "-F -a '(__fish_pagek_targets)'",
		[COMPLETION_PROGRAM] = "-F -a '(__fish_complete_command)'",
		[COMPLETION_COMMAND] = "-a '$__fish_pagek_commands'",
		[COMPLETION_WORDS] = "-a ",
	};
	enum completion of = completion_of_command(c);
	char alternatives[COMPLETION_WORDS_MAX];

	if (of == COMPLETION_NOTHING)
		return;
	fprintf(out, "complete -c pagek -n '__fish_pagek_in %s' %s",
	    command_rows[c].name, words[of]);
	if (of == COMPLETION_WORDS) {
		completion_words(command_rows[c].synopsis, alternatives);
		put_fish_quoted(out, alternatives);
	}
	fputc('\n', out);
}

static void
put_fish(FILE *out)
{
	fprintf(out, "# fish completion for pagek %s, from 'pagek completion "
	    "fish'\n\nset -g __fish_pagek_commands", PAGEK_VERSION);
	for (int c = 0; c < COMMANDS; c++)
		fprintf(out, " %s", command_rows[c].name);
	fprintf(out, "\n\n%scomplete -c pagek -f\n", fish_helpers);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "complete -c pagek -n __fish_pagek_no_command "
		    "-a %s -d ", command_rows[c].name);
		put_fish_quoted(out, command_rows[c].help);
		fputc('\n', out);
	}
	for (int c = 0; c < COMMANDS; c++)
		put_fish_words(out, (enum command)c);
	for (int id = 0; id < OPTIONS; id++)
		put_fish_option(out, &option_rows[id]);
}

static const char zsh_helpers[] =
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
"_pagek_dumps() {\n"
"	_pagek_targets\n"
"	_files\n"
"}\n"
"\n"
"_pagek_first() {\n"
"	_pagek_commands\n"
"	_pagek_targets\n"
"}\n";

static const char zsh_find[] =
"	local command=top word\n"
"	for word in ${words[2,CURRENT-1]}; do\n"
"		[[ $word == -- ]] && break\n"
"		if (( ${_pagek_names[(Ie)$word]} )); then\n"
"			command=$word\n"
"			break\n"
"		fi\n"
"	done\n";

static void
put_zsh_quoted(FILE *out, const char *text)
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
put_zsh_argument(FILE *out, const struct option_row *row)
{
	char words[COMPLETION_WORDS_MAX];

	if (row->option->argument == NULL)
		return;
	fputs(needs_argument(row) ? ":" : "::", out);
	put_zsh_quoted(out, row->option->name);
	fputc(':', out);
	switch (completion_of_option(row)) {
	case COMPLETION_WORDS:
		completion_words(row->option->argument, words);
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
put_zsh_option(FILE *out, const struct option_row *row)
{
	const char *help = row->option->help;
	bool needs = needs_argument(row);

	if (row->letter != 0) {
		fprintf(out, "		'(-%c --%s)-%c%s[", row->letter,
		    row->option->name, row->letter, needs ? "+" : "");
		put_zsh_quoted(out, help);
		fputc(']', out);
		put_zsh_argument(out, row);
		fprintf(out, "'\n		'(-%c --%s)", row->letter, row->option->name);
	} else {
		fputs("		'", out);
	}
	fprintf(out, "--%s%s[", row->option->name, needs ? "=" :
	    row->option->argument != NULL ? "=-" : "");
	put_zsh_quoted(out, help);
	fputc(']', out);
	put_zsh_argument(out, row);
	fputs("'\n", out);
}

static void
put_zsh_words(FILE *out, enum command c)
{
	char words[COMPLETION_WORDS_MAX];

	fputs(c == COMMAND_DEFAULT ? "		'1:: :_pagek_first'\n" :
	    "		'1: :_pagek_commands'\n", out);
	switch (completion_of_command(c)) {
	case COMPLETION_TARGET:
		fputs("		'2::target:_pagek_targets'\n", out);
		break;
	case COMPLETION_DUMPS:
		fputs("		'*:dump:_pagek_dumps'\n", out);
		break;
	case COMPLETION_PROGRAM:
		fputs("		'(-)2:program:_command_names -e'\n"
		    "		'*::argument:_normal'\n", out);
		break;
	case COMPLETION_COMMAND:
		fputs("		'2::command:_pagek_commands'\n", out);
		break;
	case COMPLETION_WORDS:
		completion_words(command_rows[c].synopsis, words);
		fprintf(out, "		'2:shell:(%s)'\n", words);
		break;
	default:
		break;
	}
}

static void
put_zsh_commands(FILE *out)
{
	fputs("_pagek_names=(", out);
	for (int c = 0; c < COMMANDS; c++)
		fprintf(out, "%s%s", c == 0 ? "" : " ", command_rows[c].name);
	fputs(")\n\n_pagek_commands() {\n	local -a commands=(\n", out);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "		'%s:", command_rows[c].name);
		put_zsh_quoted(out, command_rows[c].help);
		fputs("'\n", out);
	}
	fputs("	)\n	_describe -t commands command commands\n}\n\n", out);
}

static void
put_zsh(FILE *out)
{
	fprintf(out, "#compdef pagek\n# zsh completion for pagek %s, from "
	    "'pagek completion zsh'\n\n", PAGEK_VERSION);
	put_zsh_commands(out);
	fprintf(out, "%s\n_pagek() {\n%s	local -a specs\n"
	    "	case $command in\n", zsh_helpers, zsh_find);
	for (int c = 0; c < COMMANDS; c++) {
		fprintf(out, "	%s) specs=(\n", command_rows[c].name);
		for (int id = 0; id < OPTIONS; id++)
			if (option_taken(&option_rows[id], (enum command)c))
				put_zsh_option(out, &option_rows[id]);
		put_zsh_words(out, (enum command)c);
		fputs("	) ;;\n", out);
	}
	/* For a script that zsh autoloads, or that is read by `source`. */
	fputs("	esac\n	_arguments -s -S : $specs\n}\n\n"
	    "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
	    "	_pagek \"$@\"\nelse\n	compdef _pagek pagek\nfi\n", out);
}

static bool
is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return name[0] != '\0' && name[0] != '-' &&
	    name[strspn(name, plain)] == '\0';
}

static void
put_word(FILE *out, const char *word, const char *what)
{
	char safe[512];

	base_safe_text(safe, sizeof safe, what, strlen(what), false);
	fprintf(out, "%s\t%s\n", word, safe);
}

/* Names from the table of nodes; no node is asked. */
static void
put_nodes(FILE *out)
{
	struct nodes_table *t;
	char where[sizeof t->entry->place + 8], number[8];

	if (nodes_table_load(&t, true, NULL, NULL) < 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct nodes_entry *e = &t->entry[i];

		nodes_entry_where(e, where, sizeof where);
		snprintf(number, sizeof number, "%04X", e->number);
		put_word(out, number, e->name);
		if (is_plain(e->name))
			put_word(out, e->name, where);
	}
	nodes_table_free(t);
}

/* Names printed so far.  When it is full, names may come twice. */
struct printed {
	FILE *out;
	char comm[64][16];
	size_t n;
};

static void
put_command(struct printed *p, const struct nodes_target *t)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->comm[i], t->comm) == 0)
			return;
	if (!is_plain(t->comm))
		return;
	put_word(p->out, t->comm, "the newest target of this command");
	if (p->n < BASE_NELEM(p->comm))
		memcpy(p->comm[p->n++], t->comm, sizeof t->comm);
}

static bool
put_pids(void *arg, struct target_node *node)
{
	const struct nodes_target *t = node->targets;
	struct printed *p = arg;
	char word[24];

	for (size_t i = 0; i < node->n; i++) {
		if (t[i].pid <= 0 || t[i].ended ||
		    !nodes_target_is_live(&t[i]))
			continue;
		snprintf(word, sizeof word, "pid:%ld", (long)t[i].pid);
		put_word(p->out, word, t[i].comm);
		put_command(p, &t[i]);
	}
	return true;
}

static void
put_targets(FILE *out, uv_loop_t *loop)
{
	for (const struct target_form *f = target_forms; f->what != NULL; f++)
		if (f->word != NULL)
			put_word(out, f->word, f->what);
	put_nodes(out);
	(void)target_each_node(loop, NODES_MS, NODES_MS, put_pids,
	    &(struct printed){ .out = out });
}

int
cmd_completion_check(struct parse *p)
{
	if (p->o->words.shell == NULL)
		return option_fail(p, "'pagek completion' needs a shell: bash, "
		    "zsh or fish");
	return 0;
}

int
cmd_completion(const struct options *o, uv_loop_t *loop)
{
	if (strcmp(o->words.shell, "bash") == 0)
		put_bash(stdout);
	else if (strcmp(o->words.shell, "zsh") == 0)
		put_zsh(stdout);
	else if (strcmp(o->words.shell, "fish") == 0)
		put_fish(stdout);
	else
		put_targets(stdout, loop);
	/* Checks for a write error before another call overwrites errno. */
	(void)output_going(stdout);
	pump_down(loop, NULL, NULL);
	return output_close(stdout, NULL, PAGEK_OK);
}

/*
 * Completion for bash, which needs nothing but itself; where the package
 * bash-completion is there, it completes the arguments of other programs.
 */
#include "completion.h"

/*
 * bash takes a line apart at '=' and ':' too: its words are put together again,
 * and `at` keeps where each began.
 */
static const char words[] =
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

/* Which command, and whether the last word belongs to an option. */
static const char walk[] =
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

static const char reply[] =
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

static const char helpers[] =
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

/* Options whose argument is the word behind them, or else behind a '='. */
static void
put_needs(FILE *out)
{
	const char *bar = "";

	fputs("\n_pagek_needs()\n{\n	case $1 in\n	", out);
	for (int id = 0; id < OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];

		if (!completion_needs_argument(row))
			continue;
		fprintf(out, "%s--%s", bar, row->name);
		bar = " | ";
		if (row->letter != 0)
			fprintf(out, "%s-%c", bar, row->letter);
	}
	fputs(") return 0 ;;\n	esac\n	return 1\n}\n", out);
}

static void
put_values(FILE *out)
{
	char words_of[COMPLETION_WORDS_MAX];

	fputs("\n# OPTION CURRENT PREFIX\n_pagek_value()\n{\n	case $1 in\n",
	    out);
	for (int id = 0; id < OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];
		enum completion_of of = completion_of_option(row);

		if (of == COMPLETION_NOTHING)
			continue;
		fprintf(out, "	--%s", row->name);
		if (row->letter != 0)
			fprintf(out, " | -%c", row->letter);
		if (of == COMPLETION_FILE) {
			fputs(") _pagek_files \"$2\" \"$3\" ;;\n", out);
			continue;
		}
		completion_words(row->argument, words_of);
		fprintf(out, ") _pagek_from \"$2\" \"$3\" '%s' ;;\n", words_of);
	}
	fputs("	esac\n}\n", out);
}

static void
put_options(FILE *out)
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
			fprintf(out, " --%s%s", row->name,
			    completion_needs_argument(row) ? "=" : "");
		}
		fputs(" ' ;;\n", out);
	}
	fputs("	esac\n	_pagek_from \"$2\" '' \"$options\"\n}\n", out);
}

static void
put_words(FILE *out)
{
	char words_of[COMPLETION_WORDS_MAX];

	fputs("\n# COMMAND CURRENT\n_pagek_word()\n{\n	case $1 in\n", out);
	for (int c = 0; c < COMMANDS; c++) {
		enum completion_of of = completion_of_command((enum command)c);

		if (of == COMPLETION_NOTHING || of == COMPLETION_PROGRAM)
			continue;
		fprintf(out, "	%s) ", command_rows[c].name);
		if (of == COMPLETION_TARGET) {
			fputs("_pagek_targets \"$2\" ;;\n", out);
		} else if (of == COMPLETION_COMMAND) {
			fputs("_pagek_from \"$2\" '' \"$_pagek_commands\" ;;\n",
			    out);
		} else {
			completion_words(command_rows[c].usage, words_of);
			fprintf(out, "_pagek_from \"$2\" '' '%s' ;;\n",
			    words_of);
		}
	}
	fputs("	esac\n}\n", out);
}

void
completion_bash(FILE *out)
{
	fprintf(out, "# bash completion for pagek %s, from 'pagek completion "
	    "bash'\n\n_pagek_commands='", PAGEK_VERSION);
	for (int c = 0; c < COMMANDS; c++)
		fprintf(out, "%s%s", c == 0 ? "" : " ", command_rows[c].name);
	fprintf(out, "'\n\n%s", helpers);
	put_needs(out);
	put_values(out);
	put_options(out);
	put_words(out);
	fprintf(out, "\n_pagek()\n{\n%s%s%s}\n\ncomplete -F _pagek pagek\n",
	    words, walk, reply);
}

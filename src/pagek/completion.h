/*
 * completion: what lets a shell complete command lines of pagek, made from the
 * tables that parsing and --help go by.  The three writers (completion_bash.c,
 * completion_zsh.c, completion_fish.c) know their shell's language; what there
 * is to complete is said here (completion.c).
 *
 * What no table has, the targets that there are, a script asks for when it is
 * wanted: `pagek completion targets`.
 */
#ifndef PAGEK_COMPLETION_H
#define PAGEK_COMPLETION_H

#include <stdio.h>

#include "options_table.h"

/* What stands behind an option, or as a word of a command. */
enum completion_of {
	COMPLETION_NOTHING,	/* no argument, or nobody can know it */
	COMPLETION_WORDS,	/* one of completion_words() */
	COMPLETION_FILE,
	COMPLETION_TARGET,
	COMPLETION_COMMAND,	/* a command of pagek */
	COMPLETION_PROGRAM,	/* a program, and what belongs to it */
};

#define COMPLETION_WORDS_MAX 128

enum completion_of completion_of_option(const struct option_row *);
enum completion_of completion_of_command(enum command);

/* The words of "[strict]" or "text|json", blanks between. */
void completion_words(const char *alternatives,
    char out[COMPLETION_WORDS_MAX]);

/* Writes the text with `escape` before each byte that is one of `which`. */
void completion_escape(FILE *, const char *text, const char *which,
    const char *escape);

static inline bool
completion_needs_argument(const struct option_row *row)
{
	return row->argument != NULL && row->argument[0] != '[';
}

void completion_bash(FILE *);
void completion_zsh(FILE *);
void completion_fish(FILE *);

#endif

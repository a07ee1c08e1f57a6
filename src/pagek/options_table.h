/*
 * options_table: the tables that parsing, checking and help go by, and what the
 * files of options have in common.  Configuration and completion read it too.
 */
#ifndef PAGEK_OPTIONS_TABLE_H
#define PAGEK_OPTIONS_TABLE_H

#include "options.h"

/* May stand in a configuration file. */
#define OPTION_FILE (1u << 31)

/* One line of options.def. */
struct option_row {
	const char *name;
	int letter;		/* 0: no short form */
	const char *argument;	/* NULL: none; in brackets: may be left out */
	unsigned commands;	/* that take it: bit 1u << enum command; OPTION_FILE */
	const char *help;
};

struct command_row {
	const char *name;
	const char *usage;
	const char *help;
};

/* Options on their way to struct options. */
struct parse {
	struct options *o;
	char *why;
	size_t cap;
	int missed;		/* status of a target that is none, with why; 0 */
};

/* Puts the sentence into why; PAGEK_USAGE. */
int option_fail(struct parse *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * One more word, in the order in which they stand; `words` counts them.  0, or
 * the exit status.
 */
int option_word(struct parse *, const char *word, unsigned *words);

/*
 * A value of the command line into its place; NULL where the option has none.
 * 0, or the exit status.
 */
int option_set(struct parse *, enum option_id, const char *arg);

/* What a file says of an option that takes no value: 1, 0 or -1 for neither. */
int option_switch(const char *text);

/* A value of --max-live and its like: one more budget.  0 or the status. */
int option_budget(struct parse *, enum option_id, const char *arg);

/* 0, or the exit status when what is given does not go together. */
int options_check(struct parse *);

/* What files may have, `pagek config` takes. */
static inline bool
option_taken(const struct option_row *row, enum command c)
{
	return (row->commands & 1u << c) != 0 ||
	    (c == COMMAND_CONFIG && (row->commands & OPTION_FILE) != 0);
}

extern const struct option_row option_rows[OPTIONS];
extern const struct command_row command_rows[COMMANDS];

#endif

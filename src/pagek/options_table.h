/*
 * options_table: the tables that parsing and help go by.  Private to the two.
 */
#ifndef PAGEK_OPTIONS_TABLE_H
#define PAGEK_OPTIONS_TABLE_H

#include "options.h"

/* One line of options.def. */
struct option_row {
	const char *name;
	int letter;		/* 0: no short form */
	const char *argument;	/* NULL: none; in brackets: may be left out */
	unsigned commands;	/* that take it: bit 1u << enum command */
	const char *help;
};

struct command_row {
	const char *name;
	const char *usage;
	const char *help;
};

extern const struct option_row option_rows[OPTIONS];
extern const struct command_row command_rows[COMMANDS];

#endif

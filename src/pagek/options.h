/*
 * options: the command line as data.
 *
 * Vocabulary
 *	command	what the first word names: a row of commands.def; the first row
 *		is the default.
 *	TARGET	a word that says whose memory: see target.h.
 *	group	options that belong together: a command takes whole groups, and
 *		options.def gives it single options beside them.
 *
 * Defaults come from files too: see config.h.
 *
 * No option is silently ignored: one that its command does not take, or that
 * has no effect beside the others, is an error of one sentence.
 *
 *	commands.def	the commands
 *	options.def	the options
 *	options.c	from argv to struct options, and what goes together
 *	options_values.c	the table of options, and the value of each
 *	cmd_help.c	the help, made from the tables
 *
 * What goes together for one command alone is checked in its own file.
 *
 * Example: the rules of a command, as its row of commands.def names them
 *	int
 *	cmd_look_check(struct parse *p)
 *	{
 *		if (p->o->aimed)
 *			return 0;
 *		return option_fail(p, "'pagek look' needs a TARGET");
 *	}
 */
#ifndef PAGEK_OPTIONS_H
#define PAGEK_OPTIONS_H

#include <stdio.h>
#include <uv.h>

#include "../base/option.h"
#include "../mdd/mdd.h"
#include "../nodes/node_options.h"
#include "pagek.h"
#include "target.h"

#define OPTIONS_SKIPS 16	/* times that --skip may be given */

enum command {
#define COMMAND(id, name, synopsis, words, run, check, groups, help) \
	COMMAND_##id,
#include "commands.def"
#undef COMMAND
	COMMANDS,
	COMMAND_DEFAULT = 0
};

/* What may follow a command that is no option. */
enum command_words {
	WORDS_NONE,
	WORDS_TARGET,		/* a TARGET */
	WORDS_LISTING,		/* a TARGET, the name of a listing, or both */
	WORDS_PROGRAM,		/* a program and its arguments */
	WORDS_TARGET_OR_PROGRAM,	/* a TARGET, or "--" and a program */
	WORDS_TOPIC,		/* a command of pagek */
	WORDS_SHELL,		/* one of the words of the synopsis */
};

/* Options that several commands take. */
enum option_group {
	GROUP_SCREEN,		/* of a page, which may be on a terminal */
	GROUP_ROWS,		/* of rows of blocks */
	GROUP_BLOCKS,		/* of a list: which one, and which of its blocks */
	GROUP_DATA,		/* of text and data that are written */
	GROUP_SUMS,		/* no options: can write sums for Prometheus */
	GROUP_REPEAT,		/* of what is written again and again */
	GROUP_READ,		/* of the records that are read */
	GROUP_REACH,		/* of the way to a node */
	GROUP_START,		/* of a program that is started */
	GROUP_FILE,		/* may stand in a settings file */
};

/* A mask of takers has a bit for each command, and one for each group. */
#define TAKER(command) (UINT64_C(1) << (command))
#define TAKER_GROUP(group) (UINT64_C(1) << (COMMANDS + (group)))

enum option_id {
#define OPT(id, name, letter, argument, value, standard, takers, help) \
	OPTION_##id,
#define HANDED(id, letter, standard, takers) OPTION_##id,
#include "options.def"
#undef OPT
#undef HANDED
	OPTIONS
};

struct options;
struct parse;

/* One row of commands.def. */
struct command_row {
	const char *name;
	const char *synopsis;	/* behind the name */
	enum command_words words;
	int (*run)(const struct options *, uv_loop_t *);
	int (*check)(struct parse *);
	uint64_t takes;		/* takers: this command, and its groups */
	const char *help;
};

/* One row of options.def. */
struct option_row {
	struct base_option own;	/* of the row itself, unless another table has it */
	const struct base_option *option;	/* that, or the other table's */
	size_t at;		/* of the struct that its field is in, in struct options */
	/* Looks at the value and keeps it; NULL: that is its field's kind. */
	int (*set)(struct parse *, const char *arg);
	int letter;		/* 0: no short form */
	const char *standard;	/* value when nobody gives one; NULL: none */
	uint64_t takers;
};

extern const struct command_row command_rows[COMMANDS];
extern const struct option_row option_rows[OPTIONS];

static inline const char *
option_name(enum option_id id)
{
	return option_rows[id].option->name;
}

/* NULL: it takes none; in brackets: optional. */
static inline const char *
option_argument(enum option_id id)
{
	return option_rows[id].option->argument;
}

static inline bool
option_taken(const struct option_row *row, enum command c)
{
	return (row->takers & command_rows[c].takes) != 0;
}

static inline bool
command_in(enum command c, enum option_group group)
{
	return (command_rows[c].takes & TAKER_GROUP(group)) != 0;
}

/* The command of that name; COMMANDS: there is none. */
enum command command_find(const char *name);

enum list_choice {
	LIST_DEFAULT,
	LIST_NOTE,
	LIST_INDEXED,
	LIST_CHECK,
};

enum text_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_NDJSON,
	FORMAT_CSV,
	FORMAT_PROM,
};

#define BUDGETS 16		/* that one check may have */

enum budget_kind {
	BUDGET_LIVE,		/* bytes */
	BUDGET_BLOCKS,		/* that match an expression */
	BUDGET_GROWTH,		/* bytes a minute */
	BUDGET_AGE,		/* blocks that are older */
};

struct budget {
	enum budget_kind kind;
	const char *text;	/* as given */
	size_t expression;	/* so many bytes of that are one */
	double most;
	uint64_t ms;		/* age: older than this */
};

struct config;

struct options {
	enum command command;
	bool named;			/* the command was given, not left out */
	struct target target;		/* of the word; `local` when there is none */
	bool aimed;			/* there is one */
	char *const *argv;		/* run, check: the command, NULL-ended; NULL */
	const char *name;		/* listings: of the one that is wanted; NULL */
	struct budget budget[BUDGETS];
	unsigned budgets;
	const char *baseline;		/* NULL */
	double tolerance;		/* share by which a baseline may be exceeded */
	int duration_ms;		/* 0: no end; of a check: one look at a target */
	enum command topic;		/* help: about which; COMMANDS about all */
	const char *shell;		/* completion: of which, or "targets"; NULL */
	bool given[OPTIONS];		/* on the command line */
	bool filed[OPTIONS];		/* not given, and a file turns it on */
	const char *text[OPTIONS];	/* values as given; NULL */
	const char *config_file;	/* --config; NULL */
	const struct config *config;	/* where each value comes from; not ours */

	enum text_format format;
	bool json;			/* it is none for people */
	const char *output;		/* NULL: standard output, or of run standard error */
	struct page_opts page;
	bool backwards;			/* --sort alone, without --reverse */
	uint64_t limit;			/* 0: all */
	const char *fields;		/* names with commas between; NULL: all */
	const char *filter;		/* an expression; NULL: all blocks */
	size_t wrong_at;		/* where it is wrong, of an error there ... */
	bool wrong;			/* ... which this is */
	uint64_t count;			/* 0: no end */
	int interval_ms;
	int timeout_ms;
	enum list_choice list;
	struct node_opts node;		/* of the node that is started */
	const char *remote;		/* pageknode of another machine; NULL: in its PATH */
	enum profile_measure measure;
	enum profile_by by;		/* of a flat table */
	bool by_group;			/* it was given */
	double least;			/* share of all */
	unsigned depth;			/* 0: all */
	const char *focus;		/* NULL: all stacks */
	const char *skip[OPTIONS_SKIPS];
	unsigned skips;
};

static inline bool
option_given(const struct options *o, enum option_id id)
{
	return o->given[id];
}

/* On, by whomever: of options that take no value. */
static inline bool
option_on(const struct options *o, enum option_id id)
{
	return o->given[id] || o->filed[id];
}

/* It is a page as text and not on a terminal, of commands that show one. */
static inline bool
options_as_text(const struct options *o)
{
	return o->given[OPTION_ONCE] || o->given[OPTION_BATCH] ||
	    o->given[OPTION_OUTPUT];
}

/*
 * Strings stay in argv, which is put into another order.  0, or the exit
 * status of an error with a sentence in why.
 */
int options_parse(struct options *, int argc, char **argv, char *why,
    size_t cap);

/*
 * A value as a file has it, of an option that may stand there; `text` is kept.
 * 0, or a sentence in why.
 */
int options_set(struct options *, enum option_id, const char *text, char *why,
    size_t cap);

/* What a session is opened with. */
void options_session(const struct options *, struct nodes_session_opts *);

/* The functions to be skipped; the caller's.  -ENOMEM. */
int options_wrappers(const struct options *, struct symbol_wrappers **);

/* What a file says of an option that takes no value: 1, 0 or -1 for neither. */
int option_switch(const char *text);

/* --help of one command, or of all with COMMANDS (cmd_help.c). */
void options_help(FILE *, enum command);

/* --- on the way to struct options ---------------------------------------- */

struct parse {
	struct options *o;
	char *why;
	size_t cap;
	int missed;		/* status of a target that is none, with why; 0 */
};

/* Puts the sentence into why; PAGEK_USAGE. */
int option_fail(struct parse *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails with "--NAME WHY_NOT" for the first of n options that is given; or 0. */
int option_none_of(struct parse *, const enum option_id *, size_t n,
    const char *why_not);

/* Puts "--NAME=ARG: CLAUSE" there, by what the option's values are; PAGEK_USAGE. */
int option_wrong(struct parse *, enum option_id, const char *arg);

/*
 * A value of the command line into its place; NULL where the option has none.
 * 0, or the exit status.
 */
int option_set(struct parse *, enum option_id, const char *arg);

/* What holds when nobody says anything. */
void options_standard(struct options *);

#endif

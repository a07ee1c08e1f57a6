/*
 * options: the command line as data.
 *
 * Vocabulary
 *	command	what the first word names: top (the default), run, list,
 *		tree, export, targets, nodes, listings, watch, check, config,
 *		arm, disarm, completion, help.
 *	TARGET	a word that says whose memory: see target.h.
 *
 * Defaults come from files too: see config.h.
 *
 * What an option means is decided here and nowhere else, so that none is
 * silently ignored: one that its command does not take, or that has no effect
 * beside the others, is an error of one sentence.
 *
 *	options.def	the table of them
 *	options.c	from argv to struct options
 *	options_words.c	words that are no options
 *	options_values.c	what the value of each may be, and where it goes
 *	options_budget.c	... of `pagek check`
 *	options_check.c	what goes together
 *	options_help.c	the help, made from the tables
 */
#ifndef PAGEK_OPTIONS_H
#define PAGEK_OPTIONS_H

#include <stdio.h>

#include "../mdd/mdd.h"
#include "pagek.h"
#include "target.h"

#define OPTIONS_SKIPS 16	/* times that --skip may be given */
#define OPTIONS_STACK 16	/* frames, unless told otherwise */

enum command {
	COMMAND_TOP,
	COMMAND_RUN,
	COMMAND_LIST,
	COMMAND_TREE,
	COMMAND_EXPORT,
	COMMAND_TARGETS,
	COMMAND_NODES,
	COMMAND_LISTINGS,
	COMMAND_WATCH,
	COMMAND_CHECK,
	COMMAND_CONFIG,
	COMMAND_ARM,
	COMMAND_DISARM,
	COMMAND_COMPLETION,
	COMMAND_HELP,
	COMMANDS
};

enum option_id {
#define OPT(id, name, letter, argument, commands, help) OPTION_##id,
#include "options.def"
#undef OPT
	OPTIONS
};

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
	const char *const *argv;	/* run, check: the command, NULL-ended; NULL */
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
	uint32_t max;			/* 0: not given */
	uint64_t limit;			/* 0: all */
	const char *fields;		/* names with commas between; NULL: all */
	const char *filter;		/* an expression; NULL: all blocks */
	size_t wrong_at;		/* where it is wrong, of an error there ... */
	bool wrong;			/* ... which this is */
	uint64_t count;			/* 0: no end */
	int interval_ms;
	unsigned baud;			/* of raw: 0 as it is */
	int timeout_ms;
	enum list_choice list;
	const char *report;
	const char *at, *stream;
	const char *remote;		/* pageknode of another machine; NULL: in its PATH */
	unsigned stack;			/* frames of each stack */
	uint64_t sample;		/* mean bytes between samples; 0: every event */
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

/* --help of one command, or of all with COMMANDS. */
void options_help(FILE *, enum command);

#endif

/*
 * options: the command line as data.
 *
 * Vocabulary
 *	command	a row of commands.def; the first row is the default.
 *	TARGET	the word that says whose memory: see target_word.h.
 *	group	options that belong together: a command takes whole groups, and
 *		options.def gives it single options beside them.
 *
 * No option is silently ignored: one that its command does not take, or that
 * has no effect beside the others, is an error of one sentence.
 *
 *	commands.def	the commands
 *	options.def	the options
 *	options.c	from argv to struct options, and what goes together
 *	options_values.c	the table of options, and the value of each
 *	config.h	defaults from files
 *
 * Example: the rules of a command alone stand in its own file, and its row of
 * commands.def names them
 *	int
 *	cmd_look_check(struct parse *p)
 *	{
 *		if (p->o->target_given)
 *			return 0;
 *		return option_fail(p, "'pagek look' needs a TARGET");
 *	}
 */
#ifndef PAGEK_OPTIONS_H
#define PAGEK_OPTIONS_H

#include <stdio.h>
#include <uv.h>

#include "../../base/option.h"
#include "../../profile/profile.h"
#include "../../nodes/node_options/node_options.h"
#include "../../refcnt/refcnt.h"
#include "../page/page.h"
#include "../usage/usage.h"
#include "target_word.h"

enum pagek_exit {
	PAGEK_OK = 0,
	PAGEK_FAILED = 1,
	PAGEK_USAGE = 2,
	PAGEK_NO_TARGET = 3,
	PAGEK_DENIED = 4,
	PAGEK_FORMAT = 5,
	PAGEK_INCOMPLETE = 6,
	PAGEK_EXCEEDED = 7,
	PAGEK_TIMEOUT = 8,
	PAGEK_RUN_FAILED = 125,
};

enum command {
#define COMMAND(id, name, synopsis, words, run, check, groups, help) \
	COMMAND_##id,
#include "commands.def"
#undef COMMAND
	COMMANDS,
	COMMAND_DEFAULT = 0
};

/* The words that a command takes beside its options. */
enum command_words {
	WORDS_NONE,
	WORDS_TARGET,		/* a TARGET */
	WORDS_LISTING,		/* a TARGET, the name of a listing, or both */
	WORDS_MARK,		/* the name of a mark, then perhaps a TARGET */
	WORDS_RANGE,		/* a TARGET, an address and a length, or both; a node */
	WORDS_PROGRAM,		/* a program and its arguments */
	WORDS_TARGET_OR_PROGRAM,	/* a TARGET, or "--" and a program */
	WORDS_REPLAY,		/* the path of a capture */
	WORDS_DUMPS,		/* an executable and dumps, or a TARGET */
	WORDS_CAPTURE,		/* a capture, or a TARGET */
	WORDS_MEMORY,		/* core:FILE or pid:N */
	WORDS_TOPIC,		/* a command of pagek */
	WORDS_SHELL,		/* one of the words of the synopsis */
};

/* Options that several commands take. */
enum option_group {
	GROUP_SCREEN,		/* a page, on a terminal or as text */
	GROUP_ROWS,		/* rows of blocks */
	GROUP_BLOCKS,		/* which list, and which of its blocks */
	GROUP_DATA,		/* text and data that are written */
	GROUP_SUMS,		/* no options: the command can write sums for Prometheus */
	GROUP_REPEAT,		/* text that is written repeatedly */
	GROUP_READ,		/* reading the records of a target */
	GROUP_REACH,		/* connecting to a node */
	GROUP_START,		/* a program that is started */
	GROUP_MDD,		/* no options: ecosmdd has the command, too */
	GROUP_EVENTS,		/* events of debug data */
	GROUP_FILE,		/* may stand in a settings file */
};

/* A mask of takers has a bit for each command, and one for each group. */
#define TAKER(command) (UINT64_C(1) << (command))
#define TAKER_GROUP(group) (UINT64_C(1) << (COMMANDS + (group)))

struct options;
struct parse;

struct command_row {
	const char *name;
	const char *synopsis;	/* behind the name */
	enum command_words words;
	int (*run)(const struct options *, uv_loop_t *);
	int (*check)(struct parse *);
	uint64_t takes;		/* takers: this command, and its groups */
	const char *help;
};

extern const struct command_row command_rows[COMMANDS];

static inline bool
command_in(enum command c, enum option_group group)
{
	return (command_rows[c].takes & TAKER_GROUP(group)) != 0;
}

/* --- the table of options (options_values.c) ------------------------------ */

enum option_id {
#define OPT(id, name, letter, argument, value, standard, takers, help) \
	OPTION_##id,
#define HANDED(id, letter, standard, takers) OPTION_##id,
#include "options.def"
#undef OPT
#undef HANDED
	OPTIONS
};

struct option_row {
	struct base_option own;	/* unless the row is one of another table */
	const struct base_option *option;	/* own, or the row of the other table */
	size_t at;		/* offset in struct options of the struct that has the field */
	/* Checks and stores the value; NULL: as the kind of its field says. */
	int (*set)(struct parse *, const char *arg);
	int letter;		/* 0: no short form */
	const char *standard;	/* default value; NULL: none */
	uint64_t takers;
};

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

enum list_choice {
	LIST_DEFAULT,
	LIST_NOTE,
	LIST_INDEXED,
	LIST_CHECK,
};

/* In the order of the words of --format. */
enum text_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_NDJSON,
	FORMAT_CSV,
	FORMAT_PROM,
};

/* The words of --by. */
extern const char *const option_measures[];	/* by enum profile_measure */
extern const char *const option_groupings[];	/* by enum profile_by */

/* The blocks that a tree sums. */
enum tree_counts {
	TREE_HELD,
	TREE_ALLOCATIONS,		/* since the node counts them, also freed ones */
	TREE_PEAK,			/* held when the bytes were highest since then */
	TREE_COUNTS,
};
extern const char *const option_tree_counts[TREE_COUNTS];	/* words of --by, but the first */

struct tree_options {
	enum profile_measure measure;
	enum profile_by by;		/* grouping of a flat table */
	bool by_group;			/* --by named a grouping */
	enum tree_counts counts;
	double least;			/* least share of the total that is shown */
	unsigned depth;			/* 0: all */
	const char *focus;		/* NULL: all stacks */
};

struct stale_options {
	int64_t age_ms;			/* of blocks, at least */
	int for_ms;			/* how long to count first; 0: not given */
	const struct stale_found *found;	/* of the command, for its report */
};

#define BUDGETS 16		/* maximum for one check */

struct filter;

enum budget_kind {
	BUDGET_LIVE,		/* held bytes */
	BUDGET_BLOCKS,		/* blocks that match an expression */
	BUDGET_GROWTH,		/* growth in bytes per minute */
	BUDGET_AGE,		/* blocks that are older than an age */
};

struct budget {
	enum budget_kind kind;
	const char *text;	/* as given */
	size_t expression;	/* length of the expression in text; 0: none */
	struct filter *filter;	/* the expression, compiled; NULL */
	double most;
	uint64_t ms;		/* of BUDGET_AGE: the age */
};

struct check_options {
	struct budget budget[BUDGETS];
	unsigned budgets;
	const char *baseline;		/* file; NULL */
	double tolerance;		/* share by which a baseline may be exceeded */
};

struct repeat_options {
	uint64_t count;			/* 0: no end */
	int interval_ms;
	int duration_ms;		/* 0: no end; check: look at a target once */
};

/* `pagek usage`, whose rows have an order and groups of their own. */
struct usage_options {
	enum usage_sort sort;
	enum usage_grouping group;
};

struct refcnt_options {
	uint64_t vaddr, len;
	unsigned node;
	unsigned numbers;		/* given: of the address, the length and the node */
	uint64_t block;
	enum refcnt_source source;
	enum refcnt_plane plane;
	const char *nodes;		/* virtual ones; NULL: the machine's */
	const char *import;		/* a file */
	int period_ms;			/* 0: as it is */
};

struct filter_option {
	const char *text;		/* an expression; NULL: all blocks */
	struct filter *compiled;
	bool wrong;			/* it has an error ... */
	size_t wrong_at;		/* ... at this offset */
};

#define OPTIONS_SKIPS 16	/* times that --skip may be given */

struct skip_options {
	const char *pattern[OPTIONS_SKIPS];
	unsigned n;
};

enum events_time {
	EVENTS_TICKS,
	EVENTS_MS,
};

#define EVENTS_MATCHES 32	/* times that -F may be given */

/* Debug data: `pagek dump` and its like. */
struct events_options {
	const char **file;		/* words that name files: an executable, dumps */
	size_t files, cap;
	const char *arch;		/* -A; NULL */
	const char *ignore;		/* -I: pattern of files */
	const char *keys;		/* -S; NULL */
	const char *format;		/* -f; NULL: the usual one */
	const char *match[EVENTS_MATCHES];	/* -F */
	unsigned matches;
	enum events_time time;
	const char *at[2];		/* --at, moments of captures */
	unsigned ats;
	const char *part;		/* --part; NULL */
	size_t captures;		/* among the files; counted by the command's check */
};

/* How an option came to be set. */
enum option_source {
	SOURCE_NONE,			/* not at all, or by its default */
	SOURCE_FILE,			/* a settings file turned it on */
	SOURCE_LINE,			/* it stands on the command line */
};

struct config;

/* Words of the command line that are no option and no target. */
struct word_options {
	const char *name;		/* listings: the one to print, NULL: list them; mark: its name */
	enum command topic;		/* help: the command to explain; COMMANDS: all */
	const char *shell;		/* completion: the shell, or "targets"; NULL */
	const char *memory;		/* mdd-dump: core:FILE or pid:N; NULL */
};

struct stress_options {
	const char *root;		/* a folder; NULL: this machine */
	const char *only;		/* "command", a process id; NULL: all requests */
};

struct options {
	enum command command;
	bool command_given;			/* the command line names a command */
	struct target target;		/* of the TARGET word; `local` without one */
	bool target_given;			/* a TARGET word was given */
	bool target_twice;			/* diff: two moments of it */
	char *const *argv;		/* run, check: the command, NULL-ended; NULL */
	struct word_options words;
	enum option_source source[OPTIONS];
	const char *text[OPTIONS];	/* values as given on the command line; NULL */
	struct {
		const char *file;		/* --config; NULL */
		const struct config *values;	/* origin of each value; borrowed */
	} config;

	enum text_format format;
	const char *output;		/* NULL: standard output; run: standard error */
	const char *fields;		/* comma-separated names; NULL: all */
	uint64_t limit;			/* 0: all */
	struct page_opts page;
	struct {
		bool reversed;		/* the order of --sort itself is reversed, as in Ns */
		bool groups_only;	/* --sort has a word that blocks do not have */
	} sort;
	struct filter_option filter;
	struct skip_options skip;
	enum list_choice list;
	int timeout_ms;
	struct repeat_options repeat;
	struct node_opts node;		/* options handed to the node that is started */
	const char *remote;		/* path of pageknode on another machine; NULL: from PATH there */
	struct tree_options tree;
	struct check_options check;
	struct events_options events;
	struct usage_options usage;
	struct refcnt_options refcnt;
	struct stale_options stale;
	struct stress_options stress;
};

static inline bool
option_given(const struct options *o, enum option_id id)
{
	return o->source[id] == SOURCE_LINE;
}

/* Given on the command line, or on by a settings file. */
static inline bool
option_on(const struct options *o, enum option_id id)
{
	return o->source[id] != SOURCE_NONE;
}

/* A command that shows a page writes it as text. */
static inline bool
options_as_text(const struct options *o)
{
	return option_given(o, OPTION_ONCE) || option_given(o, OPTION_BATCH) ||
	    option_given(o, OPTION_OUTPUT);
}

/* Any format but text. */
static inline bool
options_as_data(const struct options *o)
{
	return o->format != FORMAT_TEXT;
}

/*
 * Parses argv, which is reordered and must outlive the options. 0, or the exit
 * status of an error with a sentence in why; options_fini() also then.
 */
int options_parse(struct options *, int argc, char **argv, char *why,
    size_t cap);
void options_fini(struct options *);

/* Sets an option as a settings file does; `text` is borrowed.  Returns as above. */
int options_set(struct options *, enum option_id, const char *text, char *why,
    size_t cap);

/* Fills what a session is opened with. */
void options_session(const struct options *, struct nodes_session_opts *);

/* The functions to skip (--skip, --no-skip); the caller frees them. -ENOMEM. */
int options_wrappers(const struct options *, struct symbol_wrappers **);

/* The value of a switch in a settings file: 1 on, 0 off, -1 neither. */
int option_switch(const char *text);

/* Prints the help of one command, or of all with COMMANDS (cmd_help.c). */
void options_help(FILE *, enum command);

struct parse {
	struct options *o;
	char *why;
	size_t cap;
	int target_status;		/* exit status of a bad TARGET, with why; 0 */
};

/* Writes the sentence to why; returns PAGEK_USAGE. */
int option_fail(struct parse *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ": did you mean 'NAME'?", of the nearest of n names; or `none`. */
#define NEAREST_CLAUSE 112
const char *nearest_clause(char out[NEAREST_CLAUSE], const char *word,
    const char *const *names, size_t n, const char *none);

/* A hexadecimal address, 0x or not; bytes as 4096, 64k or 0x1000.  -EINVAL. */
int option_address(const char *text, uint64_t *);
int option_length(const char *text, uint64_t *);

/* Fails with "--NAME WHY_NOT" for the first of n options that is given; or 0. */
int option_none_of(struct parse *, const enum option_id *, size_t n,
    const char *why_not);

/* Stores a value of the command line; NULL: none.  0, or the exit status. */
int option_set(struct parse *, enum option_id, const char *arg);

/* Sets all defaults. */
void options_standard(struct options *);

#endif

/*
 * cli: the command line, settings files, and output beside the page.
 *
 *	options.h	commands.def and options.def: every command and option,
 *			with its help; the exit statuses
 *	options_values.c	values of options, from text
 *	target_word.h	the TARGET word, and the link to it
 *	capture_target.h	a capture as a TARGET
 *	config.h	defaults of options from files
 *	pump.h		waiting, in a command that is no page
 *	output.c	standard output and messages
 *	verbose.c	what -v tells
 *
 * Example
 *	FILE *out = output_open(o->output);
 *	...
 *	return output_close(out, o->output, PAGEK_OK);
 */
#ifndef PAGEK_CLI_H
#define PAGEK_CLI_H

#include <stdio.h>

#include "../picture/field_table.h"
#include "options.h"
#include "pump.h"

struct parse;

/* Added to the exit statuses: main ends the program by this signal. */
#define BY_SIGNAL(n) (0x100 + (n))

#define COMMAND(id, name, synopsis, words, run, check, groups, help) \
	int run(const struct options *, uv_loop_t *); \
	int check(struct parse *);
#include "commands.def"
#undef COMMAND

/* --- output (output.c) -------------------------------------------------- */

enum voice {
	VOICE_ERROR,
	VOICE_NOTICE,		/* not with --quiet */
	VOICE_DETAIL,		/* only with --verbose */
};

/* "pagek: ..." on standard error, one line of safe text. */
void output_say(enum voice, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
#define complain(...) output_say(VOICE_ERROR, __VA_ARGS__)
#define notice(...) output_say(VOICE_NOTICE, __VA_ARGS__)
#define tell(...) output_say(VOICE_DETAIL, __VA_ARGS__)
/* An error that is a whole sentence, as a callback. */
void complain_said(void *arg, const char *sentence);

/* Until this call, notices are printed and details are not. */
void output_voice(bool quiet, bool verbose);
/* tell() prints. */
bool output_tells(void);

/*
 * While captures are read, a terminal at standard error has a line with the percent,
 * after half a second, until the first message or the end.
 */
void output_watch_captures(void);
/* Erases it; it does not come again. */
void output_end_progress(void);

/* Standard output, or the file of -o.  NULL after a complaint. */
FILE *output_open(const char *path);

/* False once a write has failed, whose error it keeps for output_close(). */
bool output_going(FILE *);
/* Flushes; as above. */
bool output_flush(FILE *);

#define OUTPUT_FIELDS 64

/* The columns of rows as text; the caller fills in the first five. */
struct output_table {
	FILE *out;
	const struct field_table *fields;
	unsigned subset;
	bool ascii, sampled;
	int cols;			/* lines are cut there; 0: no limit */
	int width[OUTPUT_FIELDS];	/* by field; 0: the field's own */
	int rest;			/* columns of the longest text without a width */
};

/*
 * output_measure() widens the columns for a row.  After all rows, output_fit()
 * fits them into a terminal of `cols` columns (0: no terminal); text that is
 * cut ends in '~'.  A table whose rows come one by one is not measured.
 */
void output_measure(struct output_table *, const void *row);
void output_fit(struct output_table *, int cols);
/* Print the line of titles; the line of a row. */
void output_heading(const struct output_table *);
void output_row(const struct output_table *, const void *row);

/* Flushes and closes.  The status, unless writing has failed; EPIPE is ignored. */
int output_close(FILE *, const char *path, int status);

/* Replaces a file by what `put` writes, with the mode of any new file.  -errno. */
int output_replace(const char *path, void (*put)(FILE *, const void *), const void *);
/* Reports why there is no page, by the error of page_screen_check(). */
int output_refuse_terminal(int err);

/* --- what -v tells (verbose.c) ----------------------------------------------- */

struct config;

void tell_files(const struct config *);
void tell_own_node(void);
/* The target, once for each stream. */
void tell_target(const struct options *, const struct nodes_look *);

#endif

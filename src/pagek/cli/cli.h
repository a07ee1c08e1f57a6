/*
 * cli: the command line: options, settings files, TARGET words, and what the
 * program says beside its output.
 *
 * Vocabulary
 *	command	a row of commands.def (options.h).
 *	option	a row of options.def, or of the node's own table.
 *	TARGET	the word that says whose memory is looked at (target_word.h).
 *	settings	defaults from files (config.h).
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

/* Beside exit statuses: main ends the program by this signal. */
#define BY_SIGNAL(n) (0x100 + (n))

#define COMMAND(id, name, synopsis, words, run, check, groups, help) \
	int run(const struct options *, uv_loop_t *); \
	int check(struct parse *);
#include "commands.def"
#undef COMMAND

/* --- output (output.c) -------------------------------------------------- */

/*
 * "pagek: ..." on standard error, one line, outside text made safe.
 *
 *	complain	what went wrong
 *	notice		what is good to know and changes no status; not with
 *			--quiet
 *	tell		what is there to be looked at; with --verbose alone
 */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A complaint that is a whole sentence, for whoever calls back to say one. */
void complain_said(void *arg, const char *sentence);

/* From here on; notices without telling until then. */
void output_voice(bool quiet, bool verbose);
/* Is anybody told?  Who would have to find out what may leave it. */
bool output_tells(void);

/*
 * Standard output, or the file of -o.  NULL after a complaint.
 */
FILE *output_open(const char *path);

/*
 * False once a write has failed: then there is no use in going on.  Asked soon
 * after a write, it keeps the reason for output_close().
 */
bool output_going(FILE *);
/* Writes out what is waiting; as above. */
bool output_flush(FILE *);

/*
 * The columns of a table as text: a line of their titles, and one of a row.
 * Only those of the subset; characters are counted, not their bytes.
 */
void output_heading(FILE *, const struct field_table *, unsigned subset,
    bool sampled);
void output_row(FILE *, const struct field_table *, unsigned subset,
    const void *row, bool ascii);

/*
 * Flushes and closes; the status unless writing has failed.  A reader that
 * has gone away is no failure.
 */
int output_close(FILE *, const char *path, int status);

/*
 * Says why there is no page, by what page_screen_check() found, and what to do
 * instead; the exit status.
 */
int output_refuse_terminal(int err);

/* --- what -v tells (verbose.c) ----------------------------------------------- */

struct config;

/* Which files were looked for. */
void tell_files(const struct config *);
/* Which program the node is that is started. */
void tell_own_node(void);
/* What is watched, once for each stream that there is to be listed. */
void tell_target(const struct options *, const struct nodes_look *);

#endif

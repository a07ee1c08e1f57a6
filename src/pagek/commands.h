/*
 * commands: one function for each command of the command line, and what they
 * share.  Each returns the exit status of the program and has said on standard
 * error what went wrong.
 *
 *	cmd_NAME.c	a command each: cmd_top() and its like
 *	check_*.c	what `pagek check` judges by: check.h
 *
 * What they stand on:
 *	batch.c		a target's session opened, and pages of it as text
 *	moment.c	a target at one moment
 *	pump.c		the loop, run until something has come, or is due again
 *	forward.c	signals handed on to a command that is run
 *	output.c	where text goes, and what is said beside it
 *	tell.c		what -v tells
 *
 * What they write:
 *	json.c		documents, as JSON, lines or CSV; documents.c: which
 *	export.c	what is shown, as documents and text
 *	listing.c	a list as rows of text
 *	prom.c		sums, for Prometheus
 *
 * Example: all of a command that looks at a list, beside its row of commands.def,
 * rows of options.def for options of its own, and its place in pagek(1)
 *	static int
 *	look(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
 *	{
 *		FILE *out = output_open(o->output);
 *		...
 *		return output_close(out, o->output, PAGEK_OK);
 *	}
 *
 *	int
 *	cmd_look(const struct options *o, uv_loop_t *loop)
 *	{
 *		return batch_watch(o, loop, look);
 *	}
 */
#ifndef PAGEK_COMMANDS_H
#define PAGEK_COMMANDS_H

#include <stdio.h>

#include "../page/field_table.h"
#include "../page/sieve.h"
#include "options.h"
#include "pump.h"

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

/* --- pages as text (batch.c) -------------------------------------------- */

/* Lines of a picture that comes again and again: LINES, the terminal, or 24. */
int batch_lines(FILE *);
/* Columns of a picture on that stream: COLUMNS, else its terminal, else 80. */
int batch_columns(FILE *);

/*
 * Pictures of so many lines are wanted, before the first one: where these can do
 * without the rest of the list, it is not read while records come fast
 * (nodes_session_view()).
 */
void batch_tell_view(const struct page *, struct nodes_session *, int rows);
/*
 * One picture, and others like it are wanted; rows 0: as many as there are
 * blocks.  Waits a moment for names that it lacks.  0 or a negative errno.
 */
int batch_print(FILE *, uv_loop_t *, struct page *, struct nodes_session *,
    int rows);

/* The lines of a picture, as long as somebody reads them. */
void batch_put(FILE *, const struct page_picture *);

/*
 * Calls put() for each row of the page's text that the sieve lets through, at
 * most limit of them (0: all) and only while writing to `out` works.  The text
 * has begun with this view (page_choice_text_begin()).
 */
void batch_rows(FILE *out, const struct page *, const struct page_view *,
    struct page_sieve *, uint64_t limit, void (*put)(void *arg,
    const struct blk *), void *arg);

/* The sieve of --filter, NULL when there is none; the caller's.  -ENOMEM. */
int batch_sieve(const struct options *, struct page_sieve **);

/* What the session looks at, for rows of text: sizes are exact. */
void batch_view(struct page_view *, const struct page *,
    struct nodes_session *);

/*
 * Waits until the names of all rows are there, for timeout_ms at most, and
 * gives the profile of these rows: of the list as it is when this returns,
 * with what is known by then; *lacking gets how many callers lack names.  The
 * profile is the caller's.  With a sieve the rows are those that it lets
 * through; it has caught all of them then, whatever the limit, and the names
 * that it depends on are waited for too.  -ENOMEM.
 */
int batch_names(uv_loop_t *, struct nodes_session *, const struct page_opts *,
    struct page_sieve *, uint64_t limit, int timeout_ms, struct profile **,
    size_t *lacking);

/*
 * Waits until all names of the profile are there, for timeout_ms at most;
 * *lacking gets how many callers still lack some.  The list goes on
 * meanwhile, the profile does not.  -ENOMEM; -ESTALE: the session has another
 * stream now, and nobody knows any more what the profile's callers were.
 */
int batch_words(uv_loop_t *, struct nodes_session *, struct profile *,
    int timeout_ms, size_t *lacking);

/* Says on standard error that names are missing, and why if that is known. */
void batch_tell_lacking(const struct options *, struct nodes_session *,
    size_t lacking, size_t of);

/*
 * Says of rows alone, CSV and the text of `pagek list`, that they are of an
 * incomplete list, since when and what was lost.
 */
void batch_tell_loss(const struct options *, const struct nodes_look *);

/* A page that is printed by --once or -b: for its struct page_text_ops. */
struct batch {
	const struct options *o;
	uv_loop_t *loop;
	struct nodes_session *session;	/* settled; NULL: the page needs no target */
	struct page *page;
	FILE *out;
	struct json *json;		/* of --format, on `out` */
	bool once;
	uint64_t n;			/* pictures so far */
	void *state;			/* the page's own */
};

/* Names are waited for at most so long. */
int batch_names_ms(const struct batch *);
/* Until a file that is read to its end has come to it, for --timeout at most. */
void batch_await_end(const struct options *, uv_loop_t *,
    struct nodes_session *);

/*
 * `pagek --once` and `pagek -b` of the page that --page names, on an open
 * session; NULL: that page needs no target.
 */
int batch_top(const struct options *, uv_loop_t *, struct nodes_session *);

/*
 * The exit status that a session's state deserves, after a complaint if it is
 * not 0.
 */
int batch_status(const struct options *, const struct nodes_look *);

/*
 * Opens a session of the target, for pump_down() to close, and waits until it
 * has settled.  PAGEK_OK, or the exit status after a complaint.
 */
int batch_open(const struct options *, uv_loop_t *, nodes_news_cb, void *arg,
    struct nodes_link **, struct nodes_session **);
/* What is held can be told: there is a list, or there was. */
bool batch_has_list(const struct nodes_look *);

/*
 * The same, and once what is read to its end has come to it, calls `run`,
 * which returns the exit status; where the target's state is not one that
 * `fits`, the status is batch_status().
 */
int batch_visit(const struct options *, uv_loop_t *,
    bool (*fits)(const struct nodes_look *),
    int (*run)(const struct options *, uv_loop_t *, struct nodes_session *));

/* The same for commands that look at the list: once there is one. */
int batch_watch(const struct options *, uv_loop_t *,
    int (*run)(const struct options *, uv_loop_t *, struct nodes_session *));

/* --- a command that is run (cmd_run.c) ----------------------------------- */

/* For pump(), with the session: the last process of the tree has ended ... */
bool run_has_ended(void *session);
/* ... and the watched stream is read to its end, or there is none. */
bool run_is_read(void *session);

/*
 * Says what is to be said of the end, and the status: as a shell tells it, 125
 * when it is not known.
 */
int run_tell_end(const struct nodes_look *, const char *command);

/* --- how the nodes are (pages/nodes.c) ------------------------------------ */

/*
 * Asks all nodes of the table and waits until they have told how they are, for
 * --timeout at most; *complete: all have.  The survey is the caller's.  0, or a
 * negative errno.
 */
int ask_nodes(const struct options *, uv_loop_t *, struct nodes_survey **,
    bool *complete);

/* What a survey deserves: PAGEK_NO_TARGET when none of its nodes answers. */
int ask_status(struct nodes_survey *);

/* --- what -v tells (tell.c) ----------------------------------------------- */

struct config;

/* Which files were looked for. */
void tell_files(const struct config *);
/* Which program the node is that is started. */
void tell_own_node(void);
/* What is watched, once for each stream that there is to be listed. */
void tell_target(const struct options *, const struct nodes_look *);

#endif

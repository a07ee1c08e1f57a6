/*
 * batch: a target's session opened, and pages of it as text, once or again and
 * again.
 *
 * Example: a command that looks at a list
 *	static int
 *	look(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
 *	...
 *	return batch_watch(o, loop, look);
 */
#ifndef PAGEK_BATCH_H
#define PAGEK_BATCH_H

#include <stdio.h>

#include "../cli/cli.h"
#include "../page/view.h"
#include "../rows/row_filter.h"

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

/*
 * Asks all nodes of the table and waits until they have told how they are, for
 * --timeout at most; *complete: all have.  The survey is the caller's.  0, or a
 * negative errno.
 */
int ask_nodes(const struct options *, uv_loop_t *, struct nodes_survey **,
    bool *complete);

/* What a survey deserves: PAGEK_NO_TARGET when none of its nodes answers. */
int ask_status(struct nodes_survey *);

#endif

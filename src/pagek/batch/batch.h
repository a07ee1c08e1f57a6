/*
 * batch: commands that open a target's session and wait for its list, and pages
 * as text: once (--once) or repeatedly (-b).
 *
 *	batch.c		sessions, lists and pages as text
 *	marks.c		named marks of the stream
 *	counts.c	counts by type
 *	stress.c	samples of heap stress
 *	refcnt.c	references to pages
 *
 * Example: a command that reads a list
 *	static int
 *	print(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
 *	...
 *	return batch_watch(o, loop, print);
 */
#ifndef PAGEK_BATCH_H
#define PAGEK_BATCH_H

#include <stdio.h>

#include "../cli/cli.h"
#include "../page/view.h"
#include "../blocks/row_filter.h"
#include "../refcnt/refcnt.h"

/*
 * Opens a session of the target, for pump_down() to close, and waits until it
 * has settled.  PAGEK_OK, or the exit status after a complaint.
 */
int batch_open(const struct options *, uv_loop_t *, nodes_news_cb, void *arg,
    struct nodes_link **, struct nodes_session **);
/* There is a list; that of a dormant target does not count. */
bool batch_has_list(const struct nodes_look *);

/*
 * Opens a session, waits for the end of input that ends, and calls `run`.  Returns
 * the exit status, that of batch_status() if the target's state does not fit.
 */
int batch_visit(const struct options *, uv_loop_t *,
    bool (*fits)(const struct nodes_look *),
    int (*run)(const struct options *, uv_loop_t *, struct nodes_session *));

/* If there is a list. */
int batch_watch(const struct options *, uv_loop_t *,
    int (*run)(const struct options *, uv_loop_t *, struct nodes_session *));

/* The exit status for a session's state, after a complaint if it is not 0. */
int batch_status(const struct options *, const struct nodes_look *);

/* Reports an incomplete list if the output has only rows: CSV, `pagek list`. */
void batch_report_loss(const struct options *, const struct nodes_look *);
/* Reports that the target has ended, for output that cannot show it. */
void batch_report_end(const struct nodes_look *);

/*
 * Asks all nodes of the table for their state and waits for at most --timeout;
 * *complete: all have answered.  The survey is the caller's.  0 or a negative
 * errno.
 */
int batch_ask_nodes(const struct options *, uv_loop_t *, struct nodes_survey **,
    bool *complete);

/* PAGEK_NO_TARGET: no node answers. */
int batch_nodes_status(struct nodes_survey *);

/* --- marks.c: marks of the node ------------------------------------------- */

/*
 * Ask for the marks, or set one; nodes_session_marks() has the answer.
 * PAGEK_OK, or the exit status after a complaint.
 */
int batch_ask_marks(const struct options *, uv_loop_t *,
    struct nodes_session *);
int batch_set_mark(const struct options *, uv_loop_t *, struct nodes_session *,
    const char *name);
/* Asks, and finds one; PAGEK_NO_TARGET: there is none of that name. */
int batch_find_mark(const struct options *, uv_loop_t *, struct nodes_session *,
    const char *name, const struct wire_named_mark **);

/* --- counts.c: counts by type ----------------------------------------------- */

struct usage_list;
struct usage_source;

/*
 * Asks the node for its counts and waits for them.  PAGEK_OK, or the exit status
 * after a complaint.
 */
int batch_ask_usage(const struct options *, uv_loop_t *, struct nodes_session *);
/*
 * Asks the node for its counts, waits for them and for names, and appends the rows.
 * PAGEK_OK, or the exit status after a complaint.
 */
int batch_usage(const struct options *, uv_loop_t *, struct nodes_session *,
    struct usage_list *, struct usage_source *);
/* Describes the session's last counts. */
void batch_usage_source(struct nodes_session *, struct usage_source *);

/* --- stress.c: heap stress ----------------------------------------------------- */

struct batch_stress;
struct stress_sample;

/*
 * Opens the node of TARGET.  Without one, opens the best source of this machine: a
 * node, or the kernel's files if they are better, no node runs, or --only is given.
 * PAGEK_OK, or the exit status after a complaint.
 */
int batch_stress_open(const struct options *, uv_loop_t *,
    struct batch_stress **);
void batch_stress_close(struct batch_stress *);
/* fresh: taken after this call, not up to a cycle before.  As above. */
int batch_stress_take(struct batch_stress *, bool fresh, struct stress_sample *);
/* Requests a table from the node; the caller frees it.  Returns as above. */
int batch_stress_memory(struct batch_stress *, enum stress_table,
    struct stress_memory *);
/* The texts of the last sample, as in struct nodes_stress. */
const char *batch_stress_kernel(const struct batch_stress *);
const char *batch_stress_why(const struct batch_stress *);
/* The control group of the charge; "": that of the node. */
const char *batch_stress_group(const struct batch_stress *);
/* Before the first sample, with --only: see stress_of_process(). */
int batch_stress_of_process(struct batch_stress *, pid_t, bool on_exec);
/* The number of the node's reader; 0: this process reads. */
uint64_t batch_stress_reader(const struct batch_stress *);
/* The node that reads the counts, as a TARGET; "": this process does. */
const char *batch_stress_node(const struct batch_stress *);

/* --- refcnt.c: references to pages -------------------------------------------- */

/* Another copy of the counts.  PAGEK_OK, or the exit status after a complaint. */
int batch_refcnt(const struct options *, uv_loop_t *, struct nodes_session *,
    struct refcnt_reader *);
/*
 * The same if the command shows, filters or sorts by references; what no node counts
 * is no complaint.  `with` is a copy of the options, whose page.refcnt has them.
 */
void batch_add_refcnt(const struct options *, uv_loop_t *,
    struct nodes_session *, struct refcnt_reader *, struct options *with);
bool batch_wants_refcnt(const struct options *);

/* Parses --filter; NULL: there is none.  The caller's.  -ENOMEM. */
int batch_filter(const struct options *, struct page_row_filter **);

void batch_view(struct page_view *, const struct page *,
    struct nodes_session *);

/*
 * Waits at most timeout_ms for the names of the first `limit` rows (0: all) and
 * returns their profile, of the list at return; *lacking: callers without names.
 * The profile is the caller's.  With a filter, it waits for the names that the
 * filter needs too, and tests all blocks whatever the limit.  -ENOMEM.
 */
int batch_profile(uv_loop_t *, struct nodes_session *, const struct page_opts *,
    struct page_row_filter *, uint64_t limit, int timeout_ms, struct profile **,
    size_t *lacking);

/*
 * Waits at most timeout_ms for the names of the profile; *lacking: callers without
 * names.  The list changes meanwhile, the profile does not.  -ENOMEM; -ESTALE: the
 * session has another stream, so the profile's callers are unknown.
 */
int batch_await_names(uv_loop_t *, struct nodes_session *, struct profile *,
    int timeout_ms, size_t *lacking);

/* Reports missing names, and why if known. */
void batch_report_names(const struct options *, struct nodes_session *,
    size_t lacking, size_t of);

/* Lines of repeated pictures: LINES, the terminal's, or 24. */
int batch_lines(FILE *);
/* Columns of a picture: COLUMNS, the terminal's, or 80. */
int batch_columns(FILE *);
/* True if text is to have ASCII characters only: it was asked for, or the locale is not UTF-8. */
bool batch_ascii(const struct options *);
/* The columns of a terminal; 0: it is no terminal. */
int batch_terminal_columns(FILE *);

/* Pictures of so many rows follow: the session may bring only those blocks. */
void batch_request_rows(const struct page *, struct nodes_session *, int rows);
/*
 * Prints a picture; rows 0: as many as there are blocks.  Waits NAMES_WAIT_MS at
 * most for missing names.  0 or a negative errno.
 */
int batch_print(FILE *, uv_loop_t *, struct page *, struct nodes_session *,
    int rows);

void batch_put(FILE *, const struct page_picture *);

enum page_needs {
	PAGE_NEEDS_TARGET = 1,		/* a target is watched */
	PAGE_NEEDS_LIST = 2,		/* its block list is shown */
	PAGE_NEEDS_INTERVAL = 4,	/* as text: one before the first picture */
};

struct batch {
	const struct options *o;
	uv_loop_t *loop;
	struct nodes_session *session;	/* settled; NULL: the page needs no target */
	struct page *page;
	FILE *out;
	struct json *json;		/* of --format, on `out` */
	bool once;
	uint64_t n;			/* pictures so far */
	bool at_once;			/* begin() has found what an interval is waited for */
	int status;			/* exit status of the last request that failed */
	void *state;			/* the page's own */
};

/* A page as text.  Each function returns 0 or a negative errno. */
struct page_text_ops {
	int (*begin)(struct batch *);	/* NULL: nothing to prepare */
	int (*print)(struct batch *);	/* a picture, or a document with --format */
	void (*end)(struct batch *);	/* also after begin has failed */
	/* The exit status if the batch has succeeded; NULL: batch_status(). */
	int (*status)(const struct batch *);
	const char *verb;		/* cannot ...; NULL: "make the picture" */
	const enum option_id *refuse;	/* options that do not apply */
	size_t nrefuse;
};

/* How long to wait for names, in ms. */
int batch_names_ms(const struct batch *);
/* Waits at most --timeout for the end of input that ends. */
void batch_await_end(const struct options *, uv_loop_t *,
    struct nodes_session *);

/* Prints a page: --once or -b.  session NULL: the page needs none. */
int batch_top(const struct options *, uv_loop_t *, struct nodes_session *,
    const struct page_text_ops *, unsigned needs);

#endif

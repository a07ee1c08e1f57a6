/*
 * job: what jobs.c and its sources share.  A source begins once, and then goes on
 * until all rows are written.
 */
#ifndef PAGEK_JOB_H
#define PAGEK_JOB_H

#include <stdatomic.h>

#include "../documents/listing.h"
#include "jobs.h"

/* Results of begin() and go_on(); a negative errno: the job fails. */
enum job_portion {
	JOB_MORE,	/* call it again in the next cycle */
	JOB_BEGUN,	/* begin() is done */
	JOB_THREAD,	/* go_on() needs work() in a thread */
	JOB_DONE,	/* all rows are written */
	JOB_FAILED,	/* job_fail() has been called */
};

struct job_ops {
	enum job_kind kind;
	size_t source_size;
	const char *name, *one;		/* "listing", "a listing" */
	const char *done;		/* "listing written to" */
	bool names_path;		/* job.refusal has the path */
	int wait_ms;			/* at most, for the list */
	/* In a thread, before begin(), or NULL. */
	int (*prepare)(void *source);
	/* -EAGAIN: the list is not there yet; late: wait_ms have passed. */
	int (*begin)(struct job *, const struct page_view *, bool late);
	/* worked: work() has been done. */
	int (*go_on)(struct job *, const struct page_view *, bool worked);
	/* In a thread: may only touch the source.  NULL: go_on() needs none. */
	int (*work)(void *source, int fd, const atomic_bool *stop);
	/* It writes rows now, so an error is the file's; NULL: always. */
	bool (*writes)(const void *source);
	/* It still needs the whole list after begin(); NULL: never. */
	bool (*needs_all)(const void *source);
	/* After begin(): "45% written". */
	void (*progress)(const void *source, char *out, size_t cap);
	/* "(1,234 blocks)" */
	void (*outcome)(const void *source, char *out, size_t cap);
	/* For a node: the size of the file and its title. */
	uint64_t (*bytes)(const void *source);
	void (*title)(const void *source, char out[LISTING_TITLE]);
	void (*free)(void *source);
};

enum job_step {
	JOB_PREPARE,		/* in a thread */
	JOB_BEGIN,		/* waits for the list */
	JOB_ROWS,
	JOB_WORK,		/* rows, in a thread */
	JOB_PUBLISH,		/* in a thread */
	JOB_CONNECT,		/* waits for the node */
	JOB_SEND,
	JOB_LEND,		/* waits for the terminal */
	JOB_PAGER,
};

struct job {
	struct jobs *jobs;	/* NULL: cancelled, but its thread works on */
	const struct job_ops *ops;
	void *source;		/* owned; zeroed at first */
	char refusal[LINE_TEXT + 32];	/* "no export to b.csv", before the reason */
	enum job_step step;
	struct mono begun, step_at;
	struct listing_to to;
	struct whole_file file;
	const struct nodes_session *session;	/* of its rows */
	uint32_t stream_no;

	uv_work_t work;
	bool working;
	atomic_bool stop;
	int err;		/* of the thread */

	struct nodes_link *link;
	struct nodes_listing *sending;
	uint64_t sent;		/* bytes that the node had at looked_at */
	int64_t silent_ms;	/* since the node took bytes */
	struct mono looked_at;
	bool answered;		/* by the node: with answer and words */
	int answer;
	char words[512];

	struct jobs_program *pager;
	char progress[256];	/* the last message about it */
};

/* refusal begins the message of a failure.  NULL, with a message: no memory. */
struct job *job_new(struct jobs *, const struct job_ops *,
    const char *refusal);
void job_start(struct job *, const struct listing_to *, enum whole_file_place);
/* Ends the job with the message "refusal: why". */
void job_fail(struct job *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void job_say_progress(struct job *);

/* The page shows another session or stream, where ids of names differ. */
bool job_is_stale(const struct job *, const struct page_view *);
/* "1,234 blocks" */
void job_count_text(uint64_t n, const char *what, char out[64]);

/* --- programs.c ------------------------------------------------------------- */

struct jobs_program;

typedef void (*jobs_program_cb)(void *arg, int status, int signal);
/* Starts args[0], searched in PATH, with the standard input `in`. */
int jobs_program_start(struct jobs_program **, uv_loop_t *, char **args,
    int in, jobs_program_cb, void *arg);
/* Asks it to end if it still runs; init reaps it. */
void jobs_program_close(struct jobs_program *);

/* The screen has lent the terminal. */
void jobs_run_viewer(struct jobs *);
void jobs_drop_viewer(struct jobs *);

void jobs_say(struct jobs *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif

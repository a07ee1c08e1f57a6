/*
 * job: rows on their way from the page to a sink, while the page goes on.
 *
 * Vocabulary
 *	source	makes the rows and writes them, a portion with each cycle, and
 *		what takes long in a thread: a listing (listing_job.c) or an
 *		export (export_job.c).
 *	sink	where they go: a file, which is there when it is whole, a node,
 *		or a pager.  Until all rows are written they are in a file
 *		without a name.
 *
 * Of each source one job is on its way at most.  It ends by itself, with a
 * sentence in the bottom line, or is cancelled.
 *
 * Example: a door
 *	j = job_new(app, &ops, source, "no export to blocks.csv");
 *	if (j != NULL && job_open(j, &to, WHOLE_FILE_ANY))
 *		job_go_on(j);
 */
#ifndef PAGEK_JOB_H
#define PAGEK_JOB_H

#include <stdatomic.h>

#include "../documents/listing.h"
#include "../documents/whole_file.h"
#include "app.h"

struct app_job;

/* How a source goes on; a negative errno: it fails. */
enum job_portion {
	JOB_MORE,	/* it goes on with the next cycle */
	JOB_THREAD,	/* its work is done in a thread, then it goes on at once */
	JOB_DONE,	/* all rows are written */
	JOB_FAILED,	/* it has called job_fail() */
};

struct job_ops {
	enum app_job_kind kind;
	const char *name, *one;		/* "listing", "a listing" */
	const char *done;		/* "listing written to" */
	bool names_path;		/* the sentence of its failure has the path */
	/* worked: what it wanted a thread for is done. */
	int (*go_on)(struct app_job *, const struct page_view *, bool worked);
	/* In a thread, and touches nothing but the source.  NULL: it wants none. */
	int (*work)(void *source, int fd, const atomic_bool *stop);
	/* It writes the rows now: what fails is the file. */
	bool (*writes)(const void *source);
	/* The whole list has to be there. */
	bool (*wants_all)(const void *source);
	/* "45% written" */
	void (*progress)(const void *source, char *out, size_t cap);
	/* "(1,234 blocks)" */
	void (*outcome)(const void *source, char *out, size_t cap);
	/* For a node: bytes, and what they are filed under. */
	uint64_t (*bytes)(const void *source);
	void (*title)(const void *source, char out[LISTING_TITLE]);
	void (*free)(void *source);
};

/*
 * Takes the source over, which is freed if there is no memory or no loop: NULL
 * after a sentence.  no: begins the sentence that says why it has failed.
 */
struct app_job *job_new(struct app *, const struct job_ops *, void *source,
    const char *no);
/* Opens the sink; false after a sentence: the job is over. */
bool job_open(struct app_job *, const struct listing_to *,
    enum whole_file_place);
void job_go_on(struct app_job *);
/* Says "NO: why" and ends it. */
void job_fail(struct app_job *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* How far it is, now. */
void job_say_progress(struct app_job *);

void *job_source(const struct app_job *);
struct app *job_app(const struct app_job *);
int job_fd(const struct app_job *);
int64_t job_ms(const struct app_job *);
const char *job_path(const struct app_job *);

/* All rows that are to come are in the list, or in the paused picture. */
bool job_list_is_there(const struct page_view *, bool window);
/* The page went elsewhere: numbers of names mean nothing there. */
bool job_is_left(const struct app_job *, const struct page_view *);

#endif

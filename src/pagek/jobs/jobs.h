/*
 * jobs: rows written to a file, a node or a pager while the page goes on.
 *
 * Vocabulary
 *	job	a source and a sink.  At most one of each kind of source runs.
 *	source	makes the rows, a portion in each cycle and the long parts in a
 *		thread (job.h).
 *	sink	takes the file of rows: a folder, a node, or a pager.  The file
 *		has no name until all rows are written.
 *
 *	jobs.c		a job from its start to its sink
 *	listing_job.c	the whole list as text
 *	export_job.c	the rows shown, for other programs
 *	programs.c	programs that take the terminal: pager and editor
 *
 * A job ends by itself or is cancelled, and reports it in the bottom line.
 *
 * Example
 *	jobs_start_export(&jobs, "blocks.csv", begin, arg);
 *	jobs_tick(&jobs, true);			once a cycle
 *	jobs_fini(&jobs);
 */
#ifndef PAGEK_JOBS_H
#define PAGEK_JOBS_H

#include "../documents/shown_export.h"
#include "../page/view.h"

enum job_kind {
	JOB_LISTING,
	JOB_EXPORT,
	JOB_KINDS
};

/* The terminal, which a pager or an editor takes. */
enum jobs_terminal {
	JOBS_TERMINAL_FREE,	/* none needs it */
	JOBS_TERMINAL_WANTED,
	JOBS_TERMINAL_LENT,
};

struct job;
struct jobs_viewer;

struct jobs {
	struct page *page;		/* its rows; its bottom line */
	struct nodes_session *session;	/* the one shown */
	uv_loop_t *loop;
	struct job *job[JOB_KINDS];	/* NULL: none runs */
	bool esc;			/* Esc cancels a job */
	bool warned;			/* the user knows that leaving ends it */
	enum jobs_terminal terminal;
	struct jobs_viewer *viewer;	/* NULL: none runs or waits for the terminal */
};

/* Sends the whole list, in the order shown, to the place in *L<>. */
void jobs_start_listing(struct jobs *);

/* As page_export_begin(); -EAGAIN: there is no list yet, -ENODATA: no rows. */
typedef int (*jobs_begin_export)(void *arg, const struct page_view *,
    enum text_format, FILE *, struct page_export **);
/* Writes what is shown into a file; its suffix selects the format. */
void jobs_start_export(struct jobs *, const char *path, jobs_begin_export,
    void *arg);

/*
 * Opens the file at the line (0: none) in the editor that VISUAL or EDITOR
 * names.  No shell is used.
 */
void jobs_start_editor(struct jobs *, const char *path, unsigned line);
/* Likewise in the pager that PAGER names, else less or more. */
void jobs_start_pager(struct jobs *, const char *path);

/* Once a cycle.  esc: Esc cancels a job. */
void jobs_tick(struct jobs *, bool esc);
/* The screen has lent the terminal. */
void jobs_lent(struct jobs *);
/* "a listing"; NULL: none runs. */
const char *jobs_running(const struct jobs *);
/* False: none runs. */
bool jobs_cancel(struct jobs *);
/* A job waits for the whole list. */
bool jobs_need_all(const struct jobs *);
/* Cancels all jobs.  Their threads end while the loop runs. */
void jobs_fini(struct jobs *);

/* All rows are in the list, or in the paused picture.  window: a part will do. */
bool jobs_have_list(const struct page_view *, bool window);

#endif

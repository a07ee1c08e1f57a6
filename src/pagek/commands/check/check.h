/*
 * check: limits as a test for any program (`pagek check`).
 *
 *	cmd_check.c	the command: runs a program or watches a target
 *	judge.c		measures, and decides each limit
 *	baseline.c	decides the limits of a baseline
 *	verdict.c	the verdict as text or data
 *
 * Vocabulary
 *	budget	one limit as it was given: --max-live and its like.
 *	judge	what was found of all budgets so far; it looks at the session at
 *		each news.
 *	finding	the worst value that was seen of one budget, and when; its
 *		verdict is within, exceeded or not known.
 *	baseline	live blocks and bytes by type and function, in a file to
 *		compare with.
 *
 * A limit is within only if the data is complete: if records were lost, or
 * nothing was seen, it is not known.  It may be exceeded even so.
 */
#ifndef PAGEK_CHECK_H
#define PAGEK_CHECK_H

#include <stdio.h>

#include "../../cli/options.h"
#include "../snapshot/snapshot.h"
#include "../../blocks/row_filter.h"

#define CHECK_NAME 64
#define CHECK_WHY 256
#define CHECK_BLIND "the list was not complete at the end"

/* The verdict of all limits is the highest of theirs. */
enum check_verdict {
	CHECK_WITHIN,
	CHECK_NOT_KNOWN,
	CHECK_EXCEEDED,
};

struct finding {
	const struct budget *budget;	/* NULL: of the baseline */
	const char *what;		/* of the baseline: "function", "type", "total" */
	char name[4 * CHECK_NAME];	/* ... which one; outside text */
	bool bytes;			/* ... its bytes, else its blocks */
	double base;			/* ... as the file has it */
	double most;			/* allowed: bytes, blocks, or bytes a minute */
	double worst;
	bool seen;			/* there is a worst value */
	int64_t at_ms;			/* since the start, of the worst; -1: not known */
	int64_t over_ms;		/* of the first that was too much; -1 none */
	pid_t pid;			/* process with the worst value; 0: not known */
	char comm[CHECK_NAME];
	char why[CHECK_WHY];		/* why it is not known; "" it is */
	enum check_verdict verdict;

	struct page_row_filter *filter;	/* of an expression */
	struct mono counted_at;		/* last count by the filter */
	int64_t count_ms;		/* time that it took */
};

#define CHECK_SAMPLES 16384	/* live bytes over time, thinned when there are more */

/* Live bytes of the stream that is watched now. */
struct growth {
	struct {
		int64_t ms;
		double bytes;
	} *sample;
	size_t n;
	int64_t last_ms;	/* of the last sample, kept or not */
	unsigned each, skipped;	/* one of `each` samples is kept */
};

/* The keeper's counts, which miss nothing between two looks. */
struct bounds {
	uint64_t peak_before;	/* of a target that ran before: its peak until then */
	uint64_t most_before;	/* ... and its upper bound until then */
	uint64_t most;		/* no image that is judged held more */
};

struct baseline_result {
	enum { BASELINE_NONE, BASELINE_SAVED, BASELINE_COMPARED } state;
	struct finding *row;	/* what exceeds it */
	size_t rows;
	size_t compared;	/* types and functions */
	char why[CHECK_WHY];	/* why it could not be compared; "" */
};

struct judge {
	const struct options *o;
	struct nodes_session *session;
	const struct nodes_look *look;	/* the session's; NULL: it is not there yet */
	struct mono begun;
	struct finding finding[BUDGETS];
	unsigned findings;
	bool totals;			/* are enough for all of them: no list is taken */
	uint64_t looks;			/* at complete data */
	struct growth growth;
	struct bounds bounds;
	uint32_t stream_no;
	uint64_t sample_period;		/* of a sample: values are estimates; 0 */
	bool watched;			/* some stream was */
	bool blind;			/* at the end there was nothing whole to look at */

	/* At the end. */
	bool complete;			/* no watched image has lost or refused anything */
	uint64_t lost, full;		/* records; blocks that a full list refused */
	size_t processes, unwatched;	/* of a command */
	char unwatched_why[128];	/* of the first; "" */
	struct {
		char comm[CHECK_NAME];
		pid_t pid;
		int32_t status;
	} advised;			/* an end with nodes_death_advice() */
	int64_t ms;			/* duration of the check */
	struct baseline_result baseline;
	enum check_verdict verdict;
};

/* -ENOMEM. */
int judge_init(struct judge *, const struct options *);
/* The session to look at; it is told whether blocks are needed. */
void judge_watch(struct judge *, struct nodes_session *);
void judge_fini(struct judge *);

/* For nodes_session_open(). */
void judge_news(void *judge);
/* The last look, with the names that the limits need.  -ENOMEM. */
int judge_last(struct judge *, uv_loop_t *);
/* The peaks and losses of all processes of the node, listed or not. */
void judge_processes(struct judge *, const struct nodes_target *, size_t n);
/* Says why incomplete data proves nothing. */
void judge_loss(const struct judge *, char why[CHECK_WHY]);
/* A process ended in that way, which may need advice. */
void judge_death(struct judge *, pid_t, const char *comm, int32_t status);
/* Decides on all limits. */
void judge_end(struct judge *);

/*
 * Before anything starts: checks that the file is a baseline, or can be
 * written. 0, or an exit status after a complaint.
 */
int baseline_prepare(const struct options *);
/*
 * Compares with --baseline, or writes the file if there is none or it is to be
 * saved. 0, or an exit status; j->baseline has the result.
 */
int baseline_check(struct judge *, uv_loop_t *);

/* The status of an error of pagek, which differs from those of a command. */
int check_failed(const struct options *);

/* Writes the verdict in the form of --format. */
void check_report(FILE *, const struct judge *, const struct nodes_look *,
    int status);

#endif

/*
 * check: budgets as a test for any program (`pagek check`).
 *
 * Vocabulary
 *	budget	what is allowed, as it was given: a row of the options.
 *	judge	what was found of all budgets so far; it looks at the session at
 *		each news (judge.c).
 *	finding	of one budget the worst that was seen, and when; it is within,
 *		exceeded, or not known.
 *	baseline	live blocks and bytes by type and function, kept in a
 *		file to be compared with (baseline.c).
 *
 * What is within is said only of data that is whole: where records were lost,
 * or nothing was seen, it is not known.
 *
 * The parts: cmd_check.c runs the command or watches the target, judge.c
 * takes what is seen, baseline.c compares at the end, verdict.c writes
 * the verdict as text or data.
 */
#ifndef PAGEK_CHECK_H
#define PAGEK_CHECK_H

#include <stdio.h>

#include "../cli/options.h"
#include "../commands/moment.h"
#include "../rows/row_filter.h"

#define CHECK_NAME 64
#define CHECK_WHY 200
#define CHECK_BLIND "at the end there was no whole list"

enum check_verdict {
	CHECK_WITHIN,
	CHECK_NOT_KNOWN,
	CHECK_EXCEEDED,		/* the worst of all is the whole's */
};

struct finding {
	const struct budget *budget;	/* NULL: of the baseline */
	const char *what;		/* of the baseline: "function", "type", "total" */
	char name[4 * CHECK_NAME];	/* ... which one; outside text */
	bool bytes;			/* ... its bytes, else its blocks */
	double base;			/* ... as the file has it */
	double most;			/* allowed: bytes, blocks, or bytes a minute */
	double was;			/* the worst */
	bool seen;			/* it was looked at once */
	int64_t at_ms;			/* since the start, of the worst */
	int64_t over_ms;		/* of the first that was too much; -1 none */
	pid_t pid;			/* whose it was; 0 not known */
	char comm[CHECK_NAME];
	char why[CHECK_WHY];		/* why it is not known; "" it is */
	enum check_verdict verdict;

	struct page_sieve *sieve;	/* of an expression */
	struct mono pass_at;		/* its last pass, and ... */
	int64_t pass_ms;		/* ... how long that took */
};

#define CHECK_SAMPLES 16384	/* live bytes over time, thinned when there are more */

struct judge {
	const struct options *o;
	struct nodes_session *session;
	const struct nodes_look *look;	/* the session's; NULL: it is not there yet */
	struct mono begun;
	struct finding finding[BUDGETS];
	unsigned findings;
	bool totals;			/* are enough for all of them: no list is taken */
	uint64_t looks;			/* at all that is judged by */

	/* Growth: of the stream that is watched now. */
	struct {
		int64_t ms;
		double bytes;
	} *sample;
	size_t samples;
	int64_t sampled_ms;		/* when the last one came, kept or not */
	unsigned each, skipped;		/* one of so many is kept */
	uint32_t stream_no;
	bool watched;			/* some stream was */
	bool blind;			/* and at the end there was nothing whole to look at */
	uint64_t sample_period;		/* of a sample: what is found are estimates; 0 */
	uint64_t peak_before;		/* keeper's, when the judging began; of a target that ran before */
	uint64_t most_before;		/* likewise, what it held no more than */
	uint64_t most;			/* no image that is judged held more */

	/* At the end. */
	bool complete;			/* nothing was lost nor refused, by whatever was watched */
	uint64_t lost, full;		/* records; blocks that a full list refused */
	size_t processes, unwatched;	/* of a command */
	int64_t ms;			/* it was judged for so long */
	enum check_verdict verdict;

	struct finding *row;		/* of the baseline: what exceeds it */
	size_t rows;
	size_t compared;		/* types and functions of it */
	enum { CHECK_NO_BASELINE, CHECK_SAVED, CHECK_COMPARED } baseline;
	char baseline_why[CHECK_WHY];	/* why it could not be compared; "" */
};

/* -ENOMEM. */
int judge_init(struct judge *, const struct options *);
/* What is looked at from now on, which the session is told. */
void judge_watch(struct judge *, struct nodes_session *);
void judge_fini(struct judge *);

/* For nodes_session_open(): what the session has by now. */
void judge_news(void *judge);
/* The watched list as it is in the end, with the names that it needs.  -ENOMEM. */
int judge_last(struct judge *, uv_loop_t *);
/* All processes of the node, each with its peak, and those without a row. */
void judge_processes(struct judge *, const struct nodes_target *, size_t n);
/* The sentence why data that is not whole says nothing. */
void judge_loss(const struct judge *, char why[CHECK_WHY]);
/* Nothing more comes: what is within, and what is not known. */
void judge_end(struct judge *);

/*
 * Before anything is started: the file is a good one, or it can be written.
 * As below.
 */
int baseline_look(const struct options *);
/*
 * Compares with --baseline, or writes it where it is not there or is to be
 * saved.  0 or an exit status; baseline_why says what has happened then.
 */
int baseline_check(struct judge *, uv_loop_t *);

/* The status of a failure of our own, which is never one of the command's. */
int check_failed(const struct options *);

/* The verdict, as the options want it. */
void check_tell(FILE *, const struct judge *, const struct nodes_look *,
    int status);
const char *check_verdict_name(enum check_verdict);

#endif

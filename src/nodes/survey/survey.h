/*
 * survey: the state of all nodes of the table, polled.
 *
 * Vocabulary
 *	place	a node: its entry, its link if any, and its row.
 *	try	an attempt to connect; later after each failure.
 *	round	STAT of the node, which measures its answer time, then NAME and
 *		STAT of each stream. Nothing else is requested.
 *	turn	with many places, only some are connected at a time: a complete
 *		one makes room for another.
 *
 *	survey.c	places of the table, turns
 *	place.h		one place
 *	count.c		sums and rates of its targets
 *
 * Example
 *	nodes_survey_open(&survey, loop, &(struct nodes_survey_opts){ .user = true });
 *	each cycle:	rows = nodes_survey_look(survey, &n);
 *	at the end:	nodes_survey_close(survey);
 */
#ifndef NODES_SURVEY_H
#define NODES_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "../places/places.h"

enum nodes_how {
	NODES_HOW_WAITING,	/* for its turn */
	NODES_HOW_ASKED,	/* for the first time */
	NODES_HOW_UP,
	NODES_HOW_SLOW,		/* its answer is late */
	NODES_HOW_NO_NODE,	/* no node listens there */
	NODES_HOW_UNREACHABLE,	/* lost, or silent for long */
	NODES_HOW_DENIED,
	NODES_HOW_VERSION,
	NODES_HOWS
};

#define NODES_SURVEY_TARGETS 32	/* of each node */

struct nodes_surveyed_target {
	uint32_t index;			/* in DSTRM */
	char name[128];			/* in DSTRM */
	char comm[16];
	pid_t pid;
	uint32_t state;			/* enum wire_state */
	bool ended;
	uint64_t sample;		/* mean bytes between samples; 0: no estimates */
	uint64_t blocks, bytes;		/* live */
	uint64_t lost, full;
	bool rated;
	uint64_t rate;			/* records a second */
};

/* A row of the survey; counts are of seen_ms ago. Only an entry's name and where are safe text. */
struct nodes_surveyed {
	uint16_t number;		/* of the entry, else of the node */
	char name[NODES_NAME_MAX + 1];	/* likewise; "" unknown */
	char where[272];		/* "local", "unix:PATH", "ssh:[USER@]HOST" */
	char word[8];			/* as a TARGET: "0590", or "local" without an entry */
	enum nodes_how how;
	int64_t how_ms;			/* UP: since the node's start, or the link's; SLOW: delay of the
					   answer; else since it is in this state */
	int64_t seen_ms;		/* since its last answer; -1 none */
	int64_t trip_us;		/* round trip; -1 unknown */
	const char *reason;		/* "" none */
	bool counted;			/* the rest is known */
	size_t targets, live;		/* processes; those that live */
	uint64_t blocks, bytes;		/* of live ones; without a process, of the node itself */
	uint64_t lost, full;		/* records; blocks that full lists refused */
	bool sampled;			/* some are estimates */
	bool rated;
	uint64_t rate;			/* records a second of all */
	/* Some of them: the best first (targets_best()), then live ones, most bytes first. */
	const struct nodes_surveyed_target *target;
	size_t ntarget;
};

struct nodes_survey_opts {
	bool user;		/* read the user's table too */
	const char *remote;	/* default path of pageknode on other machines; borrowed; NULL: in PATH */
	uint32_t every_ms;	/* from round to round; 0: 1 s, over ssh 5 s */
	nodes_say_cb say;	/* mistakes of the table; NULL */
	void *arg;
};

struct nodes_survey;

/*
 * Polls all nodes of the table, and this user's own if the table has no local
 * entry, until it is closed. The table is read again when its files change. A
 * node that hangs delays no other. It never asks the user. -ENOMEM.
 */
int nodes_survey_open(struct nodes_survey **, uv_loop_t *,
    const struct nodes_survey_opts *);
void nodes_survey_close(struct nodes_survey *);

/* The n rows by ascending number, borrowed until control returns to the loop. */
const struct nodes_surveyed *const *nodes_survey_look(struct nodes_survey *,
    size_t *n);

/* State and rate of every node are known, or it is down. */
bool nodes_survey_settled(const struct nodes_survey *);

/* Tries the row with that word now; NULL: all that are down. */
void nodes_survey_retry(struct nodes_survey *, const char *word);

#endif

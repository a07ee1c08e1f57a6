/*
 * survey: how all nodes of the table are, asked again and again.
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

/* How a node is, as somebody who asks it again and again sees it. */
enum nodes_how {
	NODES_HOW_WAITING,	/* its turn comes: so many at most are connected to at a time */
	NODES_HOW_ASKED,	/* for the first time, and just now */
	NODES_HOW_UP,
	NODES_HOW_SLOW,		/* its answer comes late, or has not come yet */
	NODES_HOW_NO_NODE,	/* the way is there, and no node at its end */
	NODES_HOW_UNREACHABLE,	/* lost, or it has not answered for long */
	NODES_HOW_DENIED,
	NODES_HOW_VERSION,
	NODES_HOWS		/* one more than the last */
};

#define NODES_SURVEY_TARGETS 32	/* of each node */

struct nodes_surveyed_target {
	uint32_t index;			/* in DSTRM */
	char name[128];			/* in DSTRM */
	char comm[16];
	pid_t pid;
	uint32_t state;			/* enum wire_state */
	bool ended;
	uint64_t sample;		/* mean bytes between samples; 0: blocks and bytes are no estimates */
	uint64_t blocks, bytes;		/* live */
	uint64_t lost, full;
	bool rated;
	uint64_t rate;			/* records a second */
};

/*
 * A row of the survey.  Outside texts, but name and where of an entry.  What
 * was counted is the last that the node told, seen_ms ago.
 */
struct nodes_surveyed {
	uint16_t number;		/* of the entry, else as the node says */
	char name[NODES_NAME_MAX + 1];	/* likewise; "" not known */
	char where[272];		/* "local", "unix:PATH", "ssh:[USER@]HOST" */
	char word[8];			/* as a TARGET: "0590"; "local" where there is no entry */
	enum nodes_how how;
	/*
	 * UP: since the node was started, or where it does not say since the
	 * link is up.  SLOW: how late its answer is.  Else: for how long it has
	 * been so.
	 */
	int64_t how_ms;
	int64_t seen_ms;		/* since its last answer; -1 none came */
	int64_t trip_us;		/* there and back; -1 not known */
	const char *reason;		/* a sentence; "" none */
	bool counted;			/* what follows is known */
	size_t targets, live;		/* processes that it lists; those that live */
	uint64_t blocks, bytes;		/* of those; where there is none, the node's own */
	uint64_t lost, full;		/* records, and blocks that full lists refused */
	bool sampled;			/* some are estimates */
	bool rated;
	uint64_t rate;			/* records a second, of all */
	/* Some of them, what lives and holds most first; [0] is where one begins. */
	const struct nodes_surveyed_target *target;
	size_t ntarget;
};

struct nodes_survey_opts {
	bool user;		/* the user's table counts too */
	const char *remote;	/* pageknode of other machines, unless the entry says so; borrowed; NULL: in its PATH */
	uint32_t every_ms;	/* from question to question; 0: 1 s, over ssh 5 s */
	nodes_say_cb say;	/* about the table; NULL */
	void *arg;
};

struct nodes_survey;

/*
 * Asks all nodes of the table how they are, and this user's own where the
 * table has no local one, until it is closed; the table is read anew when its
 * files change.  A node that hangs holds nobody up; of many, some are asked at
 * a time.  Nothing is asked of a person, and no node for records or blocks: in
 * no node's memory is there a trace of it.  -ENOMEM.
 */
int nodes_survey_open(struct nodes_survey **, uv_loop_t *,
    const struct nodes_survey_opts *);
void nodes_survey_close(struct nodes_survey *);

/*
 * The rows by ascending number, borrowed until control returns to the loop;
 * n of them.
 */
const struct nodes_surveyed *const *nodes_survey_look(struct nodes_survey *,
    size_t *n);

/*
 * Every node has told how it is, and how many records a second, or will not
 * soon.
 */
bool nodes_survey_settled(const struct nodes_survey *);

/* The next try is now, of the row with that word; NULL: of all that are down. */
void nodes_survey_retry(struct nodes_survey *, const char *word);

#endif

/*
 * survey: how all nodes of the table are; the door is in nodes.h.
 *
 * Vocabulary
 *	place	one node: its entry, the link to it if there is one, and the
 *		row that is shown of it.
 *	try	a connection that is made to it; the next one comes the later
 *		the more have failed.
 *	round	STAT of the node, which tells how long it takes to answer, and
 *		what it has: NAME and STAT of each stream.  Nothing else is
 *		ever asked.
 *	turn	of many places some are connected to at a time; one that has
 *		told gives way to one that has not.
 *
 * survey.c has the places and whose turn it is, place.c one of them and
 * count.c what is made of its answers.
 */
#ifndef NODES_SURVEY_PLACE_H
#define NODES_SURVEY_PLACE_H

#include "../link/link.h"
#include "survey.h"

#define SURVEY_TICK_MS 100
#define SURVEY_EVERY_MS 1000	/* from round to round ... */
#define SURVEY_FAR_MS 5000	/* ... over ssh */
#define SURVEY_SLOW_MS 500	/* an answer that takes longer is late ... */
#define SURVEY_SILENT_MS 5000	/* ... and after so long no longer expected */
#define SURVEY_LOGIN_MS 5000	/* a login takes its time, and is not late before that */
#define SURVEY_SHARE 10		/* the targets are asked for in one part of the time in so many, at most */

/*
 * sshd refuses some of more than ten logins at once (MaxStartups), and each
 * ssh is a process here.
 */
#define SURVEY_LOGINS 4
#define SURVEY_KNOCK_MS 3000	/* a login that takes longer is not counted */
#define SURVEY_FAR_OPEN 24
#define SURVEY_NEAR_OPEN 128	/* descriptors: a process has 1,024 as a rule */
#define SURVEY_STAY_MS 3000	/* a link that others wait for stays at least so long */

/* Waits between tries: from the first to the most, twice as long each time. */
#define SURVEY_NEAR_FIRST_MS 500
#define SURVEY_NEAR_MOST_MS 2000
#define SURVEY_FAR_FIRST_MS 5000
#define SURVEY_FAR_MOST_MS 60000

#define SURVEY_RATED_MAX 1024	/* streams; of a node with more no rate is told */

/* A stream's records at the last round, for its rate. */
struct survey_seen {
	uint32_t index;
	pid_t pid;
	uint64_t records;
};

/* The last counts, and what the next ones are compared with. */
struct survey_count {
	struct survey_seen *seen;	/* by ascending index */
	size_t nseen, cap;
	bool has_seen;
	bool many;			/* more streams than a rate is told of */
	struct mono seen_at;
	struct nodes_surveyed_target target[NODES_SURVEY_TARGETS];
};

/*
 * Counts the targets (by ascending index, as an enquiry tells them) into the
 * row, whose target then lies in the count.
 */
void survey_count(struct survey_count *, struct nodes_surveyed *,
    const struct nodes_target *, size_t n, struct mono now);
/* The node may be another one from here on. */
void survey_count_anew(struct survey_count *);
void survey_count_fini(struct survey_count *);

/* The state of a place's link, for survey_how(). */
struct survey_signs {
	bool far;		/* over ssh */
	bool linked;		/* there is a link ... */
	bool welcomed;		/* ... over which the node has spoken */
	bool refused;		/* ... that this user may not ask */
	int64_t waiting_ms;	/* for WELCOME, or an answer; -1: for nothing */
	int64_t trip_ms;	/* the last answer's; -1 */
};

/* How a node with a link is, or `was` while that shows nothing new. */
enum nodes_how survey_how(const struct survey_signs *, enum nodes_how was);

struct survey_place {
	struct nodes_entry entry;
	bool own;			/* this user's node, which has no entry */
	bool stays;			/* the table that was read anew has it still */
	uint32_t every_ms;
	struct nodes_surveyed row;	/* but for the times, which survey_place_look() has */
	struct survey_count count;
	struct nodes_link *link;	/* NULL: none */
	uv_loop_t *loop;
	bool welcomed;			/* over this link */
	bool refused;			/* likewise: the last answer was that we may not ask */
	unsigned rounds;		/* likewise: so often its targets were told */
	struct mono opened;		/* the link */
	struct mono up_since;		/* the node spoke over it */
	struct mono how_since;
	int64_t due;			/* ms of mono: the next try, without a link; else the next round */
	int64_t targets_due;
	unsigned tries;			/* in vain */
	bool stat_asked, targets_asked;	/* and not answered */
	struct mono stat_at, targets_at;
	bool seen;			/* it has answered once ... */
	struct mono seen_at;		/* ... and the last time then */
	int64_t trip_us;
	uint64_t up_s;			/* as the node said at seen_at; 0 it does not */
	char reason[320];
};

/* For each tick. */
void survey_place_init(struct survey_place *, uv_loop_t *,
    const struct nodes_entry *, bool own, uint32_t every_ms);
void survey_place_fini(struct survey_place *);
/* Begins a try. */
void survey_place_open(struct survey_place *);
/* Looks what has become of link and questions, and asks what is due. */
void survey_place_step(struct survey_place *);
/* Others wait: the link is closed, and what was told stays. */
void survey_place_rest(struct survey_place *);
/* A try is due now; a link that says nothing is given up for it. */
void survey_place_retry(struct survey_place *);
/* The table has other words for the same place. */
void survey_place_name(struct survey_place *, const struct nodes_entry *);
/* Fills in the times. */
const struct nodes_surveyed *survey_place_look(struct survey_place *);
bool survey_place_settled(const struct survey_place *);

static inline bool
survey_is_far(const struct survey_place *p)
{
	return p->entry.at == NODES_AT_SSH;
}

#endif

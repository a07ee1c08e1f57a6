/*
 * place: one node of the survey; see survey.h.
 */
#ifndef NODES_SURVEY_PLACE_H
#define NODES_SURVEY_PLACE_H

#include "../link/link.h"
#include "survey.h"

#define SURVEY_TICK_MS 100
#define SURVEY_EVERY_MS 1000	/* from round to round */
#define SURVEY_FAR_MS 5000	/* ... over ssh */
#define SURVEY_SLOW_MS 500	/* a later answer is late ... */
#define SURVEY_SILENT_MS 5000	/* ... and then missing */
#define SURVEY_LOGIN_MS 5000	/* a login is late after that */
#define SURVEY_SHARE 10		/* requests for targets take 1/SHARE of the time at most */

/* sshd refuses some of more than ten logins at once (MaxStartups). */
#define SURVEY_LOGINS 4
#define SURVEY_LOGIN_COUNTED_MS 3000	/* a longer login is not counted */
#define SURVEY_FAR_OPEN 24
#define SURVEY_NEAR_OPEN 128	/* of the usual 1,024 descriptors */
#define SURVEY_STAY_MS 3000	/* least time of a link while others wait */

/* Time between tries: doubles from FIRST to MOST. */
#define SURVEY_NEAR_FIRST_MS 500
#define SURVEY_NEAR_MOST_MS 2000
#define SURVEY_FAR_FIRST_MS 5000
#define SURVEY_FAR_MOST_MS 60000

#define SURVEY_RATED_MAX 1024	/* streams; a node with more has no rate */

/* Records of a stream at the last round. */
struct survey_seen {
	uint32_t index;
	pid_t pid;
	uint64_t records;
};

/* Counts of the last round. */
struct survey_count {
	struct survey_seen *seen;	/* by ascending index */
	size_t nseen, cap;
	bool has_seen;
	bool many;			/* more than SURVEY_RATED_MAX streams */
	struct mono seen_at;
	struct nodes_surveyed_target target[NODES_SURVEY_TARGETS];
};

/* Sums the targets (by ascending index) into the row, whose target then lies in the count. */
void survey_count(struct survey_count *, struct nodes_surveyed *,
    const struct nodes_target *, size_t n, struct mono now);
/* The node may be another one from here on: rates begin anew. */
void survey_count_restart(struct survey_count *);
void survey_count_fini(struct survey_count *);

/* The state of a place's link, for survey_how(). */
struct survey_signs {
	bool far;		/* over ssh */
	bool linked;
	bool welcomed;
	bool refused;		/* this user may not ask */
	int64_t waiting_ms;	/* for WELCOME or an answer; -1: not waiting */
	int64_t trip_ms;	/* of the last answer; -1 */
};

/* The state of a node by its link; `was` if that shows nothing new. */
enum nodes_how survey_how(const struct survey_signs *, enum nodes_how was);

struct survey_place {
	struct nodes_entry entry;
	bool own;			/* this user's node without an entry */
	bool stays;			/* also in the table that was read anew */
	uint32_t every_ms;
	struct nodes_surveyed row;	/* survey_place_look() fills in the times */
	struct survey_count count;
	struct nodes_link *link;	/* NULL: none */
	uv_loop_t *loop;
	bool welcomed;			/* over this link */
	bool refused;			/* likewise: the last answer was E_AUTH */
	struct mono opened;		/* the link */
	struct mono up_since;		/* WELCOME */
	struct mono how_since;
	int64_t due;			/* monotonic ms: next try, or with a link the next round */
	int64_t targets_due;
	unsigned tries;			/* failed */
	bool stat_asked, targets_asked;	/* in flight */
	struct mono stat_at, targets_at;
	bool seen;			/* it has answered ... */
	struct mono seen_at;		/* ... last at that time */
	int64_t trip_us;
	uint64_t up_s;			/* node's uptime at seen_at; 0 unknown */
	char reason[320];
};

void survey_place_init(struct survey_place *, uv_loop_t *,
    const struct nodes_entry *, bool own, uint32_t every_ms);
void survey_place_fini(struct survey_place *);
/* Tries to connect. */
void survey_place_open(struct survey_place *);
/* Once a tick: checks link and answers, and sends requests that are due. */
void survey_place_step(struct survey_place *);
/* Closes the link for others that wait; the counts stay. */
void survey_place_pause(struct survey_place *);
/* Makes a try due now; closes a link without an answer. */
void survey_place_retry(struct survey_place *);
/* Takes name and number of an entry for the same place. */
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

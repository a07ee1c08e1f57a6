/*
 * state: what a session knows, and the functions that its files share.
 *
 * The life of a session is a row of steps, each begun by the reply to the one
 * before or, when something has to be tried again, by a cycle:
 *
 *	CHOOSE	which stream?  All entries of the node's table are asked for.
 *	NAME	its index and epoch, by its name (or by the chosen index).
 *	LOAD	types, numbers, then the snapshot part by part, and records
 *		from the first part's as_of on.
 *	FLOW	records only, fifteen times a second.
 *	WINDOW	some rows and all totals, as often: there are too many records.
 *	STAND	nothing to read: no data, or an end that is all read.
 *
 *	session.c	the steps
 *	choose.c	finds a stream for the first of them
 *	intake.c	snapshot and records, and the lists that take them
 *	decode.c	blocks and records from bytes
 *	window.c	some rows instead
 *	resume.c	goes on after the link was lost
 *	numbers.c	the numbers of stream and node
 *	watch.c		how one block ends
 *	arm.c		wakes a target that sleeps
 *	regions.c	where gaps are free
 *	names.c		stacks, words and names of threads
 */
#ifndef NODES_SESSION_STATE_H
#define NODES_SESSION_STATE_H

#include "../../base/base.h"
#include "../link/link.h"
#include "merge.h"
#include "names.h"
#include "session.h"

/* Said while the list is taken in parts for ever; a window has its own words. */
#define SESSION_TORN "records come faster than this page can follow: the list " \
	"is taken anew in each cycle, part by part"

#define SESSION_NAME_MAX 128
#define SESSION_NO_WISH (-1)
/* In cycles, for a page that was stopped must not think that time went by. */
#define SESSION_SECOND NODES_HZ

/*
 * The requests of a session:
 *
 *	ASK(NAME, name, watched)
 *
 * answered_name() takes the reply, an ERR as well; a node that does not answer
 * one that is watched counts as silent.  A request is on its way from
 * session_ask() until its reply is there, the link is lost, or it is called
 * off.
 */
#define SESSION_REQUESTS(ASK) \
	ASK(NAME, name, true) \
	ASK(PART, part, true) \
	ASK(DATA, data, true) \
	ASK(ROWS, rows, true) \
	ASK(STREAM, stream, true)	/* STAT of the stream, */ \
	ASK(NODE, node, true)		/* of the node with the command, */ \
	ASK(WATCHER, watcher, false)	/* of the link's, if another has it */ \
	ASK(TYPES, types, false) \
	ASK(REGIONS, regions, false) \
	ASK(ARM, arm, false) \
	ASK(END, end, false)

enum session_request {
#define ASK(NAME, name, watched) SESSION_ASK_##NAME,
	SESSION_REQUESTS(ASK)
#undef ASK
	SESSION_ASK_TARGETS,		/* targets_ask(): several messages */
	SESSION_ASKS
};

/* One of them, as the link calls back with it. */
struct session_ask {
	struct nodes_session *session;
	unsigned sent;			/* on their way; of DATA more than one */
};

enum session_step {
	SESSION_CHOOSE,
	SESSION_NAME,
	SESSION_LOAD,
	SESSION_FLOW,
	SESSION_WINDOW,
	SESSION_STAND,
};

/* The one block of which the end is wanted, and who else has its address. */
struct session_watch {
	bool on, freed;
	unsigned layer;
	uint64_t addr, seq;
	struct nodes_freed how;
	struct nodes_lives lives;
	uint64_t next;			/* the sequence number that is read next; 0: not known */
};

/* Some rows and all totals, while there are too many records to read. */
struct session_window {
	struct nodes_view view;		/* what is looked at */
	bool wished;			/* ... and is enough */
	bool refused;			/* the node does not know how */
	bool due;			/* it begins with the next cycle */
	struct nodes_view asked;	/* the rows that are on their way */
	unsigned asks;			/* of this cycle */
	uint64_t read;			/* records of this cycle's replies */
	struct {
		enum blklist_order order;
		bool reverse;
		uint64_t offset, n;
	} held;
	/* Until when: see is_calm(). */
	bool counted;
	uint64_t stay;			/* WIRE_N_STAY ... */
	unsigned stay_cycle;		/* ... as of that cycle */
	unsigned calm, calm_for;	/* cycles */
	unsigned left;			/* the cycle in which it ended last; 0 never */
};

/* Memory that is wholly known. */
struct session_regions {
	struct wire_region at[WIRE_REGIONS_MAX];
	size_t n;
	bool whole;			/* REGIONS was sent when the list was whole */
	bool in;			/* the answer to one that was, is here */
	bool refused;			/* the node does not know how */
	bool torn;			/* the list that is shown is of several moments */
	char why[NODES_REGIONS_WHY];	/* the node tells none; "" it has none */
};

/* Which stream is watched, when that is the session's choice: choose.c. */
struct session_choice {
	bool made;			/* or it was not ours to make */
	unsigned open_for;		/* cycles for which it may still change */
	bool is_node;			/* the node itself was chosen, for want of a target */
	bool stay;			/* ... and somebody looks at it */
	uint32_t rival;			/* what would have been chosen at the last look */
	pid_t rival_pid;
	pid_t follow;			/* pid whose newer image is looked for; 0 none */
	unsigned follow_tries;
};

/* The link, which may be lost and come back: resume.c. */
struct session_reconnect {
	unsigned losses;		/* of the link, as far as they are dealt with */
	bool known;			/* index and epoch are those of this connection's node */
	bool resuming;			/* ... which it was asked for; then on in `resume` */
	bool sought;			/* by its name, for the node was started anew */
	enum session_step resume;
	uint8_t boot[WIRE_EPOCH];	/* of the node that the numbers are of */
};

/* Snapshot and records: intake.c. */
struct session_intake {
	struct merge merge;
	struct blklist *list;		/* shown */
	struct blklist *build;		/* taken in parts; == list when none was whole before */
	uint64_t cursor;
	bool counting;			/* all below the cursor were captured, or lost and counted */
	bool sure;			/* the first READ was sent from the cursor itself */
	bool dense;			/* replies come back full: read ahead */
	uint64_t ahead;			/* where the next READ ahead begins */
	bool again;			/* take the snapshot anew at the next cycle */
	unsigned reads;			/* READs of this cycle */
	uint64_t undo_seen;		/* unknown_undo counted and answered */
	/* Blocks of a snapshot for which there was no room in ... */
	uint64_t put_full;		/* ... the list that is shown */
	uint64_t build_full;		/* ... the one that is taken */
};

/* The stream's table of types. */
struct session_types {
	struct stream_types table;
	uint8_t legal[32];
	uint8_t asked[32];		/* codes not in the table that were asked about */
	bool doubt;			/* no READ until TYPES is answered: a new code came */
};

struct session_losses {
	bool lossy;			/* records were lost before the keeper */
	bool partial;			/* the node has said so of a part, or that its list was full */
	bool was_incomplete;		/* since look.incomplete_wall_ms */
	bool torn;			/* this snapshot lost records: its parts alone count */
	bool mending;			/* the list is taken anew because of a loss */
	uint64_t mended;		/* records the next snapshot makes good */
	uint64_t seen;			/* by causes before the keeper, read by us */
	uint64_t bad;			/* bad records that we saw */
};

/* Clocks, and what the session's own work costs. */
struct session_clock {
	unsigned cycle;
	int64_t now_ms;			/* the node's clock, as of the last answer */
	int64_t wall_off_ms;		/* its wall clock is ahead of that by so much */
	int64_t fresh_ms;		/* our clock: when the list shown was last up to date */
	uint64_t cycle_records;
	int64_t cycle_ns;		/* own work since the cycle began ... */
	int64_t order_ns;		/* ... and of it for the order of age */
	uint64_t heard;
	unsigned silent;		/* cycles without an answer to what was asked */
};

/* Texts that the look points to. */
struct session_texts {
	char said[256];			/* in look.reason, while said_for lasts */
	unsigned said_for;
	char target[64];
	char reason[320];
	char trouble[WIRE_TEXT_MAX + 1];
	char output[WIRE_TEXT_MAX + 1];
	char socket[WIRE_TEXT_MAX + 1];
};

/* Arming: arm.c. */
struct session_arming {
	int wish;			/* enum wire_arming that is asked for, or SESSION_NO_WISH */
	bool due;			/* a dormant target is armed when it is found */
	uint64_t seen;			/* ARMED_MS of the arming that we watch */
};

struct nodes_session {
	struct nodes_link *link;
	struct nodes_link *run;		/* who runs the command, if not the link's node */
	bool running;			/* the node was started for a command */
	struct nodes_session_opts opts;
	char stream[SESSION_NAME_MAX];	/* of opts, or as chosen; "" none */
	nodes_news_cb news;
	void *arg;
	struct nodes_look look;

	struct session_ask asks[SESSION_ASKS];

	enum session_step step;
	unsigned retry_in;		/* cycles until it is tried again */

	/* The stream, as NAMED said. */
	bool by_index;			/* NAME goes by index: it was chosen from a list */
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	enum wire_state stream_state;
	uint64_t click;			/* first sequence number that counts (since_click) */

	uint64_t keeper[WIRE_STATS_COUNT];
	uint64_t node[WIRE_STATS_COUNT];	/* of the link's node itself */

	struct session_choice choice;
	struct session_reconnect reconnect;
	struct session_intake intake;
	struct session_types types;
	struct session_losses losses;
	struct session_clock clock;
	struct session_texts texts;
	struct session_arming arming;
	struct session_window window;
	struct session_watch watch;
	struct session_regions regions;
	struct names names;
};

/* Each stands in the file that asks. */
#define ASK(NAME, name, watched) \
	void answered_##name(struct nodes_session *, const struct wire_msg *);
SESSION_REQUESTS(ASK)
#undef ASK
/* ARM has no reply: -ENOTCONN, or -ECANCELED when it is sent again. */
void lost_arm(struct nodes_session *, int err);

/* --- session.c ---------------------------------------------------------- */

/* A change of state; news are given. */
void session_state(struct nodes_session *, enum nodes_state,
    const char *reason);
void session_go(struct nodes_session *, enum session_step,
    unsigned retry_in);
/* Sends a request, NODE to the node that runs the command; as link_ask(). */
int session_ask(struct nodes_session *, enum session_request,
    struct wire_msg *);
/* How many of them are on their way. */
static inline unsigned
session_waits(const struct nodes_session *s, enum session_request which)
{
	return s->asks[which].sent;
}
/* Which stream it is, or its index, is being asked. */
static inline bool
session_is_asking(const struct nodes_session *s)
{
	return session_waits(s, SESSION_ASK_TARGETS) > 0 ||
	    session_waits(s, SESSION_ASK_NAME) > 0;
}
/* Nothing that was asked before this is waited for any longer. */
void session_call_off(struct nodes_session *);
/* Asks for the stream's index. */
void session_resolve(struct nodes_session *);
/* Replies that mean that index and epoch are no longer valid, or worse. */
void session_refused(struct nodes_session *, const struct wire_err *);
/* The stream is over and all of it is read. */
void session_drained(struct nodes_session *);
/* The same stream has begun anew: its index is looked up again. */
void session_anew(struct nodes_session *);
/* There is more to come: it lives, logging or not. */
static inline bool
session_flows(const struct nodes_session *s)
{
	return s->stream_state == WIRE_S_LIVE ||
	    s->stream_state == WIRE_S_DORMANT;
}
/* The look tells what this cycle has cost and brought so far. */
void session_measure(struct nodes_session *);
/* Says something beside a LIVE state for some seconds. */
void session_say(struct nodes_session *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- resume.c -------------------------------------------------------- */

/* The link's own state goes before the stream's; false while it is lost. */
bool reconnect_follow_link(struct nodes_session *);
/* Takes the reply to NAME of a stream; false: it has to be looked up. */
bool reconnect_take_name(struct nodes_session *, const struct wire_msg *);
/* The stream that was looked up has been found. */
void reconnect_set_found(struct nodes_session *);
/* The answer that was taken was given at that moment of the node's. */
void reconnect_set_heard(struct nodes_session *, int64_t now_ms);
/* The list that is shown is as of then. */
void reconnect_set_fresh(struct nodes_session *);

/* --- choose.c --------------------------------------------------- */

/* Asks for all streams, to choose one. */
void choose_ask(struct nodes_session *);
void choose_cycle(struct nodes_session *);

/* --- decode.c --------------------------------------------------- */

/* Records of one reply, made ready for the list. */
struct decoded {
	struct rec rec[WIRE_READ_MAX];
	uint64_t seq[WIRE_READ_MAX];
	int64_t ms[WIRE_READ_MAX];	/* of classic ones only */
	struct blklist_batch_info info[WIRE_INFO_MAX];
	size_t n, ninfo;
};

/* Bytes of a record of the stream. */
unsigned decode_record_size(const struct nodes_session *);
/* A requester; its name is cut where a list would cut it. */
struct blklist_info decode_info(const struct wire_info *);
/*
 * One block as it is in PART and ROWS: a record, then its sequence number and
 * time in full.  -EILSEQ for a classic record that is bad.
 */
int decode_block(const struct nodes_session *, const uint8_t *, struct blk *);
/* The records that apply; returns how many were bad. */
size_t decode_batch(struct nodes_session *, const struct wire_data *,
    struct decoded *);

/* --- intake.c ---------------------------------------------------- */

/* A list of the right kind, for so many blocks at least where --max allows it. */
int lists_new(struct nodes_session *, uint64_t blocks, struct blklist **);
/* The node has so many, and the first of them are about to be put in. */
void lists_make_room(struct nodes_session *, uint64_t blocks);
void lists_drop_build(struct nodes_session *);
/* From here on all records apply to the list that is being built. */
void lists_follow(struct nodes_session *);
/* ... which is shown from now on. */
void lists_publish(struct nodes_session *);

/* --- intake.c --------------------------------------------------- */

/* A list of the right kind, and the first request for its contents. */
int intake_begin(struct nodes_session *, bool classic);
/* Takes the snapshot anew, beside the list that is shown. */
void intake_again(struct nodes_session *);
/* Reads on if nothing is on its way. */
void intake_read(struct nodes_session *);
/* Once in a cycle: what is still to be done before the list is whole. */
void intake_cycle(struct nodes_session *);
void intake_fini(struct nodes_session *);
/* Drops the list that is being built; the one that is shown stays. */
void intake_stop(struct nodes_session *);
/* The table of types is there: legal codes are told to the lists. */
void intake_types(struct nodes_session *, const struct wire_typed *);
/* The sampling period is known, or has changed. */
void intake_sample(struct nodes_session *, uint64_t period);

/* --- window.c --------------------------------------------------- */

/* Records up to `next` were captured, and some of them lost, without us. */
void window_pass(struct nodes_session *, uint64_t next, uint64_t lost);
/*
 * Records came that were overwritten before we read them; or so many in one
 * reply.  True when it is the window's turn from the next cycle on: what is on
 * its way counts no more.
 */
bool window_overrun(struct nodes_session *);
bool window_read(struct nodes_session *, uint32_t count);
/* So many blocks are to be taken: true when they had better not be. */
bool window_large(struct nodes_session *, uint64_t blocks);
/* It is its turn; all else has been called off. */
void window_begin(struct nodes_session *);
/* Asks for this cycle's rows, where there are any to ask for. */
void window_cycle(struct nodes_session *);

/* --- watch.c ---------------------------------------------------- */

/* Before the data's batch is applied: is the watched block's end among it? */
void watch_data(struct nodes_session *, const struct blklist_batch *,
    const struct wire_data *);

/* --- regions.c -------------------------------------------------- */

/* Asks for the regions, if that is due or the list has become whole. */
void regions_cycle(struct nodes_session *, bool due);
/* There is another stream, or none. */
void regions_reset(struct nodes_session *);
/* Puts them into the look. */
void regions_look(struct nodes_session *);

/* --- arm.c ------------------------------------------------------ */

/* The stream has just been found: what is wanted of it is asked for. */
void arm_found(struct nodes_session *);
/* Its numbers have come. */
void arm_standing(struct nodes_session *);

/* --- numbers.c ------------------------------------------------- */

/* Asks for the numbers that are due in this cycle. */
void numbers_ask_stream(struct nodes_session *, bool all);
/* Takes the stream's numbers. */
void numbers_take(struct nodes_session *,
    const uint64_t n[WIRE_STATS_COUNT]);
/* Asks how the command is doing, if that is due. */
void numbers_ask_node(struct nodes_session *, bool due);
/* Asks for the table of types. */
void numbers_ask_types(struct nodes_session *);
/* Records were lost before the keeper: the list is INCOMPLETE from now on. */
void numbers_set_lost(struct nodes_session *);
/* Sets in the look whether the shown list is complete. */
void numbers_check_whole(struct nodes_session *);

#endif

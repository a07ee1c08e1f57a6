/*
 * state: the state of a session, and the functions that its files share.
 *
 * A session goes through these steps. Each begins with the reply to the one
 * before or, to retry something, with a cycle:
 *
 *	CHOOSE	find the stream: all entries of the node's table are requested.
 *	NAME	get its index and epoch, by its name or the chosen index.
 *	LOAD	types, counters, then the snapshot part by part, and the
 *		records since the first part's as_of.
 *	FLOW	records only, fifteen times a second.
 *	WINDOW	visible rows and all totals instead, while there are too many
 *		records.
 *	IDLE	nothing to read: no data, or all read up to its end.
 */
#ifndef NODES_SESSION_STATE_H
#define NODES_SESSION_STATE_H

#include "../../base/base.h"
#include "../link/link.h"
#include "answer_cache.h"
#include "merge.h"
#include "requests.h"
#include "session.h"

/* Notice while snapshots keep losing records; a window replaces it. */
#define SESSION_TORN "records come faster than this page can follow: the list " \
	"is read again in each cycle, part by part"

#define SESSION_NAME_MAX 128
#define SESSION_NO_WISH (-1)
/* Cycles: a page that was stopped must not believe that time went by. */
#define SESSION_SECOND NODES_HZ

/*
 * The requests of a session:
 *
 *	ASK(NAME, name, watched, lost)
 *
 * answered_name() takes the reply, which may be an ERR.  If no reply will come, lost(),
 * unless it is NULL, takes the errno.  A node that does not answer a watched request
 * counts as silent.  A request is in flight from session_ask() until its reply, the loss
 * of the link or session_cancel().  names.c has its own table, because its requests
 * outlive session_cancel().
 */
#define SESSION_REQUESTS(ASK) \
	ASK(NAME, name, true, NULL) \
	ASK(PART, part, true, NULL) \
	ASK(DATA, data, true, NULL) \
	ASK(ROWS, rows, true, NULL) \
	ASK(STREAM, stream, true, NULL)	/* STAT of the stream */ \
	ASK(NODE, node, true, NULL)		/* STAT of the command's node */ \
	ASK(WATCHER, watcher, false, NULL)	/* STAT of the link's node, without a command */ \
	ASK(TYPES, types, false, NULL) \
	ASK(REGIONS, regions, false, NULL) \
	ASK(MARKS, marks, false, lost_marks) \
	ASK(USAGE, usage, false, lost_usage) \
	ASK(STRESS, stress, false, lost_stress)	/* needs no stream */ \
	ASK(TOUCHES, touches, false, lost_touches) \
	ASK(COUNT, count, false, lost_count) \
	ASK(MEMORY, memory, false, lost_memory) \
	ASK(KERNEL_MEMORY, kernel_memory, false, lost_kernel_memory) \
	ASK(RETAINED, retained, false, lost_retained) \
	ASK(ARM, arm, false, lost_arm) \
	ASK(REPLAY, replay, false, NULL) \
	ASK(END, end, false, NULL)

enum session_request {
#define ASK(NAME, name, watched, lost) SESSION_ASK_##NAME,
	SESSION_REQUESTS(ASK)
#undef ASK
	SESSION_ASK_TARGETS,		/* targets_ask(): several messages */
	SESSION_ASKS
};

/* A kind of request; the argument of its callback. */
struct session_ask {
	struct nodes_session *session;
	unsigned in_flight;		/* DATA: up to READ_WINDOW */
};

enum session_step {
	SESSION_CHOOSE,
	SESSION_NAME,
	SESSION_LOAD,
	SESSION_FLOW,
	SESSION_WINDOW,
	SESSION_IDLE,
};

/* The stream, as NAMED described it. */
struct session_stream {
	char name[SESSION_NAME_MAX];	/* of opts, or as chosen; "" none */
	bool by_index;			/* NAME goes by index: it was chosen from a list */
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	enum wire_state state;
	uint64_t click;			/* first sequence number that counts (since_click) */
};

/* The block whose end is watched, and others at its address. */
struct session_watch {
	bool on, freed;
	unsigned layer;
	uint64_t addr, seq;
	struct nodes_freed how;
	struct nodes_lives lives;
	uint64_t next;			/* sequence number to be read next; 0 unknown */
};

/* Visible rows and all totals, while there are too many records to read. */
struct session_window {
	struct nodes_view view;		/* visible rows */
	bool wished;			/* the page needs no more than these */
	bool refused;			/* the node has no windows */
	bool due;			/* begins with the next cycle */
	struct nodes_view asked;	/* rows in flight */
	unsigned asks;			/* requests of this cycle */
	uint64_t read;			/* records of this cycle's replies */
	struct {
		enum blklist_order order;
		bool reverse;
		uint64_t offset, n;
	} held;
	/* When it ends: see is_calm(). */
	bool counted;
	uint64_t stay;			/* WIRE_N_STAY ... */
	unsigned stay_cycle;		/* ... as of this cycle */
	unsigned calm, calm_for;	/* cycles */
	unsigned left;			/* cycle in which it ended last; 0 never */
};

struct session_regions {
	struct wire_region at[WIRE_REGIONS_MAX];
	size_t n;
	bool whole;			/* the list was whole when REGIONS was sent */
	bool known;			/* one sent then is answered */
	bool refused;			/* the node has no regions */
	bool torn;			/* parts of the shown list are of different moments */
	char why[NODES_REGIONS_WHY];	/* the node's reason to have none; "" none */
};

/* Named marks of the stream, as the node told them last. */
struct session_marks {
	struct nodes_marks told;
	struct wire_named_mark at[WIRE_MARKS_MAX];
	char dropped[WIRE_MARK_NAME + 1];
	char why[WIRE_TEXT_MAX + 1];
};

/* The node's counts: the last whole copy, and the one that is coming in. */
struct session_usage {
	struct nodes_usage told;
	struct usage_row *row;		/* of `told` */
	struct usage_row *coming;
	size_t ncoming, cap;
	uint32_t copy;			/* number of the one that is coming in */
	uint64_t copies;		/* ever, of all streams */
	unsigned tries;			/* copies that ended in the middle, of one question */
	bool ending;			/* the question is an end */
	bool leaving;			/* an end follows its answer */
	char lacks[WIRE_TEXT_MAX + 1];
	char why[WIRE_TEXT_MAX + 1];
};

/* The kernel's own memory, until the page takes it. */
struct session_kernel_memory {
	struct nodes_kernel_memory told;
	struct stress_memory memory;
	char why[WIRE_TEXT_MAX + 1];
};

/* Heap stress of the node's machine. */
struct session_stress {
	struct nodes_stress told;
	struct stress_series series;
	char kernel[STRESS_KERNEL];
	char why[NODES_STRESS_WHY];
	char error_why[WIRE_TEXT_MAX + 1];
	struct session_kernel_memory memory;
};

/* Counts of pages: the last whole copy, and the one that is coming in. */
struct session_refcnt {
	struct nodes_refcnt told;
	struct refcnt_page *page;	/* of `told` */
	struct refcnt_range *range;	/* likewise */
	struct refcnt_page *coming;
	struct refcnt_range *ranges;	/* coming */
	size_t ncoming, cap, nranges, ranges_cap;
	bool rows_end, ranges_end;	/* all of these have come */
	uint64_t first, from, to;	/* addresses asked for; where the next portion begins */
	enum refcnt_plane plane;
	uint64_t oldest;		/* the period of the first portion */
	uint64_t period;		/* of the last portion ... */
	uint32_t all_ranges;		/* ... and the ranges that there were */
	unsigned tries;			/* copies of two periods, of one question */
	char virtual[WIRE_TEXT_MAX + 1];	/* nodes, of `told` */
	char why[WIRE_TEXT_MAX + 1];
	char count_why[WIRE_TEXT_MAX + 1];
};

struct session_memory {
	struct nodes_memory told;
	struct wire_memory_node *at;
	char why[WIRE_TEXT_MAX + 1];
};

/* Records that the node still has, as they are read. */
struct session_retained {
	struct nodes_retained told;
	nodes_record_cb take;
	void *arg;
	uint64_t cursor, upto;
	uint32_t stream_no;
};

struct session_choice {
	bool chosen;			/* or given by opts */
	unsigned open_for;		/* cycles for which it may still change */
	bool is_node;			/* the node itself, for want of a target */
	bool stay;			/* ... and the user looks at it */
	uint32_t rival;			/* index of the best stream at the last look */
	pid_t rival_pid;
	pid_t follow;			/* pid whose newer image is looked for; 0 none */
	unsigned follow_tries;
};

/* State of the session while the link is lost and made again. */
struct session_reconnect {
	unsigned losses;		/* losses of the link handled so far */
	bool known;			/* index and epoch belong to this connection's node */
	bool resuming;			/* they are requested; then `resume` goes on */
	bool restarted;			/* the node was: the stream is looked up by name */
	enum session_step resume;
	uint8_t boot[WIRE_EPOCH];	/* of the node that the counters belong to */
};

struct session_intake {
	struct merge merge;
	struct blklist *list;		/* shown */
	struct blklist *build;		/* taken in parts; == list if none was whole before */
	uint64_t cursor;
	bool counting;			/* all below the cursor were captured, or lost and counted */
	bool at_cursor;			/* the first READ in flight begins at the cursor */
	bool dense;			/* replies come back full: read ahead */
	uint64_t ahead;			/* where the next READ ahead begins */
	bool retake;			/* take a new snapshot at the next cycle */
	unsigned reads;			/* READs of this cycle */
	uint64_t undo_seen;		/* unknown_undo counted and handled */
	/* Blocks of a snapshot without room in ... */
	uint64_t put_full;		/* ... the shown list */
	uint64_t build_full;		/* ... the one being taken */
};

struct session_types {
	struct stream_types table;
	uint8_t legal[32];
	uint8_t asked[32];		/* requested codes that are not in the table */
	bool doubt;			/* a new code came: no READ until TYPES is answered */
};

struct session_losses {
	bool lossy;			/* records were lost before the keeper */
	bool partial;			/* a part's list did not begin at the target's start */
	bool was_incomplete;		/* since look.loss.since_wall_ms */
	bool torn;			/* this snapshot lost records: only its parts count */
	bool mending;			/* a new list is taken because of a loss */
	uint64_t mended;		/* records that the next snapshot makes good */
	uint64_t seen;			/* lost before the keeper, read by this session */
	uint64_t bad;			/* bad records seen */
};

/* Clocks, and the cost of the session's own work. */
struct session_clock {
	unsigned cycle;
	int64_t now_ms;			/* node's clock, as of the last answer */
	int64_t wall_off_ms;		/* its wall clock minus that */
	int64_t fresh_ms;		/* our clock: when the shown list was last up to date */
	uint64_t cycle_records;
	int64_t cycle_ns;		/* own work in this cycle ... */
	int64_t order_ns;		/* ... of it for the order of age */
	uint64_t heard;
	unsigned silent;		/* cycles without an answer to a watched request */
};

struct session_texts {
	char said[256];			/* notice in look.reason for said_for cycles */
	unsigned said_for;
	char target[64];
	char reason[320];
	char device[WIRE_TEXT_MAX + 1];	/* of a live classic stream or a replay, such as skipped bytes; "" none */
	char trouble[WIRE_TEXT_MAX + 1];
	char missed[WIRE_TEXT_MAX + 1];
	char output[WIRE_TEXT_MAX + 1];
	char socket[WIRE_TEXT_MAX + 1];
};

struct session_arming {
	int wish;			/* enum wire_arming to send or sent, or SESSION_NO_WISH */
	bool due;			/* arm a dormant target when it is found */
	uint64_t seen;			/* ARMED_MS of the arming that is watched */
};

/* Names of the stream: names.c. */
enum names_kind { NAMES_THREADS, NAMES_STACKS, NAMES_WORDS, NAMES_KINDS };

struct names {
	struct nodes_link *link;
	uint32_t index;			/* of the stream */
	uint8_t epoch[WIRE_EPOCH];
	int64_t now_ms;			/* monotonic, as of the last request or answer */
	struct names_cache {
		struct names *names;
		struct answers answers;
	} cache[NAMES_KINDS];		/* by thread index, caller and frame */
	char fetching[WIRE_TEXT_MAX + 64];	/* a download; "" none */
	uint64_t fetch_frame;		/* a frame that waits for it; 0 none */
	int64_t fetch_ms;		/* when the node last reported it */
	bool typed;			/* some frame has told a type */
	uint64_t changes;		/* incremented when any of it may have changed */
	nodes_news_cb news;
	void *arg;
};

struct nodes_session {
	struct nodes_link *link;
	struct nodes_link *run;		/* node of the command if not the link's; NULL */
	bool running;			/* the node was started for a command */
	struct nodes_session_opts opts;
	nodes_news_cb news;
	void *arg;
	struct nodes_look look;

	struct session_ask asks[SESSION_ASKS];
	enum session_step step;
	unsigned retry_in;		/* cycles until the step is tried again */

	struct {
		uint64_t keeper[WIRE_STATS_COUNT];	/* of the target */
		uint64_t node[WIRE_STATS_COUNT];	/* of the link's node itself */
	} counters;

	struct session_stream stream;
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
	struct session_marks marks;
	struct session_usage usage;
	struct session_stress stress;
	struct session_refcnt refcnt;
	struct session_memory memory;
	struct session_retained retained;
	struct names names;
};

/* Each stands in the file that sends the request. */
#define ASK(NAME, name, watched, lost) \
	void answered_##name(struct nodes_session *, const struct wire_msg *);
SESSION_REQUESTS(ASK)
#undef ASK
/* ARM has no reply: -ENOTCONN, or -ECANCELED if it is sent again. */
void lost_arm(struct nodes_session *, int err);
/* READ has no reply. */
void lost_retained(struct nodes_session *, int err);
/* USAGE has no reply: the link is lost. */
void lost_usage(struct nodes_session *, int err);
/* STRESS or KERNEL_MEMORY has no reply: -ECANCELED, or the link is lost. */
void lost_stress(struct nodes_session *, int err);
void lost_kernel_memory(struct nodes_session *, int err);
/* TOUCHES, COUNT or MEMORY has no reply: the link is lost. */
void lost_touches(struct nodes_session *, int err);
void lost_count(struct nodes_session *, int err);
void lost_memory(struct nodes_session *, int err);
/* MARKS or MARK has none: the link is lost. */
void lost_marks(struct nodes_session *, int err);

/* --- session.c ---------------------------------------------------------- */

/* Sets the state; news are sent if it changed. */
void session_state(struct nodes_session *, enum nodes_state,
    const char *reason);
void session_set_step(struct nodes_session *, enum session_step,
    unsigned retry_in);
/* Sends a request, NODE to the node of the command. As link_ask(). */
int session_ask(struct nodes_session *, enum session_request,
    struct wire_msg *);
/* Requests of a kind that are in flight. */
static inline unsigned
session_in_flight(const struct nodes_session *s, enum session_request which)
{
	return s->asks[which].in_flight;
}
/* The stream, or its index, is being requested. */
static inline bool
session_is_resolving(const struct nodes_session *s)
{
	return session_in_flight(s, SESSION_ASK_TARGETS) > 0 ||
	    session_in_flight(s, SESSION_ASK_NAME) > 0;
}
/* Cancels all requests in flight, except those for names. */
void session_cancel(struct nodes_session *);
void session_resolve(struct nodes_session *);
/* Handles an ERR: index and epoch may no longer be valid. */
void session_refused(struct nodes_session *, const struct wire_err *);
/* The stream has ended and all of it is read. */
void session_drained(struct nodes_session *);
/* The stream has begun anew: its index is looked up again. */
void session_restart(struct nodes_session *);
/* More records may come: the stream is live, logging or dormant. */
static inline bool
session_is_live(const struct nodes_session *s)
{
	return s->stream.state == WIRE_S_LIVE ||
	    s->stream.state == WIRE_S_DORMANT;
}
/* Updates look.work with this cycle's cost and records. */
void session_measure(struct nodes_session *);
/* Shows a notice beside a LIVE state for some seconds. */
void session_say(struct nodes_session *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- reconnect.c -------------------------------------------------------- */

/* Takes over the link's own state; false while it is lost. */
bool reconnect_follow_link(struct nodes_session *);
/* Takes the reply to NAME while resuming; false: the stream must be looked up. */
bool reconnect_take_name(struct nodes_session *, const struct wire_msg *);
/* The stream that was looked up has been found. */
void reconnect_set_found(struct nodes_session *);
/* An answer was given at this time of the node's clock. */
void reconnect_set_heard(struct nodes_session *, int64_t now_ms);
/* The shown list is as of that time. */
void reconnect_set_fresh(struct nodes_session *);

/* --- choose.c --------------------------------------------------- */

/* Requests all streams, to choose one. */
void choose_ask(struct nodes_session *);
void choose_cycle(struct nodes_session *);

/* --- intake.c --------------------------------------------------- */

/* Bytes of a record of the stream. */
unsigned intake_record_size(const struct nodes_session *);
/* Decodes a requester; the name is cut to the length of a list's. */
struct blklist_info intake_decode_info(const struct wire_info *);
/*
 * Decodes a block of PART or ROWS: a record, then sequence number and time.
 * -EILSEQ for a bad classic record.
 */
int intake_decode_block(const struct nodes_session *, const uint8_t *,
    struct blk *);
/* Decodes record i of a reply, with its number and time in full; -EILSEQ likewise. */
int intake_decode_record(const struct nodes_session *, const struct wire_data *,
    uint32_t i, struct rec *, uint64_t *seq, int64_t *ms);
/* The reply is consistent: next - first == count + cancelled + lost. */
bool intake_adds_up(const struct nodes_session *, const struct wire_data *);

/* Makes a list of the right kind, and requests its snapshot or records. */
int intake_begin(struct nodes_session *, bool classic);
/* From here on all records apply to the list that is being built. */
void intake_follow(struct nodes_session *);
/* Takes a new snapshot beside the shown list. */
void intake_retake(struct nodes_session *);
/* Reads on unless a READ is in flight. */
void intake_read(struct nodes_session *);
/* Once in a cycle: finishes a list that is nearly whole. */
void intake_cycle(struct nodes_session *);
void intake_fini(struct nodes_session *);
/* Drops the list that is being built; the shown one stays. */
void intake_stop(struct nodes_session *);
/* Takes the table of types and tells the lists the legal codes. */
void intake_types(struct nodes_session *, const struct wire_typed *);
/* Takes the sampling period. */
void intake_sample(struct nodes_session *, uint64_t period);

/* --- window.c --------------------------------------------------- */

/* Counts records up to `next` that were captured, or lost, unread. */
void window_pass(struct nodes_session *, uint64_t next, uint64_t lost);
/*
 * Records were overwritten unread, so many records came in a reply, or so many
 * blocks are to be taken. True if a window begins with the next cycle: replies
 * in flight no longer count.
 */
bool window_overrun(struct nodes_session *);
bool window_read(struct nodes_session *, uint32_t count);
bool window_large(struct nodes_session *, uint64_t blocks);
void window_begin(struct nodes_session *);
/* Requests this cycle's rows, if there is a window. */
void window_cycle(struct nodes_session *);

/* --- watch.c ---------------------------------------------------- */

/* Looks for the watched block's end, before the data's batch is applied. */
void watch_data(struct nodes_session *, const struct blklist_batch *,
    const struct wire_data *);

/* --- arm.c ------------------------------------------------------ */

/* The stream has been found: sends what is wished of it. */
void arm_found(struct nodes_session *);
/* Its counters have come: another page may have armed it. */
void arm_numbers(struct nodes_session *);

/* --- numbers.c ------------------------------------------------- */

/* Requests the counters of the target that are due, or all. */
void numbers_ask_stream(struct nodes_session *, bool all);
/* Takes the target's counters; the node has sent `sent` of them. */
void numbers_take(struct nodes_session *,
    const uint64_t n[WIRE_STATS_COUNT], size_t sent);
/* Requests the state of the command, if due. */
void numbers_ask_node(struct nodes_session *, bool due);
void numbers_ask_types(struct nodes_session *);
/* Records were lost before the keeper: the list is INCOMPLETE from now on. */
void numbers_set_lost(struct nodes_session *);
/* Sets in the look whether the shown list is complete. */
void numbers_check_whole(struct nodes_session *);

/* --- replay.c ------------------------------------------------- */

/* Takes the numbers of the time line. */
void replay_numbers(struct nodes_session *);
/* Asks for them in each cycle while they change. */
void replay_cycle(struct nodes_session *);

/* --- names.c -------------------------------------------------- */

int names_init(struct names *, struct nodes_link *, nodes_news_cb news,
    void *arg);
void names_fini(struct names *);
/* Forgets everything: there is another stream. */
void names_reset(struct names *);
/*
 * The stream may be asked from now on; another one resets the caches, unless it has the
 * same stacks and threads.
 */
void names_open(struct names *, uint32_t index,
    const uint8_t epoch[WIRE_EPOCH], bool same);
/* Sends what is wanted: once a cycle, and after each answer. */
void names_send(struct names *);

#endif

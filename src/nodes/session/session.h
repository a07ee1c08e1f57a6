/*
 * session: one watched stream over a link.
 *
 * A session resolves the stream's index by name, takes a snapshot, reads the
 * records from there on and keeps the block list.
 *
 * Vocabulary
 *	cycle	one tick of NODES_HZ; the page calls it, the session reads in it.
 *	look	the state of a session now; borrowed by the page.
 *	news	the callback: the look has changed.
 *
 *	state.h		the state of a session, and its steps
 *	session.c	steps of a session, requests
 *	choose.c	finds the stream
 *	intake.c	snapshot and records
 *	window.c	visible rows only, under heavy load
 *	reconnect.c	goes on when a lost link is back
 *	numbers.c	counters of target and node
 *	names.c		stacks, symbols and thread names
 *	watch.c		the end of one block
 *	arm.c		arming and disarming
 *	replay.c	the time line of a capture
 *	requests.h	what else is asked for: regions, marks, usage, stress, references
 *	merge.c		a snapshot in parts, and the records that come meanwhile
 *	answer_cache.c	names that the node has told, and keys to ask for
 *
 * Example: see nodes.h.
 */
#ifndef NODES_SESSION_H
#define NODES_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../blklist/blklist.h"
#include "../../refcnt/refcnt.h"
#include "../../stream/stream.h"
#include "../../stream/wire/wire.h"
#include "../../stress/stress.h"
#include "../../usage/usage.h"
#include "../link/link.h"

#define NODES_REGIONS_WHY 64	/* bytes of a reason */

struct nodes_session;

struct nodes_session_opts {
	struct nodes_link *run;	/* node that runs the command; NULL: the link's.
				   It outlives the session; a switch keeps it */
	const char *stream;	/* name in DSTRM; NULL: by pid, else most live bytes */
	pid_t pid;		/* 0: any */
	bool since_click;	/* no snapshot: blocks from now on */
	bool look_only;		/* do not arm a dormant target */
	bool node_only;		/* watch no stream: the node and its command alone */
	bool kind_given;	/* kind is set; else literal for classic streams, indexed */
	enum blklist_kind kind;
	uint32_t max;		/* aRecMax; 0: NODES_MAX_CLASSIC or NODES_MAX */
	bool whole;		/* raise that default to the node's own aRecMax */
};

/* Errors in a stream's records, as struct blklist_counts has them. */
struct nodes_errors {
	uint64_t failed, unknown_free, earlier, duplicate, illegal_type;
};

/* State of a session. Borrowed; valid until control returns to the loop. */
struct nodes_look {
	enum nodes_state state;
	const char *reason;		/* sentence for the state, or while LIVE a notice for some seconds;
					   never NULL */
	const struct blklist *list;
	const struct stream_types *types;
	uint32_t types_no;		/* changes when types may have changed */
	uint32_t stream_no;		/* changes with each stream; a caller is unique within one only */
	bool classic;			/* record format of the stream */
	bool levels;			/* low nibble of flags holds levels */
	bool settled;			/* list is whole */
	bool listed;			/* list was whole once; it stays while a new one is taken */
	bool behind;			/* records were skipped; another snapshot will mend that */
	bool window;			/* list holds the visible rows and all totals */
	bool complete;			/* no record was lost and every block had room */
	uint64_t as_of;			/* last record in the list if settled and not behind; 0: before the first */
	uint64_t sample;		/* mean bytes between samples; 0: every event is logged */
	int64_t now_ms;			/* node's clock, as blk.ms: an age is now_ms - ms */
	int64_t node_wall_ms;		/* node's wall clock; classic: its BCD clock */
	int64_t stale_ms;		/* age of all this, by this machine's clock */
	const uint64_t *keeper;		/* target's counters, by enum wire_number; at most a second old */
	size_t keeper_sent;		/* numbers that the node has sent; older nodes send fewer */
	uint64_t keeper_no;		/* incremented with each answer that has them */
	struct {
		uint16_t number;
		const char *name;
		const uint64_t *numbers;	/* node's own counters, from WIRE_N_FRIENDLY_HITS on */
		const char *missed;	/* why the first of WIRE_N_GONE_MISSED had no stream */
		const char *socket;	/* path for pages; "" if none */
	} node;
	struct {
		const char *name;	/* comm; "" for a classic node's own */
		pid_t pid;
		int32_t status;		/* wait status when ENDED; -1 unknown */
		int64_t ended_wall_ms;	/* 0 while it lives */
	} target;
	struct {
		const struct wire_region *at;	/* wholly known memory, by address, without overlap */
		size_t n;		/* 0 while the list lacks blocks */
		char why[NODES_REGIONS_WHY];	/* reason why n is 0; "" if there is none */
		bool known;		/* answered since the list was whole */
	} regions;
	struct {
		bool unsure;		/* node's list may be wrong, or not reach back */
		uint64_t doubt;		/* ... because: enum stream_doubt; 0: not told */
		uint64_t full;		/* allocations that a full list refused, at least */
		int64_t since_wall_ms;	/* since when incomplete; 0: before this session */
		uint64_t mended;	/* records lost after the keeper, made good by a snapshot */
		uint64_t lost[STREAM_CAUSES];	/* by cause; [0]: before this session */
		uint64_t before_list;	/* of a capture: its list does not need them, its counts do */
		uint64_t bad_records;
		struct nodes_errors before;	/* counted by the node before this list began */
	} loss;
	struct {
		int64_t since_wall_ms;	/* older blocks are not listed; 0: since its start */
		bool pending;		/* ARM is not answered yet */
		int error;		/* of the last ARM: 0, -EPERM, -ENOTSUP, ... */
	} arming;
	struct {
		bool on;		/* it is a capture that the node replays */
		enum wire_replay_state state;
		int64_t begin_ms, end_ms;	/* of the time line, as now_ms */
		unsigned speed;		/* thousandths of the clock's */
		uint64_t event, goal;	/* numbers of events; goal 0: none */
	} replay;
	struct {
		uint64_t cycle_records;	/* captured in the last cycle, cancelled pairs included */
		uint64_t total_records;
		uint32_t cycle_us, cycle_us_max;	/* CPU work of this session */
		uint64_t missed_cycles;
	} work;
	struct {
		bool up;
		bool returns;		/* the lost link is tried again ... */
		unsigned tries;		/* failed so far */
		int64_t retry_ms;	/* until the next try; 0: it is going on */
	} link;
	struct {
		bool linked;		/* node of the command is connected, or will be */
		uint32_t targets_live;	/* live processes */
		bool tree_ended;	/* no process is left */
		pid_t pid;		/* root process; 0 none */
		int32_t status;		/* its wait status; -1 until it ends */
		bool not_run;		/* exec failed: trouble says why */
		const char *output;	/* file with the command's output; "" none */
		const char *trouble;	/* failures of the node itself; "" none */
	} command;
};

typedef void (*nodes_news_cb)(void *arg);

/*
 * Watches a stream. `news` is called after a cycle's replies and after a change
 * of state.
 */
int nodes_session_open(struct nodes_session **, struct nodes_link *,
    const struct nodes_session_opts *, nodes_news_cb news, void *arg);
void nodes_session_close(struct nodes_session *);

/* One cycle: asks for new records. A cycle without an answer counts as missed. */
void nodes_session_cycle(struct nodes_session *);

const struct nodes_look *nodes_session_look(struct nodes_session *);

/* Asks for the target's counters now instead of at the next second. */
void nodes_session_ask(struct nodes_session *);

/*
 * Passes a signal of process `from` on to the command, unless the command has it
 * already because it went to the whole group.  Negative errno: it cannot.
 */
int nodes_session_pass_signal(struct nodes_session *, int sig, pid_t from);

/*
 * Rows that the page shows. After the first call the session may reduce its
 * list to these rows and all totals while too many records arrive
 * (look.window); new rows come with the next news. NULL, or more than
 * WIRE_WINDOW_MAX rows, asks for the whole list again, which is taken while
 * look.window lasts.
 */
struct nodes_view {
	enum blklist_order order;
	bool reverse;
	uint64_t offset;	/* of the first row */
	uint32_t rows;
	/* The rows follow this block; seq 0: none. */
	uint64_t seq, addr;
	unsigned layer;
	uint32_t before;	/* visible rows before that block */
};
void nodes_session_view(struct nodes_session *, const struct nodes_view *);

/*
 * A session without a target shows the node's own blocks, and switches to the
 * first target that arrives.  At the node of a command, a session without a pid
 * or stream goes from a target that has ended to the live one with most bytes.
 * While a session is told to stay, it does neither.
 */
void nodes_session_stay(struct nodes_session *, bool stay);

/* Switches to another target of the same node, with a new list. */
int nodes_session_switch(struct nodes_session *, const struct nodes_session_opts *);

/*
 * Stacks, words and thread names are cached. Missing ones are requested and
 * found later; what the node does not know yet is requested again when somebody
 * looks at it. All are borrowed until the next news. Texts in words end with a
 * NUL behind len and are not yet safe for a terminal (base_safe_text).
 */

/*
 * The stack of a block's caller. A plain return address is a stack of depth 1
 * that ends with RING_END_ALONE. False while unknown.
 */
bool nodes_session_stack(struct nodes_session *, uint64_t caller,
    struct stream_site *);

/*
 * A deep copy in one allocation, texts with a NUL behind them; free with
 * free(). NULL: no memory.
 */
struct stream_site *nodes_stack_copy(const struct stream_site *);
struct wire_words *nodes_words_copy(const struct wire_words *);

/* Words for a frame; NULL: unknown yet.  WIRE_K_PENDING only after the last retry. */
const struct wire_words *nodes_session_words(struct nodes_session *,
    uint64_t frame);

/* A session as the source of stacks and words of a profile; arg to be set. */
extern const struct profile_words nodes_profile_words;

/* Stacks, words and names that are not answered yet. */
size_t nodes_session_symbols_pending(const struct nodes_session *);

/* Work since the session was opened. */
struct nodes_effort {
	uint64_t sent, received;	/* bytes over the link, by all its users */
	uint64_t hits, misses;		/* of the cache of stacks, words and names */
	uint64_t kept;			/* its entries */
};
void nodes_session_effort(const struct nodes_session *, struct nodes_effort *);

/* Incremented when a stack, words or a name may have changed. */
uint64_t nodes_session_names_no(const struct nodes_session *);

/* Words of some frame have told a type. */
bool nodes_session_typed(const struct nodes_session *);

/*
 * Progress of a debug file that the node downloads: "libfoo.so 812 of 4,096
 * kB"; "" if none. Not yet safe for a terminal.
 */
const char *nodes_session_fetching(const struct nodes_session *);

/* Name of a thread index ("rx-0"); "" if unknown. Borrowed. */
const char *nodes_session_thread(struct nodes_session *, uint16_t thread);

/* Watches one block of the list for the record that frees it, instead of the last one. */
void nodes_session_watch(struct nodes_session *, unsigned layer,
    uint64_t addr, uint64_t seq);

struct nodes_freed {
	uint64_t seq;		/* of the record */
	int64_t ms;		/* node's clock */
	uint64_t caller;	/* site if frees have stacks, else an address; 0 unknown */
	uint16_t thread;	/* 0 unknown */
	uint8_t type;		/* TYPE_FREE, ...; 0 unknown */
};

/*
 * How the watched block was freed; NULL while it lives, or if the record was
 * lost or came before the watch.
 */
const struct nodes_freed *nodes_session_freed(const struct nodes_session *);

#define NODES_LIVES 12

/* A block at the watched address. */
struct nodes_life {
	struct blk blk;		/* without its info */
	bool ended;
	struct nodes_freed end;	/* if ended; 0 where unknown */
};

/*
 * Blocks at the watched address, oldest first: recent ones that the list
 * remembers, and all since the watch. Blocks that came and went within one
 * answer are cancelled pairs and have no records.
 */
struct nodes_lives {
	struct nodes_life life[NODES_LIVES];
	size_t n;
	uint64_t left_out;	/* older ones without room here */
	int64_t since_ms;	/* start of the watch, node's clock */
	bool gaps;		/* records were lost or skipped since */
};

/* Borrowed until the next news; NULL while nothing is watched. */
const struct nodes_lives *nodes_session_lives(const struct nodes_session *);

/*
 * Asks the node to arm or disarm the watched target. The list begins anew; the
 * news come as LIVE or DORMANT, with look.arming.pending false. -ENOENT: no
 * target that can be armed; -EBUSY: the last request is pending.
 */
int nodes_session_arm(struct nodes_session *, enum wire_arming);

/*
 * Sets the time line of a capture that the node replays: look.replay.  `by` and
 * `word` are for the actions that take them.  The session says what the node answers.
 * -ENOENT: nothing is replayed; -EBUSY: the last request is pending.
 */
int nodes_session_replay(struct nodes_session *, enum wire_replay_action,
    int64_t by, const char *word);

/*
 * Named marks of the stream, at the node: moments that every page can compare
 * with.  Borrowed; texts are safe for a terminal.
 */
struct nodes_marks {
	const struct wire_named_mark *at;	/* the oldest first */
	size_t n;
	bool known;			/* the node has answered */
	bool pending;			/* a question is not answered yet */
	/* Of the last answer: */
	int error;			/* -EINVAL: the name; -EPERM; -ENOTSUP: an older node; ... */
	const char *why;		/* a sentence; "" none */
	bool moved;			/* there was one of that name */
	const char *dropped;		/* the oldest, for want of room; "" none */
};
const struct nodes_marks *nodes_session_marks(struct nodes_session *);
/* The mark of that name; NULL: there is none. */
const struct wire_named_mark *nodes_marks_find(const struct nodes_marks *,
    const char *name);

/*
 * Ask the node for its marks, or to set one at the stream's last record.  The
 * news come with `pending` false, and all marks in either case.  -ENOENT: there
 * is no stream; -EBUSY: the last question is pending.  The node refuses a wrong
 * name: see `error`.
 */
int nodes_session_ask_marks(struct nodes_session *);
int nodes_session_set_mark(struct nodes_session *, const char *name);

/*
 * Counts of the stream by caller, type and size: the last whole copy of what the
 * node counts.  It counts while a connection has asked, so the first copy has the
 * blocks that are held, and later ones the counts from then on.
 */
struct nodes_usage {
	const struct usage_row *row;	/* usage/usage.h; high: since the copy before */
	size_t n;
	uint64_t no;			/* another one with each copy; 0: there is none */
	struct usage_totals totals;
	int64_t since_ms;		/* when counting began, on the node's clock */
	bool from_start;		/* with the stream: nothing had been allocated */
	int64_t now_ms;			/* of the copy, as since_ms */
	uint64_t rss;			/* the target's bytes in memory; 0: not known */
	uint64_t lost;			/* records, since then */
	const char *lacks;		/* why counts may be wrong; "" they are complete since then */
	uint64_t sample;		/* mean bytes between samples; 0: every event is logged */
	bool pending;			/* a copy is on its way */
	/* The result of the last request: */
	int error;			/* -ENOTSUP: an older node; -EBUSY; -EPERM; -EAGAIN: not answered; ... */
	const char *why;		/* a sentence; "" none */
};
/* Borrowed until the next news. */
const struct nodes_usage *nodes_session_usage(struct nodes_session *);
/*
 * Asks for another copy; the news come with `pending` false.  -ENOENT: there is no
 * stream; -EBUSY: one is on its way.
 */
int nodes_session_ask_usage(struct nodes_session *);
/* Tells the node that this page needs no more counts; the last copy stays. */
void nodes_session_end_usage(struct nodes_session *);

#define NODES_REFCNT_MAX (1u << 18)	/* pages of a copy */

/* The answer to the last nodes_session_count() or nodes_session_move(). */
struct nodes_count {
	bool pending;
	int error;			/* -EPERM; -EINVAL: range or target; -EBUSY; -EDQUOT; -ENOTSUP; ... */
	const char *why;		/* a sentence, also without an error; "" none */
	uint64_t no;			/* another one with each answer */
	uint64_t pages;			/* of the target that are counted now */
	uint64_t moved, left;		/* of a move: pages that are there now, and the others */
	uint32_t nodes;			/* virtual ones; 0: none, also of an older node */
};

/*
 * References to the stream's pages: the last whole copy of what the node counts.
 * Nothing is counted until somebody asks for it: then there are no ranges.
 */
struct nodes_refcnt {
	const struct refcnt_page *page;	/* refcnt/refcnt.h; by address, those that were asked for */
	size_t n;
	const struct refcnt_range *range;	/* all of the stream */
	size_t nranges;
	uint64_t pages;			/* of these ranges */
	unsigned nodes;
	const char *virtual;		/* groups of processors in their place; "" none */
	enum refcnt_plane plane;
	int64_t now_ms, since_ms;	/* on the node's clock, as blk.ms */
	uint32_t period_ms;
	uint64_t periods;		/* that had ended at its first part, ... */
	uint64_t latest;		/* ... and at its last one, if not all of it is of one period */
	uint64_t no;			/* another one with each copy; 0: there is none */
	bool pending;			/* a copy is on its way */
	/* The result of the last request for a copy: */
	int error;			/* -ENOTSUP: an older node; -EPERM; -EAGAIN: not answered; ... */
	const char *why;		/* a sentence: also why some counts are missing; "" none */
	struct nodes_count count;
};
/* Borrowed until the next news. */
const struct nodes_refcnt *nodes_session_refcnt(struct nodes_session *);
/*
 * Asks for a copy of the pages from..to - 1 (to 0: to the end); the news come with
 * `pending` false.  -ENOENT: there is no stream; -EBUSY: one is on its way.
 */
int nodes_session_ask_refcnt(struct nodes_session *, uint64_t from, uint64_t to,
    enum refcnt_plane);
/*
 * Switch the counting of a range on or off, and set the period of all ranges (0: as
 * it is); move the pages of a range to a node of its machine.  Both need the role
 * control.  The news come with count.pending false.  Errors as above.
 */
int nodes_session_count(struct nodes_session *, uint64_t vaddr, uint64_t len,
    enum refcnt_source, bool on, uint32_t period_ms);
/*
 * On, by groups of processors in place of nodes: refcnt_topology_read().  An older node
 * switches it on by the machine's nodes: count.nodes is 0 then.  -E2BIG: a long text.
 */
int nodes_session_count_by(struct nodes_session *, const struct refcnt_range *,
    uint32_t period_ms, const char *nodes);
int nodes_session_move(struct nodes_session *, uint64_t vaddr, uint64_t len,
    uint32_t node);

/* The memory of the nodes of the link's machine, and the counters for it. */
struct nodes_memory {
	const struct wire_memory_node *at;	/* names are safe for a terminal */
	size_t n;
	unsigned counters, bits;	/* of a set; of a hardware counter */
	uint64_t no;			/* another one with each answer; 0: none yet */
	bool pending;
	int error;			/* -EINVAL: the virtual nodes; -ENOTSUP; ... */
	const char *why;
};
const struct nodes_memory *nodes_session_memory(struct nodes_session *);
/* nodes: virtual ones as for --nodes; "": the machine's own.  -EBUSY. */
int nodes_session_ask_memory(struct nodes_session *, const char *nodes);

/*
 * Heap stress of the machine that the node runs on, as the node reads it for all
 * of its pages: totals, of which a page takes differences (stress_spent()).  Texts
 * are safe for a terminal.
 */
#define NODES_STRESS_WHY 1024
struct nodes_stress {
	struct stress_sample sample;
	const char *kernel;		/* its release; "" not known */
	const char *why;		/* why better sources are not used, as stress_why() */
	int64_t at_ms;			/* when it was taken, on the node's clock */
	int64_t now_ms;			/* that clock at the answer */
	uint64_t no;			/* another one with each sample; 0: there is none */
	uint64_t reader;		/* of the node: another one has totals of its own */
	bool woken;			/* tasks waited for memory before wait_ms were over */
	bool pending;			/* one is on its way */
	/* The result of the last request: */
	int error;			/* -ENOTSUP: an older node; -EPROTO: a newer one; -EAGAIN: not answered; ... */
	const char *error_why;		/* a sentence; "" none */
};
/* Borrowed until the next news. */
const struct nodes_stress *nodes_session_stress(struct nodes_session *);
/*
 * Asks for another sample; the news come with `pending` false.  A node takes 15 in a
 * second: at_ms tells an old one.  wait_ms: it is taken so much later, WIRE_WAIT_MAX at
 * most, or when tasks wait for memory; an older node takes it at once.  -EBUSY: one is on
 * its way; -ENOTCONN.
 */
int nodes_session_ask_stress(struct nodes_session *, uint32_t wait_ms);

/* The kernel's own memory on that machine: a table of struct stress_memory. */
struct nodes_kernel_memory {
	bool ready;			/* nodes_session_take_kernel_memory() has a table */
	bool pending;
	/* The last request, and its result as in struct nodes_stress: */
	enum stress_table table;
	int error;
	const char *error_why;
};
/* Borrowed until the next news. */
const struct nodes_kernel_memory *nodes_session_kernel_memory(struct nodes_session *);
/* Requests a table.  -EBUSY: a request is pending; -ENOTCONN. */
int nodes_session_ask_kernel_memory(struct nodes_session *, enum stress_table);
/* Moves the table to the caller, who frees it; false: there is none. */
bool nodes_session_take_kernel_memory(struct nodes_session *, struct stress_memory *);

/*
 * Reads the records that the node still has, from the oldest up to number
 * `upto`, and gives each one to `take`, with its time on the node's clock.  An
 * error of `take` ends it.  The news come with `pending` false.  -ENOENT: there
 * is no stream; -EBUSY: the last question is pending.
 */
typedef int (*nodes_record_cb)(void *arg, const struct rec *, uint64_t seq,
    int64_t ms);
struct nodes_retained {
	bool pending;
	int error;		/* 0, or why the last records are missing; -ESTALE: another stream */
	uint64_t missing;	/* that the node does not have any more, or that were lost */
};
int nodes_session_retained(struct nodes_session *, uint64_t upto,
    nodes_record_cb take, void *arg);
/* Borrowed; it changes with the news. */
const struct nodes_retained *nodes_session_retained_state(
    const struct nodes_session *);

/* Asks the node to end the watched target (Q). The news come as ENDED. */
int nodes_session_end_target(struct nodes_session *);

#endif

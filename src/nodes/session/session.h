/*
 * session: one watched stream over a link.
 *
 * It resolves the stream's index by name, takes a snapshot if it comes late, reads
 * from its cursor and keeps the block list.  It joins stream and list, which know
 * nothing of each other.
 *
 * Vocabulary
 *	cycle	one tick of NODES_HZ; the page makes it, the session reads in
 *		it.
 *	look	what there is to see, as of now; borrowed by the page.
 *	news	the call that the look has changed.
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
#include "../../stream/stream.h"
#include "../../stream/wire/wire.h"
#include "../link/link.h"

#define NODES_REGIONS_WHY 64	/* bytes of a few words */

struct nodes_session;

struct nodes_session_opts {
	struct nodes_link *run;	/* the node that runs the command, where another one watches it; NULL: the
				   same.  It outlives the session; a switch does not change it */
	const char *stream;	/* name in DSTRM; NULL: by pid, else most live bytes */
	pid_t pid;		/* 0: any */
	bool since_click;	/* no snapshot: blocks from now on */
	bool look_only;		/* a dormant target is not armed by being watched */
	bool kind_given;	/* --list was given; else literal for classic streams */
	enum blklist_kind kind;
	uint32_t max;		/* aRecMax; 0: NODES_MAX_CLASSIC for a classic stream, else NODES_MAX */
	bool whole;		/* ... or as much as the node's own list can hold, where that is more */
};

/* The state of a session.  Borrowed; valid until control returns to the loop. */
struct nodes_look {
	enum nodes_state state;
	const struct blklist *list;
	const struct stream_types *types;
	uint32_t types_no;		/* another one whenever the types may be others */
	uint32_t stream_no;		/* another one with each stream: callers mean something within theirs alone */
	bool classic;			/* record format of the stream */
	bool levels;			/* low nibble of flags holds levels */
	uint16_t node_number;
	const char *node_name;
	const char *target_name;	/* comm, "" for a classic node's own */
	pid_t pid;
	int32_t status;			/* wait status when ENDED; -1 not known */
	int64_t ended_wall_ms;		/* wall clock of its end; 0 while it lives */
	const char *reason;		/* a sentence for any state but LIVE, and in LIVE for some seconds after
					   something had to be said; never NULL */
	int exec_error;			/* errno of a command that could not be run; 0 */
	const char *trouble;		/* run: what the node itself could not do; "" nothing */
	const struct wire_region *region;	/* wholly known memory, in address order, none overlapping */
	size_t regions;			/* 0 while the list is not the whole of what is in them */
	char regions_why[NODES_REGIONS_WHY];	/* there are none though there may be some; "" else */
	bool regions_in;		/* the node has told them since the list was whole */
	bool settled;			/* the snapshot is in: the list is whole */
	bool behind;			/* records are skipped, to be mended by another snapshot */
	bool window;			/* the list holds the rows that are looked at, and all totals */
	bool listed;			/* it was so once: the list is that one while it is taken anew */
	bool complete;			/* nothing was lost since the start, and all had room in the lists */
	bool unsure;			/* it is not, for the node's began with what is not known to be right */
	uint64_t full;			/* allocations that the node's list, or this one, had no room for: at least so many */
	uint64_t as_of;			/* number of the last record in the list, when that is settled and not
					   behind; 0: before the first one */
	uint64_t sample;		/* mean bytes between samples; 0: every event is logged */
	int64_t armed_wall_ms;		/* when it was armed: what is older is not listed; 0: since its start */
	bool arming;			/* the node was asked to arm it, or to let it sleep, and has not answered */
	int arm_error;			/* why it did not do so the last time; 0 it did: -EPERM, -ENOTSUP, ... */
	int64_t incomplete_wall_ms;	/* since when it is not; 0: since before this session */
	uint64_t mended;		/* records lost after the keeper, made good by a new snapshot */
	uint64_t lost[STREAM_CAUSES];	/* by cause, seen by this session; [0]: by the keeper before it, which
					   tells their sum only */
	uint64_t bad_records;
	int64_t now_ms;			/* the node's clock, as blk.ms: ages are now_ms - ms */
	int64_t node_wall_ms;		/* the node's wall clock; classic: its BCD clock */
	uint64_t cycle_records;		/* captured in the last cycle, cancelled ones too */
	uint64_t total_records;
	uint32_t cycle_us, cycle_us_max;	/* this session's own work per cycle */
	uint64_t missed_cycles;
	const uint64_t *keeper;		/* the keeper's own numbers since the start, by enum wire_number; a second old at most */
	uint64_t told_no;		/* counts up whenever the keeper has told them */
	const uint64_t *node;		/* the numbers of the node itself, from WIRE_N_FRIENDLY_HITS on */
	bool linked;			/* false: the node is gone, and nothing comes ... */
	bool returns;			/* ... until the link, which is tried again, is back ... */
	unsigned tries;			/* ... after so many tries in vain ... */
	int64_t retry_ms;		/* ... in so many milliseconds; 0: just being tried */
	int64_t stale_ms;		/* how old the list is, on this machine's clock, and all that goes with it */
	bool run_linked;		/* whoever runs the command is there, or will be again */
	uint32_t targets_live;		/* processes of the tree that live */
	bool tree_ended;		/* run: the last process of the tree has ended */
	pid_t root_pid;			/* run: process of the command; 0 none */
	int32_t root_status;		/* run: wait status of the command; -1 until then */
	const char *output;		/* run: file that the target writes to; "" if none */
	const char *socket;		/* where a page can come back to; "" if nowhere */
};

typedef void (*nodes_news_cb)(void *arg);

/*
 * Watches a stream.  `news` is called when the look has changed: after a
 * cycle's replies are in, and on a change of state.
 */
int nodes_session_open(struct nodes_session **, struct nodes_link *,
    const struct nodes_session_opts *, nodes_news_cb news, void *arg);
void nodes_session_close(struct nodes_session *);

/* One cycle: asks for what came since; a cycle still unanswered is counted as missed. */
void nodes_session_cycle(struct nodes_session *);

const struct nodes_look *nodes_session_look(struct nodes_session *);

/* Asks for the keeper's numbers now, and not when their second is over. */
void nodes_session_ask(struct nodes_session *);

/*
 * The rows that the page shows.  From the first call on the session may leave it at these
 * rows and all totals while records come faster than they are worth reading:
 * look.window says when it does, and other rows come with the next news.  With
 * NULL, as before the first call, the whole list is wanted again, and is being
 * taken while look.window lasts; so it is with more rows than a node sends at
 * once (WIRE_WINDOW_MAX).
 */
struct nodes_view {
	enum blklist_order order;
	bool reverse;
	uint64_t offset;	/* of the first row */
	uint32_t rows;
	/* A block that the rows go with, wherever it moves to; seq 0: none. */
	uint64_t seq, addr;
	unsigned layer;
	uint32_t before;	/* rows of them before it */
};
void nodes_session_view(struct nodes_session *, const struct nodes_view *);

/*
 * Without a target to look at a session shows the node's own blocks, and goes
 * to the first target that comes; not while it is told to stay.
 */
void nodes_session_stay(struct nodes_session *, bool stay);

/* Goes to another target of the same node; the list begins anew. */
int nodes_session_switch(struct nodes_session *, const struct nodes_session_opts *);

/*
 * Stacks and words come from a cache; what is not in it is asked for, and
 * there once the answer has come.  What the node does not know yet, or is
 * still fetching, is asked for again when somebody looks at it.  Everything is
 * borrowed until the next news, and what a text of words points to ends with
 * a NUL behind its len.  Texts come from files of the target's: control
 * characters and all, not yet safe for a terminal (base_safe_text).
 */
struct nodes_stack {
	const uint64_t *frame;	/* innermost first */
	unsigned depth;		/* 1 at least */
	unsigned end;		/* enum ring_end */
};

/*
 * The stack of a block's caller; a plain return address is a stack of depth 1
 * that ends with RING_END_ALONE.  False while it is not known.
 */
bool nodes_session_stack(struct nodes_session *, uint64_t caller,
    struct nodes_stack *);

/*
 * A copy with all that it points to, each text with a NUL behind it, in one
 * piece of memory, to be freed with free().  NULL for want of it.
 */
struct nodes_stack *nodes_stack_copy(const struct nodes_stack *);
struct wire_words *nodes_words_copy(const struct wire_words *);

/*
 * The words for a frame; NULL while they are unknown.  WIRE_K_PENDING only when
 * the node was asked often enough and never knew.
 */
const struct wire_words *nodes_session_words(struct nodes_session *,
    uint64_t frame);

/* Stacks, words and names asked for and not yet answered: --once waits until there are none. */
size_t nodes_session_symbols_pending(const struct nodes_session *);
/* Work of the session since it began. */
struct nodes_effort {
	uint64_t sent, received;	/* bytes over its link, for whomever */
	uint64_t hits, misses;		/* names, stacks and words asked for: there, or not yet */
	uint64_t kept;			/* ... that are kept */
};
void nodes_session_effort(const struct nodes_session *, struct nodes_effort *);

/* Counts up whenever a stack, words or a name may have become another. */
uint64_t nodes_session_names_no(const struct nodes_session *);

/*
 * A debug file on its way to the node: "libfoo.so 812 of 4,096 kB"; "" when
 * none is.  Not yet safe for a terminal.
 */
const char *nodes_session_fetching(const struct nodes_session *);

/* The name of a thread index ("rx-0"), "" when not known.  Borrowed. */
const char *nodes_session_thread(struct nodes_session *, uint16_t thread);

/*
 * Looks out for the record that frees one block of the list; the block that was
 * watched before no longer is.
 */
void nodes_session_watch(struct nodes_session *, unsigned layer,
    uint64_t addr, uint64_t seq);

struct nodes_freed {
	uint64_t seq;		/* of the record */
	int64_t ms;		/* on the node's clock */
	uint64_t caller;	/* a site when frees have stacks, else an address; 0 not known */
	uint16_t thread;	/* 0 not known */
	uint8_t type;		/* TYPE_FREE, ...; 0 not known */
};

/*
 * How the watched block was freed; NULL while it is not, or when nobody saw:
 * the record was lost, or came before the watch.
 */
const struct nodes_freed *nodes_session_freed(const struct nodes_session *);

#define NODES_LIVES 12

/* A block that has, or has had, the address of the watched one. */
struct nodes_life {
	struct blk blk;		/* its info is nobody's */
	bool ended;
	struct nodes_freed end;	/* of one that has; what is 0 in it is not known */
};

/*
 * The blocks at the watched address, the oldest first: those that ended shortly before
 * the watch as far as the list remembers, and all whose records came since.
 * Blocks that come and go between two questions of the page have no records.
 */
struct nodes_lives {
	struct nodes_life life[NODES_LIVES];
	size_t n;
	uint64_t left_out;	/* older ones, for which there is no room */
	int64_t since_ms;	/* of the watch, on the node's clock */
	bool gaps;		/* records were lost or skipped since */
};

/* Borrowed until the next news; NULL while nothing is watched. */
const struct nodes_lives *nodes_session_lives(const struct nodes_session *);

/*
 * Asks the node to arm the watched target, or to let it sleep again.  The list
 * begins anew; the news come as LIVE or DORMANT, with look.arming false.
 * -ENOENT while there is no target that could be, -EBUSY while look.arming.
 */
int nodes_session_arm(struct nodes_session *, enum wire_arming);

/* Asks the node to end the watched target (Q).  The news come as ENDED. */
int nodes_session_end_target(struct nodes_session *);

#endif

/*
 * nodes: the places whose memory is watched, and the way to them.
 *
 * Vocabulary
 *	node	a process (pageknode) that serves data streams; it has a
 *		16-bit number, a name and an address.
 *	DSTRM	the node's table of streams; ALLOCLOG.<comm>.<pid> is one
 *		target's, ALLOCLOG a classic node's own.
 *	table	the nodes that have a number and a name here, and where they
 *		are: see nodes(5).
 *	link	a page's connection to a node.
 *	session	one watched stream over a link: resolves its index by name,
 *		takes a snapshot if it comes late, reads from its cursor, keeps
 *		the block list.  It joins stream and list, which know nothing
 *		of each other.
 *	cycle	one 15 Hz tick; the page makes it, the session reads in it.
 *
 * Example: a page
 *	struct nodes_link *link;
 *	struct nodes_session *s;
 *	nodes_start(&link, loop, &(struct node_opts){ NODE_OPTS_NONE,
 *	    .argv = cmd, ... });
 *	nodes_session_open(&s, link, &(struct nodes_session_opts){ 0 }, on_news, me);
 *	each cycle:	nodes_session_cycle(s);
 *	on_news:	draw nodes_session_look(s);
 *	at the end:	nodes_session_close(s); nodes_link_close(link);
 *
 * Everything runs on one uv loop and thread; no call here waits.  Objects are
 * freed by their close function only after the loop has closed their handles;
 * callbacks do not come after close.
 *
 * Behind this door live two halves that share nothing but it, find.c (the
 * folder where they meet), table (what they are called) and node_options (what
 * a page tells the node that it starts):
 *	the page's	link* (the connection, starting a node, its targets),
 *			listing (sent to a node, or fetched from one),
 *			words, session* (what is known of one stream) and
 *			survey* (how all nodes are: the table's rows and whose
 *			turn it is, one node, asked again and again, and what
 *			its targets come to)
 *	the node's	all others: node (the parts together), keeper* (a
 *			target's records), serve* (the pages' requests), dstrm,
 *			hello and bell and drain (targets that come, wake us,
 *			are visited), tree, inherit, run and proc (processes),
 *			daemon (the node that stands alone), supervisor and
 *			held, fdstore and takeover (what it leaves to the next),
 *			ward and command (what a node runs, as the supervisor's
 *			child), own (what the node itself holds), access and
 *			quota (who may), friendly (what other nodes are
 *			called), spool* (listings as files, behind
 *			serve_listing), known (memory that is wholly known),
 *			socket, inherited, report, device, demo*
 */
#ifndef NODES_H
#define NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "../blklist/blklist.h"
#include "../stream/stream.h"
#include "../stream/wire/wire.h"
#include "node_options.h"
#include "nodes_table.h"

#define NODES_HZ 15		/* cycles a second */
#define NODES_MAX (1u << 20)	/* aRecMax of a list, unless told otherwise ... */
#define NODES_MAX_CLASSIC 2048	/* ... and of a classic stream: the note's */

/* --- links -------------------------------------------------------------- */

struct nodes_link;

/*
 * Starts a node of our own with these options (pageknode beside the running
 * program, else from LIBEXECDIR) over a socketpair, which is its `fd`.  Negative
 * errno when it cannot be started; a command that cannot be executed is told
 * later, as nodes_look.exec_error.
 */
int nodes_start(struct nodes_link **, uv_loop_t *, const struct node_opts *);

/*
 * Connects to the node that listens at the socket `path`, now and whenever the
 * link is lost.
 */
int nodes_connect(struct nodes_link **, uv_loop_t *, const char *path);

/* Over a descriptor that is connected already; the link owns it from now on. */
int nodes_link_open(struct nodes_link **, uv_loop_t *, int fd);

enum nodes_state {
	NODES_CONNECTING,
	NODES_LIVE,
	NODES_DORMANT,		/* joined, and logs nothing until it is armed */
	NODES_ENDED,		/* the watched image has ended */
	NODES_CORRUPT,		/* its ring was damaged: detached */
	NODES_NO_DATA,		/* not hooked: reason says why */
	NODES_NO_ALLOCLOG,	/* the node has no such stream */
	NODES_UNREACHABLE,	/* link lost, or nothing heard */
	NODES_DENIED,
	NODES_VERSION,		/* node and page speak no common version */
};

/* The stream is there, and has a list; of the others waiting may bring one. */
static inline bool
nodes_has_list(enum nodes_state state)
{
	return state == NODES_LIVE || state == NODES_DORMANT ||
	    state == NODES_ENDED || state == NODES_CORRUPT;
}

/* Why a connection has ended: a state and a sentence, borrowed. */
typedef void (*nodes_told_cb)(void *arg, enum nodes_state,
    const char *sentence);

/*
 * A way to a node that can be gone more than once: for links that come back.
 * A lost link is tried again after up to 250 ms, then up to twice as long each
 * time, and at most most_ms.
 */
struct nodes_way {
	/* A connected stream descriptor, or a negative errno; does not wait. */
	int (*start)(void *arg);
	/*
	 * The connection is lost (err is 0, -ETIMEDOUT when no WELCOME came), or
	 * start failed with err.  What start has left behind can be taken down.
	 * `why` holds the sentence that is shown and may be replaced; false when
	 * there is no use in trying again.  NULL: nothing to say or do.
	 */
	bool (*lost)(void *arg, int err, char *why, size_t cap);
	/* The link is gone and takes arg along; NULL: nothing to do. */
	void (*fini)(void *arg);
	void *arg;
	uint32_t most_ms;	/* 0: 15 s */
	/* How long to wait after so many tries, in place of all that; NULL. */
	uint32_t (*delay_ms)(void *arg, unsigned tries);

	/* For ways that lead through another program; NULL and 0: they do not. */

	/*
	 * The other side has ended the connection, and why is known a moment
	 * later: then `told` is called, once, and not after lost or fini.  With
	 * NODES_CONNECTING the link is still on its way: only to be said before
	 * the first WELCOME.
	 */
	void (*why)(void *arg, nodes_told_cb told, void *told_arg);
	/* The node has welcomed this page. */
	void (*up)(void *arg);
	/* How long that may take in a try; NULL: 30 s. */
	uint32_t (*patience_ms)(void *arg, unsigned tries);
	const char *where;	/* every sentence begins with it */
	const char *stranger;	/* the sentence when something that is no node speaks there */
	unsigned final;		/* states, each 1u << state, that no other try mends */
};

/*
 * The first connection is made at once: when that fails there is no link, and
 * fini has been called.
 */
int nodes_link_keep(struct nodes_link **, uv_loop_t *,
    const struct nodes_way *);

/*
 * The next try is now, if one is being waited for, or if there was no use in
 * another one: whoever asks may have mended that.  False when the link is not
 * lost, or there is no way back.
 */
bool nodes_link_retry(struct nodes_link *);

/* The node of another machine. */
struct nodes_ssh {
	const char *host;		/* [USER@]HOST, as ssh takes it */
	const char *program;		/* pageknode at the other end; NULL: in its PATH */
	const char *target;		/* pid:N or a stream: of several nodes there, the one that has it; NULL */
	/*
	 * ssh has the terminal to itself, for passwords and keys of hosts, until
	 * the node has welcomed this page; never later.
	 */
	bool may_ask;
};

/* NULL, or the sentence why no ssh is started with such words. */
const char *nodes_ssh_check(const struct nodes_ssh *);

/*
 * Runs `ssh HOST pageknode --stdio`, with this user's ssh and configuration,
 * now and whenever the link is lost.  Whether it has come about is known when
 * nodes_link_state() is no longer NODES_CONNECTING; where sshd has too many
 * logins just then, some tries are made before that.  -EINVAL for what
 * nodes_ssh_check() refuses, -ENOENT when there is no ssh.
 */
int nodes_connect_ssh(struct nodes_link **, uv_loop_t *,
    const struct nodes_ssh *);

/*
 * In the handler of a signal that ends the program: no ssh of ours is left
 * behind, which might wait for its other end for long.
 */
void nodes_ssh_end_all(void);

void nodes_link_close(struct nodes_link *);

/*
 * The node behind it has this number and name for its pages here, whatever it
 * says of itself: they asked for it by the one or the other.  The name is
 * copied, and cut to NODES_NAME_MAX bytes.
 */
void nodes_link_call(struct nodes_link *, uint16_t number, const char *name);

/*
 * Connects to this user's node that stands alone; hello gets the path of its
 * socket for targets.  -ENOENT and its like when there is none.
 */
int nodes_connect_daemon(struct nodes_link **, uv_loop_t *, char *hello,
    size_t cap);

/*
 * The folder of this user's nodes ($XDG_RUNTIME_DIR/pagek, else
 * /tmp/pagek-UID), made if need be with mode 0700; -EPERM when its owner or
 * mode is not ours.
 */
int nodes_folder(char *path, size_t cap);

/*
 * Sockets of the nodes in that folder that answer, newest first, and then the
 * system's if that lets this user in; frees with free().
 */
int nodes_find(char ***paths, size_t *n);

/*
 * The program of ours with that name: beside the running one or in the folder
 * above, else where it was installed.  -ENOENT and its like.
 */
int nodes_program(const char *name, char *path, size_t cap);

/* --- the table of nodes: nodes_table.h ----------------------------------- */

/*
 * The way to an entry's node, without waiting for it: the one that stands
 * alone where the entry is local, else the newest of this user's; what
 * nodes_connect() and nodes_connect_ssh() say.  The link goes by the entry's
 * number and name.
 */
int nodes_connect_entry(struct nodes_link **, uv_loop_t *,
    const struct nodes_entry *);

/*
 * The way to this user's node here, which need not be there yet: the link is
 * lost until there is one.
 */
int nodes_connect_later(struct nodes_link **, uv_loop_t *);

/* --- targets of a node -------------------------------------------------- */

struct nodes_target {
	uint32_t index;			/* in DSTRM */
	char name[128];			/* in DSTRM */
	pid_t pid, ppid;		/* ppid: at its hello */
	char comm[16];
	uint32_t state;			/* enum wire_state */
	bool ended;			/* its image has, whatever the state says besides */
	int32_t status;			/* wait status; -1 not known */
	char reason[128];
	uint64_t n[WIRE_STATS_COUNT];
};

/*
 * Asks for all targets; the callback gets them once (borrowed), or err < 0.
 */
typedef void (*nodes_targets_cb)(void *arg, int err,
    const struct nodes_target *, size_t n);
int nodes_targets(struct nodes_link *, nodes_targets_cb, void *arg);

/* Of n targets, is the i-th of the command that the node behind `run` runs? */
bool nodes_target_of_run(const struct nodes_target *, size_t n, size_t i,
    const struct nodes_link *run);

/* --- how all nodes are: nodes_survey.h ----------------------------------- */

#include "nodes_survey.h"

/* --- listings ----------------------------------------------------------- */

struct nodes_listing;

struct nodes_listing_opts {
	const char *title;	/* "0590 acqd[4711]"; copied */
	int fd;			/* of a file that can be read anywhere; the caller's, until it is told */
	uint64_t size;
};

/*
 * It is done: err 0 and its name at the other end, else a negative errno and
 * the node's sentence, which is safe text.  Comes once, and not after a cancel.
 */
typedef void (*nodes_listing_cb)(void *arg, int err, const char *words);

/*
 * Sends a listing to the node behind the link, in pieces, a few on their way at
 * once; the link is not closed meanwhile.  A link that is lost ends it with an
 * error: what the node has of it by then stays there as not whole.
 */
int nodes_listing_send(struct nodes_listing **, struct nodes_link *,
    const struct nodes_listing_opts *, nodes_listing_cb, void *arg);

/*
 * Fetches a listing whole, part after part, and writes it to fd.  -EBADMSG: some
 * of it is not what was stored, and what could be read is written.
 */
int nodes_listing_get(struct nodes_listing **, struct nodes_link *,
    const char *name, int fd, nodes_listing_cb, void *arg);

/* Bytes that have arrived so far, there or here. */
uint64_t nodes_listing_done(const struct nodes_listing *);
/* Also after it is done: frees it. */
void nodes_listing_close(struct nodes_listing *);

/* A listing that a node has stored; texts are safe. */
struct nodes_stored {
	char name[128];
	char origin[256];
	char title[256];
	unsigned parts;
	uint64_t bytes;
	int64_t wall_ms;
	bool whole;
};

/*
 * All of them, the oldest first, each as it comes (borrowed); then NULL, once,
 * with err 0, or a negative errno and a sentence, which is safe text.
 */
typedef void (*nodes_stored_cb)(void *arg, const struct nodes_stored *,
    int err, const char *words);
int nodes_listings(struct nodes_link *, nodes_stored_cb, void *arg);

/* --- sessions ----------------------------------------------------------- */

/*
 * The link's own: NODES_CONNECTING until the node has welcomed this page,
 * NODES_LIVE, and then or before that why it is lost, with a sentence.
 */
enum nodes_state nodes_link_state(const struct nodes_link *,
    const char **reason);

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

/* What look.trouble begins with where the report is not what was asked for. */
#define NODES_REPORT_MISSING "lines of the report are missing"

/* What there is to look at.  Borrowed; valid until control returns to the loop. */
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
 * What is looked at.  From the first call on the session may leave it at these
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
 * What lies at a frame; NULL while it is not known.  WIRE_K_PENDING only when
 * the node was asked often enough and never knew.
 */
const struct wire_words *nodes_session_words(struct nodes_session *,
    uint64_t frame);

/* Stacks, words and names asked for and not yet answered: --once waits until there are none. */
size_t nodes_session_symbols_pending(const struct nodes_session *);
/* What the session has done so far for who looks at it. */
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
 * Who had the watched address, the oldest first: those that ended shortly before
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

/* --- work beside the loop ------------------------------------------------ */

/*
 * Makes the threads for uv_queue_work(), one where there cannot be all; before
 * the first of it, and once: later calls do nothing.  -EAGAIN when there can be
 * none: no work may be queued then, for libuv would abort.
 */
int nodes_workers(uv_loop_t *);
/* uv_queue_work(), behind that. */
int nodes_queue_work(uv_loop_t *, uv_work_t *, uv_work_cb, uv_after_work_cb);

#endif

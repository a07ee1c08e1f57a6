/*
 * link: a page's connection to a node, made again when it is lost, and the
 * requests over it.
 *
 * Vocabulary
 *	ask	a request that waits for its reply; at most LINK_ASKS_MAX.
 *	owner	of asks: link_forget() cancels all of one owner.
 *	way	how a connection is made. A link with a way is made again when
 *		it is lost, over a new line.
 *	line	one connection of a link.
 *	heard	number of replies so far; a silent node does not raise it.
 *	target	a process, or a generator, with a row in the node's DSTRM.
 *	listing	a text that a node stores.
 *
 *	link.c		links, lines, requests
 *	connect.c	ways to a node of this machine
 *	ssh.c		the way to a node of another machine
 *	tree.c		which target started which, and the sums of each tree
 *	targets.c	a node's table of streams
 *	listing.c	listings: send, fetch, enumerate
 *	recording.c	recordings: begin, look, end
 *
 * Everything runs on one uv loop and thread; no call here waits. A close
 * function frees its object when the loop has closed its handles; no callback
 * comes after it.
 *
 * Example: the targets of a node
 *	nodes_connect(&link, loop, path);
 *	nodes_targets(link, on_targets, me);
 *	... in on_targets or later:
 *	nodes_link_close(link);
 */
#ifndef NODES_LINK_H
#define NODES_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "../../stream/wire/wire.h"
#include "../node_options/node_options.h"
#include "../places/places.h"

struct nodes_link;

/*
 * Starts pageknode with these options; `fd` is set to one end of a socketpair.
 * Negative errno if it cannot be started; a failed exec of its command is
 * reported later, in nodes_look.command.not_run.
 */
int nodes_start(struct nodes_link **, uv_loop_t *, const struct node_opts *);

/* Connects to the node at the socket `path`, now and whenever the link is lost. */
int nodes_connect(struct nodes_link **, uv_loop_t *, const char *path);

/* Takes over a connected descriptor. */
int nodes_link_open(struct nodes_link **, uv_loop_t *, int fd);

enum nodes_state {
	NODES_CONNECTING,
	NODES_LIVE,
	NODES_DORMANT,		/* logs nothing until it is armed */
	NODES_ENDED,		/* the watched image has ended */
	NODES_CORRUPT,		/* its ring was damaged: detached */
	NODES_NO_DATA,		/* not hooked: reason says why */
	NODES_NO_ALLOCLOG,	/* the node has no such stream */
	NODES_UNREACHABLE,	/* link lost, or nothing heard */
	NODES_DENIED,
	NODES_VERSION,		/* node and page speak no common version */
};

/* The stream has a list; other states may lead to one. */
static inline bool
nodes_has_list(enum nodes_state state)
{
	return state == NODES_LIVE || state == NODES_DORMANT ||
	    state == NODES_ENDED || state == NODES_CORRUPT;
}

/* The end of a connection: state and reason, borrowed. */
typedef void (*nodes_told_cb)(void *arg, enum nodes_state,
    const char *sentence);

/*
 * A way to a node, for links that are made again: after up to 250 ms, then up
 * to twice as long each time, most_ms at most.
 */
struct nodes_way {
	/* Returns a connected stream descriptor or a negative errno; does not wait. */
	int (*start)(void *arg);
	/*
	 * The connection is lost (err 0; -ETIMEDOUT: no WELCOME came), or start
	 * failed with err. Cleans up after start; may replace the reason in
	 * `why`. Returns false if another try is useless. Optional.
	 */
	bool (*lost)(void *arg, int err, char *why, size_t cap);
	/* Frees arg with the link. Optional. */
	void (*fini)(void *arg);
	void *arg;
	uint32_t most_ms;	/* 0: 15 s */
	/* Time before the next try, instead of most_ms. Optional. */
	uint32_t (*delay_ms)(void *arg, unsigned tries);

	/* For ways through another program; all optional. */

	/*
	 * The other side has ended the connection: calls `told` once, when the
	 * reason is known, not after lost or fini. NODES_CONNECTING, only before
	 * the first WELCOME, means that the link will be tried again.
	 */
	void (*why)(void *arg, nodes_told_cb told, void *told_arg);
	/* The node has welcomed this page. */
	void (*up)(void *arg);
	/* Timeout for WELCOME; NULL: 30 s. */
	uint32_t (*patience_ms)(void *arg, unsigned tries);
	const char *where;	/* prefix of every reason */
	const char *stranger;	/* reason if the other side is no node */
	unsigned final;		/* mask of states, 1u << state, that end all tries */
};

/* Connects at once; if that fails, there is no link and fini has been called. */
int nodes_link_keep(struct nodes_link **, uv_loop_t *,
    const struct nodes_way *);

/* Tries a lost link again now, even after it was given up. False: not lost, or no way. */
bool nodes_link_retry(struct nodes_link *);

/*
 * Runs `ssh HOST pageknode --stdio`, now and whenever the link is lost. The
 * result is known when nodes_link_state() is no longer NODES_CONNECTING; if
 * sshd has too many logins, that takes some tries. -EINVAL for what
 * nodes_ssh_check() refuses, -ENOENT without ssh.
 */
int nodes_connect_ssh(struct nodes_link **, uv_loop_t *,
    const struct nodes_ssh *);

/* Ends all ssh processes of links; for the handler of a signal that ends the program. */
void nodes_ssh_end_all(void);

void nodes_link_close(struct nodes_link *);

/*
 * Sets number and name of the node as link_called() returns them, instead of
 * its own. The name is copied and cut to NODES_NAME_MAX bytes.
 */
void nodes_link_call(struct nodes_link *, uint16_t number, const char *name);

/*
 * Connects to this user's daemon; hello gets the path of its socket for
 * targets. Negative errno, such as -ENOENT, if there is none.
 */
int nodes_connect_daemon(struct nodes_link **, uv_loop_t *, char *hello,
    size_t cap);

/*
 * NODES_CONNECTING until the node has welcomed this page, NODES_LIVE, or
 * another state with its reason if the link is lost.
 */
enum nodes_state nodes_link_state(const struct nodes_link *,
    const char **reason);

/*
 * Connects to an entry's node, as nodes_connect() and nodes_connect_ssh(); a
 * local entry means this user's daemon, or else the newest node. The link gets
 * the entry's number and name.
 */
int nodes_connect_entry(struct nodes_link **, uv_loop_t *,
    const struct nodes_entry *);

/* A link to this user's newest node; it is lost until there is one. */
int nodes_connect_later(struct nodes_link **, uv_loop_t *);

struct nodes_target {
	uint32_t index;			/* in DSTRM */
	char name[128];			/* in DSTRM */
	pid_t pid, ppid;		/* ppid: at its hello */
	pid_t starter;			/* who started it: ppid, if no other is known */
	char comm[16];
	uint32_t state;			/* enum wire_state */
	int64_t started_ms, ended_ms;	/* wall clock; 0: not known; it has not */
	bool ended;			/* its image has ended, whatever its state is */
	int32_t status;			/* wait status; -1 not known */
	char reason[128];
	uint64_t n[WIRE_STATS_COUNT];
};

/* Requests all targets. The callback gets them once (borrowed), or err < 0. */
typedef void (*nodes_targets_cb)(void *arg, int err,
    const struct nodes_target *, size_t n);
int nodes_targets(struct nodes_link *, nodes_targets_cb, void *arg);

/*
 * A wait status that pagek itself may be the reason of: a sentence without its
 * stop that says why and where to read on.  "" for all others.
 */
const char *nodes_death_advice(int32_t status);

/* Its process lives and has a stream, dormant or not. */
bool nodes_target_is_live(const struct nodes_target *);

/* Its command has that name, as far as the kernel keeps it. */
bool nodes_target_is_command(const struct nodes_target *, const char *name);
/* The newest of that command that lives, else the last that has ended; or NULL. */
const struct nodes_target *nodes_target_of_command(const struct nodes_target *,
    size_t n, const char *name);
/* The last process of that command that has ended and was not replaced; or NULL. */
const struct nodes_target *nodes_target_ended_command(
    const struct nodes_target *, size_t n, const char *name);
/*
 * The newest of a command on several nodes: copies nodes_target_of_command() of the
 * next node's list to *best if it is newer; pid 0: there is none so far.  True if it
 * did.
 */
bool nodes_target_take_newest(struct nodes_target *best,
    const struct nodes_target *, size_t n, const char *name);
/*
 * "server, worker and others": the commands of those that live, each once; ""
 * if there are none.
 */
void nodes_target_commands(const struct nodes_target *, size_t n, char *out,
    size_t cap);
/*
 * True if a name that both have means the first one: it lives and the second
 * does not, or it was started later, or is a later image of one process.
 */
bool nodes_target_is_newer(const struct nodes_target *,
    const struct nodes_target *);

/* True if the i-th of n targets belongs to the command of the node behind `run`. */
bool nodes_target_of_run(const struct nodes_target *, size_t n, size_t i,
    const struct nodes_link *run);

/* --- the tree of targets (tree.c) ----------------------------------------- */

/* The sum of the live processes of a tree. */
struct nodes_sum {
	size_t processes;		/* of these numbers */
	uint64_t blocks, bytes;		/* estimates, if any of them is sampled */
	uint64_t peaks;			/* of each its own: the tree has no such peak */
	bool sampled;
	size_t incomplete;		/* of these processes */
	size_t unknown;			/* others, that live and have no numbers */
	size_t ended;			/* images */
};

/* A target among the others that its command has started. */
struct nodes_branch {
	size_t at;			/* in the list of targets */
	size_t parent;			/* a branch before this one; NODES_NO_PARENT */
	size_t below;			/* branches right after this one that are below it */
	unsigned depth;
	bool live_below;		/* any of these lives */
	struct nodes_sum sum;		/* with all below */
};

#define NODES_NO_PARENT SIZE_MAX

/*
 * Writes a branch for each of n targets but the node's own stream, each parent
 * before its children, these in the order of their start.  Returns how many.
 * A parent is the process that started another one, even if it has ended; of
 * its images, the last.
 */
size_t nodes_tree(const struct nodes_target *, size_t n,
    struct nodes_branch *);
/* The memory of one target. */
void nodes_sum_of(const struct nodes_target *, struct nodes_sum *);
/* Adds the second sum to the first one. */
void nodes_sum_add(struct nodes_sum *, const struct nodes_sum *);

struct nodes_listing;

struct nodes_listing_opts {
	const char *title;	/* "0590 acqd[4711]"; copied */
	int fd;			/* of a seekable file; the caller's, in use until the callback */
	uint64_t size;
};

/*
 * Done: err 0 and the name at the node, or a negative errno and a reason. Both
 * are safe text. Called once, not after a cancel.
 */
typedef void (*nodes_listing_cb)(void *arg, int err, const char *words);

/*
 * Sends a listing to the node in pieces, a few in flight; the link stays open
 * meanwhile. A lost link ends it with an error; the node keeps what it has as
 * not whole.
 */
int nodes_listing_send(struct nodes_listing **, struct nodes_link *,
    const struct nodes_listing_opts *, nodes_listing_cb, void *arg);

/*
 * Fetches a listing part by part and writes it to fd. -EBADMSG: parts were
 * damaged at the node; all is written nevertheless.
 */
int nodes_listing_get(struct nodes_listing **, struct nodes_link *,
    const char *name, int fd, nodes_listing_cb, void *arg);

/* Bytes transferred so far. */
uint64_t nodes_listing_done(const struct nodes_listing *);
/* Frees it, done or not. */
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
 * Each listing, oldest first (borrowed); then NULL with err 0, or with a
 * negative errno and a reason, which is safe text.
 */
typedef void (*nodes_stored_cb)(void *arg, const struct nodes_stored *,
    int err, const char *words);
int nodes_listings(struct nodes_link *, nodes_stored_cb, void *arg);

/* --- recordings (recording.c) --------------------------------------------- */

/* A recording that a node writes. */
struct nodes_recording {
	enum wire_record_state state;
	uint64_t events, bytes;	/* in the file */
	uint64_t synced;	/* events that a power cut leaves */
	uint64_t lost, gaps;	/* events that are not in the file, in so many gaps */
	unsigned images, live;	/* so far, and now */
	char why[WIRE_TEXT_MAX + 1];	/* safe text; "" none */
};

/*
 * The answer, borrowed, or a negative errno: -EAGAIN if the offered file has not
 * come in yet, -EPERM, -ENOTSUP of a node without recordings, -ENOTCONN; why is
 * a sentence, safe text.
 */
typedef void (*nodes_recording_cb)(void *arg, int err, const char *why,
    const struct nodes_recording *);

/*
 * Offers an open file to the node of this machine whose socket for pages is at
 * the path.  The descriptor stays the caller's.  Negative errno; -EAGAIN: later.
 */
int nodes_offer_file(const char *path, const uint8_t token[WIRE_EPOCH],
    int fd);
/* Records a target of this node into the offered file.  ring 0: no folder. */
int nodes_record(struct nodes_link *, uint32_t index,
    const uint8_t token[WIRE_EPOCH], uint64_t ring, nodes_recording_cb,
    void *arg);
/*
 * Asks for, or ends, the recording of this link; own: the one that the node was
 * started with.
 */
int nodes_recording_ask(struct nodes_link *, bool own,
    enum wire_record_action, nodes_recording_cb, void *arg);

#define LINK_ASKS_MAX 128

/*
 * The reply, borrowed until the callback returns; WIRE_ERR is a reply too. err
 * < 0: no reply, -ENOTCONN if the link is lost, -ECANCELED if the ask was
 * forgotten or the link closed; then the callback may only clean up. Called
 * once for each ask.
 */
typedef void (*link_reply_cb)(void *arg, int err, const struct wire_msg *);

/* The node, as WELCOME describes it. */
struct link_node {
	char name[WIRE_TEXT_MAX + 1];
	uint16_t number;
	uint64_t mono_ns;
	uint64_t utc_ns;
	uint8_t id[WIRE_EPOCH];
	uint8_t boot[WIRE_EPOCH];	/* changes when it is restarted */
};

/*
 * Sends a request; sets its id. On failure no callback comes: -EBUSY if too
 * many wait, -ENOTCONN if the link is lost, or an error of wire_encode().
 */
int link_ask(struct nodes_link *, struct wire_msg *, const void *owner,
    link_reply_cb, void *arg);
void link_forget(struct nodes_link *, const void *owner);

/* Number of this machine in the table, read once; 0: none. HELLO tells it. */
uint16_t link_here(void);

/* As of the last WELCOME; NULL before the first. */
const struct link_node *link_node(const struct nodes_link *);

/*
 * Name and number of the node: of nodes_link_call(), or else of WELCOME; "" and
 * 0 if unknown. Borrowed.
 */
const char *link_called(const struct nodes_link *, uint16_t *number);

/* State and reason of a lost link; NODES_LIVE if it is not lost. */
enum nodes_state link_fault(const struct nodes_link *, const char **reason);

/* Losses so far: work must be resumed after each, even if it went unseen. */
unsigned link_losses(const struct nodes_link *);

/* True if it is lost and will be tried again, after `tries` failures, in in_ms. */
bool link_returns(const struct nodes_link *, unsigned *tries, int64_t *in_ms);

uint64_t link_heard(const struct nodes_link *);
/* Bytes of all its lines. */
void link_bytes(const struct nodes_link *, uint64_t *sent,
    uint64_t *received);

/* Copies a message's text, cut to cap bytes with its NUL. */
void link_text(char *out, size_t cap, struct wire_text);

/* Sets the way by which it is made again; the link takes over way->arg. */
void link_way(struct nodes_link *, const struct nodes_way *);

/* The node is a child process, which the link reaps. */
void link_own_child(struct nodes_link *, pid_t);
pid_t link_child(const struct nodes_link *);	/* 0: none */
/* Asks our child to pass a signal of `from` on to its command.  -ESRCH: it has ended. */
int link_pass_signal(const struct nodes_link *, int sig, pid_t from);

/* As nodes_targets(); link_forget() with the owner ends it without a callback. */
int targets_ask(struct nodes_link *, const void *owner, nodes_targets_cb,
    void *arg);

/*
 * The best ALLOCLOG stream: live before ended before without data, most live
 * bytes first; of process `pid` unless 0, else of the command of `run` unless
 * NULL. NULL: none.
 */
const struct nodes_target *targets_best(const struct nodes_target *, size_t n,
    pid_t pid, const struct nodes_link *run);

#define RETRY_FIRST_MS 250	/* longest first wait; doubles with each try ... */
#define RETRY_MOST_MS 15000	/* ... up to this */
#define RETRY_MOST_LOCAL_MS 4000	/* ... or this for a path of this machine */
#define RETRY_STEADY_MS 5000	/* a connection lost sooner is no success */
#define RETRY_PATIENCE_MS 30000	/* default timeout for WELCOME */

/*
 * Time before the next try: from 0 to the longest wait after so many tries
 * (full jitter), so that a node's pages do not all come back at once.
 */
uint32_t retry_wait_ms(unsigned tries, uint32_t most_ms, uint32_t random);

/* The same with a random number of the kernel. */
uint32_t retry_draw_ms(unsigned tries, uint32_t most_ms);

/* The way to a socket's path. */
int retry_by_path(struct nodes_way *, const char *path);

#endif

/*
 * link: a page's connection to a node: how it is made, lost and made again, and
 * what is asked over it.
 *
 * Vocabulary
 *	ask	one request that waits for its reply; the link gives it its
 *		number.  At most LINK_ASKS_MAX of them wait at a time.
 *	owner	who asked: link_forget() calls off all asks of one owner, so
 *		that no callback reaches what has been freed.
 *	way	how a connection is made; a link that has one is made again
 *		when it is lost, over a new line
 *		(try_again() in link.c).
 *	heard	a running number of replies, by which a session sees that
 *		the node has fallen silent.
 *	target	a process, or a generator, with a row in the node's DSTRM.
 *	listing	a text that a node stores.
 *
 * Everything runs on one uv loop and thread; no call here waits.  Objects are
 * freed by their close function only after the loop has closed their handles;
 * callbacks do not come after close.
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
 * The link's own: NODES_CONNECTING until the node has welcomed this page,
 * NODES_LIVE, and then or before that why it is lost, with a sentence.
 */
enum nodes_state nodes_link_state(const struct nodes_link *,
    const char **reason);

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

/* --- requests: for the rooms above ---------------------------------------- */

#define LINK_ASKS_MAX 128

/*
 * The reply, borrowed until the callback returns; an ERR from the node is a
 * reply too (msg->type is WIRE_ERR).  With err < 0 there is none: -ENOTCONN
 * when the link is lost, -ECANCELED when the ask was forgotten or the link
 * closed; the callback may then only clean up.  Each ask gets one callback.
 */
typedef void (*link_reply_cb)(void *arg, int err, const struct wire_msg *);

/* The node, as it names itself in WELCOME. */
struct link_node {
	char name[WIRE_TEXT_MAX + 1];
	uint16_t number;
	uint64_t mono_ns;
	uint64_t utc_ns;
	uint8_t id[WIRE_EPOCH];
	uint8_t boot[WIRE_EPOCH];	/* another one when it was started anew */
};

/*
 * Sends a request; its id is set here.  -EBUSY when too many wait, -ENOTCONN
 * when the link is lost, or what wire_encode() says: no callback comes then.
 */
int link_ask(struct nodes_link *, struct wire_msg *, const void *owner,
    link_reply_cb, void *arg);
void link_forget(struct nodes_link *, const void *owner);

/*
 * The number that the table has for this machine, read once; 0: none.  A page
 * says it to every node: without an entry it has no number of its own to say,
 * for 0001 is what all such nodes go by.
 */
uint16_t link_here(void);

/* NULL until the first WELCOME; while the link is lost, what the last one said. */
const struct link_node *link_node(const struct nodes_link *);

/*
 * Name and number by which the page knows it: as nodes_link_call() said, or as
 * the node did; "" and 0 while nobody has.  Borrowed.
 */
const char *link_called(const struct nodes_link *, uint16_t *number);

/* Why the link is lost, as a state and a sentence; NODES_LIVE while it is not. */
enum nodes_state link_fault(const struct nodes_link *, const char **reason);

/*
 * How often it was lost: whoever sees another number has to take up his work
 * again, even if he never saw the link down.
 */
unsigned link_losses(const struct nodes_link *);

/* It is lost, and is made again by itself: after so many tries, in so long. */
bool link_returns(const struct nodes_link *, unsigned *tries, int64_t *in_ms);

uint64_t link_heard(const struct nodes_link *);
/* Bytes that went over it either way, of all its lines. */
void link_bytes(const struct nodes_link *, uint64_t *sent,
    uint64_t *received);

/* A message's text as a string of at most cap bytes, NUL included. */
void link_text(char *out, size_t cap, struct wire_text);

/* How it is made again, from now on; what that holds is the link's. */
void link_way(struct nodes_link *, const struct nodes_way *);

/* The process behind the link is our own child: reaped when it has ended. */
void link_own_child(struct nodes_link *, pid_t);
pid_t link_child(const struct nodes_link *);	/* 0: it is none */

/* --- targets --------------------------------------------------------------- */

/*
 * The enquiry for what a node has, also on behalf of a session.
 */

/*
 * As nodes_targets(), for an owner: link_forget() with it ends the enquiry
 * without a callback.
 */
int targets_ask(struct nodes_link *, const void *owner, nodes_targets_cb,
    void *arg);

/*
 * The one to begin with: what lives before what has ended before what has no
 * data, most live bytes first; of process `pid` unless 0, else, unless
 * `run` is NULL, of the command that it runs.  Streams that are
 * no ALLOCLOG are left out.  NULL if there is none.
 */
const struct nodes_target *targets_best(const struct nodes_target *, size_t n,
    pid_t pid, const struct nodes_link *run);

/* --- retry ----------------------------------------------------------------- */

/*
 * When a link that was lost is made anew, and the way to a node that
 * listens at a path.
 */

#define RETRY_FIRST_MS 250	/* the longest first wait; twice as long each time ... */
#define RETRY_MOST_MS 15000	/* ... up to this */
/*
 * A try at a path of this machine costs next to nothing, and somebody who has
 * just started the node is looking at the page.
 */
#define RETRY_MOST_LOCAL_MS 4000
/* A connection that was lost sooner does not count as a success. */
#define RETRY_STEADY_MS 5000
/* For the node's WELCOME, where the way does not say otherwise. */
#define RETRY_PATIENCE_MS 30000

/*
 * Full jitter: anything from 0 to the longest wait after so many tries, so
 * that the pages of a node that died do not all come back at once.
 */
uint32_t retry_wait_ms(unsigned tries, uint32_t most_ms, uint32_t random);

/* The same with a random number of the kernel's. */
uint32_t retry_draw_ms(unsigned tries, uint32_t most_ms);

struct nodes_way;

/* The way to whoever listens at a path. */
int retry_by_path(struct nodes_way *, const char *path);

#endif

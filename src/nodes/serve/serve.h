/*
 * serve: the pages' end of the node: connections, frames, requests.
 *
 * Limits: so many pages as the node was told, SERVE_CONNS unless told
 * otherwise, and SERVE_STRANGERS of them that have not said hello; a hello
 * within SERVE_PATIENCE_MS, and every frame whole as soon after its first
 * byte; frames as wire.h says; a few requests a turn for each page; no further
 * request is read from a page that does not take its replies, so what waits
 * for it is never more than SERVE_QUEUE_MAX, and when it takes not one byte of
 * that for SERVE_UNREAD_S it is closed.  A page that has asked for nothing
 * for SERVE_IDLE_MS, because it is stopped perhaps, stays until somebody else
 * needs its place.
 */
#ifndef NODES_SERVE_H
#define NODES_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "../../stream/wire/wire.h"
#include "../host/access.h"
#include "../host/socket.h"
#include "../self_watch/self_watch.h"

#define SERVE_CONNS 64
#define SERVE_CONNS_MAX 256
#define SERVE_CONNS_RESERVED 8	/* of the system's node, for users who have none yet */
#define SERVE_STRANGERS 16
#define SERVE_QUEUE_MAX (256u << 10)
#define SERVE_PATIENCE_MS 5000
#define SERVE_IDLE_MS 120000
#define SERVE_UNREAD_S 30
#define SERVE_ORIGIN_MAX 256	/* bytes of a connection's origin in words, NUL included */

struct node;
struct keeper;
struct answer_scratch;

struct conn {
	TAILQ_ENTRY(conn) link;
	struct node *node;
	struct self_watch_page page;
	uv_pipe_t pipe;
	struct wire_frames in;
	struct peer peer;
	uint32_t limit;			/* of roles, as whoever stands between says */
	uint32_t roles;
	bool limited;			/* somebody has said a LIMIT */
	bool bound;			/* ... and first of all that it is node `from`'s */
	char origin[72];		/* that one, as sshd says; safe text, "" not known */
	int64_t begun_ms, heard_ms;	/* its connecting; its last request */
	int64_t since_ms;		/* waits for a hello, or the rest of a frame; 0 no */
	size_t unread;			/* bytes that waited to be taken a second ago */
	unsigned unread_for;		/* seconds that it has taken none of them */
	bool greeted;
	bool given;			/* by whoever started the node: it cannot come again */
	bool more;			/* has requests that wait for their turn */
	bool paused;			/* not read: too much waits to be written */
	bool looking;			/* a FRAME of it is not answered yet */
	bool ending;			/* closes when its last reply is out */
	bool closed;
};

struct serve {
	TAILQ_HEAD(, conn) conns;
	unsigned count, max;
	unsigned strangers;		/* of count: have not said hello yet */
	uint64_t last_id;
	uint64_t refused;		/* told to come later, ever */
	uint32_t last_snapshot;
	int listen_fd;			/* -1: pages cannot come in */
	int spare_fd;			/* given up to refuse one when there is no other; -1 none */
	uv_poll_t listener;
	uv_timer_t later;		/* until the listener is heard again */
	bool inherited;			/* the socket is not ours to remove */
	char path[SOCKET_PATH];		/* of the listening socket; "" none */
	struct socket_file file;	/* what we have bound there */
	uv_idle_t again;
	struct answer_scratch *scratch;
};

int serve_init(struct node *);
void serve_close(struct node *);
void serve_fini(struct node *);

/* --- accept.c ------------------------------------------------------- */

void accept_init(struct node *);
void accept_close(struct node *);

/* Listens for pages at the path.  The socket is removed by serve_close(). */
int serve_listen(struct node *, const char *path);
/*
 * The same with a bound socket, which is serve's from now on, also on failure.
 * inherited: it listens already, and stays where it is.
 */
int serve_listen_fd(struct node *, int fd, const char *path, bool inherited);

/*
 * Serves the page at the connected descriptor, which is serve's from now on
 * unless this fails.  One that is turned away, with a word, is no failure.
 */
int serve_add(struct node *, int fd);

/* --- serve.c -------------------------------------------------------------- */

/* Once a second: connections that do not speak. */
void serve_second(struct node *);

/* The connection with that id, or NULL when it is gone. */
struct conn *serve_find(struct node *, uint64_t id);

/* Reads from it from now on. */
void conn_begin(struct conn *);
void conn_close(struct conn *);

void conn_reply(struct conn *, const struct wire_msg *);
void conn_error(struct conn *, uint32_t request, enum wire_error,
    const char *text);
/* An error after which the connection closes. */
void conn_fail(struct conn *, uint32_t request, enum wire_error,
    const char *text);

/* --- greeting.c -------------------------------------------------------- */

/*
 * Names a page in safe text, for listings and logs: "0590 linac-a, anna" on
 * this machine, "0A12 gw-2, anna from 192.0.2.7" where the key is bound to that
 * number, else "anna from 192.0.2.7, says 0A12 gw-2".  Returns out, of
 * SERVE_ORIGIN_MAX bytes.
 */
const char *conn_origin(const struct conn *, char *out, size_t cap);

/* --- answer.c ------------------------------------------------------- */

/* Answers one request; before the greeting only LIMIT and HELLO are any. */
void answer(struct conn *, const struct wire_msg *);
int answer_init(struct answer_scratch **);
void answer_fini(struct answer_scratch *);

/* --- listings.c ------------------------------------------------------ */

struct spool;
struct print;

struct listings {
	struct spool *spool;		/* NULL: not opened yet */
	struct print *print;		/* NULL: nothing was printed yet */
	uv_idle_t idle;			/* while the spool's folder is read */
	bool reads;			/* that has been made */
	uint64_t stored, refused;	/* ever */
};

/* Opens the spool if there is one; otherwise the first who wants it does. */
void listings_begin(struct node *);
void listings_second(struct node *);
void listings_gone(struct conn *);
void listings_refused(struct node *);	/* before anybody looked at it */
void listings_stat(struct node *, struct wire_stats *);
void listings_close(struct node *);

/* --- lookup.c ------------------------------------------------------ */

struct look;
struct symbols;

/*
 * Looking up what lies at frames takes a reader of files, and time: one FRAME
 * of all pages is worked on at a time, the others wait for their turn, and
 * each page has one of them at most.
 */
struct lookup {
	struct symbols *symbols;	/* NULL: there is no reader */
	TAILQ_HEAD(, look) queue;
	bool working;
	_Atomic bool stop;		/* whoever works comes to an end soon */
};

void lookup_init(struct node *);
void lookup_close(struct node *);
void lookup_fini(struct node *);

/* SYM and SITE: answered at once. */
void lookup_threads(struct conn *, const struct wire_msg *, struct keeper *);
void lookup_sites(struct conn *, const struct wire_msg *, struct keeper *);
/* FRAME: answered by a worker, but at once where there is nothing to read. */
void lookup_frames(struct conn *, const struct wire_msg *, struct keeper *);

#endif

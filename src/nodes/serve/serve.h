/*
 * serve: the pages' end of the node: connections, frames, requests.
 *
 *	accept.c	pages that come in
 *	serve.c		connections, replies
 *	greeting.c	LIMIT and HELLO; who a page is
 *	answer.c	the table of requests, and those without a file of their own
 *	read.c		READ
 *	blocks.c	SNAP and WINDOW
 *	lookup.c	SYM, SITE and FRAME
 *	listings.c	LPUT, LISTINGS and LGET
 *	tables.c	NAME's tables, and regions
 *	usage.c		USAGE
 *	stress.c	STRESS and KERNEL_MEMORY
 *	refcnt.c	COUNT, TOUCHES and MEMORY
 *
 * Limits
 *	connections	as many as the node was told, else SERVE_CONNS; at most
 *			SERVE_STRANGERS of them have not said hello
 *	time		SERVE_PATIENCE_MS for a hello, and for the rest of a frame
 *	requests	a few a turn for each page; none is read from a page that
 *			does not take its replies
 *	replies		SERVE_QUEUE_MAX bytes wait for a page; one that takes none
 *			of them for SERVE_UNREAD_S is closed
 *	idle pages	one that asks for nothing for SERVE_IDLE_MS loses its
 *			place when somebody else needs it
 */
#ifndef NODES_SERVE_H
#define NODES_SERVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "../../stream/wire/wire.h"
#include "../host/access.h"
#include "../host/host.h"
#include "../stress/stress.h"
#include "../self_watch/self_watch.h"

#define SERVE_CONNS 64
#define SERVE_CONNS_MAX 256
#define SERVE_CONNS_RESERVED 8	/* of the system's node, for users who have none yet */
#define SERVE_STRANGERS 16
#define SERVE_DOOR 64		/* accepted, and waiting for the place of a stranger */
#define SERVE_QUEUE_MAX (256u << 10)
#define SERVE_PATIENCE_MS 5000
#define SERVE_IDLE_MS 120000
#define SERVE_UNREAD_S 30
#define LOOKUP_READERS 3	/* users whose files are read at once */
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
	uint32_t limit;			/* roles that bridges allow */
	uint32_t roles;
	bool limited;			/* a bridge has sent a LIMIT */
	bool bound;			/* ... and the first one names the page's node */
	char origin[72];		/* machine that the first one names; safe text, "" unknown */
	int64_t begun_ms, heard_ms;	/* its connecting; its last request */
	int64_t since_ms;		/* waits for a hello, or the rest of a frame; 0 no */
	size_t unread;			/* bytes of replies that waited a second ago */
	unsigned unread_s;		/* seconds that it has taken none of them */
	bool greeted;
	bool passed;			/* with --fd: it cannot connect again */
	bool more;			/* has requests that wait for their turn */
	bool paused;			/* not read: too much waits to be written */
	bool sees_kernel;		/* it is a viewer of the kernel's counts */
	struct node_stress_wait stress;	/* a STRESS that waits */
	bool looking;			/* a FRAME of it is not answered yet */
	bool working;			/* a worker still answers a MEMORY, a KERNEL_MEMORY or a move */
	bool ending;			/* closes when its last reply is out */
	bool closed;
};

struct spool;
struct print;

struct listings {
	struct spool *spool;		/* NULL: not opened yet */
	struct print *print;		/* NULL: nothing was printed yet */
	uv_idle_t idle;			/* while the spool's folder is read */
	bool has_idle;
	uint64_t stored, refused;	/* ever */
};

struct look;
struct symbols;

/* Reads the files of one user's targets. */
struct lookup_reader {
	uid_t owner;			/* of those targets */
	uint64_t used;			/* number of its last look; 0: it has no user yet */
	struct symbols *symbols;	/* NULL: there is none */
	bool working;
};

/* FRAME requests: one at a time for each page, for each takes a reader and time. */
struct lookup {
	char program[PATH_MAX];		/* the reader; "" none */
	struct lookup_reader reader[LOOKUP_READERS];
	uint64_t looks;			/* begun, ever */
	struct access_turns turns;	/* of users who ask */
	TAILQ_HEAD(, look) queue;
	_Atomic bool stop;		/* workers end soon */
};

struct door {
	struct {
		int fd;
		uid_t uid;
	} at[SERVE_DOOR + 1];		/* in the order of their arrival */
	unsigned n;
	struct access_turns turns;	/* of users who come in */
};

struct serve {
	TAILQ_HEAD(, conn) conns;
	unsigned count, max;
	unsigned strangers;		/* of count: have not said hello yet */
	struct door door;
	uint64_t last_id;
	uint64_t refused;		/* connections, ever */
	uint32_t last_snapshot;
	int listen_fd;			/* -1: pages cannot come in */
	int spare_fd;			/* closed to refuse a page when there is no other; -1 none */
	uv_poll_t listener;
	uv_timer_t resume;		/* of a paused listener */
	bool inherited;			/* the socket is not ours to remove */
	char path[SOCKET_PATH];		/* of the listening socket; "" none */
	struct socket_file file;	/* what we have bound there */
	uv_idle_t more;			/* while a connection has more requests */
	struct answer_scratch *scratch;
	struct lookup lookup;
	struct listings listings;
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
 * The same with a bound socket; owns fd, also on failure.  inherited: it listens
 * already, and stays where it is.
 */
int serve_listen_fd(struct node *, int fd, const char *path, bool inherited);

/*
 * Serves the page at the connected descriptor; owns it unless this fails.  It is
 * no failure to refuse the page, which is told why.
 */
int serve_add(struct node *, int fd);

/* --- serve.c -------------------------------------------------------------- */

/* Once a second: closes connections that are too slow. */
void serve_second(struct node *);

/* The connection with that id, or NULL when it is gone. */
struct conn *serve_find(struct node *, uint64_t id);

/* Reads from it from now on. */
void conn_read(struct conn *);
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
 * this machine, "0A12 gw-2, anna from 192.0.2.7" if its key is bound to that
 * number, else "anna from 192.0.2.7, says 0A12 gw-2".  Returns out, of
 * SERVE_ORIGIN_MAX bytes.
 */
const char *conn_origin(const struct conn *, char *out, size_t cap);

/* --- answer.c ------------------------------------------------------- */

/* Answers one request; only LIMIT and HELLO are allowed before the greeting. */
void answer(struct conn *, const struct wire_msg *);
int answer_init(struct answer_scratch **);
void answer_fini(struct answer_scratch *);

/* --- listings.c ------------------------------------------------------ */

/* Opens the spool if it exists; otherwise the first listing makes it. */
void listings_begin(struct node *);
void listings_second(struct node *);
void listings_conn_closed(struct conn *);
/* Counts one that was refused for want of a role. */
void listings_count_refused(struct node *);
void listings_stat(struct node *, struct wire_stats *);
void listings_close(struct node *);

/* --- lookup.c ------------------------------------------------------ */

void lookup_init(struct node *);
void lookup_close(struct node *);
void lookup_fini(struct node *);

void lookup_threads(struct conn *, const struct wire_msg *, struct keeper *);
void lookup_sites(struct conn *, const struct wire_msg *, struct keeper *);
/* FRAME: answered by a worker, or at once if no file has to be read. */
void lookup_frames(struct conn *, const struct wire_msg *, struct keeper *);

#endif

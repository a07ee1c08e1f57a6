/*
 * serve: the pages' end of the node: connections, frames, requests.
 *
 * Limits: SERVE_CONNS_MAX pages; a hello within SERVE_PATIENCE_MS, and every
 * frame whole as soon after its first byte; frames as wire.h says; a few
 * requests a turn for each page; no further request is read from a page that
 * does not take its replies, so what waits for it is never more than
 * SERVE_QUEUE_MAX.
 */
#ifndef NODES_SERVE_H
#define NODES_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "../stream/wire.h"
#include "socket.h"

#define SERVE_CONNS_MAX 64
#define SERVE_QUEUE_MAX (256u << 10)
#define SERVE_PATIENCE_MS 5000

struct node;
struct keeper;
struct answer_scratch;

struct conn {
	TAILQ_ENTRY(conn) link;
	struct node *node;
	uint64_t id;			/* never used again */
	uv_pipe_t pipe;
	struct wire_frames in;
	uint32_t roles;
	int64_t since_ms;		/* waits for a hello, or the rest of a frame; 0 no */
	bool greeted;
	bool more;			/* has requests that wait for their turn */
	bool paused;			/* not read: too much waits to be written */
	bool looking;			/* a FRAME of it is not answered yet */
	bool ending;			/* closes when its last reply is out */
	bool closed;
};

struct serve {
	TAILQ_HEAD(, conn) conns;
	unsigned count;
	uint64_t last_id;
	uint32_t last_snapshot;
	uv_pipe_t listener;
	bool listening;
	char path[SOCKET_PATH];			/* of the listening socket; "" none */
	uv_idle_t again;
	struct answer_scratch *scratch;
};

int serve_init(struct node *);
void serve_close(struct node *);
void serve_fini(struct node *);

/* Listens for pages at the path.  The socket is removed by serve_close(). */
int serve_listen(struct node *, const char *path);

/* Serves the page at the connected descriptor, which is serve's from now on. */
int serve_add(struct node *, int fd);

/* Once a second: connections that do not speak. */
void serve_second(struct node *);

/* The connection with that id, or NULL when it is gone. */
struct conn *serve_find(struct node *, uint64_t id);

void conn_reply(struct conn *, const struct wire_msg *);
void conn_error(struct conn *, uint32_t request, enum wire_error,
    const char *text);
/* An error after which the connection closes. */
void conn_fail(struct conn *, uint32_t request, enum wire_error,
    const char *text);

/* Answers one request of a page that has been greeted; serve_answer.c. */
void answer(struct conn *, const struct wire_msg *);
int answer_init(struct answer_scratch **);

/* --- serve_symbols.c ------------------------------------------------------ */

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

/* Reads the module table of a target anew, by a worker. */
void lookup_modules(struct keeper *);

#endif

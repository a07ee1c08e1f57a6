/*
 * link: a page's end of the connection to a node, as the session and the
 * enquiry for targets use it.
 *
 * Vocabulary
 *	ask	one request that waits for its reply; the link gives it its
 *		number.  At most LINK_ASKS_MAX of them wait at a time.
 *	owner	who asked: link_forget() calls off all asks of one owner, so
 *		that no callback reaches what has been freed.
 *	way	how a connection is made (nodes.h); a link that has one is
 *		made again when it is lost, with another line (link_line.h).
 *	heard	a running number of replies, by which a session sees that
 *		the node has fallen silent.
 */
#ifndef NODES_LINK_H
#define NODES_LINK_H

#include "nodes.h"

#define LINK_ASKS_MAX 128

/*
 * The reply, borrowed until the callback returns; an ERR from the node is a
 * reply too (msg->type is WIRE_ERR).  With err < 0 there is none: -ENOTCONN
 * when the link is lost, -ECANCELED when the ask was forgotten or the link
 * closed; the callback may then only clean up.  Each ask gets one callback.
 */
typedef void (*link_reply_cb)(void *arg, int err, const struct wire_msg *);

/* What the node said of itself in WELCOME. */
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

#endif

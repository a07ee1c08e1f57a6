/*
 * takeover: what the process of this node before us has left, taken up.
 *
 * The node is the same one for its pages: it has the same id and boot, its
 * targets' streams the same indexes, epochs and sequence numbers; its own stream
 * begins anew, for its blocks are gone with the process.  Each target whose
 * memory, rings and stacks are all there goes on from its last commit, and
 * nothing is lost or counted twice; one that has ended meanwhile is drained to
 * its end, and one that was welcomed and no more is adopted.  Of what cannot be
 * taken up exactly nothing is: its rings say that nobody drains them, so that
 * its target finds this node by itself.
 */
#ifndef NODES_TAKEOVER_H
#define NODES_TAKEOVER_H

#include <stdint.h>

#include "../stream/wire/wire.h"

struct node;
struct takeover_node;

/*
 * What of the node itself is kept: taken up, or begun.  After this its id, boot
 * and numbers of streams are those that stay.  It is not an error when nobody
 * keeps anything.
 */
void takeover_node(struct node *);
void takeover_fini(struct node *);

struct socket_file;
/* Of a socket that is kept under that name; NULL: nothing of it is kept. */
struct socket_file *takeover_file(struct node *, const char *kept);

/* A stream's number is never given twice. */
void takeover_number(struct node *, uint64_t last_stream);

/*
 * One more image has ended: the process after us knows how many it does not
 * show.
 */
void takeover_ended(struct node *);

/* All targets; before any new one comes in. */
void takeover_targets(struct node *);

#endif

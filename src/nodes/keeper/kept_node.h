/*
 * kept_node: what of the node itself outlives its process.
 *
 * The next process is the same node for its pages: it has the same id, boot and
 * numbers of streams.  The memory is one kept file; its descriptor and those of
 * the sockets and targets are in the store of the supervisor or of systemd.
 */
#ifndef NODES_KEEPER_KEPT_NODE_H
#define NODES_KEEPER_KEPT_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "../host/fdstore.h"

/* Names of the listening sockets in the store. */
#define KEPT_PAGES FDSTORE_OURS "pages"
#define KEPT_TARGETS FDSTORE_OURS "targets"

struct kept;
struct kept_node;
struct node;
struct socket_file;

struct node_store {
	struct fdstore fds;
	_Atomic size_t target_bytes;	/* of the last target's kept memory ... */
	_Atomic size_t sites_bytes;	/* ... and of the last stacks'; 0 not known */
	struct kept *kept;		/* memory of the next; NULL none */
	struct kept_node *same;		/* NULL: nothing is kept */
};

/*
 * Takes up what is kept, or begins it.  After this id, boot and numbers of
 * streams are those that stay.  Returns how many images ended in the processes
 * before this one.  It is no error when nobody keeps anything.
 */
uint64_t kept_node_begin(struct node *);
void kept_node_fini(struct node *);

/* The file of a socket that is kept under that name; NULL: nothing is kept. */
struct socket_file *kept_node_socket(struct node *, const char *kept);

/* A stream's number is never given twice.  Any thread. */
void kept_node_number(struct node *, uint64_t last_stream);

/* One more image has ended: the next process tells how many it does not show. */
void kept_node_ended(struct node *);

#endif

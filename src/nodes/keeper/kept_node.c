#include <stdatomic.h>
#include <string.h>

#include "kept_memory.h"
#include "node.h"

#define KEPT_NODE FDSTORE_OURS "node"

/* In kept memory. */
struct kept_node {
	uint64_t size;			/* of this; 0: not whole yet */
	uint8_t id[WIRE_EPOCH], boot[WIRE_EPOCH];
	_Atomic uint64_t last_stream;
	_Atomic uint64_t ended;		/* images, whose rows go with the process */
	struct socket_file pages, targets;	/* what the sockets' names stood for */
};

/* --- the node itself ---------------------------------------------------- */

static bool
open_old(struct node *node)
{
	struct node_store *d = &node->store;
	int fd = fdstore_take(&d->fds, KEPT_NODE);

	if (fd < 0 || kept_open(&d->kept, fd) < 0)
		return false;
	d->same = kept_take(d->kept, sizeof *d->same);
	if (d->same != NULL && d->same->size == sizeof *d->same)
		return true;
	kept_free(d->kept);
	d->kept = NULL;
	d->same = NULL;
	fdstore_remove(&d->fds, KEPT_NODE);
	return false;
}

static void
make_new(struct node *node)
{
	struct node_store *d = &node->store;

	if (kept_new(&d->kept, "pagek-node", 0) < 0)
		return;
	d->same = kept_take(d->kept, sizeof *d->same);
	if (d->same == NULL ||
	    fdstore_put(&d->fds, KEPT_NODE, kept_fd(d->kept)) < 0) {
		kept_free(d->kept);
		d->kept = NULL;
		d->same = NULL;
		return;
	}
	memcpy(d->same->id, node->id, WIRE_EPOCH);
	memcpy(d->same->boot, node->boot, WIRE_EPOCH);
	d->same->last_stream = node->last_stream;
	atomic_signal_fence(memory_order_release);
	d->same->size = sizeof *d->same;
}

uint64_t
kept_node_begin(struct node *node)
{
	struct kept_node *same;

	if (!keeper_kept_wanted(node))
		return 0;
	if (!open_old(node)) {
		make_new(node);
		return 0;
	}
	same = node->store.same;
	memcpy(node->id, same->id, WIRE_EPOCH);
	memcpy(node->boot, same->boot, WIRE_EPOCH);
	node->last_stream = same->last_stream;
	return same->ended;
}

void
kept_node_fini(struct node *node)
{
	kept_free(node->store.kept);
	node->store.kept = NULL;
	node->store.same = NULL;
}

struct socket_file *
kept_node_socket(struct node *node, const char *kept)
{
	struct kept_node *same = node->store.same;

	if (same == NULL)
		return NULL;
	return strcmp(kept, KEPT_PAGES) == 0 ? &same->pages : &same->targets;
}

void
kept_node_number(struct node *node, uint64_t last_stream)
{
	struct kept_node *same = node->store.same;
	uint64_t was;

	if (same == NULL)
		return;
	/* Two threads number; the lower one may come later. */
	was = atomic_load(&same->last_stream);
	while (was < last_stream && !atomic_compare_exchange_weak(
	    &same->last_stream, &was, last_stream))
		;
}

void
kept_node_ended(struct node *node)
{
	struct kept_node *same = node->store.same;

	if (same != NULL)
		atomic_fetch_add(&same->ended, 1);
}

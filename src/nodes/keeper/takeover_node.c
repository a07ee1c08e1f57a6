#include <stdatomic.h>
#include <string.h>

#include "node.h"
#include "takeover_memory.h"

#define STORED_NODE FDSTORE_OURS "node"

/* In the node's memory file.  Its size tells layouts apart. */
struct takeover_node {
	uint64_t size;			/* of this; 0: not whole yet */
	uint8_t id[WIRE_EPOCH], boot[WIRE_EPOCH];
	_Atomic uint64_t last_stream;
	_Atomic uint64_t ended;		/* images, whose rows are gone with the process */
	struct socket_file pages, targets;	/* what the sockets' names stood for */
};

static bool
open_words(struct node *node)
{
	struct node_store *d = &node->store;
	int fd = fdstore_take(&d->fds, STORED_NODE);

	if (fd < 0 || pmem_open(&d->pmem, fd) < 0)
		return false;
	d->words = pmem_take(d->pmem, sizeof *d->words);
	if (d->words != NULL && d->words->size == sizeof *d->words)
		return true;
	pmem_free(d->pmem);
	d->pmem = NULL;
	d->words = NULL;
	fdstore_remove(&d->fds, STORED_NODE);
	return false;
}

static void
make_words(struct node *node)
{
	struct node_store *d = &node->store;

	if (pmem_new(&d->pmem, "pagek-node", 0) < 0)
		return;
	d->words = pmem_take(d->pmem, sizeof *d->words);
	if (d->words == NULL ||
	    fdstore_put(&d->fds, STORED_NODE, pmem_fd(d->pmem)) < 0) {
		pmem_free(d->pmem);
		d->pmem = NULL;
		d->words = NULL;
		return;
	}
	memcpy(d->words->id, node->id, WIRE_EPOCH);
	memcpy(d->words->boot, node->boot, WIRE_EPOCH);
	d->words->last_stream = node->last_stream;
	atomic_signal_fence(memory_order_release);
	d->words->size = sizeof *d->words;
}

uint64_t
takeover_node_begin(struct node *node)
{
	struct takeover_node *words;

	if (!takeover_is_wanted(node))
		return 0;
	if (!open_words(node)) {
		make_words(node);
		return 0;
	}
	words = node->store.words;
	memcpy(node->id, words->id, WIRE_EPOCH);
	memcpy(node->boot, words->boot, WIRE_EPOCH);
	node->last_stream = words->last_stream;
	return words->ended;
}

void
takeover_node_fini(struct node *node)
{
	takeover_idle_fini(node);
	pmem_free(node->store.pmem);
	node->store.pmem = NULL;
	node->store.words = NULL;
}

struct socket_file *
takeover_node_socket(struct node *node, const char *name)
{
	struct takeover_node *words = node->store.words;

	if (words == NULL)
		return NULL;
	return strcmp(name, STORED_PAGES) == 0 ? &words->pages :
	    &words->targets;
}

void
takeover_node_number(struct node *node, uint64_t last_stream)
{
	struct takeover_node *words = node->store.words;
	uint64_t was;

	if (words == NULL)
		return;
	was = atomic_load(&words->last_stream);
	while (was < last_stream && !atomic_compare_exchange_weak(
	    &words->last_stream, &was, last_stream))
		;
}

void
takeover_node_ended(struct node *node)
{
	struct takeover_node *words = node->store.words;

	if (words != NULL)
		atomic_fetch_add(&words->ended, 1);
}

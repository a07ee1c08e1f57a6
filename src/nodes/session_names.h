/*
 * names: words for return addresses and thread indices, asked from the node
 * once and kept.
 *
 * Vocabulary
 *	wanted	asked for by the page, not yet on its way to the node.
 *	pending	wanted or on its way; bounded.
 *
 * What is not known gives "" and is asked for; a page that draws at 15 Hz
 * simply finds it there later.
 */
#ifndef NODES_SESSION_NAMES_H
#define NODES_SESSION_NAMES_H

#include "link.h"

#define NAMES_PENDING_MAX 4096
#define NAMES_KEPT_MAX (1u << 18)

struct names_entry;

struct names {
	struct nodes_link *link;
	uint32_t index;			/* of the stream they belong to */
	bool open;			/* the stream is known: may be asked */
	struct names_entry **slot;	/* open addressing, a power of two */
	size_t nslot, count;
	uint64_t *wanted;		/* keys, a queue of NAMES_PENDING_MAX */
	size_t head, nwanted;
	size_t asked;			/* on their way */
	uint64_t batch[2][WIRE_SYMS_MAX];	/* the keys on their way, by kind */
	size_t nbatch[2];
	void (*news)(void *arg);	/* answers have come */
	void *arg;
};

int names_init(struct names *, struct nodes_link *, void (*news)(void *),
    void *arg);
void names_fini(struct names *);
/* Forgets everything: another stream. */
void names_reset(struct names *);
void names_open(struct names *, uint32_t index);

/* Borrowed until the next call of this or of names_reset(). */
const char *names_get(struct names *, enum wire_sym_kind, uint64_t what);

/* Sends what is wanted; once a cycle, and by itself when answers come in. */
void names_send(struct names *);
size_t names_pending(const struct names *);

#endif

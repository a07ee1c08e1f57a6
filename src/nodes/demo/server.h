/*
 * server: the program that demo:1 pretends to watch: what it asks memory for,
 * from where, and the words for that.  Nothing of it exists.
 *
 * Vocabulary
 *	asker	a function that asks for blocks of one kind.
 *	spot	a place in the code that a return address points to.
 *	chain	spots from the innermost outwards: how an asker was come to.
 */
#ifndef NODES_DEMO_SERVER_H
#define NODES_DEMO_SERVER_H

#include "../../stream/stream.h"
#include "../../stream/wire/wire.h"

#define SERVER_DEPTH 7		/* of a chain, with the 0 that may end it */
#define SERVER_WAYS 2		/* chains of an asker at most */
#define SERVER_ASKERS 17
#define SERVER_POOL (SERVER_ASKERS - 1)	/* the last asker: it has blocks of the API */

struct server_asker {
	uint8_t type;
	uint16_t min, max;	/* sizes; big blocks are 64 times as large */
	uint8_t chain[SERVER_WAYS][SERVER_DEPTH];	/* the second may be empty */
};

extern const struct server_asker server_askers[SERVER_ASKERS];

/* Puts modules and chains; the callers that records then have, by asker and way. */
int server_put(struct stream_sites *,
    uint64_t caller[SERVER_ASKERS][SERVER_WAYS]);

/* The return address of where blocks are freed. */
uint64_t server_free_caller(void);

/* What lies at a frame, or at a plain return address. */
void server_words(uint64_t frame, struct wire_words *);

#endif

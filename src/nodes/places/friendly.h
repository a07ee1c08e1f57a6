/*
 * friendly: what this node calls other nodes, and what it knows of where they
 * are: its table of nodes, read again when its files have changed.
 *
 * Vocabulary
 *	friendly number	of an entry of the table, as the note has it: AB86 is
 *			trunk 11, node 134 of Acnet; C and 12 bits are a
 *			Classic node's.
 *	raw		a number that the table does not have, or has without
 *			a friendly one, stands for itself.
 *	translation	a number and what it is called, kept since it was
 *			looked up, as long as the table is what it was.  A raw
 *			one is one too.
 *
 * Files are looked at and read by a worker of libuv's, once a second: a folder
 * that hangs costs a translation that is out of date, and nobody's cycle.
 *
 * Example
 *	friendly_load(node, say_of_table, NULL);	once, before it serves
 *	each second:	friendly_second(f, loop);
 *	info.node = friendly_get(f, number);
 */
#ifndef NODES_PLACES_FRIENDLY_H
#define NODES_PLACES_FRIENDLY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "../../stream/wire/wire.h"
#include "places.h"
#include "table.h"

#define FRIENDLY_KEPT 256	/* translations; a power of two */

struct friendly_kept {
	uint16_t number;		/* 0: this place is free */
	uint16_t friendly;
	int64_t since_ms;		/* monotonic */
};

struct friendly {
	struct nodes_table *table;	/* NULL: it has none, nor looks for any */
	struct table_stamp stamp;	/* from before it was read */
	bool user;			/* the user's file is one of them */
	nodes_say_cb say;
	void *arg;
	struct friendly_kept kept[FRIENDLY_KEPT];
	uint64_t hits, misses, unknown;

	/* The worker's, from the request until it has come back. */
	uv_work_t work;
	bool working;
	struct nodes_table *next;	/* NULL: nothing has changed */
	struct table_stamp next_stamp;
};

/*
 * Reads the table, now, and follows its files from then on; what cannot be
 * read is said, then and later, possibly by a worker.  -ENOMEM.
 */
int friendly_load(struct friendly *, bool user, nodes_say_cb say, void *arg);
void friendly_fini(struct friendly *);

/* Once a second: has the table changed?  The answer comes later. */
void friendly_second(struct friendly *, uv_loop_t *);

/*
 * The number to show for a node: its friendly number, or itself where none
 * is known; 0 for 0, which is nobody's.
 */
uint16_t friendly_get(struct friendly *, uint16_t number);

/* Its entry, borrowed until control returns to the loop; NULL: none. */
const struct nodes_entry *friendly_entry(const struct friendly *,
    uint16_t number);

/* Its numbers of STATS, WIRE_N_FRIENDLY_HITS to _OLDEST_S. */
void friendly_stat(const struct friendly *, uint64_t n[WIRE_STATS_COUNT]);

#endif

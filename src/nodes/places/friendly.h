/*
 * friendly: numbers of other nodes as this node shows them, by its table of
 * nodes, which is read again when its files change.
 *
 * Vocabulary
 *	friendly number	AB86 is trunk 11, node 134 of Acnet; C and 12 bits are
 *			a Classic node's.
 *	raw number	one without a friendly number; it is shown as it is.
 *	translation	a number with its friendly or raw number, cached until
 *			the table changes.
 *
 * A worker checks the files once a second: a folder that hangs delays a change,
 * but no cycle.
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
	uint16_t number;		/* 0: free */
	uint16_t friendly;
	int64_t since_ms;		/* monotonic */
};

struct friendly {
	struct nodes_table *table;	/* NULL: not loaded */
	struct table_stamp stamp;	/* taken before it was read */
	bool user;			/* read the user's file too */
	nodes_say_cb say;
	void *arg;
	struct friendly_kept kept[FRIENDLY_KEPT];
	uint64_t hits, misses, unknown;

	/* The worker's while it works. */
	uv_work_t work;
	bool working;
	struct nodes_table *next;	/* NULL: no change */
	struct table_stamp next_stamp;
};

/* Reads the table. `say` reports mistakes, later by a worker. -ENOMEM. */
int friendly_load(struct friendly *, bool user, nodes_say_cb say, void *arg);
void friendly_fini(struct friendly *);

/* Once a second: lets a worker read the table if it has changed. */
void friendly_second(struct friendly *, uv_loop_t *);

/* The number to show for a node: friendly or raw; 0 for 0, which is no node. */
uint16_t friendly_get(struct friendly *, uint16_t number);

/* A node's entry, borrowed until control returns to the loop; NULL: none. */
const struct nodes_entry *friendly_entry(const struct friendly *,
    uint16_t number);

/* Sets WIRE_N_FRIENDLY_HITS to _OLDEST_S. */
void friendly_stat(const struct friendly *, uint64_t n[WIRE_STATS_COUNT]);

#endif

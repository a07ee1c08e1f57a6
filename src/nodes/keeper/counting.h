/*
 * counting: counts of a target's blocks by caller, type and size
 * (usage/usage.h), while a connection has asked.
 *
 * Vocabulary
 *	asker	a connection that has asked.  It stays one until it says so or is
 *		closed; it asks about one stream at a time.  Counting goes on for
 *		some seconds without one: to begin it is a walk of the list.
 *	copy	all rows as of one moment, for one asker, which reads it in portions.
 *
 * Counting follows the list, so it ends with the list, and begins anew when the
 * list does or in the next process of the node.  A node with --usage counts every
 * image from its start.  While it is counted, a target makes no pairs, for they do not
 * tell when a block was freed; askers who may only read it do not forbid them.
 */
#ifndef NODES_KEEPER_COUNTING_H
#define NODES_KEEPER_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "../../usage/usage.h"

struct keeper;
struct node;
struct counting;

struct counting_copy {
	uint32_t no;			/* another one with each copy; 0: none */
	struct usage_row *row;
	size_t n;
	struct usage_totals totals;
	int64_t now_ms;			/* the target's clock */
	uint64_t rss;			/* its bytes in memory; 0: not known */
	/* The same in all copies: */
	int64_t since_ms;
	bool from_start;		/* nothing had been allocated before */
	uint64_t lost;			/* records, since then */
	const char *lacks;		/* a sentence; "" complete since then */
};

/* The image begins: it is counted if the node has --usage. */
void counting_welcome(struct keeper *);
/*
 * A new copy for that connection, which is an asker now, and controls the target
 * or (may_slow false) only reads it.  Borrowed until the next
 * one, or its end.  -ENODATA: there is no list; -EBUSY: there are USAGE_ASKERS;
 * -ENOMEM.
 */
int counting_copy(struct keeper *, uint64_t conn, bool may_slow,
    const struct counting_copy **);
/* Its last copy; NULL: it is no asker. */
const struct counting_copy *counting_look(struct keeper *, uint64_t conn);
void counting_end(struct keeper *, uint64_t conn);
/* The connection is closed, or asks about another stream. */
void counting_forget_asker(struct node *, uint64_t conn);

/* Frees counts that nobody has asked for in a while. */
void counting_expire(struct node *, int64_t now_ms);
/* True while blocks are counted. */
bool counting_is_on(const struct keeper *);
/* Of a list that has begun again: nothing had been allocated before. */
void counting_set_from_start(struct keeper *);
/* True if the target must make no pairs. */
bool counting_slows(const struct keeper *);

/* Rows and bytes of memory; 0: nobody has asked. */
void counting_cost(const struct keeper *, uint64_t *rows, uint64_t *bytes);

/* The keeper has all that was lost before its list began: that is not lost since. */
void counting_past_lost(struct keeper *);

/* --- for keeper.c ------------------------------------------------------------- */

/* The list is to be freed. */
void counting_leave(struct keeper *);
/* There is another list: counts begin anew. */
void counting_again(struct keeper *);
void counting_free(struct keeper *);

#endif

/*
 * peak: how much a target may have held at once.
 *
 * A list knows the highest of what its records come to in the order in which
 * they are applied.  Of one thread that is the order of its program; of several
 * there is none but that on each address, so that what two of them held at once
 * may be applied one after the other.
 *
 * Vocabulary
 *	look	what a feed has found in the rings at one time, until all of it is
 *		applied.
 *	rise	by how much each thread's records of a look have raised what was
 *		held, at most; the sum over all threads.
 *
 * A record is found a look late when its ring was looked at before its thread
 * had published it, and another one late where it waited for a ticket in flight.
 * So what was held before a look is taken with the rises of three.
 */
#ifndef NODES_KEEPER_PEAK_H
#define NODES_KEEPER_PEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper;

#define PEAK_LOOKS 3

/* All zeros: nothing has been applied. */
struct peak {
	uint64_t base[PEAK_LOOKS];	/* live bytes when a look began, the newest first */
	uint64_t rise[PEAK_LOOKS];	/* of the newest, what a keeper before this one has seen */
	uint64_t most;			/* so far, of several */
	bool begun;
	bool several;			/* there has been more than one thread */
};

/* Before a batch is applied. */
void peak_begin(struct keeper *);

/* A look is over. */
void peak_looked(struct keeper *);

/* For the keeper that comes after this one, at any time. */
struct peak peak_kept(const struct keeper *);

/*
 * The target has never held more bytes than this at once, but for what pairs
 * hide (ring.h).  0: its list does not follow rises.
 */
uint64_t peak_most(const struct keeper *);

#endif

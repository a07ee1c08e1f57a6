/*
 * sites: stores each call stack and each module once in the ring area.
 *
 * Vocabulary	that of stream/ring.h, and
 *	index		a private table from a stack's hash to its number, on
 *			pages that a fork wipes: a child has another area.
 *
 * Example
 *	m = sites_module(&object);
 *	frame[i] = frame_make(pc, m);
 *	no = sites_put(frame, n, RING_END_OUTERMOST);
 *	caller = no != 0 ? rec_site_caller(no) : pc of frame 0;
 *
 * No lock, no allocation through the program, errno kept; from any thread and
 * any signal handler.  Two threads that store one stack at once may both write
 * it; one of the numbers is then never used.
 */
#ifndef ALLOCLOG_SITES_H
#define ALLOCLOG_SITES_H

#include <stdint.h>

#include "../../stream/ring.h"
#include "cfi.h"

#pragma GCC visibility push(hidden)

/* Sets the area; called by produce_attach(). */
void sites_attach(struct ring_area *);
/*
 * Moves to another area: everything that has a number in the old one has it in
 * the new one, and the old one gives no number any more.
 */
void sites_move(struct ring_area *from, struct ring_area *to);
/* In a forked child that has not attached: no sites. */
void sites_detach(void);

/*
 * The number of a stack of 1 to RING_STACK_MAX frames; 0: no room, which is
 * counted as an event left out, or no area.
 */
uint32_t sites_put(const uint64_t *frame, unsigned depth, enum ring_end);

/* The frames of a site of this area, depth of them; NULL: there is no such site. */
const uint64_t *sites_get(uint32_t no, unsigned *depth, enum ring_end *);

/* The number of an object as a module; 0: no room, or not known. */
unsigned sites_module(const struct cfi_object *);

/* Counts a stack that was walked. */
void sites_walked(void);
/* Counts an event without its stack, for want of room. */
void sites_left_out(void);

#pragma GCC visibility pop

#endif

/*
 * known: memory of a target of which every block is in its stream, so that
 * what lies between them is free.
 *
 * The target says where a region begins and ends (alloclog_region(3)), each
 * with the region's number.  The two come from different threads and so in any
 * order: what is kept is a set, in which a beginning and the end of its number
 * cancel each other.  Of regions that overlap the one with the highest number
 * counts, for a program that forgets to say that a pool has gone lays the next
 * one over it.
 *
 * A target that has said more than there is room for has no regions any more:
 * what it says next might be about those that were left out.
 */
#ifndef NODES_KEEPER_REGIONS_H
#define NODES_KEEPER_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../stream/record.h"
#include "../../stream/wire/wire.h"

/* More than a target has at once: their ends may be on their way. */
#define REGION_SET_MAX (2 * WIRE_REGIONS_MAX)

struct region_set_region {
	uint32_t no;
	struct wire_region region;
};

/* As all zeros: none. */
struct region_set {
	uint32_t change;		/* counts up */
	uint16_t n, nended;
	bool overrun;
	struct region_set_region at[REGION_SET_MAX];
	uint32_t ended[REGION_SET_MAX];	/* numbers of ends whose beginning has not come */
};

/* A control record of a region, from a target: outside data. */
void region_set_control(struct region_set *, const struct rec *);

/* In address order, none overlapping, at most WIRE_REGIONS_MAX. */
size_t region_set_get(const struct region_set *, struct wire_region *out);

/* Read from memory that outlives a process: is it as it may be? */
bool region_set_is_valid(const struct region_set *);

#endif

/*
 * demo_busy: a made-up busy target, the same in every run.
 *
 * Its clock stands until a page has read up to the end a number of times in a
 * row, as only a page that stays does: whoever takes one picture always takes
 * the same one.
 */
#ifndef NODES_DEMO_BUSY_H
#define NODES_DEMO_BUSY_H

#include <stdbool.h>

struct keeper;

/* flood: now and then more records at once than the queue retains. */
int busy_start(struct keeper *, bool flood);

#endif

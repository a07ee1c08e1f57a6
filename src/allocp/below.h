/*
 * below: pages below 4 GiB, whose addresses fit a classic record.
 */
#ifndef ALLOCP_BELOW_H
#define ALLOCP_BELOW_H

#include <stddef.h>

/* Zeroed; NULL when there is no such room.  Given back with munmap(). */
void *below_map(size_t bytes);

#endif

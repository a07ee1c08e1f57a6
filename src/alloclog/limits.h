/*
 * limits: whether there is room for us within what the program may have.
 *
 * Example
 *	if (limits_cramp(ring_area_size()))
 *		h->flags |= RING_HELLO_CRAMPED;		and stay out
 */
#ifndef ALLOCLOG_LIMITS_H
#define ALLOCLOG_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/*
 * True when so many bytes of addresses would be more than an eighth of those
 * that RLIMIT_AS leaves to the program.  Keeps errno.
 */
bool limits_cramp(size_t bytes);

#pragma GCC visibility pop

#endif

/*
 * place: where a node may listen.  Private to the target side.
 *
 * Example
 *	while (place_next(&addr))
 *		if (somebody listens at addr)
 *			break;
 *
 * A process keeps to the place that was given last, and so do its children.
 */
#ifndef ALLOCLOG_PLACE_H
#define ALLOCLOG_PLACE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#pragma GCC visibility push(hidden)

/* Fills in the next place; false when there is none, and none is given then. */
bool place_next(struct sockaddr_un *);

/* Whether one is given. */
bool place_known(void);

/* Whether the one that is given says enough of who has made the socket. */
bool place_vouches(void);

#pragma GCC visibility pop

#endif

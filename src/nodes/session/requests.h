/*
 * requests: what a session asks its node for beside the list and its numbers, each
 * when the page wants it.
 *
 *	requests/regions.c	known regions
 *	requests/marks.c	named marks, or to set one
 *	requests/usage.c	counts by caller, type and size
 *	requests/stress.c	the kernel's counts of heap stress
 *	requests/refcnt.c	references to pages; switches their counting
 *	requests/retained.c	earlier records that the node still has
 *
 * session.h has what a page calls, state.h the table of the requests: a new one is a
 * row of SESSION_REQUESTS, its answered_NAME(), and a file here.
 */
#ifndef NODES_SESSION_REQUESTS_H
#define NODES_SESSION_REQUESTS_H

#include <stdbool.h>

struct nodes_session;

/* --- regions.c -------------------------------------------------- */

/* Requests the regions, if due or if the list has become whole. */
void regions_cycle(struct nodes_session *, bool due);
void regions_reset(struct nodes_session *);
void regions_look(struct nodes_session *);

/* --- marks.c ---------------------------------------------------- */

/* There is another stream, or none. */
void marks_reset(struct nodes_session *);

/* --- usage.c ---------------------------------------------------- */

/* There is another stream, or none. */
void usage_reset(struct nodes_session *);

/* --- refcnt.c --------------------------------------------------- */

/* There is another stream, or none. */
void session_refcnt_reset(struct nodes_session *);
void session_refcnt_fini(struct nodes_session *);

/* --- retained.c ------------------------------------------------- */

/* Sends a READ again that was cancelled, or ends with another stream. */
void retained_cycle(struct nodes_session *);

#endif

/*
 * pump: runs the loop while a command waits, for a limited time, or until the
 * next of its repeated outputs is due.
 *
 * Example
 *	if (!pump_settled(loop, session, o->timeout_ms))
 *		complain("no answer");
 *	...
 *	pump_down(loop, session, link);
 */
#ifndef PAGEK_PUMP_H
#define PAGEK_PUMP_H

#include <stdbool.h>
#include <uv.h>

#include "../../base/base.h"
#include "../../nodes/nodes.h"

struct options;

/* True once the wait is over.  NULL: the timeout alone ends it. */
typedef bool (*pump_done_cb)(void *arg);

/*
 * Runs the loop until done() or for timeout_ms, whichever comes first; with a
 * session, its cycles are made at 15 Hz meanwhile.  True when done.
 */
bool pump(uv_loop_t *, struct nodes_session *, int timeout_ms, pump_done_cb,
    void *arg);

/*
 * Waits for a whole list, or for a state in which none will come.  False: the
 * timeout.
 */
bool pump_settled(uv_loop_t *, struct nodes_session *, int timeout_ms);
/* Waits until no name is pending or the link is lost for good. */
bool pump_names(uv_loop_t *, struct nodes_session *, int timeout_ms);
/* Asks for the keeper's counters as they are now; false: no answer. */
bool pump_counters(uv_loop_t *, struct nodes_session *, int timeout_ms);

/*
 * Catches the signal: it no longer ends the command, and done() asks
 * pump_is_interrupted().  once: a second signal ends the command.  An ignored signal stays
 * ignored.
 */
void pump_catch(int sig, bool once);
bool pump_is_interrupted(void);

/* Closes session and link and runs the loop until their handles are closed. */
void pump_down(uv_loop_t *, struct nodes_session *, struct nodes_link *);

/*
 * One output each --interval, until there are --count or --duration is over.
 * Each is due at a multiple of the interval from the start, so they do not drift.
 *
 *	pace_begin(&pace, o);
 *	do {
 *		print();
 *		pace.n++;
 *	} while (pace_wait(&pace, loop, session, NULL, NULL));
 */
struct pace {
	const struct options *o;
	struct mono begun;
	int64_t due_ms;			/* of the next one, since begun */
	uint64_t n;			/* outputs so far; the caller counts */
};

void pace_begin(struct pace *, const struct options *);

/* Waits until the next is due or done() is true; false: there is no next. */
bool pace_wait(struct pace *, uv_loop_t *, struct nodes_session *,
    pump_done_cb done, void *arg);

#endif

/*
 * pump: runs the loop while a command waits for something, never for ever, and
 * until the next of what comes again and again is due.
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

/* What is waited for; true when it is there.  NULL: time alone. */
typedef bool (*pump_done_cb)(void *arg);

/*
 * Runs the loop until done() or for timeout_ms, whichever comes first; with a
 * session, its cycles are made at 15 Hz meanwhile.  True when done.
 */
bool pump(uv_loop_t *, struct nodes_session *, int timeout_ms, pump_done_cb,
    void *arg);

/*
 * Waits until the session can say what it has to say: a whole list, or a
 * state that will not become one by waiting.  False: time is over.
 */
bool pump_settled(uv_loop_t *, struct nodes_session *, int timeout_ms);

/* Closes session and link and lets the loop take leave of their handles. */
void pump_down(uv_loop_t *, struct nodes_session *, struct nodes_link *);

/* --- again and again ------------------------------------------------------ */

/*
 * Each --interval one more of them, until --count have come or --duration is
 * over.  They are due by the start and not by each other, so that they do not
 * drift.
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
	int64_t due_ms;			/* the last one that was waited for, since begun */
	uint64_t n;			/* how many there have been; the caller counts */
};

void pace_begin(struct pace *, const struct options *);

/*
 * Waits until the next one is due or done() is true; true: there is one more.
 * False: that was the last.
 */
bool pace_wait(struct pace *, uv_loop_t *, struct nodes_session *,
    pump_done_cb done, void *arg);

#endif

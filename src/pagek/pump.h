/*
 * pump: runs the loop while a command waits for something, never for ever.
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

#include "../nodes/nodes.h"

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

#endif

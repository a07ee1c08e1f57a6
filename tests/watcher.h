/*
 * A page in the test's own process: a link, a session and its cycles, on a loop
 * that the test runs.
 */
#ifndef TESTS_WATCHER_H
#define TESTS_WATCHER_H

#include "../src/nodes/nodes.h"
#include "harness.h"

static struct nodes_link *link_;
static struct nodes_session *session;
static uv_loop_t *watcher_loop;
static uv_timer_t cycles;
static unsigned turns;			/* cycles that were made */

static inline const struct nodes_look *
look(void)
{
	return nodes_session_look(session);
}

static void
watcher_news(void *arg)
{
	(void)arg;
}

static void
watcher_cycle(uv_timer_t *timer)
{
	(void)timer;
	nodes_session_cycle(session);
	/* A link that is to come back does so without its patience. */
	nodes_link_retry(link_);
	turns++;
}

/* The case's timeout ends what never comes. */
#define UNTIL(what) \
	while (!(what)) \
		uv_run(watcher_loop, UV_RUN_ONCE)

/* link_ is there; a cycle is made every so many milliseconds from here on. */
static inline void
watcher_begin(uv_loop_t *its, const struct nodes_session_opts *opts,
    unsigned every_ms)
{
	watcher_loop = its;
	turns = 0;
	ck_assert_int_eq(nodes_session_open(&session, link_, opts,
	    watcher_news, NULL), 0);
	uv_timer_init(its, &cycles);
	uv_timer_start(&cycles, watcher_cycle, every_ms, every_ms);
}

/* The loop has then to be run until it is empty. */
static inline void
watcher_end(void)
{
	nodes_session_close(session);
	nodes_link_close(link_);
	uv_close((uv_handle_t *)&cycles, NULL);
}

#endif

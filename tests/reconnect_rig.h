/*
 * A scripted node behind a way that a test opens and shuts: what the tests of
 * lost links share.
 */
#ifndef TESTS_RECONNECT_RIG_H
#define TESTS_RECONNECT_RIG_H

#include <signal.h>
#include <stdio.h>

#include "../src/base/base.h"
#include "../src/nodes/link/link.h"
#include "session_rig.h"

/* --- a way to the peer ---------------------------------------------------- */

static struct peer peer;
static struct model model, second;
static struct nodes_session *session;

static struct {
	int refuse;		/* start fails with this; 0 it does not */
	bool for_good;
	unsigned starts, losses, gone, ups;
	uint32_t wait_ms, patience_ms;
	nodes_told_cb told;	/* of a link that waits to be told why */
	void *told_arg;
} way;

static inline int
start(void *arg)
{
	int fds[2];

	(void)arg;
	way.starts++;
	if (way.refuse != 0)
		return way.refuse;
	peer_hang_up(&peer);
	wire_frames_fini(&peer.in);
	ck_assert_int_eq(wire_frames_init(&peer.in, WIRE_REQUEST_MAX), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	peer.fd = fds[1];
	ck_assert_int_eq(fcntl(peer.fd, F_SETFL, O_NONBLOCK), 0);
	return fds[0];
}

static inline bool
lost(void *arg, int err, char *why, size_t cap)
{
	(void)arg;
	way.losses++;
	if (err < 0)
		snprintf(why, cap, "tried in vain");
	return !way.for_good;
}

static inline void
fini(void *arg)
{
	(void)arg;
	way.gone++;
}

static inline uint32_t
delay(void *arg, unsigned tries)
{
	(void)arg;
	(void)tries;
	return way.wait_ms;
}

static const struct nodes_way to_peer = {
	.start = start, .lost = lost, .fini = fini, .delay_ms = delay,
};

/* --- a way through another program ---------------------------------------- */

static inline void
why(void *arg, nodes_told_cb told, void *told_arg)
{
	(void)arg;
	way.told = told;
	way.told_arg = told_arg;
}

static inline void
up(void *arg)
{
	(void)arg;
	way.ups++;
}

static inline uint32_t
patience(void *arg, unsigned tries)
{
	(void)arg;
	(void)tries;
	return way.patience_ms;
}

static const struct nodes_way by_program = {
	.start = start, .lost = lost, .fini = fini, .delay_ms = delay,
	.why = why, .up = up, .patience_ms = patience,
	.where = "far: ", .stranger = "that is no node",
	.final = 1u << NODES_DENIED,
};

static inline const struct nodes_look *
look(void)
{
	return nodes_session_look(session);
}

static inline void
set_up_by(const struct nodes_way *by)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&way, 0, sizeof way);
	/* Tests knock by themselves. */
	way.wait_ms = way.patience_ms = 3600000;
	peer_open(&peer);
	nodes_link_close(peer.link);
	ck_assert_int_eq(nodes_link_keep(&peer.link, &peer.loop, by), 0);
	two_streams(&peer, &model, &second);
	second.epoch[0] = 1;
	session = open_session(&peer, &plain);
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	assert_same(session, &model, "setup", 0);
}

static inline void
setup(void)
{
	set_up_by(&to_peer);
}

static inline void
setup_by_program(void)
{
	set_up_by(&by_program);
}

static inline void
teardown(void)
{
	nodes_session_close(session);
	peer_close(&peer);
	ck_assert_uint_eq(way.gone, 1);
	model_fini(&model);
	model_fini(&second);
}

/* The connection breaks, and what had been asked over it is never answered. */
static inline void
cut(void)
{
	peer_hang_up(&peer);
	while (peer.n > 0)
		(void)peer_take(&peer, 0);
	uv_run(&peer.loop, UV_RUN_NOWAIT);
}

/* One try is made; when it succeeds the node has yet to answer. */
static inline void
knock(void)
{
	unsigned starts = way.starts;

	way.wait_ms = 3600000;
	nodes_link_retry(peer.link);
	while (way.starts == starts)
		uv_run(&peer.loop, UV_RUN_ONCE);
}

static inline void
come_back(void)
{
	knock();
	peer_serve(&peer);
	peer_cycles(&peer, session, 3);
}

/* As a node that was killed and started again: another keeper's stream. */
static inline void
restart(struct model *m)
{
	peer.boot++;
	m->epoch[3]++;
	m->n = 0;
	blklist_clear(m->list);
}

#endif

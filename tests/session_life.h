/*
 * A session in the middle of its life: a stream of two blocks is watched, and
 * another is not there yet.
 */
#ifndef TESTS_SESSION_LIFE_H
#define TESTS_SESSION_LIFE_H

#include "session_rig.h"

static struct peer peer;
static struct model model, second;
static struct nodes_session *session;

static inline void
setup(void)
{
	peer_open(&peer);
	two_streams(&peer, &model, &second);
	session = open_session(&peer, &plain);
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	ck_assert(nodes_session_look(session)->settled);
	assert_same(session, &model, "setup", 0);
}

static inline void
teardown(void)
{
	nodes_session_close(session);
	peer_close(&peer);
	model_fini(&model);
	model_fini(&second);
}

#endif

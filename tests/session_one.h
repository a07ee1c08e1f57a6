/*
 * A session of a node with one stream: what most of the session's tests have.
 */
#ifndef TESTS_SESSION_ONE_H
#define TESTS_SESSION_ONE_H

#include "session_rig.h"

static struct peer peer;
static struct model model;
static struct nodes_session *session;

static inline const struct nodes_look *
look(void)
{
	return nodes_session_look(session);
}

/* The stream has no blocks yet, and the session is for the test to open. */
static inline void
one_up(void)
{
	peer_open(&peer);
	model_init(&model, "ALLOCLOG.model.42", 42);
	peer.model[0] = &model;
	peer.models = 1;
}

static inline void
one_down(void)
{
	nodes_session_close(session);
	peer_close(&peer);
	model_fini(&model);
}

/* Opened, and so many cycles on. */
static inline void
one_open(const struct nodes_session_opts *opts, unsigned cycles)
{
	session = open_session(&peer, opts);
	peer_serve(&peer);
	peer_cycles(&peer, session, cycles);
}

#endif

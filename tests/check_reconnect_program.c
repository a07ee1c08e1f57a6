/*
 * Links through another program that are lost and come back: what the program
 * has told, and for how long it is tried.
 */
#include "reconnect_rig.h"

/* --- through another program ---------------------------------------------- */

CASE("by program", .setup = setup_by_program, .teardown = teardown);

TEST(link_is_lost_when_its_way_has_told_why)
{
	ck_assert_uint_eq(way.ups, 1);
	cut();
	nodes_session_cycle(session);
	ck_assert(look()->link.up);
	ck_assert_uint_eq(way.losses, 0);
	way.told(way.told_arg, NODES_UNREACHABLE, "it said so");
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_UNREACHABLE);
	ck_assert_str_eq(look()->reason, "far: it said so");
	ck_assert(look()->link.returns);
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert_uint_eq(way.ups, 2);
}

LOOP_TEST(final_state_ends_the_tries_whoever_tells_it, 0, 2)
{
	struct wire_msg q;

	cut();
	if (_i == 0) {
		way.told(way.told_arg, NODES_DENIED, "refused");
	} else {
		way.told(way.told_arg, NODES_UNREACHABLE, "lost");
		nodes_session_cycle(session);
		knock();
		peer_turn(&peer);
		q = peer_take(&peer, 0);
		peer_error(&peer, q.id, WIRE_E_AUTH);
		peer_turn(&peer);
	}
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_DENIED);
	ck_assert(!look()->link.returns);
	/* What the way has left behind was taken down all the same. */
	ck_assert_uint_eq(way.losses, 1 + (unsigned)_i);
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
}

TEST(try_lasts_as_long_as_its_way_has_patience)
{
	cut();
	way.told(way.told_arg, NODES_UNREACHABLE, "lost");
	way.patience_ms = 1;
	knock();
	while (way.losses < 2)
		uv_run(&peer.loop, UV_RUN_ONCE);
	nodes_session_cycle(session);
	ck_assert_str_eq(look()->reason, "tried in vain");
	way.patience_ms = 60000;
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
}

TEST(link_that_is_still_on_its_way_is_not_decided)
{
	const char *reason;

	nodes_session_close(session);
	nodes_link_close(peer.link);
	ck_assert_int_eq(nodes_link_keep(&peer.link, &peer.loop, &by_program),
	    0);
	cut();
	way.told(way.told_arg, NODES_CONNECTING, "too many now");
	ck_assert_int_eq(nodes_link_state(peer.link, &reason),
	    NODES_CONNECTING);
	ck_assert_str_eq(reason, "far: too many now");
	knock();
	peer_serve(&peer);
	peer_turn(&peer);
	ck_assert_int_eq(nodes_link_state(peer.link, NULL), NODES_LIVE);
	session = open_session(&peer, &plain);
	peer_serve(&peer);
	peer_cycles(&peer, session, 3);
	assert_same(session, &model, "late", 0);
	way.gone--;
}

LOOP_TEST(stranger_is_told_from_a_node_that_talks_nonsense, 0, 2)
{
	static const char hello[] = "Welcome to this machine!\n";

	if (_i == 1) {
		cut();
		way.told(way.told_arg, NODES_UNREACHABLE, "lost");
		knock();
	}
	ck_assert_int_eq(write(peer.fd, hello, sizeof hello - 1),
	    sizeof hello - 1);
	while (way.losses <= (unsigned)_i)
		uv_run(&peer.loop, UV_RUN_ONCE);
	nodes_session_cycle(session);
	ck_assert_str_eq(look()->reason, _i == 1 ? "far: that is no node" :
	    "far: the node sent a frame longer than 64 KiB");
}

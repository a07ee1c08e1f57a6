/*
 * Links that are lost and come back, against a scripted node: what is shown
 * meanwhile, and where a session goes on.
 */
#include "reconnect_rig.h"

/* --- back-off ------------------------------------------------------------- */

CASE("reconnect", .setup = setup, .teardown = teardown);

TEST(waits_double_up_to_the_most_and_jitter_is_full)
{
	static const uint32_t longest[] = { 250, 500, 1000, 2000, 4000, 8000,
	    15000, 15000 };

	for (unsigned i = 0; i < BASE_NELEM(longest); i++) {
		ck_assert_uint_eq(retry_wait_ms(i, 15000, 0), 0);
		ck_assert_uint_eq(retry_wait_ms(i, 15000, longest[i]),
		    longest[i]);
		ck_assert_uint_eq(retry_wait_ms(i, 15000, longest[i] + 1), 0);
	}
	ck_assert_uint_le(retry_wait_ms(UINT32_MAX, 15000, UINT32_MAX), 15000);
	ck_assert_uint_le(retry_wait_ms(0, 100, UINT32_MAX), 100);
}

TEST(tries_in_vain_are_counted_and_the_last_reason_is_told)
{
	way.refuse = -ECONNREFUSED;
	way.wait_ms = 0;
	cut();
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_UNREACHABLE);
	ck_assert(!look()->link.up);
	ck_assert(look()->link.returns);
	ck_assert_str_eq(look()->reason, "the node has closed the link");
	for (unsigned i = 1; i <= 3; i++) {
		while (way.starts <= i)
			uv_run(&peer.loop, UV_RUN_ONCE);
		nodes_session_cycle(session);
		ck_assert_uint_eq(look()->link.tries, way.starts - 1);
		ck_assert_str_eq(look()->reason, "tried in vain");
	}
	way.refuse = 0;
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert(look()->link.up);
	ck_assert(!look()->link.returns);
}

TEST(what_is_gone_for_good_is_not_tried_again)
{
	way.for_good = true;
	cut();
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_UNREACHABLE);
	ck_assert(!look()->link.returns);
	ck_assert_int_eq(uv_run(&peer.loop, UV_RUN_NOWAIT), 0);
	ck_assert_uint_eq(way.starts, 1);
}

TEST(next_try_is_at_once_when_asked_for)
{
	cut();
	nodes_session_cycle(session);
	ck_assert_int_gt(look()->link.retry_ms, 3000000);
	nodes_link_retry(peer.link);
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
	/* Nothing is waited for: nothing happens. */
	nodes_link_retry(peer.link);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(way.starts, 2);
}

TEST(node_that_refuses_is_not_live_for_a_moment)
{
	struct wire_msg q;

	cut();
	nodes_session_cycle(session);
	knock();
	peer_turn(&peer);
	/* HELLO alone: who knows who this is. */
	ck_assert_uint_eq(peer.n, 1);
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_UNREACHABLE);
	q = peer_take(&peer, 0);
	ck_assert_int_eq(q.type, WIRE_HELLO);
	peer_error(&peer, q.id, WIRE_E_AUTH);
	peer_turn(&peer);
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_DENIED);
	ck_assert(look()->link.returns);
	assert_same(session, &model, "denied", 0);
	nodes_link_retry(peer.link);
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
}

TEST(link_that_is_back_returns_until_the_session_takes_it_up)
{
	cut();
	nodes_session_cycle(session);
	knock();
	peer_serve(&peer);
	ck_assert_int_eq(nodes_link_state(peer.link, NULL), NODES_LIVE);
	ck_assert(!look()->link.up);
	ck_assert(look()->link.returns);
	peer_cycles(&peer, session, 3);
	ck_assert(look()->link.up);
}

TEST(what_is_gone_for_good_is_tried_when_asked_for)
{
	ck_assert(!nodes_link_retry(peer.link));
	way.for_good = true;
	cut();
	nodes_session_cycle(session);
	way.for_good = false;
	ck_assert(nodes_link_retry(peer.link));
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
}

/* --- the same node -------------------------------------------------------- */

TEST(reading_goes_on_from_the_cursor)
{
	unsigned snaps = peer.snaps;

	model_alloc(&model, 0x3000, 30);
	peer_cycles(&peer, session, 1);
	cut();
	nodes_session_cycle(session);
	model_alloc(&model, 0x4000, 40);
	model_release(&model, 0x1000);
	come_back();
	assert_same(session, &model, "cursor", 0);
	ck_assert_uint_eq(peer.snaps, snaps);
	ck_assert_uint_eq(look()->work.total_records, 3);
	ck_assert(look()->complete && look()->settled);
	ck_assert_uint_eq(look()->loss.lost[STREAM_RESTART], 0);
}

TEST(loss_that_no_cycle_saw_is_noticed_all_the_same)
{
	model_alloc(&model, 0x3000, 30);
	nodes_session_cycle(session);
	peer_turn(&peer);
	ck_assert_int_ge(peer_find(&peer, WIRE_READ), 0);
	cut();
	knock();
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	assert_same(session, &model, "unseen", 0);
	ck_assert_uint_eq(look()->work.total_records, 1);
}

TEST(what_was_overwritten_meanwhile_is_counted_and_mended)
{
	unsigned snaps = peer.snaps;

	cut();
	nodes_session_cycle(session);
	for (unsigned i = 0; i < 20; i++)
		model_alloc(&model, 0x3000 + 16 * i, 8);
	model.overwritten = model.n - 5;
	come_back();
	assert_same(session, &model, "overwritten", 0);
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	ck_assert_uint_eq(look()->loss.lost[STREAM_OVERWRITTEN], 15);
	ck_assert_uint_eq(look()->work.total_records, 5);
	ck_assert(look()->complete);
}

LOOP_TEST(snapshot_that_was_cut_off_is_taken_anew, 0, 30)
{
	struct nodes_session_opts opts = plain;

	model.part_max = 1;
	opts.pid = 42;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	for (int i = 0; i < _i; i++) {
		peer_turn(&peer);
		if (peer.n == 0)
			nodes_session_cycle(session);
		else
			peer_answer(&peer, 0);
	}
	cut();
	model_release(&model, 0x1000);
	model_alloc(&model, 0x500, 5);
	nodes_session_cycle(session);
	come_back();
	peer_cycles(&peer, session, 2);
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert(look()->settled);
	assert_same(session, &model, "parts", (unsigned)_i);
}

TEST(ages_and_clock_stand_still_while_the_link_is_lost)
{
	int64_t now = look()->now_ms, wall = look()->node_wall_ms;

	cut();
	nodes_session_cycle(session);
	for (unsigned i = 0; i < 30; i++)
		nodes_session_cycle(session);
	ck_assert_int_eq(look()->now_ms, now);
	ck_assert_int_eq(look()->node_wall_ms, wall);
	ck_assert_int_ge(look()->stale_ms, 0);
	assert_same(session, &model, "picture", 0);
}

LOOP_TEST(an_end_stays_an_end_and_is_not_asked_for_again, 0, 2)
{
	unsigned snaps = peer.snaps;

	model.state = WIRE_S_ENDED;
	peer_cycles(&peer, session, 2);
	ck_assert_int_eq(look()->state, NODES_ENDED);
	if (_i == 1)
		restart(&model);
	cut();
	nodes_session_cycle(session);
	ck_assert_int_eq(look()->state, NODES_ENDED);
	come_back();
	peer_cycles(&peer, session, 20);
	ck_assert_int_eq(look()->state, NODES_ENDED);
	ck_assert(look()->link.up);
	ck_assert_uint_eq(peer.snaps, snaps);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, 2);
}

TEST(end_that_came_while_the_link_was_lost_is_told)
{
	cut();
	nodes_session_cycle(session);
	model_alloc(&model, 0x3000, 30);
	model.state = WIRE_S_ENDED;
	come_back();
	ck_assert_int_eq(look()->state, NODES_ENDED);
	assert_same(session, &model, "end", 0);
}

TEST(window_goes_on_as_a_window)
{
	static const struct nodes_view view = { .order = BLKLIST_BY_AGE,
		.rows = 4 };
	unsigned snaps;

	nodes_session_view(session, &view);
	for (unsigned i = 0; i < 20; i++)
		model_alloc(&model, 0x3000 + 16 * i, 8);
	model.overwritten = model.n - 2;
	peer_cycles(&peer, session, 2);
	ck_assert(look()->window);
	snaps = peer.snaps;
	cut();
	nodes_session_cycle(session);
	ck_assert(look()->window);
	model_alloc(&model, 0x9000, 8);
	model.stay += 1000000;
	come_back();
	ck_assert(look()->window);
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert_uint_eq(peer.snaps, snaps);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive,
	    blklist_counts(model.list)->aRecActive);
}

/* --- a node that was started anew ----------------------------------------- */

TEST(another_epoch_is_looked_up_by_name)
{
	unsigned no = look()->stream_no;

	cut();
	nodes_session_cycle(session);
	restart(&model);
	model_alloc(&model, 0x7000, 70);
	/* Its place in the table is another one. */
	peer.model[0] = &second;
	peer.model[1] = &model;
	second.gone = false;
	come_back();
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert_uint_ne(look()->stream_no, no);
	ck_assert_int_eq(look()->target.pid, 42);
	assert_same(session, &model, "name", 0);
}

TEST(what_the_old_keeper_had_and_nobody_read_is_lost_by_restart)
{
	/* Told by its numbers, a second before it was killed. */
	model_alloc(&model, 0x3000, 30);
	model.records = 7;
	for (unsigned i = 0; i < 20; i++) {
		nodes_session_cycle(session);
		peer_turn(&peer);
		for (size_t k = 0; k < peer.n;)
			if (peer.asked[k].type == WIRE_STAT)
				peer_answer(&peer, k);
			else
				k++;
		peer_turn(&peer);
	}
	cut();
	restart(&model);
	model.records = 0;
	nodes_session_cycle(session);
	come_back();
	assert_same(session, &model, "restart", 0);
	/* Two were in the snapshot. */
	ck_assert_uint_eq(look()->loss.lost[STREAM_RESTART], 5);
	ck_assert(look()->complete);
}

TEST(target_that_is_gone_is_told_and_waited_for)
{
	cut();
	nodes_session_cycle(session);
	restart(&model);
	model.gone = true;
	second.gone = false;
	model_alloc(&second, 0x1000, 1);
	come_back();
	ck_assert_int_eq(look()->state, NODES_NO_ALLOCLOG);
	ck_assert_ptr_nonnull(strstr(look()->reason, "restarted"));
	ck_assert_ptr_nonnull(strstr(look()->reason, "ALLOCLOG.model.42"));
	/* The last good picture stays; another target is not ours to choose. */
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, 2);
	peer_cycles(&peer, session, 40);
	ck_assert_int_eq(look()->state, NODES_NO_ALLOCLOG);
	/* It says hello again. */
	model.gone = false;
	model_alloc(&model, 0x5000, 1);
	peer_cycles(&peer, session, 20);
	ck_assert_int_eq(look()->state, NODES_LIVE);
	assert_same(session, &model, "hello", 0);
}

TEST(losses_of_another_keeper_are_counted_from_its_own_start)
{
	model.lost = 412;
	peer_cycles(&peer, session, 20);
	ck_assert(!look()->complete);
	cut();
	nodes_session_cycle(session);
	restart(&model);
	model.lost = 3;
	come_back();
	ck_assert(!look()->complete);
	ck_assert_uint_eq(look()->loss.lost[0], 3);
	cut();
	nodes_session_cycle(session);
	restart(&model);
	model.lost = 0;
	come_back();
	ck_assert(look()->complete);
}

TEST(numbers_of_a_place_that_means_another_stream_are_not_taken)
{
	model.state = WIRE_S_ENDED;
	peer_cycles(&peer, session, 2);
	cut();
	nodes_session_cycle(session);
	restart(&model);
	peer.model[0] = &second;
	second.gone = false;
	strcpy(second.comm, "other");
	come_back();
	peer_cycles(&peer, session, 40);
	ck_assert_int_eq(look()->state, NODES_ENDED);
	ck_assert_int_eq(look()->target.pid, 42);
	ck_assert_str_eq(look()->target.name, "model");
}

/* --- suite ---------------------------------------------------------------- */

/*
 * The session and a target that sleeps, or logs a sample only, against a
 * scripted node.
 */
#include "session_one.h"

static const struct nodes_session_opts looking = {
	.kind_given = true, .kind = BLKLIST_LITERAL, .max = 4096,
	.look_only = true,
};

CASE("rules", .setup = one_up, .teardown = one_down);

TEST(dormant_target_is_armed_by_being_opened)
{
	model_arm(&model, false);
	one_open(&plain, 1);
	ck_assert_uint_ge(peer.armed[WIRE_ARM_WATCH], 1);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_HOLD], 0);
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert(look()->settled);
	ck_assert(!look()->arming.pending);
	ck_assert_int_eq(look()->arming.since_wall_ms, (int64_t)model.armed_ms);
	model_alloc(&model, 0x1000, 10);
	peer_cycles(&peer, session, 1);
	assert_same(session, &model, "armed", 0);
}

TEST(free_of_what_came_before_is_earlier_and_no_error)
{
	model_arm(&model, false);
	one_open(&plain, 1);
	model_release(&model, 0x9000);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(blklist_counts(look()->list)->earlier, 1);
	ck_assert_uint_eq(blklist_counts(look()->list)->unknown_free, 0);
}

TEST(who_only_looks_arms_nothing)
{
	model_arm(&model, false);
	one_open(&looking, 1);
	peer_cycles(&peer, session, 3);
	ck_assert_int_eq(look()->state, NODES_DORMANT);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_WATCH], 0);
	/* Somebody else does, and that is seen. */
	model_arm(&model, true);
	model_alloc(&model, 0x1000, 10);
	peer_cycles(&peer, session, 40);
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert_int_ne(look()->arming.since_wall_ms, 0);
	assert_same(session, &model, "armed by another", 0);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_WATCH], 0);
}

TEST(target_that_another_has_armed_is_watched_too)
{
	model_arm(&model, true);
	one_open(&plain, 1);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_WATCH], 1);
	peer_cycles(&peer, session, 40);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_WATCH], 1);
	ck_assert_int_eq(look()->state, NODES_LIVE);
}

TEST(target_that_logs_since_its_start_is_not_armed)
{
	model_alloc(&model, 0x1000, 10);
	one_open(&plain, 1);
	peer_cycles(&peer, session, 20);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_WATCH], 0);
	ck_assert_int_eq(look()->arming.since_wall_ms, 0);
	assert_same(session, &model, "live", 0);
}

TEST(target_sent_to_sleep_by_another_is_not_armed_again)
{
	unsigned before;

	model_arm(&model, false);
	one_open(&plain, 1);
	model_alloc(&model, 0x1000, 10);
	peer_cycles(&peer, session, 1);
	before = peer.armed[WIRE_ARM_WATCH];
	model_arm(&model, false);
	peer_cycles(&peer, session, 40);
	ck_assert_int_eq(look()->state, NODES_DORMANT);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, 0);
	ck_assert_int_eq(look()->arming.since_wall_ms, 0);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_WATCH], before);
}

TEST(wish_is_asked_for_again_when_another_was_first)
{
	model_arm(&model, false);
	one_open(&looking, 1);
	ck_assert_int_eq(nodes_session_arm(session, WIRE_ARM_HOLD), 0);
	ck_assert(look()->arming.pending);
	ck_assert_int_eq(nodes_session_arm(session, WIRE_ARM_OFF), -EBUSY);
	peer_turn(&peer);
	model_arm(&model, true);
	peer_serve(&peer);
	peer_cycles(&peer, session, 3);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_HOLD], 1);
	ck_assert(!look()->arming.pending);
	ck_assert_int_eq(look()->arming.error, 0);
	ck_assert_int_eq(look()->state, NODES_LIVE);
}

TEST(hold_and_sleep_are_said_by_their_states)
{
	model_arm(&model, false);
	one_open(&looking, 1);
	ck_assert_int_eq(nodes_session_arm(session, WIRE_ARM_HOLD), 0);
	peer_serve(&peer);
	ck_assert_int_eq(look()->state, NODES_LIVE);
	ck_assert_int_eq(nodes_session_arm(session, WIRE_ARM_OFF), 0);
	peer_serve(&peer);
	ck_assert_int_eq(look()->state, NODES_DORMANT);
	ck_assert(!look()->arming.pending);
	ck_assert_uint_eq(peer.armed[WIRE_ARM_OFF], 1);
}

TEST(refusal_is_told_and_the_target_sleeps_on)
{
	peer.may_not_arm = true;
	model_arm(&model, false);
	one_open(&looking, 1);
	ck_assert_int_eq(nodes_session_arm(session, WIRE_ARM_HOLD), 0);
	peer_serve(&peer);
	ck_assert(!look()->arming.pending);
	ck_assert_int_eq(look()->arming.error, -EPERM);
	ck_assert_int_eq(look()->state, NODES_DORMANT);
}

TEST(lost_link_ends_the_waiting_for_an_answer)
{
	model_arm(&model, false);
	one_open(&looking, 1);
	ck_assert_int_eq(nodes_session_arm(session, WIRE_ARM_HOLD), 0);
	peer_turn(&peer);
	peer_hang_up(&peer);
	peer_turn(&peer);
	nodes_session_cycle(session);
	ck_assert(!look()->arming.pending);
	ck_assert_int_ne(look()->arming.error, 0);
}

TEST(sample_makes_the_list_an_estimate)
{
	model.sample = 512 * 1024;
	model_alloc(&model, 0x1000, 1024);
	one_open(&plain, 1);
	ck_assert_uint_eq(look()->sample, 512 * 1024);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, 1);
	ck_assert_uint_ge(blklist_counts(look()->list)->est_blocks, 512);
	model_alloc(&model, 0x2000, 1024);
	model_release(&model, 0x1000);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_ge(blklist_counts(look()->list)->est_blocks, 512);
	ck_assert_uint_le(blklist_counts(look()->list)->est_blocks, 513);
}

/* The numbers come behind the first part: what is listed counts anew. */
TEST(late_word_of_a_sample_takes_the_list_anew)
{
	int i;

	model.sample = 512 * 1024;
	model_alloc(&model, 0x1000, 1024);
	session = open_session(&peer, &plain);
	for (;;) {
		peer_turn(&peer);
		if (peer.n == 0)
			break;
		for (i = 0; i < (int)peer.n; i++)
			if (peer.asked[i].type != WIRE_STAT)
				break;
		peer_answer(&peer, i < (int)peer.n ? (size_t)i : 0);
	}
	peer_cycles(&peer, session, 2);
	assert_same(session, &model, "sampled", 0);
	ck_assert_uint_ge(blklist_counts(look()->list)->est_blocks, 512);
}

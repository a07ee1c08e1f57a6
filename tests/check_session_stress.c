/*
 * Heap stress of the node's machine, as a session has it from a scripted node.
 */
#include <signal.h>
#include <string.h>

#include "../src/base/base.h"
#include "session_one.h"

static const struct nodes_stress *
stress(void)
{
	return nodes_session_stress(session);
}

static void
setup(void)
{
	one_up();
	peer.stress = (struct stress_sample){ .source = STRESS_FILE,
		.requests_known = true, .requests = 5000 };
	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		peer.stress.known[i] = true;
		peer.stress.level[i] = 100 * (i + 1);
	}
	peer.stress_reader = 7;
}

static void
ask(void)
{
	ck_assert_int_eq(nodes_session_ask_stress(session, 0), 0);
	ck_assert(stress()->pending);
	ck_assert_int_eq(nodes_session_ask_stress(session, 0), -EBUSY);
	peer_serve(&peer);
	ck_assert(!stress()->pending);
}

CASE("session_stress", .setup = setup, .teardown = one_down);

TEST(a_sample_comes_with_its_kernel_and_reasons)
{
	peer.stress_why[0] = "the first source is locked";
	peer.stress_why[1] = "so is \033 the second";
	one_open(&plain, 2);
	ck_assert_uint_eq(stress()->no, 0);
	ck_assert_int_eq(stress()->error, -EAGAIN);
	ask();
	ck_assert_int_eq(stress()->error, 0);
	ck_assert_uint_eq(stress()->no, 1);
	ck_assert_uint_eq(stress()->sample.source, STRESS_FILE);
	ck_assert_uint_eq(stress()->sample.level[3], 400);
	ck_assert_uint_eq(stress()->sample.requests, 5000);
	ck_assert(!stress()->sample.pressure_known);
	ck_assert_str_eq(stress()->kernel, "6.1.0-test");
	ck_assert_str_eq(stress()->why,
	    "the first source is locked; so is \\x1B the second");
	ck_assert_int_eq(stress()->at_ms, PEER_MS);
	ck_assert_int_eq(stress()->now_ms, PEER_MS + 3);
	ask();
	ck_assert_uint_eq(stress()->no, 2);
}

TEST(an_older_node_has_none_and_the_reason_is_said)
{
	peer.has_no_stress = true;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(stress()->error, -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(stress()->error_why, "older"));
	ck_assert_uint_eq(stress()->no, 0);
	peer.has_no_stress = false;
	ask();
	ck_assert_int_eq(stress()->error, 0);
	ck_assert_str_eq(stress()->error_why, "");
}

TEST(without_a_stream_there_is_stress_all_the_same)
{
	model.gone = true;
	one_open(&(struct nodes_session_opts){ .node_only = true }, 1);
	ask();
	ck_assert_int_eq(stress()->error, 0);
}

TEST(a_question_may_wait_and_a_failure_was_not_woken)
{
	one_open(&plain, 2);
	peer.stress_woken = true;
	ck_assert_int_eq(nodes_session_ask_stress(session, 700), 0);
	peer_serve(&peer);
	ck_assert_uint_eq(peer.stress_wait_ms, 700);
	ck_assert(stress()->woken);
	peer.has_no_stress = true;
	ask();
	ck_assert(!stress()->woken);
}

TEST(totals_go_on_when_the_node_is_started_again)
{
	one_open(&plain, 2);
	ask();
	peer.stress.level[0] = 120;
	ask();
	/* Its file had 5 more since the last node's reading. */
	memset(peer.stress.level, 0, sizeof peer.stress.level);
	peer.stress.level[0] = 5;
	peer.stress.requests = 10;
	peer.stress_reader = 8;
	ask();
	ck_assert_uint_eq(stress()->sample.level[0], 125);
	ck_assert_uint_eq(stress()->sample.level[5], 600);
	ck_assert_uint_eq(stress()->sample.changes, 1);
	peer.stress.level[0] = 6;
	ask();
	ck_assert_uint_eq(stress()->sample.level[0], 126);
	ck_assert_uint_eq(stress()->sample.changes, 1);
}

static const struct {
	const char *bytes;
	size_t len;
	int error;
} bad[] = {
	{ "\5other\1\7", 8, -EPROTO },
	{ "\4fil", 4, -EIO },
	{ "\4file\1", 6, -EIO },
	{ "\4file\1\x80", 7, -EIO },
	{ "\4file\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 16, -EIO },
};

LOOP_TEST(bad_samples_are_refused_and_the_last_one_stays, 0, BASE_NELEM(bad))
{
	one_open(&plain, 2);
	ask();
	peer.stress_bytes = (struct wire_bytes){
		.p = (const uint8_t *)bad[_i].bytes, .len = bad[_i].len };
	ask();
	ck_assert_int_eq(stress()->error, bad[_i].error);
	ck_assert_uint_gt(strlen(stress()->error_why), 0);
	ck_assert_uint_eq(stress()->no, 1);
	ck_assert_uint_eq(stress()->sample.level[0], 100);
}

TEST(a_question_on_a_lost_link_has_an_end)
{
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_ask_stress(session, 0), 0);
	signal(SIGPIPE, SIG_IGN);
	peer_hang_up(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(!stress()->pending);
	ck_assert_int_lt(stress()->error, 0);
	ck_assert_uint_gt(strlen(stress()->error_why), 0);
	ck_assert_uint_eq(stress()->sample.level[0], 100);
	ck_assert_int_eq(nodes_session_ask_stress(session, 0), -ENOTCONN);
}

TEST(another_stream_has_the_same_machine)
{
	struct nodes_session_opts opts = { .stream = model.name };

	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_ask_stress(session, 0), 0);
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	ck_assert(!stress()->pending);
	ck_assert_int_eq(stress()->error, -EAGAIN);
	ck_assert_uint_eq(stress()->no, 1);
	peer_cycles(&peer, session, 3);
	ask();
	ck_assert_uint_eq(stress()->no, 2);
}

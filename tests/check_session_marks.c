/*
 * What a session knows of the node's marks, against a scripted node.
 */
#include <signal.h>

#include "../src/base/base.h"
#include "session_one.h"

static const struct nodes_marks *
marks(void)
{
	return nodes_session_marks(session);
}

static void
setup(void)
{
	one_up();
	for (unsigned i = 0; i < 50; i++)
		model_alloc(&model, 0x100000 + 64 * i, 10 + i);
}

CASE("marks", .setup = setup, .teardown = one_down);

TEST(a_mark_is_set_and_told)
{
	one_open(&plain, 2);
	ck_assert(!marks()->known && marks()->n == 0);
	ck_assert_int_eq(nodes_session_set_mark(session, "deploy-42"), 0);
	ck_assert(marks()->pending);
	ck_assert_int_eq(nodes_session_set_mark(session, "other"), -EBUSY);
	peer_serve(&peer);
	ck_assert(!marks()->pending && marks()->known);
	ck_assert_int_eq(marks()->error, 0);
	ck_assert_uint_eq(marks()->n, 1);
	ck_assert_ptr_nonnull(nodes_marks_find(marks(), "deploy-42"));
	ck_assert_uint_eq(marks()->at[0].seq, 50);
	ck_assert_uint_eq(marks()->at[0].blocks, 50);
	ck_assert_ptr_null(nodes_marks_find(marks(), "deploy"));
}

TEST(they_are_asked_for_when_somebody_wants_them)
{
	one_open(&plain, 3 * NODES_HZ);
	ck_assert(!marks()->known);
	ck_assert_int_eq(nodes_session_ask_marks(session), 0);
	peer_serve(&peer);
	ck_assert(marks()->known);
	ck_assert_uint_eq(marks()->n, 0);
}

TEST(an_older_node_has_none)
{
	peer.has_no_marks = true;
	one_open(&plain, 2);
	ck_assert_int_eq(nodes_session_set_mark(session, "a"), 0);
	peer_serve(&peer);
	ck_assert(!marks()->known && !marks()->pending);
	ck_assert_int_eq(marks()->error, -ENOTSUP);
}

/* Names and senders are outside data. */
TEST(texts_are_safe_for_a_terminal)
{
	struct wire_named_mark *m = &model.mark[model.marks++];

	*m = (struct wire_named_mark){ .name = "a\033[2Jb", .who = "x\n\xff" };
	one_open(&plain, 2);
	ck_assert_int_eq(nodes_session_ask_marks(session), 0);
	peer_serve(&peer);
	ck_assert_str_eq(marks()->at[0].name, "a\\x1B[2Jb");
	ck_assert_str_eq(marks()->at[0].who, "x\\x0A\\xFF");
}

TEST(a_question_on_a_lost_link_has_an_end)
{
	one_open(&plain, 2);
	ck_assert_int_eq(nodes_session_set_mark(session, "a"), 0);
	signal(SIGPIPE, SIG_IGN);
	peer_hang_up(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(!marks()->pending);
	ck_assert_int_lt(marks()->error, 0);
}

TEST(another_stream_has_other_marks)
{
	struct nodes_session_opts opts = { .stream = model.name };

	one_open(&plain, 2);
	ck_assert_int_eq(nodes_session_set_mark(session, "a"), 0);
	peer_serve(&peer);
	ck_assert_uint_eq(marks()->n, 1);
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	ck_assert(!marks()->known && marks()->n == 0);
}

TEST(without_a_stream_there_is_nothing_to_ask)
{
	session = open_session(&peer, &plain);
	ck_assert_int_eq(nodes_session_ask_marks(session), -ENOENT);
}

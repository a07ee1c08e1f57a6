/*
 * A session's copy of the node's counts, against a scripted node.
 */
#include <signal.h>
#include <string.h>

#include "../src/base/base.h"
#include "session_one.h"

#define USED_ROWS 1200	/* three portions */

static struct usage_row row[USED_ROWS];

static const struct nodes_usage *
usage(void)
{
	return nodes_session_usage(session);
}

static void
setup(void)
{
	one_up();
	for (unsigned i = 0; i < USED_ROWS; i++)
		row[i] = (struct usage_row){ .caller = 0x400000 + i, .size = i,
			.allocs = 1, .then_bytes = UINT64_MAX,
			.type = TYPE_MALLOC, .kind = USAGE_ROUNDED };
	model.usage = row;
	model.usages = USED_ROWS;
}

/* A row has padding. */
static bool
same_rows_as_sent(void)
{
	uint8_t a[USAGE_ROW_SIZE], b[USAGE_ROW_SIZE];

	for (size_t i = 0; i < USED_ROWS; i++) {
		usage_row_put(a, &usage()->row[i]);
		usage_row_put(b, &row[i]);
		if (memcmp(a, b, sizeof a) != 0)
			return false;
	}
	return true;
}

static void
ask(void)
{
	ck_assert_int_eq(nodes_session_ask_usage(session), 0);
	ck_assert(usage()->pending);
	ck_assert_int_eq(nodes_session_ask_usage(session), -EBUSY);
	peer_serve(&peer);
	ck_assert(!usage()->pending);
}

CASE("usage", .setup = setup, .teardown = one_down);

TEST(a_copy_comes_in_portions)
{
	one_open(&plain, 2);
	ck_assert_uint_eq(usage()->no, 0);
	ask();
	ck_assert_int_eq(usage()->error, 0);
	ck_assert_uint_eq(usage()->n, USED_ROWS);
	ck_assert(same_rows_as_sent());
	ck_assert_uint_eq(usage()->totals.allocs, 4711);
	ck_assert_uint_eq(usage()->totals.peak_bytes, 0);
	ck_assert_int_eq(usage()->since_ms, 900);
	ck_assert_uint_eq(usage()->lost, 5);
	ck_assert_str_eq(usage()->lacks, "5 records were \\x1B lost");
	ck_assert_uint_eq(usage()->no, 1);
	model.usages = 3;
	ask();
	ck_assert_uint_eq(usage()->n, 3);
	ck_assert_uint_eq(usage()->no, 2);
	model.usages = 0;
	ask();
	ck_assert_uint_eq(usage()->n, 0);
	ck_assert_int_eq(usage()->error, 0);
}

TEST(an_older_node_has_none_and_the_reason_is_said)
{
	peer.has_no_usage = true;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(usage()->error, -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(usage()->why, "older"));
	ck_assert_uint_eq(usage()->no, 0);
}

TEST(a_copy_of_two_halves_is_asked_for_again)
{
	model.usage_anew = 1;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(usage()->error, 0);
	ck_assert_uint_eq(usage()->n, USED_ROWS);
	ck_assert(same_rows_as_sent());
}

TEST(one_that_never_ends_does)
{
	model.usage_anew = 1000;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(usage()->error, -ESTALE);
	ck_assert_uint_eq(usage()->no, 0);
	ck_assert_uint_gt(strlen(usage()->why), 0);
	model.usage_anew = 0;
	ask();
	ck_assert_int_eq(usage()->error, 0);
}

TEST(bad_rows_are_refused_and_the_last_copy_stays)
{
	one_open(&plain, 2);
	ask();
	row[700].kind = USAGE_UNKNOWN + 1;
	ask();
	ck_assert_int_eq(usage()->error, -EIO);
	ck_assert_uint_eq(usage()->no, 1);
	ck_assert_uint_eq(usage()->n, USED_ROWS);
	ck_assert_uint_eq(usage()->row[700].kind, USAGE_ROUNDED);
}

TEST(nobody_looks_any_more)
{
	one_open(&plain, 2);
	ask();
	nodes_session_end_usage(session);
	ck_assert(!usage()->pending);
	peer_serve(&peer);
	ck_assert_uint_eq(usage()->n, USED_ROWS);
	ask();
	ck_assert_uint_eq(usage()->no, 2);
}

/* Within three portions: the end is told after the first, and the rest not asked. */
TEST(nobody_looks_any_more_while_a_copy_is_on_its_way)
{
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_ask_usage(session), 0);
	nodes_session_end_usage(session);
	ck_assert(!usage()->pending);
	peer_serve(&peer);
	ck_assert_uint_eq(model.usage_ends, 1);
	ck_assert_uint_eq(usage()->no, 1);
	ask();
	ck_assert_uint_eq(usage()->no, 2);
	/* Somebody looks again before that. */
	ck_assert_int_eq(nodes_session_ask_usage(session), 0);
	nodes_session_end_usage(session);
	ck_assert_int_eq(nodes_session_ask_usage(session), -EBUSY);
	ck_assert(usage()->pending);
	peer_serve(&peer);
	ck_assert_uint_eq(model.usage_ends, 1);
	ck_assert_uint_eq(usage()->no, 3);
}

TEST(a_question_on_a_lost_link_has_an_end)
{
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_ask_usage(session), 0);
	signal(SIGPIPE, SIG_IGN);
	peer_hang_up(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(!usage()->pending);
	ck_assert_int_lt(usage()->error, 0);
	ck_assert_uint_eq(usage()->n, USED_ROWS);
}

TEST(another_stream_has_other_counts)
{
	struct nodes_session_opts opts = { .stream = model.name };

	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	ck_assert_uint_eq(usage()->no, 0);
	ck_assert_uint_eq(usage()->n, 0);
	peer_cycles(&peer, session, 3);
	ask();
	ck_assert_uint_eq(usage()->no, 2);
}

TEST(without_a_stream_there_is_nothing_to_ask)
{
	session = open_session(&peer, &plain);
	ck_assert_int_eq(nodes_session_ask_usage(session), -ENOENT);
	nodes_session_end_usage(session);
	ck_assert(!usage()->pending);
}

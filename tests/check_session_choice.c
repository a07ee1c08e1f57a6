/*
 * A page of a node that has nobody to watch yet: it shows the node itself, and
 * goes to the first target that comes, unless it was told otherwise.
 */
#include <stdio.h>

#include "node_harness.h"
#include "watcher.h"

#define TURN_MS 2		/* between cycles: nobody looks at this page */

/* A node with its own stream alone, and a page of it. */
static void
up(const char *stream, bool own)
{
	struct nodes_session_opts opts = { .max = 4096, .stream = stream };
	struct keeper *k;
	int fds[2];

	node_up(&(struct node_opts){ .fd = -1, .daemon = true });
	k = new_keeper("ALLOCLOG", 0);
	/* A generator is a target; the node itself is none. */
	if (own)
		node.own_stream = k;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, fds), 0);
	ck_assert_int_eq(serve_add(&node, fds[0]), 0);
	ck_assert_int_eq(nodes_link_open(&link_, &loop, fds[1]), 0);
	watcher_begin(&loop, &opts, TURN_MS);
	UNTIL(look()->state == NODES_LIVE && look()->settled);
	ck_assert_int_eq(look()->target.pid, 0);
}

static void
down(void)
{
	watcher_end();
	node_down();
}

/* Long enough for what would happen within a second. */
static void
some_turns(void)
{
	unsigned until = turns + 4 * NODES_HZ;

	UNTIL(turns >= until);
}

CASE("session_choice", .seconds = 60);

TEST(the_first_target_that_comes_is_watched)
{
	struct keeper *k;

	up(NULL, true);
	some_turns();
	ck_assert_int_eq(look()->target.pid, 0);
	k = new_keeper("ALLOCLOG.target.42", 42);
	take(k, allocation(0x1000, 77));
	UNTIL(look()->target.pid == 42 &&
	    blklist_counts(look()->list)->aRecActive == 1);
	ck_assert_ptr_nonnull(strstr(look()->reason, "has started"));
	/* There it stays. */
	k = new_keeper("ALLOCLOG.other.43", 43);
	take(k, allocation(0x1000, 99999));
	some_turns();
	ck_assert_int_eq(look()->target.pid, 42);
	down();
}

TEST(somebody_who_looks_is_not_taken_elsewhere)
{
	up(NULL, true);
	nodes_session_stay(session, true);
	new_keeper("ALLOCLOG.target.42", 42);
	some_turns();
	ck_assert_int_eq(look()->target.pid, 0);
	nodes_session_stay(session, false);
	UNTIL(look()->target.pid == 42);
	down();
}

TEST(a_stream_that_was_named_is_not_left)
{
	up("ALLOCLOG", true);
	new_keeper("ALLOCLOG.target.42", 42);
	some_turns();
	ck_assert_int_eq(look()->target.pid, 0);
	down();
}

TEST(a_generator_is_not_left)
{
	up(NULL, false);
	new_keeper("ALLOCLOG.target.42", 42);
	some_turns();
	ck_assert_int_eq(look()->target.pid, 0);
	down();
}

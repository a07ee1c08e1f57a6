/*
 * A page of a generator that makes more records at once than the node retains:
 * what was overwritten is counted, and the list taken anew is the generator's.
 */
#include <stdio.h>

#include "node_harness.h"
#include "watcher.h"

#define BLOCKS 16384		/* more than the generator has at any time */

static void
setup(void)
{
	static const struct nodes_session_opts opts = { .max = 0 };
	struct node_opts of_demo = demo_opts("flood", NULL, NULL);
	int fds[2];

	node_up(&of_demo);
	ck_assert_int_eq(demo_start(&node), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, fds), 0);
	ck_assert_int_eq(serve_add(&node, fds[0]), 0);
	ck_assert_int_eq(nodes_link_open(&link_, &loop, fds[1]), 0);
	watcher_begin(&loop, &opts, 67);
}

static void
teardown(void)
{
	watcher_end();
	node_down();
}

static void
assert_same(const struct blklist *a, const struct blklist *b)
{
	static struct blk x[BLOCKS], y[BLOCKS];
	size_t n = blklist_window(a, BLKLIST_BY_AGE, false, 0, x, BLOCKS);

	ck_assert_uint_gt(n, 0);
	ck_assert_uint_lt(n, BLOCKS);
	ck_assert_uint_eq(blklist_window(b, BLKLIST_BY_AGE, false, 0, y,
	    BLOCKS), n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(x[i].addr, y[i].addr);
		ck_assert_uint_eq(x[i].size, y[i].size);
		ck_assert_uint_eq(x[i].seq, y[i].seq);
		ck_assert_int_eq(x[i].ms, y[i].ms);
	}
}

CASE("flood", .setup = setup, .teardown = teardown, .seconds = 60);

TEST(an_overrun_is_counted_and_the_list_is_then_the_generators)
{
	struct keeper *k = TAILQ_FIRST(&node.live);
	uint64_t base, sum = 0;

	UNTIL(look()->state == NODES_LIVE && look()->settled);
	base = keeper_next(k) - look()->work.total_records;
	UNTIL(look()->loss.mended > 0 && look()->settled);
	ck_assert_uint_gt(keeper_next(k) - base, STREAM_QUEUE_RECORDS);
	ck_assert(look()->complete);
	/* Read up to its end, and nothing written since. */
	k->source.make = NULL;
	UNTIL(look()->settled && look()->work.cycle_records == 0);
	nodes_session_cycle(session);
	UNTIL(look()->settled && look()->work.cycle_records == 0);
	assert_same(look()->list, k->list);
	for (unsigned c = 1; c < STREAM_CAUSES; c++)
		sum += look()->loss.lost[c];
	ck_assert_uint_gt(sum, 0);
	ck_assert_uint_eq(look()->work.total_records + sum, keeper_next(k) - base);
	ck_assert_uint_eq(keeper_lost(k), 0);
}

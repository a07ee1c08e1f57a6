/* Which target has started which, and the sums of each tree. */
#include <string.h>

#include "../src/nodes/link/link.h"
#include "harness.h"

#define MOST 5000

static struct nodes_target t[MOST];
static struct nodes_branch branch[MOST];
static size_t n, branches;

static void
begin(void)
{
	memset(t, 0, sizeof t);
	n = 0;
}

/* A live target, in the table behind the others. */
static struct nodes_target *
add(pid_t pid, pid_t starter, int64_t started, uint64_t bytes)
{
	struct nodes_target *one = &t[n];

	one->index = (uint32_t)n++;
	one->pid = pid;
	one->starter = one->ppid = starter;
	one->started_ms = started;
	one->state = WIRE_S_LIVE;
	one->n[WIRE_N_EST_BYTES] = one->n[WIRE_N_LIVE_BYTES] = bytes;
	one->n[WIRE_N_EST_BLOCKS] = one->n[WIRE_N_LIVE_BLOCKS] = 1;
	one->n[WIRE_N_PEAK_BYTES] = 2 * bytes;
	return one;
}

static void
end(struct nodes_target *one, uint32_t state, int64_t ms)
{
	one->state = state;
	one->ended_ms = ms;
	one->ended = true;
}

/* "10 .11 ..12": the pids in order, with a point for each level. */
static const char *
tree(void)
{
	static char text[2048];
	size_t len = 0;

	text[0] = '\0';
	branches = nodes_tree(t, n, branch);
	for (size_t i = 0; i < branches; i++)
		base_append(text, sizeof text, &len, "%s%.*s%d%s",
		    i > 0 ? " " : "", (int)branch[i].depth, "..........",
		    (int)t[branch[i].at].pid,
		    t[branch[i].at].state == WIRE_S_EXECED ? "x" : "");
	return text;
}

CASE("tree", .setup = begin);

TEST(parents_come_before_children_in_the_order_of_their_start)
{
	add(12, 11, 30, 1);
	add(13, 10, 40, 2);
	add(10, 1, 10, 4);
	add(11, 10, 20, 8);
	add(0, 0, 0, 1000);
	ck_assert_str_eq(tree(), "10 .11 ..12 .13");
	ck_assert_uint_eq(branch[0].below, 3);
	ck_assert_uint_eq(branch[1].below, 1);
	ck_assert_uint_eq(branch[2].below, 0);
	ck_assert_uint_eq(branch[2].parent, 1);
	ck_assert_uint_eq(branch[3].parent, 0);
	ck_assert_uint_eq(branch[0].sum.bytes, 15);
	ck_assert_uint_eq(branch[0].sum.blocks, 4);
	ck_assert_uint_eq(branch[0].sum.peaks, 30);
	ck_assert_uint_eq(branch[0].sum.processes, 4);
	ck_assert_uint_eq(branch[1].sum.bytes, 9);
}

TEST(parent_is_who_started_it_even_if_it_has_ended)
{
	end(add(10, 1, 10, 4), WIRE_S_ENDED, 5000);
	add(11, 10, 20, 8)->ppid = 1;
	ck_assert_str_eq(tree(), "10 .11");
	ck_assert_uint_eq(branch[0].sum.bytes, 8);
	ck_assert_uint_eq(branch[0].sum.ended, 1);
	ck_assert(branch[0].live_below);
	/* No live one holds anything below the others. */
	ck_assert(!branch[1].live_below);
}

TEST(children_are_below_the_last_image_of_a_process)
{
	end(add(10, 1, 10, 4), WIRE_S_EXECED, 25);
	add(11, 10, 20, 8);
	end(add(10, 1, 10, 4), WIRE_S_EXECED, 28);
	add(10, 1, 10, 16);
	ck_assert_str_eq(tree(), "10x 10x 10 .11");
	ck_assert_uint_eq(branch[2].sum.bytes, 24);
	ck_assert_uint_eq(branch[0].sum.bytes, 0);
}

TEST(pid_that_is_used_again_is_another_process)
{
	/* 10 ended before 11 began; the second 10 began after 12. */
	end(add(10, 1, 10, 4), WIRE_S_ENDED, 1000);
	add(11, 10, 60000, 8);
	add(12, 10, 70000, 8);
	add(10, 1, 80000, 4);
	add(13, 10, 90000, 8);
	ck_assert_str_eq(tree(), "10 11 12 10 .13");
}

TEST(without_times_the_pid_decides)
{
	add(11, 10, 0, 8);
	add(10, 1, 0, 4);
	ck_assert_str_eq(tree(), "10 .11");
}

TEST(circles_are_broken)
{
	add(10, 11, 0, 1);
	add(11, 10, 0, 2);
	add(12, 12, 0, 4);
	add(13, 11, 0, 8);
	tree();
	ck_assert_uint_eq(branches, 4);
	for (size_t i = 0; i < branches; i++)
		ck_assert(branch[i].parent == NODES_NO_PARENT ||
		    branch[i].parent < i);
}

TEST(sum_says_what_is_not_known)
{
	add(10, 1, 10, 4);
	add(11, 10, 20, 8)->n[WIRE_N_LOST] = 3;
	add(12, 10, 30, 16)->state = WIRE_S_NO_DATA;
	add(13, 10, 40, 32)->state = WIRE_S_DORMANT;
	end(add(14, 10, 50, 64), WIRE_S_NO_DATA, 60);
	add(15, 10, 60, 128)->n[WIRE_N_SAMPLE] = 4096;
	tree();
	ck_assert_uint_eq(branch[0].sum.bytes, 4 + 8 + 128);
	ck_assert_uint_eq(branch[0].sum.processes, 3);
	ck_assert_uint_eq(branch[0].sum.incomplete, 1);
	ck_assert_uint_eq(branch[0].sum.unknown, 2);
	ck_assert_uint_eq(branch[0].sum.ended, 1);
	ck_assert(branch[0].sum.sampled);
	/* The estimate of its peak is what counts. */
	ck_assert_uint_eq(branch[0].sum.peaks, 8 + 16);
}

TEST(deep_chain_and_more_targets_than_any_node_has)
{
	for (pid_t i = 0; i < 4096; i++)
		add(10 + i, 9 + i, 10 + i, 1);
	branches = nodes_tree(t, n, branch);
	ck_assert_uint_eq(branch[4095].depth, 4095);
	ck_assert_uint_eq(branch[0].sum.processes, 4096);
	add(5000, 10, 9999, 1);
	branches = nodes_tree(t, n, branch);
	ck_assert_uint_eq(branches, 4097);
	ck_assert_uint_eq(branch[1].depth, 0);
}

CASE("names", .setup = begin);

TEST(newer_is_the_live_one_then_the_later_start_then_the_later_image)
{
	struct nodes_target *ended = add(10, 1, 90, 1), *old = add(11, 1, 20, 1),
	    *new = add(12, 1, 30, 1), *image = add(12, 1, 30, 1);

	end(ended, WIRE_S_ENDED, 100);
	ck_assert(nodes_target_is_newer(old, ended));
	ck_assert(!nodes_target_is_newer(ended, old));
	ck_assert(nodes_target_is_newer(new, old));
	ck_assert(!nodes_target_is_newer(old, new));
	end(new, WIRE_S_EXECED, 40);
	end(image, WIRE_S_ENDED, 50);
	ck_assert(nodes_target_is_newer(image, new));
	ck_assert(!nodes_target_is_newer(new, image));
}

/* Lists of three nodes, each asked in its turn. */
TEST(the_newest_of_a_command_is_that_of_any_node)
{
	struct nodes_target best = { .pid = 0 }, *ended = add(10, 1, 90, 1),
	    *old = add(11, 1, 20, 1), *new = add(12, 1, 30, 1);

	for (size_t i = 0; i < n; i++)
		strcpy(t[i].comm, "server");
	end(ended, WIRE_S_ENDED, 100);
	ck_assert(!nodes_target_take_newest(&best, t, 0, "server"));
	ck_assert(!nodes_target_take_newest(&best, t, n, "client"));
	ck_assert_int_eq(best.pid, 0);
	ck_assert(nodes_target_take_newest(&best, ended, 1, "server"));
	ck_assert(nodes_target_take_newest(&best, new, 1, "server"));
	ck_assert(!nodes_target_take_newest(&best, old, 1, "server"));
	ck_assert(!nodes_target_take_newest(&best, ended, 1, "server"));
	ck_assert_int_eq(best.pid, 12);
	/* Of those that have ended, too. */
	end(new, WIRE_S_ENDED, 110);
	best.pid = 0;
	ck_assert(nodes_target_take_newest(&best, new, 1, "server"));
	ck_assert(nodes_target_take_newest(&best, ended, 1, "server"));
	ck_assert_int_eq(best.pid, 10);
}

/* As the node got it of the kernel; what a user types. */
static const struct {
	const char *comm, *typed;
	bool same;
} commands[] = {
	{ "my server", "my server", true },
	{ "my server", "my", false },
	{ "a:b", "a:b", true },
	{ "c\\x0Ad", "c\nd", true },
	{ "c\\x0Ad", "c\\x0Ad", true },
	{ "a_long_name_of_", "a_long_name_of_a_server", true },
	{ "a_long_name_of_", "a_long_name_of", false },
	/* Cut in a letter, which leaves a byte that is none. */
	{ "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\\",
	    "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc",
	    true },
};

LOOP_TEST(a_command_is_found_as_it_is_called, 0, BASE_NELEM(commands))
{
	struct nodes_target *one = add(10, 1, 20, 1);

	strcpy(one->comm, commands[_i].comm);
	ck_assert_msg(nodes_target_is_command(one, commands[_i].typed) ==
	    commands[_i].same, "%s", commands[_i].typed);
}

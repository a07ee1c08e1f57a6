/*
 * The bridge, between a page and a node that are both this test: what goes
 * through, how much may wait, and when it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/nodes/bridge/bridge.h"
#include "../src/nodes/nodes.h"
#include "harness.h"

static struct {
	int in, out, node;		/* the test's ends */
	int bridge[3];
	const char *first;
	pthread_t thread;
	int result;
} b;

static void *
run(void *arg)
{
	(void)arg;
	b.result = bridge_pass(b.bridge[0], b.bridge[1], b.bridge[2],
	    (const uint8_t *)b.first, strlen(b.first));
	for (int i = 0; i < 3; i++)
		close(b.bridge[i]);
	return NULL;
}

static void
bridge_up(const char *first)
{
	int in[2], out[2], node[2];

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    node), 0);
	b.in = in[1];
	b.out = out[0];
	b.node = node[0];
	b.bridge[0] = in[0];
	b.bridge[1] = out[1];
	b.bridge[2] = node[1];
	b.first = first;
	ck_assert_int_eq(pthread_create(&b.thread, NULL, run, NULL), 0);
}

/* It must have ended, or end now, by itself. */
static void
bridge_ends(void)
{
	ck_assert_int_eq(pthread_join(b.thread, NULL), 0);
	ck_assert_int_eq(b.result, 0);
}

static void
get(int fd, const char *want)
{
	char have[64];
	size_t len = strlen(want), at = 0;

	while (at < len) {
		ssize_t n = read(fd, have + at, len - at);

		ck_assert_int_gt(n, 0);
		at += (size_t)n;
	}
	ck_assert_mem_eq(have, want, len);
}

static void
put(int fd, const char *text)
{
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

CASE("passing");

TEST(bytes_pass_both_ways_behind_its_own)
{
	bridge_up("limit");
	put(b.in, "hello");
	get(b.node, "limithello");
	put(b.node, "welcome");
	get(b.out, "welcome");
	close(b.in);
	bridge_ends();
}

LOOP_TEST(it_ends_with_the_page, 0, 2)
{
	char c;

	bridge_up("");
	put(b.in, "x");
	get(b.node, "x");
	close(_i == 0 ? b.in : b.out);
	bridge_ends();
	ck_assert_int_eq(read(b.node, &c, 1), 0);
}

TEST(the_last_words_of_a_node_arrive)
{
	char c;

	bridge_up("");
	put(b.in, "more than the node will ever read");
	put(b.node, "busy");
	close(b.node);
	get(b.out, "busy");
	ck_assert_int_eq(read(b.out, &c, 1), 0);
	bridge_ends();
}

/* Writes until nothing more is taken for a while that is long for a pipe. */
static size_t
fill(int fd)
{
	static char bytes[4096];
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	size_t sum = 0;

	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (poll(&p, 1, 200) == 1) {
		ssize_t n = write(fd, bytes, sizeof bytes);

		ck_assert(n > 0 || errno == EAGAIN);
		sum += n > 0 ? (size_t)n : 0;
		ck_assert_uint_lt(sum, 4u << 20);
	}
	return sum;
}

LOOP_TEST(what_nobody_reads_is_bounded, 0, 2)
{
	bridge_up("");
	/* Pipe, buffer and socket; whatever else stays with who writes. */
	ck_assert_uint_le(fill(_i == 0 ? b.in : b.node),
	    (512u << 10) + BRIDGE_BUFFER);
	/* It does not keep it from noticing that the page has gone. */
	close(_i == 0 ? b.in : b.out);
	bridge_ends();
}

TEST(much_arrives_whole_and_in_order)
{
	enum { WORDS = 1 << 18 };
	uint32_t *words = malloc(WORDS * sizeof *words), have[1024];
	size_t given = 0, taken = 0;

	ck_assert_ptr_nonnull(words);
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i;
	bridge_up("");
	ck_assert_int_eq(fcntl(b.node, F_SETFL, O_NONBLOCK), 0);
	while (taken < WORDS * sizeof *words) {
		ssize_t n;

		if (given < WORDS * sizeof *words) {
			n = write(b.node, (char *)words + given,
			    WORDS * sizeof *words - given);
			given += n > 0 ? (size_t)n : 0;
		}
		n = read(b.out, have, sizeof have);
		ck_assert_int_gt(n, 0);
		ck_assert_mem_eq(have, (char *)words + taken, (size_t)n);
		taken += (size_t)n;
	}
	close(b.in);
	bridge_ends();
	free(words);
}

static const struct {
	const char *word;
	bool ok;
} targets[] = {
	{ "pid:1", true },
	{ "pid:2147483647", true },
	{ "ALLOCLOG.cc1.4711", true },
	{ "", false },
	{ "pid:", false },
	{ "pid:0", false },
	{ "pid:-1", false },
	{ "pid: 1", false },
	{ "pid:1x", false },
	/* Which must not be taken for the first process. */
	{ "pid:4294967297", false },
	{ "pid:18446744073709551617", false },
};

LOOP_TEST(a_target_is_a_stream_or_a_number_that_a_process_can_have, 0,
    sizeof targets / sizeof targets[0])
{
	char word[NODES_PID_WORD];
	pid_t pid = 1;

	ck_assert_int_eq(nodes_parse_target(targets[_i].word, &pid),
	    targets[_i].ok);
	if (targets[_i].ok)
		ck_assert_str_eq(nodes_target_word(pid, targets[_i].word,
		    word), targets[_i].word);
}

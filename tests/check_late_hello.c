/*
 * Targets that come in: the acceptor itself, and processes that say hello and
 * do not wait for it.
 */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../src/nodes/arrivals/arrivals.h"
#include "../src/nodes/host/host.h"
#include "../src/nodes/host/proc.h"
#include "../src/stream/ring.h"
#include "node_harness.h"

static char folder[64], report[96], path[96];

static void
up(void)
{
	static struct node_opts opts;

	strcpy(folder, "/tmp/check_late_hello.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(report, sizeof report, "%s/report", folder);
	snprintf(path, sizeof path, "%s/hello", folder);
	opts = (struct node_opts){ .fd = -1, .report = report };
	node_up(&opts);
	/* As a node does before there are so many targets that no thread can be. */
	ck_assert_int_eq(nodes_workers(&loop), 0);
	ck_assert_int_eq(hello_listen(node.hello,
	    socket_bind(path, SOCK_SEQPACKET), path, false), 0);
}

static void
down(void)
{
	node_down();
	unlink(report);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(rmdir(folder), 0);
}

static int
dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(sa.sun_path, path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof sa) < 0)
		_exit(1);
	return fd;
}

static void
say(int fd)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION };

	if (send(fd, &h, sizeof h, 0) != (ssize_t)sizeof h)
		_exit(1);
}

/* A process that says hello n times, as n images do, and waits for nothing. */
static pid_t
hasty(unsigned n, bool reaped)
{
	siginfo_t info;
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		while (n-- > 0) {
			int fd = dial();

			say(fd);
			close(fd);
		}
		_exit(0);
	}
	if (reaped) {
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	} else {
		ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info,
		    WEXITED | WNOWAIT), 0);
	}
	return pid;
}

/* The lines of the report that begin as one of pid and know nothing. */
static unsigned
unknown_lines(pid_t pid, unsigned *lines)
{
	char line[1024], begin[32];
	FILE *f = fopen(report, "r");
	unsigned n = 0;

	ck_assert_ptr_nonnull(f);
	snprintf(begin, sizeof begin, "{\"pid\": %d, ", (int)pid);
	*lines = 0;
	while (fgets(line, sizeof line, f) != NULL) {
		++*lines;
		n += strncmp(line, begin, strlen(begin)) == 0 &&
		    strstr(line, "\"allocs\": null") != NULL &&
		    strstr(line, "\"lost\": null") != NULL &&
		    strstr(line, "\"complete\": false, ") != NULL;
	}
	fclose(f);
	return n;
}

static unsigned
rows_ended(void)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &node.images->ended, link)
		n++;
	return n;
}

CASE("too late", .seconds = 60);

/* Everyone has hung up before the acceptor even starts. */
LOOP_TEST(an_image_that_was_answered_too_late_has_its_line, 0, 2)
{
	bool reaped = _i == 1;
	unsigned lines;
	pid_t pid;

	up();
	pid = hasty(3, reaped);
	ck_assert_int_eq(hello_start(node.hello), 0);
	hello_stop(node.hello);
	images_end_all(&node, true);
	ck_assert_uint_eq(unknown_lines(pid, &lines), 3);
	ck_assert_uint_eq(lines, 3);
	if (!reaped)
		waitpid(pid, NULL, 0);
	down();
}

TEST(more_than_wait_at_once_are_all_told_of)
{
	unsigned lines;
	pid_t pid;

	up();
	pid = hasty(200, true);
	ck_assert_int_eq(hello_start(node.hello), 0);
	hello_stop(node.hello);
	images_end_all(&node, true);
	ck_assert_uint_eq(unknown_lines(pid, &lines), 200);
	ck_assert_uint_eq(lines, 200);
	down();
}

/*
 * Whoever says hello and is gone costs us a descriptor until the loop gets to
 * him, and others are to have some.
 */
TEST(of_a_flood_that_gets_no_stream_the_rest_is_counted)
{
	struct rlimit few, old;
	unsigned lines, n = 500;
	uint64_t stats[WIRE_STATS_COUNT] = { 0 };
	int left;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ .rlim_cur = 256, .rlim_max = old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	up();
	hasty(n, true);
	ck_assert_int_eq(hello_start(node.hello), 0);
	hello_stop(node.hello);
	ck_assert_uint_eq(hello_waiting(node.hello), 256 / 4);
	left = dup(0);
	ck_assert_int_ge(left, 0);
	close(left);
	images_end_all(&node, true);
	unknown_lines(0, &lines);
	ck_assert_uint_eq(lines, 256 / 4);
	images_stat(&node, stats);
	ck_assert_uint_eq(stats[WIRE_N_GONE_MISSED] +
	    (uint64_t)rows_ended(), n);
	ck_assert_uint_ge(stats[WIRE_N_GONE_MISSED], n - 256 / 4);
	ck_assert_str_ne(images_missed_why(&node), "");
	down();
	setrlimit(RLIMIT_NOFILE, &old);
}

/* How many of n hellos of one process, whose keeper is gone, it says, are welcomed. */
static unsigned
welcomed_again(unsigned n)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .flags = RING_HELLO_AGAIN,
		.parent = UINT64_MAX };
	unsigned welcomed = 0;
	char welcome[256];

	while (n-- > 0) {
		int fd = dial();

		ck_assert_int_eq(send(fd, &h, sizeof h, 0), sizeof h);
		welcomed += recv(fd, welcome, sizeof welcome, 0) > 0;
		close(fd);
	}
	return welcomed;
}

/* It is seen late, behind the image that the same process runs by now. */
TEST(a_late_hello_does_not_end_the_image_after_it)
{
	struct keeper *k;
	unsigned lines;
	int fd, old;

	up();
	old = dial();
	say(old);
	close(old);
	fd = dial();
	say(fd);
	/* Of those that wait together the last to come is answered first. */
	ck_assert_int_eq(hello_start(node.hello), 0);
	do {
		images_adopt_all(&node);
		k = TAILQ_FIRST(&node.live);
	} while (k == NULL);
	hello_stop(node.hello);
	images_adopt_all(&node);
	ck_assert_msg(k->life.state == WIRE_S_LIVE, "%d %s", k->life.state,
	    k->life.reason);
	ck_assert_ptr_eq(TAILQ_FIRST(&node.live), k);
	ck_assert_uint_eq(unknown_lines(getpid(), &lines), 1);
	ck_assert_uint_eq(lines, 1);
	close(fd);
	down();
}

/* It is welcomed, and goes without having mapped anything. */
TEST(rings_that_were_never_taken_do_not_count_as_silence)
{
	struct keeper *k;
	unsigned lines;
	int fd;

	up();
	fd = dial();
	say(fd);
	ck_assert_int_eq(hello_start(node.hello), 0);
	do {
		images_adopt_all(&node);
		k = TAILQ_FIRST(&node.live);
	} while (k == NULL);
	ck_assert_ptr_nonnull(k->feed);
	close(fd);
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	ck_assert_int_eq(k->life.state, WIRE_S_NO_DATA);
	ck_assert_uint_eq(node.quota->n, 0);
	ck_assert_uint_eq(unknown_lines(getpid(), &lines), 1);
	ck_assert_uint_eq(lines, 1);
	down();
}

TEST(an_image_that_got_no_stream_says_why_in_its_row)
{
	struct keeper *k;
	int fd;

	up();
	fd = dial();
	say(fd);
	close(fd);
	ck_assert_int_eq(hello_start(node.hello), 0);
	hello_stop(node.hello);
	images_adopt_all(&node);
	/* We live on. */
	k = TAILQ_FIRST(&node.live);
	ck_assert_ptr_nonnull(k);
	ck_assert_int_eq(k->image.pid, getpid());
	ck_assert_int_eq(k->life.state, WIRE_S_NO_DATA);
	ck_assert_ptr_nonnull(strstr(k->life.reason, "50 ms"));
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	ck_assert_int_eq(k->life.state, WIRE_S_NO_DATA);
	ck_assert_ptr_eq(TAILQ_FIRST(&node.images->ended), k);
	down();
}

/* One of a user's processes: status 0 when it is welcomed, 1 when it is not. */
static void
be_one_of(uid_t uid)
{
	char welcome[256];
	int fd;

	if (geteuid() == 0 && setuid(uid) < 0)
		_exit(2);
	fd = dial();
	say(fd);
	_exit(recv(fd, welcome, sizeof welcome, 0) > 0 ? 0 : 1);
}

CASE("hundreds of targets", .seconds = 60, .tags = TAG_LP64);

TEST(no_more_streams_wait_for_the_loop_than_there_can_be_targets)
{
	up();
	ck_assert_int_eq(hello_start(node.hello), 0);
	ck_assert_uint_eq(welcomed_again(NODE_TARGETS_MAX + 20),
	    NODE_TARGETS_MAX);
	hello_stop(node.hello);
	ck_assert_uint_eq(hello_waiting(node.hello), NODE_TARGETS_MAX);
	images_end_all(&node, true);
	down();
}

/* The loop hears of none of them before all have been answered. */
TEST(a_users_burst_is_bounded_like_its_targets_one_by_one)
{
	unsigned welcomed = 0, refused = 0;
	int status;

	up();
	node.access.system = true;
	ck_assert_int_eq(chmod(folder, 0711), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(hello_start(node.hello), 0);
	for (unsigned i = 0; i < NODE_USER_TARGETS + 10; i++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			be_one_of(1001);
	}
	while (waitpid(-1, &status, 0) > 0) {
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		if (WEXITSTATUS(status) == 0)
			welcomed++;
		else
			refused++;
	}
	ck_assert_uint_eq(refused, 10);
	ck_assert_uint_eq(welcomed, NODE_USER_TARGETS);
	hello_stop(node.hello);
	ck_assert_uint_eq(node.quota->n, NODE_USER_TARGETS);
	images_end_all(&node, true);
	ck_assert_uint_eq(node.quota->n, 0);
	down();
}

TEST(streams_of_one_user_that_wait_leave_others_theirs)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return;
	up();
	node.access.system = true;
	ck_assert_int_eq(chmod(folder, 0711), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(hello_start(node.hello), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (setuid(1001) < 0)
			_exit(2);
		_exit(welcomed_again(NODE_TARGETS_MAX) != NODE_USER_TARGETS);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		be_one_of(1002);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

/* --- several users ---------------------------------------------------------- */

CASE("users", .seconds = 60);

/* A process of a user with n connections that have said hello; it ends with a byte in `go`. */
struct user_crowd {
	pid_t pid;
	int go;
};

static struct user_crowd
crowd_of(uid_t uid, unsigned n)
{
	struct user_crowd c;
	int there[2], go[2];
	char byte;

	ck_assert_int_eq(pipe(there), 0);
	ck_assert_int_eq(pipe(go), 0);
	c.pid = fork();
	ck_assert_int_ge(c.pid, 0);
	if (c.pid == 0) {
		close(go[1]);
		if (setuid(uid) < 0)
			_exit(2);
		while (n-- > 0)
			say(dial());
		if (write(there[1], "t", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(3);
		_exit(0);
	}
	close(there[1]);
	close(go[0]);
	ck_assert_int_eq(read(there[0], &byte, 1), 1);
	close(there[0]);
	c.go = go[1];
	return c;
}

static void
crowd_ends(const struct user_crowd *c)
{
	int status;

	ck_assert_int_eq(write(c->go, "g", 1), 1);
	close(c->go);
	ck_assert_int_eq(waitpid(c->pid, &status, 0), c->pid);
	ck_assert_int_eq(status, 0);
}

static void
up_for_users(bool no_wait)
{
	up();
	node.access.system = true;
	node.opts.no_wait = no_wait;
	ck_assert_int_eq(chmod(folder, 0711), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
}

/* The user's place among those who were welcomed, from 0; UINT_MAX: has none. */
static unsigned
place_in_queue(uid_t uid)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &node.hello->arrived, link) {
		if (k->missed)
			continue;
		if (k->image.uid == uid)
			return n;
		n++;
	}
	return UINT_MAX;
}

static unsigned
refused_in_queue(uid_t uid, const char *why)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &node.hello->arrived, link)
		n += k->missed && k->image.uid == uid &&
		    strstr(k->life.reason, why) != NULL;
	return n;
}

#define FLOOD 200		/* hellos of one user, more than there are places */

/* Waits until the acceptor has answered n hellos, which no loop adopts. */
static void
until_queued(unsigned n)
{
	while (hello_waiting(node.hello) < n)
		usleep(1000);
}

/*
 * All have connected before the first answer, so only turns decide who is next.
 */
TEST(users_take_turns_however_many_hellos_one_of_them_says)
{
	struct user_crowd many, one, other;

	if (geteuid() != 0)
		return;
	up_for_users(true);
	many = crowd_of(1001, FLOOD);
	one = crowd_of(1002, 1);
	other = crowd_of(1003, 2);
	ck_assert_int_eq(hello_start(node.hello), 0);
	until_queued(FLOOD + 3);
	hello_stop(node.hello);
	ck_assert_uint_eq(place_in_queue(1001), 0);
	ck_assert_uint_eq(place_in_queue(1002), 1);
	ck_assert_uint_eq(place_in_queue(1003), 2);
	images_end_all(&node, true);
	crowd_ends(&many);
	crowd_ends(&one);
	crowd_ends(&other);
	down();
}

/*
 * Each program without a place is reported, and none loses its place without
 * need.
 */
TEST(a_user_who_fills_all_places_gives_one_up_for_another)
{
	struct rlimit few, old;
	struct user_crowd many, one;
	unsigned places = 64;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ .rlim_cur = 512, .rlim_max = old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	up_for_users(true);
	many = crowd_of(1001, places);
	one = crowd_of(1002, 1);
	ck_assert_int_eq(hello_start(node.hello), 0);
	until_queued(places + 1);
	ck_assert_uint_eq(place_in_queue(1002), 1);
	ck_assert_uint_eq(refused_in_queue(1001, "at once"), 1);
	ck_assert_uint_eq(refused_in_queue(1002, ""), 0);
	hello_stop(node.hello);
	ck_assert_uint_eq(hello_waiting(node.hello), places + 1);
	images_end_all(&node, true);
	crowd_ends(&many);
	crowd_ends(&one);
	down();
	setrlimit(RLIMIT_NOFILE, &old);
}

TEST(a_user_whose_targets_the_loop_has_not_adopted_delays_no_other)
{
	struct user_crowd many, one;

	if (geteuid() != 0)
		return;
	up_for_users(false);
	ck_assert_int_eq(hello_start(node.hello), 0);
	many = crowd_of(1001, HELLO_BEHIND);
	until_queued(HELLO_BEHIND);
	one = crowd_of(1002, 1);
	until_queued(HELLO_BEHIND + 1);
	ck_assert_uint_eq(atomic_load(&node.hello->delayed), 0);
	hello_stop(node.hello);
	images_end_all(&node, true);
	crowd_ends(&many);
	crowd_ends(&one);
	down();
}

/* --- those that say no hello ------------------------------------------------ */

CASE("unseen", .seconds = 60);

static struct ring_unseen *
page_up(void)
{
	up();
	ck_assert_int_eq(hello_start(node.hello), 0);
	ck_assert_ptr_nonnull(node.hello->unseen.page);
	return node.hello->unseen.page;
}

static void
leave(struct ring_unseen *page, uint64_t word)
{
	static unsigned at;

	atomic_store(&page->word[at++ % RING_UNSEEN_WORDS], word);
	atomic_fetch_add(&page->changes, 1);
}

static uint64_t
missed_without_row(void)
{
	uint64_t stats[WIRE_STATS_COUNT] = { 0 };

	images_stat(&node, stats);
	ck_assert_uint_eq(stats[WIRE_N_GONE], stats[WIRE_N_GONE_MISSED]);
	return stats[WIRE_N_GONE_MISSED];
}

/* A process that was never seen and has ended. */
static pid_t
gone(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

TEST(a_word_that_a_child_has_left_becomes_one_row)
{
	struct ring_unseen *page = page_up();
	pid_t pid = gone();
	const struct keeper *k;
	unsigned lines;

	leave(page, ring_unseen_word(RING_UNSEEN_DESCRIPTORS, (uint32_t)pid,
	    (uint32_t)getpid()));
	images_adopt_all(&node);
	images_adopt_all(&node);
	k = TAILQ_FIRST(&node.images->ended);
	ck_assert_ptr_nonnull(k);
	ck_assert_int_eq(k->life.state, WIRE_S_NO_DATA);
	ck_assert_ptr_nonnull(strstr(k->life.reason, "no free descriptor"));
	ck_assert_uint_eq(rows_ended(), 1);
	ck_assert_uint_eq(unknown_lines(pid, &lines), 1);
	ck_assert_uint_eq(lines, 1);
	ck_assert_uint_eq(missed_without_row(), 0);
	hello_stop(node.hello);
	down();
}

/* It has the name of the process that forked it. */
TEST(a_child_that_is_gone_has_the_name_of_its_parent)
{
	struct ring_unseen *page = page_up();
	const struct keeper *parent;
	int fd = dial();

	say(fd);
	do {
		images_adopt_all(&node);
		parent = TAILQ_FIRST(&node.live);
	} while (parent == NULL);
	leave(page, ring_unseen_word(RING_UNSEEN_SOCKET, (uint32_t)gone(),
	    (uint32_t)getpid()));
	images_adopt_all(&node);
	ck_assert_uint_eq(rows_ended(), 1);
	ck_assert_str_eq(TAILQ_FIRST(&node.images->ended)->image.comm,
	    parent->image.comm);
	close(fd);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

/* The child could not connect again to report that it has not mapped its rings. */
TEST(a_child_that_reports_missing_rings_is_one_row)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .flags = RING_HELLO_FORKED };
	struct ring_unseen *page = page_up();
	struct keeper *k;
	pid_t pid = fork();
	unsigned lines;

	if (pid == 0) {
		if (send(dial(), &h, sizeof h, 0) == sizeof h)
			pause();
		_exit(1);
	}
	do
		images_adopt_all(&node);
	while (TAILQ_EMPTY(&node.live));
	leave(page, ring_unseen_word(RING_UNSEEN_MEMORY, (uint32_t)pid,
	    (uint32_t)getpid()));
	images_adopt_all(&node);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	images_end_dead(&node);
	ck_assert_ptr_null(TAILQ_FIRST(&node.live));
	k = TAILQ_FIRST(&node.images->ended);
	ck_assert_ptr_nonnull(k);
	ck_assert_ptr_nonnull(strstr(k->life.reason, "no memory left"));
	ck_assert_uint_eq(rows_ended(), 1);
	ck_assert_uint_eq(unknown_lines(pid, &lines), 1);
	ck_assert_uint_eq(lines, 1);
	hello_stop(node.hello);
	down();
}

static void
scan(void)
{
	images_second(&node);
	ck_assert(node.images->scanning);
	while (node.images->scanning)
		uv_run(&loop, UV_RUN_ONCE);
}

/* Starts a supervisor whose child executes cat, without an environment, after a byte. */
static pid_t
supervisor(int to[2])
{
	static char name[] = "cat", *const argv[] = { name, NULL };
	static char *const env[] = { NULL };
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
	pid = fork();
	if (pid != 0)
		return pid;
	close(to[1]);
	if (fork() == 0) {
		if (read(to[0], &byte, 1) == 1 && dup2(to[0], 0) == 0)
			execve("/bin/cat", argv, env);
		_exit(1);
	}
	wait(NULL);
	_exit(0);
}

TEST(a_child_before_its_exec_is_not_counted_as_an_image)
{
	static char *argv[] = { NULL };
	pid_t parent, child;
	int to[2];

	page_up();
	parent = supervisor(to);
	while (proc_children(parent, &child, 1) == 0)
		continue;
	node.opts.argv = argv;
	node.command.parent = parent;
	scan();
	ck_assert_ptr_null(TAILQ_FIRST(&node.live));
	ck_assert_int_eq(write(to[1], "x", 1), 1);
	while (TAILQ_EMPTY(&node.live))
		scan();
	ck_assert_str_eq(TAILQ_FIRST(&node.live)->image.comm, "cat");
	ck_assert_int_eq(TAILQ_FIRST(&node.live)->image.pid, child);
	scan();
	ck_assert_ptr_eq(TAILQ_FIRST(&node.live), TAILQ_LAST(&node.live, keepers));
	ck_assert_uint_eq(rows_ended(), 0);
	node.opts.argv = NULL;
	node.command.parent = 0;
	close(to[0]);
	close(to[1]);
	ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

/* When the scan is done, the image has no live row, and it has not been reaped. */
TEST(an_image_that_ends_during_the_scan_that_sees_it_is_one_row)
{
	static char *argv[] = { NULL };
	struct ring_unseen *page = page_up();
	struct proc_image image = { .execed = false };
	pid_t parent, child;
	int to[2];

	parent = supervisor(to);
	ck_assert_int_eq(write(to[1], "x", 1), 1);
	while (proc_children(parent, &child, 1) == 0 ||
	    proc_image(child, &image) < 0 || !image.execed ||
	    image.program == 0)
		continue;
	node.opts.argv = argv;
	node.command.parent = parent;
	images_second(&node);
	ck_assert(node.images->scanning);
	/* No supervisor reports its end, so the row of the word ends at once. */
	node.opts.argv = NULL;
	leave(page, ring_unseen_word(RING_UNSEEN_SOCKET, (uint32_t)child,
	    (uint32_t)parent));
	images_adopt_all(&node);
	ck_assert_uint_eq(rows_ended(), 1);
	while (node.images->scanning)
		uv_run(&loop, UV_RUN_ONCE);
	ck_assert_uint_eq(rows_ended(), 1);
	ck_assert_ptr_null(TAILQ_FIRST(&node.live));
	node.command.parent = 0;
	close(to[0]);
	close(to[1]);
	ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
	hello_stop(node.hello);
	down();
}

/*
 * Starts a supervisor whose child begins to end at the byte, and does not finish while
 * the pipe is open: the first process of a process id namespace waits until all others
 * have been reaped.  It writes a byte when all processes run; no byte: it has no right
 * to make the namespace.
 */
static pid_t
supervisor_of_ending(int to[2], int from[2])
{
	char byte = 'x';
	siginfo_t info;
	pid_t pid, other;

	ck_assert(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	pid = fork();
	if (pid != 0) {
		close(to[0]);
		close(from[1]);
		return pid;
	}
	close(to[1]);
	if (unshare(CLONE_NEWPID) < 0)
		_exit(0);
	if (fork() == 0)
		_exit(read(to[0], &byte, 1) != 1);
	other = fork();
	if (other == 0)
		_exit(0);
	if (waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT) == 0 &&
	    write(from[1], &byte, 1) == 1)
		poll(&(struct pollfd){ .fd = to[0] }, 1, -1);
	while (wait(NULL) > 0)
		continue;
	_exit(0);
}

TEST(an_ending_process_is_not_counted_as_another_image)
{
	static char *argv[] = { NULL };
	struct proc_image image = { .program = 1 };
	struct mono begun = mono_now();
	pid_t parent, child[2];
	int to[2], from[2];
	char byte;

	page_up();
	parent = supervisor_of_ending(to, from);
	if (read(from[0], &byte, 1) == 1) {
		ck_assert_uint_eq(proc_children(parent, child, 2), 2);
		ck_assert_int_eq(write(to[1], "x", 1), 1);
		while (image.program != 0)
			ck_assert_int_eq(proc_image(child[0], &image), 0);
		node.opts.argv = argv;
		node.command.parent = parent;
		/* Long enough for the hello of a process that lives. */
		while (mono_ms_since(begun) < 700)
			scan();
		ck_assert_int_eq(proc_image(child[0], &image), 0);
		ck_assert_uint_eq(image.program, 0);
		ck_assert_ptr_null(TAILQ_FIRST(&node.live));
		ck_assert_uint_eq(rows_ended(), 0);
		node.opts.argv = NULL;
		node.command.parent = 0;
	}
	close(to[1]);
	close(from[0]);
	ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

static const uint64_t nonsense[] = { UINT64_MAX, 1, 1ull << 44,
	UINT64_MAX >> 20, 15ull << 44 | 1 };

LOOP_TEST(a_page_full_of_nonsense_is_counted_and_no_more, 0,
    (int)BASE_NELEM(nonsense))
{
	struct ring_unseen *page = page_up();
	unsigned rows, live = 0;
	const struct keeper *k;

	for (unsigned i = 0; i < RING_UNSEEN_WORDS; i++)
		leave(page, nonsense[_i]);
	images_adopt_all(&node);
	TAILQ_FOREACH(k, &node.live, link)
		live++;
	rows = rows_ended() + live;
	ck_assert_uint_gt(rows, 0);
	ck_assert_uint_eq(missed_without_row() + rows, RING_UNSEEN_WORDS);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

TEST(children_that_left_no_pid_are_counted)
{
	struct ring_unseen *page = page_up();

	atomic_store(&page->counted[RING_UNSEEN_SANDBOX], 3);
	atomic_store(&page->counted[RING_UNSEEN_PARENT], 2);
	ck_assert_uint_eq(missed_without_row(), 5);
	ck_assert_ptr_nonnull(strstr(images_missed_why(&node), "its parent"));
	/* One of them is found alive. */
	ck_assert_ptr_nonnull(strstr(unseen_pair(&node.hello->unseen),
	    "sandboxed"));
	ck_assert_uint_eq(missed_without_row(), 4);
	/* A target may write there what it likes. */
	atomic_store(&page->counted[RING_UNSEEN_SANDBOX], 0);
	ck_assert_uint_eq(missed_without_row(), 2);
	hello_stop(node.hello);
	down();
}

/* How many descriptors come with the welcome of such a hello. */
static size_t
descriptors_for(uint32_t flags)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION, .flags = flags };
	struct ring_welcome w;
	union {
		char buf[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = &w, .iov_len = sizeof w };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof control };
	int fd = dial();

	ck_assert_int_eq(send(fd, &h, sizeof h, 0), sizeof h);
	ck_assert_int_eq(recvmsg(fd, &msg, 0), sizeof w);
	close(fd);
	ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&msg));
	return (CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
}

/* An older library refuses a welcome with more than it knows. */
TEST(only_a_library_that_takes_the_page_gets_it)
{
	page_up();
	ck_assert_uint_eq(descriptors_for(0), 2);
	ck_assert_uint_eq(descriptors_for(RING_HELLO_UNSEEN), 3);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

TEST(a_library_of_another_user_does_not_get_the_page)
{
	up();
	node.access.owner = getuid() + 1;
	ck_assert_int_eq(hello_start(node.hello), 0);
	ck_assert_uint_eq(descriptors_for(RING_HELLO_UNSEEN), 2);
	hello_stop(node.hello);
	images_end_all(&node, true);
	down();
}

/* A process that has ended and waits to be reaped. */
static pid_t
ended_process(const char *program)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		if (program != NULL)
			execl(program, program, NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

TEST(an_unseen_program_becomes_one_row_when_it_is_reaped)
{
	pid_t pid;
	const struct keeper *k;
	unsigned lines;

	page_up();
	pid = ended_process("/bin/true");
	images_check_ended(&node, pid);
	images_reaped(&node, pid, 0);
	images_check_ended(&node, pid);
	k = TAILQ_FIRST(&node.images->ended);
	ck_assert_ptr_nonnull(k);
	ck_assert_int_eq(k->life.state, WIRE_S_NO_DATA);
	ck_assert_int_eq(k->life.status, 0);
	ck_assert_str_eq(k->image.comm, "true");
	ck_assert_ptr_null(TAILQ_FIRST(&node.live));
	ck_assert_uint_eq(unknown_lines(pid, &lines), 1);
	ck_assert_uint_eq(lines, 1);
	waitpid(pid, NULL, 0);
	hello_stop(node.hello);
	down();
}

/* The file of the command tells whether it could have registered. */
static const struct {
	const char *takes_none, *why;
} commands[] = {
	{ "a statically linked program", "a statically linked program" },
	{ NULL, "it did not register: perhaps the node did not answer it within 50 ms" },
};

LOOP_TEST(a_command_that_did_not_register_has_the_reason, 0,
    BASE_NELEM(commands))
{
	const struct keeper *k;
	pid_t pid;

	page_up();
	pid = ended_process("/bin/true");
	node.command.root = pid;
	node.command.takes_none = commands[_i].takes_none;
	images_check_ended(&node, pid);
	k = TAILQ_FIRST(&node.live);
	ck_assert_ptr_nonnull(k);
	ck_assert_str_eq(k->life.reason, commands[_i].why);
	images_reaped(&node, pid, 0);
	node.command.root = 0;
	node.command.takes_none = NULL;
	waitpid(pid, NULL, 0);
	hello_stop(node.hello);
	down();
}

/* Until its first event it says no hello, and its blocks are its parent's. */
TEST(a_fork_that_ran_nothing_else_is_not_missed)
{
	pid_t pid;

	page_up();
	pid = ended_process(NULL);
	images_check_ended(&node, pid);
	images_reaped(&node, pid, 0);
	ck_assert_uint_eq(rows_ended(), 0);
	waitpid(pid, NULL, 0);
	hello_stop(node.hello);
	down();
}

/* It was seen to begin, and then not to say hello. */
TEST(a_program_after_a_watched_image_is_missed)
{
	struct keeper *k;
	unsigned lines;
	pid_t pid;
	int fd;

	page_up();
	fd = dial();
	say(fd);
	do {
		images_adopt_all(&node);
		k = TAILQ_FIRST(&node.live);
	} while (k == NULL);
	pid = ended_process("/bin/true");
	/* As if that process had said it. */
	quota_uncount(k);
	k->image.pid = pid;
	k->image.origin = IMAGE_FORKED;
	images_check_ended(&node, pid);
	ck_assert_int_eq(k->life.state, WIRE_S_NO_DATA);
	ck_assert_ptr_ne(TAILQ_FIRST(&node.live), k);
	images_reaped(&node, pid, 0);
	ck_assert_ptr_null(TAILQ_FIRST(&node.live));
	ck_assert_uint_eq(unknown_lines(pid, &lines), 2);
	waitpid(pid, NULL, 0);
	close(fd);
	hello_stop(node.hello);
	down();
}

/* The acceptor answers its hello after the loop has checked its end. */
TEST(an_end_that_is_seen_before_its_hello_is_one_row)
{
	pid_t pid;
	siginfo_t info;
	int fd;

	up();
	pid = fork();
	if (pid == 0) {
		fd = dial();
		say(fd);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	images_check_ended(&node, pid);
	images_reaped(&node, pid, 0);
	waitpid(pid, NULL, 0);
	ck_assert_uint_eq(rows_ended(), 1);
	ck_assert_int_eq(hello_start(node.hello), 0);
	hello_stop(node.hello);
	ck_assert_uint_eq(hello_waiting(node.hello), 1);
	images_adopt_all(&node);
	ck_assert_uint_eq(rows_ended(), 1);
	ck_assert_ptr_null(TAILQ_FIRST(&node.live));
	down();
}

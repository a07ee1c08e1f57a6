/*
 * The process that holds descriptors for another one, and starts it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/nodes/fdstore.h"
#include "../src/nodes/inherited.h"
#include "../src/nodes/socket.h"
#include "../src/nodes/supervisor.h"
#include "harness.h"

#define WRONG 99		/* status of a child that saw what must not be */
#define MANY 1500

/* What the children, which follow each other, tell the test. */
static struct shared {
	_Atomic unsigned starts, refused, connected, served;
	_Atomic bool stop;
} *shared;

static void
setup(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	unsetenv("NOTIFY_SOCKET");
}

static void
teardown(void)
{
	munmap(shared, sizeof *shared);
}

static void
die(void)
{
	kill(getpid(), SIGKILL);
}

/* In a child: a status that the test sees, instead of a failed assertion. */
#define MUST(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
			    #what); \
			_exit(WRONG); \
		} \
	} while (0)

/* The store of a child, with all that was passed to it. */
static void
open_store(struct fdstore *store, int fd)
{
	struct inherited stream, seqpacket;

	fdstore_open(store, fd);
	MUST(inherited_take(&stream, &seqpacket, fdstore_inherit, store) == 0);
}

static int
file_of(const char *text)
{
	int fd = memfd_create("check", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, text, strlen(text)) ==
	    (ssize_t)strlen(text));
	return fd;
}

static bool
holds(int fd, const char *text)
{
	char was[64] = "";

	return fd >= 0 && pread(fd, was, sizeof was - 1, 0) ==
	    (ssize_t)strlen(text) && strcmp(was, text) == 0 &&
	    fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

/* --- ends --------------------------------------------------------------- */

/* How each of them ends: a status, a signal (negative); ready first or not. */
struct ends {
	int how[4];
	bool ready;
};

static void
end_so(void *arg, int fd)
{
	const struct ends *e = arg;
	int how = e->how[shared->starts++];
	struct fdstore store;

	open_store(&store, fd);
	if (e->ready)
		MUST(fdstore_say(&store, "READY=1") == 0);
	if (how < 0)
		kill(getpid(), -how);
	_exit(how);
}

static const struct {
	struct ends ends;
	unsigned starts;
	int status;
} ways[] = {
	{ { { 0 }, true }, 1, 0 },
	{ { { 0 }, false }, 1, 0 },
	/* It could not begin: another one could not either. */
	{ { { 3 }, false }, 1, 3 },
	{ { { 3, 0 }, true }, 2, 0 },
	{ { { -SIGKILL, -SIGSEGV, -SIGABRT, 0 }, true }, 4, 0 },
	{ { { -SIGKILL, 2 }, false }, 2, 2 },
};

START_TEST(a_child_that_dies_is_followed_by_another)
{
	struct ends e = ways[_i].ends;

	ck_assert_int_eq(supervisor_run(end_so, &e), ways[_i].status);
	ck_assert_uint_eq(shared->starts, ways[_i].starts);
}
END_TEST

static void
on_signal(int sig)
{
	_exit(sig == SIGTERM ? 7 : sig == SIGINT ? 8 : 0);
}

/* Its supervisor is told to end, and it is by that. */
static void
have_told(void *arg, int fd)
{
	const int *sig = arg;

	(void)fd;
	shared->starts++;
	if (sig[1] != 0)
		signal(sig[0], on_signal);
	kill(getppid(), sig[0]);
	for (;;)
		pause();
}

static const struct {
	int sig[2];
	int status;
} words[] = {
	{ { SIGTERM, 1 }, 7 },
	{ { SIGINT, 1 }, 8 },
	{ { SIGTERM, 0 }, 128 + SIGTERM },
	{ { SIGHUP, 1 }, 0 },
};

START_TEST(what_it_is_told_it_passes_on_and_ends_with_its_child)
{
	int sig[2] = { words[_i].sig[0], words[_i].sig[1] };

	ck_assert_int_eq(supervisor_run(have_told, sig), words[_i].status);
	ck_assert_uint_eq(shared->starts, 1);
}
END_TEST

/* Killed in the same moment, or just before. */
static void
die_when_told(void *arg, int fd)
{
	const bool *before = arg;
	struct fdstore store;

	open_store(&store, fd);
	if (shared->starts++ == 0) {
		signal(SIGTERM, SIG_IGN);
		MUST(fdstore_say(&store, "READY=1") == 0);
		if (!*before)
			kill(getppid(), SIGTERM);
		die();
	}
	if (*before)
		kill(getppid(), SIGTERM);
	/* As long as it may take to begin: nobody is to end it meanwhile. */
	for (int i = 0; i < 10; i++)
		usleep(1000);
	signal(SIGTERM, on_signal);
	MUST(fdstore_say(&store, "READY=1") == 0);
	for (;;)
		pause();
}

static const bool befores[] = { false, true };

START_TEST(one_that_is_killed_when_it_is_told_to_end_is_cleaned_up_after)
{
	bool before = befores[_i];

	ck_assert_int_eq(supervisor_run(die_when_told, &before), 7);
	ck_assert_uint_eq(shared->starts, 2);
}
END_TEST

static void
never_ready(void *arg, int fd)
{
	struct fdstore store;

	(void)arg;
	open_store(&store, fd);
	if (shared->starts++ == 0) {
		MUST(fdstore_say(&store, "READY=1") == 0);
		die();
	}
	kill(getppid(), SIGTERM);
	for (;;)
		pause();
}

START_TEST(one_that_never_is_ready_is_ended_all_the_same)
{
	ck_assert_int_eq(supervisor_run(never_ready, NULL), 128 + SIGTERM);
	ck_assert_uint_eq(shared->starts, 2);
}
END_TEST

/* --- storms ------------------------------------------------------------- */

static void
always_die(void *arg, int fd)
{
	unsigned n = shared->starts++;
	struct fdstore store;
	int got;

	(void)arg;
	open_store(&store, fd);
	got = fdstore_take(&store, "pagek.deadly");
	/* It is put once, and dropped when it may be what they die of. */
	MUST((got >= 0) == (n > 0 && n < SUPERVISOR_DEATHS));
	/* Nobody reads a report, and it goes on. */
	MUST((fdstore_take(&store, KEPT_REPORT) >= 0) == (n > 0));
	/* What the supervisor was passed is not the child's, and stays. */
	MUST(fdstore_take(&store, "pagek.passed") >= 0);
	if (n == 0) {
		MUST(fdstore_put(&store, KEPT_REPORT, file_of("x")) == 0);
		MUST(fdstore_put(&store, "pagek.deadly", file_of("x")) == 0);
	}
	die();
}

START_TEST(children_that_die_in_a_storm_lose_what_was_held_and_then_end)
{
	char text[16];
	int fd;

	for (fd = 3; fd < 64; fd++)
		close(fd);
	ck_assert_int_eq(memfd_create("passed", 0), 3);
	sprintf(text, "%d", (int)getpid());
	setenv("LISTEN_PID", text, 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", "pagek.passed", 1);
	ck_assert_int_eq(supervisor_run(always_die, NULL), 1);
	ck_assert_uint_eq(shared->starts, 2 * SUPERVISOR_DEATHS);
}
END_TEST

/* --- descriptors -------------------------------------------------------- */

static void
put_and_find(void *arg, int fd)
{
	struct fdstore store;

	(void)arg;
	open_store(&store, fd);
	switch (shared->starts++) {
	case 0:
		MUST(store.n == 0);
		MUST(fdstore_put(&store, "pagek.a", file_of("first")) == 0);
		MUST(fdstore_put(&store, "pagek.b", file_of("second")) == 0);
		MUST(fdstore_put(&store, "pagek.b", file_of("third")) == 0);
		MUST(fdstore_put(&store, "pagek.c", file_of("fourth")) == 0);
		MUST(fdstore_remove(&store, "pagek.a") == 0);
		die();
		break;
	case 1:
		MUST(store.n == 3);
		MUST(fdstore_take(&store, "pagek.a") < 0);
		MUST(holds(fdstore_take(&store, "pagek.b"), "second"));
		MUST(holds(fdstore_take(&store, "pagek.b"), "third"));
		MUST(fdstore_take(&store, "pagek.b") < 0);
		MUST(fdstore_remove(&store, "pagek.b") == 0);
		die();
		break;
	default:
		MUST(store.n == 1);
		MUST(holds(fdstore_take(&store, "pagek.c"), "fourth"));
		_exit(0);
	}
}

START_TEST(descriptors_come_back_with_their_names)
{
	ck_assert_int_eq(supervisor_run(put_and_find, NULL), 0);
}
END_TEST

/* A supervisor that gets no processor takes a moment longer: it is asked again. */
static void
put_surely(struct fdstore *store, const char *name, int file)
{
	int r;

	while ((r = fdstore_put(store, name, file)) == -EAGAIN)
		sched_yield();
	MUST(r == 0);
}

static void
remove_surely(struct fdstore *store, const char *name)
{
	int r;

	while ((r = fdstore_remove(store, name)) == -EAGAIN)
		sched_yield();
	MUST(r == 0);
}

static void
put_many(void *arg, int fd)
{
	struct fdstore store;
	char name[32], text[32];

	(void)arg;
	open_store(&store, fd);
	if (shared->starts++ == 0) {
		for (unsigned i = 0; i < MANY; i++) {
			int file;

			sprintf(name, "pagek.%u", i);
			sprintf(text, "number %u", i);
			file = file_of(text);
			put_surely(&store, name, file);
			close(file);
		}
		/* So that they are not where they are to be. */
		for (unsigned i = 0; i < MANY; i += 3) {
			sprintf(name, "pagek.%u", i);
			remove_surely(&store, name);
		}
		die();
	}
	MUST(store.n == MANY - (MANY + 2) / 3);
	for (unsigned i = 0; i < MANY; i++) {
		int file;

		sprintf(name, "pagek.%u", i);
		sprintf(text, "number %u", i);
		file = fdstore_take(&store, name);
		MUST(i % 3 == 0 ? file < 0 : holds(file, text));
	}
	if (shared->starts < 3)
		die();
	_exit(0);
}

START_TEST(many_descriptors_are_told_apart)
{
	ck_assert_int_eq(supervisor_run(put_many, NULL), 0);
	ck_assert_uint_eq(shared->starts, 3);
}
END_TEST

static void
let_another_speak(void *arg, int fd)
{
	struct fdstore store;
	pid_t pid;

	(void)arg;
	open_store(&store, fd);
	MUST(store.n == 0);
	if (shared->starts++ > 0)
		_exit(0);
	pid = fork();
	if (pid == 0) {
		fdstore_put(&store, "pagek.alien", file_of("alien"));
		fdstore_say(&store, "READY=1");
		_exit(0);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	die();
}

START_TEST(only_the_child_is_listened_to)
{
	ck_assert_int_eq(supervisor_run(let_another_speak, NULL), 0);
	ck_assert_uint_eq(shared->starts, 2);
}
END_TEST

static void
put_more_than_fits(void *arg, int fd)
{
	char name[FDSTORE_NAME];
	struct fdstore store;
	int file;

	(void)arg;
	open_store(&store, fd);
	if (shared->starts++ > 0) {
		MUST(store.n <= INHERITED_MAX && store.n > 1000);
		_exit(0);
	}
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	memcpy(name, FDSTORE_OURS, strlen(FDSTORE_OURS));
	file = file_of("x");
	for (unsigned i = 0; i < INHERITED_MAX + 10; i++)
		put_surely(&store, name, file);
	die();
}

START_TEST(no_more_is_held_than_can_be_passed_on)
{
	ck_assert_int_eq(supervisor_run(put_more_than_fits, NULL), 0);
}
END_TEST

/* --- a socket ----------------------------------------------------------- */

static char path[64];

static void
serve_some(void *arg, int fd)
{
	struct fdstore store;
	int listener, c;

	(void)arg;
	open_store(&store, fd);
	listener = fdstore_take(&store, "pagek.socket");
	if (shared->starts++ == 0) {
		listener = socket_bind(path, SOCK_STREAM);
		MUST(listener >= 0 && listen(listener, SOMAXCONN) == 0);
		fcntl(listener, F_SETFL, 0);
		MUST(fdstore_put(&store, "pagek.socket", listener) == 0);
	}
	MUST(listener >= 0);
	for (unsigned i = 0; i < 20; i++) {
		c = accept(listener, NULL, NULL);
		MUST(c >= 0);
		shared->served++;
		close(c);
	}
	if (shared->starts <= 4)
		die();
	shared->stop = true;
	_exit(0);
}

static _Noreturn void
be_client(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char c;

	strcpy(sa.sun_path, path);
	while (!shared->stop) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0) {
			shared->connected++;
			/* Until it has been taken, so that no more come than are served. */
			(void)!read(fd, &c, 1);
		} else if (shared->connected > 0 && !shared->stop) {
			shared->refused++;
		}
		close(fd);
	}
	_exit(0);
}

START_TEST(a_socket_takes_connections_between_two_children)
{
	pid_t client;

	snprintf(path, sizeof path, "/tmp/check_supervisor.%d", (int)getpid());
	client = fork();
	if (client == 0)
		be_client();
	ck_assert_int_eq(supervisor_run(serve_some, NULL), 0);
	ck_assert_int_eq(kill(client, SIGKILL), 0);
	waitpid(client, NULL, 0);
	unlink(path);
	ck_assert_uint_eq(shared->starts, 5);
	/* Counted where they are taken: the client was killed at any point. */
	ck_assert_uint_eq(shared->served, 100);
	ck_assert_uint_eq(shared->refused, 0);
}
END_TEST

/* --- whoever is above --------------------------------------------------- */

static void
expect_said(int fd, const char *text)
{
	char message[FDSTORE_MESSAGE + 1] = "";

	ck_assert_int_eq(recv(fd, message, sizeof message - 1, 0),
	    (ssize_t)strlen(text));
	ck_assert_str_eq(message, text);
}

static void
say_ready(void *arg, int fd)
{
	struct fdstore store;

	(void)arg;
	MUST(getenv("NOTIFY_SOCKET") == NULL);
	open_store(&store, fd);
	MUST(fdstore_say(&store, "STATUS=well") == 0);
	MUST(fdstore_say(&store, "READY=1") == 0);
	MUST(fdstore_put(&store, "pagek.x", file_of("x")) == 0);
	_exit(0);
}

/* A socket as systemd's, which the next supervisor finds. */
static int
listen_above(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char name[32];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	snprintf(name, sizeof name, "@check_supervisor.%d", (int)getpid());
	strcpy(sa.sun_path, name);
	sa.sun_path[0] = '\0';
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    strlen(name))), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

START_TEST(systemd_is_told_what_the_child_says)
{
	int fd = listen_above();
	char text[128];

	ck_assert_int_eq(supervisor_run(say_ready, NULL), 0);
	expect_said(fd, "STATUS=well");
	expect_said(fd, "READY=1");
	ck_assert_int_lt(recv(fd, text, sizeof text, 0), 0);
	close(fd);
}
END_TEST

/* Until whoever is above has heard of it. */
static void
wait_until_heard(void *arg, int fd)
{
	struct fdstore store;
	int unread;

	(void)arg;
	open_store(&store, fd);
	MUST(fdstore_say(&store, "READY=1") == 0);
	/* Who has taken the last message has tried to pass the first one on. */
	MUST(fdstore_put(&store, "pagek.x", file_of("x")) == 0);
	do
		MUST(ioctl(store.fd, SIOCOUTQ, &unread) == 0);
	while (unread > 0 && usleep(1000) == 0);
	shared->starts++;
	while (!shared->stop)
		usleep(1000);
	_exit(0);
}

/* Reads nothing before the child is ready, and then up to that word. */
static _Noreturn void
hear_late(int fd)
{
	char text[128] = "";

	while (shared->starts == 0)
		usleep(1000);
	while (strcmp(text, "READY=1") != 0) {
		ssize_t n = recv(fd, text, sizeof text - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (n < 0)
			usleep(1000);
	}
	shared->stop = true;
	_exit(0);
}

/* A sender may have less room than the queue: until another finds none, too. */
static void
fill(const char *name)
{
	struct fdstore sender;
	unsigned sent;

	do {
		setenv("NOTIFY_SOCKET", name, 1);
		fdstore_open(&sender, -1);
		for (sent = 0; fdstore_say(&sender, "STATUS=x") == 0; sent++)
			continue;
		fdstore_close(&sender);
	} while (sent > 0);
}

START_TEST(systemd_hears_that_the_child_is_ready_though_its_queue_was_full)
{
	char name[32];
	int fd = listen_above();
	pid_t above;

	strcpy(name, getenv("NOTIFY_SOCKET"));
	fill(name);
	ck_assert_int_ge(above = fork(), 0);
	if (above == 0)
		hear_late(fd);
	close(fd);
	setenv("NOTIFY_SOCKET", name, 1);
	ck_assert_int_eq(supervisor_run(wait_until_heard, NULL), 0);
	ck_assert_int_eq(waitpid(above, NULL, 0), above);
}
END_TEST

/* The child of a supervisor that was killed knows it by its socket. */
static void
outlive(void *arg, int fd)
{
	struct fdstore store;
	int file, r;

	(void)arg;
	open_store(&store, fd);
	file = file_of("x");
	MUST(fdstore_keeps(&store));
	kill(getppid(), SIGKILL);
	do
		r = fdstore_put(&store, "pagek.x", file);
	while (r == 0);
	MUST(r == -ENOTCONN && !fdstore_keeps(&store));
	MUST(fdstore_remove(&store, "pagek.x") == -ENOTCONN);
	shared->stop = true;
	_exit(0);
}

START_TEST(without_its_supervisor_a_child_goes_on_and_keeps_nothing)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(supervisor_run(outlive, NULL));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	while (!shared->stop)
		usleep(1000);
}
END_TEST

/* --- one that takes nothing ---------------------------------------------- */

/* A store whose keeper reads when it is told to. */
static void
open_unread(struct fdstore *store, int fds[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, fds), 0);
	fdstore_open(store, fds[0]);
}

START_TEST(one_that_takes_nothing_is_waited_for_once)
{
	char message[FDSTORE_MESSAGE];
	struct fdstore store;
	int fds[2];

	open_unread(&store, fds);
	while (fdstore_say(&store, "STATUS=x") == 0)
		ck_assert(!store.full);
	ck_assert(store.full);
	ck_assert_int_eq(fdstore_say(&store, "STATUS=x"), -EAGAIN);
	ck_assert(fdstore_keeps(&store));
	while (read(fds[1], message, sizeof message) > 0)
		continue;
	ck_assert_int_eq(fdstore_say(&store, "STATUS=x"), 0);
	ck_assert(!store.full);
	fdstore_close(&store);
	close(fds[1]);
}
END_TEST

START_TEST(what_must_arrive_waits_for_room)
{
	char message[FDSTORE_MESSAGE];
	struct fdstore store;
	int fds[2];

	open_unread(&store, fds);
	while (fdstore_say(&store, "STATUS=x") == 0)
		continue;
	ck_assert_int_eq(fdstore_insist(&store, "READY=1\nRUN=1"), 0);
	ck_assert_int_eq(fdstore_insist(&store, "REAP=7"), 0);
	fdstore_second(&store);
	while (read(fds[1], message, sizeof message) > 0)
		ck_assert_int_eq(message[0], 'S');
	fdstore_second(&store);
	expect_said(fds[1], "READY=1\nRUN=1\nREAP=7");
	/* Once: a number may be another process's by then. */
	fdstore_second(&store);
	ck_assert_int_lt(recv(fds[1], message, sizeof message, 0), 0);
	ck_assert_int_eq(fdstore_insist(&store, "REAP=8"), 0);
	expect_said(fds[1], "REAP=8");
	close(fds[1]);
	ck_assert_int_eq(fdstore_insist(&store, "REAP=9"), -ENOTCONN);
	ck_assert_str_eq(store.unsaid, "");
	fdstore_close(&store);
}
END_TEST

/* --- suite -------------------------------------------------------------- */

static Suite *
suite(void)
{
	Suite *s = suite_create("supervisor");
	TCase *t = tcase_create("ends");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_child_that_dies_is_followed_by_another, 0,
	    BASE_NELEM(ways));
	tcase_add_loop_test(t,
	    what_it_is_told_it_passes_on_and_ends_with_its_child, 0,
	    BASE_NELEM(words));
	tcase_add_loop_test(t,
	    one_that_is_killed_when_it_is_told_to_end_is_cleaned_up_after, 0,
	    BASE_NELEM(befores));
	tcase_add_test(t, one_that_never_is_ready_is_ended_all_the_same);
	tcase_add_test(t,
	    children_that_die_in_a_storm_lose_what_was_held_and_then_end);
	tcase_add_test(t, systemd_is_told_what_the_child_says);
	tcase_add_test(t,
	    systemd_hears_that_the_child_is_ready_though_its_queue_was_full);
	tcase_add_test(t,
	    without_its_supervisor_a_child_goes_on_and_keeps_nothing);
	suite_add_tcase(s, t);

	t = tcase_create("descriptors");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, descriptors_come_back_with_their_names);
	tcase_add_test(t, many_descriptors_are_told_apart);
	tcase_add_test(t, only_the_child_is_listened_to);
	tcase_add_test(t, no_more_is_held_than_can_be_passed_on);
	tcase_add_test(t, a_socket_takes_connections_between_two_children);
	tcase_add_test(t, one_that_takes_nothing_is_waited_for_once);
	tcase_add_test(t, what_must_arrive_waits_for_room);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)

/*
 * What systemd is told of a child and its supervisor, and what happens to such
 * messages while one of them does not read.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "supervisor_rig.h"

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

	snprintf(name, sizeof name, "@check_above.%d", (int)getpid());
	strcpy(sa.sun_path, name);
	sa.sun_path[0] = '\0';
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    strlen(name))), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

CASE("above", .setup = setup, .teardown = teardown);

TEST(systemd_is_told_what_the_child_says)
{
	int fd = listen_above();
	char text[128];

	ck_assert_int_eq(supervisor_run(say_ready, NULL), 0);
	expect_said(fd, "STATUS=well");
	expect_said(fd, "READY=1");
	ck_assert_int_lt(recv(fd, text, sizeof text, 0), 0);
	close(fd);
}

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

TEST(systemd_hears_that_the_child_is_ready_though_its_queue_was_full)
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

TEST(without_its_supervisor_a_child_goes_on_and_keeps_nothing)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(supervisor_run(outlive, NULL));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	while (!shared->stop)
		usleep(1000);
}

/* --- one that takes nothing ---------------------------------------------- */

/* A store whose keeper reads when it is told to. */
static void
open_unread(struct fdstore *store, int fds[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, fds), 0);
	fdstore_open(store, fds[0]);
}

TEST(one_that_takes_nothing_is_waited_for_once)
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

TEST(what_must_arrive_waits_for_room)
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

/* --- suite -------------------------------------------------------------- */

/*
 * The process that holds descriptors for another one, and starts it again.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../src/base/base.h"
#include "../src/nodes/host/host.h"
#include "supervisor_rig.h"

#define MANY 1500

static void
die(void)
{
	kill(getpid(), SIGKILL);
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

CASE("ends", .setup = setup, .teardown = teardown);

LOOP_TEST(a_child_that_dies_is_followed_by_another, 0, BASE_NELEM(ways))
{
	struct ends e = ways[_i].ends;

	ck_assert_int_eq(supervisor_run(end_so, &e), ways[_i].status);
	ck_assert_uint_eq(shared->starts, ways[_i].starts);
}

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

LOOP_TEST(what_it_is_told_it_passes_on_and_ends_with_its_child, 0,
    BASE_NELEM(words))
{
	int sig[2] = { words[_i].sig[0], words[_i].sig[1] };

	ck_assert_int_eq(supervisor_run(have_told, sig), words[_i].status);
	ck_assert_uint_eq(shared->starts, 1);
}

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

LOOP_TEST(one_that_is_killed_when_it_is_told_to_end_is_cleaned_up_after, 0,
    BASE_NELEM(befores))
{
	bool before = befores[_i];

	ck_assert_int_eq(supervisor_run(die_when_told, &before), 7);
	ck_assert_uint_eq(shared->starts, 2);
}

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

TEST(one_that_never_is_ready_is_ended_all_the_same)
{
	ck_assert_int_eq(supervisor_run(never_ready, NULL), 128 + SIGTERM);
	ck_assert_uint_eq(shared->starts, 2);
}

/* --- sleep -------------------------------------------------------------- */

#define TOO_MANY 100
#define PIPE_FIRST 200		/* what a child is passed has lower numbers */

static int held[2] = { -1, -1 };	/* the child ends when this pipe is closed */
static unsigned hung_up;	/* times that poll(2) returned for a closed end */

static void
let_child_end(void)
{
	if (held[1] >= 0)
		close(held[1]);
	held[1] = -1;
}

/* Lets the child end once the supervisor sleeps in spite of the closed end, or never will. */
int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct timespec none = { 0 }, wait = { .tv_sec = timeout / 1000,
		.tv_nsec = timeout % 1000 * 1000000L };
	int r = 0;

	if (held[1] >= 0 && shared->stop && ((r = ppoll(fds, n, &none,
	    NULL)) == 0 || hung_up >= TOO_MANY))
		let_child_end();
	if (r == 0)
		r = ppoll(fds, n, timeout < 0 ? NULL : &wait, NULL);
	for (nfds_t i = 0; r > 0 && i < n; i++)
		hung_up += (fds[i].revents & POLLHUP) != 0;
	return r;
}

static void
close_and_stay(void *arg, int fd)
{
	const bool *speaks = arg;
	struct fdstore store;
	char c;

	open_store(&store, fd);
	close(held[1]);
	if (shared->starts++ > 0) {
		MUST(!*speaks || holds(fdstore_take(&store, "pagek.last"),
		    "last"));
		_exit(0);
	}
	MUST(fdstore_say(&store, "READY=1") == 0);
	if (*speaks)
		MUST(fdstore_put(&store, "pagek.last", file_of("last")) == 0);
	MUST(close(fd) == 0);
	shared->stop = true;
	/* It may sleep already: this wakes it, and does nothing else. */
	kill(getppid(), SIGPIPE);
	MUST(read(held[0], &c, 1) == 0);
	die();
}

LOOP_TEST(a_child_that_has_closed_its_end_wakes_it_once, 0,
    BASE_NELEM(befores))
{
	bool speaks = befores[_i];
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	for (int i = 0; i < 2; i++) {
		held[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, PIPE_FIRST);
		ck_assert_int_ge(held[i], PIPE_FIRST);
		close(fds[i]);
	}
	ck_assert_int_eq(supervisor_run(close_and_stay, &speaks), 0);
	ck_assert_uint_eq(shared->starts, 2);
	/* Each of the two children closes its end once. */
	ck_assert_uint_le(hung_up, 2);
	close(held[0]);
}

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
	MUST((fdstore_take(&store, STORED_REPORT) >= 0) == (n > 0));
	/* What the supervisor was passed is not the child's, and stays. */
	MUST(fdstore_take(&store, "pagek.passed") >= 0);
	if (n == 0) {
		MUST(fdstore_put(&store, STORED_REPORT, file_of("x")) == 0);
		MUST(fdstore_put(&store, "pagek.deadly", file_of("x")) == 0);
	}
	die();
}

TEST(children_that_die_in_a_storm_lose_what_was_held_and_then_end)
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

static void
put_together(void *arg, int fd)
{
	int three[3] = { file_of("first"), file_of("second"), file_of("third") };
	struct fdstore store;

	(void)arg;
	open_store(&store, fd);
	switch (shared->starts++) {
	case 0:
		MUST(fdstore_put_all(&store, "pagek.a", three, 3) == 0);
		MUST(fdstore_put(&store, "pagek.b", three[0]) == 0);
		die();
		break;
	case 1:
		MUST(store.n == 4);
		MUST(holds(fdstore_take(&store, "pagek.a"), "first"));
		MUST(holds(fdstore_take(&store, "pagek.a"), "second"));
		MUST(holds(fdstore_take(&store, "pagek.a"), "third"));
		MUST(fdstore_remove(&store, "pagek.a") == 0);
		die();
		break;
	default:
		MUST(store.n == 1);
		MUST(holds(fdstore_take(&store, "pagek.b"), "first"));
		_exit(0);
	}
}

CASE("descriptors", .setup = setup, .teardown = teardown);

TEST(descriptors_of_one_message_come_back_and_go_together)
{
	ck_assert_int_eq(supervisor_run(put_together, NULL), 0);
}

TEST(descriptors_come_back_with_their_names)
{
	ck_assert_int_eq(supervisor_run(put_and_find, NULL), 0);
}

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

TEST(many_descriptors_are_told_apart)
{
	ck_assert_int_eq(supervisor_run(put_many, NULL), 0);
	ck_assert_uint_eq(shared->starts, 3);
}

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

TEST(only_the_child_is_listened_to)
{
	ck_assert_int_eq(supervisor_run(let_another_speak, NULL), 0);
	ck_assert_uint_eq(shared->starts, 2);
}

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

TEST(no_more_is_held_than_can_be_passed_on)
{
	ck_assert_int_eq(supervisor_run(put_more_than_fits, NULL), 0);
}

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

TEST(a_socket_takes_connections_between_two_children)
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

/* --- suite -------------------------------------------------------------- */

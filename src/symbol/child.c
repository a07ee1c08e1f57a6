/*
 * Pipes, for sockets live elsewhere; a write to a gone reader raises SIGPIPE,
 * which is blocked in this thread and taken back: a handler or SIG_IGN would
 * be the whole process's.
 *
 * Pipes, for sockets live elsewhere; a write to a reader that is gone raises
 * SIGPIPE, which is blocked in this thread and taken back: a handler or SIG_IGN
 * would be the whole process's.
 *
 * A child is known by its pidfd: others in this process wait for any child, and
 * the number of a reaped one may be a stranger's.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* for a killed one */
#define GO_MS 2000

extern char **environ;

struct mono
symchild_deadline(unsigned ms)
{
	struct mono now = mono_now();

	now.ns += ms * INT64_C(1000000);
	return now;
}

static int
ms_until(struct mono deadline)
{
	int64_t ns = mono_diff_ns(deadline, mono_now());

	if (ns <= 0)
		return 0;
	return ns / 1000000 >= INT32_MAX ? INT32_MAX :
	    (int)((ns + 999999) / 1000000);
}

/* Ours, without what is not for the reader. */
static char **
child_environment(bool network)
{
	static const char *const not_for_it[] = {
		"LD_PRELOAD=", "DEBUGINFOD_URLS=",
	};
	size_t n = 0, kept = 0, drop = network ? 1 : 2;
	char **env;

	while (environ[n] != NULL)
		n++;
	if ((env = calloc(n + 1, sizeof(*env))) == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bool is_kept = true;

		for (size_t k = 0; k < drop; k++)
			is_kept &= strncmp(environ[i], not_for_it[k],
			    strlen(not_for_it[k])) != 0;
		if (is_kept)
			env[kept++] = environ[i];
	}
	return env;
}

static int
spawn_child(pid_t *pid, char *const argv[], int in, int out)
{
	char **env = child_environment(in < 0);
	int error = env != NULL ? base_spawn(pid, argv, env, in, out) : -ENOMEM;

	free(env);
	return error;
}

/* Neither end is a standard descriptor, for dup2 onto itself does nothing. */
static int
make_pipe(int end[2])
{
	if (pipe2(end, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		int moved = fcntl(end[i], F_DUPFD_CLOEXEC, 3);

		if (moved < 0) {
			int error = -errno;

			close(end[0]);
			close(end[1]);
			return error;
		}
		close(end[i]);
		end[i] = moved;
	}
	return 0;
}

static void
close_both(int end[2])
{
	if (end[0] >= 0)
		close(end[0]);
	if (end[1] >= 0)
		close(end[1]);
}

int
symchild_start(struct child *c, char *const argv[], bool input)
{
	int to[2] = { -1, -1 }, from[2], error;
	pid_t pid;

	base_reap(0);
	if ((error = make_pipe(from)) < 0)
		return error;
	if (input && (error = make_pipe(to)) < 0)
		goto close_from;
	if ((error = spawn_child(&pid, argv, to[0], from[1])) < 0)
		goto close_to;
	c->pid = pid;
	c->pidfd = pidfd_open(pid, 0);
	if (c->pidfd < 0) {
		error = -errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		c->pid = 0;
		goto close_to;
	}
	if (input) {
		close(to[0]);
		fcntl(to[1], F_SETFL, O_NONBLOCK);
	}
	close(from[1]);
	fcntl(from[0], F_SETFL, O_NONBLOCK);
	c->to = to[1];
	c->from = from[0];
	c->answered = 0;
	return 0;
close_to:
	close_both(to);
close_from:
	close_both(from);
	return error;
}

void
symchild_end(struct child *c)
{
	struct pollfd gone = { .fd = c->pidfd, .events = POLLIN };
	struct mono deadline = symchild_deadline(GO_MS);
	int n;

	if (c->pid == 0)
		return;
	if (c->to >= 0)
		close(c->to);
	close(c->from);
	pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
	do
		n = poll(&gone, 1, ms_until(deadline));
	while (n < 0 && errno == EINTR);
	/* Another part of this process may have reaped it. */
	base_reap(n > 0 && waitpid(c->pid, NULL, WNOHANG) != 0 ? 0 :
	    c->pid);
	close(c->pidfd);
	c->pid = 0;
}

static int
wait_for_io(const struct child *c, int fd, short events, struct mono deadline)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = events },
		{ .fd = c->stop, .events = POLLIN },
	};
	int n, ms;

	do {
		ms = ms_until(deadline);
		n = poll(p, 2, ms);
	} while ((n < 0 && errno == EINTR) || (n == 0 && ms > 0));
	if (n > 0 && p[1].revents != 0)
		return -ECANCELED;
	return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -EIO;
}

/* write(2) without SIGPIPE. */
static ssize_t
write_quietly(int fd, const void *p, size_t n)
{
	const struct timespec at_once = { 0 };
	sigset_t pipe, before, pending;
	ssize_t put;
	int error;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	put = write(fd, p, n);
	error = errno;
	/* An earlier pending one stays. */
	if (put < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE)) {
		while (sigtimedwait(&pipe, NULL, &at_once) < 0 &&
		    errno == EINTR)
			continue;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return put;
}

int
symchild_write(struct child *c, const uint8_t *p, size_t n, struct mono deadline)
{
	while (n > 0) {
		ssize_t put = write_quietly(c->to, p, n);

		if (put > 0) {
			p += put;
			n -= (size_t)put;
		} else if (put < 0 && errno == EAGAIN) {
			int error = wait_for_io(c, c->to, POLLOUT, deadline);

			if (error < 0)
				return error;
		} else if (put < 0 && errno != EINTR) {
			return errno == EPIPE ? -EPIPE : -EIO;
		}
	}
	return 0;
}

ssize_t
symchild_read_some(struct child *c, uint8_t *p, size_t n, struct mono deadline)
{
	for (;;) {
		ssize_t got = read(c->from, p, n);
		int error;

		if (got >= 0)
			return got;
		if (errno != EAGAIN && errno != EINTR)
			return -EIO;
		if ((error = wait_for_io(c, c->from, POLLIN, deadline)) < 0)
			return error;
	}
}

int
symchild_read(struct child *c, uint8_t *p, size_t n, struct mono deadline)
{
	while (n > 0) {
		ssize_t got = symchild_read_some(c, p, n, deadline);

		if (got <= 0)
			return got == 0 ? -EPIPE : (int)got;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

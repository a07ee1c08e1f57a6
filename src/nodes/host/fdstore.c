#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../base/base.h"
#include "fdstore.h"

#define TIMEOUT_MS 20		/* a target waits 50 for its answer */

static int
connect_notify(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t len;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@') ||
	    (len = strlen(path)) >= sizeof sa.sun_path)
		return -1;
	memcpy(sa.sun_path, path, len);
	/* '@' is systemd's notation of an abstract name. */
	if (path[0] == '@')
		sa.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&sa,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void
fdstore_open(struct fdstore *s, int fd)
{
	*s = (struct fdstore){ .fd = fd };
	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	else
		s->fd = connect_notify(secure_getenv("NOTIFY_SOCKET"));
	unsetenv("NOTIFY_SOCKET");
}

void
fdstore_close(struct fdstore *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->inherited[i].fd >= 0)
			close(s->inherited[i].fd);
	free(s->inherited);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct fdstore){ .fd = -1 };
}

/* True if a process stored the descriptor with this name. */
static bool
is_stored(const char *name, size_t len)
{
	static const char *const first[] = { STORED_PAGE, STORED_RECORDING };

	for (size_t i = 0; i < BASE_NELEM(first); i++)
		if (len == strlen(first[i]) && memcmp(name, first[i], len) == 0)
			return false;
	return len >= strlen(FDSTORE_OURS) &&
	    memcmp(name, FDSTORE_OURS, strlen(FDSTORE_OURS)) == 0;
}

bool
fdstore_follows(void)
{
	const char *name = secure_getenv("LISTEN_FDNAMES");
	size_t len;

	for (; name != NULL && *name != '\0'; name += len + (name[len] == ':')) {
		len = strcspn(name, ":");
		if (is_stored(name, len))
			return true;
	}
	return false;
}

bool
fdstore_keeps(const struct fdstore *s)
{
	return s->fd >= 0 && !s->gone;
}

/* Waits once for room in a full queue, and not again until there has been some. */
static int
send_soon(struct fdstore *s, const struct msghdr *msg)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };

	if (!fdstore_keeps(s))
		return -ENOTCONN;
	for (bool waited = s->full;; waited = true) {
		if (sendmsg(s->fd, msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
			s->full = false;
			return 0;
		}
		if (errno == EPIPE || errno == ECONNREFUSED ||
		    errno == ECONNRESET || errno == ENOTCONN) {
			s->gone = true;
			return -ENOTCONN;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (waited)
			break;
		(void)poll(&p, 1, TIMEOUT_MS);
	}
	s->full = true;
	return -EAGAIN;
}

static int
send_text(struct fdstore *s, const int *fds, size_t nfds, const char *format,
    ...) __attribute__((format(printf, 4, 5)));

static int
send_text(struct fdstore *s, const int *fds, size_t nfds, const char *format,
    ...)
{
	char text[FDSTORE_MESSAGE];
	union {
		char buf[CMSG_SPACE(FDSTORE_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = text };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof text || nfds > FDSTORE_FDS)
		return -EMSGSIZE;
	iov.iov_len = (size_t)n;
	if (nfds > 0) {
		memset(&control, 0, sizeof control);
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof *fds);
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof *fds);
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof *fds);
	}
	return send_soon(s, &msg);
}

int
fdstore_put_all(struct fdstore *s, const char *name, const int *fds, size_t n)
{
	if (strlen(name) >= FDSTORE_NAME)
		return -ENAMETOOLONG;
	/* FDPOLL=0: keep it after a hang-up. */
	return send_text(s, fds, n, "FDSTORE=1\nFDNAME=%s\nFDPOLL=0", name);
}

int
fdstore_put(struct fdstore *s, const char *name, int fd)
{
	return fdstore_put_all(s, name, &fd, 1);
}

int
fdstore_remove(struct fdstore *s, const char *name)
{
	return send_text(s, NULL, 0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

int
fdstore_say(struct fdstore *s, const char *state)
{
	return send_text(s, NULL, 0, "%s", state);
}

/* Sends all waiting lines in one message. */
static int
say_unsaid(struct fdstore *s)
{
	int r = send_text(s, NULL, 0, "%s", s->unsaid);

	if (r == 0 || r == -ENOTCONN)
		s->unsaid[0] = '\0';
	return r == -ENOTCONN ? r : 0;
}

int
fdstore_insist(struct fdstore *s, const char *state)
{
	size_t len = strlen(s->unsaid);

	if (len + 1 + strlen(state) >= sizeof s->unsaid)
		return -EMSGSIZE;
	base_append(s->unsaid, sizeof s->unsaid, &len, "%s%s",
	    len > 0 ? "\n" : "", state);
	return say_unsaid(s);
}

void
fdstore_second(struct fdstore *s)
{
	if (s->unsaid[0] != '\0')
		say_unsaid(s);
}

bool
fdstore_inherit(void *store, const char *name, int fd)
{
	struct fdstore *s = store;
	void *array = s->inherited;
	struct fdstore_entry *e;

	if (strncmp(name, FDSTORE_OURS, strlen(FDSTORE_OURS)) != 0)
		return false;
	if (strlen(name) >= FDSTORE_NAME ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    base_grow(&array, &s->cap, s->n + 1, sizeof *e) < 0) {
		close(fd);
		return true;
	}
	s->inherited = array;
	e = &s->inherited[s->n++];
	strcpy(e->name, name);
	e->fd = fd;
	return true;
}

int
fdstore_take(struct fdstore *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++) {
		struct fdstore_entry *e = &s->inherited[i];
		int fd = e->fd;

		if (fd < 0 || strcmp(e->name, name) != 0)
			continue;
		e->fd = -1;
		return fd;
	}
	return -1;
}

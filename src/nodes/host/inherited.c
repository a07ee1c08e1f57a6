#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host.h"

/* The positive number in a variable; 0: none. */
static int
get_number(const char *name)
{
	const char *text = secure_getenv(name);
	char *end;
	long n;

	if (text == NULL || *text < '1' || *text > '9')
		return 0;
	errno = 0;
	n = strtol(text, &end, 10);
	return *end == '\0' && errno == 0 && n <= INT_MAX ? (int)n : 0;
}

static int
get_int(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value :
	    -1;
}

int
inherited_path(int fd, char path[SOCKET_PATH])
{
	struct sockaddr_un sa = { .sun_family = AF_UNSPEC };
	socklen_t len = sizeof sa;
	size_t n;

	if (get_int(fd, SO_ACCEPTCONN) != 1 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    sa.sun_family != AF_UNIX ||
	    len <= offsetof(struct sockaddr_un, sun_path) ||
	    sa.sun_path[0] != '/')
		return -EINVAL;
	n = strnlen(sa.sun_path, len - offsetof(struct sockaddr_un, sun_path));
	if (n >= SOCKET_PATH)
		return -EINVAL;
	memcpy(path, sa.sun_path, n);
	path[n] = '\0';
	return 0;
}

int
inherited_each(void (*one)(void *arg, const char *name, int fd), void *arg)
{
	int n = get_number("LISTEN_PID") == (int)getpid() ?
	    get_number("LISTEN_FDS") : 0;
	const char *all = secure_getenv("LISTEN_FDNAMES");
	char *names = strdup(all != NULL ? all : ""), *next = names;

	/* Not for our children. */
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (names == NULL)
		return -ENOMEM;
	if (n > INHERITED_MAX) {
		free(names);
		return -EINVAL;
	}
	for (int fd = INHERITED_FIRST; fd < INHERITED_FIRST + n; fd++) {
		const char *name = strsep(&next, ":");

		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		one(arg, name != NULL ? name : "", fd);
	}
	free(names);
	return 0;
}

struct sockets {
	struct inherited *stream, *seqpacket;
	bool (*ours)(void *arg, const char *name, int fd);
	void *arg;
	bool wrong;
};

static void
take_socket(void *arg, const char *name, int fd)
{
	struct sockets *s = arg;
	int type = get_int(fd, SO_TYPE);
	struct inherited *one = type == SOCK_STREAM ? s->stream :
	    type == SOCK_SEQPACKET ? s->seqpacket : NULL;

	if (s->ours != NULL && s->ours(s->arg, name, fd))
		return;
	if (one == NULL || one->fd >= 0 || inherited_path(fd, one->path) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) {
		close(fd);
		s->wrong = true;
	} else {
		one->fd = fd;
	}
}

int
inherited_take(struct inherited *stream, struct inherited *seqpacket,
    bool (*ours)(void *arg, const char *name, int fd), void *arg)
{
	struct sockets s = { .stream = stream, .seqpacket = seqpacket,
		.ours = ours, .arg = arg };
	int r;

	stream->fd = seqpacket->fd = -1;
	r = inherited_each(take_socket, &s);
	if (r == 0 && !s.wrong)
		return 0;
	if (stream->fd >= 0)
		close(stream->fd);
	if (seqpacket->fd >= 0)
		close(seqpacket->fd);
	stream->fd = seqpacket->fd = -1;
	return r < 0 ? r : -EINVAL;
}

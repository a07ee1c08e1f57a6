/* See inherited.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inherited.h"

#define FIRST_FD 3
#define FDS_MAX 64

static int
number(const char *name)
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

/* The path of a listening Unix socket; -EINVAL for whatever is none. */
static int
path_of(int fd, char path[SOCKET_PATH])
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

static int
take(int fd, struct inherited *stream, struct inherited *seqpacket)
{
	int type = get_int(fd, SO_TYPE);
	struct inherited *one = type == SOCK_STREAM ? stream :
	    type == SOCK_SEQPACKET ? seqpacket : NULL;

	if (one == NULL || one->fd >= 0 || path_of(fd, one->path) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return -EINVAL;
	one->fd = fd;
	return 0;
}

int
inherited_take(struct inherited *stream, struct inherited *seqpacket)
{
	int n = number("LISTEN_PID") == (int)getpid() ? number("LISTEN_FDS") :
	    0;
	int r = 0;

	stream->fd = seqpacket->fd = -1;
	/* Not for whoever we start. */
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (n > FDS_MAX)
		return -EINVAL;
	for (int fd = FIRST_FD; r == 0 && fd < FIRST_FD + n; fd++)
		r = take(fd, stream, seqpacket);
	if (r == 0)
		return 0;
	for (int fd = FIRST_FD; fd < FIRST_FD + n; fd++)
		close(fd);
	stream->fd = seqpacket->fd = -1;
	return r;
}

void
inherited_ready(void)
{
	static const char ready[] = "READY=1";
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t len;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@') ||
	    (len = strlen(path)) >= sizeof sa.sun_path)
		return;
	memcpy(sa.sun_path, path, len);
	/* By the custom of systemd this is how an abstract name is written. */
	if (path[0] == '@')
		sa.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, ready, sizeof ready - 1, MSG_NOSIGNAL | MSG_DONTWAIT,
	    (struct sockaddr *)&sa,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

/* See socket.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "socket.h"

int
socket_bind(const char *path, int type)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd, r = 0;

	_Static_assert(sizeof sa.sun_path == SOCKET_PATH, "as the door says");
	if (strlen(path) >= sizeof sa.sun_path)
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(path);
	mask = umask(0177);
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa) < 0)
		r = -errno;
	umask(mask);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host.h"

/* An unbound socket, and the address of the path. */
static int
open_socket(const char *path, int type, struct sockaddr_un *sa)
{
	int fd;

	_Static_assert(sizeof sa->sun_path == SOCKET_PATH, "as in host.h");
	if (strlen(path) >= sizeof sa->sun_path)
		return -ENAMETOOLONG;
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(sa->sun_path, path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

int
socket_bind(const char *path, int type)
{
	struct sockaddr_un sa;
	mode_t mask;
	int fd, r = 0;

	fd = open_socket(path, type, &sa);
	if (fd < 0)
		return fd;
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

int
socket_bind_for(const char *path, int type, mode_t mode, gid_t group)
{
	int fd = socket_bind(path, type), r;

	if (fd < 0)
		return fd;
	/* The group first: the mode would apply to another one. */
	if ((group == (gid_t)-1 || chown(path, (uid_t)-1, group) == 0) &&
	    chmod(path, mode) == 0)
		return fd;
	r = -errno;
	close(fd);
	unlink(path);
	return r;
}

struct socket_file
socket_file(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return (struct socket_file){ 0 };
	return (struct socket_file){ .dev = st.st_dev, .ino = st.st_ino };
}

int
socket_is_there(const char *path, const struct socket_file *file)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	return st.st_dev == file->dev && st.st_ino == file->ino;
}

void
socket_remove(const char *path, const struct socket_file *file)
{
	if (socket_is_there(path, file) > 0)
		unlink(path);
}

static int
connect_to(const char *path, int type)
{
	struct sockaddr_un sa;
	int fd = open_socket(path, type, &sa), r;

	if (fd < 0)
		return fd;
	if (connect(fd, (const struct sockaddr *)&sa, sizeof sa) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int
socket_connect(const char *path)
{
	return connect_to(path, SOCK_STREAM);
}

int
socket_probe(const char *path, int type)
{
	int r = connect_to(path, type);

	if (r >= 0)
		close(r);
	return r >= 0 || r == -EAGAIN ? 0 : r;
}

static int
send_file(int sock, const struct file_offer *offer, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)offer,
		.iov_len = sizeof *offer };
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof control.buf };
	struct cmsghdr *cm;

	memset(&control, 0, sizeof control);
	cm = CMSG_FIRSTHDR(&msg);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(cm), &fd, sizeof fd);
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int
socket_offer_file(const char *path, const struct file_offer *offer, int fd)
{
	struct sockaddr_un sa;
	int sock = open_socket(path, SOCK_SEQPACKET, &sa), r;

	if (sock < 0)
		return sock;
	r = connect(sock, (struct sockaddr *)&sa, sizeof sa) < 0 ? -errno :
	    send_file(sock, offer, fd);
	close(sock);
	return r;
}

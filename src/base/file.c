#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

/* Reads to the end: a file's size may be unknown or change meanwhile. */
static int
read_all(int fd, size_t max, char **bytes, size_t *len)
{
	size_t cap = 0, have = 0;
	char *buf = NULL;
	void *array;
	ssize_t n;
	int r;

	do {
		array = buf;
		r = base_grow(&array, &cap, have + 4096, 1);
		if (r < 0)
			goto failed;
		buf = array;
		n = read(fd, buf + have, cap - have - 1);
		if (n > 0)
			have += (size_t)n;
		r = n < 0 && errno != EINTR ? -errno :
		    have > max ? -EFBIG : 0;
	} while (r == 0 && n != 0);
	if (r < 0)
		goto failed;
	buf[have] = '\0';
	*bytes = buf;
	*len = have;
	return 0;
failed:
	free(buf);
	return r;
}

int
base_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
base_file_read(const char *path, size_t max, char **bytes, size_t *len)
{
	struct stat st;
	int fd, r;

	/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		if (r == -ENOENT && lstat(path, &st) == 0 &&
		    S_ISLNK(st.st_mode))
			return -ENOLINK;
		return r == -ENXIO ? -ENOTSUP : r;	/* a socket */
	}
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISDIR(st.st_mode))
		r = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		r = -ENOTSUP;
	else
		r = read_all(fd, max, bytes, len);
	close(fd);
	return r;
}

const char *
base_file_words(int err)
{
	switch (err) {
	case -ENOLINK:
		return "it is a symbolic link that leads nowhere";
	case -EISDIR:
		return "it is a directory";
	case -ENOTSUP:
		return "it is not a regular file";
	case -EFBIG:
		return "it is too large";
	case -EEXIST:
		return "another file is there";
	default:
		return strerror(-err);
	}
}

static int
user_path(char *path, size_t cap, const char *variable, const char *within,
    const char *name)
{
	const char *folder = secure_getenv(variable);
	size_t len;

	/* The specification: ignore a relative path. */
	if (folder == NULL || folder[0] != '/')
		folder = secure_getenv("HOME");
	else
		within = "";
	if (folder == NULL || folder[0] != '/')
		return -ENOENT;
	len = strlen(folder) + strlen(within) + 1 + strlen(name);
	if (len >= cap)
		return -ENAMETOOLONG;
	snprintf(path, cap, "%s%s/%s", folder, within, name);
	return 0;
}

int
base_config_path(char *path, size_t cap, const char *name)
{
	return user_path(path, cap, "XDG_CONFIG_HOME", "/.config", name);
}

int
base_state_path(char *path, size_t cap, const char *name)
{
	return user_path(path, cap, "XDG_STATE_HOME", "/.local/state", name);
}

int
base_folders_above(const char *path)
{
	char folder[PATH_MAX];
	size_t len = strlen(path);
	char *p;
	int err;

	if (len >= sizeof folder)
		return -ENAMETOOLONG;
	memcpy(folder, path, len + 1);
	for (p = folder + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		err = mkdir(folder, 0700) < 0 ? -errno : 0;
		/* An existing folder may refuse mkdir and let us pass. */
		if (err < 0 && err != -EEXIST &&
		    faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) < 0)
			return err;
		*p = '/';
	}
	return 0;
}

struct replacement {
	char target[PATH_MAX];		/* what is replaced, links followed */
	char temporary[PATH_MAX + 8];
	mode_t mode;			/* the target's, if it exists */
	int fd;
};

static int
find_target(struct replacement *new, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		if (strlen(path) >= sizeof new->target)
			return -ENAMETOOLONG;
		strcpy(new->target, path);
		return 0;
	}
	if (realpath(path, new->target) == NULL)
		return errno == ENOENT ? -ENOLINK : -errno;
	if (stat(new->target, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	/* A user without write permission must not replace the file. */
	if (faccessat(AT_FDCWD, new->target, W_OK, AT_EACCESS) < 0)
		return -errno;
	new->mode = st.st_mode & 0777;
	return 0;
}

static int
open_replacement(struct replacement *new, const char *path)
{
	int r = find_target(new, path);

	if (r < 0)
		return r;
	snprintf(new->temporary, sizeof new->temporary, "%s.XXXXXX", new->target);
	new->fd = mkostemp(new->temporary, O_CLOEXEC);
	return new->fd < 0 ? -errno : 0;
}

int
base_file_replaceable(const char *path)
{
	struct replacement new;
	int r = open_replacement(&new, path);

	if (r < 0)
		return r;
	close(new.fd);
	return unlink(new.temporary) < 0 ? -errno : 0;
}

const char *
base_remedy(int err)
{
	return err == -EMFILE ? "; allow more, as by 'ulimit -n 1024'" :
	    err == -ENFILE ? "; the whole system has too many" : "";
}

int
base_have_descriptors(void)
{
	int fds[2], third, r;

	if (pipe(fds) < 0)
		return -errno;
	third = dup(fds[0]);
	r = third < 0 ? -errno : 0;
	if (r == 0)
		close(third);
	close(fds[0]);
	close(fds[1]);
	return r;
}

int
base_file_replace(const char *path, const void *bytes, size_t len,
    mode_t mode)
{
	struct replacement new = { .mode = mode };
	int r = open_replacement(&new, path);

	if (r < 0)
		return r;
	r = base_write_all(new.fd, bytes, len);
	if (r == 0 && fchmod(new.fd, new.mode) < 0)
		r = -errno;
	/* Network file systems report a full disk only now. */
	if (r == 0 && fsync(new.fd) < 0 && errno != EINVAL)
		r = -errno;
	if (close(new.fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(new.temporary, new.target) < 0)
		r = -errno;
	if (r < 0)
		unlink(new.temporary);
	return r;
}

bool
base_folder_is_empty(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;
	bool empty = d != NULL;

	while (empty && (e = readdir(d)) != NULL)
		empty = strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0;
	if (d != NULL)
		closedir(d);
	else if (own >= 0)
		close(own);
	return empty;
}

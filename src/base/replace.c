/*
 * Files that are written whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

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
		/* One of a folder that may only be passed is there, too. */
		if (err < 0 && err != -EEXIST &&
		    faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) < 0)
			return err;
		*p = '/';
	}
	return 0;
}

/* A file that is written beside the one that it will replace. */
struct beside {
	char real[PATH_MAX];		/* where all links lead to */
	char made[PATH_MAX + 8];
	mode_t mode;			/* of the file that is there, else as it was */
	int fd;
};

static int
find_place(struct beside *b, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		if (strlen(path) >= sizeof b->real)
			return -ENAMETOOLONG;
		strcpy(b->real, path);
		return 0;
	}
	if (realpath(path, b->real) == NULL)
		return errno == ENOENT ? -ENOLINK : -errno;
	if (stat(b->real, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	/* Who may not write it is not meant to rename another over it. */
	if (faccessat(AT_FDCWD, b->real, W_OK, AT_EACCESS) < 0)
		return -errno;
	b->mode = st.st_mode & 0777;
	return 0;
}

static int
open_beside(struct beside *b, const char *path)
{
	int r = find_place(b, path);

	if (r < 0)
		return r;
	snprintf(b->made, sizeof b->made, "%s.XXXXXX", b->real);
	b->fd = mkostemp(b->made, O_CLOEXEC);
	return b->fd < 0 ? -errno : 0;
}

int
base_file_replaceable(const char *path)
{
	struct beside b;
	int r = open_beside(&b, path);

	if (r < 0)
		return r;
	close(b.fd);
	return unlink(b.made) < 0 ? -errno : 0;
}

int
base_file_replace(const char *path, const void *bytes, size_t len,
    mode_t mode)
{
	struct beside b = { .mode = mode };
	int r = open_beside(&b, path);

	if (r < 0)
		return r;
	r = base_write_all(b.fd, bytes, len);
	if (r == 0 && fchmod(b.fd, b.mode) < 0)
		r = -errno;
	/* A full disk far away may say so only now. */
	if (r == 0 && fsync(b.fd) < 0 && errno != EINVAL)
		r = -errno;
	if (close(b.fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(b.made, b.real) < 0)
		r = -errno;
	if (r < 0)
		unlink(b.made);
	return r;
}

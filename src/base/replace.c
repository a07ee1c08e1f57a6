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

	if (len >= sizeof folder)
		return -ENAMETOOLONG;
	memcpy(folder, path, len + 1);
	for (p = folder + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		/* One of a folder that may only be passed is there, too. */
		if (mkdir(folder, 0700) < 0 && errno != EEXIST &&
		    access(folder, X_OK) < 0)
			return -errno;
		*p = '/';
	}
	return 0;
}

/* Where it is once all links are followed, and what mode it has. */
static int
find_place(const char *path, char real[PATH_MAX], mode_t *mode)
{
	struct stat st;

	*mode = 0600;
	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		if (strlen(path) >= PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(real, path);
		return 0;
	}
	if (realpath(path, real) == NULL)
		return errno == ENOENT ? -ENOLINK : -errno;
	if (stat(real, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	/* Who may not write it is not meant to rename another over it. */
	if (faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) < 0)
		return -errno;
	*mode = st.st_mode & 0777;
	return 0;
}

int
base_file_replace(const char *path, const void *bytes, size_t len)
{
	char real[PATH_MAX], made[PATH_MAX + 8];
	mode_t mode;
	int fd, r;

	r = find_place(path, real, &mode);
	if (r < 0)
		return r;
	snprintf(made, sizeof made, "%s.XXXXXX", real);
	fd = mkostemp(made, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = base_write_all(fd, bytes, len);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	/* A full disk far away may say so only now. */
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(made, real) < 0)
		r = -errno;
	if (r < 0)
		unlink(made);
	return r;
}

/*
 * A link cannot replace a file: the new file gets a temporary name first and is
 * renamed then.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listing.h"

#define TRIES 10

/* 0: an empty file or a listing; a file that cannot be read is none. */
static int
check_contents(int folder, const char *name)
{
	char begin[sizeof LISTING_HEAD_TITLE];
	ssize_t n;
	int fd, r;

	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, begin, sizeof begin - 1);
	if (n < 0)
		r = -errno;
	else if (n == 0 || (n == sizeof begin - 1 &&
	    memcmp(begin, LISTING_HEAD_TITLE, sizeof begin - 1) == 0))
		r = 0;
	else
		r = -EEXIST;
	close(fd);
	return r;
}

/* 0: there is nothing at that name, or something that may be replaced. */
static int
check_place(int folder, const char *name, enum whole_file_place place)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (place == WHOLE_FILE_NEW)
		return -EEXIST;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	return place == WHOLE_FILE_ANY ? 0 : check_contents(folder, name);
}

/* A symbolic link stays and its target is replaced; a new file follows none. */
static int
follow_link(const char *path, enum whole_file_place place, char out[PATH_MAX])
{
	struct stat st;

	if (place == WHOLE_FILE_NEW || lstat(path, &st) < 0 ||
	    !S_ISLNK(st.st_mode)) {
		if (strlen(path) >= PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(out, path);
		return 0;
	}
	if (realpath(path, out) == NULL)
		return errno == ENOENT ? -ENOLINK : -errno;
	return 0;
}

static int
find_place(struct whole_file *f, const char *path)
{
	char real[PATH_MAX];
	int r = follow_link(path, f->place, real);

	/* A file has no slash behind its name. */
	if (r == 0 && real[0] != '\0' && real[strlen(real) - 1] == '/')
		r = -EISDIR;
	if (r == 0)
		r = whole_place_open(&f->at, real);
	return r < 0 ? r : check_place(f->at.folder, f->at.name, f->place);
}

/* For file systems without O_TMPFILE. */
static int
open_named(struct whole_file *f)
{
	int i, r = -EEXIST;

	for (i = 0; i < TRIES && r == -EEXIST; i++) {
		r = whole_temporary("listing", f->temporary);
		if (r < 0)
			break;
		f->fd = openat(f->at.folder, f->temporary, O_RDWR | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
		r = f->fd >= 0 ? 0 : -errno;
	}
	if (r < 0)
		f->temporary[0] = '\0';
	return r;
}

static bool
lacks_tmpfile(int err)
{
	return err == EOPNOTSUPP || err == EISDIR || err == EINVAL;
}

const char *
whole_file_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder != NULL && folder[0] == '/' ? folder : "/tmp";
}

static int
open_nameless(struct whole_file *f)
{
	f->fd = open(whole_file_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC,
	    0600);
	if (f->fd < 0)
		f->fd = memfd_create("listing", MFD_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

int
whole_file_open(struct whole_file *f, const char *path,
    enum whole_file_place place)
{
	int r;

	*f = WHOLE_FILE_NONE;
	f->place = place;
	if (path == NULL)
		return open_nameless(f);
	r = find_place(f, path);
	if (r == 0) {
		f->fd = openat(f->at.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
		    0600);
		if (f->fd < 0)
			r = lacks_tmpfile(errno) ? open_named(f) : -errno;
	}
	if (r < 0)
		whole_file_close(f);
	return r;
}

static int
link_name(struct whole_file *f, const char *name)
{
	char path[64];
	int r;

	snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
	r = f->temporary[0] != '\0' ?
	    linkat(f->at.folder, f->temporary, f->at.folder, name, 0) :
	    linkat(AT_FDCWD, path, f->at.folder, name, AT_SYMLINK_FOLLOW);
	return r < 0 ? -errno : 0;
}

static int
give_name(struct whole_file *f)
{
	char name[sizeof f->temporary];
	int i, r = -EEXIST;

	for (i = 0; i < TRIES && r == -EEXIST; i++) {
		r = whole_temporary("listing", name);
		if (r == 0)
			r = link_name(f, name);
	}
	if (r == 0)
		memcpy(f->temporary, name, sizeof f->temporary);
	return r;
}

int
whole_file_publish(struct whole_file *f, bool sync)
{
	int r = 0;

	/* A remote disk may report only now that it is full. */
	if (sync && fdatasync(f->fd) < 0 && errno != EINVAL)
		return -errno;
	if (f->place == WHOLE_FILE_NEW)
		return link_name(f, f->at.name);
	if (f->temporary[0] == '\0')
		r = give_name(f);
	if (r == 0)
		r = check_place(f->at.folder, f->at.name, f->place);
	if (r == 0 && renameat(f->at.folder, f->temporary, f->at.folder, f->at.name) < 0)
		r = -errno;
	if (r == 0)
		f->temporary[0] = '\0';
	return r;
}

void
whole_file_close(struct whole_file *f)
{
	if (f->temporary[0] != '\0')
		unlinkat(f->at.folder, f->temporary, 0);
	if (f->fd >= 0)
		close(f->fd);
	if (f->at.folder >= 0)
		close(f->at.folder);
	*f = WHOLE_FILE_NONE;
}

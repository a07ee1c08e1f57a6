/*
 * A folder that appears whole or not at all: it has a temporary name until then.
 * Files share its place and the form of that name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listing.h"

/* Only an empty folder is replaced. */
static int
check_place(const struct whole_folder *f)
{
	struct stat st;
	bool empty;
	int fd;

	if (fstatat(f->at.folder, f->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	fd = openat(f->at.folder, f->at.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd < 0)
		return -EEXIST;
	empty = base_folder_is_empty(fd);
	close(fd);
	return empty ? 0 : -ENOTEMPTY;
}

int
whole_place_open(struct whole_place *at, const char *path)
{
	char copy[PATH_MAX], *name;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof copy)
		return -ENAMETOOLONG;
	memcpy(copy, path, len);
	copy[len] = '\0';
	name = strrchr(copy, '/');
	name = name != NULL ? name + 1 : copy;
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EISDIR;
	if (strlen(name) >= sizeof at->name)
		return -ENAMETOOLONG;
	strcpy(at->name, name);
	*name = '\0';
	at->folder = open(copy[0] != '\0' ? copy : ".", O_PATH | O_DIRECTORY |
	    O_CLOEXEC);
	return at->folder < 0 ? -errno : 0;
}

int
whole_temporary(const char *kind, char out[WHOLE_TEMPORARY])
{
	uint64_t n;

	if (getrandom(&n, sizeof n, 0) != sizeof n)
		return -errno;
	snprintf(out, WHOLE_TEMPORARY, ".pagek-%s-%016llx", kind,
	    (unsigned long long)n);
	return 0;
}

static int
make_folder(struct whole_folder *f)
{
	int r = whole_temporary("export", f->temporary);

	if (r < 0)
		return r;
	if (mkdirat(f->at.folder, f->temporary, 0700) < 0) {
		f->temporary[0] = '\0';
		return -errno;
	}
	f->fd = openat(f->at.folder, f->temporary, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

int
whole_folder_open(struct whole_folder *f, const char *path)
{
	int r;

	*f = (struct whole_folder){ .fd = -1, .at.folder = -1 };
	r = whole_place_open(&f->at, path);
	/* There is such a folder, and it is not a new one. */
	if (r == -EISDIR)
		r = -EEXIST;
	if (r == 0)
		r = check_place(f);
	if (r == 0)
		r = make_folder(f);
	if (r < 0)
		whole_folder_close(f);
	return r;
}

int
whole_folder_file(struct whole_folder *f, const char *name, FILE **out)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600), r;

	if (fd < 0)
		return -errno;
	*out = fdopen(fd, "w");
	if (*out != NULL)
		return 0;
	r = -errno;
	close(fd);
	return r;
}

int
whole_folder_publish(struct whole_folder *f)
{
	int r = check_place(f);

	if (r == 0 && renameat(f->at.folder, f->temporary, f->at.folder, f->at.name) < 0)
		r = -errno;
	if (r == 0)
		f->temporary[0] = '\0';
	return r;
}

static void
remove_all(const struct whole_folder *f)
{
	int fd = f->fd >= 0 ? fcntl(f->fd, F_DUPFD_CLOEXEC, 0) : -1;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (dir != NULL) {
		while ((e = readdir(dir)) != NULL)
			if (e->d_name[0] != '.')
				unlinkat(f->fd, e->d_name, 0);
		closedir(dir);
	} else if (fd >= 0) {
		close(fd);
	}
	unlinkat(f->at.folder, f->temporary, AT_REMOVEDIR);
}

void
whole_folder_close(struct whole_folder *f)
{
	if (f->temporary[0] != '\0')
		remove_all(f);
	if (f->fd >= 0)
		close(f->fd);
	if (f->at.folder >= 0)
		close(f->at.folder);
	f->fd = f->at.folder = -1;
	f->temporary[0] = '\0';
}

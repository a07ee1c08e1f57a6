/*
 * A folder that appears whole or not at all: it has a temporary name until then.
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

	if (fstatat(f->parent, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	fd = openat(f->parent, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd < 0)
		return -EEXIST;
	empty = base_folder_is_empty(fd);
	close(fd);
	return empty ? 0 : -ENOTEMPTY;
}

/* The name, without slashes behind it, and the folder that it is in. */
static int
find_place(struct whole_folder *f, const char *path)
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
		return -EEXIST;
	if (strlen(name) >= sizeof f->name)
		return -ENAMETOOLONG;
	strcpy(f->name, name);
	*name = '\0';
	f->parent = open(copy[0] != '\0' ? copy : ".", O_PATH | O_DIRECTORY |
	    O_CLOEXEC);
	return f->parent < 0 ? -errno : check_place(f);
}

static int
make_folder(struct whole_folder *f)
{
	uint64_t n;

	if (getrandom(&n, sizeof n, 0) != sizeof n)
		return -errno;
	snprintf(f->temporary, sizeof f->temporary, ".pagek-export-%016llx",
	    (unsigned long long)n);
	if (mkdirat(f->parent, f->temporary, 0700) < 0) {
		f->temporary[0] = '\0';
		return -errno;
	}
	f->fd = openat(f->parent, f->temporary, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

int
whole_folder_open(struct whole_folder *f, const char *path)
{
	int r;

	*f = (struct whole_folder){ .fd = -1, .parent = -1 };
	r = find_place(f, path);
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

	if (r == 0 && renameat(f->parent, f->temporary, f->parent, f->name) < 0)
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
	unlinkat(f->parent, f->temporary, AT_REMOVEDIR);
}

void
whole_folder_close(struct whole_folder *f)
{
	if (f->temporary[0] != '\0')
		remove_all(f);
	if (f->fd >= 0)
		close(f->fd);
	if (f->parent >= 0)
		close(f->parent);
	f->fd = f->parent = -1;
	f->temporary[0] = '\0';
}

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../host/host.h"
#include "places.h"

#define SYSTEM_MODE 0755	/* of the system's folder, whatever the umask is */
#define FOLDER_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

struct found {
	char *path;
	struct timespec made;
};

/* -EPERM unless the folder is this user's alone. */
static int
check_folder(const char *path)
{
	struct stat st;
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		err = -EPERM;
	close(fd);
	return err;
}

static int
folder_name(char *path, size_t cap)
{
	const char *run = secure_getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int n;

	if (run != NULL && run[0] == '/' && stat(run, &st) == 0 &&
	    S_ISDIR(st.st_mode) && access(run, W_OK) == 0)
		n = snprintf(path, cap, "%s/pagek", run);
	else
		n = snprintf(path, cap, "/tmp/pagek-%lu",
		    (unsigned long)geteuid());
	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

int
nodes_folder(char *path, size_t cap)
{
	char folder[FOLDER_MAX];
	int err;

	err = folder_name(folder, sizeof folder);
	if (err < 0)
		return err;
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	err = check_folder(folder);
	if (err < 0)
		return err;
	if (strlen(folder) >= cap)
		return -ENAMETOOLONG;
	strcpy(path, folder);
	return 0;
}

int
nodes_system_folder(void)
{
	struct stat st;

	if (mkdir(DAEMON_SYSTEM_FOLDER, SYSTEM_MODE) == 0) {
		if (chmod(DAEMON_SYSTEM_FOLDER, SYSTEM_MODE) < 0)
			return -errno;
	} else if (errno != EEXIST) {
		return -errno;
	}
	if (lstat(DAEMON_SYSTEM_FOLDER, &st) < 0)
		return -errno;
	return !S_ISDIR(st.st_mode) || (st.st_mode & 022) != 0 ||
	    (st.st_uid != 0 && st.st_uid != geteuid()) ? -EPERM : 0;
}

/* Removes both sockets of a node that was killed. */
static void
remove_sockets(const char *path)
{
	char hello[FOLDER_MAX + sizeof ".hello"];

	snprintf(hello, sizeof hello, "%s.hello", path);
	unlink(hello);
	unlink(path);
}

/* True if a node listens there. Removes the sockets of a node whose process is gone. */
static bool
answers(const char *path, const char *name)
{
	int r = socket_probe(path, SOCK_STREAM);
	long pid;

	if (r == 0)
		return true;
	if (r == -ECONNREFUSED && sscanf(name, "run.%ld", &pid) == 1 &&
	    pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		remove_sockets(path);
	return false;
}

bool
nodes_is_socket_name(const char *name)
{
	char *end;

	if (strcmp(name, "node") == 0)
		return true;
	if (strncmp(name, "run.", 4) != 0 || name[4] < '1' || name[4] > '9')
		return false;
	strtoul(name + 4, &end, 10);
	return *end == '\0';
}

static int
scan_folder(const char *folder, struct found **list, size_t *n, size_t *cap)
{
	char path[FOLDER_MAX];
	struct dirent *entry;
	void *array = *list;
	struct stat st;
	DIR *dir;
	int err = 0;

	dir = opendir(folder);
	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		if (!nodes_is_socket_name(entry->d_name))
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder,
		    entry->d_name) >= sizeof path)
			continue;
		if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) ||
		    !answers(path, entry->d_name))
			continue;
		err = base_grow(&array, cap, *n + 1, sizeof **list);
		if (err < 0)
			break;
		*list = array;
		(*list)[*n] = (struct found){ .path = strdup(path),
		    .made = st.st_mtim };
		if ((*list)[*n].path == NULL) {
			err = -ENOMEM;
			break;
		}
		++*n;
	}
	closedir(dir);
	return err;
}

static int
newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->made.tv_sec != y->made.tv_sec)
		return x->made.tv_sec < y->made.tv_sec ? 1 : -1;
	if (x->made.tv_nsec != y->made.tv_nsec)
		return x->made.tv_nsec < y->made.tv_nsec ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* One allocation: the pointers, then the texts. */
static int
pack(const struct found *list, size_t n, char ***paths)
{
	size_t bytes = 0, i;
	char **out, *text;

	for (i = 0; i < n; i++)
		bytes += sizeof *out + strlen(list[i].path) + 1;
	out = malloc(bytes + 1);
	if (out == NULL)
		return -ENOMEM;
	text = (char *)(out + n);
	for (i = 0; i < n; i++) {
		out[i] = text;
		text = stpcpy(text, list[i].path) + 1;
	}
	*paths = out;
	return 0;
}

/* The system's node goes last: a user's own knows more of that user's. */
static int
add_system(struct found **list, size_t *n, size_t *cap)
{
	static const char path[] = DAEMON_SYSTEM_FOLDER "/" DAEMON_SOCKET;
	void *array = *list;
	int err;

	if (!answers(path, DAEMON_SOCKET))
		return 0;
	err = base_grow(&array, cap, *n + 1, sizeof **list);
	if (err < 0)
		return err;
	*list = array;
	(*list)[*n] = (struct found){ .path = strdup(path) };
	if ((*list)[*n].path == NULL)
		return -ENOMEM;
	++*n;
	return 0;
}

int
nodes_find(char ***paths, size_t *n)
{
	struct found *list = NULL;
	char folder[FOLDER_MAX];
	size_t cap = 0, count = 0, i;
	int err;

	err = folder_name(folder, sizeof folder);
	if (err == 0)
		err = check_folder(folder);
	if (err == 0)
		err = scan_folder(folder, &list, &count, &cap);
	else if (err == -ENOENT)
		err = 0;
	if (err == 0 && count > 1)
		qsort(list, count, sizeof *list, newest_first);
	if (err == 0)
		err = add_system(&list, &count, &cap);
	if (err == 0)
		err = pack(list, count, paths);
	if (err == 0)
		*n = count;
	for (i = 0; i < count; i++)
		free(list[i].path);
	free(list);
	return err;
}

int
nodes_program(const char *name, char *path, size_t cap)
{
	char self[PATH_MAX];
	ssize_t n;
	char *slash;
	int i;

	n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = '\0';
	/* Beside the running program; a test lies one folder further down. */
	for (i = 0; i < 2 && (slash = strrchr(self, '/')) != NULL; i++) {
		*slash = '\0';
		if ((size_t)snprintf(path, cap, "%s/%s", self, name) < cap &&
		    access(path, X_OK) == 0)
			return 0;
	}
	if ((size_t)snprintf(path, cap, "%s/%s", PAGEK_LIBEXECDIR, name) >=
	    cap)
		return -ENAMETOOLONG;
	return access(path, X_OK) == 0 ? 0 : -errno;
}

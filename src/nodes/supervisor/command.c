#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../keeper/node.h"
#include "command.h"

#define LIBRARY "liballoclog.so"
#define DESCRIPTORS 4096	/* more than NODE_TARGETS_MAX targets and their pages need */

static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN,
	SIGTTOU, SIGPIPE, SIGXFSZ };

/* Limits of the command, which the node's rings and lists would exceed. */
static const int lifted[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE,
	RLIMIT_NOFILE };

_Static_assert(BASE_NELEM(ignored) == COMMAND_IGNORED, "one place for each");
_Static_assert(BASE_NELEM(lifted) == COMMAND_LIFTED, "one place for each");

void
command_ignore_terminal(struct sigaction before[COMMAND_IGNORED])
{
	struct sigaction ign = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < BASE_NELEM(ignored); i++)
		sigaction(ignored[i], &ign, before != NULL ? &before[i] :
		    NULL);
}

void
command_lift_limits(struct rlimit limits[COMMAND_LIFTED])
{
	for (size_t i = 0; i < BASE_NELEM(lifted); i++) {
		struct rlimit most, now, *was = limits != NULL ? &limits[i] :
		    &now;

		if (getrlimit(lifted[i], was) < 0)
			continue;
		most.rlim_cur = most.rlim_max = lifted[i] == RLIMIT_NOFILE &&
		    was->rlim_max < DESCRIPTORS ? DESCRIPTORS : was->rlim_max;
		if (lifted[i] != RLIMIT_NOFILE)
			most.rlim_cur = most.rlim_max = RLIM_INFINITY;
		if (setrlimit(lifted[i], &most) == 0)
			continue;
		most.rlim_cur = most.rlim_max = was->rlim_max;
		setrlimit(lifted[i], &most);
	}
}

void
command_release_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	for (int fd = 0; fd <= 2; fd++)
		if (fd != null)
			dup2(null, fd);
	if (null > 2)
		close(null);
}

static int
find_library(char *path, size_t cap)
{
	ssize_t n = readlink("/proc/self/exe", path, cap - 1);
	char *slash;

	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		if (slash != NULL &&
		    (size_t)(slash + 1 - path) + sizeof LIBRARY <= cap) {
			strcpy(slash + 1, LIBRARY);
			if (access(path, R_OK) == 0)
				return 0;
		}
	}
	if ((size_t)snprintf(path, cap, "%s/%s", PAGEK_LIBDIR, LIBRARY) >= cap)
		return -ENAMETOOLONG;
	return access(path, R_OK) == 0 ? 0 : -errno;
}

/* The loader takes blanks and colons for separators; a link has neither. */
static int
make_loadable(char *path, size_t cap, const char *folder)
{
	char link[NODE_PATH];

	if (strpbrk(path, " :\t\n$") == NULL)
		return 0;
	if ((size_t)snprintf(link, sizeof link, "%s/" LIBRARY, folder) >=
	    sizeof link || strpbrk(link, " :\t\n$") != NULL)
		return -EINVAL;
	unlink(link);
	if (symlink(path, link) < 0)
		return -errno;
	if (strlen(link) >= cap)
		return -ENAMETOOLONG;
	strcpy(path, link);
	return 0;
}

static int
prepend_env(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *both;
	int r;

	if (old == NULL || *old == '\0')
		return setenv(name, value, 1);
	if (asprintf(&both, "%s:%s", value, old) < 0)
		return -1;
	r = setenv(name, both, 1);
	free(both);
	return r;
}

static void
restore_signals(const struct command *c)
{
	sigaction(SIGCHLD, &c->chld, NULL);
	for (size_t i = 0; i < BASE_NELEM(ignored); i++)
		sigaction(ignored[i], &c->before[i], NULL);
}

/* Last of all: they must not limit our own preparations. */
static int
restore_limits(const struct command *c)
{
	for (size_t i = 0; i < BASE_NELEM(lifted); i++)
		if (setrlimit(lifted[i], &c->limits[i]) < 0)
			return -1;
	return 0;
}

static int
leave_terminal(int output_fd)
{
	int null;

	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(output_fd, 1) < 0 ||
	    dup2(output_fd, 2) < 0)
		return -1;
	return 0;
}

/* The folders of PATH where execvp(3) searches for the word; NULL: nowhere. */
static const char *
search_path(const char *word)
{
	const char *path = getenv("PATH");

	if (word[0] == '\0')
		return NULL;
	return path != NULL ? path : "/bin:/usr/bin";
}

/* The word's file in the first folder of *path, which goes on; false: no more. */
static bool
next_file(const char **path, const char *word, char file[PATH_MAX])
{
	const char *folder;
	size_t len, need = PATH_MAX;

	while (*path != NULL && need >= PATH_MAX) {
		folder = *path;
		len = strcspn(folder, ":");
		*path = folder[len] == ':' ? folder + len + 1 : NULL;
		need = (size_t)snprintf(file, PATH_MAX, "%.*s%s%s", (int)len,
		    folder, len > 0 ? "/" : "./", word);
	}
	return need < PATH_MAX;
}

bool
command_find(const char *word, char file[PATH_MAX])
{
	const char *path = search_path(word);
	struct stat st;

	if (strchr(word, '/') != NULL)
		return (size_t)snprintf(file, PATH_MAX, "%s", word) < PATH_MAX;
	while (next_file(&path, word, file))
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(file, X_OK) == 0)
			return true;
	return false;
}

/*
 * Searches PATH as execvp(3) does.  A file that the kernel refuses is an error;
 * execvp() would give it to /bin/sh.  Returns on failure only.
 */
static void
execute(char *const *argv)
{
	const char *path = search_path(argv[0]);
	char file[PATH_MAX];
	int err = ENOENT;

	if (strchr(argv[0], '/') != NULL) {
		execv(argv[0], argv);
		return;
	}
	while (next_file(&path, argv[0], file)) {
		execv(file, argv);
		if (errno == EACCES)
			err = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR)
			return;
	}
	errno = err;
}

/* Without the option the environment stays as it is. */
static int
set_debug_data(const char *settings)
{
	if (settings == NULL)
		return 0;
	return setenv("PAGEK_DEBUGDATA", settings[0] != '\0' ? settings : "on",
	    1);
}

/* report_fd: CLOEXEC; errno goes there when exec fails. */
static _Noreturn void
become_command(const struct command *c, int report_fd)
{
	int err;

	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	restore_signals(c);
	if ((c->output_fd < 0 || leave_terminal(c->output_fd) == 0) &&
	    prepend_env("LD_PRELOAD", c->library) == 0 &&
	    setenv("PAGEK_NODE", c->hello, 1) == 0 &&
	    set_debug_data(c->debug_data) == 0 &&
	    /* Else a sanitized child ends because it is not loaded first. */
	    prepend_env("ASAN_OPTIONS", "verify_asan_link_order=0") == 0 &&
	    restore_limits(c) == 0)
		execute(c->argv);
	err = errno;
	if (c->reports)
		fprintf(stderr, "pageknode: cannot run %s: %s\n",
		    base_shown(c->argv[0]), strerror(err));
	while (write(report_fd, &err, sizeof err) < 0 && errno == EINTR)
		continue;
	_exit(err == ENOENT ? 127 : 126);
}

int
command_output(char *path, size_t cap, const char *folder, pid_t pid)
{
	return (size_t)snprintf(path, cap, "%s/out.%d", folder, (int)pid) >=
	    cap ? -ENAMETOOLONG : 0;
}

static int
open_output(const char *folder)
{
	char path[SOCKET_PATH];
	int fd, r = command_output(path, sizeof path, folder, getpid());

	if (r < 0)
		return r;
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int
prepare_library(struct command *c, const char *folder)
{
	int r = find_library(c->library, sizeof c->library);

	if (r < 0) {
		fprintf(stderr, "pageknode: %s: %s\n", LIBRARY, strerror(-r));
		return r;
	}
	r = make_loadable(c->library, sizeof c->library, folder);
	if (r < 0)
		fprintf(stderr, "pageknode: the loader cannot load %s\n",
		    base_shown(c->library));
	return r;
}

int
command_prepare(struct command *c, const struct node_opts *opts)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	char folder[SOCKET_PATH];
	int r;

	*c = (struct command){ .argv = opts->argv,
		.debug_data = opts->debug_data, .reports = opts->fd < 0,
		.output_fd = -1 };
	sigprocmask(SIG_SETMASK, NULL, &c->mask);
	sigaction(SIGCHLD, &dfl, &c->chld);
	command_ignore_terminal(c->before);
	command_lift_limits(c->limits);
	r = nodes_folder(folder, sizeof folder);
	if (r < 0)
		return node_say_folder(r);
	if (opts->hello != NULL)
		r = (size_t)snprintf(c->hello, sizeof c->hello, "%s",
		    opts->hello) >= sizeof c->hello ? -ENAMETOOLONG : 0;
	else
		snprintf(c->hello, sizeof c->hello, "%s/run.%d" DAEMON_HELLO,
		    folder, (int)getpid());
	if (r < 0)
		return node_say(opts->hello, r);
	r = prepare_library(c, folder);
	if (r < 0 || !opts->own_session)
		return r < 0 ? node_say(c->argv[0], r) : 0;
	c->output_fd = open_output(folder);
	return c->output_fd < 0 ? node_say(c->argv[0], c->output_fd) : 0;
}

/* The child's end of the pipe closes by exec, or brings the errno. */
static void
read_exec_error(struct command *c, int fd)
{
	ssize_t n;
	int err;

	do
		n = read(fd, &err, sizeof err);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof err)
		return;
	c->error = err;
	c->pid = 0;
}

int
command_start(struct command *c)
{
	int fds[2], r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become_command(c, fds[1]);
	r = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (r == 0) {
		c->pid = pid;
		read_exec_error(c, fds[0]);
	}
	close(fds[0]);
	if (c->output_fd >= 0)
		close(c->output_fd);
	c->output_fd = -1;
	return r;
}

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../host/host.h"
#include "link.h"

uint32_t
retry_wait_ms(unsigned tries, uint32_t most_ms, uint32_t random)
{
	uint64_t longest = RETRY_FIRST_MS;

	while (tries-- > 0 && longest < most_ms)
		longest *= 2;
	if (longest > most_ms)
		longest = most_ms;
	return (uint32_t)(random % (longest + 1));
}

uint32_t
retry_draw_ms(unsigned tries, uint32_t most_ms)
{
	uint32_t random = 0;

	/* Without entropy the longest possible wait. */
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) !=
	    (ssize_t)sizeof random)
		random = UINT32_MAX;
	return retry_wait_ms(tries, most_ms, random);
}

/* True if the process of the path's pid is gone: no node will return there. */
static bool
is_final(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *name = strrchr(path, '/');
	size_t len;
	int pid, at = 0;

	if (name == NULL || nodes_folder(folder, sizeof folder) < 0)
		return false;
	len = (size_t)(name - path);
	if (strlen(folder) != len || memcmp(path, folder, len) != 0)
		return false;
	name++;
	if (sscanf(name, RUN_SOCKET ".%d%n", &pid, &at) != 1 &&
	    sscanf(name, RUN_SOCKET_ALONE ".%d%n", &pid, &at) != 1 &&
	    sscanf(name, "demo.%d%n", &pid, &at) != 1)
		return false;
	return name[at] == '\0' && pid > 0 && kill(pid, 0) < 0 &&
	    errno == ESRCH;
}

static int
path_start(void *arg)
{
	return socket_connect(arg);
}

static bool
path_lost(void *arg, int err, char *why, size_t cap)
{
	const char *path = arg;

	if (is_final(path)) {
		snprintf(why, cap, "this command's node has ended and will not "
		    "restart");
		return false;
	}
	if (err == -ENOENT || err == -ECONNREFUSED)
		snprintf(why, cap, "no node listens at %s", path);
	else if (err < 0)
		snprintf(why, cap, "%s: %s", path, strerror(-err));
	return true;
}

int
retry_by_path(struct nodes_way *way, const char *path)
{
	*way = (struct nodes_way){
		.start = path_start,
		.lost = path_lost,
		.fini = free,
		.arg = strdup(path),
		.most_ms = RETRY_MOST_LOCAL_MS,
	};
	return way->arg == NULL ? -ENOMEM : 0;
}

int
nodes_connect(struct nodes_link **out, uv_loop_t *loop, const char *path)
{
	struct nodes_way way;
	int r = retry_by_path(&way, path);

	if (r < 0)
		return r;
	return nodes_link_keep(out, loop, &way);
}

int
nodes_connect_daemon(struct nodes_link **out, uv_loop_t *loop, char *hello,
    size_t cap)
{
	char path[SOCKET_PATH];
	int err;

	err = nodes_folder(path, sizeof path);
	if (err < 0)
		return err;
	if (strlen(path) + sizeof "/" DAEMON_SOCKET > sizeof path)
		return -ENAMETOOLONG;
	strcat(path, "/" DAEMON_SOCKET);
	if ((size_t)snprintf(hello, cap, "%s" DAEMON_HELLO, path) >= cap)
		return -ENAMETOOLONG;
	return nodes_connect(out, loop, path);
}

uint16_t
link_here(void)
{
	static bool known;
	static uint16_t number;
	const struct nodes_entry *e;
	struct nodes_table *table;

	if (known)
		return number;
	/* Its mistakes are reported when a TARGET is looked up. */
	if (nodes_table_load(&table, true, NULL, NULL) < 0)
		return 0;
	e = nodes_table_local(table);
	number = e != NULL ? e->number : 0;
	known = true;
	nodes_table_free(table);
	return number;
}

static int
connect_local(struct nodes_link **link, uv_loop_t *loop)
{
	char hello[128], **paths = NULL;
	size_t n = 0, i;
	int r;

	r = nodes_connect_daemon(link, loop, hello, sizeof hello);
	if (r == 0)
		return 0;
	r = nodes_find(&paths, &n);
	if (r < 0)
		return r;
	r = -ENOENT;
	for (i = 0; i < n && r < 0; i++)
		r = nodes_connect(link, loop, paths[i]);
	free(paths);
	return r;
}

int
nodes_connect_entry(struct nodes_link **link, uv_loop_t *loop,
    const struct nodes_entry *e)
{
	struct nodes_ssh ssh = { .host = e->place,
		.program = e->remote[0] != '\0' ? e->remote : NULL };
	int r;

	switch (e->at) {
	case NODES_AT_UNIX:
		r = nodes_connect(link, loop, e->place);
		break;
	case NODES_AT_SSH:
		r = nodes_connect_ssh(link, loop, &ssh);
		break;
	default:
		r = connect_local(link, loop);
	}
	if (r == 0)
		nodes_link_call(*link, e->number, e->name);
	return r;
}

/* A link begins connected: this one to a closed socket. */
static int
closed_socket(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
	    fds) < 0)
		return -errno;
	close(fds[1]);
	return fds[0];
}

static int
later_start(void *arg)
{
	bool *begun = arg;
	char **paths = NULL;
	size_t n = 0;
	int r;

	if (!*begun) {
		*begun = true;
		return closed_socket();
	}
	r = nodes_find(&paths, &n);
	if (r == 0)
		r = n > 0 ? socket_connect(paths[0]) : -ENOENT;
	free(paths);
	return r;
}

static bool
later_lost(void *arg, int err, char *why, size_t cap)
{
	(void)arg;
	(void)err;
	snprintf(why, cap, "no node of this user runs here");
	return true;
}

int
nodes_connect_later(struct nodes_link **out, uv_loop_t *loop)
{
	struct nodes_way way = {
		.start = later_start,
		.lost = later_lost,
		.fini = free,
		.arg = calloc(1, sizeof(bool)),
		.most_ms = RETRY_MOST_LOCAL_MS,
	};

	if (way.arg == NULL)
		return -ENOMEM;
	return nodes_link_keep(out, loop, &way);
}

#define PROGRAM "pageknode"
#define PROGRAM_PATH_MAX 4096
#define SPAWN_FDS 3

extern char **environ;

/*
 * Runs the program with these descriptors open, unless -1; all others are
 * CLOEXEC.
 * glibc's posix_spawn(3) would have it ignore signals 32 and 33, and its command too.
 */
static int
spawn(const char *program, const int *fds, char *const argv[], pid_t *pid)
{
	int report[2], err = 0;
	pid_t child;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		for (int i = 0; i < SPAWN_FDS && err == 0; i++)
			if (fds[i] >= 0 && fcntl(fds[i], F_SETFD, 0) < 0)
				err = errno;
		if (err == 0)
			execve(program, argv, environ);
		err = errno;
		(void)!write(report[1], &err, sizeof err);
		_exit(127);
	}
	if (child < 0)
		err = errno;
	close(report[1]);
	/* It ends by the exec, or brings the errno. */
	while (child > 0 && read(report[0], &err, sizeof err) < 0 &&
	    errno == EINTR)
		continue;
	close(report[0]);
	if (err != 0 && child > 0)
		waitpid(child, NULL, 0);
	*pid = child;
	return -err;
}

/*
 * The way to a command's node: the supervisor's next process listens at the
 * path with the pid of the first. A generator dies with its node.
 */
static void
set_way(struct nodes_link *link, const struct node_opts *start, pid_t pid)
{
	char folder[SOCKET_PATH], path[SOCKET_PATH];
	struct nodes_way way;

	if (nodes_folder(folder, sizeof folder) < 0 ||
	    (size_t)snprintf(path, sizeof path, "%s/%s.%d", folder,
	    start->hello != NULL ? RUN_SOCKET_ALONE : RUN_SOCKET,
	    (int)pid) >= sizeof path || retry_by_path(&way, path) < 0)
		return;
	link_way(link, &way);
}

int
nodes_start(struct nodes_link **out, uv_loop_t *loop,
    const struct node_opts *start)
{
	char program[PROGRAM_PATH_MAX];
	struct node_opts opts = *start;
	struct nodes_link *link;
	int fds[2], err;
	char **argv;
	pid_t pid = 0;

	err = nodes_program(PROGRAM, program, sizeof program);
	if (err < 0)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	opts.fd = fds[1];
	argv = node_options_argv(&opts);
	err = argv != NULL ? spawn(program, (int[SPAWN_FDS]){ fds[1],
	    opts.device.fd, opts.record.fd }, argv, &pid) : -ENOMEM;
	free(argv);
	close(fds[1]);
	if (err < 0) {
		close(fds[0]);
		return err;
	}
	err = nodes_link_open(&link, loop, fds[0]);
	if (err < 0)
		return err;
	link_own_child(link, pid);
	if (start->argv != NULL)
		set_way(link, start, pid);
	*out = link;
	return 0;
}

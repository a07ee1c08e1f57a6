/*
 * Starts a node of our own: pageknode, with one end of a socketpair as its
 * first page's link.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../host/socket.h"
#include "link.h"
#include "retry.h"

#define PROGRAM "pageknode"
#define PROGRAM_PATH_MAX 4096

extern char **environ;

/*
 * Runs the program with `fd` open in it, and `other` unless that is -1;
 * everything else of ours is CLOEXEC.
 */
static int
spawn(const char *program, int fd, int other, char *const argv[], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err;

	err = posix_spawn_file_actions_init(&actions);
	if (err != 0)
		return -err;
	/* Onto itself: that takes CLOEXEC off in the child and nowhere else. */
	err = posix_spawn_file_actions_adddup2(&actions, fd, fd);
	if (err == 0 && other >= 0)
		err = posix_spawn_file_actions_adddup2(&actions, other, other);
	if (err == 0)
		err = posix_spawn(pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/*
 * The process of the node that speaks here may die; the next one, and the
 * command with it, is to be found under the name of the process that we have
 * started.  A generator dies with its node.
 */
static void
give_way(struct nodes_link *link, const struct node_opts *start, pid_t pid)
{
	char folder[SOCKET_PATH], path[SOCKET_PATH];
	struct nodes_way way;

	if (nodes_folder(folder, sizeof folder) < 0 ||
	    (size_t)snprintf(path, sizeof path, "%s/%s.%d", folder,
	    start->hello != NULL ? RUN_SOCKET_ALONE : RUN_SOCKET,
	    (int)pid) >= sizeof path || again_by_path(&way, path) < 0)
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
	pid_t pid;

	err = nodes_program(PROGRAM, program, sizeof program);
	if (err < 0)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	opts.fd = fds[1];
	argv = node_options_argv(&opts);
	err = argv != NULL ? spawn(program, fds[1], opts.device, argv, &pid) :
	    -ENOMEM;
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
		give_way(link, start, pid);
	*out = link;
	return 0;
}

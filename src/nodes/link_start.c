/*
 * Starts a node of our own: pageknode, with one end of a socketpair as its
 * first page's link.
 */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/base.h"
#include "link.h"
#include "link_again.h"
#include "run.h"
#include "socket.h"

#define PROGRAM "pageknode"
#define OPTIONS_MAX 40
#define PROGRAM_PATH_MAX 4096

extern char **environ;

static size_t
count_words(const char *const *argv)
{
	size_t n = 0;

	while (argv != NULL && argv[n] != NULL)
		n++;
	return n;
}

/* An option and its value, behind n words; NULL: neither. */
static size_t
put_value(const char **argv, size_t n, const char *option, const char *value)
{
	if (value == NULL)
		return n;
	argv[n++] = option;
	argv[n++] = value;
	return n;
}

static size_t
put_flag(const char **argv, size_t n, const char *option, bool given)
{
	if (given)
		argv[n++] = option;
	return n;
}

/*
 * The arguments; the texts beside `start` are its numbers.  exec takes
 * char *const[] for historical reasons and writes to none of them.
 */
static char **
make_argv(const struct nodes_start *start, char *fd_text, char *max_text,
    char *stack_text, char *sample_text, char *device_text, char *baud_text)
{
	size_t n = 0, words = count_words(start->argv), i;
	bool device = start->device_name != NULL;
	const char **argv;

	argv = calloc(OPTIONS_MAX + words, sizeof *argv);
	if (argv == NULL)
		return NULL;
	argv[n++] = PROGRAM;
	n = put_value(argv, n, "--fd", fd_text);
	n = put_value(argv, n, "--max", start->max != 0 ? max_text : NULL);
	n = put_flag(argv, n, "--no-wait", start->no_wait);
	n = put_flag(argv, n, "--own-session", start->own_session);
	n = put_flag(argv, n, "--check-list", start->check_list);
	n = put_value(argv, n, "--stack", start->stack != 0 ? stack_text :
	    NULL);
	n = put_flag(argv, n, "--free-stack", start->free_stacks);
	n = put_flag(argv, n, "--no-pairs", start->no_pairs);
	n = put_value(argv, n, "--sample", start->sample != 0 ? sample_text :
	    NULL);
	n = put_flag(argv, n, "--dormant", start->dormant);
	n = put_value(argv, n, "--hello", start->hello);
	n = put_value(argv, n, "--report", start->report);
	n = put_value(argv, n, "--demo", start->demo);
	n = put_value(argv, n, "--at", start->demo_at);
	n = put_value(argv, n, "--stream", start->demo_stream);
	n = put_value(argv, n, "--device", device ? device_text : NULL);
	n = put_value(argv, n, "--device-name", start->device_name);
	n = put_value(argv, n, "--baud", device ? baud_text : NULL);
	n = put_flag(argv, n, "--device-once", start->device_once);
	n = put_flag(argv, n, "--", words > 0);
	for (i = 0; i < words; i++)
		argv[n++] = start->argv[i];
	return (char **)(uintptr_t)argv;
}

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
give_way(struct nodes_link *link, const struct nodes_start *start, pid_t pid)
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
    const struct nodes_start *start)
{
	char program[PROGRAM_PATH_MAX], fd_text[12], max_text[12];
	char stack_text[12], sample_text[24], device_text[12], baud_text[12];
	int device = start->device_name != NULL ? start->device : -1;
	struct nodes_link *link;
	int fds[2], err;
	char **argv;
	pid_t pid;

	err = nodes_program(PROGRAM, program, sizeof program);
	if (err < 0)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	snprintf(fd_text, sizeof fd_text, "%d", fds[1]);
	snprintf(max_text, sizeof max_text, "%u", start->max);
	snprintf(stack_text, sizeof stack_text, "%u", start->stack);
	snprintf(sample_text, sizeof sample_text, "%" PRIu64, start->sample);
	snprintf(device_text, sizeof device_text, "%d", device);
	snprintf(baud_text, sizeof baud_text, "%u", start->baud);
	argv = make_argv(start, fd_text, max_text, stack_text, sample_text,
	    device_text, baud_text);
	err = argv != NULL ? spawn(program, fds[1], device, argv, &pid) :
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

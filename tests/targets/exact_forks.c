/*
 * exact_forks: one child after the other, by every call that makes one, each
 * freeing some of what it inherited and keeping some of its own; the parent
 * waits for each and goes on allocating.
 *
 * Prints forked=N, the children that came back with the status they should.
 */
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *inherited[40];
static void *more[40];

static int
child(int status)
{
	for (int i = 0; i < 20; i++)
		free(inherited[i]);
	for (int i = 0; i < 10; i++)
		inherited[i] = malloc(1000 + (size_t)i);
	for (int i = 20; i < 30; i++)
		inherited[i] = realloc(inherited[i], 3000);
	return status;
}

static int
cloned(void *arg)
{
	_exit(child((int)(intptr_t)arg));
}

/* A grandchild too: its parent is itself a child. */
static int
twice(int status)
{
	int st;
	pid_t pid;

	child(status);
	pid = fork();
	if (pid == 0) {
		free(inherited[0]);
		free(inherited[35]);
		_exit(5);
	}
	if (waitpid(pid, &st, 0) != pid || WEXITSTATUS(st) != 5)
		return 99;
	return status;
}

static pid_t
by_raw_clone(int status)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(child(status));
	return pid;
}

static pid_t
by_clone(int status)
{
	static char stack[65536] __attribute__((aligned(16)));

	return clone(cloned, stack + sizeof(stack), SIGCHLD,
	    (void *)(intptr_t)status);
}

/* The child runs in our memory: what it allocates is ours to free. */
static pid_t
by_vfork(int status)
{
	static void *volatile left;
	pid_t pid = vfork();

	if (pid == 0) {
		left = malloc(123);
		free(malloc(77));
		_exit(status);
	}
	free(left);
	return pid;
}

static pid_t
by_vfork_exec(int status)
{
	char code[32];
	char *argv[] = { "sh", "-c", code, NULL };
	pid_t pid;

	snprintf(code, sizeof(code), "exit %d", status);
	pid = vfork();
	if (pid == 0) {
		execv("/bin/sh", argv);
		_exit(98);
	}
	return pid;
}

static pid_t
by_spawn(int status)
{
	char code[32];
	char *argv[] = { "sh", "-c", code, NULL };
	pid_t pid;

	snprintf(code, sizeof(code), "exit %d", status);
	return posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0 ?
	    pid : -1;
}

static pid_t
by_fork(int status)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(twice(status));
	return pid;
}

static pid_t
by__Fork(int status)
{
	pid_t pid = _Fork();

	if (pid == 0)
		_exit(child(status));
	return pid;
}

/* Allocates nothing before it ends: an image all the same. */
static pid_t
by_silent_fork(int status)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(status);
	return pid;
}

static pid_t (*const ways[])(int) = {
	by_fork, by__Fork, by_raw_clone, by_clone, by_vfork, by_vfork_exec,
	by_spawn, by_silent_fork,
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

int
main(void)
{
	unsigned good = 0;
	int status;

	for (size_t i = 0; i < 40; i++)
		inherited[i] = malloc(100 + i);
	for (size_t i = 0; i < WAYS; i++) {
		pid_t pid = ways[i](10 + (int)i);

		if (pid > 0 && waitpid(pid, &status, 0) == pid &&
		    WIFEXITED(status) && WEXITSTATUS(status) == 10 + (int)i)
			good++;
		for (size_t k = 0; k < 5; k++)
			more[5 * i % 40 + k % 5] = malloc(10 * (i + 1));
		free(inherited[30 + i]);
		inherited[30 + i] = NULL;
	}
	dprintf(1, "forked=%u\nways=%zu\n", good, WAYS);
	return good == WAYS ? 0 : 1;
}

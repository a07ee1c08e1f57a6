/*
 * start: what a program pays that lives for no time.  Executes the command
 * COUNT times, one after the other, and prints what one took until its end:
 * median, mean, nine tenths, processor time and page faults.
 *
 *	start fork|spawn COUNT [NAME=VALUE]... COMMAND...
 *
 * A forked child is an image of its own, which says hello before it executes
 * the command; one by posix_spawn(3) is not.  Variables are set for the command
 * alone, so that LD_PRELOAD is not this program's own.  us_node is the processor
 * time that the node took meanwhile, for each; 0 without a node.
 *	build/pagek run -b -o /dev/null -- build/bench/start fork 200 /bin/true
 */
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int
ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The environment with the settings before the command; argv moves past them. */
static char **
settings(char ***argv)
{
	size_t n = 0, kept = 0;
	char **env;

	while (environ[n] != NULL)
		n++;
	for (char **a = *argv; *a != NULL; a++)
		n++;
	env = calloc(n + 1, sizeof(*env));
	if (env == NULL)
		exit(2);
	for (; **argv != NULL && strchr(**argv, '=') != NULL; ++*argv)
		env[kept++] = **argv;
	for (size_t i = 0; environ[i] != NULL; i++)
		env[kept++] = environ[i];
	return env;
}

static pid_t
start_fork(char **argv, char **env)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvpe(argv[0], argv, env);
		_exit(127);
	}
	return pid;
}

static pid_t
start_spawn(char **argv, char **env)
{
	pid_t pid;

	errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, env);
	return errno == 0 ? pid : -1;
}

static uint64_t
run(pid_t (*start)(char **, char **), char **argv, char **env,
    struct rusage *usage)
{
	uint64_t began = now();
	pid_t pid = start(argv, env);
	int status;

	if (pid == -1 || wait4(pid, &status, 0, usage) != pid || status != 0) {
		fprintf(stderr, "start: %s: it failed\n", argv[0]);
		exit(1);
	}
	return now() - began;
}

/* A child of the process that has this name; 0: none. */
static pid_t
named_child(pid_t parent, const char *name)
{
	char path[64], comm[32];
	FILE *children, *f;
	int pid, found = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent,
	    (int)parent);
	children = fopen(path, "re");
	while (found == 0 && children != NULL &&
	    fscanf(children, "%d", &pid) == 1) {
		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		f = fopen(path, "re");
		if (f != NULL && fscanf(f, "%31s", comm) == 1 &&
		    strcmp(comm, name) == 0)
			found = pid;
		if (f != NULL)
			fclose(f);
	}
	if (children != NULL)
		fclose(children);
	return found;
}

/* Of the node, in ns: it is the other child of the supervisor that started us. */
static uint64_t
node_time(void)
{
	pid_t node = named_child(getppid(), "pageknode");
	struct timespec ts;
	clockid_t clock;

	if (node == 0 || clock_getcpuclockid(node, &clock) != 0 ||
	    clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int
main(int argc, char **argv)
{
	uint64_t *took, sum = 0, faults = 0, cpu = 0, node;
	size_t n = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	bool forks = argc > 3 && strcmp(argv[1], "fork") == 0;
	char **env;

	if (n == 0 || (!forks && strcmp(argv[1], "spawn") != 0)) {
		fprintf(stderr, "usage: start fork|spawn COUNT "
		    "[NAME=VALUE]... COMMAND...\n");
		return 2;
	}
	argv += 3;
	env = settings(&argv);
	if (*argv == NULL)
		return 2;
	took = calloc(n, sizeof(*took));
	if (took == NULL)
		return 2;
	node = node_time();
	for (size_t i = 0; i < n; i++) {
		struct rusage u;

		took[i] = run(forks ? start_fork : start_spawn, argv, env, &u);
		sum += took[i];
		faults += (uint64_t)u.ru_minflt;
		cpu += (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) *
		    1000000 + (uint64_t)(u.ru_utime.tv_usec +
		    u.ru_stime.tv_usec);
	}
	node = node_time() - node;
	qsort(took, n, sizeof(*took), ascending);
	printf("start how=%s count=%zu us_median=%.1f us_mean=%.1f us_p90=%.1f "
	    "us_cpu=%.1f faults=%.1f us_node=%.1f\n", forks ? "fork" : "spawn", n,
	    (double)took[n / 2] / 1e3,
	    (double)sum / (double)n / 1e3, (double)took[n * 9 / 10] / 1e3,
	    (double)cpu / (double)n, (double)faults / (double)n,
	    (double)node / (double)n / 1e3);
	return 0;
}

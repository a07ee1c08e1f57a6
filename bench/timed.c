/*
 * timed FILE [NAME=VALUE]... COMMAND [ARGUMENT...]: what the command itself
 * took, whatever started it and whatever goes on around it.
 *
 * Becomes the command, with that environment, its output in FILE.out and
 * FILE.err, and libtimes.so last among its preloads; that one writes FILE when
 * the command ends.  So the process that is watched is the command, not a
 * parent of it, and no parent is needed to ask for its times.  FILE.pid is
 * there from the start, for whoever has to end it.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int
divert(const char *file, const char *suffix, int fd)
{
	char path[PATH_MAX];
	int to;

	snprintf(path, sizeof path, "%s.%s", file, suffix);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return to < 0 || dup2(to, fd) < 0 ? -1 : 0;
}

static void
say_pid(const char *file)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s.pid", file);
	f = fopen(path, "w");
	if (f == NULL)
		return;
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
}

static void
preload(const char *self)
{
	char copy[PATH_MAX], all[2 * PATH_MAX];
	const char *others = getenv("LD_PRELOAD");

	snprintf(copy, sizeof copy, "%s", self);
	snprintf(all, sizeof all, "%s%s%s/libtimes.so",
	    others != NULL ? others : "",
	    others != NULL && others[0] != '\0' ? ":" : "", dirname(copy));
	setenv("LD_PRELOAD", all, 1);
}

int
main(int argc, char **argv)
{
	struct timespec ts;
	char began[24];
	int i = 2;

	for (; i < argc && strchr(argv[i], '=') != NULL; i++)
		if (putenv(argv[i]) != 0)
			return 126;
	if (i >= argc) {
		fprintf(stderr, "usage: timed FILE [NAME=VALUE]... COMMAND "
		    "[ARGUMENT...]\n");
		return 2;
	}
	say_pid(argv[1]);
	if (divert(argv[1], "out", STDOUT_FILENO) < 0 ||
	    divert(argv[1], "err", STDERR_FILENO) < 0)
		return 126;
	preload(argv[0]);
	setenv("BENCH_TIMES", argv[1], 1);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(began, sizeof began, "%lld%09ld", (long long)ts.tv_sec,
	    ts.tv_nsec);
	setenv("BENCH_BEGAN", began, 1);
	execvp(argv[i], argv + i);
	perror(argv[i]);
	return 127;
}

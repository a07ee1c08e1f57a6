/*
 * times: a preload that writes, at the end of the process called BENCH_NAME,
 * what it took, to the file BENCH_TIMES: seconds since BENCH_BEGAN, seconds of
 * user and of system time, kilobytes of memory at most, page faults, how often it
 * waited and how often it was made to, pid.
 * Nothing happens before that, and nothing in other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static pid_t self;
static char times[4096];
static long long began;

__attribute__((constructor)) static void
begin(void)
{
	const char *name = getenv("BENCH_NAME"), *file = getenv("BENCH_TIMES");
	const char *at = getenv("BENCH_BEGAN");

	if (name == NULL || file == NULL || at == NULL ||
	    strcmp(name, program_invocation_short_name) != 0)
		return;
	/* At the end there may be no environment: mtrace takes it down. */
	snprintf(times, sizeof times, "%s", file);
	began = atoll(at);
	self = getpid();
}

/* Not ru_maxrss: that one has what the process was before its exec in it. */
static long
peak_kb(void)
{
	char text[4096], *at;
	ssize_t n;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, "VmHWM:");
	return at != NULL ? atol(at + 6) : 0;
}

static double
seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

__attribute__((destructor)) static void
end(void)
{
	char part[sizeof times + 8], line[200];
	struct timespec ts;
	struct rusage ru;
	int fd, len;

	/* A forked child that ends by exit() has a pid of its own. */
	if (self == 0 || self != getpid())
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	getrusage(RUSAGE_SELF, &ru);
	len = snprintf(line, sizeof line, "%.6f %.6f %.6f %ld %ld %ld %ld %d\n",
	    (double)(ts.tv_sec * 1000000000 + ts.tv_nsec - began) / 1e9,
	    seconds(ru.ru_utime), seconds(ru.ru_stime), peak_kb(),
	    ru.ru_minflt, ru.ru_nvcsw, ru.ru_nivcsw, (int)self);
	snprintf(part, sizeof part, "%s.part", times);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)len) == len)
		rename(part, times);
	close(fd);
}

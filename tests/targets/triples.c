/*
 * triples FILE: makes three blocks at a time, and one more from another line, a few of them a second apart from
 * the rest, as a front end does for a request, and writes their addresses into
 * FILE, a line for each three.
 *
 * With each SIGUSR1 it frees the last block of all and asks for one of the same
 * size from elsewhere, which gets its address, and writes that and "again".
 * What it writes goes through no memory of the heap.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TRIPLES 3

static void *block[TRIPLES][4];
static int out;

__attribute__((format(printf, 1, 2))) static void
say(const char *fmt, ...)
{
	char line[200];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (write(out, line, (size_t)n) != n)
		_exit(2);
}

__attribute__((noinline)) static void
request(void **to)
{
	static const size_t sizes[3] = { 1072, 1024, 1080 };
	/* Or the loop is unrolled, and each has a caller of its own. */
	static volatile int three = 3;
	int i;

	to[3] = malloc(1000);
	for (i = 0; i < three; i++)
		to[i] = malloc(sizes[i]);
}

__attribute__((noinline)) static void
replace(void **last)
{
	free(*last);
	*last = malloc(1080);
}

int
main(int argc, char **argv)
{
	sigset_t set;
	int i, sig;

	if (argc != 2)
		return 2;
	out = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (out < 0)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < TRIPLES; i++) {
		usleep(300000);
		request(block[i]);
		say("%012lx %012lx %012lx\n", (unsigned long)block[i][0],
		    (unsigned long)block[i][1], (unsigned long)block[i][2]);
	}
	say("all\n");
	for (;;) {
		sigwait(&set, &sig);
		replace(&block[TRIPLES - 1][2]);
		say("%012lx again\n", (unsigned long)block[TRIPLES - 1][2]);
	}
}

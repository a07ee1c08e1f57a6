/*
 * burn SHARE: keeps a core as busy as keeper and page do, and does no more.
 *
 * Each millisecond, as the keeper comes by a busy target, it computes in
 * registers until it has had SHARE (0 to 1) of the time since it began; what it
 * missed while it waited for a core it catches up with, as the keeper does with
 * records.  A small share it takes in fewer parts.  It touches next to no memory
 * and has none in common with anybody: what runs beside it lacks a core, or what
 * two cores share, and nothing else.  It ends when it is killed or its parent
 * ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define PERIOD UINT64_C(1000000)	/* ns */
#define STEPS 2000			/* some microseconds */

static uint64_t
now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* Processor time, in ns. */
static double
had(void)
{
	return (double)now(CLOCK_THREAD_CPUTIME_ID);
}

static void
sleep_until(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	    EINTR)
		;
}

/* Each step needs the one before; the empty asm keeps all of them. */
static void
compute(void)
{
	uint64_t z = 1;

	for (int i = 0; i < STEPS; i++) {
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		__asm__ volatile("" : "+r"(z));
	}
}

int
main(int argc, char **argv)
{
	pid_t parent = getppid();
	char *end = NULL;
	double share = argc == 2 ? strtod(argv[1], &end) : -1;
	uint64_t began = now(CLOCK_MONOTONIC), at, due;

	if (!(share >= 0 && share <= 1) || end == argv[1] || *end != '\0') {
		fprintf(stderr, "usage: burn SHARE, of a core, 0 to 1\n");
		return 2;
	}
	/* A parent that has ended before this is not told of. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		return 1;
	while (share > 0) {
		while (at = now(CLOCK_MONOTONIC),
		    due = began + (uint64_t)(had() / share), due < at)
			compute();
		/* Coming by is work too, and more than a small share. */
		at += PERIOD;
		sleep_until(due > at ? due : at);
	}
	for (;;)
		pause();
}

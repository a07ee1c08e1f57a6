/*
 * signals [HITS]: names blocks of its own through the API, which does not
 * enter malloc, while a timer's handler allocates, frees and names blocks too:
 * the handler meets the hooks in the middle of themselves, over and over, but
 * never the allocator.
 *
 * Prints hits=N, named=N (blocks of the API left) and kept=N (of malloc).
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

void alloclog_alloc(const void *, size_t, unsigned) __attribute__((weak));
void alloclog_free(const void *) __attribute__((weak));

#define OBJECTS 64

static char objects[OBJECTS][64], others[64];
static volatile unsigned hits;
static void *volatile block;

static void
on_timer(int sig)
{
	(void)sig;
	hits++;
	free(block);
	block = malloc(10 + hits % 100);
	if (alloclog_alloc != NULL) {
		alloclog_alloc(others, 64, 0xc1);
		alloclog_free(others);
	}
}

int
main(int argc, char **argv)
{
	unsigned wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 300;
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1,
	};
	struct itimerspec every = {
		.it_interval = { .tv_nsec = 50000 },
		.it_value = { .tv_nsec = 50000 },
	};
	struct itimerspec off = { 0 };
	timer_t timer;

	signal(SIGUSR1, on_timer);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0 ||
	    timer_settime(timer, 0, &every, NULL) != 0)
		return 2;
	while (hits < wanted)
		for (int i = 0; i < OBJECTS && alloclog_alloc != NULL; i++) {
			alloclog_alloc(objects[i], (size_t)i + 1, 0xc0);
			alloclog_free(objects[i]);
		}
	timer_settime(timer, 0, &off, NULL);
	signal(SIGUSR1, SIG_IGN);
	if (alloclog_alloc != NULL)
		for (int i = 0; i < OBJECTS / 2; i++)
			alloclog_alloc(objects[i], (size_t)i + 1, 0xc0);
	dprintf(1, "hits=%u\nnamed=%d\nkept=%d\n", hits, OBJECTS / 2, 1);
	return 0;
}

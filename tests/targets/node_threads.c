/*
 * node_threads OUT: two threads, each bound to its own processor, refer to pages of one
 * block all the time: the thread on processor 0 to pages 0 to 255, the thread on
 * processor 1 to pages 128 to 383, none to the last 128.  Processor 0 touches all pages
 * first.  Writes "PID ADDRESS PAGES" to OUT and runs until it is killed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SIZE 4096
#define PAGES 512

static char *memory;

static void
bind_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		perror("sched_setaffinity");
}

static void *
refer(void *arg)
{
	const struct timespec pause = { .tv_nsec = 3000000 };
	unsigned first = arg == NULL ? 0 : 128;
	volatile char sum = 0;

	bind_to(arg != NULL);
	for (;;) {
		for (unsigned times = 0; times < 50; times++)
			for (unsigned i = first; i < first + 256; i++)
				sum += memory[i * SIZE];
		free(malloc(100));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	static char other;
	char *block = malloc((PAGES + 1) * SIZE);
	pthread_t thread;
	FILE *f;

	if (argc != 2 || block == NULL)
		return 1;
	bind_to(0);
	memory = (char *)(((uintptr_t)block + SIZE - 1) & ~(uintptr_t)(SIZE - 1));
	madvise(memory, PAGES * SIZE, MADV_NOHUGEPAGE);
	memset(memory, 1, PAGES * SIZE);
	if ((f = fopen(argv[1], "w")) == NULL)
		return 1;
	fprintf(f, "%d %lx %d\n", (int)getpid(), (unsigned long)memory, PAGES);
	if (fclose(f) != 0 || pthread_create(&thread, NULL, refer, &other) != 0)
		return 1;
	refer(NULL);
}

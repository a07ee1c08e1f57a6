/*
 * busy_forks THREADS FORKS [WORK]: forks while other threads are inside the
 * allocator, between which they count to WORK.  Each child allocates a little
 * and ends.  With 0 FORKS it ends by exit(3) beside them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD 64

static atomic_bool stop;
static atomic_uint begun;
static unsigned pause_for;

static void *
work(void *arg)
{
	unsigned r = (unsigned)(size_t)arg;
	void *held[HELD] = { NULL };

	atomic_fetch_add(&begun, 1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned k = (r >> 16) % HELD, size = 16 + (r >> 8) % 500;

		r = r * 1103515245 + 12345;
		if (r >> 28 == 0) {
			held[k] = realloc(held[k], size);
		} else {
			free(held[k]);
			held[k] = malloc(size);
		}
		for (volatile unsigned n = 0; n < pause_for; n++)
			continue;
	}
	for (unsigned i = 0; i < HELD; i++)
		free(held[i]);
	return NULL;
}

static int
child(void)
{
	void *volatile p = malloc(100);

	free(malloc(200));
	p = malloc(300);
	(void)p;
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
	unsigned forks = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
	pthread_t t[64];

	pause_for = argc > 3 ? (unsigned)atoi(argv[3]) : 0;

	if (threads > 64)
		return 2;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(size_t)(i + 1)))
			return 3;
	while (atomic_load(&begun) < threads)
		usleep(100);
	for (unsigned i = 0; i < forks; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(child());
		if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
			return 4;
	}
	if (forks == 0) {
		usleep(20000);
		exit(0);
	}
	atomic_store(&stop, true);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}

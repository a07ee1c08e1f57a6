/*
 * modes FILE LIVE [THREADS]: threads that allocate, reallocate and free blocks
 * of each other's, of 20,000 bytes and more, until FILE exists; a handler
 * allocates and frees in between.  Then half of what is left is replaced, and
 * what is live is written to LIVE: address, size and, of each that was
 * replaced, 1.  Threads end and others take their place all the time.
 *
 * Prints live=N and bytes=N.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS_MAX 16
#define CELLS 512
#define LEAST 20000
#define TURNS 3000	/* of one thread's life */

struct block {
	size_t size;
};

static _Atomic(struct block *) cells[CELLS];
static _Atomic int stop;
static void *volatile handlers_own;

static uint64_t
rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static size_t
some_size(uint64_t r)
{
	return LEAST + r % 3000;
}

/* Grown, or tried in vain. */
static struct block *
resized(struct block *b, uint64_t r)
{
	static volatile size_t huge = (size_t)1 << 60;
	size_t size = some_size(r >> 7);
	struct block *other;

	if (r & 1)
		return realloc(b, huge) != NULL ? NULL : b;
	other = realloc(b, size);
	if (other != NULL)
		other->size = size;
	return other;
}

static struct block *
made(uint64_t r)
{
	size_t size = some_size(r);
	struct block *b = r & 64 ? calloc(1, size) : malloc(size);

	if (b != NULL)
		b->size = size;
	return b;
}

static void *
work(void *arg)
{
	uint64_t s = 88172645463325252u + (uintptr_t)arg * 7919 +
	    (uint64_t)(uintptr_t)&s;

	for (int i = 0; i < TURNS && !stop; i++) {
		uint64_t r = rng(&s);
		struct block *b = made(r);

		if (b != NULL && r >> 40 & 1)
			b = resized(b, r >> 41);
		if (b == NULL)
			_exit(2);
		free(atomic_exchange(&cells[r >> 8 & (CELLS - 1)], b));
	}
	return NULL;
}

/* It meets the hooks in the middle of themselves, never the allocator. */
static void
on_timer(int sig)
{
	(void)sig;
	free(handlers_own);
	handlers_own = malloc(100);
}

/* One line of threads after the other. */
static void *
line(void *arg)
{
	pthread_t t;

	while (!stop) {
		if (pthread_create(&t, NULL, work, arg) != 0)
			_exit(2);
		pthread_join(t, NULL);
	}
	return NULL;
}

/* Blocks the timer's signal but in here, where nobody is in malloc. */
static void
wait_for(const char *file)
{
	struct itimerval every = { { 0, 300 }, { 0, 300 } }, off = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, on_timer);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (access(file, F_OK) != 0)
		usleep(500);
	setitimer(ITIMER_REAL, &off, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int
main(int argc, char **argv)
{
	unsigned n = argc > 3 ? (unsigned)atoi(argv[3]) : 8, live = 0;
	pthread_t lines[THREADS_MAX];
	uint64_t bytes = 0;
	sigset_t set;
	FILE *out;

	if (argc < 3 || n > THREADS_MAX)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (uintptr_t i = 0; i < n; i++)
		if (pthread_create(&lines[i], NULL, line, (void *)i) != 0)
			return 2;
	wait_for(argv[1]);
	stop = 1;
	for (unsigned i = 0; i < n; i++)
		pthread_join(lines[i], NULL);
	out = fopen(argv[2], "w");
	if (out == NULL)
		return 2;
	for (unsigned c = 0; c < CELLS; c++) {
		struct block *b = cells[c];

		if (b == NULL || c % 2)
			continue;
		free(b);
		cells[c] = made(c * 64);
	}
	for (unsigned c = 0; c < CELLS; c++) {
		struct block *b = cells[c];

		if (b == NULL)
			continue;
		fprintf(out, "%p %zu %d\n", (void *)b, b->size, c % 2 == 0);
		live++;
		bytes += b->size;
	}
	if (fclose(out) != 0)
		return 2;
	dprintf(1, "live=%u\nbytes=%lu\n", live, (unsigned long)bytes);
	_exit(0);
}

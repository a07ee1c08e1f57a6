/*
 * exact_churn [GENERATIONS [THREADS]]: threads that begin and end, more of
 * them at once than there are rings, with destructors that allocate and free
 * in every round they are given, and main that leaves by pthread_exit.
 *
 * Prints threads=N and destructors=N.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 512

static pthread_key_t key;
static _Atomic unsigned destructors;
static pthread_barrier_t all;

struct owned {
	unsigned round;
	char *text;
};

/* Frees and allocates for as many rounds as there are. */
static void
destroy(void *value)
{
	struct owned *o = value, *next;

	atomic_fetch_add(&destructors, 1);
	free(o->text);
	if (o->round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
		next = malloc(sizeof(*next));
		next->round = o->round + 1;
		next->text = malloc(100 + next->round);
		pthread_setspecific(key, next);
	}
	free(o);
}

static void *
work(void *arg)
{
	struct owned *o = malloc(sizeof(*o));

	o->round = 0;
	o->text = malloc(50 + (uintptr_t)arg % 50);
	pthread_setspecific(key, o);
	pthread_barrier_wait(&all);
	return malloc(10);	/* freed by who joins */
}

int
main(int argc, char **argv)
{
	unsigned generations = argc > 1 ? (unsigned)atoi(argv[1]) : 8;
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 160;
	pthread_t t[THREADS_MAX];
	pthread_attr_t small;
	void *result;

	if (n < 1 || n > THREADS_MAX)
		return 2;
	pthread_key_create(&key, destroy);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (unsigned g = 0; g < generations; g++) {
		pthread_barrier_init(&all, NULL, n);
		for (unsigned i = 0; i < n; i++)
			if (pthread_create(&t[i], &small, work,
			    (void *)(uintptr_t)i) != 0)
				return 2;
		for (unsigned i = 0; i < n; i++) {
			pthread_join(t[i], &result);
			free(result);
		}
	}
	dprintf(1, "threads=%u\ndestructors=%u\n", generations * n,
	    atomic_load(&destructors));
	pthread_exit(NULL);
}

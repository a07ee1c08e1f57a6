/*
 * load churn|grow|larson COUNT [THREADS]: allocation loads that are nothing
 * but allocation, to see what a monitor adds to one malloc or free.
 *
 * churn	COUNT times in each thread: free a random one of 64 blocks and
 *		allocate another of 16 to 512 bytes in its place.
 * grow		COUNT blocks come to life, then end in random order.
 * larson	COUNT times in each thread: allocate, swap the block with a
 *		random one of 4,096 that all threads share, free what was there;
 *		with two threads half of the frees are of the other's blocks.
 *
 * Blocks come from 16 call sites, a dozen frames below main, as in a real
 * program.  The one line of output is what bench/run reads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 12
#define THREADS_MAX 64
#define CHURN_LIVE 64
#define LARSON_SLOTS 4096

struct work {
	pthread_t thread;
	void (*loop)(struct work *);
	uint64_t count;
	uint64_t random;
	uint64_t began, ended; /* nanoseconds */
};

static pthread_barrier_t start;
static _Atomic(char *) shared[LARSON_SLOTS];

static uint64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* splitmix64: cheap beside a malloc. */
static uint64_t
draw(struct work *w)
{
	uint64_t z = w->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ (z >> 31);
}

/* The empty asm keeps the call a call of its own, not a tail jump. */
#define SITES(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) \
	X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define X(n) \
	static __attribute__((noinline)) char *site_##n(size_t size) \
	{ \
		char *p = malloc(size); \
		__asm__ volatile("" : "+r"(p)); \
		return p; \
	}
SITES(X)
#undef X
#define X(n) site_##n,
static char *(*const sites[16])(size_t) = { SITES(X) };
#undef X

static char *
allocate(uint64_t r)
{
	char *p = sites[r & 15](16 + (r >> 8) % 497);

	*p = (char)r;
	return p;
}

static void
churn(struct work *w)
{
	char *block[CHURN_LIVE] = { NULL };

	pthread_barrier_wait(&start);
	w->began = now();
	for (uint64_t i = 0; i < w->count; i++) {
		uint64_t r = draw(w);
		char **p = &block[(r >> 40) % CHURN_LIVE];

		free(*p);
		*p = allocate(r);
	}
	w->ended = now();
	for (size_t i = 0; i < CHURN_LIVE; i++)
		free(block[i]);
}

static void
grow(struct work *w)
{
	char **block = malloc(w->count * sizeof(*block));
	uint64_t pause;

	memset(block, 1, w->count * sizeof(*block));
	pthread_barrier_wait(&start);
	w->began = now();
	for (uint64_t i = 0; i < w->count; i++)
		block[i] = allocate(draw(w));
	pause = now();
	for (uint64_t i = w->count - 1; i > 0; i--) {
		uint64_t k = draw(w) % (i + 1);
		char *p = block[i];

		block[i] = block[k];
		block[k] = p;
	}
	/* Shuffling is not what is measured. */
	w->began += now() - pause;
	for (uint64_t i = 0; i < w->count; i++)
		free(block[i]);
	w->ended = now();
	free(block);
}

static void
larson(struct work *w)
{
	pthread_barrier_wait(&start);
	w->began = now();
	for (uint64_t i = 0; i < w->count; i++) {
		uint64_t r = draw(w);

		free(atomic_exchange_explicit(&shared[(r >> 40) % LARSON_SLOTS],
		    allocate(r), memory_order_acq_rel));
	}
	w->ended = now();
}

static __attribute__((noinline)) void
descend(int depth, struct work *w)
{
	if (depth > 0)
		descend(depth - 1, w);
	else
		w->loop(w);
	__asm__ volatile("" ::: "memory");
}

static void *
thread_main(void *arg)
{
	descend(DEPTH, arg);
	return NULL;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*loop)(struct work *);
	} loads[] = { { "churn", churn }, { "grow", grow }, { "larson", larson } };
	static struct work work[THREADS_MAX];
	uint64_t count, began = UINT64_MAX, ended = 0, events;
	int threads;
	size_t k = 0;

	while (argc > 2 && k < 3 && strcmp(argv[1], loads[k].name) != 0)
		k++;
	threads = argc > 3 ? atoi(argv[3]) : 1;
	count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	if (argc < 3 || k == 3 || count == 0 || threads < 1 ||
	    threads > THREADS_MAX) {
		fprintf(stderr, "usage: load churn|grow|larson COUNT [THREADS]\n");
		return 2;
	}
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		work[i] = (struct work) { .loop = loads[k].loop, .count = count,
			.random = (uint64_t)i + 1 };
		if (i > 0)
			pthread_create(
			    &work[i].thread, NULL, thread_main, &work[i]);
	}
	thread_main(&work[0]);
	for (int i = 0; i < threads; i++) {
		if (i > 0)
			pthread_join(work[i].thread, NULL);
		if (work[i].began < began)
			began = work[i].began;
		if (work[i].ended > ended)
			ended = work[i].ended;
	}
	for (size_t i = 0; i < LARSON_SLOTS; i++)
		free(shared[i]);
	events = 2 * count * (uint64_t)threads;
	printf("%s threads=%d events=%llu ns_per_event=%.3f\n", loads[k].name,
	    threads, (unsigned long long)events,
	    (double)(ended - began) * threads / (double)events);
	return 0;
}

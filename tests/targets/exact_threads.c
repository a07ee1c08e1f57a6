/*
 * exact_threads [EVENTS [THREADS [SLOTS]]]: threads that put blocks into
 * shared slots and free what they find there, so that most frees are of other
 * threads' blocks and addresses come back to other threads at once; some
 * blocks are reallocated in between, and some of those requests fail.
 *
 * Prints kept=N and kept_bytes=N of what is left in the slots.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 1024
#define SLOTS_MAX 65536

struct block {
	size_t size;
};

static _Atomic(struct block *) slots[SLOTS_MAX];
static unsigned nslots = 512;
static uint64_t rounds;
static pthread_barrier_t start;

static uint64_t
rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static struct block *
resized(struct block *b, size_t size)
{
	static volatile size_t huge = (size_t)1 << 60;
	struct block *other;

	if (realloc(b, huge) != NULL)
		_exit(2);
	other = realloc(b, size);
	if (other == NULL)
		_exit(2);
	other->size = size;
	return other;
}

static void *
work(void *arg)
{
	uint64_t s = 88172645463325252u + (uintptr_t)arg * 7919;
	struct block *b;

	pthread_barrier_wait(&start);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t r = rng(&s);
		size_t size = sizeof(*b) + r % 500;

		b = malloc(size);
		if (b == NULL)
			_exit(2);
		b->size = size;
		if (r >> 20 & 1)
			b = resized(b, sizeof(*b) + (r >> 8) % 900);
		free(atomic_exchange(&slots[(r >> 32) % nslots], b));
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 8;
	pthread_t t[THREADS_MAX];
	unsigned kept = 0;
	size_t bytes = 0;

	if (argc > 3)
		nslots = (unsigned)atoi(argv[3]);
	if (n < 1 || n > THREADS_MAX || nslots < 1 || nslots > SLOTS_MAX)
		return 2;
	rounds = events / (3 * n);	/* a malloc, a free, half a realloc */
	pthread_barrier_init(&start, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i) != 0)
			return 2;
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < nslots; i++)
		if (slots[i] != NULL) {
			kept++;
			bytes += slots[i]->size;
		}
	dprintf(1, "kept=%u\nkept_bytes=%zu\n", kept, bytes);
	return 0;
}

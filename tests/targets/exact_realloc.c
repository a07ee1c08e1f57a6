/*
 * exact_realloc [ROUNDS]: a storm of realloc in four threads: growing in place
 * and away, shrinking, to nothing, from nothing, and failing.
 *
 * Prints kept=N, kept_bytes=N and failed=N.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 128
#define THREADS 4

static uint64_t rounds = 50000;
static volatile size_t huge = (size_t)1 << 60;
static _Atomic unsigned kept, failed;
static _Atomic size_t kept_bytes;

static void *
storm(void *arg)
{
	uint64_t s = 0x9e3779b97f4a7c15 ^ (uintptr_t)arg << 20;
	struct { char *p; size_t size; } b[BLOCKS] = { 0 };

	for (uint64_t i = 0; i < rounds; i++) {
		unsigned k;
		size_t size;
		char *p;

		s ^= s << 13, s ^= s >> 7, s ^= s << 17;
		k = s % BLOCKS;
		size = (s >> 40) % (s >> 32 & 15 ? 600 : 200000);
		if ((s >> 16) % 7 == 0) {
			errno = 0;
			p = (s >> 20) & 1 ? realloc(b[k].p, huge) :
			    reallocarray(b[k].p, huge, 16);
			if (p != NULL || errno != ENOMEM)
				_exit(2);
			atomic_fetch_add(&failed, 1);
			continue;
		}
		p = realloc(b[k].p, size);
		if (p == NULL && size > 0)
			_exit(2);
		if (p != NULL)
			memset(p, (int)k, size);
		b[k].p = p;
		b[k].size = size;
	}
	for (unsigned k = 0; k < BLOCKS; k++)
		if (b[k].p != NULL) {
			atomic_fetch_add(&kept, 1);
			atomic_fetch_add(&kept_bytes, b[k].size);
		}
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t t[THREADS];

	if (argc > 1)
		rounds = strtoull(argv[1], NULL, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, storm, (void *)(i + 1)) != 0)
			return 2;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	dprintf(1, "kept=%u\nkept_bytes=%zu\nfailed=%u\n", kept, kept_bytes,
	    failed);
	return 0;
}

/*
 * ranges: blocks of arenas that alloclog_free_range() ends: with others at the
 * edges, of no length, without a block, by threads that end each other's, and of
 * the whole address space.  No address is used twice.
 *
 * Prints blocks=N and ranges=N, as logged; two blocks remain.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#pragma weak alloclog_alloc
#pragma weak alloclog_free_range
#include "../../src/alloclog/alloclog.h"

#define TYPE 0xc5
#define THREADS 4
#define EACH 8000		/* blocks of a thread */
#define BASE UINT64_C(0x500000000000)
#define LAST ((UINT64_C(1) << 48) - 1)

static atomic_long blocks, ranges;

static void
block(uint64_t addr)
{
	if (alloclog_alloc != NULL)
		alloclog_alloc((void *)addr, 100, TYPE);
	blocks++;
}

static void
end(uint64_t addr, size_t len)
{
	if (alloclog_free_range != NULL)
		alloclog_free_range((void *)addr, len);
	ranges += len > 0;
}

/* Blocks of all threads lie between each other's; windows begin and end in them. */
static void *
work(void *arg)
{
	uint64_t me = (uintptr_t)arg, random = me * UINT64_C(0x9e3779b97f4a7c15);

	for (uint64_t i = 0; i < EACH; i++) {
		block(BASE + (i * THREADS + me) * 128);
		if (i % 16 != 0)
			continue;
		random = random * UINT64_C(6364136223846793005) + 1;
		end(BASE + (random >> 33) % (EACH * THREADS * 128),
		    (random >> 20 & 0x1fff) + 1);
	}
	return NULL;
}

int
main(void)
{
	char *edge = malloc(8192), *kept = malloc(100);
	uint64_t at = (uintptr_t)edge;
	pthread_t thread[THREADS];

	block(at);
	block(at + 100);
	block(at + 200);
	end(at + 1, 99);		/* the first overlaps it, and began before */
	end(at + 300, 4096);		/* none begins in it */
	end(at + 200, 0);
	end(at, 101);			/* two: the second begins at its last byte */
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	block(1);
	block(LAST);
	end(0, SIZE_MAX);
	end(0, SIZE_MAX);
	block((uintptr_t)kept);
	block((uintptr_t)kept + 16);
	printf("blocks=%ld\nranges=%ld\n", blocks, ranges);
	return 0;
}

/*
 * heads: blocks of many sizes by malloc, calloc and realloc, small ones, such
 * as have a mapping of their own, and some that begin with a page; the
 * first and the last ones stay.
 *
 * Prints first=N and last=N: what malloc_usable_size(3) says that they have
 * beyond what was asked for, each in units of 16 bytes, summed up.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL 8000
#define FIRST 20
#define LAST 500

static struct { char *at; size_t size; } block[ALL];

static char *
get(unsigned i, size_t size)
{
	char *p;

	switch (i % 3) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(1, size);
	default:
		p = malloc(size / 2 + 1);
		return realloc(p, size);
	}
}

static unsigned long long
overhead(unsigned from, unsigned to)
{
	unsigned long long sum = 0;

	for (unsigned i = from; i < to; i++)
		sum += (malloc_usable_size(block[i].at) - block[i].size + 8) /
		    16;
	return sum;
}

int
main(void)
{
	for (unsigned i = 0; i < ALL; i++) {
		size_t size = i % 100 == 99 ? 300000 + i : 1 + i * 7 % 600;

		block[i].at = get(i, size);
		block[i].size = size;
		if (block[i].at == NULL)
			return 1;
		memset(block[i].at, 1, size);
	}
	for (unsigned i = FIRST; i < ALL - LAST; i++)
		free(block[i].at);
	printf("first=%llu\n", overhead(0, FIRST));
	printf("last=%llu\n", overhead(ALL - LAST, ALL));
	return 0;
}

/*
 * heads [calloc|odd]: blocks of many sizes by malloc, calloc and realloc, small
 * ones, such as have a mapping of their own, some that begin with a page, and at
 * the end some of another thread; the first and the last ones stay.
 *
 * Prints first=N and last=N: what malloc_usable_size(3) says that they have
 * beyond what was asked for, each in units of 16 bytes, summed up.
 *
 * calloc: calloc's are somebody else's, and nobody says what they have.
 * odd: instead, a program with a mistake writes over the heads of free blocks,
 * and is given these again.  ODD pairs of blocks stay; prints odd=N, how many of
 * these have such a block, and middle=N, those that begin in the middle of a page.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL 8000
#define FIRST 20
#define LAST 500
#define OF_THREAD 250
#define ODD 600

static struct { char *at; size_t size; } block[ALL];
static bool foreign_calloc;
static sem_t turn;

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

static void
get_all(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		size_t size = i % 100 == 99 ? 300000 + i : 1 + i * 7 % 600;

		block[i].at = get(i, size);
		block[i].size = size;
		if (block[i].at == NULL)
			exit(1);
		memset(block[i].at, 1, size);
	}
}

static void *
get_last(void *arg)
{
	sem_wait(&turn);
	get_all(ALL - OF_THREAD, ALL);
	return arg;
}

static unsigned long long
overhead(unsigned from, unsigned to)
{
	unsigned long long sum = 0;

	for (unsigned i = from; i < to; i++)
		if (i % 3 != 1 || !foreign_calloc)
			sum += malloc_usable_size(block[i].at) -
			    block[i].size;
	return sum;
}

/* Elsewhere and in the middle of a page, each with a head of nonsense and zeros. */
static int
write_over_heads(void)
{
	static char *pair[ODD][2];
	unsigned odd = 0, middle = 0;

	for (unsigned i = 0; i < ODD; i++) {
		char *volatile p = malloc(24), *volatile q = malloc(24);
		bool in_middle = ((uintptr_t)q & 0xfff) == 0x800;

		pair[i][0] = p;
		pair[i][1] = q;
		if (i < 100 || q != p + 32 || (i % 50 != 0 && !in_middle))
			continue;
		free(q);
		memset(p + 24, i % 100 == 0 ? 0 : 'A', 8);
		pair[i][1] = malloc(24);
		odd += pair[i][1] == q;
		middle += in_middle;
	}
	printf("odd=%u\nmiddle=%u\n", odd, middle);
	_Exit(pair[0][0] == NULL);
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1 && strcmp(argv[1], "odd") == 0)
		return write_over_heads();
	foreign_calloc = argc > 1;
	/* What a thread itself takes comes before the first block. */
	if (sem_init(&turn, 0, 0) != 0 ||
	    pthread_create(&thread, NULL, get_last, NULL) != 0)
		return 1;
	/* So that heads are trusted before the first of calloc's. */
	for (unsigned i = 0; foreign_calloc && i < 200; i++)
		free(malloc(i));
	get_all(0, ALL - OF_THREAD);
	for (unsigned i = FIRST; i < ALL - LAST; i++)
		free(block[i].at);
	sem_post(&turn);
	pthread_join(thread, NULL);
	printf("first=%llu\n", overhead(0, FIRST));
	printf("last=%llu\n", overhead(ALL - LAST, ALL));
	return 0;
}

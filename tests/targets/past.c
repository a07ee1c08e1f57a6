/*
 * past HOW: makes BLOCKS blocks, gives them back past any preloaded library,
 * makes as many again, most of them at the same addresses, and frees those.
 * Writes how many addresses have come again.
 *
 *	free	by __libc_free
 *	realloc	each is moved by __libc_realloc, and freed where it is then
 *	threads	by __libc_free in another thread, which makes the new ones
 *	early	as `free`, but each is freed before the next one is made
 *	no	they are freed as usual, before the new ones are made
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 1000
#define SIZE 100

void __libc_free(void *);
void *__libc_realloc(void *, size_t);

static void *block[BLOCKS];
static uintptr_t first[BLOCKS];		/* addresses of the first ones */
static const char *how;
static int again;

static void
give_back(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (strcmp(how, "realloc") == 0)
			block[i] = __libc_realloc(block[i], 40 * SIZE);
	for (int i = 0; i < BLOCKS; i++)
		if (strcmp(how, "no") == 0)
			free(block[i]);
		else
			__libc_free(block[i]);
}

static int
compare(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

static void
make_again(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		uintptr_t at;

		block[i] = malloc(SIZE);
		at = (uintptr_t)block[i];
		again += bsearch(&at, first, BLOCKS, sizeof first[0],
		    compare) != NULL;
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
}

static void *
second_half(void *arg)
{
	give_back();
	make_again();
	return arg;
}

/* At one address all the time: each block but the first comes again. */
static void
one_by_one(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		block[0] = malloc(SIZE);
		again += (uintptr_t)block[0] == first[0];
		first[0] = (uintptr_t)block[0];
		if (i < BLOCKS - 1)
			__libc_free(block[0]);
	}
	free(block[0]);
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	char line[20];

	how = argc == 2 ? argv[1] : "";
	mallopt(M_ARENA_MAX, 1);
	if (strcmp(how, "early") == 0) {
		one_by_one();
	} else {
		for (int i = 0; i < BLOCKS; i++)
			first[i] = (uintptr_t)(block[i] = malloc(SIZE));
		qsort(first, BLOCKS, sizeof first[0], compare);
		if (strcmp(how, "threads") != 0)
			second_half(NULL);
		else if (pthread_create(&thread, NULL, second_half, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			return 2;
	}
	return write(1, line, (size_t)snprintf(line, sizeof line, "%d\n",
	    again)) < 0;
}

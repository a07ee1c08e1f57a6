/*
 * callers: a block by each function of the malloc family, of a size of its own
 * and from a function of its own, which the block's caller is then.
 *
 *	by_malloc 100, by_calloc 200, by_realloc 300, by_array 400, by_aligned 500
 *
 * Prints held=5 once all are there, and waits to be killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile keep;

static __attribute__((noinline)) void
by_malloc(void)
{
	keep = malloc(100);
	keep = NULL;
}

static __attribute__((noinline)) void
by_calloc(void)
{
	keep = calloc(4, 50);
	keep = NULL;
}

static __attribute__((noinline)) void *
begun(void)
{
	keep = malloc(10);
	return keep;
}

static __attribute__((noinline)) void
by_realloc(void)
{
	keep = realloc(begun(), 300);
	keep = NULL;
}

static __attribute__((noinline)) void
by_array(void)
{
	keep = reallocarray(begun(), 4, 100);
	keep = NULL;
}

static __attribute__((noinline)) void
by_aligned(void)
{
	keep = aligned_alloc(64, 500);
	keep = NULL;
}

int
main(void)
{
	/* A thread's first event goes another way than the rest. */
	by_realloc();
	by_malloc();
	by_calloc();
	by_array();
	by_aligned();
	printf("held=5\n");
	fflush(stdout);
	for (;;)
		pause();
}

/*
 * callers: a block by each function of the malloc family and by new, of a size
 * of its own and from a function of its own, which the block's caller is then.
 *
 *	by_malloc 100, by_calloc 200, by_realloc 300, by_array 400, by_aligned 500,
 *	by_new 600, by_new_array 700
 *
 * Prints held=7 once all are there, and waits to be killed.
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

struct of600 {
	char c[600];
};

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

static __attribute__((noinline)) void
by_new(void)
{
	keep = new of600;
	keep = NULL;
}

static __attribute__((noinline)) void
by_new_array(void)
{
	keep = new char[700];
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
	by_new();
	by_new_array();
	printf("held=7\n");
	fflush(stdout);
	for (;;)
		pause();
}

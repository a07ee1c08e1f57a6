/*
 * held: keeps blocks of a call tree that is known, then waits to be killed.
 *
 *	main
 *	  left		3 blocks of 1,000 bytes
 *	  right
 *	    my_take	2 blocks of 5,000 bytes
 *	  walk		calls itself, 4 deep: 1 block of 100 bytes
 *	    left	1 block of 1,000 bytes
 *
 * Prints held=7 bytes=14100 once all are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile keep;

static __attribute__((noinline)) void
left(int n)
{
	for (int i = 0; i < n; i++)
		keep = malloc(1000);
}

static __attribute__((noinline)) void *
my_take(size_t size)
{
	void *p = malloc(size);

	keep = p;
	return p;
}

static __attribute__((noinline)) void
right(void)
{
	for (int i = 0; i < 2; i++)
		keep = my_take(5000);
}

static __attribute__((noinline)) void
walk(int depth)
{
	if (depth > 1) {
		walk(depth - 1);
	} else {
		keep = malloc(100);
		left(1);
	}
	/* Something is left to do: no call above is the last one. */
	keep = NULL;
}

int
main(void)
{
	left(3);
	right();
	walk(4);
	dprintf(1, "held=7 bytes=14100\n");
	for (;;)
		pause();
}

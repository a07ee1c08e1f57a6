/*
 * first: allocates before any constructor has run, in a constructor, in
 * main, in a destructor, and in a handler of atexit(3).
 *
 * Prints early=1 if the first block was there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *early, *built;

static void
before_all(void)
{
	early = malloc(500);
	free(calloc(10, 10));
	early = realloc(early, 700);
	strcpy(early, "early");
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(
    void) = before_all;

__attribute__((constructor)) static void
construct(void)
{
	built = malloc(600);
}

__attribute__((destructor)) static void
destruct(void)
{
	free(built);
	free(malloc(1));
}

static void
at_exit(void)
{
	free(malloc(2));
}

int
main(void)
{
	atexit(at_exit);
	dprintf(1, "early=%d\n", strcmp(early, "early") == 0);
	free(early);
	return 0;
}

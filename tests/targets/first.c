/*
 * first: allocates while it is relocated, before any constructor has run, in a
 * constructor, in main, in a destructor, and in a handler of atexit(3).
 *
 * Prints early=1 if the first blocks were there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *early, *built, *chosen;

/* Called by the loader, which has not set up any thread's storage yet. */
static void
one(void)
{
}

static void (*choose(void))(void)
{
	chosen = malloc(300);
	strcpy(chosen, "chosen");
	free(calloc(3, 30));
	chosen = realloc(chosen, 400);
	return one;
}

__attribute__((ifunc("choose"))) void first_choice(void);

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
	first_choice();
	dprintf(1, "early=%d\n", strcmp(early, "early") == 0 &&
	    strcmp(chosen, "chosen") == 0);
	free(chosen);
	free(early);
	return 0;
}

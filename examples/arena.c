/*
 * An arena that pagek can see into: its objects have a type with a name, a
 * requester and a level, and a reset ends all of them with one record.
 *
 *	cc arena.c $(pkg-config --cflags --libs alloclog)
 *	pagek run -- ./a.out 1000
 *
 * The argument is the number of objects in each of two rounds.  The arena has two
 * regions of 64 KiB; an object that finds no room in either is a failed request.
 * At the end some objects of the third round are held until standard input ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include <alloclog.h>

#define REGIONS 2
#define REGION_SIZE 65536
#define OBJECT 0xc1		/* our type; 0xC0 to 0xFE are free to use */

static struct {
	_Alignas(16) char memory[REGIONS][REGION_SIZE];
	size_t used[REGIONS];
	unsigned long failed;
} arena;

/* The level is the number of the region that had room, from 1. */
static void *
take(size_t size)
{
	size_t rounded = (size + 15) / 16 * 16;

	for (unsigned i = 0; i < REGIONS; i++) {
		char *object = arena.memory[i] + arena.used[i];

		if (REGION_SIZE - arena.used[i] < rounded)
			continue;
		arena.used[i] += rounded;
		alloclog_level(i + 1);
		alloclog_alloc(object, size, OBJECT);
		return object;
	}
	alloclog_failed(size, OBJECT);
	arena.failed++;
	return NULL;
}

/* Log the end first, while no other thread can take the memory. */
static void
reset(void)
{
	alloclog_free_range(arena.memory, sizeof arena.memory);
	for (unsigned i = 0; i < REGIONS; i++)
		arena.used[i] = 0;
}

static void
round_of(unsigned long objects, const char *requester)
{
	alloclog_requester(requester);
	for (unsigned long i = 0; i < objects; i++)
		take(32 + i % 64);
	alloclog_requester(NULL);
}

int
main(int argc, char **argv)
{
	unsigned long objects = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	alloclog_type(OBJECT, "OBJECT", "object of the arena");
	round_of(objects, "reader");
	reset();
	alloclog_mark("round 2");
	round_of(objects, "writer");
	reset();
	round_of(10, "reader");
	printf("10 objects are there, %lu requests have failed\n", arena.failed);
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}

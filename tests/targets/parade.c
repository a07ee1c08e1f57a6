/*
 * parade BLOCKS: keeps so many blocks in a row and replaces the oldest by a
 * new one, again and again, 1.5 million events a second, or rests (switched.h).
 * Sizes count up from block to block, 16 to 524 and again: so it can be told of
 * any list whether it is that of one moment, and of two by how many records they
 * differ.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "switched.h"

#define BLOCKS_MAX (1 << 21)
#define SIZES 509
#define A_TURN 4096
#define TURN_NS 5500000

/* Turns that come too late are not made up for: a busy machine has enough to do. */
static void
await_turn(void)
{
	struct timespec left = { .tv_nsec = TURN_NS }, now;
	static struct timespec was;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (now.tv_sec - was.tv_sec) * INT64_C(1000000000) + now.tv_nsec -
	    was.tv_nsec;
	left.tv_nsec -= ns < TURN_NS ? ns : TURN_NS;
	nanosleep(&left, NULL);
	clock_gettime(CLOCK_MONOTONIC, &was);
}

int
main(int argc, char **argv)
{
	static void *block[BLOCKS_MAX];
	unsigned long blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long at = 0, n;

	if (blocks < 1 || blocks > BLOCKS_MAX)
		return 2;
	obey_signals();
	for (n = 0; n < blocks; n++)
		block[n] = malloc(16 + n % SIZES);
	while (!ends) {
		if (!runs)
			rest();
		for (unsigned i = 0; runs && i < A_TURN; i++, n++) {
			free(block[at]);
			block[at] = malloc(16 + n % SIZES);
			at = at + 1 < blocks ? at + 1 : 0;
		}
		if (runs)
			await_turn();
	}
	return 0;
}

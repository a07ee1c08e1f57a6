/*
 * torrent [BLOCKS]: keeps 20,000 blocks, or as many as that, and replaces them one
 * by one at random, as fast as it can, or rests (switched.h).  Hardly a block is
 * freed soon after it was allocated.
 */
#include <stdint.h>
#include <stdlib.h>

#include "switched.h"

#define BLOCKS_MAX 20000
#define A_TURN 4096

int
main(int argc, char **argv)
{
	static void *block[BLOCKS_MAX];
	unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : BLOCKS_MAX;
	uint64_t x = 88172645463325252u;

	if (blocks == 0 || blocks > BLOCKS_MAX)
		return 2;
	obey_signals();
	for (unsigned i = 0; i < blocks; i++)
		block[i] = malloc(16 + i % 1000);
	while (!ends) {
		if (!runs)
			rest();
		for (unsigned n = 0; runs && n < A_TURN; n++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			unsigned i = (unsigned)(x % blocks);

			free(block[i]);
			block[i] = malloc(16 + x % 1000);
		}
	}
	return 0;
}

/*
 * torrent: keeps 20,000 blocks and replaces them one by one at random, as fast
 * as it can, or rests (switched.h).  Hardly a block is freed soon after it came.
 */
#include <stdint.h>
#include <stdlib.h>

#include "switched.h"

#define BLOCKS 20000
#define A_TURN 4096

int
main(void)
{
	static void *block[BLOCKS];
	uint64_t x = 88172645463325252u;

	obey_signals();
	for (unsigned i = 0; i < BLOCKS; i++)
		block[i] = malloc(16 + i % 1000);
	while (!ends) {
		if (!runs)
			rest();
		for (unsigned n = 0; runs && n < A_TURN; n++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			unsigned i = (unsigned)(x % BLOCKS);

			free(block[i]);
			block[i] = malloc(16 + x % 1000);
		}
	}
	return 0;
}

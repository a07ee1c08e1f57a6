/*
 * torrent: keeps 20,000 blocks and replaces them one by one at random, as fast
 * as it can, or not at all; SIGUSR1 changes from one to the other.  Hardly a
 * block is freed soon after it came.  Ends by SIGTERM, and after five minutes.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 20000
#define A_TURN 4096

static volatile sig_atomic_t runs, ends;

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		runs = !runs;
	else
		ends = true;
}

int
main(void)
{
	static void *block[BLOCKS];
	uint64_t x = 88172645463325252u;

	alarm(300);
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_signal);
	for (unsigned i = 0; i < BLOCKS; i++)
		block[i] = malloc(16 + i % 1000);
	while (!ends) {
		/* A signal ends this; one that came before it waits a moment. */
		if (!runs)
			poll(NULL, 0, 50);
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

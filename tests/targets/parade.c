/*
 * parade BLOCKS: keeps so many blocks in a row and replaces the oldest by a
 * new one, again and again, as fast as it can, or not at all; SIGUSR1 changes
 * from one to the other.  Sizes count up from block to block, 16 to 524 and
 * again: so it can be told of any list whether it is that of one moment, and of
 * two by how many records they differ.  Ends by SIGTERM, and after five minutes.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS_MAX (1 << 21)
#define SIZES 509
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
main(int argc, char **argv)
{
	static void *block[BLOCKS_MAX];
	unsigned long blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long at = 0, n;

	if (blocks < 1 || blocks > BLOCKS_MAX)
		return 2;
	alarm(300);
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_signal);
	for (n = 0; n < blocks; n++)
		block[n] = malloc(16 + n % SIZES);
	while (!ends) {
		/* A signal ends this; one that came before it waits a moment. */
		if (!runs)
			poll(NULL, 0, 50);
		for (unsigned i = 0; runs && i < A_TURN; i++, n++) {
			free(block[at]);
			block[at] = malloc(16 + n % SIZES);
			at = at + 1 < blocks ? at + 1 : 0;
		}
	}
	return 0;
}

/*
 * touches: a loop that refers to all pages of a block, to measure what counting the
 * references costs it.
 *
 *	touches KILOBYTES FILE
 *
 * Writes "ADDRESS BYTES" of the block to FILE.  Each line of standard input makes it pass
 * over the block for half a second: the loop reads and writes each word.  It prints the
 * nanoseconds of a pass, and ends at the end of the input.  Between two passes it calls
 * malloc(3) and free(3), where the library takes requests.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HALF_SECOND UINT64_C(500000000)

static uint64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
pass(volatile uint64_t *block, size_t words)
{
	void *volatile small = malloc(64);

	free(small);
	for (size_t i = 0; i < words; i++)
		block[i]++;
}

int
main(int argc, char **argv)
{
	size_t bytes = argc == 3 ? strtoul(argv[1], NULL, 10) * 1024 : 0;
	char line[16];
	uint64_t *block = aligned_alloc(4096, bytes), begun, ns;
	FILE *f = argc == 3 ? fopen(argv[2], "w") : NULL;

	if (bytes == 0 || block == NULL || f == NULL)
		return 2;
	fprintf(f, "%lx %zu\n", (unsigned long)block, bytes);
	fclose(f);
	while (fgets(line, sizeof line, stdin) != NULL) {
		unsigned passes = 0;

		begun = now();
		do {
			pass(block, bytes / sizeof *block);
			passes++;
			ns = now() - begun;
		} while (ns < HALF_SECOND);
		printf("%.1f\n", (double)ns / passes);
		fflush(stdout);
	}
	free(block);
	return 0;
}

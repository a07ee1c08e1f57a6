/*
 * touches PAGES [OUT]: a program that touches some of its pages all the time: of a
 * block of PAGES pages each seventh is read, the one behind it is written to by
 * read(2), others are left alone.  It writes "ADDRESS PAGES" to OUT and runs until its
 * standard input ends; then it prints the rounds that it has made.  Each round
 * allocates.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 4096

static int
has_ended(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

int
main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *block = malloc((pages + 1) * SIZE), *at;
	uint64_t rounds = 0;
	FILE *f;

	if (pages == 0 || argc != 3 || block == NULL || fd == -1 ||
	    (f = fopen(argv[2], "w")) == NULL)
		return 1;
	memset(block, 1, (pages + 1) * SIZE);
	at = (char *)(((uintptr_t)block + SIZE - 1) & ~(uintptr_t)(SIZE - 1));
	fprintf(f, "%lx %zu\n", (unsigned long)at, pages);
	fclose(f);
	for (; !has_ended(); rounds++)
		for (size_t i = 0; i < pages; i += 7) {
			free(malloc(64));
			(void)*(volatile char *)(at + i * SIZE + 100);
			if (i + 1 < pages && pread(fd, at + (i + 1) * SIZE + 8, 16,
			    0) != 16)
				return 1;
		}
	printf("%lu\n", (unsigned long)rounds);
	free(block);
	return 0;
}

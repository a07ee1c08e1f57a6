/*
 * Leaks on command: leaks COMMANDS TOLD.  Each byte of the FIFO is one:
 *
 *	w	a round of work: three blocks that nobody frees, a cache of 20
 *		replaced whole, one block grown by realloc()
 *	f	frees the 30 blocks that were held from the start
 *
 * After each, a line with how many rounds there were and how many blocks live.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HELD 30
#define CACHE 20

static void *held[HELD];
static void *volatile cache[CACHE];
static void *volatile leaked;
static void *volatile grown;
static unsigned rounds, leaks, live;

__attribute__((noinline)) static void
leak_here(void)
{
	for (int i = 0; i < 3; i++)
		leaked = malloc(1111);
	leaks += 3;
	live += 3;
}

__attribute__((noinline)) static void
replace_cache(void)
{
	for (int i = 0; i < CACHE; i++) {
		live += cache[i] == NULL;
		free(cache[i]);
		cache[i] = malloc(500);
	}
}

__attribute__((noinline)) static void
grow_one(void)
{
	live += grown == NULL;
	grown = realloc(grown, 2000 + 16 * rounds);
}

static void
tell(int fd)
{
	char line[64];
	int n = snprintf(line, sizeof line, "%u rounds %u leaks %u live\n",
	    rounds, leaks, live);

	if (write(fd, line, (size_t)n) != n)
		_exit(1);
}

int
main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600) :
	    -1, from = argc == 3 ? open(argv[1], O_RDWR) : -1;
	char c;

	if (fd < 0 || from < 0)
		return 2;
	for (int i = 0; i < HELD; i++, live++)
		held[i] = malloc(300);
	replace_cache();
	tell(fd);
	while (read(from, &c, 1) == 1) {
		if (c == 'w') {
			rounds++;
			leak_here();
			replace_cache();
			grow_one();
		}
		for (int i = 0; c == 'f' && i < HELD; i++) {
			live -= held[i] != NULL;
			free(held[i]);
			held[i] = NULL;
		}
		tell(fd);
	}
	return 0;
}

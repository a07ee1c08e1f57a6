/*
 * hold BLOCKS [FILE STATUS]: holds so many blocks of 7,777 bytes, until there is
 * FILE or for ever.  Exits with STATUS, or for "s15" raises signal 15.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define HELD 100

static void *volatile held[HELD];

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < n && i < HELD; i++)
		held[i] = malloc(7777);
	if (argc < 4)
		for (;;)
			pause();
	while (access(argv[2], F_OK) < 0)
		usleep(20000);
	if (argv[3][0] == 's')
		raise(atoi(argv[3] + 1));
	return atoi(argv[3]);
}

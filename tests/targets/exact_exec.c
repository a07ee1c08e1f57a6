/*
 * exact_exec [TIMES]: allocates and executes itself again, TIMES times; each
 * image begins with nothing.
 *
 * Prints image=N from each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 5;
	char next[16];

	for (int i = 0; i < 100 * (left + 1); i++)
		if (i % 3 == 0)
			free(malloc(10));
		else if (malloc(20) == NULL)
			return 2;
	dprintf(1, "image=%d\n", left);
	if (left == 0)
		return 6;
	snprintf(next, sizeof(next), "%d", left - 1);
	execl("/proc/self/exe", argv[0], next, (char *)NULL);
	return 2;
}

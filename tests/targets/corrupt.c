/*
 * corrupt: a program that writes nonsense over the memory it shares with its
 * keeper, then goes on allocating and ends as if nothing were.
 *
 * Prints done=1 when it came to its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void
scribble(void)
{
	char line[512], mode[8];
	unsigned long from, to;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strstr(line, "pagek-ring") != NULL &&
		    sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 &&
		    mode[1] == 'w')
			memset((char *)from + 64, 0xa5, 4096);
	if (f != NULL)
		fclose(f);
}

int
main(void)
{
	struct timespec pause = { 0, 10 * 1000 * 1000 };
	char *kept[300];

	for (int i = 0; i < 300; i++) {
		kept[i] = malloc(100);
		if (i == 100)
			scribble();
		if (i % 3 == 0)
			nanosleep(&pause, NULL);
	}
	for (int i = 0; i < 300; i++)
		free(kept[i]);
	printf("done=1\n");
	return 0;
}

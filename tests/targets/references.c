/*
 * references FILE: page p of 16 is read (p + 1) * 1000 times; even pages are written
 * 100 times, and each page once before.  Writes the address of the first page to
 * FILE.  Nothing else is on these pages.
 */
#include <stdint.h>
#include <stdio.h>

#define PAGES 16
#define SIZE 4096

static _Alignas(SIZE) volatile uint64_t memory[PAGES][SIZE / sizeof(uint64_t)];

int
main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;

	if (f == NULL)
		return 1;
	fprintf(f, "%lx\n", (unsigned long)memory);
	fclose(f);
	for (int p = 0; p < PAGES; p++)
		memory[p][p] = 1;
	for (int p = 0; p < PAGES; p++)
		for (int i = 0; i < (p + 1) * 1000; i++)
			(void)memory[p][i % 512];
	for (int p = 0; p < PAGES; p += 2)
		for (int i = 0; i < 100; i++)
			memory[p][i] = 2;
	return 0;
}

/*
 * Frees NULL while so many blocks are held that a filter of them is full, and
 * what realloc makes of NULL.  A run without a word is a good one.
 */
#include <stdlib.h>

#define BLOCKS 40000

static void *volatile block[BLOCKS];

int
main(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if ((block[i] = malloc(24)) == NULL)
			return 1;
	for (int i = 0; i < 1000; i++) {
		void *volatile none = NULL;

		free(none);
		free(realloc(none, 32));
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	return 0;
}

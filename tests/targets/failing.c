/*
 * failing: small requests that fail, for there is no more memory to be had.
 *
 * Prints failed=N.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int
main(void)
{
	struct rlimit none = { 0, 0 };
	void *last = malloc(24), *p;
	unsigned failed = 0;

	if (setrlimit(RLIMIT_AS, &none) != 0)
		return 2;
	while ((p = malloc(24)) != NULL)
		last = p;
	failed++;
	for (int i = 0; i < 5; i++) {
		failed += malloc(1000) == NULL;
		failed += calloc(10, 100) == NULL;
		failed += realloc(NULL, 1000) == NULL;
		failed += realloc(last, 1000) == NULL;
	}
	dprintf(1, "failed=%u\n", failed);
	return 0;
}

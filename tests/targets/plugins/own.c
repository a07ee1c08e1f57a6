/*
 * A program with a malloc of its own that needs early.so: a block of another's
 * ends it.  Prints what the plugin said.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int early_run;

static _Alignas(16) char arena[16 * 1024 * 1024];
static size_t used = 16;

void *
malloc(size_t size)
{
	size_t *p;

	if (size > sizeof(arena) - used - 32) {
		errno = ENOMEM;
		return NULL;
	}
	p = (size_t *)(arena + used);
	*p = size;
	used += 16 + ((size + 15) & ~(size_t)15);
	return (char *)p + 16;
}

void
free(void *ptr)
{
	if (ptr != NULL && (uintptr_t)ptr - (uintptr_t)arena >= sizeof(arena))
		abort();
}

/* Nothing is used twice: it is zero. */
void *
calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void *
realloc(void *ptr, size_t size)
{
	void *p = malloc(size);
	size_t had;

	if (p == NULL || ptr == NULL)
		return p;
	had = ((size_t *)ptr)[-2];
	return memcpy(p, ptr, had < size ? had : size);
}

int
main(void)
{
	dprintf(1, "run=%d\n", early_run);
	return 0;
}

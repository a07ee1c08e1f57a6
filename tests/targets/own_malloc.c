/*
 * own_malloc [api]: a program that brings its own malloc, as one with an
 * allocator linked in does; with `api` it names a block through alloclog.h.
 *
 * Prints own=N, the calls of its malloc.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void alloclog_alloc(const void *, size_t, unsigned) __attribute__((weak));

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;
static unsigned calls;

void *
malloc(size_t size)
{
	void *p = arena + used;

	calls++;
	size = (size + 15) & ~(size_t)15;
	if (size > sizeof(arena) - used)
		return NULL;
	used += size;
	return p;
}

void *
calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void *
realloc(void *old, size_t size)
{
	void *p = malloc(size);

	return old != NULL && p != NULL ? memcpy(p, old, size) : p;
}

void
free(void *p)
{
	(void)p;
}

/* Which few allocators bring: libc's asks for it by the name of realloc. */
static int
array_is_ours(void)
{
	char *p = reallocarray(malloc(8), 4, 100);

	return p >= arena && p < arena + sizeof(arena);
}

int
main(int argc, char **argv)
{
	for (int i = 0; i < 100; i++)
		free(strdup("through libc, which finds ours"));
	if (argc > 1 && strcmp(argv[1], "api") == 0 && alloclog_alloc != NULL)
		alloclog_alloc(arena, 64, 0xc0);
	dprintf(1, "own=%d\n", calls >= 100 && array_is_ours());
	return 0;
}

/*
 * Pages below 4 GiB.
 *
 * MAP_32BIT is x86-64's alone.  Elsewhere places are tried one after the other:
 * MAP_FIXED_NOREPLACE takes none that somebody has, and a kernel that does not
 * know it takes the address for a hint, so the outcome is looked at either way.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "below.h"

#define LIMIT (UINT64_C(1) << 32)
/* Above what is reserved for null pointers and where programs are linked to. */
#define FIRST UINT64_C(0x10000000)
#define STEP UINT64_C(0x01000000)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

static void *
map_at(uint64_t hint, size_t bytes, int flags)
{
	void *p = mmap((void *)(uintptr_t)hint, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if ((uint64_t)(uintptr_t)p + bytes < LIMIT)
		return p;
	munmap(p, bytes);
	return NULL;
}

void *
below_map(size_t bytes)
{
	void *p;

#ifdef MAP_32BIT
	p = map_at(0, bytes, MAP_32BIT);
#else
	/* All there is, on 32 bits. */
	p = map_at(0, bytes, 0);
#endif
	for (uint64_t at = FIRST; p == NULL && at + bytes < LIMIT; at += STEP)
		p = map_at(at, bytes, MAP_FIXED_NOREPLACE);
	return p;
}

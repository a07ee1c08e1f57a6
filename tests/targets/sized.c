/*
 * sized: allocates and frees by jemalloc's own functions and C23's sized frees,
 * where references to them are not NULL.  The same addresses are used again and
 * again, so that a free that is not seen makes a duplicate.
 *
 * Prints allocs=, the allocations that it made or meant to make, and what it has
 * left: kept=, blocks of 5,003 bytes; grown= and more=, others of these that
 * have 5,007 or, with bytes that were not asked for, 5,010 since.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WEAK __attribute__((weak))
#define ROUNDS 1000
#define ALIGN_64 6	/* MALLOCX_LG_ALIGN(6) */
#define ZERO 0x40

WEAK void *mallocx(size_t, int);
WEAK void *rallocx(void *, size_t, int);
WEAK void dallocx(void *, int);
WEAK void sdallocx(void *, size_t, int);
WEAK size_t xallocx(void *, size_t, size_t, int);
WEAK void free_sized(void *, size_t);
WEAK void free_aligned_sized(void *, size_t, size_t);

static void
must(int holds, int status)
{
	if (!holds)
		_exit(status);
}

int
main(void)
{
	int kept = 0, grown = 0, more = 0, jemalloc = mallocx != NULL && rallocx != NULL &&
	    dallocx != NULL && sdallocx != NULL && xallocx != NULL;
	unsigned char *p, *q;

	must(free_sized == NULL || free_aligned_sized != NULL, 2);
	for (int i = 0; i < ROUNDS; i++) {
		p = jemalloc ? mallocx(5001, ALIGN_64 | ZERO) : NULL;
		must(!jemalloc || (p != NULL && (uintptr_t)p % 64 == 0 &&
		    p[0] == 0 && p[5000] == 0), 3);
		if (jemalloc) {
			p[0] = p[5000] = 7;
			p = rallocx(p, 5002, 0);
			must(p != NULL && p[0] == 7 && p[5000] == 7, 4);
			must(xallocx(p, 5004, 0, 0) >= 5004, 5);
			must(xallocx(p, (size_t)1 << 40, 0, 0) < 6000, 6);
			if (i % 2)
				sdallocx(p, 5004, 0);
			else
				dallocx(p, 0);
		}
		p = malloc(5001);
		q = aligned_alloc(64, 64 * 80);
		if (free_sized != NULL) {
			free_sized(p, 5001);
			free_aligned_sized(q, 64, 64 * 80);
		} else {
			free(p);
			free(q);
		}
		p = jemalloc && i % 50 == 0 ? mallocx(5003, 0) : NULL;
		if (p == NULL)
			continue;
		if (i % 100 == 0)
			kept++;
		else if (i % 200 == 50)
			grown += xallocx(p, 5007, 0, 0) >= 5007;
		else
			more += xallocx(p, 5000, 10, 0) >= 5010;
	}
	dprintf(1, "allocs=%d\nkept=%d\ngrown=%d\nmore=%d\n", 4 * ROUNDS,
	    kept, grown, more);
	return 0;
}

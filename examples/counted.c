/*
 * A program that has the references to its own pages counted, and reads the counters.
 *
 *	cc counted.c $(pkg-config --cflags --libs alloclog pagek-refcnt)
 *	pagek run -b -o /dev/null -- ./a.out 3
 *
 * It reads and writes two of eight pages, until the node has counted as many touches
 * more of one of them than of its neighbour as the argument says.  Then it prints the
 * counters of all of them.  Those of the neighbours are not 0, and coarse, if the node
 * could not tell pages apart at first.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <alloclog.h>
#include <pk_refcnt.h>

#define PAGES 8
#define LIMIT_MS 60000

static pk_refcnt_wide_t page[PAGES];

/* The library cuts the mapping at a call of the allocator. */
static void
work(volatile char *memory)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	memory[1 * PK_REFCNT_PAGE]++;
	memory[6 * PK_REFCNT_PAGE + 100]++;
	free(malloc(100));
	nanosleep(&ms, NULL);
}

/* 1: there are counters; 0: not yet. */
static int
read_counters(const void *memory)
{
	pk_target *target;
	int n, err = pk_refcnt_open(&target, getpid());

	if (err < 0)
		return 0;
	n = pk_refcnt_get_wide(target, memory, PAGES * PK_REFCNT_PAGE, page);
	pk_refcnt_close(target);
	return n == PAGES;
}

int
main(int argc, char **argv)
{
	uint64_t more = argc > 1 ? strtoull(argv[1], NULL, 10) : 3;
	char *memory = mmap(NULL, PAGES * PK_REFCNT_PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, is = 0;

	if (memory == MAP_FAILED)
		return 1;
	for (i = 0; i < PAGES; i++)
		memory[i * PK_REFCNT_PAGE] = 1;
	pk_refcnt_enable(memory, PAGES * PK_REFCNT_PAGE, PK_REFCNT_REFS);
	for (i = 0; i < LIMIT_MS && (!is ||
	    page[1].refcnt[0] < page[0].refcnt[0] + more); i++) {
		work(memory);
		if (i % 100 == 0)
			is = read_counters(memory);
	}
	if (!is) {
		fprintf(stderr, "counted: %s\n", pk_refcnt_why());
		return 1;
	}
	for (i = 0; i < PAGES; i++)
		printf("page %d: %" PRIu64 "%s\n", i, page[i].refcnt[0],
		    page[i].flags & PK_REFCNT_COARSE ? " coarse" : "");
	return 0;
}

/*
 * counts FILE ADDRESS PAGES: what a trace of references has of these pages, a line
 * for each: its number from 0, reads, writes.  Then a line on standard error with
 * the lines, the references elsewhere and the bad lines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/refcnt/import.h"

int
main(int argc, char **argv)
{
	struct refcnt_import how = { .now_ms = 1 };
	struct refcnt_imported sums;
	struct refcnt *counted;
	struct refcnt_page page;
	uint64_t from, pages;
	int err;

	if (argc != 4)
		return 2;
	from = strtoull(argv[2], NULL, 16);
	pages = strtoull(argv[3], NULL, 10);
	if ((err = refcnt_new(&counted, 1, REFCNT_STANDARD)) != 0 ||
	    (err = refcnt_enable(counted, from, pages * REFCNT_PAGE,
		REFCNT_IMPORT, 0)) != 0 ||
	    (err = refcnt_import(counted, argv[1], &how, &sums)) != 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	for (uint64_t i = 0; i < pages; i++) {
		if (!refcnt_page(counted, from + i * REFCNT_PAGE, REFCNT_WIDE,
			&page))
			return 1;
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, page.reads,
		    page.writes);
	}
	fprintf(stderr, "lines %" PRIu64 " outside %" PRIu64 " bad %" PRIu64 "\n",
	    sums.lines, sums.outside, sums.bad);
	refcnt_free(counted);
	return 0;
}

/*
 * named: the whole API of alloclog.h: types, requesters, levels, failed requests,
 * a range that ends at once, a stop and a start, a mark, a region, and the first
 * object of an arena at the arena's own address.
 *
 * Prints named=N and errno_kept=1.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#pragma weak alloclog_alloc
#pragma weak alloclog_failed
#pragma weak alloclog_free
#pragma weak alloclog_free_range
#pragma weak alloclog_type
#pragma weak alloclog_requester
#pragma weak alloclog_requester_node
#pragma weak alloclog_level
#pragma weak alloclog_region
#pragma weak alloclog_region_end
#pragma weak alloclog_stop
#pragma weak alloclog_start
#pragma weak alloclog_mark
#include "../../src/alloclog/alloclog.h"

int
main(void)
{
	char *arena = malloc(4096);

	if (alloclog_alloc == NULL) {
		dprintf(1, "named=0\nerrno_kept=1\n");
		return 0;
	}
	errno = EPROTO;
	alloclog_type(0xc4, "CONN", "connection of the pool");
	alloclog_requester("reader");
	alloclog_level(2);
	alloclog_region(arena, 4096, 0, 16, "arena");
	alloclog_alloc(arena, 100, 0xc4);
	alloclog_alloc(arena + 128, 100, 0xc4);
	alloclog_alloc(arena + 256, 100, 0xc4);
	alloclog_alloc(arena + 512, 100, 0xc4);
	alloclog_failed(1 << 20, 0xc4);
	alloclog_failed(SIZE_MAX, 0xc4);
	alloclog_free(arena + 128);
	alloclog_free_range(arena + 256, 300);
	alloclog_requester_node(0xab86);
	alloclog_level(0);
	alloclog_mark("half");
	alloclog_stop();
	alloclog_alloc(arena + 1024, 10, 0xc4);
	alloclog_failed(10, 0xc4);
	alloclog_start();
	alloclog_alloc(arena + 2048, 10, 0xc4);
	alloclog_region_end(arena);
	alloclog_region_end(arena);
	alloclog_region(NULL, 4096, 0, 0, NULL);
	alloclog_region(arena, 0, 0, 0, "empty");
	alloclog_region(arena, 4096, 1 << 16, 0, "head");
	alloclog_region(arena, SIZE_MAX, 0, 0, "long");
	dprintf(1, "named=2\nerrno_kept=%d\n", errno == EPROTO);
	return 0;
}

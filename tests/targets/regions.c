/*
 * regions: two pools, of which two children and their parent each make
 * something else.  The second child is one of _Fork(), which says hello with
 * its first event.
 *
 * Prints errno_kept=1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak alloclog_alloc
#pragma weak alloclog_free
#pragma weak alloclog_region
#pragma weak alloclog_region_end
#include "../../src/alloclog/alloclog.h"

static char memory[3][4096];

static void
wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

int
main(void)
{
	if (alloclog_region == NULL) {
		dprintf(1, "errno_kept=1\n");
		return 0;
	}
	errno = EPROTO;
	alloclog_region(memory[0], 4096, 0, 0, "first");
	alloclog_region(memory[1], 4096, 16, 8, "second");
	if (fork() == 0) {
		alloclog_region_end(memory[0]);
		_exit(0);
	}
	if (_Fork() == 0) {
		/* Its first event says hello; the end is of what that has told. */
		alloclog_alloc(memory[1] + 16, 10, 0xc4);
		alloclog_region_end(memory[1]);
		_exit(0);
	}
	alloclog_region_end(memory[0]);
	alloclog_region(memory[2], 4096, 0, 0, "third");
	alloclog_region_end(memory[1]);
	alloclog_region_end(memory[2]);
	dprintf(1, "errno_kept=%d\n", errno == EPROTO);
	wait_all();
	return 0;
}

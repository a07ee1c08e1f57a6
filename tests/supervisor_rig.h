/*
 * A supervisor and its children in a test: what the children, each a process of
 * its own, tell the test, and the store that each of them is given.
 *
 * Example
 *	static void
 *	child(void *arg, int fd)
 *	{
 *		struct fdstore store;
 *
 *		open_store(&store, fd);
 *		MUST(fdstore_say(&store, "READY=1") == 0);
 *		_exit(0);
 *	}
 *	...
 *	ck_assert_int_eq(supervisor_run(child, NULL), 0);
 */
#ifndef TESTS_SUPERVISOR_RIG_H
#define TESTS_SUPERVISOR_RIG_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../src/nodes/host/fdstore.h"
#include "../src/nodes/host/host.h"
#include "../src/nodes/supervisor/supervisor.h"
#include "harness.h"

#define WRONG 99		/* status of a child that saw what must not be */

/* What the children, which follow each other, tell the test. */
static struct shared {
	_Atomic unsigned starts, refused, connected, served;
	_Atomic bool stop;
} *shared;

static void
setup(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	unsetenv("NOTIFY_SOCKET");
}

static void
teardown(void)
{
	munmap(shared, sizeof *shared);
}

/* In a child: a status that the test sees, instead of a failed assertion. */
#define MUST(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
			    #what); \
			_exit(WRONG); \
		} \
	} while (0)

/* The store of a child, with all that was passed to it. */
static void
open_store(struct fdstore *store, int fd)
{
	struct inherited stream, seqpacket;

	fdstore_open(store, fd);
	MUST(inherited_take(&stream, &seqpacket, fdstore_inherit, store) == 0);
}

static int
file_of(const char *text)
{
	int fd = memfd_create("check", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, text, strlen(text)) ==
	    (ssize_t)strlen(text));
	return fd;
}

#endif

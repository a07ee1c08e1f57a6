/*
 * Persistent memory as a process that is killed now would leave it.
 */
#ifndef TESTS_PMEM_COPY_H
#define TESTS_PMEM_COPY_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/base/pmem.h"
#include "harness.h"

static inline void
pmem_copy_range(int to, int from, off_t at, off_t end)
{
	static char buf[1 << 16];

	while (at < end) {
		size_t n = (size_t)(end - at) < sizeof(buf) ?
		    (size_t)(end - at) : sizeof(buf);

		ck_assert_int_eq(pread(from, buf, n, at), (ssize_t)n);
		ck_assert_int_eq(pwrite(to, buf, n, at), (ssize_t)n);
		at += (off_t)n;
	}
}

/* The memory as it is now, in a file of its own. */
static inline struct pmem *
pmem_copy(const struct pmem *kept)
{
	int from = pmem_fd(kept), to = memfd_create("copy", MFD_ALLOW_SEALING);
	struct pmem *copy;
	struct stat st;
	off_t end = 0, at;

	ck_assert_int_ge(to, 0);
	ck_assert_int_eq(fstat(from, &st), 0);
	ck_assert_int_eq(ftruncate(to, st.st_size), 0);
	ck_assert_int_eq(fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	while ((at = lseek(from, end, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		pmem_copy_range(to, from, at, end);
	}
	ck_assert_int_eq(pmem_open(&copy, to), 0);
	return copy;
}

#endif

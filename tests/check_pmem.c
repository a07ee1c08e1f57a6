/*
 * Memory that outlives its process: what the next one finds in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/base/pmem.h"
#include "harness.h"

#define SMALL 100
#define LARGE (3 * BASE_HUGE)

static int
dup_of(const struct pmem *kept)
{
	int fd = dup(pmem_fd(kept));

	ck_assert_int_ge(fd, 0);
	return fd;
}

CASE("kept");

TEST(pieces_are_zeros_at_first)
{
	static const char zeros[SMALL];
	struct pmem *kept;
	char *small;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	small = pmem_take(kept, SMALL);
	ck_assert_ptr_nonnull(small);
	ck_assert_mem_eq(small, zeros, SMALL);
	pmem_free(kept);
}

TEST(what_a_killed_process_wrote_is_found_again)
{
	struct pmem *kept, *next;
	char *small, *large;
	int status, fd;
	pid_t pid;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	small = pmem_take(kept, SMALL);
	large = pmem_take(kept, LARGE);
	ck_assert(small != NULL && large != NULL);
	pid = fork();
	if (pid == 0) {
		memcpy(small, "small", 6);
		memcpy(large + LARGE - 6, "large", 6);
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	fd = dup_of(kept);
	pmem_free(kept);
	ck_assert_int_eq(pmem_open(&next, fd), 0);
	small = pmem_take(next, SMALL);
	large = pmem_take(next, LARGE);
	ck_assert(small != NULL && large != NULL);
	ck_assert_str_eq(small, "small");
	ck_assert_str_eq(large + LARGE - 6, "large");
	pmem_free(next);
}

TEST(large_pieces_begin_where_huge_pages_can)
{
	struct pmem *kept;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	ck_assert_ptr_nonnull(pmem_take(kept, SMALL));
	ck_assert_uint_eq((uintptr_t)pmem_take(kept, LARGE) % BASE_HUGE, 0);
	pmem_free(kept);
}

TEST(piece_of_another_size_is_refused)
{
	struct pmem *kept, *next;
	int fd;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	ck_assert_ptr_nonnull(pmem_take(kept, SMALL));
	ck_assert_ptr_nonnull(pmem_take(kept, LARGE));
	fd = dup_of(kept);
	pmem_free(kept);
	ck_assert_int_eq(pmem_open(&next, fd), 0);
	ck_assert_ptr_nonnull(pmem_take(next, SMALL));
	ck_assert_ptr_null(pmem_take(next, LARGE + 1));
	pmem_free(next);
}

TEST(pieces_that_the_first_had_no_time_for_are_new)
{
	struct pmem *kept, *next;
	char *more;
	int fd;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	ck_assert_ptr_nonnull(pmem_take(kept, SMALL));
	fd = dup_of(kept);
	pmem_free(kept);
	ck_assert_int_eq(pmem_open(&next, fd), 0);
	ck_assert_ptr_nonnull(pmem_take(next, SMALL));
	more = pmem_take(next, LARGE);
	ck_assert_ptr_nonnull(more);
	ck_assert_int_eq(more[LARGE - 1], 0);
	pmem_free(next);
}

TEST(other_files_are_refused_and_closed)
{
	struct pmem *kept = NULL;
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	ck_assert_int_eq(pmem_open(&kept, fd), -EINVAL);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ck_assert_int_eq(pmem_open(&kept, fd), -EINVAL);
	fd = open("/dev/null", O_RDWR);
	ck_assert_int_eq(pmem_open(&kept, fd), -EINVAL);
	ck_assert_ptr_null(kept);
}

TEST(openings_are_counted_until_one_is_well)
{
	struct pmem *kept, *next;
	int fd;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	ck_assert_uint_eq(pmem_opens(kept), 0);
	for (unsigned i = 1; i <= 3; i++) {
		fd = dup_of(kept);
		ck_assert_int_eq(pmem_open(&next, fd), 0);
		ck_assert_uint_eq(pmem_opens(next), i);
		pmem_free(next);
	}
	pmem_reset_opens(kept);
	ck_assert_uint_eq(pmem_opens(kept), 0);
	pmem_free(kept);
}

static off_t
pages_of(const struct pmem *kept)
{
	struct stat st;

	ck_assert_int_eq(fstat(pmem_fd(kept), &st), 0);
	return st.st_blocks;
}

TEST(zeroed_memory_is_given_back)
{
	struct pmem *kept;
	char *large;
	off_t most;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	large = pmem_take(kept, LARGE);
	pmem_populate(large, LARGE);
	memset(large, 1, LARGE);
	most = pages_of(kept);
	pmem_zero(kept, large + 10, LARGE - 20);
	ck_assert_int_eq(large[9], 1);
	ck_assert_int_eq(large[10], 0);
	ck_assert_int_eq(large[LARGE - 11], 0);
	ck_assert_int_eq(large[LARGE - 10], 1);
	ck_assert_int_lt(pages_of(kept), most / 2);
	pmem_free(kept);
}

/* The last of three pieces is more than was expected. */
TEST(expected_pieces_are_found_again_like_any_other)
{
	const size_t bytes[] = { SMALL, LARGE, SMALL };
	struct pmem *kept, *next;
	char *p[3], *q;
	size_t size;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_ptr_nonnull(pmem_take(kept, bytes[i]));
	size = pmem_size(kept);
	pmem_free(kept);
	ck_assert_int_eq(pmem_new(&kept, "test", size), 0);
	for (unsigned i = 0; i < 3; i++) {
		p[i] = pmem_take(kept, bytes[i]);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_int_eq(p[i][bytes[i] - 1], 0);
		p[i][0] = p[i][bytes[i] - 1] = (char)('a' + i);
	}
	ck_assert_uint_eq((uintptr_t)p[1] % BASE_HUGE, 0);
	ck_assert_uint_gt(pmem_size(kept), size);
	ck_assert_int_eq(pmem_open(&next, dup_of(kept)), 0);
	for (unsigned i = 0; i < 3; i++) {
		q = pmem_take(next, bytes[i]);
		ck_assert_ptr_nonnull(q);
		ck_assert_int_eq(q[0], 'a' + (int)i);
		ck_assert_int_eq(q[bytes[i] - 1], 'a' + (int)i);
	}
	pmem_zero(next, q, SMALL);
	ck_assert_int_eq(p[2][0], 0);
	pmem_free(next);
	pmem_free(kept);
}

static const size_t no_size[] = { 0, 1, SIZE_MAX, PTRDIFF_MAX };

LOOP_TEST(pieces_come_whatever_was_expected, 0, BASE_NELEM(no_size))
{
	struct pmem *kept;
	char *p;

	ck_assert_int_eq(pmem_new(&kept, "test", no_size[_i]), 0);
	p = pmem_take(kept, LARGE);
	ck_assert_ptr_nonnull(p);
	p[LARGE - 1] = 1;
	pmem_free(kept);
}

/* --- reset -------------------------------------------------------------------- */

#define MUCH ((size_t)1 << 20)		/* more used bytes than pmem_reset() zeroes */

static ino_t
inode_of(const struct pmem *memory)
{
	struct stat st;

	ck_assert_int_eq(fstat(pmem_fd(memory), &st), 0);
	return st.st_ino;
}

/* A file that was used: `from` and `bytes` say where. */
static struct pmem *
used(size_t from, size_t bytes)
{
	struct pmem *memory;
	char *p;

	ck_assert_int_eq(pmem_new(&memory, "test", LARGE + 2 * BASE_HUGE), 0);
	p = pmem_take(memory, SMALL);
	ck_assert_ptr_nonnull(p);
	memset(p, 'x', SMALL);
	p = pmem_take(memory, LARGE);
	ck_assert_ptr_nonnull(p);
	memset(p + from, 'x', bytes);
	return memory;
}

CASE("again", .setup = zeros_keep);

TEST(a_reset_file_is_zeros_and_takes_other_pieces)
{
	struct pmem *memory, *next;
	ino_t inode;
	char *p;

	memory = used(LARGE - SMALL, SMALL);
	inode = inode_of(memory);
	ck_assert_int_eq(pmem_open(&next, dup_of(memory)), 0);
	pmem_free(next);
	ck_assert(pmem_reset(memory));
	ck_assert_uint_eq(inode_of(memory), inode);
	ck_assert_uint_eq(pmem_opens(memory), 0);
	p = pmem_take(memory, LARGE);
	ck_assert_ptr_nonnull(p);
	ck_assert(p[0] == 0 && memcmp(p, p + 1, LARGE - 1) == 0);
	p = pmem_take(memory, SMALL);
	ck_assert_ptr_nonnull(p);
	ck_assert(p[0] == 0 && memcmp(p, p + 1, SMALL - 1) == 0);
	pmem_free(memory);
}

TEST(a_file_with_much_used_memory_is_not_reset)
{
	struct pmem *memory = used(0, MUCH);

	ck_assert(!pmem_reset(memory));
	pmem_free(memory);
}

TEST(a_file_with_a_piece_beyond_the_expected_size_is_not_reset)
{
	struct pmem *memory = used(0, SMALL);

	ck_assert_ptr_nonnull(pmem_take(memory, LARGE));
	ck_assert(!pmem_reset(memory));
	pmem_free(memory);
}

TEST(a_file_that_another_process_made_is_not_reset)
{
	struct pmem *memory, *next;

	memory = used(0, SMALL);
	ck_assert_int_eq(pmem_open(&next, dup_of(memory)), 0);
	ck_assert(!pmem_reset(next));
	pmem_free(next);
	pmem_free(memory);
}

TEST(no_file_is_reset_while_descriptors_are_few)
{
	struct rlimit few = { 8, 8 };
	struct pmem *memory = used(0, SMALL);

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert(!pmem_reset(memory));
	pmem_free(memory);
}

/* --- huge pages --------------------------------------------------------------- */

/* Kilobytes of it that are mapped as huge pages. */
static long
huge_of(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512], begin[32];
	bool here = false;
	long kb = -1;

	ck_assert_ptr_nonnull(f);
	(void)snprintf(begin, sizeof(begin), "%lx-", (unsigned long)p);
	while (kb < 0 && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, begin, strlen(begin)) == 0)
			here = true;
		if (here)
			(void)sscanf(line, "ShmemPmdMapped: %ld kB", &kb);
	}
	(void)fclose(f);
	return kb;
}

CASE("huge pages", .tags = TAG_KERNEL);

/*
 * What the system makes of pages that are all there says whether it can; for a
 * moment it may have none.
 */
TEST(populated_memory_is_in_huge_pages_where_there_are_any)
{
	struct pmem *kept, *other;
	char *asked, *used;
	bool same = false;

	for (unsigned i = 0; i < 5 && !same; i++) {
		ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
		ck_assert_int_eq(pmem_new(&other, "test", 0), 0);
		asked = pmem_take(kept, LARGE);
		used = pmem_take(other, LARGE);
		ck_assert(asked != NULL && used != NULL);
		pmem_populate(asked, LARGE);
		memset(used, 1, LARGE);
		same = madvise(used, LARGE, MADV_COLLAPSE) != 0 ||
		    huge_of(asked) == huge_of(used);
		memset(used, 0, LARGE);
		ck_assert_int_eq(memcmp(asked, used, LARGE), 0);
		pmem_free(kept);
		pmem_free(other);
	}
	ck_assert(same);
}

/*
 * writes: which pages a process writes to, beside the process's own knowledge of what
 * it does.  The process is the test itself; without the kernel's part (Linux before
 * 6.7, or a filter that refuses userfaultfd(2)) only bad descriptors are tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/refcnt/writes.h"
#include "harness.h"
#include "targets/forbid.h"

#define PAGES 64
#define SIZE (PAGES * (size_t)REFCNT_PAGE)
#define USER_MODE_ONLY 1

static char *memory;
static struct refcnt *counted;
static struct writes *writes;
static uint8_t seen[PAGES];	/* how often the last epoch told the page */

static int
make_descriptor(void)
{
	return (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK |
	    USER_MODE_ONLY);
}

/* Of the first half: the others are not populated. */
static void
setup(void)
{
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	memset(memory, 1, SIZE / 2);
	ck_assert_int_eq(refcnt_new(&counted, 1, REFCNT_STANDARD), 0);
	writes = NULL;
	if (writes_supported() == 0)
		ck_assert_int_eq(writes_open(&writes, getpid(),
		    make_descriptor()), 0);
}

static void
teardown(void)
{
	writes_close(writes);
	refcnt_free(counted);
	munmap(memory, SIZE);
}

static void
count(unsigned from, unsigned to)
{
	ck_assert_int_eq(refcnt_enable(counted, (uintptr_t)memory +
	    from * (uint64_t)REFCNT_PAGE, (to - from) * (uint64_t)REFCNT_PAGE,
	    REFCNT_WP, 0), 0);
}

static void
note(void *arg, uint64_t vaddr, bool coarse)
{
	uint64_t page = (vaddr - (uintptr_t)memory) / REFCNT_PAGE;

	(void)arg;
	ck_assert_uint_lt(page, PAGES);
	ck_assert(!coarse);
	seen[page]++;
}

static void
begin(void)
{
	ck_assert_int_eq(writes_begin(writes, counted), 0);
}

/* Ends an epoch in which these pages were written to, up to -1, and begins the next. */
static void
expect(const int *page)
{
	uint8_t want[PAGES] = { 0 };

	memset(seen, 0, sizeof seen);
	ck_assert_int_eq(writes_end(writes, note, NULL), 0);
	for (; *page != -1; page++)
		want[*page] = 1;
	for (unsigned i = 0; i < PAGES; i++)
		if (seen[i] != want[i])
			ck_abort_msg("page %u told %u times, not %u", i, seen[i],
			    want[i]);
	begin();
}

#define EXPECT(...) expect((const int[]){ __VA_ARGS__, -1 })

static void
write_to(unsigned page)
{
	((volatile char *)memory)[page * REFCNT_PAGE + 5]++;
}

static void
read_from(unsigned page)
{
	(void)((volatile char *)memory)[page * REFCNT_PAGE];
}

/* Mappings with asynchronous write protection. */
static unsigned
registered(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	unsigned n = 0;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f) != NULL)
		n += strncmp(line, "VmFlags:", 8) == 0 &&
		    strstr(line, " uw") != NULL;
	fclose(f);
	return n;
}

CASE("writes", .setup = setup, .teardown = teardown, .seconds = 20);

TEST(pages_that_are_written_to_are_told_once_in_an_epoch)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (writes == NULL)
		return;
	count(0, PAGES);
	begin();
	write_to(3);
	write_to(3);
	write_to(40);
	read_from(5);
	read_from(50);
	ck_assert_int_eq(read(zero, memory + 8 * REFCNT_PAGE - 10, 20), 20);
	close(zero);
	EXPECT(3, 7, 8, 40);
	EXPECT(-1);
	write_to(3);
	write_to(50);
	EXPECT(3, 50);
	EXPECT(-1);
}

TEST(pages_of_no_range_are_not_told)
{
	if (writes == NULL)
		return;
	count(4, 6);
	count(20, 21);
	begin();
	for (unsigned i = 0; i < PAGES; i++)
		write_to(i);
	EXPECT(4, 5, 20);
	count(6, 8);
	begin();
	EXPECT(-1);
	ck_assert_int_eq(refcnt_disable(counted, (uintptr_t)memory +
	    5 * REFCNT_PAGE, REFCNT_PAGE), 0);
	begin();
	for (unsigned i = 0; i < PAGES; i++)
		write_to(i);
	EXPECT(4, 6, 7, 20);
}

TEST(memory_that_is_mapped_anew_is_counted_from_the_next_epoch_on)
{
	if (writes == NULL)
		return;
	count(0, PAGES);
	begin();
	ck_assert_int_eq(munmap(memory + 8 * REFCNT_PAGE,
	    8 * REFCNT_PAGE), 0);
	ck_assert_ptr_ne(mmap(memory + 8 * REFCNT_PAGE, 4 * REFCNT_PAGE,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
	    0), MAP_FAILED);
	write_to(9);
	write_to(20);
	madvise(memory + 24 * REFCNT_PAGE, 2 * REFCNT_PAGE, MADV_DONTNEED);
	read_from(24);
	write_to(25);
	EXPECT(20, 25);
	write_to(9);
	write_to(24);
	EXPECT(9, 24);
}

TEST(a_child_writes_to_pages_of_its_own)
{
	int status;
	pid_t pid;

	if (writes == NULL)
		return;
	count(0, PAGES);
	begin();
	pid = fork();
	if (pid == 0) {
		write_to(1);
		_exit(registered() != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	write_to(2);
	EXPECT(2);
}

TEST(the_protection_goes_with_the_descriptor)
{
	if (writes == NULL)
		return;
	count(7, 9);
	begin();
	ck_assert_uint_eq(registered(), 1);
	writes_close(writes);
	writes = NULL;
	ck_assert_uint_eq(registered(), 0);
	write_to(7);
}

TEST(mappings_of_the_programs_own_userfaultfd_are_left_alone)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .range = { .start = (uintptr_t)memory +
	    16 * REFCNT_PAGE, .len = 4 * REFCNT_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING };
	int own;

	if (writes == NULL)
		return;
	own = make_descriptor();
	ck_assert_int_eq(ioctl(own, UFFDIO_API, &api), 0);
	ck_assert_int_eq(ioctl(own, UFFDIO_REGISTER, &r), 0);
	count(0, PAGES);
	begin();
	ck_assert_uint_eq(writes_left_out(writes), 4);
	for (unsigned i = 14; i < 22; i++)
		write_to(i);
	EXPECT(14, 15, 20, 21);
	close(own);
	begin();
	ck_assert_uint_eq(writes_left_out(writes), 0);
	write_to(17);
	EXPECT(17);
}

TEST(memory_that_nobody_may_write_to_has_no_writes)
{
	int fd;
	void *at;

	if (writes == NULL)
		return;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	at = mmap(memory + 4 * REFCNT_PAGE, REFCNT_PAGE, PROT_READ,
	    MAP_SHARED | MAP_FIXED, fd, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	close(fd);
	count(3, 6);
	begin();
	ck_assert_uint_eq(writes_left_out(writes), 0);
	read_from(4);
	write_to(3);
	EXPECT(3);
}

/* They come from outside. */
TEST(a_bad_descriptor_is_refused)
{
	struct writes *none;
	int used = make_descriptor(), fds[2];
	struct uffdio_api api = { .api = UFFD_API };

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(writes_open(&none, getpid(), fds[1]), -EBADF);
	ck_assert_int_eq(fcntl(fds[1], F_GETFD), -1);
	close(fds[0]);
	ck_assert_int_eq(writes_open(&none, getpid(),
	    open("/dev/zero", O_RDWR)), -EBADF);
	ck_assert_int_eq(writes_open(&none, getpid(), 1 << 20), -EBADF);
	if (used == -1)
		return;
	ck_assert_int_eq(ioctl(used, UFFDIO_API, &api), 0);
	ck_assert_int_eq(writes_open(&none, getpid(), used), -EBADF);
	ck_assert_int_eq(fcntl(used, F_GETFD), -1);
}

TEST(a_process_that_is_gone_is_told)
{
	struct writes *none;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	if (writes != NULL)
		ck_assert_int_eq(writes_open(&none, pid, make_descriptor()),
		    -ESRCH);
}

/* A node in one counts by another source, and lives. */
TEST(a_sandbox_that_kills_who_asks_for_a_descriptor_kills_nobody)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(forbid(SYS_userfaultfd) == 0 &&
		    writes_supported() != -EPERM);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/*
 * The settings of automatic NUMA balancing, in a folder instead of the root, and page
 * faults of this process from perf.  live/refcnt_hint.sh tests samples of a real kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/refcnt/hint/hint.h"
#include "kernel_files.h"

#define SWITCH "proc/sys/kernel/numa_balancing"
#define SCAN "sys/kernel/debug/sched/numa_balancing/scan_period_"
#define OLD_SCAN "proc/sys/kernel/numa_balancing_scan_period_"

static char file[128], why[REFCNT_WHY];

static void
setup(void)
{
	make_root();
	snprintf(file, sizeof file, "%s/kept", root);
	put_file(SWITCH, "0\n");
	put_file(SCAN "min_ms", "1000\n");
	put_file(SCAN "max_ms", "60000\n");
}

static void
teardown(void)
{
	remove_root();
}

CASE("balancing", .setup = setup, .teardown = teardown);

static void
remove_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, name);
	ck_assert_int_eq(unlink(path), 0);
}

static void
expect(const char *name, const char *text)
{
	char path[256], got[64] = "";
	FILE *fp;

	snprintf(path, sizeof path, "%s/%s", root, name);
	fp = fopen(path, "r");
	ck_assert_ptr_nonnull(fp);
	ck_assert_ptr_nonnull(fgets(got, sizeof got, fp));
	fclose(fp);
	ck_assert_str_eq(got, text);
}

static struct balancing *
begin(void)
{
	struct balancing *b = NULL;

	ck_assert_int_eq(balancing_begin(&b, root, file, why), 0);
	return b;
}

static void
expect_changed(void)
{
	expect(SWITCH, "1\n");
	expect(SCAN "max_ms", "1000\n");
	expect(SCAN "min_ms", "1000\n");
}

static void
expect_as_before(void)
{
	expect(SWITCH, "0\n");
	expect(SCAN "max_ms", "60000\n");
	expect(SCAN "min_ms", "1000\n");
}

TEST(the_last_process_restores_the_settings)
{
	struct balancing *a = begin(), *b = begin();

	ck_assert_str_eq(why, "");
	expect_changed();
	balancing_end(a);
	expect_changed();
	a = begin();
	balancing_end(b);
	expect_changed();
	balancing_restore(root, file);
	expect_changed();
	balancing_end(a);
	expect_as_before();
	balancing_end(begin());
	expect_as_before();
}

/* Starts a process that changes the settings, and kills it. */
static void
begin_and_be_killed(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)begin();
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	expect_changed();
}

TEST(changes_of_a_killed_process_are_undone)
{
	begin_and_be_killed();
	balancing_restore(root, file);
	expect_as_before();
	begin_and_be_killed();
	balancing_end(begin());
	expect_as_before();
}

TEST(changes_of_another_program_stay)
{
	struct balancing *b = begin();

	put_file(SCAN "max_ms", "7000\n");
	ck_assert(balancing_is_on(b));
	put_file(SWITCH, "0\n");
	ck_assert(!balancing_is_on(b));
	balancing_end(b);
	expect(SWITCH, "0\n");
	expect(SCAN "max_ms", "7000\n");
	begin_and_be_killed();
	put_file(SCAN "max_ms", "5000\n");
	balancing_end(begin());
	expect(SWITCH, "0\n");
	expect(SCAN "max_ms", "5000\n");
}

TEST(balancing_that_was_on_stays_on)
{
	struct balancing *b;

	put_file(SWITCH, "1\n");
	put_file(SCAN "max_ms", "900\n");
	b = begin();
	expect(SWITCH, "1\n");
	expect(SCAN "max_ms", "900\n");
	balancing_end(b);
	expect(SWITCH, "1\n");
	/* Bit 1 is for tiered memory and stays. */
	put_file(SWITCH, "2\n");
	b = begin();
	expect(SWITCH, "3\n");
	balancing_end(b);
	expect(SWITCH, "2\n");
}

TEST(scan_periods_of_older_kernels_are_found)
{
	struct balancing *b;

	remove_file(SCAN "min_ms");
	remove_file(SCAN "max_ms");
	put_file(OLD_SCAN "min_ms", "500\n");
	put_file(OLD_SCAN "max_ms", "60000\n");
	b = begin();
	ck_assert_str_eq(why, "");
	expect(OLD_SCAN "max_ms", "500\n");
	balancing_end(b);
	expect(OLD_SCAN "max_ms", "60000\n");
}

TEST(without_scan_periods_a_warning_says_that_samples_may_be_rare)
{
	struct balancing *b;

	remove_file(SCAN "max_ms");
	b = begin();
	ck_assert_ptr_nonnull(strstr(why, "samples may be rare"));
	expect(SWITCH, "1\n");
	balancing_end(b);
	expect(SWITCH, "0\n");
}

TEST(a_kernel_without_balancing_is_refused)
{
	struct balancing *b;

	remove_file(SWITCH);
	ck_assert_int_eq(balancing_begin(&b, root, file, why), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(why, "no automatic NUMA balancing"));
	expect(SCAN "max_ms", "60000\n");
	ck_assert_int_lt(hints_supported(getpid(), root, 2, why), 0);
	ck_assert_ptr_nonnull(strstr(why, "no automatic NUMA balancing"));
	ck_assert_int_eq(hints_supported(getpid(), root, 1, why), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(why, "one memory node"));
}

static const char *const damaged[] = {
	"", "\n", "numa_balancing", "numa_balancing 1\n", "kernel.panic 1 2\n",
	"numa_balancing x 1\nscan_period_max_ms 1 y\n",
	"numa_balancing 5 99999999999999999999\n", "\xff\xff\xff\xff",
};

/* The file of another program, or of a process that was killed while it wrote. */
LOOP_TEST(a_damaged_file_changes_nothing, 0, BASE_NELEM(damaged))
{
	put_file("kept", damaged[_i]);
	balancing_restore(root, file);
	expect_as_before();
	balancing_end(begin());
	expect_as_before();
}

/* --- faults ------------------------------------------------------------------------- */

CASE("faults");

#define PAGES 16

static char *memory;
static unsigned seen[PAGES], others;

static void
take_sample(void *arg, uint64_t vaddr, unsigned node, bool coarse)
{
	uint64_t page = (vaddr - (uintptr_t)memory) / REFCNT_PAGE;

	(void)arg;
	(void)coarse;
	ck_assert_uint_lt(node, REFCNT_NODES);
	if (page < PAGES)
		seen[page]++;
	else
		others++;
}

static void *
touch_odd(void *arg)
{
	(void)arg;
	for (unsigned i = 1; i < PAGES; i += 2)
		memory[i * REFCNT_PAGE] = 1;
	return NULL;
}

/* Each page has one first touch, by a thread from before hints_open() or a later one. */
TEST(each_fault_of_all_threads_is_reported_once)
{
	struct refcnt_topology *topology;
	struct hints *h;
	pthread_t thread;
	int err;

	ck_assert_int_eq(refcnt_topology_read(&topology, "/", NULL, why), 0);
	err = hints_open(&h, getpid(), topology);
	if (err == -EACCES || err == -EPERM || err == -ENOSYS) {
		refcnt_topology_free(topology);
		return;		/* perf is not allowed here */
	}
	ck_assert_int_eq(err, 0);
	memory = mmap(NULL, PAGES * REFCNT_PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	madvise(memory, PAGES * REFCNT_PAGE, MADV_NOHUGEPAGE);
	memset(seen, 0, sizeof seen);
	ck_assert_int_eq(hints_begin(h), 0);
	for (unsigned i = 0; i < PAGES; i += 2)
		memory[i * REFCNT_PAGE] = 1;
	ck_assert_int_eq(pthread_create(&thread, NULL, touch_odd, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(hints_read(h, take_sample, NULL), 0);
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert_uint_eq(seen[i], 1);
	ck_assert_int_eq(hints_read(h, take_sample, NULL), 0);
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert_uint_eq(seen[i], 1);
	ck_assert_uint_eq(hints_lost(h), 0);
	hints_close(h);
	munmap(memory, PAGES * REFCNT_PAGE);
	refcnt_topology_free(topology);
}

TEST(a_process_that_does_not_exist_is_refused)
{
	struct refcnt_topology *topology;
	struct hints *h;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(refcnt_topology_read(&topology, "/", NULL, why), 0);
	ck_assert_int_eq(hints_open(&h, pid, topology), -ESRCH);
	refcnt_topology_free(topology);
}

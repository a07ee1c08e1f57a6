/*
 * guard: the node's side.  This test plays the target and writes counts into the shared
 * memory; each is reported once, by page, node, and read or write.
 * tests/live/refcnt_guard.sh has a real target.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/refcnt/guard/guard.h"
#include "../src/stream/guard.h"
#include "harness.h"

#define BASE UINT64_C(0x700000000000)
#define PAGES 8
#define NODES 3

static struct guard_area *area;	/* the target's view */
static struct guard *guard;
static struct refcnt *counted;
static struct refcnt_topology *topology;
static uint64_t reads[PAGES][NODES], writes[PAGES][NODES];

static int
make_area(size_t size, int seals)
{
	int fd = memfd_create(GUARD_AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
setup(void)
{
	int fd = make_area(sizeof *area, F_SEAL_SHRINK | F_SEAL_GROW);

	area = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(area, MAP_FAILED);
	atomic_store(&area->version, GUARD_VERSION);
	atomic_store(&area->state, GUARD_ARMING);
	ck_assert_int_eq(refcnt_new(&counted, NODES, REFCNT_STANDARD), 0);
	topology = calloc(1, sizeof *topology);
	ck_assert_ptr_nonnull(topology);
	topology->nodes = NODES;
	topology->cpus = NODES;
	topology->cpu = calloc(NODES, sizeof *topology->cpu);
	for (int i = 0; i < NODES; i++)
		topology->cpu[i] = i;
	guard = NULL;
	ck_assert_int_eq(guard_open(&guard, fd, topology), 0);
}

static void
teardown(void)
{
	guard_close(guard);
	refcnt_free(counted);
	free(topology->cpu);
	free(topology);
	munmap(area, sizeof *area);
}

static void
count_pages(unsigned from, unsigned n)
{
	ck_assert_int_eq(refcnt_enable(counted, BASE + from * REFCNT_PAGE,
	    n * (uint64_t)REFCNT_PAGE, REFCNT_GUARD, 0), 0);
	ck_assert_int_eq(guard_begin(guard, counted), 0);
}

static void
heed(void)
{
	atomic_store(&area->heeded, atomic_load(&area->number));
}

/* Counts a touch, like a handler of the target on that processor. */
static void
touch(unsigned entry, unsigned cpu, int write)
{
	unsigned bank = atomic_load(&area->heeded) % GUARD_BANKS;

	atomic_fetch_add(&area->count[bank][guard_place(entry, area->nodes,
	    area->column[cpu], write)], 1);
}

static void
note(void *arg, uint64_t vaddr, unsigned node, uint64_t r, uint64_t w)
{
	uint64_t page = (vaddr - BASE) / REFCNT_PAGE;

	(void)arg;
	ck_assert_uint_lt(page, PAGES);
	ck_assert_uint_lt(node, NODES);
	reads[page][node] += r;
	writes[page][node] += w;
}

static void
end(void)
{
	memset(reads, 0, sizeof reads);
	memset(writes, 0, sizeof writes);
	guard_end(guard, note, NULL);
}

CASE("Guard", .setup = setup, .teardown = teardown);

TEST(touches_are_reported_once_by_page_node_and_access)
{
	count_pages(2, 4);
	heed();
	touch(0, 0, 0);
	touch(0, 2, 0);
	touch(0, 2, 0);
	touch(3, 1, 1);
	end();
	for (unsigned p = 0; p < PAGES; p++)
		for (unsigned n = 0; n < NODES; n++) {
			ck_assert_uint_eq(reads[p][n], p != 2 || n == 1 ? 0 :
			    n == 0 ? 1 : 2);
			ck_assert_uint_eq(writes[p][n], p == 5 && n == 1);
		}
	end();
	ck_assert_uint_eq(reads[2][2] + writes[5][1], 0);
	touch(3, 1, 1);
	end();
	ck_assert_uint_eq(writes[5][1], 1);
}

TEST(counts_before_a_change_of_ranges_belong_to_the_former_pages)
{
	count_pages(4, 2);
	heed();
	end();
	touch(0, 0, 0);
	/* Entry 0 becomes another page when the target heeds the request. */
	count_pages(1, 1);
	touch(0, 0, 0);
	end();
	ck_assert_uint_eq(reads[4][0], 2);
	ck_assert_uint_eq(reads[1][0], 0);
	touch(1, 0, 1);
	heed();
	touch(0, 0, 1);
	end();
	ck_assert_uint_eq(writes[5][0], 1);
	ck_assert_uint_eq(writes[1][0], 1);
	end();
	touch(1, 0, 0);
	end();
	ck_assert_uint_eq(reads[4][0], 1);
}

TEST(only_ranges_of_this_source_are_guarded)
{
	ck_assert_int_eq(refcnt_enable(counted, BASE, REFCNT_PAGE, REFCNT_REFS, 0),
	    0);
	count_pages(3, 1);
	ck_assert_uint_eq(area->ranges, 1);
	ck_assert_uint_eq(area->range[0].at, BASE + UINT64_C(3) * REFCNT_PAGE);
	ck_assert_uint_eq(area->range[0].pages, 1);
}

TEST(pages_beyond_the_table_are_left_out_with_an_error)
{
	ck_assert_int_eq(refcnt_enable(counted, BASE, (GUARD_PAGES + 5) *
	    (uint64_t)REFCNT_PAGE, REFCNT_GUARD, 0), 0);
	ck_assert_int_eq(guard_begin(guard, counted), -E2BIG);
	ck_assert_uint_eq(area->ranges, 1);
	ck_assert_uint_eq(area->range[0].pages, GUARD_PAGES);
}

TEST(closing_a_guard_tells_the_target_to_end_it)
{
	ck_assert_uint_eq(atomic_load(&area->wanted), 1);
	guard_close(guard);
	guard = NULL;
	ck_assert_uint_eq(atomic_load(&area->wanted), 0);
	ck_assert_uint_ne(atomic_load(&area->number), 0);
}

/* Tries each state and reason, also an unknown reason. */
TEST(every_reason_has_a_sentence)
{
	char why[REFCNT_WHY];
	bool again;

	for (uint32_t reason = 0; reason < GUARD_WHYS + 3; reason++) {
		atomic_store(&area->why, reason);
		atomic_store(&area->detail, 4711);
		atomic_store(&area->state, GUARD_ENDED);
		ck_assert(!guard_explain(guard, why, &again));
		ck_assert_ptr_nonnull(strstr(why, "not counted any more: "));
		ck_assert_ptr_null(strchr(why, '\1'));
		atomic_store(&area->state, GUARD_ARMING);
		ck_assert(guard_explain(guard, why, &again));
		ck_assert_ptr_nonnull(strstr(why, "not counted yet: "));
	}
	atomic_store(&area->why, GUARD_NOT);
	atomic_store(&area->state, GUARD_ON);
	atomic_store(&area->call_ns, 1234);
	ck_assert(guard_explain(guard, why, &again));
	ck_assert_str_eq(why, "each system call of the program takes 1.2 us longer");
	atomic_store(&area->reference_ns, 27450);
	atomic_store(&area->gaps, 2);
	atomic_store(&area->gaps_us, 1001);
	ck_assert(guard_explain(guard, why, &again));
	ck_assert_str_eq(why, "each system call of the program takes 1.2 us longer, each "
	    "reference at least 27.4 us; references may be missing: pages were open "
	    "in 2 gaps, 2 ms in all");
}

/* The target chooses its way to count once in a guard's life. */
TEST(a_guard_of_one_source_does_not_count_by_the_other)
{
	count_pages(0, 1);
	ck_assert_uint_eq(area->exact, 0);
	ck_assert_int_eq(refcnt_disable(counted, BASE, REFCNT_PAGE), 0);
	ck_assert_int_eq(guard_begin(guard, counted), 0);
	heed();
	end();
	ck_assert_int_eq(refcnt_enable(counted, BASE, REFCNT_PAGE, REFCNT_EXACT, 0), 0);
	ck_assert_int_eq(guard_begin(guard, counted), -ESTALE);
	ck_assert_uint_eq(area->exact, 0);
}

TEST(the_first_request_says_that_each_reference_counts)
{
	ck_assert_int_eq(refcnt_enable(counted, BASE, REFCNT_PAGE, REFCNT_EXACT, 0), 0);
	ck_assert_int_eq(guard_begin(guard, counted), 0);
	ck_assert_uint_eq(area->exact, 1);
	ck_assert_uint_eq(area->ranges, 1);
}

TEST(another_descriptor_is_refused)
{
	struct guard *none = NULL;
	int pipes[2];

	ck_assert_int_eq(guard_open(&none, make_area(sizeof *area, 0), topology),
	    -EBADF);
	ck_assert_int_eq(guard_open(&none, make_area(4096, F_SEAL_SHRINK),
	    topology), -EBADF);
	ck_assert_int_eq(guard_open(&none, make_area(sizeof *area, F_SEAL_SHRINK),
	    topology), -EBADF);
	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(guard_open(&none, pipes[0], topology), -EBADF);
	close(pipes[1]);
	ck_assert_ptr_null(none);
}

/* Its end is 0, so a target refuses the whole request. */
TEST(the_last_page_is_left_out_and_others_are_guarded)
{
	ck_assert_int_eq(refcnt_enable(counted, UINT64_MAX - REFCNT_PAGE + 1,
	    REFCNT_PAGE, REFCNT_GUARD, 0), 0);
	count_pages(1, 1);
	ck_assert_uint_eq(area->ranges, 1);
	ck_assert_uint_eq(area->range[0].at, BASE + REFCNT_PAGE);
}

/*
 * stress: the six levels from copies of the kernel's files, and from the kernel
 * that runs.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/stress/stress.h"
#include "harness.h"
#include "kernel_files.h"

#define NELEM BASE_NELEM

static struct stress *stress;

/* --- a folder of files ----------------------------------------------------------------- */

static void
start(void)
{
	make_root();
	ck_assert_int_eq(stress_open(&stress, root), 0);
}

static void
stop(void)
{
	stress_close(stress);
	remove_root();
}

static void
put(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof path, "proc/%s", name);
	put_file(path, text);
}

/* /proc/vmstat of any kernel, with these sums. */
static void
put_vmstat(uint64_t requests, uint64_t stalls, uint64_t kills)
{
	char text[512];

	snprintf(text, sizeof text, "nr_free_pages 1\nnuma_hit %" PRIu64
	    "\nnuma_miss 0\nallocstall_dma %" PRIu64 "\nallocstall_normal 0\n"
	    "compact_stall 0\noom_kill %" PRIu64 "\npageoutrun 7\n",
	    requests, stalls, kills);
	put("vmstat", text);
}

static struct stress_sample
take(void)
{
	struct stress_sample s;

	ck_assert_int_eq(stress_take(stress, &s), 0);
	return s;
}

static void
expect(const struct stress_sample *s, const uint64_t want[STRESS_LEVELS])
{
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		ck_assert_msg(s->known[i] && s->level[i] == want[i],
		    "level %zu is %" PRIu64 " for %" PRIu64, i + 1, s->level[i],
		    want[i]);
}

#define EXPECT(s, ...) expect(s, (const uint64_t[STRESS_LEVELS]){ __VA_ARGS__ })

/* --- one reading --------------------------------------------------------------------------- */

CASE("stress", .setup = start, .teardown = stop);

static const struct {
	const char *text;
	enum stress_shape shape;
	uint64_t n[STRESS_LEVELS];
} sixes[] = {
	{ "4373 516 3 0 0 0\n", STRESS_SIX, { 4373, 516, 3, 0, 0, 0 } },
	{ "18446744073709551615 1 2 3 4 5\n", STRESS_SIX,
	    { UINT64_MAX, 1, 2, 3, 4, 5 } },
	{ "18446744073709551616 1 2 3 4 5\n", STRESS_OTHER, { 0 } },
	{ "1  2 3 4 5 6 \n", STRESS_SIX, { 1, 2, 3, 4, 5, 6 } },
	{ "", STRESS_OTHER, { 0 } },
	{ "\n", STRESS_OTHER, { 0 } },
	{ "1 2 3 4 5\n", STRESS_OTHER, { 0 } },
	{ "1 2 3 4 5 6 7\n", STRESS_OTHER, { 0 } },
	{ "1 2 3 4 5 6", STRESS_OTHER, { 0 } },
	{ "1 2 3 4 5 6\n7\n", STRESS_OTHER, { 0 } },
	{ "1 2 3 4 5 -6\n", STRESS_OTHER, { 0 } },
	{ "1 2 3 4 5 6x\n", STRESS_OTHER, { 0 } },
	{ "allocinfo - version: 1.0\n#     <size>  <calls> <tag info>\n",
	    STRESS_SITES, { 0 } },
	{ "  12288  3 mm/slub.c:2307 func:alloc_slab_page\n", STRESS_SITES, { 0 } },
};

LOOP_TEST(only_six_numbers_on_one_line_are_the_counts, 0, NELEM(sixes))
{
	uint64_t n[STRESS_LEVELS] = { 0 };
	enum stress_shape shape = stress_read_six(sixes[_i].text,
	    strlen(sixes[_i].text), n);

	ck_assert_int_eq(shape, sixes[_i].shape);
	ck_assert_int_eq(memcmp(n, sixes[_i].n, sizeof n), 0);
}

TEST(a_patched_kernel_is_read_without_its_file)
{
	struct stress_sample s;

	put("vmstat", "numa_hit 9\nnuma_miss 0\nheap_stress_1 5\nheap_stress_2 4\n"
	    "heap_stress_3 3\nheap_stress_4 2\nheap_stress_5 1\n"
	    "heap_stress_6 18446744073709551615\n");
	put("allocinfo", "1 1 1 1 1 1\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_PATCH);
	EXPECT(&s, 5, 4, 3, 2, 1, UINT64_MAX);
	ck_assert_str_eq(stress_why(stress), "");
}

TEST(counts_of_the_file_are_added_up)
{
	struct stress_sample s;

	put_vmstat(100, 0, 0);
	put("allocinfo", "4373 516 3 0 0 0\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_FILE);
	EXPECT(&s, 4373, 516, 3, 0, 0, 0);
	put("allocinfo", "1 2 3 4 5 6\n");
	s = take();
	EXPECT(&s, 4374, 518, 6, 4, 5, 6);
	put("allocinfo", "18446744073709551615 0 0 0 0 0\n");
	s = take();
	EXPECT(&s, UINT64_MAX, 518, 6, 4, 5, 6);
}

TEST(the_file_has_another_name_beside_the_kernels_own)
{
	struct stress_sample s;

	put_vmstat(100, 0, 0);
	put("allocinfo", "allocinfo - version: 1.0\n");
	put("heapstress", "6 5 4 3 2 1\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_FILE);
	EXPECT(&s, 6, 5, 4, 3, 2, 1);
}

TEST(the_kernels_own_file_of_call_sites_is_no_source)
{
	struct stress_sample s;

	put_vmstat(100, 7, 2);
	put("allocinfo", "allocinfo - version: 1.0\n# <size> <calls> <tag info>\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "call sites"));
}

TEST(unknown_levels_are_not_zero)
{
	struct stress_sample s;

	put_vmstat(100, 7, 2);
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		ck_assert_int_eq(s.known[i], i == 0 || i == 3 || i == 4);
	ck_assert_uint_eq(s.level[0], 100);
	ck_assert_uint_eq(s.level[3], 7);
	ck_assert_uint_eq(s.level[4], 2);
	ck_assert(!s.pressure_known);
}

TEST(all_zones_stall)
{
	struct stress_sample s;

	put("vmstat", "numa_hit 10\nnuma_miss 3\nallocstall_dma 1\n"
	    "allocstall_normal 2\nallocstall_movable 4\ncompact_stall 8\n");
	s = take();
	ck_assert_uint_eq(s.level[0], 13);
	ck_assert_uint_eq(s.level[3], 15);
	ck_assert(!s.known[4]);
}

TEST(requests_that_the_kernel_does_not_count_are_unknown)
{
	struct stress_sample s;

	put_vmstat(0, 7, 2);
	put("sys/vm/numa_stat", "0\n");
	s = take();
	ck_assert(!s.requests_known && !s.known[0] && s.known[3]);
	put("sys/vm/numa_stat", "1\n");
	put_vmstat(50, 8, 2);
	s = take();
	ck_assert(s.known[0]);
	ck_assert_uint_eq(s.level[0], 0);
	put_vmstat(60, 8, 2);
	s = take();
	ck_assert_uint_eq(s.level[0], 10);
}

TEST(pressure_is_both_totals)
{
	struct stress_sample s;

	put_vmstat(1, 0, 0);
	put("pressure/memory",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=856000\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=550000\n");
	s = take();
	ck_assert(s.pressure_known);
	ck_assert_uint_eq(s.some_us, 856000);
	ck_assert_uint_eq(s.full_us, 550000);
	put("pressure/memory", "some avg10=0.00 total=x\n");
	s = take();
	ck_assert(!s.pressure_known);
}

TEST(kswapd_is_seen_to_run)
{
	struct stress_sample base, s, spent;

	put("vmstat", "numa_hit 1\nnuma_miss 0\nallocstall 0\npageoutrun 7\n");
	base = take();
	put("vmstat", "numa_hit 1\nnuma_miss 0\nallocstall 0\npageoutrun 8\n");
	s = take();
	stress_spent(&spent, &s, &base);
	ck_assert(spent.kswapd_known);
	ck_assert_uint_eq(spent.kswapd_runs, 1);
	base = s;
	s = take();
	stress_spent(&spent, &s, &base);
	ck_assert_uint_eq(spent.kswapd_runs, 0);
}

/* --- what changes between two readings ------------------------------------------------------- */

TEST(a_counter_that_wavers_is_not_counted_twice)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	take();
	put_vmstat(990, 0, 0);
	s = take();
	ck_assert_uint_eq(s.level[0], 1000);
	ck_assert_uint_eq(s.backwards, 1);
	put_vmstat(1010, 0, 0);
	s = take();
	ck_assert_uint_eq(s.level[0], 1010);
}

TEST(a_counter_that_begins_again_goes_on)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	take();
	put_vmstat(3, 0, 0);
	take();
	put_vmstat(13, 0, 0);
	s = take();
	ck_assert_uint_eq(s.level[0], 1010);
	ck_assert_uint_eq(s.backwards, 1);
}

static const char *const reshaped[] = { "", "1 2 3 4 5\n", "1 2 3 4 5 6 7\n",
    "allocinfo - version: 1.0\n" };

LOOP_TEST(a_file_that_changes_shape_is_left_and_nothing_counts_twice, 0,
    NELEM(reshaped))
{
	struct stress_sample s;

	put_vmstat(1000, 50, 20);
	put("heapstress", "900 5 4 3 2 1\n");
	take();
	put("heapstress", reshaped[_i]);
	put_vmstat(2000, 60, 30);
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_uint_eq(s.changes, 1);
	ck_assert_uint_eq(s.level[0], 900);
	ck_assert_uint_eq(s.level[3], 3);
	ck_assert(!s.known[1]);
	ck_assert_str_ne(stress_why(stress), "");
	put("heapstress", "1 1 1 1 1 1\n");
	put_vmstat(2001, 61, 30);
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_uint_eq(s.level[0], 901);
	ck_assert_uint_eq(s.level[3], 4);
}

TEST(a_patched_kernel_that_loses_its_keys_is_left)
{
	struct stress_sample s;

	put("vmstat", "numa_hit 9\nnuma_miss 0\nallocstall 2\nheap_stress_1 5\n"
	    "heap_stress_2 4\nheap_stress_3 3\nheap_stress_4 2\n"
	    "heap_stress_5 1\nheap_stress_6 0\n");
	take();
	put_vmstat(19, 2, 0);
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_uint_eq(s.level[0], 5);
	ck_assert_uint_eq(s.changes, 1);
}

TEST(without_any_file_there_is_no_source)
{
	struct stress_sample s = take();

	ck_assert_int_eq(s.source, STRESS_NONE);
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		ck_assert(!s.known[i]);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "/proc/vmstat"));
	s = take();
	ck_assert_int_eq(s.source, STRESS_NONE);
}

TEST(counters_that_come_back_are_counted_from_then_on)
{
	struct stress_sample s;

	put_vmstat(1000, 10, 0);
	take();
	put_vmstat(1007, 11, 0);
	take();
	for (unsigned i = 0; i < 3; i++) {
		put("vmstat", "");
		s = take();
		ck_assert_int_eq(s.source, STRESS_NONE);
		ck_assert(!s.known[0]);
	}
	put_vmstat(5000, 90, 0);
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_uint_eq(s.level[0], 1007);
	ck_assert_uint_eq(s.changes, 1);
	put_vmstat(5001, 92, 0);
	s = take();
	ck_assert_uint_eq(s.level[0], 1008);
	ck_assert_uint_eq(s.level[3], 13);
	ck_assert_ptr_eq(strstr(strstr(stress_why(stress), "has none of") + 1,
	    "has none of"), NULL);
}

TEST(the_next_source_takes_over_where_the_file_may_not_be_read)
{
	struct stress_sample s;
	char path[128];

	if (geteuid() == 0)
		return;
	put_vmstat(100, 7, 2);
	put("allocinfo", "1 2 3 4 5 6\n");
	snprintf(path, sizeof path, "%s/proc/allocinfo", root);
	ck_assert_int_eq(chmod(path, 0), 0);
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "Permission denied"));
}

TEST(a_folder_in_place_of_the_file_is_said)
{
	struct stress_sample s;

	put_vmstat(100, 7, 2);
	put_file("proc/allocinfo/file", "");
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "Is a directory"));
}

/* --- other readers ----------------------------------------------------------------------------- */

TEST(another_reader_of_the_file_is_noticed)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put("heapstress", "900 50 0 0 0 0\n");
	take();
	put_vmstat(2000, 0, 0);
	put("heapstress", "960 40 0 0 0 0\n");
	s = take();
	ck_assert_uint_eq(s.stolen, 0);
	put_vmstat(3000, 0, 0);
	put("heapstress", "300 0 0 0 0 9\n");
	s = take();
	ck_assert_uint_eq(s.stolen, 700);
}

TEST(only_one_of_ours_reads_the_file)
{
	struct stress_sample s;
	struct stress *second;

	put_vmstat(1000, 0, 0);
	put("heapstress", "1 2 3 4 5 6\n");
	s = take();
	ck_assert_int_eq(stress_open(&second, root), 0);
	ck_assert_int_eq(stress_take(second, &s), 0);
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_ptr_nonnull(strstr(stress_why(second), "another pagek"));
	stress_close(second);
	s = take();
	ck_assert_int_eq(s.source, STRESS_FILE);
}

TEST(a_want_of_descriptors_passes)
{
	struct rlimit before;
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put("heapstress", "1 2 3 4 5 6\n");
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3,
	    before.rlim_max }), 0);
	ck_assert_int_eq(stress_take(stress, &s), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	s = take();
	ck_assert_int_eq(s.source, STRESS_FILE);
}

/* --- eBPF -------------------------------------------------------------------------------------- */

static void
put_ebpf(const char *text)
{
	put_file("ebpf/counts", text);
}

TEST(counts_of_ebpf_grow_from_those_of_its_first_reading)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put_ebpf("level_1 10\nlevel_2 2\nlevel_3 3\nlevel_4 4\nlevel_5 5\n"
	    "level_6 6\nfailed_1 4\nfailed_4 2\nmissed 0\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_EBPF);
	ck_assert_uint_eq(s.level[0], 10);
	put_ebpf("level_1 110\nlevel_2 2\nlevel_3 3\nlevel_4 5\nlevel_5 5\n"
	    "level_6 9\nfailed_1 4\nfailed_2 1\nfailed_4 4\nmissed 7\n");
	s = take();
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		ck_assert(s.known[i]);
	ck_assert_uint_eq(s.level[0], 110);
	ck_assert_uint_eq(s.level[3], 5);
	ck_assert_uint_eq(s.level[5], 9);
	ck_assert(s.split_known);
	ck_assert_uint_eq(s.failed[STRESS_FAILED_LARGE], 1);
	ck_assert_uint_eq(s.failed[STRESS_FAILED_NO_WAIT_LARGE], 4);
	ck_assert_uint_eq(s.missed, 7);
}

TEST(levels_that_ebpf_cannot_see_are_unknown)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put_ebpf("level_1 10\nlevel_4 4\nlevel_5 5\nlevel_6 6\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_EBPF);
	ck_assert(s.known[0] && !s.known[1] && !s.known[2] && s.known[3]);
	ck_assert_int_eq(stress_truth(&s, 4), STRESS_FAR_UNDER);
	ck_assert_int_eq(stress_truth(&s, 5), STRESS_EXACT);
}

TEST(counts_of_ebpf_that_go_down_are_said)
{
	put_vmstat(1000, 0, 0);
	put_ebpf("level_1 1000\n");
	take();
	put_ebpf("level_1 990\n");
	ck_assert_uint_eq(take().backwards, 1);
	put_ebpf("level_1 1010\n");
	ck_assert_uint_eq(take().level[0], 1010);
}

TEST(without_ebpf_the_next_source_goes_on_from_its_totals)
{
	struct stress_sample s, next;
	char path[128];

	put_vmstat(1000, 0, 0);
	put_ebpf("level_1 500\nlevel_2 40\n");
	s = take();
	snprintf(path, sizeof path, "%s/ebpf/counts", root);
	ck_assert_int_eq(unlink(path), 0);
	next = take();
	ck_assert_int_eq(next.source, STRESS_VMSTAT);
	ck_assert_uint_eq(next.level[0], s.level[0]);
	ck_assert_uint_eq(next.changes, 1);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "no eBPF any more"));
}

static const char *const no_helpers[] = { "/nowhere/pagek-levels", "/bin/false",
    "/bin/true" };

/* In place of the helper: what is none, or ends at once. */
LOOP_TEST(a_helper_that_does_not_answer_is_said_and_the_next_source_is_used, 0,
    NELEM(no_helpers))
{
	struct stress_sample s;
	struct stress *here;

	ck_assert_int_eq(stress_open(&here, "/"), 0);
	ck_assert_int_eq(stress_use_ebpf(here, no_helpers[_i], true), 0);
	ck_assert_int_eq(stress_take(here, &s), 0);
	ck_assert_int_gt(s.source, STRESS_EBPF);
	ck_assert_ptr_nonnull(strstr(stress_why(here), "no eBPF: "));
	stress_close(here);
}

/* --- perf counts of tracepoints ------------------------------------------------------------------ */

#define TRACEFS "sys/kernel/tracing/events/"

static const char format_of_6_1[] =
    "\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned int order;\toffset:16;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned long gfp_flags;\toffset:24;\tsize:8;\tsigned:0;\n"
    "print fmt: {(unsigned long)(( gfp_t)0x40u), \"__GFP_IO\"}, "
    "{(unsigned long)(( gfp_t)0x400u), \"__GFP_DIRECT_RECLAIM\"}, ...";
static const char format_of_6_18[] =
    "\tfield:unsigned long pfn;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned int order;\toffset:12;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned long gfp_flags;\toffset:16;\tsize:4;\tsigned:0;\n"
    "print fmt: {( unsigned long)(( gfp_t)((((1UL))) << (10))), "
    "\"__GFP_DIRECT_RECLAIM\"}";
static const char format_without_flags[] =
    "\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n";

static void
put_tracefs(const char *format)
{
	static const char *const events[] = { "kmem/mm_page_alloc",
	    "vmscan/mm_vmscan_wakeup_kswapd",
	    "vmscan/mm_vmscan_direct_reclaim_begin",
	    "compaction/mm_compaction_try_to_compact_pages", "oom/mark_victim",
	    "oom/reclaim_retry_zone" };
	char name[128], id[16];

	for (size_t i = 0; i < NELEM(events); i++) {
		snprintf(name, sizeof name, TRACEFS "%s/id", events[i]);
		snprintf(id, sizeof id, "%zu\n", i + 600);
		put_file(name, id);
	}
	put_file(TRACEFS "kmem/mm_page_alloc/format", format);
}

static void
put_processors(const char *online)
{
	put_file("sys/devices/system/cpu/online", online);
}

/* requests, each of the four failures, wakeups, reclaims, victims, retries */
static void
put_counts(int cpu, uint64_t requests, const uint64_t n[8])
{
	char name[32], text[512];

	snprintf(name, sizeof name, "perf/cpu%d", cpu);
	snprintf(text, sizeof text, "requests %" PRIu64 "\nfailed %" PRIu64
	    "\nfailed_large %" PRIu64 "\nfailed_no_wait %" PRIu64
	    "\nfailed_no_wait_large %" PRIu64 "\nwakeups %" PRIu64
	    "\nreclaims %" PRIu64 "\nvictims %" PRIu64 "\nretries %" PRIu64
	    "\ncompactions 1\n", requests, n[0], n[1], n[2], n[3], n[4], n[5],
	    n[6], n[7]);
	put_file(name, text);
}

#define COUNTS(cpu, requests, ...) \
	put_counts(cpu, requests, (const uint64_t[8]){ __VA_ARGS__ })

static const char *const formats[] = { format_of_6_1, format_of_6_18 };

LOOP_TEST(tracepoints_count_from_their_first_reading_on, 0, NELEM(formats))
{
	static const bool known[] = { true, true, false, true, true, true };
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put_tracefs(formats[_i]);
	put_processors("0-1\n");
	COUNTS(0, 500, 1, 1, 1, 1, 1, 1, 1, 1);
	COUNTS(1, 0);
	s = take();
	ck_assert_int_eq(s.source, STRESS_EVENTS);
	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		ck_assert_int_eq(s.known[i], known[i]);
		ck_assert_uint_eq(s.level[i], 0);
	}
	COUNTS(0, 600, 2, 1, 1, 1, 4, 6, 2, 2);
	COUNTS(1, 100, 0, 20, 3, 4);
	s = take();
	ck_assert_uint_eq(s.level[1], 3);
	ck_assert_uint_eq(s.level[3], 5);
	ck_assert_uint_eq(s.level[4], 1);
	ck_assert_uint_eq(s.level[5], 28);
	ck_assert_uint_eq(s.level[0], 200 - 3 - 5 - 1 - 28);
	ck_assert(s.split_known);
	ck_assert_uint_eq(s.failed[STRESS_FAILED], 1);
	ck_assert_uint_eq(s.failed[STRESS_FAILED_LARGE], 20);
	ck_assert_uint_eq(s.failed[STRESS_FAILED_NO_WAIT], 3);
	ck_assert_uint_eq(s.failed[STRESS_FAILED_NO_WAIT_LARGE], 4);
}

TEST(failures_are_not_split_where_the_flags_are_not_told)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put_tracefs(format_without_flags);
	put_processors("0\n");
	put_file("perf/cpu0", "requests 0\nall_failed 0\n");
	take();
	put_file("perf/cpu0", "requests 10\nall_failed 7\n");
	s = take();
	ck_assert(s.known[5] && !s.split_known);
	ck_assert_uint_eq(s.level[5], 7);
	ck_assert_uint_eq(s.level[0], 3);
}

TEST(a_kernel_that_does_not_tell_page_numbers_has_no_count_of_failures)
{
	struct stress_sample s;

	put_tracefs("\tfield:struct page *page;\tsize:8;\n");
	put_processors("0\n");
	put_file("perf/cpu0", "requests 0\n");
	s = take();
	ck_assert_int_eq(s.source, STRESS_EVENTS);
	ck_assert(s.known[0] && !s.known[5]);
}

TEST(processors_go_off_and_come_on_line)
{
	struct stress_sample s;

	put_vmstat(1000, 0, 0);
	put_tracefs(format_of_6_1);
	put_processors("0-1,3\n");
	COUNTS(0, 0);
	COUNTS(1, 0);
	COUNTS(3, 0);
	take();
	COUNTS(1, 30);
	COUNTS(3, 500);
	put_processors("0-1\n");
	s = take();
	ck_assert_uint_eq(s.level[0], 530);
	ck_assert_str_eq(strstr(stress_why(stress), "came on line") == NULL ? "" :
	    "said", "");
	COUNTS(3, 100);
	put_processors("0-3\n");
	COUNTS(2, 7);
	s = take();
	ck_assert_int_eq(s.source, STRESS_EVENTS);
	ck_assert_uint_ge(s.level[0], 530);
	ck_assert_uint_eq(s.backwards, 0);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "came on line"));
	COUNTS(0, 40);
	ck_assert_uint_eq(take().level[0] - s.level[0], 40);
}

TEST(counts_of_a_tracepoint_that_go_down_are_said)
{
	struct stress_sample s;

	put_tracefs(format_of_6_1);
	put_processors("0\n");
	COUNTS(0, 1000);
	take();
	COUNTS(0, 990);
	s = take();
	ck_assert_uint_eq(s.level[0], 0);
	ck_assert_uint_eq(s.backwards, 1);
	COUNTS(0, UINT64_MAX);
	s = take();
	ck_assert_uint_eq(s.level[0], UINT64_MAX - 1000);
}

static void
hide_nothing(void)
{
	put_tracefs(format_of_6_1);
	put_processors("0\n");
}

static void
refuse_perf(void)
{
	hide_nothing();
}

static void
hide_tracefs(void)
{
	put_processors("0\n");
	COUNTS(0, 1);
}

static void
hide_processors(void)
{
	put_tracefs(format_of_6_1);
	COUNTS(0, 1);
}

static void
break_the_number(void)
{
	hide_nothing();
	COUNTS(0, 1);
	put_file(TRACEFS "kmem/mm_page_alloc/id", "x\n");
}

static const struct {
	void (*prepare)(void);
	const char *why;
} refusals[] = {
	{ refuse_perf, "perf" },
	{ hide_tracefs, "kmem/mm_page_alloc/id: No such file" },
	{ hide_processors, "No such file" },
	{ break_the_number, "mm_page_alloc/id: Invalid argument" },
};

LOOP_TEST(the_next_source_takes_over_without_tracepoints, 0, NELEM(refusals))
{
	struct stress_sample s;

	put_vmstat(100, 7, 2);
	refusals[_i].prepare();
	s = take();
	ck_assert_int_eq(s.source, STRESS_VMSTAT);
	ck_assert_msg(strstr(stress_why(stress), refusals[_i].why) != NULL, "%s",
	    stress_why(stress));
}

TEST(totals_since_the_boot_are_not_of_tracepoints)
{
	put_vmstat(100, 7, 2);
	hide_nothing();
	COUNTS(0, 50);
	stress_want_boot(stress);
	ck_assert_int_eq(take().source, STRESS_VMSTAT);
	ck_assert_ptr_nonnull(strstr(stress_why(stress), "no totals"));
}

/* --- control groups -------------------------------------------------------------------------------- */

TEST(kills_for_a_limit_are_no_level_where_no_request_tried_again)
{
	struct stress_sample s;

	hide_nothing();
	COUNTS(0, 0);
	take();
	COUNTS(0, 100, 0, 0, 0, 0, 0, 0, 3, 0);
	s = take();
	ck_assert_uint_eq(s.level[4], 0);
	ck_assert_uint_eq(s.limit_kills, 3);
	COUNTS(0, 100, 0, 0, 0, 0, 0, 0, 4, 9);
	COUNTS(0, 100, 0, 0, 0, 0, 0, 0, 4, 9);
	ck_assert_uint_eq(take().level[4], 1);
	COUNTS(0, 100, 0, 0, 0, 0, 0, 0, 5, 9);	/* it tried just before */
	ck_assert_uint_eq(take().level[4], 2);
	COUNTS(0, 100, 0, 0, 0, 0, 0, 0, 6, 9);
	s = take();
	ck_assert_uint_eq(s.level[4], 2);
	ck_assert_uint_eq(s.limit_kills, 4);
}

TEST(kills_for_a_limit_are_no_level_where_no_request_stalled)
{
	struct stress_sample s;

	put_vmstat(100, 0, 2);
	s = take();
	ck_assert_uint_eq(s.level[4], 0);
	ck_assert_uint_eq(s.limit_kills, 2);
	put_vmstat(100, 9, 3);
	ck_assert_uint_eq(take().level[4], 1);
	put_vmstat(100, 9, 3);
	take();
	put_vmstat(100, 9, 4);
	s = take();
	ck_assert_uint_eq(s.level[4], 1);
	ck_assert_uint_eq(s.limit_kills, 3);
}

/* A reader that is opened when the files are there. */
static struct stress_sample
take_again(void)
{
	stress_close(stress);
	ck_assert_int_eq(stress_open(&stress, root), 0);
	return take();
}

#define MEMORY1 "sys/fs/cgroup/memory/a/b/"
#define MEMORY2 "sys/fs/cgroup/a/b/"

TEST(a_group_of_version_1_has_its_row)
{
	struct stress_sample s;

	put("self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/y\n");
	put_file(MEMORY1 "cgroup.procs", "");
	put_file(MEMORY1 "memory.failcnt", "462\n");
	put_file(MEMORY1 "memory.oom_control",
	    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	s = take_again();
	ck_assert_str_eq(stress_group(stress), "/a/b");
	for (size_t i = 0; i < STRESS_CHARGES; i++)
		ck_assert_int_eq(s.charge.known[i], i == STRESS_CHARGE_FAILCNT ||
		    i == STRESS_CHARGE_OOM_KILL);
	ck_assert_uint_eq(s.charge.n[STRESS_CHARGE_FAILCNT], 462);
	ck_assert_uint_eq(s.charge.n[STRESS_CHARGE_OOM_KILL], 1);
}

TEST(a_group_of_version_2_has_its_row)
{
	static const uint64_t want[STRESS_CHARGES] = {
		[STRESS_CHARGE_HIGH] = 2, [STRESS_CHARGE_MAX] = 3,
		[STRESS_CHARGE_OOM] = 4, [STRESS_CHARGE_OOM_KILL] = 5,
		[STRESS_CHARGE_SCANNED] = UINT64_MAX, [STRESS_CHARGE_SOME] = 70,
		[STRESS_CHARGE_FULL] = 60,
	};
	struct stress_sample s;

	put("self/cgroup", "0::/a/b\n");
	put_file(MEMORY2 "cgroup.procs", "");
	put_file(MEMORY2 "memory.events", "low 1\nhigh 2\nmax 3\noom 4\n"
	    "oom_kill 5\noom_group_kill 0\n");
	put_file(MEMORY2 "memory.stat", "anon 1\npgscan_direct "
	    "18446744073709551615\npgsteal_direct 18446744073709551616\n");
	put_file(MEMORY2 "memory.pressure", "some avg10=0.00 total=70\n"
	    "full avg10=0.00 total=60\n");
	s = take_again();
	for (size_t i = 0; i < STRESS_CHARGES; i++) {
		ck_assert_int_eq(s.charge.known[i],
		    i != STRESS_CHARGE_FAILCNT && i != STRESS_CHARGE_STOLEN);
		if (s.charge.known[i])
			ck_assert_uint_eq(s.charge.n[i], want[i]);
	}
}

static const char *const no_groups[] = { "", "4:memory\n", "4:memory:/../..\n",
    "4:memory:relative\n", "4:cpu:/a\n", "4:memoryless:/a\n" };

LOOP_TEST(a_process_without_a_group_of_memory_has_no_row, 0, NELEM(no_groups))
{
	struct stress_sample s;

	put("self/cgroup", no_groups[_i]);
	put_file("sys/fs/cgroup/memory.events", "high 2\n");
	put_file("sys/fs/cgroup/memory/memory.failcnt", "2\n");
	s = take_again();
	ck_assert_str_eq(stress_group(stress), "");
	for (size_t i = 0; i < STRESS_CHARGES; i++)
		ck_assert(!s.charge.known[i]);
}

TEST(in_a_container_the_group_is_the_root_of_what_is_seen)
{
	struct stress_sample s;

	put("self/cgroup", "4:memory:/docker/1234\n");
	put_file("sys/fs/cgroup/memory/cgroup.procs", "");
	put_file("sys/fs/cgroup/memory/memory.failcnt", "9\n");
	s = take_again();
	ck_assert(s.charge.known[STRESS_CHARGE_FAILCNT]);
	ck_assert_uint_eq(s.charge.n[STRESS_CHARGE_FAILCNT], 9);
}

/* --- to be woken -------------------------------------------------------------------------------------- */

TEST(the_kernel_is_asked_to_wake_us_and_a_refusal_has_a_reason)
{
	const char *why = NULL;
	char text[64] = "";
	int fd;

	fd = stress_watch_pressure(root, false, 150000, 1000000, &why);
	ck_assert_int_eq(fd, -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "does not measure pressure"));
	put("pressure/memory", "");
	fd = stress_watch_pressure(root, true, 150000, 1000000, &why);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, text, sizeof text, 0),
	    sizeof "full 150000 1000000");
	ck_assert_str_eq(text, "full 150000 1000000");
	close(fd);
}

TEST(this_kernel_wakes_us_or_says_why_not)
{
	const char *why = NULL;
	int fd = stress_watch_pressure("/", false, 100000, 2000000, &why);
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	if (fd < 0) {
		ck_assert_str_ne(why, "");
		return;
	}
	ck_assert_int_ge(poll(&p, 1, 0), 0);
	ck_assert_int_eq(p.revents & POLLERR, 0);
	close(fd);
	fd = stress_watch_pressure("/", false, 100000, 1, &why);
	ck_assert_int_eq(fd, -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "window"));
}

/* --- this kernel --------------------------------------------------------------------------------- */

TEST(touched_pages_are_requests)
{
	size_t pages = 4096, bytes = pages * 4096;
	struct stress_sample before, after;
	struct stress *s;
	char *p;

	ck_assert_int_eq(stress_open(&s, "/"), 0);
	ck_assert_int_eq(stress_take(s, &before), 0);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 1;
	ck_assert_int_eq(stress_take(s, &after), 0);
	munmap(p, bytes);
	ck_assert_str_ne(stress_kernel(s), "");
	if (before.known[0] && after.known[0])
		ck_assert_uint_ge(after.level[0] - before.level[0], pages);
	stress_close(s);
}

/* --- samples as bytes, and of several readers ---------------------------------------------- */

/* Each number is another one. */
static struct stress_sample
some_sample(enum stress_source source, uint64_t from)
{
	struct stress_sample s = { .source = source, .requests_known = true,
		.requests = from + 7, .pressure_known = true,
		.some_us = from + 8, .full_us = from + 9, .kswapd_known = true,
		.kswapd_runs = from + 10, .stolen = from + 11,
		.missed = from + 12, .backwards = from + 13 };

	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		s.known[i] = true;
		s.level[i] = from + 1 + i;
	}
	return s;
}

static bool
is_same(const struct stress_sample *a, const struct stress_sample *b)
{
	uint8_t x[STRESS_PACKED_MAX], y[STRESS_PACKED_MAX];
	size_t n = stress_put(x, a);

	return n == stress_put(y, b) && memcmp(x, y, n) == 0;
}

static const uint64_t froms[] = { 0, 127, 1u << 20, UINT64_MAX - 13 };

LOOP_TEST(a_sample_comes_back_from_its_bytes, 0, NELEM(froms))
{
	struct stress_sample s = some_sample(STRESS_FILE, froms[_i]), got;
	uint8_t bytes[STRESS_PACKED_MAX];
	size_t len;

	s.known[4] = s.kswapd_known = false;
	len = stress_put(bytes, &s);
	ck_assert_int_eq(stress_get(&got, bytes, len), 0);
	ck_assert(is_same(&s, &got));
	ck_assert(!got.known[4] && got.known[5] && !got.kswapd_known);
	ck_assert_uint_eq(got.level[5], s.level[5]);
	ck_assert_uint_eq(got.full_us, s.full_us);
	ck_assert_uint_eq(got.missed, s.missed);
	/* Cut in a pair it is refused, and untouched. */
	s = got;
	ck_assert_int_eq(stress_get(&got, bytes, len - 1), -EBADMSG);
	ck_assert(is_same(&s, &got));
}

TEST(keys_to_come_are_skipped_and_half_a_pair_is_unknown)
{
	static const uint8_t bytes[] = "\6vmstat\1\5\x3f\x81\1\x80\1\2\10\3";
	struct stress_sample s;

	ck_assert_int_eq(stress_get(&s, bytes, sizeof bytes - 1), 0);
	ck_assert_uint_eq(s.source, STRESS_VMSTAT);
	ck_assert(s.known[0]);
	ck_assert_uint_eq(s.level[0], 5);
	ck_assert(!s.known[1] && !s.pressure_known);
}

TEST(what_was_spent_is_known_if_both_samples_know_it)
{
	struct stress_sample base = some_sample(STRESS_VMSTAT, 100),
		now = some_sample(STRESS_VMSTAT, 1100), spent;

	base.known[2] = base.pressure_known = now.known[3] = false;
	now.level[4] = 3;
	stress_spent(&spent, &now, &base);
	ck_assert(spent.known[0] && !spent.known[2] && !spent.known[3]);
	ck_assert(!spent.pressure_known && spent.requests_known);
	ck_assert_uint_eq(spent.level[0], 1000);
	ck_assert_uint_eq(spent.level[4], 0);
	ck_assert_uint_eq(spent.requests, 1000);
	/* With another source the totals go on from the last ones. */
	now.source = STRESS_FILE;
	stress_spent(&spent, &now, &base);
	ck_assert(spent.known[2]);
	ck_assert_uint_eq(spent.level[2], 1000);
}

static const struct {
	enum stress_source source;
	uint64_t from;			/* of the new reader's first sample */
	uint64_t level;			/* level 1 in the series */
	uint64_t changes;
} nexts[] = {
	{ STRESS_VMSTAT, 1500, 1501, 0 },	/* the same boot */
	{ STRESS_VMSTAT, 400, 1001, 1 },	/* another one */
	{ STRESS_FILE, 2000, 1001, 1 },
	{ STRESS_NONE, 2000, 1001, 1 },
};

LOOP_TEST(another_reader_goes_on_with_the_totals, 0, NELEM(nexts))
{
	struct stress_series series = { 0 };
	struct stress_sample s = some_sample(STRESS_VMSTAT, 1000);

	stress_continue(&series, &s, 1);
	ck_assert_uint_eq(s.level[0], 1001);
	s = some_sample(nexts[_i].source, nexts[_i].from);
	stress_continue(&series, &s, 2);
	ck_assert_uint_eq(s.level[0], nexts[_i].level);
	ck_assert_uint_eq(s.changes, nexts[_i].changes);
	s = some_sample(nexts[_i].source, nexts[_i].from + 50);
	stress_continue(&series, &s, 2);
	ck_assert_uint_eq(s.level[0], nexts[_i].level + 50);
	ck_assert_uint_eq(s.changes, nexts[_i].changes);
}

/* A counter that wavers does not grow by that. */
TEST(one_reader_is_shown_as_it_reads)
{
	struct stress_series series = { 0 };
	struct stress_sample s;

	for (unsigned i = 0; i < 20; i++) {
		s = some_sample(STRESS_VMSTAT, 1000 + i % 2);
		stress_continue(&series, &s, 1);
		ck_assert_uint_eq(s.requests, 1007 + i % 2);
	}
}

static void
touch(size_t pages)
{
	size_t bytes = pages * 4096;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 1;
	munmap(p, bytes);
}

/* Mounts tracefs for this test alone if it is not mounted. */
static void
see_tracepoints(void)
{
	if (access("/sys/kernel/tracing/events", F_OK) < 0 &&
	    unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		(void)mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
}

/* A table of pages, which has 512 of them, is a request too. */
LOOP_TEST(a_counter_of_a_process_sees_its_touched_pages_alone, 1, 4)
{
	size_t pages = 4096 * (size_t)_i;
	struct stress_sample before, after;
	struct stress *s;
	int err;

	see_tracepoints();
	ck_assert_int_eq(stress_open(&s, "/"), 0);
	err = stress_of_process(s, getpid(), false);
	/* An emulator has no perf. */
	if (err == -EACCES || err == -EPERM || err == -ENOENT ||
	    err == -ENOSYS) {
		ck_assert_str_ne(stress_why(s), "");
		stress_close(s);
		return;
	}
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(stress_take(s, &before), 0);
	touch(pages);
	ck_assert_int_eq(stress_take(s, &after), 0);
	ck_assert_int_eq(after.source, STRESS_EVENTS);
	ck_assert(after.known[0] && after.requests_known && !after.known[2]);
	ck_assert_uint_ge(after.requests - before.requests, pages);
#ifndef SANITIZED
	/* A sanitizer touches pages of its own. */
	ck_assert_uint_le(after.requests - before.requests, pages + 64);
#endif
	ck_assert(!after.pressure_known);
	stress_close(s);
}

static void *
touch_elsewhere(void *pages)
{
	touch(*(size_t *)pages);
	return NULL;
}

TEST(a_counter_of_a_process_follows_threads_that_it_starts)
{
	struct stress_sample before, after;
	size_t pages = 4096;
	struct stress *s;
	pthread_t t;

	see_tracepoints();
	ck_assert_int_eq(stress_open(&s, "/"), 0);
	if (stress_of_process(s, getpid(), false) < 0) {
		stress_close(s);
		return;
	}
	ck_assert_int_eq(stress_take(s, &before), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, touch_elsewhere, &pages), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(stress_take(s, &after), 0);
	ck_assert_uint_ge(after.requests - before.requests, pages);
	stress_close(s);
}

TEST(a_process_that_is_gone_is_said)
{
	struct stress *s;
	int err;

	ck_assert_int_eq(stress_open(&s, "/"), 0);
	err = stress_of_process(s, INT_MAX, false);
	ck_assert_int_lt(err, 0);
	ck_assert_str_ne(stress_why(s), "");
	stress_close(s);
}

/* --- eBPF of this machine ------------------------------------------------------------------------ */

/* The helper of this build; false where it is not, or has no right. */
static bool
open_ebpf(struct stress **here, struct stress_sample *s)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	ck_assert_int_gt(n, 0);
	path[n] = '\0';
	for (int i = 0; i < 2; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/pagek-levels");
	ck_assert_int_eq(stress_open(here, "/"), 0);
	ck_assert_int_eq(stress_use_ebpf(*here, path, true), 0);
	ck_assert_int_eq(stress_take(*here, s), 0);
	return s->source == STRESS_EBPF;
}

TEST(ebpf_counts_the_requests_for_touched_pages)
{
	struct stress_sample before, after;
	size_t pages = 4096;
	struct stress *here;

	if (open_ebpf(&here, &before)) {
		touch_elsewhere(&pages);
		ck_assert_int_eq(stress_take(here, &after), 0);
		ck_assert_int_eq(after.source, STRESS_EBPF);
		ck_assert_uint_ge(after.level[0] + after.level[1] +
		    after.level[2] + after.level[3] - before.level[0] -
		    before.level[1] - before.level[2] - before.level[3], pages);
	}
	stress_close(here);
}

TEST(ebpf_hides_no_event_from_perf)
{
	struct stress_sample s, before, after;
	struct stress *here, *perf;
	size_t pages = 4096;
	bool both;

	see_tracepoints();
	both = open_ebpf(&here, &s);
	ck_assert_int_eq(stress_open(&perf, "/"), 0);
	if (both && stress_of_process(perf, getpid(), false) == 0) {
		ck_assert_int_eq(stress_take(perf, &before), 0);
		touch_elsewhere(&pages);
		ck_assert_int_eq(stress_take(perf, &after), 0);
		ck_assert_uint_ge(after.requests - before.requests, pages);
		ck_assert_int_eq(stress_take(here, &s), 0);
		ck_assert_int_eq(s.source, STRESS_EBPF);
	}
	stress_close(perf);
	stress_close(here);
}

TEST(a_helper_that_is_killed_is_said_and_nothing_counts_twice)
{
	struct stress_sample before, after;
	struct stress *here;
	char task[64], children[64] = "";
	FILE *f;

	if (open_ebpf(&here, &before)) {
		snprintf(task, sizeof task, "/proc/self/task/%d/children", getpid());
		f = fopen(task, "r");
		if (f != NULL && fgets(children, sizeof children, f) != NULL) {
			kill((pid_t)atoi(children), SIGKILL);
			waitpid((pid_t)atoi(children), NULL, 0);
			ck_assert_int_eq(stress_take(here, &after), 0);
			ck_assert_int_gt(after.source, STRESS_EBPF);
			ck_assert_uint_eq(after.level[5], before.level[5]);
			ck_assert_ptr_nonnull(strstr(stress_why(here),
			    "pagek-levels has ended"));
		}
		if (f != NULL)
			fclose(f);
	}
	stress_close(here);
}

/* --- memory of the kernel itself ---------------------------------------------------- */

CASE("memory of the kernel", .setup = make_root, .teardown = remove_root);

TEST(rows_are_printed_largest_first_and_parsed_back)
{
	char why[STRESS_WHY], lines[256];
	struct stress_memory m, again;
	const struct stress_site *s;
	size_t len;

	put_file("proc/allocinfo", "allocinfo - version: 1.0\n# head\n"
	    "4096 1 mm/a.c:1 func:f\n-8192 2 mm/b.c:2 func:g accurate:no\n"
	    "12288 3 c.c:3 [mod] func:h extra\nno row\n");
	ck_assert_int_eq(stress_read_memory(&m, STRESS_BY_SITE, root, why), 0);
	ck_assert_uint_eq(m.n, 3);
	ck_assert_uint_eq(m.bytes, 16384);
	ck_assert_uint_eq(m.bad, 1);
	stress_sort_memory(&m, STRESS_LARGEST);
	len = stress_print_memory(&m, lines, sizeof lines);
	ck_assert_int_eq(stress_parse_memory(&again, STRESS_BY_SITE, lines, len), 0);
	ck_assert_uint_eq(again.n, 3);
	ck_assert_uint_eq(again.bad, 0);
	ck_assert_str_eq(again.version, "1.0");
	s = again.row;
	ck_assert_int_eq(s[0].bytes, 12288);
	ck_assert_str_eq(s[0].module, "mod");
	ck_assert_str_eq(s[1].file, "mm/a.c");
	ck_assert_int_eq(s[2].bytes, -8192);
	ck_assert(!s[2].accurate);
	ck_assert_ptr_eq(stress_find_memory(&again, &s[1]), &s[1]);
	stress_free_memory(&again);
	/* A row that does not fit completely is left out. */
	len = stress_print_memory(&m, lines, len);
	ck_assert_int_eq(stress_parse_memory(&again, STRESS_BY_SITE, lines, len), 0);
	ck_assert_uint_eq(again.n, 2);
	stress_free_memory(&again);
	ck_assert_int_eq(stress_parse_memory(&again, STRESS_BY_SITE, "a\0b", 3),
	    -EBADMSG);
	stress_free_memory(&m);
}

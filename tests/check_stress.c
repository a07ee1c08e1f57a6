/*
 * stress: the six levels from copies of the kernel's files, and from the kernel
 * that runs.
 */
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/stress/stress.h"
#include "harness.h"

#define NELEM BASE_NELEM

static char root[64];
static struct stress *stress;

/* --- a folder of files ----------------------------------------------------------------- */

static void
make_folder(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", root, name);
	ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
}

static void
start(void)
{
	strcpy(root, "/tmp/check_stress.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	make_folder("proc");
	make_folder("proc/pressure");
	make_folder("proc/sys");
	make_folder("proc/sys/vm");
	make_folder("proc/sys/kernel");
	ck_assert_int_eq(stress_open(&stress, root), 0);
}

static int
drop(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	(void)st;
	(void)what;
	(void)ftw;
	return remove(path);
}

static void
stop(void)
{
	stress_close(stress);
	nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void
put(const char *name, const char *text)
{
	char path[128];
	FILE *fp;

	snprintf(path, sizeof path, "%s/proc/%s", root, name);
	fp = fopen(path, "w");
	ck_assert_ptr_nonnull(fp);
	fputs(text, fp);
	ck_assert_int_eq(fclose(fp), 0);
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
	make_folder("proc/allocinfo");
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
	/* Of another source the totals go on from the last ones. */
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

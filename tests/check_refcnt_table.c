/*
 * refcnt: the mapped files, from their writer to the library that reads them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/refcnt/pk_refcnt.h"
#include "../src/refcnt/rcb.h"
#include "../src/refcnt/refcnt.h"
#include "chance.h"
#include "harness.h"
#include "kernel_files.h"

#define NELEM BASE_NELEM
#define PAGE ((uint64_t)REFCNT_PAGE)
#define BASE UINT64_C(0x40000)
#define PID 4711

static char folder[128], why[REFCNT_WHY];
static struct refcnt_topology *topology;
static struct refcnt *counts;
static struct refcnt_table *table;

static void
make_table(long pid, unsigned nodes)
{
	struct refcnt_table_options o = { .folder = folder,
	    .topology = topology, .pid = pid, .diff_threshold = 100,
	    .abs_threshold = 1000 };

	topology->nodes = nodes;
	ck_assert_int_eq(refcnt_new(&counts, nodes, REFCNT_STANDARD), 0);
	ck_assert_int_eq(refcnt_table_new(&table, &o), 0);
}

static void
start(void)
{
	make_root();
	snprintf(folder, sizeof folder, "%s/pagek/refcnt", root);
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", root, 1), 0);
	topology = calloc(1, sizeof *topology);
	ck_assert_ptr_nonnull(topology);
	topology->base_page = 4096;
	topology->node[0].bytes = 64 << 20;
	topology->node[1].bytes = 32 << 20;
	counts = NULL;
	table = NULL;
}

static void
stop(void)
{
	refcnt_table_free(table);
	refcnt_free(counts);
	refcnt_topology_free(topology);
	remove_root();
}

static void
write_table(void)
{
	ck_assert_msg(refcnt_table_write(table, counts, why) == 0, "%s", why);
}

static void
path_of(char path[256], long pid, unsigned node)
{
	if (pid == 0)
		snprintf(path, 256, "%s/refcnt.node%u", folder, node);
	else
		snprintf(path, 256, "%s/%ld/refcnt.node%u", folder, pid, node);
}

static pk_rcb *
map(long pid, unsigned node)
{
	char path[256];
	pk_rcb *r = NULL;

	path_of(path, pid, node);
	ck_assert_msg(pk_rcb_map(&r, path) == 0, "%s", pk_refcnt_why());
	return r;
}

/* --- the file -------------------------------------------------------------------- */

CASE("file", .setup = start, .teardown = stop, .seconds = 60);

/* Three pages of two ranges, two of them with their home on node 1. */
static void
write_known(void)
{
	make_table(PID, 2);
	refcnt_enable(counts, BASE, 2 * PAGE, REFCNT_IMPORT, 1);
	refcnt_enable(counts, BASE + 16 * PAGE, PAGE, REFCNT_REFS, 1);
	refcnt_place(counts, BASE, 0, PAGE, 0, REFCNT_NO_PADDR);
	refcnt_place(counts, BASE + PAGE, 0, UINT64_C(2) << 20, 1,
	    REFCNT_NO_PADDR | REFCNT_COARSE);
	refcnt_count(counts, BASE, 0, 5000, 7, 2);
	refcnt_count(counts, BASE, 1, 3, 0, 2);
	refcnt_count(counts, BASE + PAGE, 1, UINT64_C(1) << 33, 0, 2);
	refcnt_count(counts, BASE + 16 * PAGE, 1, 1, 0, 2);
	write_table();
}

/* It has executed another program, whose files have the same names. */
TEST(the_files_of_an_ended_image_take_none_of_the_next_one_with_them)
{
	struct refcnt_table *old;
	pk_rcb_info_t info;
	pk_rcb *r;

	write_known();
	old = table;
	ck_assert_int_eq(refcnt_table_new(&table, &(struct refcnt_table_options){
	    .folder = folder, .topology = topology, .pid = PID }), 0);
	write_table();
	refcnt_table_free(old);
	write_table();
	r = map(PID, 0);
	pk_rcb_info(r, &info);
	ck_assert_int_eq(info.ended, 0);
	ck_assert_uint_eq(info.periods, 2);
	pk_rcb_unmap(r);
}

/* --- writers that were killed ------------------------------------------------------ */

static bool
exists(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* As by a node that is killed then, of that target. */
static void
write_and_die(long pid)
{
	pid_t writer = fork();
	int status;

	if (writer == 0) {
		make_table(pid, 2);
		refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
		refcnt_count(counts, BASE, 0, 7, 0, 2);
		if (refcnt_table_write(table, counts, why) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(writer, &status, 0), writer);
	ck_assert(WIFSIGNALED(status));
}

static void
make_empty(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

TEST(the_file_of_a_killed_writer_has_ended)
{
	pk_rcb_info_t info;
	pk_rcb *r;

	write_and_die(PID);
	r = map(PID, 0);
	pk_rcb_info(r, &info);
	ck_assert_int_ne(info.ended, 0);
	pk_rcb_unmap(r);
}

TEST(files_of_killed_writers_are_removed_and_no_others)
{
	char path[256], other[256];

	write_known();
	write_and_die(PID + 1);
	write_and_die(PID + 2);
	make_empty("4713/.refcnt.node1");
	make_empty("4713/notes");
	make_empty("refcnt.node0");
	make_empty("refcnt.node0x");
	make_empty("notes");
	snprintf(path, sizeof path, "%s/4714", folder);
	snprintf(other, sizeof other, "%s/4713", folder);
	ck_assert_int_eq(symlink(other, path), 0);
	refcnt_table_remove_dead(folder, NULL, NULL);
	ck_assert(exists("4711/refcnt.node0"));
	ck_assert(exists("4711/refcnt.node1"));
	ck_assert(!exists("4712"));
	ck_assert(!exists("4713/refcnt.node0"));
	ck_assert(exists("4713/notes"));
	ck_assert(exists("4714"));
	ck_assert(!exists("refcnt.node0"));
	ck_assert(exists("refcnt.node0x"));
	ck_assert(exists("notes"));
	refcnt_table_remove_dead("/nonexistent", NULL, NULL);
}

struct told {
	unsigned n;
	struct refcnt_dead last;
};

static void
note_dead(void *arg, const struct refcnt_dead *dead)
{
	struct told *told = arg;

	told->n++;
	told->last = *dead;
}

/* Whose counting ended, and when, is in no other place after a kill. */
TEST(a_file_of_a_killed_writer_says_whose_it_was_and_its_last_period)
{
	struct told told = { 0 };
	int64_t before = base_wall_ms() - 1000;
	char path[256];
	FILE *f;

	write_known();
	write_and_die(PID + 1);
	make_empty("4712/refcnt.node7");
	snprintf(path, sizeof path, "%s/4712/refcnt.node8", folder);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (unsigned i = 0; i < 4096; i++)
		fputc("pkrefcnt"[i % 8], f);
	fclose(f);
	refcnt_table_remove_dead(folder, note_dead, &told);
	ck_assert_uint_eq(told.n, 1);
	ck_assert_int_eq(told.last.pid, PID + 1);
	ck_assert_int_ge(told.last.wall_ms, before);
	ck_assert_int_le(told.last.wall_ms, base_wall_ms() + 1000);
}

/* It may be about to be shown. */
TEST(a_hidden_file_stays_while_its_process_lives)
{
	char name[64];

	write_and_die(getpid());
	snprintf(name, sizeof name, "%d/.refcnt.node3", (int)getpid());
	make_empty(name);
	refcnt_table_remove_dead(folder, NULL, NULL);
	ck_assert(exists(name));
	snprintf(name, sizeof name, "%d/refcnt.node0", (int)getpid());
	ck_assert(!exists(name));
}

/* Lines of 16 bytes that are not all zeros, with their offsets. */
static void
print_file(FILE *out, long pid, unsigned node)
{
	uint8_t line[16], zeros[16] = { 0 };
	char path[256];
	FILE *fp;

	path_of(path, pid, node);
	fp = fopen(path, "rb");
	ck_assert_ptr_nonnull(fp);
	fprintf(out, "refcnt.node%u\n", node);
	for (unsigned at = 0; fread(line, sizeof line, 1, fp) == 1;
	    at += (unsigned)sizeof line) {
		if (memcmp(line, zeros, sizeof line) == 0)
			continue;
		fprintf(out, "%05x:", at);
		for (size_t i = 0; i < sizeof line; i++)
			fprintf(out, " %02x", line[i]);
		fprintf(out, "\n");
	}
	ck_assert_int_eq(ftell(fp) % REFCNT_PAGE, 0);
	fclose(fp);
}

TEST(bytes_are_those_of_the_golden_file)
{
	const char *mode = getenv("PAGEK_GOLDEN"), *name = "tests/golden/refcnt.ok";
	char *text = NULL, *want = NULL;
	size_t len, want_len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	write_known();
	print_file(out, PID, 0);
	print_file(out, PID, 1);
	fclose(out);
	if (mode != NULL && strcmp(mode, "write") == 0)
		ck_assert_int_eq(base_file_replace(name, text, len, 0644), 0);
	ck_assert_int_eq(base_file_read(name, 1 << 20, &want, &want_len), 0);
	ck_assert_str_eq(text, want);
	free(text);
	free(want);
}

TEST(the_head_is_that_of_the_note)
{
	pk_rcb_info_t i;
	pk_rcb_slot_t s;
	pk_rcb *r;

	write_known();
	r = map(PID, 1);
	pk_rcb_info(r, &i);
	ck_assert_int_eq(i.rcb_sw_sets, 3);
	ck_assert_int_eq(i.rcb_sw_counters_per_set, 2);
	ck_assert_int_eq(i.rcb_sw_counter_size, sizeof(pk_refcnt_t));
	ck_assert_int_eq(i.rcb_base_pages, 8192);
	ck_assert_int_eq(i.rcb_base_page_size, 4096);
	ck_assert_int_eq(i.rcb_cnodeid, 1);
	ck_assert_int_eq(i.rcb_granularity, 4096);
	ck_assert_uint_eq(i.rcb_hw_counter_max, 0x7ff);
	ck_assert_int_eq(i.rcb_diff_threshold, 100);
	ck_assert_int_eq(i.rcb_abs_threshold, 1000);
	ck_assert_int_eq(i.rcb_num_slots, 2);
	ck_assert_int_eq(i.pid, PID);
	ck_assert_uint_eq(i.periods, 1);
	ck_assert_int_eq(i.ended, 0);
	ck_assert_int_eq(pk_rcb_slot(r, 1, &s), 0);
	ck_assert_uint_eq(s.base, BASE + 16 * PAGE);
	ck_assert_uint_eq(s.size, PAGE);
	ck_assert_int_eq(pk_rcb_slot(r, 2, &s), -EINVAL);
	pk_rcb_unmap(r);
}

TEST(a_page_is_in_the_file_of_its_home)
{
	pk_refcnt_buf_t b;
	pk_rcb *r;

	write_known();
	r = map(PID, 0);
	ck_assert_int_eq(pk_rcb_get(r, 0, PK_REFCNT_EXT, &b), 0);
	ck_assert_uint_eq(b.refcnt_set.flags, PK_REFCNT_VALID |
	    PK_REFCNT_NO_PADDR);
	ck_assert_uint_eq(b.refcnt_set.refcnt[0], 1792 * 2);
	ck_assert_int_eq(pk_rcb_get(r, 1, PK_REFCNT_EXT, &b), 0);
	ck_assert_uint_eq(b.refcnt_set.flags, PK_REFCNT_NO_PADDR);
	ck_assert_int_eq(pk_rcb_next(r, 0), 0);
	ck_assert_int_eq(pk_rcb_next(r, 1), 2);
	ck_assert_int_eq(pk_rcb_next(r, 3), -1);
	ck_assert_int_eq(pk_rcb_get(r, 2, PK_REFCNT_EXT, &b), 0);
	ck_assert_int_eq(b.cnodeid, -1);
	pk_rcb_unmap(r);
	r = map(PID, 1);
	ck_assert_int_eq(pk_rcb_get(r, 1, PK_REFCNT_EXT, &b), 0);
	ck_assert_uint_eq(b.refcnt_set.refcnt[1], UINT32_MAX);
	ck_assert_uint_eq(b.refcnt_set.flags, PK_REFCNT_VALID |
	    PK_REFCNT_NO_PADDR | PK_REFCNT_SATURATED | PK_REFCNT_COARSE);
	ck_assert_uint_eq(b.page_size, UINT64_C(2) << 20);
	ck_assert_int_eq(b.cnodeid, 1);
	pk_rcb_unmap(r);
	refcnt_place(counts, BASE + PAGE, 0, PAGE, 0, REFCNT_NO_PADDR);
	write_table();
	r = map(PID, 1);
	ck_assert_int_eq(pk_rcb_next(r, 0), -1);
	pk_rcb_unmap(r);
	r = map(PID, 0);
	ck_assert_int_eq(pk_rcb_get(r, 1, PK_REFCNT_EXT, &b), 0);
	ck_assert_uint_ne(b.refcnt_set.flags & PK_REFCNT_MOVED, 0);
	pk_rcb_unmap(r);
}

/* Each plane of each page as the model has it; sparse ranges, any number of nodes. */
LOOP_TEST(planes_come_back, 0, 20)
{
	struct refcnt_page p;
	pk_refcnt_buf_t b;
	pk_refcnt_wide_t w;
	pk_rcb *r;
	int sets = 0;

	chance_begin(_i);
	make_table(PID, 1 + any(512));
	refcnt_set_latency(counts, any(600));
	for (unsigned i = 0; i < 6; i++)
		refcnt_enable(counts, BASE + any(3000) * PAGE, (1 + any(60)) * PAGE,
		    REFCNT_IMPORT, 1);
	for (unsigned i = 0; i < 20000; i++)
		refcnt_count(counts, BASE + any(3060) * PAGE, any(topology->nodes),
		    any(4000), any(3), 2);
	write_table();
	r = map(PID, 0);
	for (int set = pk_rcb_next(r, 0); set >= 0; set = pk_rcb_next(r, set + 1)) {
		uint64_t at = pk_rcb_addr(r, set);

		sets++;
		ck_assert_int_eq(pk_rcb_index(r, at + any(REFCNT_PAGE)), set);
		for (int plane = PK_REFCNT_HW; plane <= PK_REFCNT_EXT; plane++) {
			ck_assert(refcnt_page(counts, at,
			    (enum refcnt_plane)plane, &p));
			ck_assert_int_eq(pk_rcb_get(r, set, plane, &b), 0);
			ck_assert_uint_eq(b.refcnt_set.flags, p.flags);
			for (unsigned i = 0; i < p.counters; i++)
				ck_assert_uint_eq(b.refcnt_set.refcnt[i],
				    p.counter[i]);
		}
		refcnt_page(counts, at, REFCNT_WIDE, &p);
		ck_assert_int_eq(pk_rcb_get_wide(r, set, &w), 0);
		ck_assert(memcmp(w.refcnt, p.counter, sizeof w.refcnt) == 0);
	}
	refcnt_read(counts, 0, UINT64_MAX, REFCNT_HW, &p, 1);
	ck_assert_uint_eq(p.vaddr, pk_rcb_addr(r, 0));
	ck_assert_int_eq(pk_rcb_get(r, -1, PK_REFCNT_HW, &b), -EINVAL);
	ck_assert_int_eq(pk_rcb_get(r, sets, PK_REFCNT_HW, &b), -EINVAL);
	ck_assert_int_eq(pk_rcb_get(r, 0, 2, &b), -EINVAL);
	ck_assert_int_eq(pk_rcb_index(r, p.vaddr - 1), -1);
	pk_rcb_unmap(r);
}

/* --- physical addresses ------------------------------------------------------------ */

static void
put(const char *name, const char *text)
{
	char path[256];
	FILE *fp;

	snprintf(path, sizeof path, "%s/sys/devices/system/%s", root, name);
	ck_assert_int_eq(base_folders_above(path), 0);
	fp = fopen(path, "w");
	ck_assert_ptr_nonnull(fp);
	fputs(text, fp);
	ck_assert_int_eq(fclose(fp), 0);
}

/* Blocks of 1 MiB: node 0 has 1 and 64 to 71, node 1 has 32 to 35. */
static void
make_machine(void)
{
	char name[64];

	put("node/online", "0-1\n");
	put("memory/block_size_bytes", "100000\n");
	put("node/node0/memory1/state", "online\n");
	for (unsigned i = 0; i < 12; i++) {
		snprintf(name, sizeof name, "node/node%u/memory%u/state", i / 8,
		    i / 8 == 0 ? 64 + i : 24 + i);
		put(name, "online\n");
	}
	refcnt_topology_free(topology);
	topology = NULL;
	ck_assert_msg(refcnt_topology_read(&topology, root, NULL, why) == 0, "%s",
	    why);
	make_table(0, 2);
}

TEST(a_set_is_found_across_holes_between_slots)
{
	static const struct {
		uint64_t paddr;
		int set;
	} places[] = {
		{ 0, -1 }, { (1 << 20) - 1, -1 }, { 1 << 20, 0 },
		{ (2 << 20) - 1, 255 }, { 2 << 20, -1 }, { 32 << 20, -1 },
		{ (64 << 20) - 1, -1 }, { 64 << 20, 256 },
		{ (72 << 20) - 1, 256 + 2047 }, { 72 << 20, -1 },
		{ UINT64_MAX, -1 },
	};
	pk_refcnt_buf_t b;
	struct stat st;
	char path[256];
	pk_rcb *r;

	make_machine();
	refcnt_enable(counts, 64 << 20, PAGE, REFCNT_IMPORT, 1);
	refcnt_count(counts, 64 << 20, 1, 11, 0, 1);
	write_table();
	r = map(0, 0);
	for (size_t i = 0; i < NELEM(places); i++)
		ck_assert_int_eq(pk_rcb_index(r, places[i].paddr), places[i].set);
	ck_assert_int_eq(pk_rcb_next(r, 0), 256);
	ck_assert_int_eq(pk_rcb_get(r, 256, PK_REFCNT_HW, &b), 0);
	ck_assert_uint_eq(b.refcnt_set.refcnt[1], 11);
	ck_assert_uint_eq(b.refcnt_set.flags, PK_REFCNT_VALID);
	ck_assert_uint_eq(b.paddr, 64 << 20);
	path_of(path, 0, 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0400);
	ck_assert_int_lt(st.st_blocks * 512, st.st_size / 2);
	path_of(path, 0, 1);
	ck_assert_int_ne(access(path, F_OK), 0);
	refcnt_disable(counts, 64 << 20, PAGE);
	refcnt_enable(counts, 33 << 20, PAGE, REFCNT_IMPORT, 1);
	write_table();
	ck_assert_int_eq(pk_rcb_next(r, 0), -1);
	pk_rcb_unmap(r);
	r = map(0, 1);
	ck_assert_int_eq(pk_rcb_next(r, 0), 256);
	pk_rcb_unmap(r);
}

/* Another process's, which lives until a byte comes. */
TEST(the_machines_files_have_one_writer)
{
	int ready[2], end[2];
	pid_t child;
	char c = 0;

	make_machine();
	refcnt_enable(counts, 64 << 20, PAGE, REFCNT_IMPORT, 1);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(end), 0);
	child = fork();
	if (child == 0) {
		c = refcnt_table_write(table, counts, why) == 0;
		close(end[1]);
		_exit(write(ready[1], &c, 1) != 1 || read(end[0], &c, 1) != 0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(c, 1);
	ck_assert_int_eq(refcnt_table_write(table, counts, why), -EBUSY);
	ck_assert_ptr_nonnull(strstr(why, "is written by another node"));
	close(end[1]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	write_table();
}

/* --- damage ------------------------------------------------------------------------ */

CASE("damage", .setup = start, .teardown = stop, .seconds = 120);

static void
copy_known(char copy[256])
{
	char path[256];
	char *bytes;
	size_t len;

	write_known();
	path_of(path, PID, 0);
	snprintf(copy, 256, "%s/copy", root);
	ck_assert_int_eq(base_file_read(path, 1 << 20, &bytes, &len), 0);
	ck_assert_int_eq(base_file_replace(copy, bytes, len, 0600), 0);
	free(bytes);
}

/* All that the library says of a file; false: it says an error. */
static bool
say_file(const char *path, FILE *out)
{
	pk_rcb_info_t i;
	bool good = true;
	pk_rcb *r;

	if (pk_rcb_map(&r, path) < 0)
		return false;
	pk_rcb_info(r, &i);
	for (int set = 0; set < i.rcb_sw_sets && good; set++) {
		pk_refcnt_buf_t b[2];
		pk_refcnt_wide_t w;

		good = pk_rcb_get(r, set, PK_REFCNT_HW, &b[0]) == 0 &&
		    pk_rcb_get(r, set, PK_REFCNT_EXT, &b[1]) == 0 &&
		    pk_rcb_get_wide(r, set, &w) == 0;
		for (int k = 0; good && k < 2; k++)
			fprintf(out, "%" PRIx64 " %u %u %" PRIu64 " %" PRIx64
			    " %" PRIu64 " %d\n", pk_rcb_addr(r, set),
			    b[0].refcnt_set.refcnt[k], b[1].refcnt_set.refcnt[k],
			    w.refcnt[k], b[1].refcnt_set.flags, b[1].page_size,
			    b[1].cnodeid);
	}
	pk_rcb_unmap(r);
	return good;
}

static bool
says_the_same(const char *path, const char *want)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool good, same;

	ck_assert_ptr_nonnull(out);
	good = say_file(path, out);
	fclose(out);
	same = !good || want == NULL || strcmp(text, want) == 0;
	ck_assert_msg(same, "%s instead of %s", text, want);
	free(text);
	return good;
}

/* Any bit of the file that is not zero, and the words around it. */
TEST(a_flipped_bit_is_an_error_and_never_another_number)
{
	char path[256], *want, *bytes;
	unsigned refused = 0, flips = 0;
	size_t want_len, len;
	FILE *out;
	int fd;

	copy_known(path);
	out = open_memstream(&want, &want_len);
	ck_assert(say_file(path, out));
	fclose(out);
	ck_assert_int_eq(base_file_read(path, 1 << 20, &bytes, &len), 0);
	fd = open(path, O_RDWR);
	for (size_t at = 0; at < len; at++) {
		if (at % REFCNT_PAGE >= (at < REFCNT_PAGE ? RCB_HEAD : 48))
			continue;
		for (unsigned bit = 0; bit < 8; bit += 1 + (at > 200)) {
			char c = (char)(bytes[at] ^ 1 << bit);

			ck_assert_int_eq(pwrite(fd, &c, 1, (off_t)at), 1);
			refused += !says_the_same(path, want);
			flips++;
		}
		ck_assert_int_eq(pwrite(fd, bytes + at, 1, (off_t)at), 1);
	}
	/* The rest is two words that change, and what no set uses. */
	ck_assert_uint_gt(refused, flips / 2);
	close(fd);
	free(bytes);
	free(want);
}

TEST(a_cut_file_is_refused_at_any_length)
{
	char path[256];
	struct stat st;

	copy_known(path);
	ck_assert_int_eq(stat(path, &st), 0);
	for (off_t len = st.st_size - 1; len >= 0; len -= 911) {
		ck_assert_int_eq(truncate(path, len), 0);
		ck_assert(!says_the_same(path, NULL));
		ck_assert_ptr_nonnull(strstr(pk_refcnt_why(), path));
	}
}

TEST(a_file_that_is_cut_while_it_is_mapped_is_an_error)
{
	pk_refcnt_buf_t b;
	char path[256];
	pk_rcb *r;

	copy_known(path);
	ck_assert_int_eq(pk_rcb_map(&r, path), 0);
	ck_assert_int_eq(truncate(path, 4096), 0);
	ck_assert_int_eq(pk_rcb_get(r, 0, PK_REFCNT_EXT, &b), -EBADMSG);
	pk_rcb_unmap(r);
}

static const char *const foreign[] = { "/dev/null", "/", "tests/suites.def",
	"/nonexistent/file", "/proc/self/maps" };

LOOP_TEST(a_foreign_file_is_refused, 0, NELEM(foreign))
{
	pk_rcb *r = NULL;

	ck_assert_int_lt(pk_rcb_map(&r, foreign[_i]), 0);
	ck_assert_ptr_null(r);
	ck_assert_ptr_nonnull(strstr(pk_refcnt_why(), foreign[_i]));
}

/* A node that dies within a set leaves an odd sequence. */
TEST(a_set_that_is_never_finished_stops_nobody)
{
	pk_refcnt_buf_t b;
	char path[256];
	struct rcb_layout l = rcb_lay_out(3, 2, 2);
	uint32_t odd = htole32(7);
	pk_rcb *r;
	int fd;

	copy_known(path);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, &odd, 4, (off_t)l.at[RCB_SEQUENCES]), 4);
	close(fd);
	ck_assert_int_eq(pk_rcb_map(&r, path), 0);
	ck_assert_int_eq(pk_rcb_get(r, 0, PK_REFCNT_EXT, &b), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(pk_refcnt_why(), "its node has died"));
	pk_rcb_unmap(r);
}

/* A store to a hole that cannot be filled would be a signal. */
TEST(a_file_system_that_becomes_full_is_reported)
{
	struct rlimit limit = { 8192, RLIM_INFINITY };
	pk_rcb *r;

	make_machine();
	refcnt_enable(counts, 64 << 20, PAGE, REFCNT_IMPORT, 1);
	write_table();
	refcnt_enable(counts, 71 << 20, PAGE, REFCNT_IMPORT, 1);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(refcnt_table_write(table, counts, why), -EFBIG);
	ck_assert_ptr_nonnull(strstr(why, "cannot write"));
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	write_table();
	r = map(0, 0);
	ck_assert_int_eq(pk_rcb_next(r, 0), 256);
	ck_assert_int_eq(pk_rcb_next(r, 257), 256 + 7 * 256);
	pk_rcb_unmap(r);
}

TEST(a_full_file_system_is_reported)
{
	struct rlimit limit = { 16384, RLIM_INFINITY };

	make_table(PID, 2);
	refcnt_enable(counts, BASE, 100 * PAGE, REFCNT_IMPORT, 1);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(refcnt_table_write(table, counts, why), -EFBIG);
	ck_assert_ptr_nonnull(strstr(why, "cannot write"));
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	write_table();
}

/* --- a process ------------------------------------------------------------------- */

CASE("process", .setup = start, .teardown = stop, .seconds = 60,
    .tags = TAG_KERNEL);

#define OWN_PAGES 8

static char *own;
static pk_target *target;

/* Pages 1 to 3 of this process's are counted; page 5 is not there. */
static void
count_own(void)
{
	own = mmap(NULL, OWN_PAGES * PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(own, MAP_FAILED);
	memset(own, 1, OWN_PAGES * PAGE);
	make_table(getpid(), 2);
	refcnt_enable(counts, (uintptr_t)own + PAGE, 3 * PAGE, REFCNT_IMPORT, 1);
	refcnt_count(counts, (uintptr_t)own + PAGE, 1, 21, 0, 2);
	refcnt_count(counts, (uintptr_t)own + 3 * PAGE, 0, 23, 0, 2);
	write_table();
	ck_assert_msg(pk_refcnt_open(&target, getpid()) == 0, "%s",
	    pk_refcnt_why());
	munmap(own + 5 * PAGE, PAGE);
}

static void
stop_own(void)
{
	pk_refcnt_close(target);
	target = NULL;
}

TEST(there_is_one_element_for_each_page)
{
	pk_refcnt_buf_t b[OWN_PAGES];
	pk_refcnt_wide_t w[OWN_PAGES];
	pk_refcnt_args_t args = { NULL, 0, b };

	count_own();
	args.vaddr = own + 4095;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_HW, &args), 0);
	args.len = 1;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_HW, &args), 1);
	ck_assert_uint_eq(b[0].refcnt_set.flags, PK_REFCNT_NO_PADDR);
	args.len = 2;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_HW, &args), 2);
	ck_assert_uint_eq(b[1].refcnt_set.refcnt[1], 21);
	args.len = 5 * (long)PAGE;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_HW, &args), 6);
	ck_assert_uint_eq(b[3].refcnt_set.refcnt[0], 23);
	ck_assert_uint_eq(b[3].refcnt_set.flags, PK_REFCNT_VALID |
	    PK_REFCNT_NO_PADDR);
	ck_assert_uint_eq(b[5].refcnt_set.flags & PK_REFCNT_VALID, 0);
	ck_assert_uint_ne(b[5].refcnt_set.flags & PK_REFCNT_NOT_PRESENT, 0);
	ck_assert_uint_eq(b[4].refcnt_set.flags & PK_REFCNT_NOT_PRESENT, 0);
	ck_assert_int_eq(pk_refcnt_get_wide(target, own, 6 * PAGE, w), 6);
	ck_assert_uint_eq(w[1].refcnt[1], 21);
	ck_assert_uint_ne(w[5].flags & PK_REFCNT_NOT_PRESENT, 0);
	stop_own();
}

TEST(a_bad_range_is_refused)
{
	pk_refcnt_buf_t b[2];
	pk_refcnt_args_t args = { (void *)(uintptr_t)-1, 2, b };

	count_own();
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_EXT, &args), -EINVAL);
	args.vaddr = own;
	args.len = -1;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_EXT, &args), -EINVAL);
	args.len = 1;
	args.buf = NULL;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_EXT, &args), -EINVAL);
	args.buf = b;
	ck_assert_int_eq(pk_refcnt_get(target, 7, &args), -EINVAL);
	stop_own();
}

TEST(other_ranges_are_followed)
{
	pk_refcnt_buf_t b;
	pk_refcnt_args_t args = { NULL, 1, &b };
	pk_rcb_info_t i;
	pk_rcb *before;

	count_own();
	before = map(getpid(), 0);
	refcnt_enable(counts, (uintptr_t)own + 6 * PAGE, PAGE, REFCNT_IMPORT, 3);
	refcnt_count(counts, (uintptr_t)own + 6 * PAGE, 0, 99, 0, 3);
	write_table();
	pk_rcb_info(before, &i);
	ck_assert_int_ne(i.ended, 0);
	pk_rcb_unmap(before);
	args.vaddr = own + 6 * PAGE;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_HW, &args), 1);
	ck_assert_uint_eq(b.refcnt_set.refcnt[0], 99);
	stop_own();
}

#define CHANGES 500

static atomic_bool changed;

static void *
change_ranges(void *arg)
{
	uint64_t sixth = (uintptr_t)own + 6 * PAGE;

	(void)arg;
	for (int i = 0; i < CHANGES; i++) {
		if (i % 2 == 0)
			refcnt_enable(counts, sixth, PAGE, REFCNT_IMPORT, i);
		else
			refcnt_disable(counts, sixth, PAGE);
		if (refcnt_table_write(table, counts, why) < 0)
			break;
	}
	atomic_store(&changed, true);
	return NULL;
}

/* Files are replaced when they are written, not before. */
TEST(a_page_is_counted_while_other_ranges_change)
{
	pk_refcnt_buf_t b;
	pk_refcnt_args_t args = { NULL, 1, &b };
	pthread_t thread;

	count_own();
	args.vaddr = own + PAGE;
	atomic_store(&changed, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, change_ranges, NULL), 0);
	while (!atomic_load(&changed)) {
		ck_assert_msg(pk_refcnt_get(target, PK_REFCNT_HW, &args) == 1,
		    "%s", pk_refcnt_why());
		ck_assert_uint_ne(b.refcnt_set.flags & PK_REFCNT_VALID, 0);
		ck_assert_uint_eq(b.refcnt_set.refcnt[1], 21);
	}
	pthread_join(thread, NULL);
	stop_own();
}

TEST(nothing_is_told_when_nothing_is_counted_any_more)
{
	pk_refcnt_buf_t b;
	pk_refcnt_args_t args = { NULL, 1, &b };

	count_own();
	args.vaddr = own + PAGE;
	refcnt_table_free(table);
	table = NULL;
	ck_assert_int_eq(pk_refcnt_get(target, PK_REFCNT_HW, &args), -ENOENT);
	ck_assert_ptr_nonnull(strstr(pk_refcnt_why(), "is counted: 'pagek refcnt "
	    "--enable pid:"));
	stop_own();
}

/* Its files stay, but without a lock. */
TEST(files_of_a_node_that_was_killed_are_not_read)
{
	pid_t self = getpid(), child = fork();

	if (child == 0) {
		make_table(self, 2);
		refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
		_exit(refcnt_table_write(table, counts, why) != 0);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	pk_rcb_unmap(map(self, 0));
	ck_assert_int_eq(pk_refcnt_open(&target, self), -ENOENT);
}

TEST(a_dead_process_and_anothers_files_are_told_apart)
{
	char from[256], to[256];
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(pk_refcnt_open(&target, child), -ESRCH);
	ck_assert_int_eq(pk_refcnt_open(&target, 0), -EINVAL);
	ck_assert_int_eq(pk_refcnt_open(&target, -5), -EINVAL);
	count_own();
	stop_own();
	snprintf(from, sizeof from, "%s/%ld", folder, (long)getpid());
	snprintf(to, sizeof to, "%s/%ld", folder, (long)getppid());
	ck_assert_int_eq(rename(from, to), 0);
	ck_assert_int_eq(pk_refcnt_open(&target, getppid()), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(pk_refcnt_why(), "is of another process"));
	ck_assert_int_eq(rename(to, from), 0);
}

/* --- threads ------------------------------------------------------------------------ */

CASE("threads", .setup = start, .teardown = stop, .seconds = 60);

#define PERIODS (check_is_long() ? 20000 : check_rounds(12000))
#define WIDE_NODES 64		/* a long set takes longer to write */

static atomic_bool written;

static void *
write_periods(void *arg)
{
	int periods = PERIODS;

	(void)arg;
	for (int i = 0; i < periods; i++) {
		for (unsigned node = 0; node < WIDE_NODES; node++)
			refcnt_count(counts, BASE, node, 1000, 1, i);
		if (refcnt_table_write(table, counts, why) < 0)
			break;
	}
	atomic_store(&written, true);
	return NULL;
}

TEST(a_set_is_never_seen_half_written)
{
	pk_refcnt_wide_t w, last = { .flags = 0 };
	pthread_t thread;
	bool end = false;
	pk_rcb *r;

	make_table(PID, WIDE_NODES);
	refcnt_enable(counts, BASE, PAGE, REFCNT_IMPORT, 1);
	write_table();
	r = map(PID, 0);
	atomic_store(&written, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, write_periods, NULL), 0);
	while (!end) {
		end = atomic_load(&written);
		ck_assert_msg(pk_rcb_get_wide(r, 0, &w) == 0, "%s",
		    pk_refcnt_why());
		ck_assert_uint_ge(w.refcnt[0], last.refcnt[0]);
		for (unsigned node = 1; node < WIDE_NODES; node++)
			ck_assert_uint_eq(w.refcnt[node], w.refcnt[0]);
		last = w;
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(w.refcnt[0], (uint64_t)PERIODS * 1001);
	pk_rcb_unmap(r);
}

/*
 * refcnt: the nodes of machines of which the kernel's files lie in a folder.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/refcnt/refcnt.h"
#include "harness.h"
#include "kernel_files.h"

#define NELEM BASE_NELEM
#define MIB (UINT64_C(1) << 20)
#define NODE "sys/devices/system/node/"

static struct refcnt_topology *t;
static char why[REFCNT_WHY];

static void
start(void)
{
	make_root();
	t = NULL;
}

static void
stop(void)
{
	refcnt_topology_free(t);
	remove_root();
}

static void
put_node(unsigned no, const char *cpus, unsigned mib)
{
	char name[128], text[128];

	snprintf(name, sizeof name, NODE "node%u/cpulist", no);
	put_file(name, cpus);
	snprintf(name, sizeof name, NODE "node%u/meminfo", no);
	snprintf(text, sizeof text, "Node %u MemTotal:       %u kB\nNode %u "
	    "MemFree:        1 kB\n", no, mib * 1024, no);
	put_file(name, text);
}

static void
put_block(unsigned node, unsigned block, const char *state)
{
	char name[128];

	snprintf(name, sizeof name, NODE "node%u/memory%u/state", node, block);
	put_file(name, state);
}

/* Two nodes with four processors; blocks of 128 MiB, node 3's with a hole. */
static void
put_machine(void)
{
	put_file("sys/devices/system/cpu/possible", "0-3\n");
	put_file("sys/devices/system/memory/block_size_bytes", "8000000\n");
	put_file(NODE "online", "0,3\n");
	put_node(0, "0-1\n", 200);
	put_node(3, "2-3\n", 300);
	put_block(0, 0, "online\n");
	put_block(0, 1, "online\n");
	put_block(3, 9, "online\n");
	put_block(3, 2, "online\n");
	put_block(3, 3, "offline\n");
	put_block(3, 10, "online\n");
}

static int
read_it(const char *groups)
{
	return refcnt_topology_read(&t, root, groups, why);
}

static void
expect_slots(unsigned node, size_t slots, ...)
{
	va_list ap;

	ck_assert_uint_eq(t->node[node].slots, slots);
	va_start(ap, slots);
	for (size_t i = 0; i < slots; i++) {
		ck_assert_uint_eq(t->node[node].slot[i].base,
		    va_arg(ap, unsigned) * MIB);
		ck_assert_uint_eq(t->node[node].slot[i].size,
		    va_arg(ap, unsigned) * MIB);
	}
	va_end(ap);
}

CASE("topology", .setup = start, .teardown = stop);

TEST(nodes_that_are_online_have_the_next_numbers)
{
	put_machine();
	ck_assert_int_eq(read_it(NULL), 0);
	ck_assert_uint_eq(t->nodes, 2);
	ck_assert(!t->groups);
	ck_assert_str_eq(t->node[0].name, "node0");
	ck_assert_str_eq(t->node[1].name, "node3");
	ck_assert_int_eq(refcnt_home_of(t, 0), 0);
	ck_assert_int_eq(refcnt_home_of(t, 1), -1);
	ck_assert_int_eq(refcnt_home_of(t, 3), 1);
	ck_assert_int_eq(refcnt_home_of(t, 4), -1);
	ck_assert_int_eq(refcnt_home_of(t, -2), -1);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 1), 0);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 2), 1);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 4), -1);
}

TEST(blocks_that_meet_are_one_slot)
{
	put_machine();
	ck_assert_int_eq(read_it(NULL), 0);
	expect_slots(0, 1, 0, 256);
	expect_slots(1, 2, 256, 128, 1152, 256);
	ck_assert_uint_eq(t->node[1].bytes, 384 * MIB);
}

/* The table of the note: 512 MiB have 128 K pages, and as many sets. */
TEST(the_configuration_is_that_of_the_note)
{
	struct refcnt_config c;

	put_machine();
	ck_assert_int_eq(read_it(NULL), 0);
	t->base_page = 16384;
	refcnt_config_of(t, 1, &c);
	ck_assert_str_eq(c.name, "node3");
	ck_assert_uint_eq(c.bytes, 384 * MIB);
	ck_assert_uint_eq(c.hw_pages, 96 << 10);
	ck_assert_uint_eq(c.sets, 96 << 10);
	ck_assert_uint_eq(c.counters, 192 << 10);
	ck_assert_uint_eq(c.base_pages, 24 << 10);
	ck_assert_uint_eq(c.slots, 2);
}

TEST(zones_are_slots_where_there_are_no_blocks)
{
	put_file(NODE "online", "0-1\n");
	put_node(0, "0\n", 10);
	put_node(1, "", 10);
	put_file("proc/zoneinfo",
	    "Node 0, zone      DMA\n  per-node stats\n      nr_mapped 9\n"
	    "  pages free 1\n        spanned  4095\n        present  3998\n"
	    "  start_pfn:           1\n"
	    "Node 0, zone   Normal\n  pages free 1\n        spanned  4096\n"
	    "  start_pfn:           4096\n"
	    "Node 0, zone  Movable\n        spanned  0\n  start_pfn:  0\n"
	    "Node 1, zone   Normal\n        spanned  512\n"
	    "  start_pfn:           65536\n");
	ck_assert_int_eq(read_it(NULL), 0);
	ck_assert_uint_eq(t->node[0].slots, 1);
	ck_assert_uint_eq(t->node[0].slot[0].base, t->base_page);
	ck_assert_uint_eq(t->node[0].slot[0].size, 8191 * t->base_page);
	ck_assert_uint_eq(t->node[1].slots, 1);
	ck_assert_uint_eq(t->node[1].bytes, 512 * t->base_page);
}

TEST(without_nodes_all_memory_is_one)
{
	put_file("sys/devices/system/cpu/possible", "0-7\n");
	put_file("proc/meminfo", "MemTotal:       65536 kB\nMemFree: 1 kB\n");
	ck_assert_int_eq(read_it(NULL), 0);
	ck_assert_uint_eq(t->nodes, 1);
	ck_assert_str_eq(t->node[0].name, "node0");
	ck_assert_uint_eq(t->node[0].bytes, 64 * MIB);
	ck_assert_uint_eq(t->node[0].slots, 0);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 7), 0);
}

TEST(an_empty_folder_is_a_machine_of_one_node)
{
	ck_assert_int_eq(read_it(NULL), 0);
	ck_assert_uint_eq(t->nodes, 1);
	ck_assert_uint_eq(t->node[0].bytes, 0);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 0), 0);
}

TEST(a_folder_that_is_missing_is_no_machine)
{
	static const char *const missing[] = { "/nonexistent", "/dev/null" };
	struct refcnt_topology *none = NULL;

	for (size_t i = 0; i < NELEM(missing); i++) {
		ck_assert_int_eq(refcnt_topology_read(&none, missing[i], NULL,
		    why), i == 0 ? -ENOENT : -ENOTDIR);
		ck_assert_ptr_nonnull(strstr(why, missing[i]));
		ck_assert_ptr_null(none);
	}
}

/* Above 64 nodes a set has a counter for each 8 of them. */
TEST(a_machine_of_512_nodes)
{
	struct refcnt_config c;

	put_file("sys/devices/system/cpu/possible", "0-1023\n");
	put_file(NODE "online", "0-511\n");
	for (unsigned i = 0; i < 512; i++) {
		char cpus[32];

		snprintf(cpus, sizeof cpus, "%u,%u\n", 2 * i, 2 * i + 1);
		put_node(i, cpus, 64);
	}
	ck_assert_int_eq(read_it(NULL), 0);
	ck_assert_uint_eq(t->nodes, 512);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 1023), 511);
	refcnt_config_of(t, 511, &c);
	ck_assert_uint_eq(c.sets, 16 << 10);
	ck_assert_uint_eq(c.counters, 64 * (16 << 10));
}

TEST(more_than_512_nodes_are_refused)
{
	put_file(NODE "online", "0-512\n");
	ck_assert_int_eq(read_it(NULL), -E2BIG);
	ck_assert_str_eq(why, "more than 512 nodes are online");
	ck_assert_ptr_null(t);
}

static const char *const broken[] = { "x\n", "0-\n", "3-1\n", "0,\n", "-1\n",
	"0-99999999999\n", "0 1\n", "4096\n", "0-1,,2" };

LOOP_TEST(a_list_that_is_none_is_reported, 0, NELEM(broken))
{
	put_machine();
	put_file(NODE "online", broken[_i]);
	ck_assert_int_eq(read_it(NULL), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, NODE "online is no list of numbers"));
	ck_assert_ptr_null(t);
}

TEST(a_processor_of_two_nodes_is_damage)
{
	put_machine();
	put_file(NODE "node3/cpulist", "1-3\n");
	ck_assert_int_eq(read_it(NULL), -EBADMSG);
	put_file(NODE "node3/cpulist", "2-4\n");
	ck_assert_int_eq(read_it(NULL), -EBADMSG);
}

TEST(memory_beyond_all_addresses_is_damage)
{
	put_machine();
	put_file("sys/devices/system/memory/block_size_bytes", "8000000000000000\n");
	ck_assert_int_eq(read_it(NULL), -EBADMSG);
	ck_assert_str_eq(why, "node 0 has memory beyond 2^64");
}

/* --- groups of processors ---------------------------------------------------------- */

CASE("groups", .setup = start, .teardown = stop);

TEST(each_processor_can_be_a_node)
{
	put_machine();
	put_file("sys/devices/system/cpu/possible", "0-1,3\n");
	put_file(NODE "node3/cpulist", "3\n");
	ck_assert_int_eq(read_it("cpu"), 0);
	ck_assert_uint_eq(t->nodes, 3);
	ck_assert(t->groups);
	ck_assert_str_eq(t->node[2].name, "cpus 3");
	ck_assert_int_eq(refcnt_node_of_cpu(t, 3), 2);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 2), -1);
	ck_assert_int_eq(refcnt_home_of(t, 0), 0);
	ck_assert_int_eq(refcnt_home_of(t, 3), 2);
	ck_assert_uint_eq(t->node[1].bytes, 0);
	expect_slots(2, 2, 256, 128, 1152, 256);
}

TEST(lists_are_nodes_and_have_the_memory_of_their_processors)
{
	put_machine();
	ck_assert_int_eq(read_it("3,1/0"), 0);
	ck_assert_uint_eq(t->nodes, 3);
	ck_assert_str_eq(t->node[0].name, "cpus 3,1");
	ck_assert_str_eq(t->node[1].name, "cpus 0");
	ck_assert_str_eq(t->node[2].name, "cpus not named");
	ck_assert_int_eq(refcnt_node_of_cpu(t, 1), 0);
	ck_assert_int_eq(refcnt_node_of_cpu(t, 2), 2);
	ck_assert_int_eq(refcnt_home_of(t, 0), 1);
	ck_assert_int_eq(refcnt_home_of(t, 3), 2);
	expect_slots(0, 0);
	expect_slots(1, 1, 0, 256);
}

TEST(one_group_has_the_memory_of_all_nodes)
{
	put_machine();
	ck_assert_int_eq(read_it("0-3"), 0);
	ck_assert_uint_eq(t->nodes, 1);
	expect_slots(0, 2, 0, 384, 1152, 256);
	ck_assert_uint_eq(t->node[0].bytes, 640 * MIB);
}

static const struct {
	const char *groups, *why;
} wrong[] = {
	{ "", "'' does not name groups of processors: write 'cpu', or lists as "
	    "0-1,4/2,3" },
	{ "cpus", "'cpus' does not name groups of processors: write 'cpu', or "
	    "lists as 0-1,4/2,3" },
	{ "0/", "'0/' does not name groups of processors: write 'cpu', or lists "
	    "as 0-1,4/2,3" },
	{ "0/1\n2", "'0/1\\x0A2' does not name groups of processors: write "
	    "'cpu', or lists as 0-1,4/2,3" },
	{ "0-1/1", "processor 1 is named twice" },
	{ "0/7", "processor 7 is not on this machine: it has processors up to 3" },
	{ "0-99999", "'0-99999' does not name groups of processors: write 'cpu', "
	    "or lists as 0-1,4/2,3" },
};

LOOP_TEST(bad_groups_are_reported, 0, NELEM(wrong))
{
	put_machine();
	ck_assert_int_eq(read_it(wrong[_i].groups), -EINVAL);
	ck_assert_str_eq(why, wrong[_i].why);
	ck_assert_ptr_null(t);
	ck_assert_int_eq(refcnt_topology_read(&t, root, wrong[_i].groups, NULL),
	    -EINVAL);
}

TEST(this_machine_has_a_topology)
{
	ck_assert_int_eq(refcnt_topology_read(&t, "/", NULL, why), 0);
	ck_assert_uint_ge(t->nodes, 1);
	ck_assert_uint_gt(t->node[0].bytes, 0);
	refcnt_topology_free(t);
	t = NULL;
	ck_assert_int_eq(refcnt_topology_read(&t, "/", "cpu", why), 0);
	ck_assert_int_ge(refcnt_node_of_cpu(t, 0), 0);
}

/*
 * Friendly numbers: what is translated, what is kept, and when that is dropped.
 */
#include "node_harness.h"
#include "table_rig.h"

static void
setup(void)
{
	table_up("0590 linac-a local acnet=11.134\n"
	    "0A12 gw-2 ssh:gw-2 classic=6801\n"
	    "0509 linac-b unix:/run/x\n");
	node_up(NULL);
	ck_assert_int_eq(friendly_load(&node.friendly, !node.opts.system, NULL,
	    NULL), 0);
}

static void
teardown(void)
{
	node_down();
	table_down();
}

static void
expect(uint64_t hits, uint64_t misses, uint64_t unknown)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };

	friendly_stat(&node.friendly, n);
	ck_assert_uint_eq(n[WIRE_N_FRIENDLY_HITS], hits);
	ck_assert_uint_eq(n[WIRE_N_FRIENDLY_MISSES], misses);
	ck_assert_uint_eq(n[WIRE_N_FRIENDLY_UNKNOWN], unknown);
}

/* A second's look, until it has come back. */
static void
look_again(void)
{
	friendly_second(&node.friendly, node.loop);
	while (node.friendly.working)
		uv_run(&loop, UV_RUN_ONCE);
}

/* --- translations --------------------------------------------------------- */

static const struct {
	uint16_t number, friendly;
	bool unknown;
} numbers[] = {
	{ 0x0590, 0xab86, false },
	{ 0x0a12, 0xca12, false },
	{ 0x0509, 0x0509, true },	/* in the table, with neither port */
	{ 0x1234, 0x1234, true },	/* not in it */
	{ 0xffff, 0xffff, true },
};

CASE("translations", .setup = setup, .teardown = teardown);

LOOP_TEST(number_is_shown_by_its_friendly_one_or_raw, 0, BASE_NELEM(numbers))
{
	ck_assert_uint_eq(friendly_get(&node.friendly, numbers[_i].number),
	    numbers[_i].friendly);
	expect(0, 1, numbers[_i].unknown);
}

LOOP_TEST(second_time_is_a_hit_for_unknown_ones_too, 0, BASE_NELEM(numbers))
{
	ck_assert_uint_eq(friendly_get(&node.friendly, numbers[_i].number),
	    numbers[_i].friendly);
	ck_assert_uint_eq(friendly_get(&node.friendly, numbers[_i].number),
	    numbers[_i].friendly);
	expect(1, 1, numbers[_i].unknown);
}

TEST(nobodys_number_is_not_counted)
{
	ck_assert_uint_eq(friendly_get(&node.friendly, 0), 0);
	expect(0, 0, 0);
}

TEST(node_without_a_table_shows_all_raw)
{
	struct nodes_table *table = node.friendly.table;

	node.friendly.table = NULL;
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0x590);
	expect(0, 1, 1);
	friendly_second(&node.friendly, node.loop);
	ck_assert(!node.friendly.working);
	node.friendly.table = table;
}

TEST(what_is_kept_is_bounded_and_right_for_all_numbers)
{
	unsigned round, number;

	for (round = 0; round < 2; round++)
		for (number = 1; number < 65536; number++)
			ck_assert_uint_eq(friendly_get(&node.friendly,
			    (uint16_t)number), number == 0x590 ? 0xab86 :
			    number == 0xa12 ? 0xca12 : number);
	/* Each place had another number by the second round. */
	expect(0, 2 * 65535, 2 * (65535 - 2));
}

TEST(age_is_that_of_the_oldest_and_grows)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };

	friendly_stat(&node.friendly, n);
	ck_assert_uint_eq(n[WIRE_N_FRIENDLY_OLDEST_S], 0);
	friendly_get(&node.friendly, 0x590);
	friendly_get(&node.friendly, 0xa12);
	/* As if that had been a while ago. */
	for (size_t i = 0; i < FRIENDLY_KEPT; i++)
		if (node.friendly.kept[i].number == 0x590)
			node.friendly.kept[i].since_ms -= 40 * 1000;
		else if (node.friendly.kept[i].number == 0xa12)
			node.friendly.kept[i].since_ms -= 7 * 1000;
	friendly_stat(&node.friendly, n);
	ck_assert_uint_ge(n[WIRE_N_FRIENDLY_OLDEST_S], 40);
	ck_assert_uint_lt(n[WIRE_N_FRIENDLY_OLDEST_S], 100);
}

/* --- the table changes ---------------------------------------------------- */

CASE("table", .setup = setup, .teardown = teardown);

TEST(table_that_is_the_same_keeps_translations)
{
	friendly_get(&node.friendly, 0x590);
	look_again();
	friendly_get(&node.friendly, 0x590);
	expect(1, 1, 0);
}

TEST(changed_table_drops_translations)
{
	uint64_t n[WIRE_STATS_COUNT] = { 0 };

	friendly_get(&node.friendly, 0x590);
	friendly_get(&node.friendly, 0x1234);
	table_write("0590 linac-a local acnet=1.2\n"
	    "1234 new unix:/run/y classic=1\n");
	/* Nobody has looked yet. */
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0xab86);
	look_again();
	friendly_stat(&node.friendly, n);
	ck_assert_uint_eq(n[WIRE_N_FRIENDLY_OLDEST_S], 0);
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0xa102);
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x1234), 0xc234);
	ck_assert_uint_eq(friendly_get(&node.friendly, 0xa12), 0xa12);
	expect(1, 5, 2);
}

TEST(file_put_in_its_place_is_another_one)
{
	char other[160];
	struct stat st;
	struct timespec times[2];

	/* As old and as long as the one that was there. */
	ck_assert_int_eq(stat(table_file, &st), 0);
	snprintf(other, sizeof other, "%s.new", table_file);
	ck_assert_int_eq(rename(table_file, other), 0);
	table_write("0590 linac-a local acnet=11.135\n"
	    "0A12 gw-2 ssh:gw-2 classic=6801\n"
	    "0509 linac-b unix:/run/x\n");
	times[0] = times[1] = st.st_mtim;
	ck_assert_int_eq(utimensat(AT_FDCWD, table_file, times, 0), 0);
	look_again();
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0xab87);
	unlink(other);
}

TEST(table_that_goes_and_comes_is_followed)
{
	unlink(table_file);
	look_again();
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0x590);
	table_write("0590 linac-a local acnet=11.134\n");
	look_again();
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0xab86);
}

TEST(line_that_cannot_be_read_costs_that_line)
{
	table_write("0590 linac-a local acnet=11.134\n0A12 gw-2 nowhere\n");
	look_again();
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x590), 0xab86);
	ck_assert_uint_eq(friendly_get(&node.friendly, 0xa12), 0xa12);
}

TEST(system_does_not_read_a_users_table)
{
	friendly_fini(&node.friendly);
	node.opts.system = true;
	ck_assert_int_eq(friendly_load(&node.friendly, !node.opts.system, NULL,
	    NULL), 0);
	ck_assert_ptr_null(node.friendly.table->path[NODES_FILE_USER]);
	table_write("1111 x unix:/x acnet=1.1\n");
	look_again();
	ck_assert_uint_eq(friendly_get(&node.friendly, 0x1111), 0x1111);
}

/* --- over the wire ---------------------------------------------------------- */

CASE("wire", .setup = setup, .teardown = teardown);

TEST(numbers_of_the_node_are_in_its_stat)
{
	struct wire_msg m = { .type = WIRE_STAT,
		.stat = { .index = UINT32_MAX } }, r;
	struct page p;

	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	friendly_get(&node.friendly, 0x590);
	friendly_get(&node.friendly, 0x590);
	friendly_get(&node.friendly, 0x590);
	friendly_get(&node.friendly, 0x509);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_STATS);
	ck_assert_uint_eq(r.stats.n[WIRE_N_FRIENDLY_HITS], 2);
	ck_assert_uint_eq(r.stats.n[WIRE_N_FRIENDLY_MISSES], 2);
	ck_assert_uint_eq(r.stats.n[WIRE_N_FRIENDLY_UNKNOWN], 1);
	page_close(&p);
}

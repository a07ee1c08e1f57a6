/*
 * Page S and the line of page K as a program: what is asked of a node, what an older
 * one says, and the keys.
 */
#include "../src/pagek/app/pages.h"
#include "../src/pagek/layout/layout.h"
#include "app_rig.h"

static void
begin(void)
{
	rig_up();
	peer.stress = (struct stress_sample){ .source = STRESS_PATCH };
	memset(peer.stress.known, true, sizeof peer.stress.known);
	peer.stress_reader = 1;
}

/* A second of the node, in which so much is counted. */
static void
pass(uint64_t one, uint64_t three)
{
	peer.stress.level[0] += one;
	peer.stress.level[2] += three;
	peer.passed_ms += 1000;
	rig_cycle();
	rig_cycle();
}

static bool
shows(const char *text, bool page)
{
	rig_compose(80, 24, page);
	for (int i = 0; i < rig_pic.rows; i++)
		if (strstr(rig_pic.line[i].text, text) != NULL)
			return true;
	return false;
}

CASE("page S", .setup = begin, .teardown = rig_down, .seconds = 60);

TEST(it_counts_from_its_opening)
{
	peer.stress.level[0] = 1000;
	rig_key('2');
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_S);
	ck_assert(shows("waiting for the node's counts", true));
	pass(0, 0);
	pass(40, 0);
	pass(2, 1);
	ck_assert(shows("1 default criteria               2          42"
	    "           42", true));
	ck_assert(shows("3 STRESS", true));
	ck_assert(shows("Linux 6.1.0-test", true));
}

TEST(an_older_node_is_named_and_asked_seldom)
{
	peer.has_no_stress = true;
	rig_key('2');
	pass(0, 0);
	ck_assert(shows("VERSION: the node is older", true));
	peer.has_no_stress = false;
	pass(0, 0);
	ck_assert(shows("VERSION", true));
}

TEST(its_keys_are_its_own)
{
	rig_key('2');
	pass(0, 0);
	pass(7, 0);
	rig_key('}');
	ck_assert(shows("of 5m00s", true));
	rig_key('{');
	rig_key('{');
	ck_assert(shows("of 10s", true));
	rig_key('{');
	ck_assert_str_eq(rig_page.message, "this is the shortest window");
	ck_assert(shows("1 default criteria               7           7"
	    "            7", true));
	rig_key('m');
	ck_assert(shows("1 default criteria               7           7"
	    "            0", true));
	rig_key('x');
	ck_assert(shows("1 default criteria               -           0"
	    "            0", true));
	rig_key('\r');
	ck_assert(shows("Satisfied at once", true));
	rig_key(PAGE_CTRL('['));
	ck_assert(shows("THIS SEC", true));
	rig_key(PAGE_CTRL('['));
	ck_assert_int_eq(app_panel_top(&rig), APP_PAGE_K);
}

#define CACHES(dentries) " dentry 90 " dentries " 192 0 4096 : slabdata 0 5\n" \
	" kmalloc-1k 10 16 1024 0 16384 : slabdata 0 1\n"

/* Runs for a second, in which a table is requested and comes. */
static void
pass_table(void)
{
	rig_cycle();
	rig_cycle();
}

TEST(key_b_shows_the_kernels_memory)
{
	peer.kernel_lines[STRESS_BY_SITE] = "allocinfo - version: 1.0\n"
	    " 12288 3 mm/slub.c:2307 [a_mod] func:alloc_slab_page\n"
	    " -4096 1 a\033b.c:1 func:f accurate:no\n";
	peer.kernel_lines[STRESS_BY_CACHE] = CACHES("100");
	peer.kernel_rows = 1234;
	rig_key('2');
	rig_key('b');
	ck_assert(shows("waiting for the kernel's call sites", true));
	pass_table();
	ck_assert(shows("4,711 bytes in 1,234 places, the largest 2 are listed", true));
	ck_assert(shows("         12,288", true));
	ck_assert(shows("alloc_slab_page  mm/slub.c:2307 [a", true));
	ck_assert(shows("        ~-4,096", true));
	ck_assert(shows("f  a\\x1Bb.c:1", true));
	rig_key('b');
	pass_table();
	ck_assert(shows("         20,480", true));
	ck_assert(shows(" dentry", true));
	ck_assert(!shows("No table", true));
	rig_key('b');
	ck_assert(shows("THIS SEC", true));
	rig_key('b');
	ck_assert(shows("alloc_slab_page", true));
	rig_key(PAGE_CTRL('['));
	ck_assert(shows("THIS SEC", true));
}

TEST(a_node_without_the_kernels_memory_says_why)
{
	peer.kernel_lines[STRESS_BY_CACHE] = CACHES("100");
	rig_key('2');
	rig_key('b');
	pass_table();
	ck_assert(shows("No table: ", true));
	rig_key('b');
	ck_assert(!shows("No table: ", true));
	pass_table();
	ck_assert(shows(" dentry", true));
	peer.has_no_kernel_memory = true;
	rig_key('b');
	rig_key('b');
	pass_table();
	ck_assert(shows("VERSION: the node is older", true));
}

TEST(a_pause_keeps_the_picture)
{
	rig_key('2');
	pass(0, 0);
	rig_key(' ');
	rig_cycle();
	pass(9, 0);
	ck_assert(shows("PAUSED", true));
	ck_assert(!shows("  9 ", true));
	rig_key(' ');
	rig_cycle();
	ck_assert(shows("           9            9", true));
}

TEST(a_node_that_was_started_again_is_said)
{
	peer.stress.source = STRESS_FILE;
	rig_key('2');
	pass(0, 0);
	pass(5, 0);
	peer.stress_reader = 2;
	peer.stress.level[0] = 3;
	pass(0, 0);
	ck_assert(shows("           8            8", true));
	ck_assert(shows("the source is now", true));
}

CASE("the line of page K", .setup = begin, .teardown = rig_down, .seconds = 60);

TEST(it_is_off_until_it_is_set)
{
	pass(0, 0);
	ck_assert(!shows("stress/s", false));
	rig_type(":set stress=on\r");
	pass(0, 0);
	ck_assert(shows("stress/s  counting the first second", false));
	rig_type(":set stress=off\r");
	ck_assert(!shows("stress/s", false));
}

TEST(it_has_the_last_second)
{
	rig_page.opts.stress = true;
	rig_key('2');		/* asks with each cycle */
	pass(0, 0);
	pass(4373, 3);
	rig_key('1');
	ck_assert(shows("stress/s 4,373 0 3 0 0 0  some n/a all n/a", false));
	rig_compose(33, 24, false);
	ck_assert_int_eq(rig_pic.rows, 24);
	/* Not where rows are few, nor in the strict layout. */
	rig_compose(80, 7, false);
	for (int i = 0; i < rig_pic.rows; i++)
		ck_assert_ptr_null(strstr(rig_pic.line[i].text, "stress"));
	rig_page.layout = PAGE_CLASSIC_STRICT;
	ck_assert(!shows("stress/s", false));
}

/* The peer answers at once, as a node that is older than such questions does. */
TEST(it_asks_once_a_second_by_a_question_that_waits)
{
	unsigned cycles;

	rig_page.opts.stress = true;
	for (cycles = 0; cycles < 20 && peer.stress_asked < 2; cycles++)
		rig_cycle();
	ck_assert_uint_eq(peer.stress_asked, 2);
	ck_assert_uint_eq(peer.stress_wait_ms, 1000);
	for (cycles = 0; cycles < 20; cycles++)
		rig_cycle();
	ck_assert_uint_lt(peer.stress_asked, 10);
}

TEST(it_asks_again_when_tasks_have_waited)
{
	unsigned asked;

	rig_page.opts.stress = true;
	peer.stress_woken = true;
	pass(0, 0);
	pass(1000, 0);
	ck_assert(shows("stress/s 1,000 0 0", false));
	asked = peer.stress_asked;
	peer.stress.level[2] += 7;
	peer.passed_ms += 400;
	rig_cycle();
	rig_cycle();
	ck_assert_uint_gt(peer.stress_asked, asked);
	ck_assert_uint_gt(peer.stress_wait_ms, 0);
	ck_assert_uint_le(peer.stress_wait_ms, 1000);
	ck_assert(shows("stress/s 714 0 5", false));
}

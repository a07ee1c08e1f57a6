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

/*
 * The straight way of an event: its area alone says whether it is logged, unless
 * something else has a say in it.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "feed_rig.h"

/* What a test has made, for its end: the mappings are the process's. */
#define RIGS 4

static struct rig *rigs[RIGS];
static unsigned nrigs;

static struct rig *
with(struct rig *rig)
{
	ck_assert_uint_lt(nrigs, RIGS);
	return rigs[nrigs++] = rig;
}

static void
end_all(void)
{
	while (nrigs > 0)
		rig_forget(rigs[--nrigs]);
}

static struct rig *
attach(void)
{
	return with(rig_attached(false));
}

static void
begin_era(uint64_t stream)
{
	struct rig *rig = with(rig_next());

	ck_assert(produce_again(rig->area, rig->keeper, stream));
}

/* No producer can be of an area that no keeper has made. */
static bool
goes_straight(void)
{
	const struct keeper_area *way = produce_straight();

	return way != NULL && (produce_area_asleep(way) ||
	    atomic_load(&way->magic) == RING_MAGIC);
}

START_TEST(before_a_hello_no_event_goes_straight)
{
	ck_assert(!goes_straight());
}
END_TEST

START_TEST(the_area_is_the_one_that_is_armed)
{
	struct rig *rig = attach();
	const struct keeper_area *way = produce_straight();

	ck_assert_ptr_nonnull(way);
	ck_assert(produce_area_armed(way));
	stream_feed_arm(rig->feed, false, rig->now);
	ck_assert(!produce_area_armed(way));
	stream_feed_arm(rig->feed, true, rig->now);
	ck_assert(produce_area_armed(way));
}
END_TEST

START_TEST(a_producer_is_of_its_own_era_only)
{
	struct producer p = { 0 }, nobody = { 0 };

	attach();
	produce_open(&p, 1);
	ck_assert_ptr_eq(p.keeper, produce_straight());
	ck_assert_ptr_ne(nobody.keeper, produce_straight());
	begin_era(2);
	ck_assert_ptr_ne(p.keeper, produce_straight());
	ck_assert(produce_leave_era(&p));
	produce_open(&p, 1);
	ck_assert_ptr_eq(p.keeper, produce_straight());
}
END_TEST

START_TEST(who_samples_never_goes_straight)
{
	struct rig *rig = with(rig_new(false));

	stream_feed_want_sample(rig->feed, 4096);
	produce_attach(rig->area, rig->keeper, 1);
	ck_assert(produce_attached());
	ck_assert(!goes_straight());
}
END_TEST

START_TEST(an_alien_block_closes_the_way_for_the_rest_of_the_era)
{
	attach();
	ck_assert(goes_straight());
	produce_alien();
	ck_assert(!goes_straight());
	produce_alien_gone();
	ck_assert(!goes_straight());
	begin_era(2);
	ck_assert(goes_straight());
}
END_TEST

START_TEST(an_era_that_begins_with_an_alien_block_has_no_straight_way)
{
	produce_alien();
	produce_alien();
	produce_alien_gone();
	attach();
	ck_assert(!goes_straight());
	begin_era(2);
	ck_assert(!goes_straight());
}
END_TEST

START_TEST(a_forked_child_looks_closer_until_it_has_said_hello)
{
	struct rig *own;
	int status;
	pid_t pid;

	attach();
	ck_assert(goes_straight());
	pid = fork();
	if (pid == 0) {
		if (goes_straight())
			_exit(1);
		own = rig_new(false);
		produce_attach(own->area, own->keeper, 2);
		_exit(goes_straight() ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(where_nobody_listens_nothing_is_logged_and_aliens_are_known)
{
	produce_never();
	ck_assert(goes_straight());
	ck_assert(!produce_area_armed(produce_straight()));
	produce_alien();
	ck_assert(!goes_straight());
}
END_TEST

START_TEST(who_is_left_neither_goes_straight_nor_sleeps)
{
	struct rig *rig = attach();

	/* There the target has the feed's own mapping, which goes with it. */
	if (RIG_TSAN)
		return;
	stream_feed_arm(rig->feed, false, rig->now);
	ck_assert(!produce_left() && produce_asleep() && goes_straight());
	stream_feed_free(rig->feed);
	rig->feed = NULL;
	ck_assert(!produce_wanted());
	ck_assert(produce_left());
	ck_assert(!goes_straight() && !produce_asleep());
	ck_assert_ptr_null(produce_whole());
	begin_era(2);
	ck_assert(!produce_left() && goes_straight() && produce_wanted());
}
END_TEST

/* --- two at once ----------------------------------------------------------- */

#define TIMES (RIG_SLOW ? 20000 : 1000000)

static _Atomic bool end;

static void *
open_again(void *arg)
{
	while (!atomic_load(&end))
		produce_never();
	return arg;
}

START_TEST(no_event_goes_straight_while_an_alien_block_is_about)
{
	const struct keeper_area *way;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, open_again, NULL), 0);
	for (int i = 0; i < TIMES; i++) {
		produce_alien();
		for (int k = 0; k < 10; k++) {
			way = produce_straight();
			ck_assert(way == NULL || produce_area_armed(way));
		}
		produce_alien_gone();
	}
	atomic_store(&end, true);
	pthread_join(thread, NULL);
}
END_TEST

Suite *
straight_suite(void)
{
	Suite *s = suite_create("straight");
	TCase *tc = tcase_create("gate");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, end_all);
	tcase_add_test(tc, before_a_hello_no_event_goes_straight);
	tcase_add_test(tc, the_area_is_the_one_that_is_armed);
	tcase_add_test(tc, a_producer_is_of_its_own_era_only);
	tcase_add_test(tc, who_samples_never_goes_straight);
	tcase_add_test(tc, an_alien_block_closes_the_way_for_the_rest_of_the_era);
	tcase_add_test(tc, an_era_that_begins_with_an_alien_block_has_no_straight_way);
	tcase_add_test(tc, a_forked_child_looks_closer_until_it_has_said_hello);
	tcase_add_test(tc, where_nobody_listens_nothing_is_logged_and_aliens_are_known);
	tcase_add_test(tc, who_is_left_neither_goes_straight_nor_sleeps);
	tcase_add_test(tc, no_event_goes_straight_while_an_alien_block_is_about);
	suite_add_tcase(s, tc);
	return s;
}

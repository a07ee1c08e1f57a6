/*
 * Feeds that outlive their keepers: whenever one is dropped, the next goes on
 * from what was committed, and all is delivered once.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kept_world.h"

#define SEEDS (RIG_SLOW ? 5 : 20)	/* of each run */
#define RUNS 10

/* --- a keeper that dies ---------------------------------------------------- */

static void
sink_back(struct world *w)
{
	w->sink = w->committed;
}

static void
resume(struct world *w)
{
	int fds[2] = { w->fds[0], w->fds[2] };

	ck_assert_int_eq(stream_feed_resume(&w->feed, fds, w->state[w->slot],
			     &world_sink_fns, w), 0);
	w->resumed++;
}

static void
die(struct world *w)
{
	w->mid_round += stream_feed_is_behind(w->feed);
	stream_feed_leave(w->feed);
	sink_back(w);
	resume(w);
}

/* Saves and makes it count; false in the middle of a round. */
static bool
save(struct world *w)
{
	unsigned other = w->slot == 0;

	if (!stream_feed_save(w->feed, w->state[other])) {
		ck_assert(stream_feed_is_behind(w->feed));
		return false;
	}
	w->slot = other;
	w->committed = w->sink;
	return true;
}

/* Saved, but not where it counts. */
static void
save_in_vain(struct world *w)
{
	void *state = calloc(1, stream_feed_state_size());

	ck_assert_ptr_nonnull(state);
	w->unsaved += stream_feed_save(w->feed, state);
	free(state);
}

static void
pass(struct world *w, uint64_t some)
{
	ck_assert_int_ge(stream_feed_pass_some(w->feed, ++w->now, some), 0);
}

/* A pass, and what may become of its keeper. */
static void
keep(struct world *w)
{
	uint32_t dice = world_random(w, 100);

	pass(w, world_random(w, 3) == 0 ? 1 + world_random(w, 200) :
	    UINT64_MAX);
	if (dice < 50 && save(w)) {
		if (dice < w->deaths) {
			w->ungiven++;
			die(w);
		} else if (dice < 45) {
			stream_feed_commit(w->feed);
		}		/* or goes on, and gives the room later */
	} else if (dice >= 50 && dice < 50 + w->deaths) {
		if (dice % 2 == 0)
			save_in_vain(w);
		die(w);
	}
}

/* --- rules ----------------------------------------------------------------- */

static void
drain(struct world *w)
{
	for (int i = 0; i < 4; i++) {
		pass(w, UINT64_MAX);
		if (save(w))
			stream_feed_commit(w->feed);
		die(w);
	}
}

/* Ends what is under way; an undoing that finds no room waits for some. */
static void
settle(struct world *w)
{
	bool busy = true;

	for (int i = 0; busy; i++) {
		ck_assert_int_lt(i, 1000);
		busy = false;
		for (unsigned k = 0; k < WORLD_ACTORS; k++) {
			struct world_actor *a = &w->actor[k];

			if (a->step == 0 && !a->undoing)
				continue;
			world_step(w, a);
			busy = true;
		}
		if (i % 10 == 9)
			drain(w);
	}
}

static void
run(struct world *w, unsigned steps)
{
	ck_assert(save(w));
	for (unsigned i = 0; i < steps; i++) {
		unsigned k = world_random(w, 1000) < w->common_share * 10 ?
		    6 + world_random(w, 2) : world_random(w, 6);

		world_step(w, &w->actor[k]);
		if (world_random(w, 60) == 0)
			keep(w);
	}
	settle(w);
	drain(w);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->held, 0);
	ck_assert_int_ge(stream_feed_finish(w->feed, ++w->now), 0);
	/* Counted once, whoever asks again. */
	ck_assert(save(w));
	die(w);
	ck_assert_int_eq(stream_feed_finish(w->feed, ++w->now), 0);
	world_check(w);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->records,
	    w->sink.records);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->lost[STREAM_RING_FULL],
	    w->full);
}

/* Thousands of keepers in all. */
START_TEST(whoever_dies_all_is_delivered_once_and_in_order)
{
	unsigned resumed = 0, mid_round = 0, unsaved = 0, ungiven = 0;

	for (unsigned i = 0; i < SEEDS; i++) {
		uint64_t seed = (uint64_t)_i * SEEDS + i;
		struct world *w = world_new(seed);

		w->common_share = seed % 5 * 12;
		w->range_share = seed % 3;
		w->deaths = seed % 4 == 0 ? 30 : 6;
		run(w, seed % 10 == 0 ? 60000 : 6000);
		resumed += w->resumed;
		mid_round += w->mid_round;
		unsaved += w->unsaved;
		ungiven += w->ungiven;
		world_free(w);
	}
	ck_assert_uint_gt(resumed, 10 * SEEDS);
	ck_assert_uint_gt(mid_round, 0);
	ck_assert_uint_gt(unsaved, 0);
	ck_assert_uint_gt(ungiven, 0);
}
END_TEST

static Suite *
feed_kept_suite(void)
{
	Suite *s = suite_create("feed kept");
	TCase *tc;

	tc = tcase_create("Deaths");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, whoever_dies_all_is_delivered_once_and_in_order,
	    0, RUNS);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(feed_kept_suite)

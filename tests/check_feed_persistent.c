/*
 * Feeds that outlive their keepers: whenever one is dropped, the next goes on
 * from what was committed, and all is delivered once.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "feed_world.h"

#define SEEDS (RIG_SLOW ? 8 : 20)	/* of each run */
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
	w->from_mid_round += w->saved_mid_round;
	stream_feed_detach(w->feed);
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
	w->saved_mid_round = stream_feed_is_behind(w->feed);
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
	ck_assert_int_ge(stream_feed_pass(w->feed, ++w->now, some), 0);
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

/* A thread draws a ticket and stands there; another one draws the next. */
static void
stop_one_in_flight(struct world *w)
{
	struct world_actor *a = &w->actor[1];
	unsigned slot = 0, shard;

	while (w->is[0][slot] == WORLD_BUSY)
		slot++;
	shard = rec_shard(world_addr(w, slot));
	world_inflight(&w->actor[0], shard + 1);
	w->died[w->ndied++] = (uint64_t)shard << 32 | w->ticket[shard]++;
	world_compose(w, a, w->is[0][slot] == WORLD_LIVE ? REC_FREE : REC_ALLOC,
	    0, TYPE_MALLOC, world_addr(w, slot), 1);
	a->slot = slot;
	a->layer = 0;
	a->npayload = 0;
	a->undo = a->dies = false;
	a->step = 1;
	while (a->step != 0)
		world_step(w, a);
}

static void
run(struct world *w, unsigned steps)
{
	ck_assert(save(w));
	for (unsigned i = 0; i < steps; i += 10) {
		world_steps(w, 10);
		if (world_random(w, 6) == 0)
			keep(w);
	}
	w->in_pass = 0;
	settle(w);
	stop_one_in_flight(w);
	drain(w);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->held, 0);
	ck_assert_uint_ge(stream_feed_counts(w->feed)->owed, 1);
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
	unsigned from_mid_round = 0, pairs = 0;

	for (unsigned i = 0; i < SEEDS; i++) {
		uint64_t seed = (uint64_t)_i * SEEDS + i;
		struct world *w = world_new(seed);

		w->common_share = seed % 5 * 12;
		w->range_share = seed % 3;
		w->in_pass = 30;
		w->deaths = seed % 4 == 0 ? 30 : 6;
		run(w, seed % 10 == 0 ? 60000 : 6000);
		resumed += w->resumed;
		mid_round += w->mid_round;
		from_mid_round += w->from_mid_round;
		unsaved += w->unsaved;
		ungiven += w->ungiven;
		pairs += w->pairs;
		world_free(w);
	}
	ck_assert_uint_gt(resumed, 10 * SEEDS);
	ck_assert_uint_gt(mid_round, 0);
	ck_assert(from_mid_round > 0 || RIG_SLOW);
	ck_assert_uint_gt(unsaved, 0);
	ck_assert_uint_gt(ungiven, 0);
	ck_assert_uint_gt(pairs, SEEDS);
}
END_TEST

/* --- rules one by one ------------------------------------------------------ */

/* So many more records of the first thread. */
static void
make(struct world *w, unsigned n)
{
	uint32_t end = w->nmade + n;

	while (w->nmade < end || w->actor[0].step != 0)
		world_step(w, &w->actor[0]);
}

static uint64_t
first_tail(const struct world *w)
{
	return atomic_load(&w->keeper->tails[0].tail);
}

static uint32_t
keeper_state(const struct world *w)
{
	return atomic_load(&w->keeper->state);
}

START_TEST(room_is_given_back_by_a_commit_alone)
{
	struct world *w = world_new(1);

	make(w, 1500);
	pass(w, UINT64_MAX);
	ck_assert_uint_ge(w->sink.nlog, 1500);
	ck_assert_uint_eq(first_tail(w), 0);
	ck_assert(save(w));
	ck_assert_uint_eq(first_tail(w), 0);
	stream_feed_commit(w->feed);
	ck_assert_uint_eq(first_tail(w), w->actor[0].hand[0].head);
	world_free(w);
}
END_TEST

START_TEST(a_commit_is_of_what_had_been_saved)
{
	struct world *w = world_new(1);
	uint64_t saved;

	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	saved = w->actor[0].hand[0].head;
	make(w, 100);
	pass(w, UINT64_MAX);
	stream_feed_commit(w->feed);
	ck_assert_uint_eq(first_tail(w), saved);
	world_free(w);
}
END_TEST

/* Or the thread would clear what the next keeper looks at again. */
START_TEST(pairs_are_told_by_a_commit_as_they_were_saved)
{
	struct world *w = world_new(1);
	_Atomic uint32_t *pairs = &w->actor[0].hand[0].ring->pairs;
	const struct ring_tail *tail = &w->keeper->tails[0];
	uint32_t saved;

	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	saved = atomic_load(pairs);
	ck_assert_uint_gt(saved, 0);
	make(w, 100);
	ck_assert_uint_gt(atomic_load(pairs), saved);
	pass(w, UINT64_MAX);
	stream_feed_commit(w->feed);
	ck_assert_uint_eq(atomic_load(&tail->pairs), saved);
	world_free(w);
}
END_TEST

START_TEST(a_state_behind_which_room_was_given_is_stale)
{
	struct world *w = world_new(1);
	int fds[2] = { w->fds[0], w->fds[2] };
	struct stream_feed *feed = NULL;
	void *old;

	ck_assert(save(w));
	old = w->state[w->slot];
	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	stream_feed_commit(w->feed);
	ck_assert_int_eq(stream_feed_resume(&feed, fds, old, &world_sink_fns,
			     w), -ESTALE);
	ck_assert_ptr_null(feed);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_READY);
	world_free(w);
}
END_TEST

START_TEST(a_state_of_another_build_is_refused)
{
	struct world *w = world_new(1);
	int fds[2] = { w->fds[0], w->fds[2] };
	uint32_t *words = w->state[0];
	struct stream_feed *feed;

	ck_assert(stream_feed_save(w->feed, w->state[0]));
	/* magic, version, size */
	for (unsigned i = 0; i < 3; i++) {
		words[i]++;
		ck_assert_int_eq(stream_feed_resume(&feed, fds, w->state[0],
				     &world_sink_fns, w), -EINVAL);
		words[i]--;
	}
	world_free(w);
}
END_TEST

static int
resume_of(struct world *w, int ring, int keeper)
{
	struct stream_feed *feed;
	int fds[2] = { ring, keeper };

	return stream_feed_resume(&feed, fds, w->state[w->slot],
	    &world_sink_fns, w);
}

START_TEST(areas_that_are_not_ours_are_refused)
{
	struct world *w = world_new(1);
	int loose = memfd_create("loose", MFD_ALLOW_SEALING), plain[2];
	struct stream_feed *other;

	ck_assert(save(w));
	ck_assert_int_eq(ftruncate(loose,
			     (off_t)RING_ALIGN(ring_area_size())), 0);
	ck_assert_int_eq(resume_of(w, loose, w->fds[2]), -EINVAL);
	ck_assert_int_eq(resume_of(w, w->fds[2], w->fds[0]), -EINVAL);
	ck_assert_int_eq(resume_of(w, w->fds[0], w->fds[1]), -EINVAL);
	ck_assert_int_eq(resume_of(w, -1, -1), -EINVAL);
	ck_assert_int_eq(stream_feed_new(&other, plain, false, &world_sink_fns,
			     w), 0);
	ck_assert_int_eq(resume_of(w, w->fds[0], plain[1]), -EINVAL);
	ck_assert_int_eq(stream_feed_abandon(plain), -EINVAL);
	stream_feed_free(other);
	close(plain[0]);
	close(plain[1]);
	close(loose);
	world_free(w);
}
END_TEST

/* What any other user can do with the descriptor that a target is given. */
static int
try_as_another_user(int fd)
{
	char path[64];

	if (geteuid() == 0 && (setresuid(65534, 65534, 65534) != 0 ||
	    prctl(PR_SET_DUMPABLE, 1) != 0))
		return 1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (open(path, O_RDWR) >= 0 || errno != EACCES)
		return 2;
	return getuid() == 65534 && (fchmod(fd, 0600) == 0 || errno != EPERM) ?
	    3 : 0;
}

START_TEST(a_target_cannot_write_a_kept_keeper_area)
{
	size_t size = RING_ALIGN(sizeof(struct keeper_area));
	struct world *w = world_new(1);
	int status;
	pid_t pid;

	ck_assert_ptr_eq(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			     w->fds[1], 0), MAP_FAILED);
	ck_assert_int_eq(mprotect(w->keeper, size, PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(ftruncate(w->fds[1], 0), -1);
	ck_assert_int_eq(fcntl(w->fds[1], F_GET_SEALS), F_SEAL_SHRINK |
	    F_SEAL_GROW | F_SEAL_SEAL);
	pid = fork();
	if (pid == 0)
		_exit(try_as_another_user(w->fds[1]));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	world_free(w);
}
END_TEST

/* Who may write there after all spoils what he is told, and no keeper. */
START_TEST(a_keeper_reads_nothing_of_its_own_area)
{
	struct world *w = world_new(1);
	size_t size = RING_ALIGN(sizeof(struct keeper_area));
	uint64_t *words = rig_map(NULL, size, PROT_READ | PROT_WRITE,
	    w->fds[2]);

	for (int i = 0; i < 50; i++) {
		make(w, 20);
		for (size_t k = 0; k < size / sizeof(*words); k++)
			words[k] = UINT64_MAX;
		for (size_t k = 0; k <= RING_COUNT; k++)
			atomic_store(&((struct keeper_area *)(void *)words)
					  ->tails[k].tail,
			    atomic_load(&w->area->rings[k].head));
		pass(w, UINT64_MAX);
	}
	ck_assert_uint_eq(stream_feed_counts(w->feed)->records +
	    stream_feed_counts(w->feed)->held, w->sink.records);
	ck_assert_uint_ge(w->sink.nlog, 1000);
	munmap(words, size);
	world_free(w);
}
END_TEST

START_TEST(who_leaves_tells_the_target_nothing)
{
	struct world *w = world_new(1);
	int fds[2] = { w->fds[0], w->fds[2] };

	ck_assert(save(w));
	stream_feed_detach(w->feed);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_READY);
	ck_assert_int_eq(stream_feed_abandon(fds), 0);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_GONE);
	resume(w);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_READY);
	stream_feed_detach(NULL);
	world_free(w);
}
END_TEST

/* What is asked of the feed before and after it is saved, 0 to 1 each. */
static const struct arming {
	const char *before, *after;
	bool armed;
} armings[] = {
	{ "", "", true },
	{ "0", "", false },
	{ "01", "", true },
	{ "", "0", false },
	{ "", "01", false },
	{ "0", "1", false },
	{ "0", "10", false },
};

static void
arm(struct world *w, const char *how)
{
	for (; *how != '\0'; how++)
		stream_feed_arm(w->feed, *how == '1', ++w->now);
}

START_TEST(an_arming_that_was_not_saved_is_resumed_asleep)
{
	const struct arming *t = &armings[_i];
	struct world *w = world_new(1);
	size_t before;

	arm(w, t->before);
	ck_assert(save(w));
	arm(w, t->after);
	die(w);
	ck_assert_int_eq(stream_feed_is_armed(w->feed), t->armed);
	ck_assert_uint_eq(atomic_load(&w->keeper->armed), t->armed);
	ck_assert_int_eq(stream_feed_save(w->feed, w->state[0]), true);
	stream_feed_arm(w->feed, true, ++w->now);
	ck_assert_uint_eq(atomic_load(&w->keeper->armed), 1);
	before = w->sink.nlog;
	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert_uint_ge(w->sink.nlog, before + 100);
	world_free(w);
}
END_TEST

/* A millisecond that was published is not published again as an arming's. */
START_TEST(what_was_made_before_an_arming_is_void_after_a_death_too)
{
	struct world *w = world_new(1);
	int64_t later = (int64_t)atomic_load(&w->keeper->ms) + 5000;

	stream_feed_arm(w->feed, false, w->now);
	ck_assert(save(w));
	stream_feed_beat(w->feed, later);
	make(w, 100);
	die(w);
	stream_feed_arm(w->feed, true, later);
	w->now = later;
	pass(w, UINT64_MAX);
	ck_assert_uint_eq(w->sink.records, 0);
	ck_assert_uint_gt(stream_feed_counts(w->feed)->dormant, 80);
	world_free(w);
}
END_TEST

/* --- damage ---------------------------------------------------------------- */

static void
ignore_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)n;
	(void)near_ms;
}

static void
ignore_control(void *arg, const struct rec *r, int64_t near_ms)
{
	ignore_records(arg, r, 1, near_ms);
}

static void
ignore_lost(void *arg, unsigned cause, uint64_t count)
{
	(void)arg;
	(void)count;
	ck_assert(cause > 0 && cause < STREAM_CAUSES);
}

static const struct stream_sink ignore = {
	.records = ignore_records,
	.control = ignore_control,
	.lost = ignore_lost,
};

/* A state as it was saved, and where something stands in it. */
struct victim {
	uint64_t *words;
	uint32_t *at;			/* words that are not 0 */
	size_t nwords, nat;
	struct keeper_area *keeper;	/* writable */
	struct keeper_area as_it_was;
};

static void
victim_init(struct victim *v, const struct world *w)
{
	const uint64_t *state = w->state[w->slot];

	v->nwords = stream_feed_state_size() / sizeof(*v->words);
	v->words = calloc(v->nwords, sizeof(*v->words));
	v->at = calloc(v->nwords, sizeof(*v->at));
	ck_assert(v->words != NULL && v->at != NULL);
	/* Its first two words are what tells it from another's. */
	for (size_t i = 2; i < v->nwords; i++)
		if (state[i] != 0)
			v->at[v->nat++] = (uint32_t)i;
	v->keeper = rig_map(NULL, RING_ALIGN(sizeof(struct keeper_area)),
	    PROT_READ | PROT_WRITE, w->fds[2]);
	memcpy(&v->as_it_was, v->keeper, sizeof(v->as_it_was));
}

static void
victim_fini(struct victim *v)
{
	munmap(v->keeper, RING_ALIGN(sizeof(struct keeper_area)));
	free(v->words);
	free(v->at);
}

static void
victim_renew(struct victim *v, const struct world *w)
{
	const uint64_t *state = w->state[w->slot];

	memcpy(v->keeper, &v->as_it_was, sizeof(v->as_it_was));
	v->words[0] = state[0];
	v->words[1] = state[1];
	for (size_t i = 0; i < v->nat; i++)
		v->words[v->at[i]] = state[v->at[i]];
}

/* One of the words that say something. */
static void
damage(struct world *w, struct victim *v)
{
	static const uint64_t values[] = {
		0, 1, 64, 1000, 8192, UINT32_MAX, UINT64_C(1) << 47, UINT64_MAX,
	};
	size_t at = v->at[world_random(w, (uint32_t)v->nat)];
	uint64_t *word = &v->words[at];

	switch (world_random(w, 4)) {
	case 0:
		*word = values[world_random(w, 8)];
		break;
	case 1:
		*word ^= UINT64_C(1) << world_random(w, 64);
		break;
	case 2:
		*word += world_random(w, 3) - UINT64_C(1);
		break;
	default:
		*word = v->words[v->at[world_random(w, (uint32_t)v->nat)]];
		break;
	}
}

/* Says whether it could be resumed at all. */
static bool
survives(struct world *w, const void *state)
{
	int fds[2] = { w->fds[0], w->fds[2] };
	struct stream_feed *feed;

	if (stream_feed_resume(&feed, fds, state, &ignore, NULL) != 0)
		return false;
	for (int i = 0; i < 3; i++)
		(void)stream_feed_pass(feed, ++w->now, 500);
	if (!stream_feed_is_behind(feed))
		(void)stream_feed_save(feed, w->state[w->slot == 0]);
	(void)stream_feed_finish(feed, ++w->now);
	stream_feed_detach(feed);
	return true;
}

START_TEST(a_damaged_state_ends_in_an_error_or_in_a_feed)
{
	unsigned survived = 0, rounds = RIG_SLOW ? 100 : 1500;
	struct world *w = world_new((uint64_t)_i);
	struct victim v = { .nat = 0 };

	w->range_share = 10;
	for (unsigned i = 0; i < 3000; i++)
		world_step(w, &w->actor[world_random(w, WORLD_ACTORS)]);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	victim_init(&v, w);
	victim_renew(&v, w);
	ck_assert(survives(w, v.words));
	for (unsigned i = 0; i < rounds; i++) {
		victim_renew(&v, w);
		for (unsigned n = world_random(w, 3); n <= 2; n++)
			damage(w, &v);
		survived += survives(w, v.words);
	}
	ck_assert_uint_gt(survived, 0);
	ck_assert_uint_lt(survived, rounds);
	victim_fini(&v);
	world_free(w);
}
END_TEST

Suite *
feed_persistent_suite(void)
{
	Suite *s = suite_create("feed_persistent");
	TCase *tc;

	tc = tcase_create("Deaths");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, whoever_dies_all_is_delivered_once_and_in_order,
	    0, RUNS);
	suite_add_tcase(s, tc);

	tc = tcase_create("Rules");
	tcase_add_test(tc, room_is_given_back_by_a_commit_alone);
	tcase_add_test(tc, a_commit_is_of_what_had_been_saved);
	tcase_add_test(tc, pairs_are_told_by_a_commit_as_they_were_saved);
	tcase_add_test(tc, a_state_behind_which_room_was_given_is_stale);
	tcase_add_test(tc, a_state_of_another_build_is_refused);
	tcase_add_test(tc, a_keeper_reads_nothing_of_its_own_area);
	tcase_add_test(tc, who_leaves_tells_the_target_nothing);
	tcase_add_loop_test(tc, an_arming_that_was_not_saved_is_resumed_asleep,
	    0, sizeof(armings) / sizeof(armings[0]));
	tcase_add_test(tc,
	    what_was_made_before_an_arming_is_void_after_a_death_too);
	suite_add_tcase(s, tc);

	tc = tcase_create("Areas");
	tcase_set_tags(tc, TAG_KERNEL);
	tcase_add_test(tc, areas_that_are_not_ours_are_refused);
	tcase_add_test(tc, a_target_cannot_write_a_kept_keeper_area);
	suite_add_tcase(s, tc);

	tc = tcase_create("Damage");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, a_damaged_state_ends_in_an_error_or_in_a_feed,
	    0, 3);
	suite_add_tcase(s, tc);
	return s;
}

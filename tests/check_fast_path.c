/*
 * The fast path of an event: its area alone says whether it is logged, unless
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

	ck_assert(produce_rejoin(rig->area, rig->keeper, stream));
}

/* No producer can be of an area that no keeper has made. */
static bool
takes_fast_path(void)
{
	const struct keeper_area *way = produce_fast_area();

	return way != NULL && (produce_area_asleep(way) ||
	    atomic_load(&way->magic) == RING_MAGIC);
}

CASE("gate", .teardown = end_all, .seconds = 60);

TEST(before_a_hello_no_event_takes_the_fast_path)
{
	ck_assert(!takes_fast_path());
}

TEST(the_area_is_the_one_that_is_armed)
{
	struct rig *rig = attach();
	const struct keeper_area *way = produce_fast_area();

	ck_assert_ptr_nonnull(way);
	ck_assert(produce_area_armed(way));
	stream_feed_arm(rig->feed, false, rig->now);
	ck_assert(!produce_area_armed(way));
	stream_feed_arm(rig->feed, true, rig->now);
	ck_assert(produce_area_armed(way));
}

TEST(a_producer_is_of_its_own_era_only)
{
	struct producer p = { 0 }, nobody = { 0 };

	attach();
	produce_open(&p, 1);
	ck_assert_ptr_eq(p.keeper, produce_fast_area());
	ck_assert_ptr_ne(nobody.keeper, produce_fast_area());
	begin_era(2);
	ck_assert_ptr_ne(p.keeper, produce_fast_area());
	ck_assert(produce_leave_era(&p));
	produce_open(&p, 1);
	ck_assert_ptr_eq(p.keeper, produce_fast_area());
}

TEST(a_sampling_process_never_takes_the_fast_path)
{
	struct rig *rig = with(rig_new(false));

	stream_feed_want_sample(rig->feed, 4096);
	produce_attach(rig->area, rig->keeper, 1);
	ck_assert(produce_attached());
	ck_assert(!takes_fast_path());
}

TEST(a_bootstrap_block_closes_the_fast_path_of_the_era)
{
	attach();
	ck_assert(takes_fast_path());
	produce_bootstrap_block();
	ck_assert(!takes_fast_path());
	produce_bootstrap_freed();
	ck_assert(!takes_fast_path());
	begin_era(2);
	ck_assert(takes_fast_path());
}

TEST(an_era_that_begins_with_a_bootstrap_block_has_no_fast_path)
{
	produce_bootstrap_block();
	produce_bootstrap_block();
	produce_bootstrap_freed();
	attach();
	ck_assert(!takes_fast_path());
	begin_era(2);
	ck_assert(!takes_fast_path());
}

TEST(a_gate_that_a_fork_shuts_closes_the_fast_path_until_it_opens)
{
	struct produce_gate *gate;

	ck_assert_ptr_null(produce_own_gate());
	attach();
	gate = produce_own_gate();
	produce_shut_gate(gate, 2);
	ck_assert(!takes_fast_path());
	begin_era(2);
	ck_assert(!takes_fast_path());
	atomic_store(&gate->shut, 0);
	produce_open_gate(gate);
	ck_assert(takes_fast_path());
	produce_shut_gate(gate, 6);
	produce_bootstrap_block();
	atomic_store(&gate->shut, 0);
	produce_open_gate(gate);
	ck_assert(!takes_fast_path());
}

TEST(gate_that_a_parent_has_shut_is_open_in_its_child)
{
	struct rig *own;
	int status;
	pid_t pid;

	attach();
	produce_shut_gate(produce_own_gate(), 2);
	produce_count_passed();
	pid = fork();
	if (pid == 0) {
		if (produce_own_gate() != NULL || produce_passed() != 1)
			_exit(1);
		own = rig_new(false);
		produce_attach(own->area, own->keeper, 2);
		_exit(takes_fast_path() ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

TEST(a_call_that_goes_on_is_kept_when_its_producer_is_opened_anew)
{
	struct producer p = { 0 };

	attach();
	produce_open(&p, 1);
	p.inside = 0x7000;
	begin_era(2);
	ck_assert(produce_leave_era(&p));
	ck_assert_uint_eq(p.inside, 0x7000);
}

TEST(a_forked_child_looks_closer_until_it_has_said_hello)
{
	struct rig *own;
	int status;
	pid_t pid;

	attach();
	ck_assert(takes_fast_path());
	pid = fork();
	if (pid == 0) {
		if (takes_fast_path())
			_exit(1);
		own = rig_new(false);
		produce_attach(own->area, own->keeper, 2);
		_exit(takes_fast_path() ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

TEST(without_a_node_nothing_is_logged_and_bootstrap_blocks_count)
{
	produce_disable();
	ck_assert(takes_fast_path());
	ck_assert(!produce_area_armed(produce_fast_area()));
	produce_bootstrap_block();
	ck_assert(!takes_fast_path());
}

TEST(after_the_keeper_has_left_no_event_is_fast_or_asleep)
{
	struct rig *rig = attach();

	/* There the target has the feed's own mapping, which goes with it. */
	if (RIG_TSAN)
		return;
	stream_feed_arm(rig->feed, false, rig->now);
	ck_assert(!produce_keeper_left() && produce_asleep() && takes_fast_path());
	stream_feed_free(rig->feed);
	rig->feed = NULL;
	ck_assert(!produce_wanted());
	ck_assert(produce_keeper_left());
	ck_assert(!takes_fast_path() && !produce_asleep());
	ck_assert_ptr_null(produce_unsampled_area());
	begin_era(2);
	ck_assert(!produce_keeper_left() && takes_fast_path() && produce_wanted());
}

/* --- two at once ----------------------------------------------------------- */

#define TIMES (RIG_SLOW ? 20000 : 1000000)

static _Atomic bool end;

static void *
open_again(void *arg)
{
	while (!atomic_load(&end))
		produce_disable();
	return arg;
}

TEST(no_event_is_fast_while_there_is_a_bootstrap_block)
{
	const struct keeper_area *way;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, open_again, NULL), 0);
	for (int i = 0; i < TIMES; i++) {
		produce_bootstrap_block();
		for (int k = 0; k < 10; k++) {
			way = produce_fast_area();
			ck_assert(way == NULL || produce_area_armed(way));
		}
		produce_bootstrap_freed();
	}
	atomic_store(&end, true);
	pthread_join(thread, NULL);
}

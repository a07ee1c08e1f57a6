/*
 * A target whose keeper is gone goes over to another, while its threads go on
 * and handlers interrupt them.  Keepers are feeds in this process; one that has
 * died is one that makes no more passes.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "../src/alloclog/produce/keeper_watch.h"
#include "../src/alloclog/unwind/unwind.h"
#include "feed_rig.h"

#if RIG_TSAN
void AnnotateIgnoreWritesBegin(const char *, int);
void AnnotateIgnoreWritesEnd(const char *, int);
void *__interceptor_mmap64(void *, size_t, int, int, int, off_t);
void *mmap64(void *, size_t, int, int, int, off_t);

/*
 * A mapping over another is a write of all of it to the sanitizer, which it is
 * not to the threads that read there: they see the one or the other.
 */
void *
mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p;

	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	p = __interceptor_mmap64(at, size, prot, flags, fd, offset);
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	return p;
}
#endif

/* --- a keeper after another ------------------------------------------------ */

static struct rig *
rig_again(struct rig *old, uint64_t stream)
{
	struct rig *rig = rig_next();

	ck_assert(produce_rejoin(rig->area, rig->keeper, stream));
	if (old != NULL)
		rig_forget(old);
	return rig;
}

/*
 * What the hooks do before an event: false when nobody wants it, and in a
 * handler that comes while the thread changes over.
 */
static bool
ready(struct producer *p, uint32_t tid)
{
	static _Thread_local volatile bool opening;
	bool left = true;

	if (opening)
		return false;
	if (produce_armed(p))
		return true;
	if (!produce_wanted())
		return false;
	opening = true;
	if (!produce_current(p)) {
		left = produce_leave_era(p);
		if (left)
			produce_open(p, tid);
	}
	opening = false;
	return left;
}

static void
expect_nothing_missing(struct rig *rig)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->duplicates, 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
}

/* --- under load ------------------------------------------------------------ */

#define THREADS 8
#define ROUNDS (RIG_SLOW ? 16 : 200)
#define CELLS 512
#define PER_ROUND 4000			/* records, before the next keeper dies */
#define LOOK_EVERY (PRODUCE_ERAS - 1)	/* rounds: nobody is in an event for longer */
#define AHEAD_MAX 1500			/* records, less than any ring holds */

static struct {
	struct rig *rig;
	_Atomic unsigned round;		/* of the keeper that all events go to */
	_Atomic bool taken[RIG_SLOTS];
	_Atomic unsigned since[RIG_SLOTS];	/* round in which a slot's event began */
	_Atomic uint32_t cells[CELLS];	/* slot + 1, or 0 */
	_Atomic int64_t ahead;		/* of the keeper, in records */
	_Atomic bool stop, end;
	pthread_barrier_t barrier;
} world;

static _Thread_local struct producer self;
static _Thread_local struct producer *own;	/* NULL: goes by the common ring */
static _Thread_local uint32_t own_tid;
static _Thread_local volatile unsigned handler_slot;	/* 0 not known yet */

/* No ring gets full, however slow the machine makes the keeper. */
static void
keep_step(void)
{
	atomic_fetch_add(&world.ahead, 1);
	while (atomic_load(&world.ahead) > AHEAD_MAX &&
	    !atomic_load(&world.stop))
		sched_yield();
}

static void
alloc(unsigned slot)
{
	unsigned round;

	keep_step();
	round = atomic_load(&world.round);
	if (own == NULL ? produce_wanted() : ready(own, own_tid))
		produce_alloc(own, rig_addr(slot), 16, 0, TYPE_MALLOC, 0, 0);
	atomic_store(&world.since[slot], round);
}

static void
give_back(unsigned slot)
{
	keep_step();
	if (own == NULL ? produce_wanted() : ready(own, own_tid))
		produce_free(own, rig_addr(slot), TYPE_FREE, 0, 0);
	atomic_store(&world.taken[slot], false);
}

/* A handler has slots of its own, one for each thread. */
static void
log_pair(void)
{
	bool ours = own == NULL ? produce_wanted() : ready(own, own_tid);

	/* In the middle of an event of the era before: by the common ring. */
	if (!ours && !produce_wanted())
		return;
	produce_alloc(ours ? own : NULL, rig_addr(handler_slot), 16, 0,
	    TYPE_MALLOC, 0, 0);
	produce_free(ours ? own : NULL, rig_addr(handler_slot), TYPE_FREE, 0,
	    0);
}

/* The hooks keep errno, who are not here. */
static void
tick(int sig)
{
	int saved = errno;

	(void)sig;
	/* One may come before its thread has got that far. */
	if (handler_slot != 0)
		log_pair();
	errno = saved;
}

static void *
work(void *arg)
{
	uint64_t seed = 1 + (uintptr_t)arg * UINT64_C(1000003);
	unsigned n = (unsigned)(uintptr_t)arg;

	own_tid = (uint32_t)gettid();
	own = n % 4 == 3 ? NULL : &self;
	handler_slot = RIG_SLOTS - 1 - n;
	while (!atomic_load_explicit(&world.end, memory_order_relaxed)) {
		unsigned slot;
		uint32_t old;

		if (atomic_load(&world.stop)) {
			pthread_barrier_wait(&world.barrier);
			pthread_barrier_wait(&world.barrier);
		}
		seed = seed * UINT64_C(6364136223846793005) + 1;
		slot = (unsigned)(seed >> 33) % (RIG_SLOTS - THREADS);
		if (atomic_exchange(&world.taken[slot], true))
			continue;
		alloc(slot);
		old = atomic_exchange(&world.cells[(seed >> 50) % CELLS],
		    slot + 1);
		if (old != 0)
			give_back(old - 1);
	}
	produce_close(&self);
	return NULL;
}

/* What its events began with this keeper is listed, and nothing that is gone. */
static void
compare(struct rig *rig)
{
	unsigned round = atomic_load(&world.round), must = 0;

	expect_nothing_missing(rig);
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++) {
		bool taken = atomic_load(&world.taken[slot]);

		if (taken && atomic_load(&world.since[slot]) == round) {
			ck_assert_uint_eq(rig->live[0][slot], 1);
			must++;
		}
		if (!taken)
			ck_assert_uint_eq(rig->live[0][slot], 0);
	}
	ck_assert_uint_gt(must, 0);
}

static void
keep(void)
{
	uint64_t before = world.rig->records;

	ck_assert_int_ge(rig_pass(world.rig), 0);
	atomic_fetch_sub(&world.ahead,
	    (int64_t)(world.rig->records - before));
}

static void
interrupt(pthread_t *threads)
{
	for (unsigned i = 0; i < THREADS; i++)
		pthread_kill(threads[i], SIGUSR1);
}

CASE("under load", .seconds = 200);

LOOP_TEST(each_keeper_is_told_all_from_its_first_record_on, 0, 2)
{
	struct sigaction sa = { .sa_handler = tick, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS];

	sigaction(SIGUSR1, &sa, NULL);
	pthread_barrier_init(&world.barrier, NULL, THREADS + 1);
	world.rig = rig_attached(false);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work,
				     (void *)i), 0);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		while (world.rig->records < PER_ROUND) {
			keep();
			if (_i == 1)
				interrupt(threads);
		}
		if (round % LOOK_EVERY == 0) {
			atomic_store(&world.stop, true);
			pthread_barrier_wait(&world.barrier);
			compare(world.rig);
			atomic_store(&world.stop, false);
			pthread_barrier_wait(&world.barrier);
		}
		world.rig = rig_again(world.rig, round + 1);
		atomic_store(&world.round, round);
		atomic_store(&world.ahead, 0);
	}
	atomic_store(&world.end, true);
	atomic_store(&world.ahead, INT64_MIN / 2);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	compare(world.rig);
	rig_forget(world.rig);
}

/* --- one thread, step by step ---------------------------------------------- */

CASE("steps", .seconds = 30);

/* Its thread was stopped between its look at the gate and its place in a ring. */
TEST(an_event_of_the_era_before_is_nobodys)
{
	struct rig *first = rig_attached(false), *rig;
	struct producer p = { 0 }, stale;

	produce_open(&p, 1);
	alloc_many(&p, 10);
	stale = p;
	rig = rig_again(NULL, 2);
	produce_alloc(&p, rig_addr(1), 16, 0, TYPE_MALLOC, 0, 0);
	/* By the long way, where its ring is looked at. */
	stale.limit = 0;
	produce_alloc(&stale, rig_addr(2), 16, 0, TYPE_MALLOC, 0, 0);
	produce_failed(&stale, 1, TYPE_MALLOC, 0, 0);
	produce_control(&stale, REC_CTL_STOP, 0, 0);
	produce_range(&stale, rig_addr(0), 64, 0);
	ck_assert(!produce_current(&p));
	ck_assert(ready(&p, 1));
	alloc_many(&p, 7);
	expect_nothing_missing(rig);
	ck_assert_uint_eq(rig->records, 7);
	ck_assert_uint_eq(rig->allocs, 7);
	ck_assert_uint_eq(rig->controls, 1);
	ck_assert_int_eq(rig_pass(first), -EPROTO);
	rig_forget(first);
	rig_forget(rig);
}

/* It was given its index by the keeper before. */
TEST(a_thread_of_the_era_before_has_no_index)
{
	struct rig *rig;
	struct producer p = { 0 };

	rig = rig_attached(false);
	for (unsigned i = 0; i < 3; i++) {
		p = (struct producer) { 0 };
		produce_open(&p, 1);
	}
	ck_assert_uint_eq(p.thread, 3);
	rig = rig_again(rig, 2);
	p.ring = NULL;
	produce_alloc(&p, rig_addr(1), 16, 0, TYPE_MALLOC, 0, 0);
	expect_nothing_missing(rig);
	ck_assert_uint_eq(rig->records, 1);
	ck_assert_uint_eq(rec_thread(&rig->log[0]), 0);
	rig_forget(rig);
}

TEST(a_thread_that_is_in_flight_does_not_go_over)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	struct ring_head *ring;

	produce_open(&p, 1);
	ring = p.ring;
	atomic_store(&ring->inflight, 1);
	rig = rig_again(rig, 2);
	ck_assert(!ready(&p, 1));
	ck_assert_ptr_eq(p.ring, ring);
	atomic_store(&ring->inflight, 0);
	ck_assert(ready(&p, 1));
	ck_assert_ptr_ne(p.ring, ring);
	expect_nothing_missing(rig);
	rig_forget(rig);
}

/* The ring that has its place by then may be another thread's. */
TEST(a_thread_that_ends_late_gives_no_ring_back)
{
	struct rig *rig = rig_attached(false);
	struct producer p[2] = { { 0 } };

	produce_open(&p[0], 1);
	for (unsigned i = 0; i < PRODUCE_ERAS; i++)
		rig = rig_again(rig, i + 2);
	produce_open(&p[1], 2);
	if (!RIG_TSAN)
		ck_assert_ptr_eq(p[0].ring, p[1].ring);
	produce_close(&p[0]);
	ck_assert_uint_eq(atomic_load(&p[1].ring->owner), 2);
	rig_forget(rig);
}

TEST(a_stack_keeps_its_number)
{
	static const uint64_t frames[] = { 0x1000, 0x2000, 0x3000 };
	struct rig *rig = rig_attached(false);
	uint32_t no = sites_put(frames, 3, RING_END_OUTERMOST), hole;
	const uint64_t *kept;
	enum ring_end end;
	unsigned depth;

	/* A writer that has been stopped. */
	hole = atomic_fetch_add(&rig->area->sites, 1);
	rig = rig_again(rig, 2);
	kept = sites_get(no, &depth, &end);
	ck_assert_ptr_nonnull(kept);
	ck_assert_uint_eq(depth, 3);
	ck_assert_mem_eq(kept, frames, sizeof(frames));
	ck_assert_uint_eq(sites_put(frames, 3, RING_END_OUTERMOST), no);
	kept = sites_get(hole, &depth, &end);
	ck_assert_ptr_nonnull(kept);
	ck_assert_uint_eq(depth, 1);
	ck_assert_uint_eq(kept[0], 0);
	ck_assert_uint_gt(sites_put(frames, 2, RING_END_DEPTH), hole);
	/* And the keeper takes all of them. */
	for (uint32_t i = no; i <= hole + 1; i++)
		produce_alloc(NULL, rig_addr(i), 16, 0, TYPE_MALLOC, 0,
		    rec_site_caller(i));
	expect_nothing_missing(rig);
	ck_assert_uint_eq(rig->records, hole + 2 - no);
	rig_forget(rig);
}

TEST(a_child_writes_into_no_area_of_its_parents)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	int status;
	pid_t pid;

	produce_open(&p, 1);
	rig = rig_again(rig, 2);
	pid = fork();
	if (pid == 0) {
		if (produce_attached() || produce_stream() != 2)
			_exit(1);
		produce_orphan();
		atomic_store(&rig->area->far_addresses, 1);
		atomic_store(&p.ring->dropped, 1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(atomic_load(&rig->area->far_addresses), 0);
	ck_assert_uint_eq(atomic_load(&p.ring->dropped), 0);
	rig_forget(rig);
}

/* --- when ------------------------------------------------------------------ */

static unsigned calls;

static void
call(void)
{
	calls++;
}

CASE("when", .seconds = 60);

TEST(while_the_heart_beats_nobody_is_called)
{
	struct rig *rig = rig_attached(false);

	atomic_store(&keeper_watch_callback, call);
	for (unsigned i = 0; i < 100000; i++) {
		if (i % 100 == 0)
			stream_feed_beat(rig->feed, ++rig->now);
		produce_check_keeper(NULL);
	}
	ck_assert_uint_eq(calls, 0);
	ck_assert(!keeper_watch_gone());
	rig_forget(rig);
}

TEST(a_heart_that_stands_still_is_noticed_by_whose_ring_is_full)
{
	struct rig *rig = rig_attached(true);
	struct producer p = { 0 };

	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 0);
	take_large_rings(rig->area);
	atomic_store(&keeper_watch_callback, call);
	produce_open(&p, 1);
	while (calls == 0)
		alloc_many(&p, 1000);
	ck_assert(keeper_watch_gone());
	/* And not once more for the next event. */
	alloc_many(&p, 1000);
	ck_assert_uint_eq(calls, 1);
	rig_forget(rig);
}

/* Of ten records in ten seconds, say: each, or nearly so. */
TEST(who_logs_little_looks_at_the_keeper_about_as_often_as_others)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	uint64_t head;

	produce_open(&p, 1);
	alloc_many(&p, 100);
	for (unsigned looks = 0; looks < 20; looks++) {
		head = atomic_load(&p.ring->head);
		/* As if the last look had been that long ago. */
		p.looked_ms -= 10000;
		p.looked_at = head - 10;
		p.limit = head;
		alloc_many(&p, 1);
		ck_assert_uint_gt(p.limit, head);
		ck_assert_uint_le(p.limit, head + 2);
		rig_pass(rig);
	}
	/* And one who logs much goes on as it did. */
	p.looked_at = atomic_load(&p.ring->head) - 100000;
	p.limit = 0;
	alloc_many(&p, 1);
	ck_assert_uint_gt(p.limit, atomic_load(&p.ring->head) + 100);
	rig_forget(rig);
}

TEST(a_keeper_that_says_so_is_gone_at_once)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };

	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 0);
	produce_open(&p, 1);
	atomic_store(&keeper_watch_callback, call);
	atomic_store(&rig->area->magic, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	atomic_store(&p.ring->inflight, 1);
	produce_check_keeper(&p);
	ck_assert_uint_eq(calls, 0);
	atomic_store(&p.ring->inflight, 0);
	produce_check_keeper(&p);
	ck_assert_uint_eq(calls, 1);
	rig_forget(rig);
}

/* It says nothing to nobody, for that may be what it is killed for. */
LOOP_TEST(a_target_that_is_not_known_to_be_free_does_nothing, 0, 3)
{
	static const enum ring_sandbox words[] = { RING_SANDBOX_UNKNOWN,
		RING_SANDBOX_LOCKED, RING_SANDBOX_FREE };
	struct rig *rig = rig_attached(false);
	unsigned want = words[_i] == RING_SANDBOX_FREE;

	stream_feed_sandbox(rig->feed, words[_i], 0);
	ck_assert_int_eq(produce_sandbox(), words[_i]);
	atomic_store(&keeper_watch_callback, call);
	atomic_store(&rig->area->magic, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	produce_check_keeper(NULL);
	ck_assert_uint_eq(calls, want);
	rig_forget(rig);
}

/* Two may have begun before it or just after, and a heart is no look. */
TEST(a_child_of_who_locks_itself_in_waits_for_three_looks)
{
	struct rig *rig = rig_attached(false);

	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 7);
	ck_assert(keeper_watch_child_may_join());
	keeper_watch_sandbox();
	ck_assert(!keeper_watch_child_may_join());
	stream_feed_beat(rig->feed, 20000);
	ck_assert(!keeper_watch_child_may_join());
	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 9);
	ck_assert(!keeper_watch_child_may_join());
	stream_feed_sandbox(rig->feed, RING_SANDBOX_LOCKED, 10);
	ck_assert(!keeper_watch_child_may_join());
	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 10);
	ck_assert(keeper_watch_child_may_join());
	/* Nor is this one locked in for its own children. */
	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 0);
	ck_assert(keeper_watch_child_may_join());
	keeper_watch_sandbox();
	ck_assert(!keeper_watch_child_may_join());
	rig_forget(rig);
}

/* Its parent's keeper looks at its parent. */
TEST(a_child_that_locks_itself_in_before_its_hello_says_none)
{
	struct rig *rig = rig_attached(false);
	int status;
	pid_t pid;

	stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 0);
	pid = fork();
	if (pid == 0) {
		keeper_watch_sandbox();
		stream_feed_sandbox(rig->feed, RING_SANDBOX_FREE, 1000);
		_exit(keeper_watch_child_may_join());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	rig_forget(rig);
}

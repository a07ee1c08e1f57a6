/*
 * Keepers that are killed: a target of several threads beside processes that
 * drain it one after the other, each ended by SIGKILL wherever it happens to
 * be.  What they have committed between them is every event, once, in order.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "feed_rig.h"
#include "../src/base/base.h"

#define KILLS (RIG_SLOW ? 60 : 300)
#define LOG_MAX (1u << 23)
#define LOG_ENOUGH (1u << 21)
#define THREADS 5			/* the last has no ring */
#define CELLS 200
#define AHEAD_MAX 1500			/* less than any ring holds: nothing is lost */
#define LIFE 3000			/* events between two births of a thread */

struct commit {
	uint64_t nlog;
	uint64_t lost[STREAM_CAUSES];
};

/* Between all of the processes. */
struct shared {
	_Atomic unsigned slot;		/* which commit counts */
	struct commit commits[2];
	_Atomic bool ending;		/* the target is to come to its end */
	_Atomic uint64_t made;
	_Atomic bool taken[RIG_SLOTS];
	_Atomic uint32_t cells[CELLS];	/* slot + 1 of a live block, or 0 */
	struct rec log[LOG_MAX];
};

static struct shared *shared;
static void *state[2];
static int fds[3];
static struct stream_feed *feed;
static struct commit now;

static uint32_t
draw_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(*seed >> 33);
}

/* --- the target ----------------------------------------------------------- */

struct worker {
	uint64_t seed;
	unsigned index;
	struct producer *producer;	/* on a page that fork wipes */
	pthread_t thread;
};

static void
keep_step(void)
{
	while (atomic_load(&shared->made) -
	    shared->commits[atomic_load(&shared->slot)].nlog > AHEAD_MAX)
		sched_yield();
	atomic_fetch_add(&shared->made, 1);
}

static void
give_back(struct producer *p, unsigned slot, unsigned type)
{
	keep_step();
	produce_free(p, rig_addr(slot), type, 0, 0);
}

/* A block begins; perhaps it is to move and cannot; another one ends. */
static void
replace(struct worker *me)
{
	unsigned slot = draw_random(&me->seed) % RIG_SLOTS;
	struct producer *p = me->producer;
	uint32_t old;

	if (atomic_exchange(&shared->taken[slot], true))
		return;
	keep_step();
	produce_alloc(p, rig_addr(slot), 16, 24, TYPE_MALLOC, 0, 0);
	if (slot % 8 == 0) {
		give_back(p, slot, TYPE_BY_REALLOC);
		keep_step();
		produce_undo(p, rig_addr(slot), 0, 0);
	} else if (slot % 64 == 1) {
		keep_step();
		produce_failed(p, 100, TYPE_MALLOC, 0, 0);
	}
	old = atomic_exchange(&shared->cells[draw_random(&me->seed) % CELLS],
	    slot + 1);
	if (old != 0) {
		give_back(p, old - 1, TYPE_FREE);
		atomic_store(&shared->taken[old - 1], false);
	}
}

static void *
work(void *arg)
{
	struct worker *me = arg;

	while (!atomic_load(&shared->ending)) {
		if (me->index < THREADS - 1)
			produce_open(me->producer, (uint32_t)gettid());
		for (unsigned i = 0; i < LIFE &&
		     !atomic_load(&shared->ending); i++)
			replace(me);
		produce_close(me->producer);
	}
	return NULL;
}

static void
target(void)
{
	static struct producer producers[THREADS];
	struct worker workers[THREADS];
	struct ring_area *area = rig_map(NULL, RING_ALIGN(ring_area_size()),
	    PROT_READ | PROT_WRITE, fds[0]);

	produce_attach(area, rig_map(NULL,
	    RING_ALIGN(sizeof(struct keeper_area)), PROT_READ, fds[1]), 1);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.seed = i + 1,
			.index = i,
			.producer = &producers[i],
		};
		if (pthread_create(&workers[i].thread, NULL, work,
			&workers[i]) != 0)
			_exit(1);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	_exit(0);
}

/* --- its keepers ---------------------------------------------------------- */

static void
log_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)near_ms;
	if (n > LOG_MAX - now.nlog)
		_exit(2);
	memcpy(&shared->log[now.nlog], r, n * sizeof(*r));
	now.nlog += n;
}

static void
log_control(void *arg, const struct rec *r, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)near_ms;
}

static void
log_lost(void *arg, unsigned cause, uint64_t count)
{
	(void)arg;
	now.lost[cause] += count;
}

static const struct stream_sink log_sink = {
	.records = log_records,
	.control = log_control,
	.lost = log_lost,
};

static void
commit(void)
{
	unsigned slot = !atomic_load(&shared->slot);

	if (!stream_feed_save(feed, state[slot]))
		return;
	shared->commits[slot] = now;
	atomic_store(&shared->slot, slot);
	stream_feed_commit(feed);
}

static int
take_over(void)
{
	unsigned slot = atomic_load(&shared->slot);
	const int both[2] = { fds[0], fds[2] };

	now = shared->commits[slot];
	return stream_feed_resume(&feed, both, state[slot], &log_sink, NULL);
}

static void
keep(unsigned kill)
{
	uint64_t seed = kill;

	int err = take_over();

	if (err != 0)
		_exit(-err);
	for (;;) {
		uint64_t some = draw_random(&seed) % 3 == 0 ?
		    UINT64_MAX : 1 + draw_random(&seed) % 400;

		if (stream_feed_pass(feed, mono_ms(mono_now()), some) < 0)
			_exit(3);
		if (draw_random(&seed) % 2 == 0)
			commit();
	}
}

/* --- the rule ------------------------------------------------------------- */

static void *
shared_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/* Each address is allocated and freed in turn, an undoing is an allocation. */
static void
check_log(void)
{
	static bool live[RIG_SLOTS];

	for (uint64_t i = 0; i < now.nlog; i++) {
		const struct rec *r = &shared->log[i];
		unsigned slot = (unsigned)((rec_addr(r) - RIG_BASE) / 16);

		if (rec_level(r) == REC_LEVEL_FAILED)
			continue;
		ck_assert_uint_lt(slot, RIG_SLOTS);
		ck_assert_int_eq(live[slot], rec_op(r) == REC_FREE);
		live[slot] = !live[slot];
	}
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++)
		ck_assert_int_eq(live[slot], shared->taken[slot]);
}

static void
finish(void)
{
	ck_assert_int_eq(take_over(), 0);
	ck_assert_int_ge(stream_feed_finish(feed, mono_ms(mono_now())), 0);
	ck_assert_uint_eq(now.nlog, shared->made);
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(now.lost[c], 0);
	ck_assert_uint_eq(stream_feed_counts(feed)->records, now.nlog);
	check_log();
	stream_feed_free(feed);
}

CASE("Kills", .seconds = 120, .tags = TAG_KERNEL);

TEST(whatever_kills_a_keeper_no_event_is_lost_or_counted_twice)
{
	unsigned kills = 0, progress = 0;
	uint64_t seed = 4711;
	pid_t pid, keeper;
	int status;

	shared = shared_map(sizeof(*shared));
	state[0] = shared_map(stream_feed_state_size());
	state[1] = shared_map(stream_feed_state_size());
	ck_assert_int_eq(stream_feed_new_persistent(&feed, fds, false, &log_sink,
			     NULL), 0);
	stream_feed_hold(feed);
	commit();
	stream_feed_detach(feed);
	if ((pid = fork()) == 0)
		target();
	for (bool last = false; !last; kills++) {
		uint64_t before = shared->commits[shared->slot].nlog;

		if ((keeper = fork()) == 0)
			keep(kills);
		/* Some are not killed before they have come to something. */
		while (kills % 3 == 0 && shared->commits[shared->slot].nlog ==
		    before)
			sched_yield();
		usleep(draw_random(&seed) % 4000);
		/* The last one sees the target to its end. */
		last = kills + 1 == KILLS ||
		    shared->commits[shared->slot].nlog > LOG_ENOUGH;
		if (last) {
			atomic_store(&shared->ending, true);
			ck_assert_int_eq(waitpid(pid, &status, 0), pid);
			ck_assert_int_eq(status, 0);
		}
		kill(keeper, SIGKILL);
		ck_assert_int_eq(waitpid(keeper, &status, 0), keeper);
		ck_assert_int_eq(status, SIGKILL);	/* else how it failed */
		progress += shared->commits[shared->slot].nlog > before;
	}
	ck_assert_uint_gt(kills, 10);
	ck_assert_uint_ge(progress, kills / 3);
	finish();
}

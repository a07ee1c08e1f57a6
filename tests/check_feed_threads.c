/*
 * The order of a feed under real threads.  An allocator is played by an array
 * of slots: an allocation takes a slot and then draws its ticket, a free draws
 * its ticket and then gives the slot back, and blocks go from thread to thread.
 * Whatever the threads do, the sink must see each address allocated and freed
 * in turn, and at the end exactly what is still taken.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "feed_rig.h"

#define EVENTS (RIG_SLOW ? 40000 : check_is_long() ? 2000000 : 200000)
#define CELLS 512
#define AHEAD_MAX 1500			/* less than any ring holds */
#define WORKERS_MAX 128

/* What the threads of one test share. */
struct world {
	struct rig *rig;
	unsigned nslots, ncells;	/* few: addresses are reused at once */
	uint16_t slots[RIG_SLOTS];
	bool widened;			/* threads linger between their steps */
	_Atomic bool taken[RIG_SLOTS];
	_Atomic uint32_t cells[CELLS];	/* slot + 1 of a live block, or 0 */
	_Atomic uint64_t allocs, frees, delivered;
	_Atomic unsigned running;
};

struct worker {
	struct world *world;
	uint64_t seed;
	unsigned events;
	unsigned ring;			/* of a producer by hand */
	pthread_t thread;
	bool by_hand;
	bool never_opens;
};

static struct world *world_now;
static _Thread_local struct producer self;
static _Thread_local struct hand *self_hand;
static _Thread_local uint64_t self_seed;

static uint32_t
draw_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(*seed >> 33);
}

static void
linger(struct world *w)
{
	const struct timespec nap = { .tv_nsec = 20000 };
	uint32_t dice = draw_random(&self_seed) % 512;

	if (!w->widened)
		return;
	if (dice == 0)
		nanosleep(&nap, NULL);
	else if (dice < 8)
		sched_yield();
}

/* The steps of a producer, with time between them. */
static void
event_by_hand(struct world *w, struct hand *h, unsigned op, unsigned slot)
{
	unsigned shard = rec_shard(rig_addr(slot));
	uint32_t ticket;

	while (h->head - atomic_load(&w->rig->keeper->tails[h->ring -
		   w->rig->area->rings].tail) > h->mask)
		sched_yield();
	hand_inflight(h, shard);
	linger(w);
	ticket = hand_draw(shard);
	linger(w);
	hand_write(h, op, slot, ticket);
	linger(w);
	hand_publish(h);
}

static void
event(struct world *w, unsigned op, unsigned slot)
{
	if (self_hand != NULL)
		event_by_hand(w, self_hand, op, slot);
	else if (op == REC_ALLOC)
		produce_alloc(&self, rig_addr(slot), 16, 24, TYPE_MALLOC, 0, 0);
	else
		produce_free(&self, rig_addr(slot), TYPE_FREE, 0, 0);
}

static void
give_back(struct world *w, unsigned slot)
{
	event(w, REC_FREE, slot);
	atomic_fetch_add_explicit(&w->frees, 1, memory_order_relaxed);
	atomic_store_explicit(&w->taken[slot], false, memory_order_release);
}

/*
 * No ring may get full here, however slow the machine makes the keeper: what
 * happens then is another test's.
 */
static bool
far_ahead(struct world *w)
{
	return (int64_t)(atomic_load_explicit(&w->allocs, memory_order_relaxed) +
	    atomic_load_explicit(&w->frees, memory_order_relaxed) -
	    atomic_load_explicit(&w->delivered, memory_order_relaxed)) >
	    AHEAD_MAX;
}

static void
keep_step(struct world *w)
{
	while (far_ahead(w))
		sched_yield();
}

/* One block begins and replaces another thread's in its cell, which ends. */
static void
replace(struct world *w, uint64_t *seed)
{
	unsigned slot = w->slots[draw_random(seed) % w->nslots];
	uint32_t old;

	if (atomic_exchange_explicit(&w->taken[slot], true,
		memory_order_acquire))
		return;
	event(w, REC_ALLOC, slot);
	atomic_fetch_add_explicit(&w->allocs, 1, memory_order_relaxed);
	old = atomic_exchange_explicit(&w->cells[draw_random(seed) % w->ncells],
	    slot + 1, memory_order_acq_rel);
	if (old != 0)
		give_back(w, old - 1);
}

static void
clear_some(struct world *w, uint64_t *seed)
{
	for (int i = 0; i < 8; i++) {
		uint32_t old = atomic_exchange_explicit(
		    &w->cells[draw_random(seed) % w->ncells], 0,
		    memory_order_acq_rel);

		if (old != 0)
			give_back(w, old - 1);
	}
}

static void *
work(void *arg)
{
	struct worker *me = arg;
	struct world *w = me->world;
	struct hand hand;

	self_seed = me->seed;
	if (me->by_hand) {
		hand = hand_open(w->rig, me->ring);
		self_hand = &hand;
	} else if (!me->never_opens) {
		produce_open(&self, (uint32_t)gettid());
	}
	for (unsigned i = 0; i < me->events; i += 2) {
		keep_step(w);
		replace(w, &me->seed);
		if (i % 16 == 0)
			clear_some(w, &me->seed);
	}
	self_hand = NULL;
	produce_close(&self);
	atomic_fetch_sub(&w->running, 1);
	return NULL;
}

/* A world of the slots whose addresses fall into the first shards. */
static struct world *
world_new(unsigned shards)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	/* A keeper is there before the first ticket is drawn, in another world too. */
	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store(&produce_tickets_now()[s].next, 0);
	w->rig = rig_attached(false);
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++)
		if (rec_shard(rig_addr(slot)) < shards)
			w->slots[w->nslots++] = (uint16_t)slot;
	ck_assert_uint_gt(w->nslots, 1);
	w->ncells = w->nslots / 2 < CELLS ? w->nslots / 2 : CELLS;
	world_now = w;
	return w;
}

static void
start(struct world *w, struct worker *workers, unsigned n, unsigned events)
{
	atomic_fetch_add(&w->running, n);
	for (unsigned i = 0; i < n; i++) {
		workers[i].world = w;
		workers[i].events = events;
		workers[i].seed = i * UINT64_C(1000003) + 1;
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work,
				     &workers[i]), 0);
	}
}

static void
keep(struct world *w)
{
	while (atomic_load(&w->running) > 0) {
		ck_assert_int_ge(rig_pass(w->rig), 0);
		atomic_store(&w->delivered, w->rig->allocs + w->rig->frees);
	}
}

static void
join(struct worker *workers, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

/* The last pass, and the account. */
static void
expect_exact(struct world *w)
{
	struct rig *rig = w->rig;
	uint64_t live = 0;

	rig_drain(rig);
	ck_assert_uint_eq(rig->duplicates, 0);
	ck_assert_uint_eq(rig->unknown, 0);
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(rig->lost[c], 0);
	ck_assert_uint_eq(rig->allocs, atomic_load(&w->allocs));
	ck_assert_uint_eq(rig->frees, atomic_load(&w->frees));
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	for (unsigned i = 0; i < CELLS; i++) {
		uint32_t slot = atomic_load(&w->cells[i]);

		if (slot == 0)
			continue;
		live++;
		ck_assert_uint_eq(rig->live[0][slot - 1], 1);
	}
	ck_assert_uint_eq(rig_live(rig), live);
	for (unsigned s = 0; s < REC_SHARDS; s++)
		ck_assert_uint_eq(stream_feed_due(rig->feed)[s],
		    atomic_load(&produce_tickets_now()[s].next));
}

static void
world_free(struct world *w)
{
	rig_free(w->rig);
	free(w);
}

/* --- the tests ------------------------------------------------------------ */

/* Each twice: by whole passes, and by passes that take only some. */
static const struct {
	unsigned threads, shards;
} crowds[] = {
	{ 1, 16 }, { 2, 1 }, { 2, 64 }, { 8, 2 }, { 8, REC_SHARDS },
};

CASE("threads", .seconds = 120);

LOOP_TEST(addresses_alternate_whatever_the_threads, 0,
    2 * sizeof(crowds) / sizeof(crowds[0]))
{
	struct worker workers[WORKERS_MAX] = { 0 };
	struct world *w = world_new(crowds[_i / 2].shards);
	unsigned n = crowds[_i / 2].threads;

	w->rig->piecemeal = _i % 2;
	start(w, workers, n, EVENTS / n);
	keep(w);
	join(workers, n);
	expect_exact(w);
	world_free(w);
}

LOOP_TEST(threads_without_a_ring_are_as_exact, 0, 2)
{
	struct worker workers[WORKERS_MAX] = { 0 };
	struct world *w = world_new(16);

	w->rig->piecemeal = _i;
	for (unsigned i = 0; i < 8; i++)
		workers[i].never_opens = i % 2 == 0;
	start(w, workers, 8, EVENTS / 16);
	keep(w);
	join(workers, 8);
	expect_exact(w);
	world_free(w);
}

static void
tick(int sig)
{
	(void)sig;
	sched_yield();
}

/* The keeper is interrupted too, so that its looks at the rings take time. */
static timer_t
interrupt_me(void)
{
	struct sigaction sa = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct sigevent ev = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGRTMIN,
	};
	const struct itimerspec every = {
		.it_interval.tv_nsec = 300000,
		.it_value.tv_nsec = 300000,
	};
	timer_t timer;

	ev._sigev_un._tid = gettid();
	sigaction(SIGRTMIN, &sa, NULL);
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	timer_settime(timer, 0, &every, NULL);
	return timer;
}

/* Eight threads that linger: how many tickets came late. */
static uint64_t
eight_linger(bool piecemeal)
{
	struct worker workers[WORKERS_MAX] = { 0 };
	struct world *w = world_new(4);
	timer_t timer = interrupt_me();
	uint64_t late;

	w->rig->piecemeal = piecemeal;
	w->widened = true;
	for (unsigned i = 0; i < 8; i++) {
		workers[i].by_hand = true;
		workers[i].ring = 12 * i;
	}
	start(w, workers, 8, EVENTS / 8);
	keep(w);
	timer_delete(timer);
	join(workers, 8);
	expect_exact(w);
	late = stream_feed_counts(w->rig->feed)->late;
	world_free(w);
	return late;
}

/*
 * Whether any comes late is for the scheduler to say: mostly at once, and on a
 * machine with little else to do in one of some tries.  Time limits the rest.
 */
LOOP_TEST(threads_that_linger_between_their_steps_are_waited_for, 0, 2)
{
	uint64_t late = 0;

	while (late == 0)
		late = eight_linger(_i);
}

TEST(rings_of_threads_that_end_go_to_new_ones)
{
	struct worker workers[WORKERS_MAX] = { 0 };
	struct world *w = world_new(128);
	const int generations = check_rounds(20);

	for (int generation = 0; generation < generations; generation++) {
		start(w, workers, WORKERS_MAX, 400);
		keep(w);
		join(workers, WORKERS_MAX);
	}
	expect_exact(w);
	ck_assert_uint_le(stream_feed_counts(w->rig->feed)->rings, RING_COUNT);
	ck_assert_uint_eq(w->rig->controls,
	    (uint64_t)generations * WORKERS_MAX);
	world_free(w);
}

TEST(the_count_of_all_threads_may_come_round)
{
	struct worker workers[WORKERS_MAX] = { 0 };
	struct world *w = world_new(128);

	atomic_store(&w->rig->area->threads, UINT32_MAX - 2 * WORKERS_MAX);
	for (int generation = 0; generation < 4; generation++) {
		start(w, workers, WORKERS_MAX, 400);
		keep(w);
		join(workers, WORKERS_MAX);
	}
	ck_assert_uint_lt(atomic_load(&w->rig->area->threads), UINT16_MAX);
	expect_exact(w);
	world_free(w);
}

#if ATOMIC_LLONG_LOCK_FREE == 2 /* or a handler waits for the lock that it interrupts */
/*
 * It goes without where its thread would wait: the event that it interrupts may
 * be the very one that the keeper waits for.
 */
static void
on_signal(int sig)
{
	static _Atomic uint64_t seed = 99;
	uint64_t s = atomic_fetch_add(&seed, 77);

	(void)sig;
	for (int i = 0; i < 4 && !far_ahead(world_now); i++)
		replace(world_now, &s);
}

static void *
storm(void *arg)
{
	struct worker *workers = arg;
	struct world *w = workers[0].world;
	unsigned i = 0;

	while (atomic_load(&w->running) > 1) {
		pthread_kill(workers[i++ % 4].thread, SIGUSR1);
		sched_yield();
	}
	atomic_fetch_sub(&w->running, 1);
	return NULL;
}

CASE("handlers", .seconds = 120);

TEST(a_handler_that_interrupts_an_event_is_as_exact)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct worker workers[WORKERS_MAX] = { 0 };
	struct world *w = world_new(16);
	pthread_t thread;

	sigaction(SIGUSR1, &sa, NULL);
	atomic_fetch_add(&w->running, 1);
	start(w, workers, 4, EVENTS / 4);
	ck_assert_int_eq(pthread_create(&thread, NULL, storm, workers), 0);
	keep(w);
	join(workers, 4);
	pthread_join(thread, NULL);
	expect_exact(w);
	world_free(w);
}
#endif

#define ARENA 64			/* slots of one thread's arena */

/*
 * Lives of an arena: it fills, some of it is freed, the rest ends at once.
 * Neighbours have theirs in the same shards and reset them at the same time.
 */
static void *
work_in_arena(void *arg)
{
	struct worker *me = arg;
	struct world *w = me->world;
	unsigned first = (unsigned)(me->seed / 1000003) * ARENA;
	struct producer p = { 0 }, *logs = me->never_opens ? NULL : &p;

	if (logs != NULL)
		produce_open(logs, (uint32_t)gettid());
	for (unsigned life = 0; life < me->events / ARENA; life++) {
		unsigned n = draw_random(&me->seed) % ARENA + 1;

		for (unsigned k = 0; k < n; k++) {
			keep_step(w);
			produce_alloc(logs, rig_addr(first + k), 16, 0,
			    TYPE_API_FIRST, REC_LAYER_API, 0);
			atomic_fetch_add(&w->allocs, 1);
		}
		for (unsigned k = 0; k < n; k += 5) {
			produce_free(logs, rig_addr(first + k), TYPE_FREE,
			    REC_LAYER_API, 0);
			atomic_fetch_add(&w->frees, 1);
		}
		produce_range(logs, rig_addr(first), 16 * ARENA, 0);
	}
	produce_close(&p);
	atomic_fetch_sub(&w->running, 1);
	return NULL;
}

CASE("threads");

LOOP_TEST(arenas_that_are_reset_side_by_side_are_as_exact, 0, 2)
{
	struct worker workers[8] = { 0 };
	struct world *w = world_new(REC_SHARDS);
	struct rig *rig = w->rig;

	w->rig->piecemeal = _i;
	atomic_store(&w->running, 8);
	for (unsigned i = 0; i < 8; i++) {
		workers[i].world = w;
		workers[i].events = EVENTS / 32;
		workers[i].seed = i * UINT64_C(1000003) + 1;
		workers[i].never_opens = i % 4 == 3;
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL,
				     work_in_arena, &workers[i]), 0);
	}
	keep(w);
	join(workers, 8);
	expect_exact(w);
	ck_assert_uint_eq(rig->ranges, 8 * (EVENTS / 32 / ARENA));
	world_free(w);
}

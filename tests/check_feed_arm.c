/*
 * A feed that arms its target and sends it to sleep: which records count, and
 * that the others keep their place.  Step by step with producers by hand, then
 * from threads that look at the word as a hook does.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "../src/stream/feed/robust.h"
#include "feed_rig.h"

static uint32_t
published(const struct rig *rig)
{
	return (uint32_t)atomic_load(&rig->keeper->ms);
}

static bool
is_armed(const struct rig *rig)
{
	return atomic_load(&rig->keeper->armed) == RING_ARMED;
}

/* As hand_write(), with the millisecond that the target has read. */
static void
write_at(struct hand *h, unsigned op, unsigned slot, uint32_t ms)
{
	struct rec *r = &h->recs[h->head & h->mask];
	uint32_t ticket = hand_draw(rec_shard(rig_addr(slot)));

	hand_write(h, op, slot, ticket);
	r->w[2] = rec_w2(ticket, ms);
}

static void
event_at(struct hand *h, unsigned op, unsigned slot, uint32_t ms)
{
	hand_inflight(h, rec_shard(rig_addr(slot)));
	write_at(h, op, slot, ms);
	hand_publish(h);
}

static void
event_now(struct hand *h, unsigned op, unsigned slot)
{
	event_at(h, op, slot, published(h->rig));
}

/* A request that has failed, or a control record: without a ticket. */
static void
plain_now(struct hand *h, unsigned flags, unsigned type)
{
	struct rec *r = &h->recs[h->head++ & h->mask];

	r->w[0] = rec_w0(0, flags, type);
	r->w[1] = rec_w1(1, 1);
	r->w[2] = rec_w2(0, published(h->rig));
	r->w[3] = 0;
	hand_publish(h);
}

static uint64_t
dormant(const struct rig *rig)
{
	return stream_feed_counts(rig->feed)->dormant;
}

static void
arm(struct rig *rig, bool on)
{
	stream_feed_arm(rig->feed, on, rig->now);
	ck_assert(is_armed(rig) == on);
}

/* --- the word --------------------------------------------------------------- */

CASE("word");

TEST(a_feed_is_born_armed)
{
	struct rig *rig = rig_new(false);

	ck_assert(is_armed(rig));
	ck_assert_uint_eq(atomic_load(&rig->keeper->sample), 0);
	stream_feed_want_sample(rig->feed, 524288);
	ck_assert_uint_eq(atomic_load(&rig->keeper->sample), 524288);
	rig_free(rig);
}

TEST(to_arm_publishes_a_millisecond_that_no_record_has)
{
	struct rig *rig = rig_new(false);
	uint32_t before;

	for (int i = 0; i < 10; i++) {
		ck_assert_int_ge(rig_pass(rig), 0);
		arm(rig, false);
		before = published(rig);
		arm(rig, true);
		ck_assert_int_gt((int32_t)(published(rig) - before), 0);
		/* And none before it is published any more. */
		before = published(rig);
		stream_feed_beat(rig->feed, rig->now - 500);
		ck_assert_int_ge((int32_t)(published(rig) - before), 0);
	}
	rig_free(rig);
}

TEST(what_it_is_already_it_stays)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);
	uint32_t before;

	ck_assert_int_ge(rig_pass(rig), 0);
	before = published(rig);
	event_now(&a, REC_ALLOC, 1);
	arm(rig, true);
	ck_assert_uint_eq(published(rig), before);
	rig_drain(rig);
	ck_assert_uint_eq(rig->allocs, 1);
	arm(rig, false);
	arm(rig, false);
	rig_drain(rig);
	ck_assert_uint_eq(dormant(rig), 0);
	rig_free(rig);
}

/* --- what is dropped -------------------------------------------------------- */

CASE("dropped");

TEST(records_of_a_dormant_target_are_dropped_and_counted)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	arm(rig, false);
	event_now(&a, REC_ALLOC, 1);
	event_now(&a, REC_FREE, 1);
	event_now(&a, REC_UNDO, 1);
	plain_now(&a, REC_FLAGS(REC_ALLOC, REC_LEVEL_FAILED), TYPE_MALLOC);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 0);
	ck_assert_uint_eq(dormant(rig), 4);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->records, 0);
	rig_free(rig);
}

TEST(controls_are_delivered_in_any_state)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	arm(rig, false);
	plain_now(&a, REC_FLAGS(REC_CONTROL, 0), REC_CTL_THREAD);
	rig_drain(rig);
	arm(rig, true);
	rig_drain(rig);
	plain_now(&a, REC_FLAGS(REC_CONTROL, 0), REC_CTL_MARK);
	rig_drain(rig);
	ck_assert_uint_eq(rig->controls, 2);
	ck_assert_uint_eq(dormant(rig), 0);
	rig_free(rig);
}

/* Who has looked at both words just before the arming publishes after it. */
TEST(an_older_millisecond_is_dropped_also_later)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	uint32_t old;

	ck_assert_int_ge(rig_pass(rig), 0);
	old = published(rig);
	arm(rig, false);
	rig_drain(rig);
	arm(rig, true);
	event_now(&a, REC_ALLOC, 1);
	event_at(&b, REC_ALLOC, 2, old);
	event_at(&b, REC_ALLOC, 3, published(rig) - 1);
	rig_drain(rig);
	ck_assert_uint_eq(rig->allocs, 1);
	ck_assert_uint_eq(rig->live[0][1], 1);
	/* However long after: these rings have been found empty since. */
	for (int i = 0; i < 5; i++) {
		rig->now += 100000;
		rig_drain(rig);
	}
	event_at(&b, REC_ALLOC, 4, old);
	event_at(&b, REC_FREE, 1, old);
	event_now(&b, REC_ALLOC, 5);
	rig_drain(rig);
	ck_assert_uint_eq(rig->allocs, 2);
	ck_assert_uint_eq(rig->frees, 0);
	ck_assert_uint_eq(dormant(rig), 4);
	rig_free(rig);
}

/* A thread that is slow, but not as slow as that. */
TEST(a_record_from_after_the_arming_is_delivered_however_late)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	rig->now = (int64_t)atomic_load(&rig->keeper->ms);
	arm(rig, false);
	rig_drain(rig);
	arm(rig, true);
	/* In the end, 32 bits of it are below those of the arming again. */
	for (int i = 0; i < 4; i++) {
		rig->now += INT64_C(1) << 30;
		ck_assert_int_ge(rig_pass(rig), 0);
		event_at(&a, REC_ALLOC, (unsigned)i, published(rig) - 40);
		rig_drain(rig);
	}
	ck_assert_uint_eq(rig->allocs, 4);
	ck_assert_uint_eq(dormant(rig), 0);
	rig_free(rig);
}

/* --- the order goes on ------------------------------------------------------ */

/* Between the two rounds of a pass: seen by the second alone, it must wait. */
static void
one_more(struct rig *rig)
{
	struct hand c = hand_open(rig, 2);

	rig->on_control = NULL;
	event_now(&c, REC_FREE, 7);
	produce_free(NULL, rig_addr(7), TYPE_FREE, 0, 0);
}

CASE("order");

/* A pass that takes some leaves off within what it has seen. */
TEST(what_was_seen_before_the_arming_is_dropped_when_it_is_taken_after)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	ck_assert_int_ge(rig_pass(rig), 0);
	arm(rig, false);
	for (unsigned slot = 0; slot < 200; slot++)
		event_now(&a, REC_ALLOC, slot);
	ck_assert_int_eq(stream_feed_pass(rig->feed, ++rig->now, 1), 0);
	ck_assert(stream_feed_is_behind(rig->feed));
	arm(rig, true);
	event_now(&a, REC_ALLOC, 200);
	rig_drain(rig);
	ck_assert_uint_eq(dormant(rig), 200);
	ck_assert_uint_eq(rig->allocs, 1);
	ck_assert_uint_eq(rig_log_slot(rig, 0), 200);
	rig_free(rig);
}

TEST(what_was_taken_and_waits_is_dropped_with_the_rest)
{
	struct rig *rig = rig_attached(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);
	struct hand d = hand_open(rig, 3);
	unsigned s = rec_shard(rig_addr(7));
	uint32_t first, second;

	ck_assert_int_ge(rig_pass(rig), 0);
	hand_inflight(&a, s);
	first = hand_draw(s);
	event_now(&b, REC_ALLOC, 7);
	second = hand_draw(s);
	plain_now(&d, REC_FLAGS(REC_CONTROL, 0), REC_CTL_MARK);
	rig->on_control = one_more;
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->records, 1);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 2);
	arm(rig, false);
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->records, 1);
	/* What they waited for comes still, and goes the same way. */
	arm(rig, true);
	hand_write(&a, REC_ALLOC, 7, first);
	hand_write(&a, REC_ALLOC, 7, second);
	hand_publish(&a);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 1);
	event_now(&b, REC_ALLOC, 7);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 2);
	ck_assert_uint_eq(dormant(rig), 4);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	rig_free(rig);
}

TEST(tickets_of_dropped_records_hold_nobody)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0), b = hand_open(rig, 1);

	ck_assert_int_ge(rig_pass(rig), 0);
	for (int round = 0; round < 50; round++) {
		uint32_t old = published(rig);

		arm(rig, false);
		for (unsigned k = 0; k < 200; k++) {
			event_at(k % 2 ? &a : &b, REC_ALLOC, 7, old);
			event_at(k % 3 ? &a : &b, REC_FREE, 7, old);
		}
		if (round % 2)
			rig_drain(rig);
		arm(rig, true);
		rig->live[0][7] = 0;
		event_at(&a, REC_ALLOC, 7, old);
		event_at(&b, REC_FREE, 7, old);
		event_now(&a, REC_ALLOC, 7);
		event_now(&b, REC_FREE, 7);
		rig_drain(rig);
	}
	ck_assert_uint_eq(rig->records, 100);
	ck_assert_uint_eq(rig->unknown + rig->duplicates, 0);
	ck_assert_uint_eq(dormant(rig), 50 * 402);
	rig_free(rig);
}

/* By rings, and by the common ring. */
TEST(ranges_and_the_common_ring_are_dropped_too)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { .ring = NULL };

	produce_open(&p, 1);
	rig_drain(rig);
	arm(rig, false);
	for (int i = 0; i < 20; i++) {
		struct producer *who = i % 2 ? &p : NULL;

		produce_alloc(who, rig_addr(9), 16, 0, 0xc0, REC_LAYER_API, 0);
		produce_range(who, rig_addr(0), 16 * 300, 0);
		produce_alloc(who, rig_addr(9), 16, 0, TYPE_MALLOC, 0, 0);
		produce_failed(who, 1, TYPE_MALLOC, 0, 0);
		produce_free(who, rig_addr(9), TYPE_FREE, 0, 0);
		if (i % 5 == 0)
			ck_assert_int_ge(rig_pass(rig), 0);
	}
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 0);
	ck_assert_uint_eq(dormant(rig), 100);
	arm(rig, true);
	produce_alloc(&p, rig_addr(9), 16, 0, 0xc0, REC_LAYER_API, 0);
	produce_range(NULL, rig_addr(0), 16 * 300, 0);
	rig_drain(rig);
	ck_assert_uint_eq(rig->allocs, 1);
	ck_assert_uint_eq(rig->ranges, 1);
	ck_assert_uint_eq(rig_live(rig), 0);
	rig_free(rig);
}

TEST(what_a_dormant_target_loses_is_nobodys_loss)
{
	struct rig *rig = rig_attached(false);
	struct hand a = hand_open(rig, 0);

	ck_assert_int_ge(rig_pass(rig), 0);
	arm(rig, false);
	atomic_fetch_add(&a.ring->dropped, 5);
	produce_count_sample();
	(void)hand_draw(rec_shard(rig_addr(7)));
	event_now(&a, REC_ALLOC, 7);
	rig_drain(rig);
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(rig->lost[c], 0);
	ck_assert_uint_eq(dormant(rig), 5 + 1 + 1 + 1);
	arm(rig, true);
	atomic_fetch_add(&a.ring->dropped, 3);
	produce_count_sample();
	produce_count_sample();
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 3);
	ck_assert_uint_eq(rig->lost[STREAM_SAMPLE_FULL], 2);
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_SAMPLE_FULL], 2);
	rig_free(rig);
}

TEST(the_end_of_a_dormant_target_is_an_end)
{
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	arm(rig, false);
	(void)hand_draw(rec_shard(rig_addr(7)));
	event_now(&a, REC_ALLOC, 7);
	ck_assert_int_ge(stream_feed_finish(rig->feed, ++rig->now), 0);
	ck_assert_uint_eq(rig->records, 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	rig_free(rig);
}

/* What marks a dropped record is nothing that a target may write. */
/* What the target finds in the word when its keeper goes. */
static uint32_t
word_behind(bool armed, uint32_t version)
{
	struct rig *rig = rig_new(false);
	struct keeper_area *keeper = mmap(NULL, RING_ALIGN(sizeof *keeper),
	    PROT_READ, MAP_SHARED, rig->fds[1], 0);
	uint32_t word;

	ck_assert_ptr_ne(keeper, MAP_FAILED);
	atomic_store(&rig->area->version, version);
	if (!armed)
		stream_feed_arm(rig->feed, false, rig->now);
	rig_free(rig);
	ck_assert_uint_eq(atomic_load(&keeper->state), RING_KEEPER_GONE);
	word = atomic_load(&keeper->armed);
	munmap(keeper, RING_ALIGN(sizeof *keeper));
	return word;
}

TEST(who_sleeps_is_left_when_his_keeper_goes_if_he_knows_the_word)
{
	ck_assert_uint_eq(word_behind(false, 0), RING_LEFT);
	ck_assert_uint_eq(word_behind(false, RING_VERSION), RING_LEFT);
	ck_assert_uint_eq(word_behind(false, RING_VERSION - 1), robust_word());
	ck_assert_uint_eq(word_behind(true, RING_VERSION), RING_ARMED);
}

LOOP_TEST(a_target_cannot_drop_its_records_itself, 0, 12)
{
	static const unsigned flags[] = {
		REC_FLAGS(REC_LOSS, 7), REC_FLAGS(REC_ALLOC, 7),
		REC_FLAGS(REC_FREE, 7), REC_FLAGS(REC_UNDO, 7),
		REC_FLAGS(REC_RANGE, 7), REC_FLAGS(REC_ALLOC, 15),
	};
	struct rig *rig = rig_new(false);
	struct hand a = hand_open(rig, 0);

	arm(rig, (_i & 1) != 0);
	plain_now(&a, flags[_i / 2], TYPE_MALLOC);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

/* --- threads ----------------------------------------------------------------- */

#define THREADS 8
#define ARMINGS (RIG_SLOW ? 200 : 1000)

struct world {
	struct rig *rig;
	_Atomic bool stop;
	_Atomic bool taken[RIG_SLOTS];	/* the allocator */
	_Atomic uint32_t cells[64];	/* slot + 1 of a live block, or 0 */
	_Atomic uint64_t spins;
};

struct worker {
	struct world *world;
	pthread_t thread;
	uint64_t seed;
	bool by_hand;
	unsigned ring;
};

static uint32_t
draw_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(*seed >> 33);
}

static void
linger(uint64_t *seed)
{
	if (draw_random(seed) % 64 == 0)
		sched_yield();
}

/* The steps of an event, with time between them: the word is long read. */
static void
slowly(struct worker *w, struct hand *h, unsigned op, unsigned slot)
{
	struct rig *rig = w->world->rig;
	struct rec *r = &h->recs[h->head & h->mask];
	unsigned shard = rec_shard(rig_addr(slot));
	uint32_t ms, ticket;

	linger(&w->seed);
	hand_inflight(h, shard);
	ms = (uint32_t)atomic_load(&rig->keeper->ms);
	linger(&w->seed);
	ticket = hand_draw(shard);
	linger(&w->seed);
	hand_write(h, op, slot, ticket);
	r->w[2] = rec_w2(ticket, ms);
	hand_publish(h);
}

/* No ring may get full here, however slow the machine makes the keeper. */
static void
keep_step(const struct worker *w)
{
	const struct rig *rig = w->world->rig;

	while (atomic_load(&rig->area->rings[w->ring].head) -
		atomic_load(&rig->keeper->tails[w->ring].tail) > 1000 &&
	    !atomic_load(&w->world->stop))
		sched_yield();
}

static void
event(struct worker *w, struct producer *p, struct hand *h, unsigned op,
    unsigned slot)
{
	keep_step(w);
	if (w->by_hand)
		slowly(w, h, op, slot);
	else if (op == REC_ALLOC)
		produce_alloc(p, rig_addr(slot), 16, 0, TYPE_MALLOC, 0, 0);
	else
		produce_free(p, rig_addr(slot), TYPE_FREE, 0, 0);
}

/* What a hook does: the word, the real call, the record; or the other way. */
static void *
work(void *arg)
{
	struct worker *w = arg;
	struct world *world = w->world;
	struct producer p = { .ring = NULL };
	struct hand h = { .rig = NULL };
	bool armed;
	uint32_t old;

	if (w->by_hand)
		h = hand_open(world->rig, w->ring);
	else
		produce_open(&p, w->ring + 1);
	if (!w->by_hand)
		w->ring = (unsigned)(p.ring - world->rig->area->rings);
	while (!atomic_load(&world->stop)) {
		unsigned slot = draw_random(&w->seed) % 96;

		armed = w->by_hand ? is_armed(world->rig) : produce_armed(&p);
		if (atomic_exchange(&world->taken[slot], true))
			continue;
		if (armed)
			event(w, &p, &h, REC_ALLOC, slot);
		old = atomic_exchange(
		    &world->cells[draw_random(&w->seed) % 64], slot + 1);
		if (old == 0)
			continue;
		armed = w->by_hand ? is_armed(world->rig) : produce_armed(&p);
		if (armed)
			event(w, &p, &h, REC_FREE, old - 1);
		atomic_store(&world->taken[old - 1], false);
		atomic_fetch_add_explicit(&world->spins, 1,
		    memory_order_relaxed);
	}
	produce_close(&p);
	return NULL;
}

static void
begin_anew(struct rig *rig)
{
	memset(rig->live, 0, sizeof(rig->live));
	rig->nlog = 0;
}

CASE("owner", .seconds = 60);

static void
die_killed(void)
{
	kill(getpid(), SIGKILL);
}

static void
die_by_status(void)
{
	_exit(0);
}

static void
die_by_exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static void *
kill_all(void *arg)
{
	kill(getpid(), SIGKILL);
	return arg;
}

static void
die_by_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, kill_all, NULL) == 0)
		pthread_join(t, NULL);
}

static pid_t
reap(pid_t pid)
{
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* `how`: each 1 arms and each 0 disarms, in the process that dies. */
static const struct death {
	void (*die)(void);
	const char *how;
	bool left;
} deaths[] = {
	{ die_killed, "", true },
	{ die_killed, "10", true },
	{ die_killed, "1", false },
	{ die_killed, "1010101", false },
	{ die_by_status, "", true },
	{ die_by_exec, "", true },
	{ die_by_thread, "10", true },
};

LOOP_TEST(a_target_that_sleeps_is_left_however_its_owner_ends, 0,
    sizeof(deaths) / sizeof(deaths[0]))
{
	const struct death *d = &deaths[_i];
	struct rig *rig = rig_new(false);
	pid_t pid;

	arm(rig, false);
	pid = fork();
	if (pid == 0) {
		if (robust_begin() != 0)
			_exit(1);
		stream_feed_owner_changed(rig->feed);
		for (const char *c = d->how; *c != '\0'; c++)
			arm(rig, *c == '1');
		if (atomic_load(&rig->keeper->armed) !=
		    (d->left ? (uint32_t)getpid() : RING_ARMED))
			_exit(1);
		d->die();
	}
	reap(pid);
	ck_assert_uint_eq(atomic_load(&rig->keeper->armed),
	    d->left ? RING_LEFT : RING_ARMED);
	rig_free(rig);
}

TEST(of_any_number_of_areas_those_in_the_list_are_left)
{
	enum { AREAS = 2100, LISTED = 2047 };
	struct keeper_area *area[AREAS];
	char *listed = mmap(NULL, AREAS, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned n[AREAS] = { 0 }, left = 0;
	pid_t pid;

	for (unsigned i = 0; i < AREAS; i++) {
		area[i] = mmap(NULL, sizeof *area[i], PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ck_assert_ptr_ne(area[i], MAP_FAILED);
	}
	pid = fork();
	if (pid == 0) {
		uint64_t seed = 5;

		if (robust_begin() != 0)
			_exit(1);
		for (unsigned i = 0; i < AREAS; i++)
			n[i] = robust_add(area[i]);
		for (unsigned i = 0; i < 3 * AREAS; i++) {
			unsigned a = draw_random(&seed) % AREAS;

			if (n[a] != 0)
				robust_remove(&n[a]);
			else
				n[a] = robust_add(area[a]);
		}
		for (unsigned i = 0; i < AREAS; i++) {
			listed[i] = n[i] != 0;
			atomic_store(&area[i]->armed, robust_word());
		}
		/* All places are used again. */
		for (unsigned i = 0; i < AREAS; i++)
			if (n[i] == 0)
				listed[i] = (n[i] = robust_add(area[i])) != 0;
		die_killed();
	}
	reap(pid);
	for (unsigned i = 0; i < AREAS; i++) {
		ck_assert_uint_eq(atomic_load(&area[i]->armed), listed[i] ?
		    RING_LEFT : (uint32_t)pid);
		left += listed[i] != 0;
	}
	ck_assert_uint_eq(left, LISTED);
}

CASE("threads", .seconds = 120);

/*
 * Nothing listed that is not there, whatever the moments at which it was
 * armed; frees of what is not listed are of blocks from before.
 */
TEST(armed_a_thousand_times_the_list_is_true)
{
	struct rig *rig = rig_attached(false);
	struct world *world = calloc(1, sizeof(*world));
	struct worker w[THREADS];
	uint64_t seed = 7, before;
	uint32_t old;

	ck_assert_ptr_nonnull(world);
	world->rig = rig;
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct worker) {
			.world = world, .seed = i * 977 + 1,
			.by_hand = i % 2 == 0, .ring = i,
		};
		if (w[i].by_hand)	/* its ring is not to be had */
			(void)hand_open(rig, i);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work,
				     &w[i]), 0);
	for (int i = 0; i < ARMINGS; i++) {
		arm(rig, false);
		before = atomic_load(&world->spins);
		while (draw_random(&seed) % 4 != 0)
			ck_assert_int_ge(stream_feed_pass(rig->feed,
					     rig->now, UINT64_MAX), 0);
		arm(rig, true);
		begin_anew(rig);
		while (draw_random(&seed) % 8 != 0 ||
		    atomic_load(&world->spins) - before < 20)
			ck_assert_int_ge(stream_feed_pass(rig->feed,
					     ++rig->now, UINT64_MAX), 0);
	}
	atomic_store(&world->stop, true);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	rig_drain(rig);
	ck_assert_uint_eq(rig->duplicates, 0);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 0);
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++)
		ck_assert_msg(!rig->live[0][slot] ||
		    atomic_load(&world->taken[slot]), "a ghost");
	/* All that came since is listed: it was replaced often enough. */
	arm(rig, false);
	arm(rig, true);
	begin_anew(rig);
	rig->unknown = 0;
	for (unsigned c = 0; c < 64; c++) {
		struct hand h = hand_open(rig, 0);

		if ((old = atomic_load(&world->cells[c])) == 0)
			continue;
		event_now(&h, REC_FREE, old - 1);
		event_now(&h, REC_ALLOC, old - 1);
	}
	rig_drain(rig);
	for (unsigned slot = 0; slot < 96; slot++)
		ck_assert_uint_eq(rig->live[0][slot],
		    atomic_load(&world->taken[slot]));
	free(world);
	rig_free(rig);
}

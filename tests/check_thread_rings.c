/*
 * The two rings of a thread: when it changes from one to the other, and that
 * nothing is lost, doubled or put out of order by that.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "feed_rig.h"

static struct ring_head *
ring_at(struct rig *rig, uint32_t capacity)
{
	size_t offset;

	for (unsigned i = 0; i < RING_COUNT; i++)
		if (ring_place(i, &offset) == capacity)
			return &rig->area->rings[i];
	ck_abort_msg("no ring of %u records", capacity);
}

/* Seconds that pass in no time: whoever fits into a small ring is calm soon. */
static void
pass_a_second(struct rig *rig)
{
	rig->now += 1000;
	ck_assert_int_ge(rig_pass(rig), 0);
}

static void
expect_exact(struct rig *rig, uint64_t made)
{
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 0);
	ck_assert_uint_eq(rig->records, made);
	ck_assert_uint_eq(rig->unknown, 0);
}

CASE("rings", .seconds = 120);

TEST(a_thread_that_fits_keeps_to_its_small_ring)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };

	produce_open(&p, 1);
	for (unsigned i = 0; i < 100; i++) {
		alloc_many(&p, 1700);
		ck_assert_int_ge(rig_pass(rig), 1700);
	}
	ck_assert_ptr_eq(p.ring, ring_at(rig, RING_SMALL));
	ck_assert_ptr_null(p.large);
	expect_exact(rig, 170000);
	rig_free(rig);
}

/* Neither waits nor drops, and in the order of the tickets. */
LOOP_TEST(a_full_small_ring_leads_to_a_large_one, 0, 2)
{
	struct rig *rig = rig_attached(_i == 1);
	struct producer p = { 0 };
	const unsigned n = RIG_FULL - 1 + RING_LARGE - RING_PAIRS;

	produce_open(&p, 1);
	p.frees = true;		/* or they would be in pairs */
	for (unsigned i = 0; i < n / 2; i++) {
		produce_alloc(&p, rig_addr(i % 7), 1, 0, TYPE_MALLOC, 0, 0);
		produce_free(&p, rig_addr(i % 7), TYPE_FREE, 0, 0);
	}
	ck_assert_ptr_eq(p.ring, ring_at(rig, RING_LARGE));
	ck_assert_uint_eq(atomic_load(&p.small->head), RIG_FULL);
	ck_assert_uint_eq(atomic_load(&p.large->thread), p.thread);
	ck_assert_uint_eq(atomic_load(&p.small->inflight), 0);
	ck_assert_uint_eq(atomic_load(&rig->area->rings[RING_COMMON].head), 0);
	expect_exact(rig, n / 2 * 2);
	ck_assert_uint_eq(rig->duplicates, 0);
	ck_assert_uint_eq(rig_live(rig), 0);
	rig_free(rig);
}

TEST(threads_share_what_larger_rings_there_are)
{
	struct rig *rig = rig_attached(true);
	static struct producer p[40];
	uint64_t sum[3] = { 0 };

	for (unsigned i = 0; i < 40; i++) {
		produce_open(&p[i], i + 1);
		alloc_many(&p[i], RIG_FULL);
		sum[0] += p[i].mask + 1 == RING_SMALL;
		sum[1] += p[i].mask + 1 == RING_MIDDLE;
		sum[2] += p[i].mask + 1 == RING_LARGE;
	}
	ck_assert_uint_eq(sum[2], 8);
	ck_assert_uint_eq(sum[1], 24);
	ck_assert_uint_eq(sum[0], 8);
	ck_assert_uint_eq(atomic_load(&p[39].ring->dropped), 1);
	/* One that is handed back, as soon as nothing is left in it. */
	produce_close(&p[2]);
	ck_assert_ptr_null(p[2].large);
	alloc_many(&p[39], 1);
	ck_assert_uint_eq(p[39].mask + 1, RING_SMALL);
	ck_assert_uint_eq(atomic_load(&p[39].ring->dropped), 2);
	ck_assert_int_ge(rig_pass(rig), 0);
	alloc_many(&p[39], RING_SMALL + 1);
	ck_assert_uint_eq(p[39].mask + 1, RING_LARGE);
	rig_free(rig);
}

/* It has no ticket: only its place among its thread's says what comes after it. */
TEST(a_control_record_keeps_its_place_across_rings)
{
	struct rig *rig = rig_attached(true);
	struct hand frozen = hand_open(rig, RING_COUNT - 1);
	struct producer p = { 0 };

	produce_open(&p, 1);
	hand_inflight(&frozen, rec_shard(rig_addr(100)));
	(void)hand_draw(rec_shard(rig_addr(100)));
	alloc_many(&p, 101);
	produce_control(&p, REC_CTL_REQUESTER, 1, 0x123);
	alloc_many(&p, RING_SMALL);
	ck_assert_ptr_eq(p.ring, p.large);
	rig_drain(rig);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 0);
	ck_assert_uint_eq(rig->nlog, 1 + 101 + 1 + RING_SMALL);
	ck_assert_uint_eq(rec_type(&rig->log[102]), REC_CTL_REQUESTER);
	rig_free(rig);
}

TEST(a_thread_without_a_keeper_takes_nothing_more)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };

	produce_open(&p, 1);
	atomic_store(&rig->area->magic, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	alloc_many(&p, 3 * RING_SMALL);
	ck_assert_ptr_null(p.large);
	ck_assert_uint_eq(atomic_load(&p.ring->dropped), 3 * RING_SMALL - RIG_FULL + 1);
	rig_free(rig);
}

/* --- calm, by a keeper that the test plays: its time and its tails ----------- */

struct stage {
	struct ring_area *area;
	struct keeper_area *keeper;
	int fd;
};

static struct stage
stage_open(void)
{
	size_t size = RING_ALIGN(ring_area_size());
	size_t keeper = RING_ALIGN(sizeof(struct keeper_area));
	struct stage st = { .fd = memfd_create("stage", MFD_CLOEXEC) };

	ck_assert_int_eq(ftruncate(st.fd, (off_t)size), 0);
	st.area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, st.fd,
	    0);
	st.keeper = mmap(NULL, keeper, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(st.area, MAP_FAILED);
	ck_assert_ptr_ne(st.keeper, MAP_FAILED);
	atomic_store(&st.keeper->state, RING_KEEPER_NO_WAIT);
	produce_attach(st.area, st.keeper, 1);
	return st;
}

/* What the target and its keeper hold of the ring area. */
static uint64_t
stage_bytes(const struct stage *st)
{
	struct stat got;

	ck_assert_int_eq(fstat(st->fd, &got), 0);
	return (uint64_t)got.st_blocks * 512;
}

static void
stage_drain(struct stage *st)
{
	for (unsigned i = 0; i <= RING_COUNT; i++)
		atomic_store(&st->keeper->tails[i].tail,
		    atomic_load(&st->area->rings[i].head));
}

/* n rounds of ms each, with some records that are drained at the end. */
static void
trickle(struct stage *st, struct producer *p, unsigned n, unsigned ms)
{
	for (unsigned i = 0; i < n; i++) {
		alloc_many(p, 500);
		atomic_fetch_add(&st->keeper->ms, ms);
		stage_drain(st);
	}
}

/* In its large ring, of which it has written all. */
static void
become_busy(struct stage *st, struct producer *p)
{
	produce_open(p, 1);
	for (unsigned i = 0; i < 5; i++) {
		alloc_many(p, RING_LARGE / 2);
		stage_drain(st);
	}
	ck_assert_ptr_eq(p->ring, p->large);
	ck_assert_uint_gt(stage_bytes(st), RING_LARGE * sizeof(struct rec));
}

static uint64_t
dropped(const struct stage *st)
{
	uint64_t n = 0;

	for (unsigned i = 0; i <= RING_COUNT; i++)
		n += atomic_load(&st->area->rings[i].dropped);
	return n;
}

TEST(a_calm_thread_goes_back_and_gives_the_pages_back)
{
	struct stage st = stage_open();
	struct producer p = { 0 };

	become_busy(&st, &p);
	/* Not before it has been calm for a second. */
	trickle(&st, &p, 99, 10);
	ck_assert_ptr_eq(p.ring, p.large);
	trickle(&st, &p, 40, 10);
	ck_assert_ptr_eq(p.ring, p.small);
	ck_assert_uint_lt(stage_bytes(&st), 256 << 10);
	/* To and fro, as often as it needs to. */
	for (unsigned i = 0; i < 20; i++) {
		alloc_many(&p, RING_SMALL * 2);
		ck_assert_ptr_eq(p.ring, p.large);
		stage_drain(&st);
		trickle(&st, &p, 20, 1000);
		ck_assert_ptr_eq(p.ring, p.small);
		ck_assert_uint_lt(stage_bytes(&st), 256 << 10);
	}
	ck_assert_uint_eq(dropped(&st), 0);
}

TEST(who_needs_more_than_the_small_ring_stays_in_the_large_one)
{
	struct stage st = stage_open();
	struct producer p = { 0 };

	become_busy(&st, &p);
	for (unsigned i = 0; i < 100; i++) {
		alloc_many(&p, 3 * 4096);
		atomic_fetch_add(&st.keeper->ms, 1000);
		stage_drain(&st);
		ck_assert_ptr_eq(p.ring, p.large);
	}
	ck_assert_uint_eq(dropped(&st), 0);
}

TEST(pages_that_an_interrupted_event_writes_stay)
{
	struct stage st = stage_open();
	struct producer p = { 0 };

	become_busy(&st, &p);
	for (unsigned i = 0; p.ring == p.large; i++) {
		ck_assert_uint_lt(i, 100);
		trickle(&st, &p, 1, 1000);
	}
	/* What a handler finds that has interrupted an event in the large ring. */
	atomic_store(&p.large->inflight, 1);
	trickle(&st, &p, 10, 1000);
	ck_assert_uint_gt(stage_bytes(&st), RING_LARGE * sizeof(struct rec));
	/* Nor does it change to that ring. */
	alloc_many(&p, RIG_FULL + 1);
	ck_assert_ptr_eq(p.ring, p.small);
	ck_assert_uint_eq(dropped(&st), 1);
	atomic_store(&p.large->inflight, 0);
	alloc_many(&p, 1);
	ck_assert_ptr_eq(p.ring, p.large);
}

/* --- handlers between any two steps ------------------------------------------ */

static struct busy {
	struct rig *rig;
	struct producer *p;
	_Atomic bool done;
	uint64_t made, handled;
	unsigned changes;
} busy;

/* A pair of its own slot: half of them come while an event is in flight. */
static void
handler(int sig)
{
	unsigned slot = RIG_SLOTS / 2 + busy.handled % 100;

	(void)sig;
	for (unsigned i = 0; i < 30; i++) {
		produce_alloc(busy.p, rig_addr(slot), 1, 0, TYPE_MALLOC, 0, 0);
		produce_free(busy.p, rig_addr(slot), TYPE_FREE, 0, 0);
	}
	busy.handled++;
}

#define CHANGES (RIG_SLOW ? 6 : 40)
#define OFTEN_NS (RIG_SLOW ? 1000000 : 20000)

static void
burst(struct producer *p, unsigned pairs)
{
	const struct ring_head *was = p->ring;

	for (unsigned k = 0; k < pairs; k++) {
		unsigned slot = k % (RIG_SLOTS / 2);

		produce_alloc(p, rig_addr(slot), 1, 0, TYPE_MALLOC, 0, 0);
		produce_free(p, rig_addr(slot), TYPE_FREE, 0, 0);
	}
	busy.made += 2 * pairs;
	busy.changes += p->ring != was;
}

/* Bursts that are too much for the small ring, and trickles that are not. */
static void *
make_bursts(void *arg)
{
	struct producer *p = arg;
	const struct itimerspec often = {
		.it_interval = { .tv_nsec = OFTEN_NS },
		.it_value = { .tv_nsec = OFTEN_NS },
	};
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGUSR1 };
	timer_t timer;

	ev._sigev_un._tid = gettid();
	produce_open(p, (uint32_t)gettid());
	busy.p = p;
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &often, NULL), 0);
	for (unsigned i = 0; busy.changes < CHANGES; i++)
		burst(p, i % 8 != 0 ? 300 : 3000);
	timer_delete(timer);
	atomic_store(&busy.done, true);
	return NULL;
}

/* One run: false when the keeper was away for too long, on a busy machine. */
static bool
run_bursts(void)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };
	pthread_t thread;
	uint64_t dropped;

	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store(&produce_tickets_now()[s].next, 0);
	busy = (struct busy) { .rig = rig };
	ck_assert_int_eq(pthread_create(&thread, NULL, make_bursts, &p), 0);
	while (!atomic_load(&busy.done))
		pass_a_second(rig);
	pthread_join(thread, NULL);
	ck_assert_uint_gt(busy.handled, 10);
	rig_drain(rig);
	dropped = rig->lost[STREAM_RING_FULL];
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(rig->records + dropped,
	    busy.made + 60 * busy.handled);
	if (dropped == 0) {
		ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
		ck_assert_uint_eq(rig_live(rig), 0);
	}
	rig_free(rig);
	return dropped == 0;
}

TEST(nothing_is_lost_when_handlers_change_rings_too)
{
	struct sigaction sa = { .sa_handler = handler };

	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	while (!run_bursts())
		;
}

/* --- several threads, each in its own order ------------------------------------- */

#define CROWD 4
#define CROWD_ROUNDS (RIG_SLOW ? 300 : check_is_long() ? 1500 : 600)

static struct crowd {
	struct rig *rig;
	struct producer p;
	unsigned changes;
} crowd[CROWD];

static _Atomic unsigned crowd_left;
static uint64_t crowd_last[CROWD + 1];	/* by thread index */
static uint64_t crowd_wrong;

/* The events of a thread are numbered where others have a caller. */
static void
note_order(struct rig *rig, const struct rec *r)
{
	(void)rig;
	ck_assert_uint_le(rec_thread(r), CROWD);
	crowd_wrong += rec_caller(r) != ++crowd_last[rec_thread(r)];
}

static void
wait_until_drained(const struct crowd *c)
{
	const struct ring_tail *tail =
	    &c->rig->keeper->tails[c->p.ring - c->rig->area->rings];

	while (atomic_load(&tail->tail) != atomic_load(&c->p.ring->head))
		sched_yield();
}

/* Slots of its own, in shards of all: whose tickets the others keep waiting. */
static void *
push_and_shove(void *arg)
{
	struct crowd *c = arg;
	unsigned me = (unsigned)(c - crowd);
	uint64_t n = 0;

	produce_open(&c->p, me + 1);
	c->p.frees = true;	/* in the place of their own */
	for (unsigned i = 0; i < CROWD_ROUNDS; i++) {
		const struct ring_head *was = c->p.ring;
		unsigned pairs = i % 20 == 0 ? RING_SMALL : 100;

		if (i % 20 != 0)
			wait_until_drained(c);

		for (unsigned k = 0; k < pairs; k++) {
			uint64_t at = rig_addr(k * CROWD % RIG_SLOTS + me);

			produce_alloc(&c->p, at, 1, 0, TYPE_MALLOC, 0, ++n);
			produce_free(&c->p, at, TYPE_FREE, 0, ++n);
		}
		c->changes += c->p.ring != was;
	}
	atomic_fetch_sub(&crowd_left, 1);
	return NULL;
}

LOOP_TEST(the_records_of_a_thread_come_in_its_own_order, 0, 2)
{
	struct rig *rig = rig_attached(false);
	pthread_t thread[CROWD];
	unsigned changes = 0;

	rig->piecemeal = _i == 1;
	rig->on_record = note_order;
	atomic_store(&crowd_left, CROWD);
	for (unsigned i = 0; i < CROWD; i++) {
		crowd[i].rig = rig;
		ck_assert_int_eq(pthread_create(&thread[i], NULL,
				     push_and_shove, &crowd[i]), 0);
	}
	while (atomic_load(&crowd_left) > 0)
		pass_a_second(rig);
	for (unsigned i = 0; i < CROWD; i++) {
		pthread_join(thread[i], NULL);
		changes += crowd[i].changes;
	}
	rig_drain(rig);
	ck_assert_uint_gt(changes, CROWD);
	/* One that was dropped, on a busy machine, says nothing of order. */
	if (rig->lost[STREAM_RING_FULL] == 0) {
		ck_assert_uint_eq(crowd_wrong, 0);
		ck_assert_uint_eq(rig->duplicates + rig->unknown, 0);
	}
	rig_free(rig);
}

/* Some have one ring, some two, the rest none: none is confused with another. */
TEST(a_thousand_threads_share_what_rings_there_are)
{
	struct rig *rig = rig_attached(true);
	static struct producer p[1023];
	uint64_t made = 0, dropped = 0;

	for (unsigned i = 0; i < 1023; i++) {
		unsigned n = i % 9 == 0 ? RING_SMALL + 100 : 100;

		produce_open(&p[i], i + 1);
		alloc_many(&p[i], n);
		made += n;
		if (i % 16 == 15)
			ck_assert_int_ge(rig_pass(rig), 0);
	}
	for (unsigned i = 0; i < 1023; i++) {
		alloc_many(&p[i], 10);
		made += 10;
		produce_close(&p[i]);
		if (i % 256 == 255)
			ck_assert_int_ge(rig_pass(rig), 0);
	}
	rig_drain(rig);
	for (unsigned i = 0; i <= RING_COUNT; i++)
		dropped += atomic_load(&rig->area->rings[i].dropped);
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], dropped);
	ck_assert_uint_eq(rig->records + dropped, made);
	ck_assert_uint_eq(rig->controls, 1023);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	rig_free(rig);
}

#if defined(__x86_64__) && !RIG_TSAN
/* --- a handler at each instruction of an event -------------------------------- */

static struct stepped {
	struct rig *rig;
	struct producer *p;
	unsigned steps, at;
	uint64_t made;
	bool up;
} stepped;

/* Into the large ring by a burst, or back by some calm seconds. */
static void
change_rings(struct stepped *s)
{
	struct ring_head *wanted = s->p->ring;

	for (unsigned i = 0; i < 100 && s->p->ring == wanted; i++) {
		unsigned n = s->up ? 2 * RING_SMALL : 500;

		/* The alternation of the event's own address is left alone. */
		for (unsigned k = 0; k < n; k += 2) {
			produce_alloc(s->p, rig_addr(k % 64), 1, 0,
			    TYPE_MALLOC, 0, 0);
			produce_free(s->p, rig_addr(k % 64), TYPE_FREE, 0, 0);
		}
		s->made += n;
		pass_a_second(s->rig);
	}
}

static void
step(int sig)
{
	(void)sig;
	if (stepped.steps++ == stepped.at)
		change_rings(&stepped);
}

/* A sanitizer's own instructions are the most of those that there are. */
#ifdef SANITIZED
#define STRIDE 5
#else
#define STRIDE (check_is_long() ? 1 : 3)
#endif

#define STEP_BEGIN() __asm__ volatile("subq $128, %%rsp; pushfq; " \
	"orq $0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::: "cc", "memory")
#define STEP_END() __asm__ volatile("subq $128, %%rsp; pushfq; " \
	"andq $~0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::: "cc", "memory")

/* Whether the event was long enough to be interrupted there. */
static bool
interrupted_at(unsigned at, bool up)
{
	struct producer p = { 0 };
	struct rig *rig = rig_attached(false);

	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store(&produce_tickets_now()[s].next, 0);
	stepped = (struct stepped) { .rig = rig, .p = &p, .at = at };
	produce_open(&p, 1);
	stepped.up = true;
	if (!up) {
		change_rings(&stepped);
		stepped.up = false;
	}
	/* Not the first of its ring, which goes the long way. */
	produce_alloc(&p, rig_addr(100), 1, 0, TYPE_MALLOC, 0, 0);
	STEP_BEGIN();
	produce_alloc(&p, rig_addr(101), 1, 0, TYPE_MALLOC, 0, 0);
	STEP_END();
	produce_free(&p, rig_addr(101), TYPE_FREE, 0, 0);
	expect_exact(rig, stepped.made + 3);
	ck_assert_uint_eq(rig->duplicates, 0);
	ck_assert_uint_eq(rig_live(rig), 1);
	rig_free(rig);
	return stepped.steps > at;
}

LOOP_TEST(an_event_that_is_interrupted_anywhere_is_logged_once, 0, 2)
{
	struct sigaction sa = { .sa_handler = step };
	unsigned at = 0;

	ck_assert_int_eq(sigaction(SIGTRAP, &sa, NULL), 0);
	while (interrupted_at(at, _i == 0))
		at += (unsigned)(STRIDE * check_stride(13));
	ck_assert_uint_gt(at, 20);
}
#endif

/* --- fork --------------------------------------------------------------------- */

TEST(a_child_of_a_busy_thread_begins_with_a_small_ring)
{
	struct rig *rig = rig_attached(false), *second = rig_new(false);
	struct producer *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ck_assert_int_eq(madvise(p, 4096, MADV_WIPEONFORK), 0);
	produce_open(p, 1);
	alloc_many(p, 2 * RING_SMALL);
	ck_assert_ptr_eq(p->ring, p->large);
	pid = fork();
	if (pid == 0) {
		produce_attach(second->area, second->keeper, 2);
		produce_open(p, 2);
		alloc_many(p, 100);
		_exit(p->ring == NULL || p->large != NULL ||
		    p->mask + 1 != RING_SMALL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	alloc_many(p, 100);
	expect_exact(rig, 2 * RING_SMALL + 100);
	rig_free(rig);
	rig_free(second);
}

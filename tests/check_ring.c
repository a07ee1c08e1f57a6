/*
 * The shared memory itself: what its seals forbid, what a producer does when
 * its ring is full, and what a fork leaves behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "feed_rig.h"

/* --- seals ------------------------------------------------------------------ */

CASE("seals");

TEST(nobody_can_change_the_size_of_an_area)
{
	struct rig *rig = rig_new(false);

	for (int i = 0; i < 2; i++) {
		int seals = fcntl(rig->fds[i], F_GET_SEALS);
		off_t size = lseek(rig->fds[i], 0, SEEK_END);

		ck_assert_int_eq(seals, F_SEAL_SHRINK | F_SEAL_GROW |
		    F_SEAL_SEAL | (i == 1 ? F_SEAL_FUTURE_WRITE : 0));
		ck_assert_int_eq(ftruncate(rig->fds[i], size - 4096), -1);
		ck_assert_int_eq(errno, EPERM);
		ck_assert_int_eq(ftruncate(rig->fds[i], size + 4096), -1);
		ck_assert_int_eq(errno, EPERM);
		ck_assert_int_eq(fcntl(rig->fds[i], F_ADD_SEALS, F_SEAL_WRITE),
		    -1);
		ck_assert(fcntl(rig->fds[i], F_GETFD) & FD_CLOEXEC);
	}
	rig_free(rig);
}

TEST(nothing_in_an_area_overlaps)
{
	size_t at = RING_SLOTS_OFFSET, offset;

	ck_assert_uint_ge(at, sizeof(struct ring_area));
	at += RING_COMMON_SLOTS * sizeof(struct ring_slot);
	for (unsigned i = 0; i < RING_COUNT; i++) {
		uint32_t capacity = ring_place(i, &offset);

		ck_assert_uint_ge(offset, at);
		at = offset + capacity * sizeof(struct rec);
	}
	ck_assert_uint_ge(ring_sites_offset(), at);
	at = ring_sites_offset() + RING_SITES * sizeof(struct ring_site);
	ck_assert_uint_ge(ring_frames_offset(), at);
	at = ring_frames_offset() + RING_FRAMES * sizeof(uint64_t);
	ck_assert_uint_ge(ring_modules_offset(), at);
	at = ring_modules_offset() + RING_MODULES * sizeof(struct ring_module);
	ck_assert_uint_ge(ring_area_size(), at);
	/* Copied word by word, and each begins on one. */
	ck_assert_uint_eq(sizeof(struct ring_module) % sizeof(uint64_t), 0);
	ck_assert_uint_eq(ring_modules_offset() % sizeof(uint64_t), 0);
}

TEST(a_target_cannot_write_the_keeper_area)
{
	struct rig *rig = rig_new(false);

	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			     rig->fds[1], 0), MAP_FAILED);
	ck_assert_int_eq(errno, EPERM);
	if (!RIG_TSAN)
		ck_assert_int_ne(mprotect(rig->keeper, 4096,
				     PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(pwrite(rig->fds[1], "x", 1, 0), -1);
	rig_free(rig);
}

TEST(a_feed_without_descriptors_says_so_and_leaves_nothing)
{
	const struct rlimit none = { .rlim_cur = 0, .rlim_max = 1024 };
	const struct rlimit some = { .rlim_cur = 1024, .rlim_max = 1024 };
	int fds[2] = { 4711, 4712 };
	struct stream_feed *feed = NULL;

	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert_int_eq(stream_feed_new(&feed, fds, false, &rig_sink, NULL),
	    -EMFILE);
	setrlimit(RLIMIT_NOFILE, &some);
	ck_assert_ptr_null(feed);
	ck_assert_int_eq(fds[0], 4711);
	ck_assert_int_eq(fds[1], 4712);
	stream_feed_free(NULL);
}

/* --- a producer beside a keeper that the test plays ------------------------- */

struct stage {
	struct ring_area *area;
	struct keeper_area *keeper;
};

static void *
anonymous(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

static struct stage
stage_open(unsigned state)
{
	struct stage st = {
		.area = anonymous(RING_ALIGN(ring_area_size())),
		.keeper = anonymous(RING_ALIGN(sizeof(struct keeper_area))),
	};

	atomic_store(&st.keeper->state, state);
	produce_attach(st.area, st.keeper, 1);
	return st;
}

static uint64_t
tickets_drawn(void)
{
	uint64_t n = 0;

	for (unsigned s = 0; s < REC_SHARDS; s++)
		n += atomic_load(&produce_tickets_now()[s].next);
	return n;
}

CASE("producer", .seconds = 60);

/* In the order in which they lie, except that small ones go first. */
TEST(small_rings_go_first_and_come_back)
{
	struct stage st = stage_open(RING_KEEPER_NO_WAIT);
	static struct producer p[RING_COUNT + 1];
	uint32_t capacity = RING_SMALL;
	uint64_t head;

	for (unsigned i = 0; i < RING_COUNT; i++) {
		produce_open(&p[i], i + 1);
		ck_assert_uint_ge(p[i].mask + 1, capacity);
		capacity = p[i].mask + 1;
		ck_assert_ptr_eq(p[i].small, p[i].ring);
		ck_assert_uint_eq(p[i].thread, i + 1);
		ck_assert_uint_eq(atomic_load(&p[i].ring->owner), i + 1);
	}
	ck_assert_uint_eq(capacity, RING_LARGE);
	ck_assert_uint_eq(atomic_load(&st.area->next_ring), RING_COUNT);
	produce_open(&p[RING_COUNT], 9999);
	ck_assert_ptr_null(p[RING_COUNT].ring);
	ck_assert_uint_eq(p[RING_COUNT].thread, RING_COUNT + 1);

	alloc_many(&p[3], 10);
	head = atomic_load(&st.area->rings[3].head);
	produce_close(&p[3]);
	ck_assert_ptr_null(p[3].ring);
	ck_assert_uint_eq(atomic_load(&st.area->rings[3].owner), 0);
	produce_open(&p[3], 77);
	ck_assert_ptr_eq(p[3].ring, &st.area->rings[3]);
	ck_assert_uint_eq(atomic_load(&st.area->rings[3].owner), 77);
	ck_assert_uint_eq(atomic_load(&st.area->rings[3].head), head + 1);
}

LOOP_TEST(a_full_ring_drops_without_a_ticket, RING_KEEPER_READY,
    RING_KEEPER_GONE + 1)
{
	struct stage st = stage_open(_i);
	struct producer p = { 0 };

	take_large_rings(st.area);
	produce_open(&p, 1);
	errno = 4711;
	alloc_many(&p, 3000);
	produce_range(&p, rig_addr(0), 16 * RIG_SLOTS, 0);
	produce_failed(&p, 1, TYPE_MALLOC, 0, 0);
	ck_assert_int_eq(errno, 4711);
	/*
	 * The last RING_PAIRS before what is undrained stay as they are; the
	 * first record is the thread's beginning.
	 */
	ck_assert_uint_eq(atomic_load(&p.ring->head), RIG_FULL);
	ck_assert_uint_eq(tickets_drawn(), (RIG_FULL - 1));
	ck_assert_uint_eq(atomic_load(&p.ring->dropped), 3000 - (RIG_FULL - 1) + 2);
	ck_assert_uint_eq(atomic_load(&p.ring->inflight), 0);

	atomic_store(&st.keeper->tails[0].tail, RIG_FULL / 2 - 24);
	if (_i == RING_KEEPER_READY) {
		/* It waited once in vain: half must be drained first. */
		alloc_many(&p, 5);
		ck_assert_uint_eq(atomic_load(&p.ring->head), RIG_FULL);
		atomic_store(&st.keeper->tails[0].tail, RIG_FULL / 2);
	}
	alloc_many(&p, 5);
	ck_assert_uint_eq(atomic_load(&p.ring->head), RIG_FULL + 5);
	ck_assert_uint_eq(atomic_load(&p.ring->waiting), 0);
}

LOOP_TEST(the_common_ring_drops_by_the_same_rule, RING_KEEPER_READY,
    RING_KEEPER_GONE + 1)
{
	struct stage st = stage_open(_i);
	struct ring_head *common = &st.area->rings[RING_COMMON];

	errno = 4711;
	alloc_many(NULL, RING_COMMON_SLOTS + 100);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(atomic_load(&common->head), RING_COMMON_SLOTS);
	ck_assert_uint_eq(atomic_load(&common->dropped), 100);
	ck_assert_uint_eq(tickets_drawn(), RING_COMMON_SLOTS);
	atomic_store(&st.keeper->tails[RING_COMMON].tail, 4000);
	if (_i == RING_KEEPER_READY) {
		alloc_many(NULL, 5);
		ck_assert_uint_eq(atomic_load(&common->head),
		    RING_COMMON_SLOTS);
		atomic_store(&st.keeper->tails[RING_COMMON].tail, 4096);
	}
	alloc_many(NULL, 5);
	ck_assert_uint_eq(atomic_load(&common->head), RING_COMMON_SLOTS + 5);
	ck_assert_uint_eq(atomic_load(&common->waiting), 0);
}

TEST(the_bell_rings_at_each_quarter_that_is_not_drained)
{
	struct stage st = stage_open(RING_KEEPER_NO_WAIT);
	struct producer p = { 0 };

	take_large_rings(st.area);
	produce_open(&p, 1);
	alloc_many(&p, 511);
	ck_assert_uint_eq(atomic_load(&st.area->bell), 0);
	alloc_many(&p, 1);
	ck_assert_uint_eq(atomic_load(&st.area->bell), 1);
	alloc_many(&p, 1023);
	ck_assert_uint_eq(atomic_load(&st.area->bell), 2);
	/* A keeper that keeps up is not rung. */
	for (unsigned i = 0; i < 50; i++) {
		atomic_store(&st.keeper->tails[0].tail,
		    atomic_load(&p.ring->head));
		alloc_many(&p, 400);
	}
	ck_assert_uint_eq(atomic_load(&st.area->bell), 2);
	ck_assert_uint_eq(atomic_load(&p.ring->dropped), 0);
}

/* As those between the looks of a thread whose keeper asks it for something. */
TEST(a_few_records_in_a_moment_do_not_delay_the_next_look)
{
	struct rig *rig = rig_attached(false);
	static struct producer p;
	struct timespec now;

	produce_open(&p, (uint32_t)gettid());
	for (unsigned n = 0; n < 40; n++) {
		uint64_t head = atomic_load(&p.ring->head);

		produce_alloc(&p, rig_addr(n), 16, 0, TYPE_MALLOC, 0, 0);
		ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC_COARSE, &now), 0);
		p.looked_at = head;
		p.looked_ms = (uint32_t)(now.tv_sec * 1000 +
		    now.tv_nsec / 1000000) | 1;
		p.limit = head + 1;
		produce_alloc(&p, rig_addr(n + 100), 16, 0, TYPE_MALLOC, 0, 0);
		ck_assert_uint_le(p.limit - head, 32);
	}
	rig_free(rig);
}

TEST(an_address_that_is_too_far_is_counted_and_draws_no_ticket)
{
	struct stage st = stage_open(RING_KEEPER_READY);
	struct producer p = { 0 };

	produce_open(&p, 1);
	produce_alloc(&p, UINT64_C(1) << 48, 16, 0, TYPE_MALLOC, 0, 0);
	produce_free(&p, UINT64_MAX, TYPE_FREE, 0, 0);
	produce_range(NULL, UINT64_C(1) << 60, 16, 0);
	produce_alloc(&p, REC_ADDR_MASK, 16, 0, TYPE_MALLOC, 0, 0);
	ck_assert_uint_eq(atomic_load(&st.area->far_addresses), 3);
	ck_assert_uint_eq(tickets_drawn(), 1);
}

static const struct {
	uint64_t addr, len, from, upto;
} reaches[] = {
	{ 0, UINT64_MAX, 1, REC_ADDR_MASK },
	{ 0, UINT64_C(1) << 48, 1, REC_ADDR_MASK },
	{ 0, REC_ADDR_MASK, 0, REC_ADDR_MASK - 1 },
	{ 1, UINT64_MAX, 1, REC_ADDR_MASK },
	{ REC_ADDR_MASK, 2, REC_ADDR_MASK, REC_ADDR_MASK },
	{ 0x1000, 1, 0x1000, 0x1000 },
};

LOOP_TEST(a_range_reaches_to_the_last_address_that_is_listed, 0,
    sizeof(reaches) / sizeof(reaches[0]))
{
	struct producer p = { 0 };
	const struct rec *r;

	(void)stage_open(RING_KEEPER_READY);
	produce_open(&p, 1);
	r = &p.recs[atomic_load(&p.ring->head) & p.mask];
	produce_range(&p, reaches[_i].addr, 0, 0);
	produce_range(&p, reaches[_i].addr, reaches[_i].len, 0);
	ck_assert_uint_eq(rec_op(r), REC_RANGE);
	ck_assert_uint_eq(rec_addr(r), reaches[_i].from);
	ck_assert_uint_eq(rec_addr(r) + rec_size(r) - 1, reaches[_i].upto);
}

TEST(without_a_node_nothing_happens)
{
	struct producer p = { 0 };

	produce_open(&p, 1);
	produce_alloc(&p, rig_addr(1), 16, 0, TYPE_MALLOC, 0, 0);
	produce_free(NULL, rig_addr(1), TYPE_FREE, 0, 0);
	produce_range(&p, rig_addr(1), 16, 0);
	produce_close(&p);
	ck_assert(!produce_attached());
	ck_assert_uint_eq(tickets_drawn(), 0);
}

static const struct {
	uint64_t size, usable;
	unsigned overhead;
} overheads[] = {
	{ 100, 0, 0 }, { 100, 104, 4 }, { 100, 101, 1 }, { 1, 24, 23 },
	{ 0, UINT64_C(1) << 40, 0xffff }, { 16, 16, 0 },
	{ 24, 16, 0 }, { 25, 16, 0 }, { INT64_MAX, 1, 0 },
	{ 0, INT64_MAX, 0xffff }, { 5, 5 + 0x7fff, 0x7fff },
	{ 5, 5 + 0x8000, 0x8000 }, { 0, 1 << 21, 0xffff },
};

LOOP_TEST(overhead_is_usable_less_requested_bytes, 0,
    sizeof(overheads) / sizeof(overheads[0]))
{
	ck_assert_uint_eq(produce_overhead(overheads[_i].size,
			      overheads[_i].usable), overheads[_i].overhead);
}

/* --- a full ring beside the real keeper ------------------------------------- */

CASE("full ring", .seconds = 120);

TEST(made_is_delivered_and_lost)
{
	struct rig *rig = rig_attached(true);
	struct producer p = { 0 };
	uint64_t made = 0;

	take_large_rings(rig->area);
	produce_open(&p, 1);
	for (unsigned i = 0; i < 50; i++) {
		unsigned n = i % 2 ? 5000 : 100;

		alloc_many(&p, n);
		alloc_many(NULL, 2 * n);
		made += 3 * n;
		ck_assert_int_ge(rig_pass(rig), 0);
		ck_assert_uint_eq(rig->records + rig->lost[STREAM_RING_FULL],
		    made);
	}
	ck_assert_uint_gt(rig->lost[STREAM_RING_FULL], 0);
	ck_assert_uint_eq(rig->lost[STREAM_WRITER_DIED], 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->owed, 0);
	rig_free(rig);
}

struct feeder {
	struct rig *rig;
	_Atomic bool done;
	unsigned n;
};

static void *
feeder(void *arg)
{
	struct feeder *f = arg;
	struct producer p = { 0 };

	produce_open(&p, 1);
	alloc_many(&p, f->n);
	produce_close(&p);
	alloc_many(NULL, f->n);
	atomic_store(&f->done, true);
	return NULL;
}

/*
 * One run: whether the keeper was ever away for as long as a producer waits,
 * as it may be on a busy machine.
 */
static bool
run_slow_keeper(uint64_t *missing)
{
	struct rig *rig = rig_attached(false);
	struct feeder f = { .rig = rig, .n = 50000 };
	struct timespec last, now;
	pthread_t thread;
	int64_t gap = 0;

	take_large_rings(rig->area);
	clock_gettime(CLOCK_MONOTONIC, &last);
	rig_pass(rig);
	ck_assert_int_eq(pthread_create(&thread, NULL, feeder, &f), 0);
	while (!atomic_load(&f.done)) {
		int64_t ms;

		stream_feed_wait_bell(rig->feed, 2);
		ck_assert_int_ge(rig_pass(rig), 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (now.tv_sec - last.tv_sec) * 1000 +
		    (now.tv_nsec - last.tv_nsec) / 1000000;
		gap = ms > gap ? ms : gap;
		last = now;
	}
	pthread_join(thread, NULL);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records + rig->lost[STREAM_RING_FULL], 100000);
	*missing = rig->lost[STREAM_RING_FULL];
	rig_free(rig);
	return gap >= RING_STALL_MS / 2;
}

TEST(a_producer_waits_for_a_keeper_whose_heart_beats)
{
	uint64_t missing;
	bool away;

	do {
		away = run_slow_keeper(&missing);
	} while (away && missing != 0);
	ck_assert_uint_eq(missing, 0);
}

TEST(a_keeper_that_goes_lets_nobody_wait)
{
	struct rig *rig = rig_attached(false);
	struct feeder f = { .rig = rig, .n = 10000 };
	pthread_t thread;

	take_large_rings(rig->area);
	rig_pass(rig);
	ck_assert_int_eq(pthread_create(&thread, NULL, feeder, &f), 0);
	/* Only the heart beats until the thread sleeps. */
	while (atomic_load(&rig->area->rings[0].waiting) == 0) {
		stream_feed_beat(rig->feed, ++rig->now);
		sched_yield();
	}
	/* Ends as a feed ends whose target has lied. */
	atomic_store(&rig->area->version, 0);
	atomic_store(&rig->area->magic, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	pthread_join(thread, NULL);
	rig_free(rig);
}

struct sleeper {
	const struct ring_tail *tail;
	_Atomic pid_t tid;
	int woken;	/* 0, or why not */
};

static void *
sleeper(void *arg)
{
	struct sleeper *s = arg;
	const struct timespec limit = { .tv_sec = 30 };

	atomic_store(&s->tid, (pid_t)syscall(SYS_gettid));
	s->woken = syscall(RING_SYS_FUTEX, &s->tail->space, FUTEX_WAIT, 0,
	    &limit, NULL, 0) == 0 ? 0 : errno;
	return NULL;
}

static bool
asleep(pid_t tid)
{
	char path[64], line[256], state = '?';
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	if (fgets(line, sizeof line, f) != NULL && strrchr(line, ')') != NULL)
		state = strrchr(line, ')')[2];
	fclose(f);
	return state == 'S';
}

/* Without it a thread would go on at the end of its slice all the same. */
TEST(a_keeper_that_goes_wakes_who_sleeps)
{
	struct rig *rig = rig_attached(false);
	struct sleeper s = { .tail = &rig->keeper->tails[3] };
	pthread_t thread;

	atomic_store(&rig->area->rings[3].waiting, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, &s), 0);
	while (atomic_load(&s.tid) == 0 || !asleep(atomic_load(&s.tid)))
		sched_yield();
	atomic_store(&rig->area->version, 0);
	atomic_store(&rig->area->magic, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	pthread_join(thread, NULL);
	ck_assert_int_eq(s.woken, 0);
	rig_free(rig);
}

/* A call for each of the others would be 160 for nothing. */
TEST(a_keeper_that_goes_wakes_who_waits_and_nobody_else)
{
	struct rig *rig = rig_attached(false);
	const struct ring_tail *tails = rig->keeper->tails;

	atomic_store(&rig->area->rings[3].waiting, 1);
	atomic_store(&rig->area->rings[RING_COMMON].waiting, 1);
	atomic_store(&rig->area->version, 0);
	atomic_store(&rig->area->magic, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	ck_assert_int_eq(atomic_load(&rig->keeper->state), RING_KEEPER_GONE);
	for (unsigned i = 0; i <= RING_COUNT; i++)
		ck_assert_uint_eq(atomic_load(&tails[i].space),
		    i == 3 || i == RING_COMMON);
	rig_free(rig);
}

TEST(the_bell_wakes_the_keeper_once)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };

	take_large_rings(rig->area);
	produce_open(&p, 1);
	ck_assert_int_eq(stream_feed_wait_bell(rig->feed, 0), -ETIMEDOUT);
	alloc_many(&p, 600);
	ck_assert_int_eq(stream_feed_wait_bell(rig->feed, 10000), 0);
	ck_assert_int_eq(stream_feed_wait_bell(rig->feed, 0), -ETIMEDOUT);
	rig_free(rig);
}

/* --- fork ------------------------------------------------------------------- */

static struct producer *
producer_page(void)
{
	struct producer *p = anonymous(4096);

	ck_assert_int_eq(madvise(p, 4096, MADV_WIPEONFORK), 0);
	return p;
}

static pid_t
fork_plain(void)
{
	return fork();
}

static pid_t
fork_bare(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t (*const forks[])(void) = { fork_plain, fork_bare };

static void
expect_success(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* Which of the child's expectations failed, or 0. */
static int
child(struct rig *second, struct producer *p, struct rec *stale)
{
	if (p->ring != NULL || produce_attached() || produce_stream() != 1)
		return 1;
	/* Events before the hello find nobody, and disturb nobody. */
	alloc_many(p, 100);
	alloc_many(NULL, 100);
	produce_orphan();
	/* The rest of an event that the fork interrupted. */
	memset(stale, 0xff, sizeof(*stale));

	produce_attach(second->area, second->keeper, 2);
	if (!produce_attached() || produce_stream() != 2)
		return 2;
	produce_open(p, 2);
	if (p->ring == NULL)
		return 3;
	alloc_many(p, 50);
	alloc_many(NULL, 50);
	return 0;
}

CASE("fork", .tags = TAG_KERNEL);

LOOP_TEST(a_forked_child_begins_anew_and_leaves_its_parent_alone, 0,
    RIG_TSAN ? 1 : 2)
{
	struct rig *first = rig_new(false), *second = rig_new(false);
	struct producer *p = producer_page();
	struct rec *oldest = (struct rec *)((char *)first->area +
	    RING_RECS_OFFSET);
	uint32_t cut[REC_SHARDS];
	pid_t pid;

	produce_attach(first->area, first->keeper, 1);
	produce_open(p, 1);
	alloc_many(p, 200);
	rig_drain(first);
	for (unsigned s = 0; s < REC_SHARDS; s++)
		cut[s] = atomic_load(&produce_tickets_now()[s].next);
	stream_feed_start_at(second->feed, cut);

	pid = forks[_i]();
	if (pid == 0)
		_exit(child(second, p, oldest));
	expect_success(pid);
	alloc_many(p, 10);
	rig_drain(first);
	rig_drain(second);
	ck_assert_uint_eq(first->records, 210);
	ck_assert_uint_eq(first->controls, 1);
	ck_assert_uint_eq(second->records, 100);
	ck_assert_uint_eq(second->controls, 1);
	ck_assert_uint_eq(second->lost[STREAM_WRITER_DIED], 0);
	ck_assert(produce_attached());
	ck_assert_uint_eq(produce_stream(), 1);
	/* The record where the child's stale event went is the parent's still. */
	ck_assert_uint_ne(oldest->w[0], UINT64_MAX);
	for (size_t i = 0; i < second->nlog; i++)
		if (rec_op(&second->log[i]) == REC_ALLOC)
			ck_assert(stream_after_cut(&second->log[i], cut));
	for (size_t i = 0; i < 200; i++)
		ck_assert(!stream_after_cut(&first->log[i], cut));
	rig_free(first);
	rig_free(second);
}

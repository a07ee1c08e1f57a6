/*
 * Stacks as the target writes them down: one number for one content, whoever
 * comes first, and nothing read outside what is there.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sites_rig.h"

static struct ring_site *
site_of(struct ring_area *area, uint32_t no)
{
	return (struct ring_site *)((char *)area + ring_sites_offset()) + no;
}

static uint64_t *
frames_of(struct ring_area *area)
{
	return (uint64_t *)((char *)area + ring_frames_offset());
}

/* The n-th of the stacks that these tests know. */
static void
stack_fill(uint64_t frame[RING_STACK_MAX], uint64_t n, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		frame[i] = frame_make(0x555500000000 + 16 * n + 4096 * i,
		    i % 3);
}

static uint32_t
put(uint64_t n, unsigned depth, enum ring_end end)
{
	uint64_t frame[RING_STACK_MAX];

	stack_fill(frame, n, depth);
	return sites_put(frame, depth, end);
}

static bool
stands(struct ring_area *area, uint32_t no, uint64_t n, unsigned depth,
    enum ring_end end)
{
	uint64_t frame[RING_STACK_MAX];
	uint64_t word = atomic_load(&site_of(area, no)->word);

	stack_fill(frame, n, depth);
	return ring_site_depth(word) == depth && ring_site_end(word) == end &&
	    memcmp(frames_of(area) + ring_site_at(word), frame,
		depth * sizeof(*frame)) == 0;
}

/* --- stacks -------------------------------------------------------------- */

CASE("stacks", .seconds = 60);

TEST(nothing_is_put_without_an_area)
{
	ck_assert_uint_eq(put(1, 4, RING_END_DEPTH), 0);
	sites_count_walk();
}

TEST(a_stack_has_one_number_and_stands_in_the_area)
{
	struct ring_area *area = area_joined();

	for (unsigned depth = 1; depth <= RING_STACK_MAX; depth++) {
		uint32_t no = put(depth, depth, RING_END_OUTERMOST);

		ck_assert_uint_eq(no, depth);
		ck_assert_uint_eq(put(depth, depth, RING_END_OUTERMOST), no);
		ck_assert(stands(area, no, depth, depth, RING_END_OUTERMOST));
	}
	ck_assert_uint_eq(atomic_load(&area->sites), RING_STACK_MAX + 1);
	ck_assert_uint_eq(atomic_load(&area->frames),
	    1 + RING_STACK_MAX * (RING_STACK_MAX + 1) / 2);
	ck_assert_uint_eq(atomic_load(&area->sites_full), 0);
}

TEST(depth_end_and_every_frame_tell_stacks_apart)
{
	uint64_t frame[RING_STACK_MAX];
	uint32_t whole;

	area_joined();
	whole = put(7, 16, RING_END_OUTERMOST);
	ck_assert_uint_ne(put(7, 16, RING_END_DEPTH), whole);
	ck_assert_uint_ne(put(7, 15, RING_END_OUTERMOST), whole);
	for (unsigned i = 0; i < 16; i++) {
		stack_fill(frame, 7, 16);
		frame[i] ^= 1;
		ck_assert_uint_ne(sites_put(frame, 16, RING_END_OUTERMOST),
		    whole);
		frame[i] ^= 1 ^ UINT64_C(1) << 50;
		ck_assert_uint_ne(sites_put(frame, 16, RING_END_OUTERMOST),
		    whole);
	}
	ck_assert_uint_eq(put(7, 16, RING_END_OUTERMOST), whole);
}

TEST(a_stack_of_no_frames_or_too_many_has_no_number)
{
	uint64_t frame[RING_STACK_MAX + 1] = { 0 };

	area_joined();
	ck_assert_uint_eq(sites_put(frame, 0, RING_END_DEPTH), 0);
	ck_assert_uint_eq(sites_put(frame, RING_STACK_MAX + 1, RING_END_DEPTH),
	    0);
}

TEST(a_full_table_gives_no_number_and_counts)
{
	struct ring_area *area = area_joined();

	for (uint32_t n = 1; n < RING_SITES; n++)
		ck_assert_uint_eq(put(n, 1, RING_END_DEPTH), n);
	ck_assert_uint_eq(put(RING_SITES, 1, RING_END_DEPTH), 0);
	ck_assert_uint_eq(put(RING_SITES, 1, RING_END_DEPTH), 0);
	ck_assert_uint_eq(atomic_load(&area->sites_full), 2);
	/* What has a number keeps it, and no word is taken in vain. */
	ck_assert_uint_eq(put(4711, 1, RING_END_DEPTH), 4711);
	ck_assert_uint_eq(atomic_load(&area->frames), RING_SITES);
}

TEST(a_full_pool_of_frames_gives_no_number_and_counts)
{
	struct ring_area *area = area_joined();
	uint32_t n;

	for (n = 1; put(n, RING_STACK_MAX, RING_END_DEPTH) == n; n++)
		;
	ck_assert_uint_eq(n, RING_FRAMES / RING_STACK_MAX);
	ck_assert_uint_eq(atomic_load(&area->sites_full), 1);
	ck_assert_uint_eq(put(1, RING_STACK_MAX, RING_END_DEPTH), 1);
	/* 63 words are left. */
	ck_assert_uint_eq(put(n, RING_STACK_MAX - 1, RING_END_DEPTH), n);
	ck_assert_uint_eq(put(n, 1, RING_END_DEPTH), 0);
	ck_assert_uint_eq(atomic_load(&area->frames), RING_FRAMES);
}

TEST(walks_are_counted)
{
	struct ring_area *area = area_joined();

	sites_count_walk();
	sites_count_walk();
	ck_assert_uint_eq(atomic_load(&area->walks), 2);
}

#define THREADS 4
#define SHARED_STACKS 3000

struct put_thread {
	pthread_t id;
	_Atomic unsigned *arrived;	/* at a stack, all of them together */
	uint32_t no[SHARED_STACKS];
};

static void *
put_all(void *arg)
{
	struct put_thread *t = arg;

	for (unsigned n = 0; n < SHARED_STACKS; n++) {
		atomic_fetch_add(t->arrived, 1);
		while (atomic_load(t->arrived) < THREADS * (n + 1))
			sched_yield();
		t->no[n] = put(n, 1 + n % 24, RING_END_DEPTH);
		sites_count_walk();
	}
	return NULL;
}

TEST(threads_that_meet_the_same_stacks_agree)
{
	static struct put_thread t[THREADS];
	struct ring_area *area = area_joined();
	_Atomic unsigned arrived = 0;

	for (unsigned i = 0; i < THREADS; i++) {
		t[i].arrived = &arrived;
		ck_assert_int_eq(pthread_create(&t[i].id, NULL, put_all,
		    &t[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i].id, NULL);
	for (unsigned n = 0; n < SHARED_STACKS; n++) {
		uint32_t no = put(n, 1 + n % 24, RING_END_DEPTH);

		for (unsigned i = 0; i < THREADS; i++) {
			ck_assert_uint_eq(t[i].no[n], no);
			ck_assert(stands(area, t[i].no[n], n, 1 + n % 24,
			    RING_END_DEPTH));
		}
	}
	ck_assert_uint_eq(atomic_load(&area->walks), THREADS * SHARED_STACKS);
}

/* Runs in a child; its exit status is what failed. */
static int
in_child(struct ring_area *parents)
{
	struct ring_area *own;

	if (put(1, 4, RING_END_DEPTH) != 0)
		return 1;
	own = area_joined();
	/* The order is another, so the parent's numbers would show. */
	if (put(2, 4, RING_END_DEPTH) != 1 || put(1, 4, RING_END_DEPTH) != 2)
		return 2;
	if (!stands(own, 1, 2, 4, RING_END_DEPTH))
		return 3;
	if (atomic_load(&parents->sites) != 3)
		return 4;
	sites_detach();
	return put(1, 4, RING_END_DEPTH) != 0 ? 5 : 0;
}

TEST(a_forked_child_begins_anew_in_its_own_area)
{
	struct ring_area *area = area_joined();
	int status;
	pid_t pid;

	put(1, 4, RING_END_DEPTH);
	put(2, 4, RING_END_DEPTH);
	pid = fork();
	if (pid == 0)
		_exit(in_child(area));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_uint_eq(put(2, 4, RING_END_DEPTH), 2);
}

TEST(another_area_begins_anew)
{
	struct ring_area *second;

	area_joined();
	put(1, 4, RING_END_DEPTH);
	put(2, 4, RING_END_DEPTH);
	second = area_joined();
	ck_assert_uint_eq(put(2, 4, RING_END_DEPTH), 1);
	ck_assert(stands(second, 1, 2, 4, RING_END_DEPTH));
}

TEST(a_child_is_an_orphan_without_sites)
{
	struct ring_area *area = area_map();
	struct keeper_area *keeper = mmap(NULL,
	    RING_ALIGN(sizeof(*keeper)), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	produce_attach(area, keeper, 1);
	ck_assert_uint_eq(put(1, 4, RING_END_DEPTH), 1);
	pid = fork();
	if (pid == 0) {
		produce_orphan();
		_exit(put(1, 4, RING_END_DEPTH) != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_uint_eq(atomic_load(&area->sites), 2);
}

LOOP_TEST(a_number_that_means_another_stack_by_now_is_not_given, 0, 16)
{
	struct ring_area *area = area_joined();
	uint32_t no = put(1, 16, RING_END_DEPTH), again;

	frames_of(area)[ring_site_at(atomic_load(&site_of(area, no)->word)) +
	    _i]++;
	again = put(1, 16, RING_END_DEPTH);
	ck_assert_uint_ne(again, no);
	ck_assert(stands(area, again, 1, 16, RING_END_DEPTH));
	ck_assert_uint_eq(put(1, 16, RING_END_DEPTH), again);
	/* As long as it should be, and nowhere. */
	atomic_store(&site_of(area, again)->word, ring_site_word(
	    _i % 2 == 0 ? UINT32_MAX : RING_FRAMES - 15, 16, RING_END_DEPTH));
	ck_assert_uint_ne(put(1, 16, RING_END_DEPTH), again);
}

/* Numbers that are given while the program writes into the area at random. */
LOOP_TEST(a_scribbled_area_leads_nowhere, 0, 4)
{
	struct ring_area *area = area_joined();
	uint64_t seed = (unsigned)_i + 1;

	for (unsigned n = 0; n < 2000; n++)
		put(n, 16, RING_END_DEPTH);
	for (unsigned n = 0; n < 2000; n++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		atomic_store(&site_of(area, 1 + n)->word,
		    seed >> (n % 3 * 16));
	}
	for (unsigned n = 0; n < 2000; n++) {
		uint32_t no = put(n, 16, RING_END_DEPTH);

		ck_assert(stands(area, no, n, 16, RING_END_DEPTH));
	}
	atomic_store(&area->sites, UINT32_MAX - (unsigned)_i);
	atomic_store(&area->frames, UINT32_MAX - (unsigned)_i);
	ck_assert_uint_eq(put(5000, 16, RING_END_DEPTH), 0);
}

/*
 * ringbench: what one event costs the thread that logs it, and how many
 * records a keeper can take.  One thread of a target on cpu 1 plays churn (64
 * live blocks, allocations and frees in turn) into its ring; the keeper drains
 * on cpu 0, once a millisecond, into a sink that only counts.  Then the
 * rings are filled and drained alone.
 *
 *	make microbench && build/bench/ringbench
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "../src/alloclog/produce/produce.h"
#include "../src/base/base.h"
#include "../src/stream/feed/feed.h"

#define EVENTS 40000000u
#define LIVE 64
#define ROUNDS 7

static uint64_t counted, lost;
static _Atomic int producing;

static void
count(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)near_ms;
	counted += n;
}

static void
control(void *arg, const struct rec *r, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)near_ms;
}

static void
lose(void *arg, unsigned cause, uint64_t n)
{
	(void)arg;
	(void)cause;
	lost += n;
}

static const struct stream_sink sink = {
	.records = count,
	.control = control,
	.lost = lose,
};

/* Of this thread's own processor time: the machine may have others to serve. */
static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static uint64_t
address(unsigned i)
{
	return UINT64_C(0x555555560000) + (uint64_t)(i * 7919 % LIVE) * 528;
}

/* The loop without and with the events; the difference is what they cost. */
static double
churn(struct producer *p, unsigned events)
{
	double start = seconds();

	for (unsigned i = 0; i < events / 2; i++) {
		uint64_t addr = address(i);

		if (p != NULL)
			produce_free(p, addr, TYPE_FREE, 0, addr ^ 0x1234);
		__asm__ volatile("" : "+r"(addr) : : "memory");
		if (p != NULL)
			produce_alloc(p, addr, 100, 104, TYPE_MALLOC, 0,
			    addr ^ 0x5678);
		__asm__ volatile("" : "+r"(addr) : : "memory");
	}
	return (seconds() - start) / events * 1e9;
}

static void *
produce(void *arg)
{
	struct producer *p = arg;
	double best = 1e9, with;

	pin(1);
	produce_open(p, 1);
	churn(p, 1000000);	/* touches the whole ring */
	for (int i = 0; i < ROUNDS; i++) {
		with = churn(p, EVENTS / ROUNDS) - churn(NULL, EVENTS / ROUNDS);
		printf("produce	%.2f ns/event\n", with);
		best = with < best ? with : best;
	}
	printf("produce	%.2f ns/event best\n", best);
	atomic_store(&producing, 0);
	return NULL;
}

static double
drain(struct stream_feed *feed)
{
	double start = seconds();

	stream_feed_pass(feed, mono_ms(mono_now()), UINT64_MAX);
	return seconds() - start;
}

/* n rings are filled in turn, an event each, and drained alone. */
static void
drain_alone(struct stream_feed *feed, struct producer *p, unsigned n)
{
	double best = 1e9, took;
	uint64_t before;

	for (int round = 0; round < 2 * ROUNDS; round++) {
		uint32_t random = 1;

		for (unsigned i = 0; i < 100000; i++) {
			random = random * 1664525 + 1013904223;
			produce_alloc(&p[(random >> 16) % n], address(i), 100,
			    104, TYPE_MALLOC, 0, 0);
		}
		before = counted;
		took = drain(feed) / (double)(counted - before) * 1e9;
		best = took < best ? took : best;
	}
	printf("drain	%u rings: %.2f ns/record, %.0f M records/s\n", n, best,
	    1e3 / best);
}

int
main(void)
{
	static _Alignas(64) struct producer p[8];
	struct stream_feed *feed;
	struct timespec ms = { .tv_nsec = 1000000 };
	pthread_t thread;
	void *area, *keeper;
	double busy = 0;
	int fds[2];

	if (stream_feed_new(&feed, fds, false, &sink, NULL) != 0)
		return 1;
	area = mmap(NULL, RING_ALIGN(ring_area_size()), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fds[0], 0);
	keeper = mmap(NULL, RING_ALIGN(sizeof(struct keeper_area)), PROT_READ,
	    MAP_SHARED, fds[1], 0);
	if (area == MAP_FAILED || keeper == MAP_FAILED)
		return 1;
	produce_attach(area, keeper, 1);
	pin(0);
	atomic_store(&producing, 1);
	if (pthread_create(&thread, NULL, produce, &p[0]) != 0)
		return 1;
	while (atomic_load(&producing)) {
		busy += drain(feed);
		nanosleep(&ms, NULL);
	}
	pthread_join(thread, NULL);
	busy += drain(feed);
	printf("keep	%llu records, %.2f ns/record beside the producer, %llu lost\n",
	    (unsigned long long)counted, busy / (double)counted * 1e9,
	    (unsigned long long)lost);
	for (int i = 1; i < 8; i++)
		produce_open(&p[i], 1);
	for (unsigned n = 1; n <= 8; n *= 2)
		drain_alone(feed, p, n);
	stream_feed_free(feed);
	return 0;
}

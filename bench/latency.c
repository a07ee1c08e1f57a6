/*
 * latency: what two things cost on this machine that every figure of ours
 * depends on and that its name does not tell: how long a cache line takes from
 * one core to another, as rings and tickets do, and how long a read takes that
 * finds nothing in any cache, as a free of an old block does.  What the system
 * calls cores may be halves of one, share a cache or lie apart, and the
 * hypervisor does not say; it moves them, too.
 *
 * The one line of output is nanoseconds, medians of a few tries; hand_ns is
 * missing where this process has one core.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../src/base/base.h"

#define TRIES 5
#define HANDS 200000
#define LINE 64
#define LINES ((size_t)1 << 22)		/* 256 MiB: more than a cache holds */
#define READS 2000000

struct line {
	_Alignas(LINE) struct line *next;
};

static _Alignas(LINE) _Atomic unsigned turn;

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double ns[TRIES])
{
	qsort(ns, TRIES, sizeof ns[0], ascending);
	return ns[TRIES / 2];
}

/* The first two cores that this process may run on; how many there are. */
static int
two_cores(int core[2])
{
	cpu_set_t set;
	int n = 0;

	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return 0;
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			core[n++] = i;
	return n;
}

static void
stay_on(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Waits for odd or even turns and takes the next one. */
static void
play(unsigned first)
{
	for (unsigned n = first; n < 2 * HANDS; n += 2) {
		while (atomic_load_explicit(&turn, memory_order_acquire) != n)
			;
		atomic_store_explicit(&turn, n + 1, memory_order_release);
	}
}

static void *
other(void *core)
{
	stay_on(*(int *)core);
	play(1);
	return NULL;
}

/* 0 where nothing could be measured. */
static double
hand(void)
{
	double ns[TRIES];
	int core[2];

	if (two_cores(core) < 2)
		return 0;
	for (int i = 0; i < TRIES; i++) {
		pthread_t thread;
		struct mono begun;

		atomic_store(&turn, 0);
		if (pthread_create(&thread, NULL, other, &core[1]) != 0)
			return 0;
		stay_on(core[0]);
		begun = mono_now();
		play(0);
		pthread_join(thread, NULL);
		ns[i] = (double)mono_diff_ns(mono_now(), begun) / (2 * HANDS);
	}
	return median(ns);
}

/* One ring through all lines, in an order that no prefetcher guesses. */
static void
shuffle(struct line *lines)
{
	uint64_t random = 1;

	for (size_t i = 0; i < LINES; i++)
		lines[i].next = &lines[i];
	/* Sattolo's way: what is left is one cycle. */
	for (size_t i = LINES - 1; i > 0; i--) {
		struct line *kept = lines[i].next;
		size_t j;

		random = random * UINT64_C(6364136223846793005) + 1;
		j = (size_t)(random >> 33) % i;
		lines[i].next = lines[j].next;
		lines[j].next = kept;
	}
}

static double
reading(void)
{
	struct line *lines = aligned_alloc(LINE, LINES * sizeof *lines);
	const struct line *at = lines;
	double ns[TRIES];

	if (lines == NULL)
		return 0;
	shuffle(lines);
	for (int i = 0; i < TRIES; i++) {
		struct mono begun = mono_now();

		for (int n = 0; n < READS; n++)
			at = *(struct line *const volatile *)&at->next;
		ns[i] = (double)mono_diff_ns(mono_now(), begun) / READS;
	}
	free(lines);
	return median(ns);
}

int
main(void)
{
	double hand_ns = hand(), read_ns = reading();

	if (hand_ns > 0)
		printf("hand_ns=%.0f ", hand_ns);
	if (read_ns > 0)
		printf("read_ns=%.0f", read_ns);
	printf("\n");
	return 0;
}

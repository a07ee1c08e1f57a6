/*
 * usagebench: what usage_xmemory adds to malloc() and free(), in ns a pair, on one
 * thread and on two, beside the note's own list without a lock.
 *
 *	usagebench [--json] [PAIRS]
 *
 * Each way makes the same calls: 64 blocks of three types are freed and allocated
 * again in an order from a generator.  Each type has call sites of its own in each
 * way.  Otherwise the compiler merges those of malloc() and free(), and the branches
 * between the sites, which mostly are mispredicted, would count as the library's.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/usage/usage_xmemory.h"

#define HELD 64
#define ROUNDS 9

struct small { char c[24]; };
struct middle { char c[100]; };
struct large { char c[300]; };

static unsigned long pairs = 5000000;

/* --- the note's list ---------------------------------------------------------- */

struct note_cell {
	struct note_cell *next;
	const char *name;
	int num;
	unsigned allocd, freed, max;
};

static struct note_cell *note_list;

static struct note_cell *
note_get(const char *name, int num)
{
	struct note_cell *c;

	for (c = note_list; c != NULL; c = c->next)
		if (c->num == num && strcmp(c->name, name) == 0)
			return c;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		exit(1);
	c->name = name;
	c->num = num;
	c->next = note_list;
	note_list = c;
	return c;
}

static void
note_alloc(const char *name, int num)
{
	struct note_cell *c = note_get(name, num);

	c->allocd++;
	if (c->allocd - c->freed > c->max)
		c->max = c->allocd - c->freed;
}

static void
note_free(const char *name, int num)
{
	note_get(name, num)->freed++;
}

/* --- the ways ------------------------------------------------------------------- */

enum way { PLAIN, MACROS, FUNCTIONS, NOTE };

#define SITE(T) __asm__ volatile("" : : "i" (sizeof(T)))

#define DO_ALLOC(T) \
	(way == MACROS ? (void *)xalloc(T) : \
	    (way == FUNCTIONS ? alloc_usage_xmemory(#T, 1) : \
	     way == NOTE ? note_alloc(#T, 1) : (void)0, malloc(sizeof(T))))
#define DO_FREE(T, p) do { \
	SITE(T); \
	if (way == MACROS) { \
		xfree(T, p); \
		break; \
	} \
	if (way == FUNCTIONS) \
		free_usage_xmemory(#T, 1); \
	if (way == NOTE) \
		note_free(#T, 1); \
	free(p); \
} while (0)

static inline __attribute__((always_inline)) void
loop(enum way way)
{
	void *block[HELD] = { NULL };
	unsigned type[HELD] = { 0 };
	uint32_t s = 1;

	for (unsigned long i = 0; i < pairs + HELD; i++) {
		unsigned at = i % HELD;

		s = s * 1103515245u + 12345u;
		if (block[at] != NULL)
			switch (type[at]) {
			case 0: DO_FREE(struct small, block[at]); break;
			case 1: DO_FREE(struct middle, block[at]); break;
			default: DO_FREE(struct large, block[at]); break;
			}
		type[at] = (s >> 20) % 3;
		switch (type[at]) {
		case 0: SITE(struct small); block[at] = DO_ALLOC(struct small); break;
		case 1: SITE(struct middle); block[at] = DO_ALLOC(struct middle); break;
		default: SITE(struct large); block[at] = DO_ALLOC(struct large); break;
		}
	}
	for (unsigned at = 0; at < HELD; at++)
		switch (type[at]) {
		case 0: DO_FREE(struct small, block[at]); break;
		case 1: DO_FREE(struct middle, block[at]); break;
		default: DO_FREE(struct large, block[at]); break;
		}
}

static void run_plain(void) { loop(PLAIN); }
static void run_macros(void) { loop(MACROS); }
static void run_functions(void) { loop(FUNCTIONS); }
static void run_note(void) { loop(NOTE); }

/* --- measuring -------------------------------------------------------------------- */

struct run {
	pthread_t thread;
	void (*way)(void);
	double ns;			/* of the thread's own processor time */
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *
time_thread(void *arg)
{
	struct run *run = arg;
	double begun = now_ns();

	run->way();
	run->ns = now_ns() - begun;
	return NULL;
}

/* ns a pair. */
static double
time_way(void (*way)(void), unsigned threads)
{
	struct run run[2];
	double ns = 0;

	for (unsigned i = 0; i < threads; i++) {
		run[i].way = way;
		if (pthread_create(&run[i].thread, NULL, time_thread, &run[i]) != 0)
			exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(run[i].thread, NULL);
		ns += run[i].ns;
	}
	return ns / (double)pairs / threads;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of what it adds in rounds that take both in turn. */
static double
added(void (*run)(void), unsigned threads)
{
	double by[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		double plain = time_way(run_plain, threads);

		by[i] = time_way(run, threads) - plain;
	}
	qsort(by, ROUNDS, sizeof by[0], by_value);
	return by[ROUNDS / 2];
}

static const struct {
	const char *key;
	const char *what;
	void (*run)(void);
	unsigned threads;
} rows[] = {
	{ "note", "the note's list", run_note, 1 },
	{ "macros", "xalloc and xfree", run_macros, 1 },
	{ "macros2", "xalloc and xfree, two threads", run_macros, 2 },
	{ "functions", "functions, by name", run_functions, 1 },
	{ "functions2", "functions, by name, two threads", run_functions, 2 },
};

int
main(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;

	if (argc > 1 + json)
		pairs = strtoul(argv[1 + json], NULL, 10);
	if (pairs == 0) {
		fprintf(stderr, "usage: usagebench [--json] [PAIRS]\n");
		return 2;
	}
	if (!json)
		printf("%-34s %6.1f ns\n", "malloc and free", time_way(run_plain, 1));
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		double ns = added(rows[i].run, rows[i].threads);

		if (json)
			printf("{\"way\": \"%s\", \"ns\": %.2f}\n", rows[i].key, ns);
		else
			printf("%-34s %+6.1f ns\n", rows[i].what, ns);
	}
	return 0;
}

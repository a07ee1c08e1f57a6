/*
 * listbench: what a record costs the indexed list, by itself.
 *
 *	mix	80 % of the events free and allocate in a pool of 256 young
 *		blocks, 20 % replace a block chosen at random from all: what
 *		the heap of a long-lived program looks like.
 *	churn	64 blocks, one at random freed and allocated again.
 *	realloc	as churn, but each replacement is a realloc: its free
 *		cancels nothing and goes into limbo.
 *
 * Addresses are those of a simple allocator of size classes with a free list
 * each, last freed first reused, in one span of memory.  Batches have 4,096
 * records.  Prints for each number of live blocks, without and with looking for
 * pairs, what a record costs (the median of slices of 65,536), the memory for
 * each block, and the cost of a window of 50 rows: mean, and longest in
 * parentheses.
 *
 *	make microbench && build/bench/listbench [EVENTS [TRACE LIVE]]
 *
 *	EVENTS	millions of them for each line; 20 unless told
 *	TRACE	that one alone, with LIVE blocks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/blklist/blklist.h"

#define BATCH 4096
#define BATCHES 16	/* made at a time, so that making them disturbs little */
#define YOUNG 256
#define CLASSES 16
#define ROWS 50

static uint64_t seed = 88172645463325252u;

static uint64_t
rng(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct slot {
	uint64_t addr;
	uint32_t size;
};

/* The allocator: a stack of free addresses for each class of 16 bytes more. */
struct heap {
	uint64_t *stack[CLASSES];
	size_t n[CLASSES], cap[CLASSES];
	uint64_t end;
};

static struct slot
heap_alloc(struct heap *h, uint64_t r)
{
	/* Small sizes are the more usual ones. */
	unsigned c = (unsigned)((r & 15) * ((r >> 4) & 15) / 15);
	struct slot s = { .size = 16 * (c + 1) };

	if (h->n[c] > 0)
		s.addr = h->stack[c][--h->n[c]];
	else {
		s.addr = h->end;
		h->end += s.size + 16;
	}
	return s;
}

static void
heap_free(struct heap *h, struct slot s)
{
	unsigned c = s.size / 16 - 1;

	if (h->n[c] == h->cap[c]) {
		h->cap[c] = h->cap[c] * 2 + 64;
		h->stack[c] = realloc(h->stack[c], h->cap[c] * sizeof(uint64_t));
		if (h->stack[c] == NULL)
			abort();
	}
	h->stack[c][h->n[c]++] = s.addr;
}

struct trace {
	struct heap heap;
	struct slot *slot;
	size_t live;
	struct rec rec[BATCHES * BATCH];
	size_t n;
	struct blklist *list;
	uint64_t seq, events;
	double *took;		/* ns per record of each flush */
	size_t ntook;
	bool cancel, realloc;
};

static void
flush(struct trace *t)
{
	struct blklist_batch b = { .near_ms = 1 << 20, .cancel = t->cancel };
	uint64_t begin = now_ns();

	for (size_t at = 0; at < t->n; at += b.n) {
		b.rec = t->rec + at;
		b.n = t->n - at < BATCH ? t->n - at : BATCH;
		b.seq = t->seq + at;
		blklist_apply(t->list, &b);
	}
	if (t->took != NULL && t->n > 0)
		t->took[t->ntook++] = (double)(now_ns() - begin) /
		    (double)t->n;
	t->seq += t->n;
	t->events += t->n;
	t->n = 0;
}

static void
emit(struct trace *t, unsigned op, struct slot s, unsigned type)
{
	t->rec[t->n++] = (struct rec){ {
	    rec_w0(s.addr, REC_FLAGS(op, 0), type), rec_w1(s.size, 1),
	    rec_w2((uint32_t)(t->seq + t->n), 1000), rec_w3(0x555555554000, 1),
	} };
	if (t->n == BATCHES * BATCH)
		flush(t);
}

static void
replace(struct trace *t, size_t i)
{
	emit(t, REC_FREE, t->slot[i],
	    t->realloc ? TYPE_BY_REALLOC : TYPE_FREE);
	heap_free(&t->heap, t->slot[i]);
	t->slot[i] = heap_alloc(&t->heap, rng());
	emit(t, REC_ALLOC, t->slot[i],
	    t->realloc ? TYPE_REALLOC : TYPE_MALLOC);
}

/* The young ones are the last of the slots. */
static void
mix(struct trace *t)
{
	uint64_t r = rng();
	size_t young = t->live < YOUNG ? t->live : YOUNG;

	if (r % 10 < 8)
		replace(t, t->live - 1 - (r >> 32) % young);
	else
		replace(t, (r >> 32) % t->live);
}

static void
windows(const struct blklist *l, enum blklist_order order, double *us,
    double *max_us)
{
	struct blk rows[ROWS];
	uint64_t sum = 0, max = 0;
	int times = 200;

	for (int i = 0; i < times; i++) {
		uint64_t offs = rng() % (blklist_counts(l)->aRecActive + 1);
		uint64_t begin = now_ns(), took;

		blklist_window(l, order, false, offs, rows, ROWS);
		took = now_ns() - begin;
		sum += took;
		if (took > max)
			max = took;
	}
	*us = (double)sum / times / 1000;
	*max_us = (double)max / 1000;
}

static int
compare(const void *va, const void *vb)
{
	const double *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

static void
run(const char *name, size_t live, uint64_t events, bool cancel)
{
	struct trace *t = calloc(1, sizeof(*t));
	double ns, age, age_max, addr, addr_max;

	if (t == NULL || live == 0 ||
	    (t->slot = calloc(live, sizeof(*t->slot))) == NULL)
		abort();
	t->heap.end = 0x555555559000;
	t->live = live;
	t->seq = 1;
	t->cancel = cancel;
	if (blklist_new(&t->list, BLKLIST_INDEXED, 1u << 24) != 0)
		abort();
	for (size_t i = 0; i < live; i++) {
		t->slot[i] = heap_alloc(&t->heap, rng());
		emit(t, REC_ALLOC, t->slot[i], TYPE_MALLOC);
	}
	t->realloc = strcmp(name, "realloc") == 0;
	/* Ages the heap, and is not counted. */
	for (size_t i = 0; i < live * 3; i++)
		mix(t);
	flush(t);
	t->took = calloc(events / (BATCHES * BATCH) + 2, sizeof(*t->took));
	if (t->took == NULL)
		abort();
	t->events = 0;
	while (t->events < events)
		if (strcmp(name, "mix") == 0)
			mix(t);
		else
			replace(t, rng() % t->live);
	qsort(t->took, t->ntook, sizeof(*t->took), compare);
	ns = t->took[t->ntook / 2];
	windows(t->list, BLKLIST_BY_AGE, &age, &age_max);
	windows(t->list, BLKLIST_BY_ADDRESS, &addr, &addr_max);
	printf("%-7s %8zu live  %-6s %6.1f ns  %6.1f M/s  %4.1f%% in pairs  "
	    "%6.1f B/block  window age %.1f (%.1f) us, address %.1f (%.1f) us\n",
	    name, live, cancel ? "pairs" : "-", ns, 1000 / ns,
	    200 * (double)blklist_counts(t->list)->cancelled / (double)t->seq,
	    (double)blklist_memory(t->list) / (double)live,
	    age, age_max, addr, addr_max);
	fflush(stdout);
	if (blklist_counts(t->list)->unknown_free != 0 ||
	    blklist_counts(t->list)->duplicate != 0)
		abort();
	blklist_free(t->list);
	for (unsigned c = 0; c < CLASSES; c++)
		free(t->heap.stack[c]);
	free(t->slot);
	free(t->took);
	free(t);
}

int
main(int argc, char **argv)
{
	static const size_t lives[] = { 10, 1000, 100000, 1000000 };
	uint64_t events = (argc > 1 ? strtoull(argv[1], NULL, 10) : 20) * 1000000;

	for (int cancel = 0; cancel < 2; cancel++) {
		if (argc > 3) {
			run(argv[2], strtoull(argv[3], NULL, 10), events,
			    cancel);
			continue;
		}
		run("churn", 64, events, cancel);
		run("realloc", 64, events, cancel);
		for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
			run("mix", lives[i], events, cancel);
	}
	return 0;
}

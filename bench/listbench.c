/*
 * listbench: what a record costs the block list, by itself; beside it the
 * literal list of the note and JudyL, where they can follow.
 *
 * Traces are those of list_trace.h.  Batches have 4,096 records, which have
 * just been written, as the keeper's have.  A line says for one list, trace
 * and number of live blocks
 *	ns, M/s		what a record costs: the median of slices of 65,536
 *	B/block		memory as the list itself counts it, and as the kernel
 *	growth		from nothing to the live ones, allocations only: the
 *			longest 66,667 of them (one cycle at 1 M events/s), and
 *			all together; beside it what blklist_prefault() took, which
 *			is called after each batch as by a keeper with a moment
 *			("alone": never)
 *	cycle		the longest 666,667 records of the timed ones: a cycle
 *			at 10 M events/s
 *	window		50 rows at an offset chosen at random, by address and
 *			by age: the median and the longest, first warm (one
 *			after the other), then cold (16,384 records applied and
 *			8 MiB of other memory written before each)
 *
 *	make microbench && build/bench/listbench [-q] [-j] [-e EVENTS]
 *	    [-l LIST] [-k TRACE -n LIVE] [-f FILE]
 *
 *	-q	quick: up to a million live blocks, fewer events
 *	-j	JSON
 *	-e	millions of events that are timed; 10 unless told
 *	-l	indexed, pairs (looking for them), counted (by caller, type and
 *		size, as while a page asks for usage), remembers (removed blocks, as
 *		of a target that may fork), kept (and in memory that outlives
 *		its process), literal or judy alone
 *	-k -n	that trace with that many live blocks alone (-f: kept in FILE)
 */
#include <getopt.h>
#include <stdio.h>
#include <time.h>

#include "../src/base/pmem.h"
#include "../src/usage/usage.h"
#include "list_trace.h"
#include "list_judy.h"

#define BATCH 4096
#define SLICE (16 * BATCH)
#define CYCLE_1M 66667
#define CYCLE_10M 666667
#define ROWS 50
#define WINDOWS 101
#define STIR (4 * BATCH)	/* records between two cold windows */
#define RESERVE (2 * WINDOWS * STIR)
#define EVICT (8u << 20)
#define MAX (1u << 24)		/* aRecMax */
#define REMEMBERED (1u << 18)	/* removed blocks, as many as a node does */

/* What is measured. */
struct list {
	const char *name;
	enum blklist_kind kind;
	bool pairs;
	bool judy;
	bool alone;		/* without blklist_prefault() */
	bool counted;		/* and rows by caller, type and size, as while a page asks */
	bool remembers;		/* removed blocks, as of a target that may fork */
	bool kept;		/* and in memory that outlives the process, as a node's */
	uint64_t most;		/* live blocks that it is worth waiting for */
	uint64_t events;	/* and events at the most */
};

static const struct list lists[] = {
	{ .name = "indexed", .kind = BLKLIST_INDEXED, .most = UINT64_MAX,
	    .events = UINT64_MAX },
	{ .name = "alone", .kind = BLKLIST_INDEXED, .alone = true,
	    .most = UINT64_MAX, .events = UINT64_MAX },
	{ .name = "pairs", .kind = BLKLIST_INDEXED, .pairs = true,
	    .most = 1000000, .events = UINT64_MAX },
	{ .name = "counted", .kind = BLKLIST_INDEXED, .counted = true,
	    .most = 1000000, .events = UINT64_MAX },
	{ .name = "remembers", .kind = BLKLIST_INDEXED, .remembers = true,
	    .most = 1000000, .events = UINT64_MAX },
	{ .name = "kept", .kind = BLKLIST_INDEXED, .kept = true,
	    .remembers = true,
	    .most = 1000000, .events = UINT64_MAX },
	{ .name = "literal", .kind = BLKLIST_LITERAL, .most = 100000,
	    .events = 4 * BATCH },
	{ .name = "judy", .judy = true, .most = UINT64_MAX,
	    .events = UINT64_MAX },
};

struct work {
	const char *kind;
	uint64_t live;
	bool quick;
};

static const struct work works[] = {
	{ "churn", TRACE_CHURN, true },
	{ "realloc", TRACE_CHURN, true },
	{ "mix", 10, true },
	{ "mix", 1000, true },
	{ "mix", 100000, true },
	{ "mix", 1000000, true },
	{ "mix", 10000000, false },
	{ "rand", 1000000, false },
	{ "rand", 10000000, false },
};

struct spread {
	double median, max;	/* microseconds */
};

struct result {
	double ns;
	double bytes, rss;	/* for each live block */
	double growth_tick, growth, ahead, cycle;	/* milliseconds */
	struct spread warm[2], cold[2];		/* by enum blklist_order */
};

struct bench {
	const struct list *of;
	const struct trace *trace;
	struct blklist *list;
#ifdef HAVE_JUDY
	struct judy judy;
#endif
	uint64_t at;		/* next event */
	uint64_t ahead;		/* what blklist_prefault() took */
	struct rec rec[BATCH];
};

static char evict[EVICT];

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Anonymous memory of this process; what is shared is a trace. */
static double
anonymous_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	double kib = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Anonymous: %lf kB", &kib) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kib * 1024;
}

/* Applies n events, in batches; what it took. */
static uint64_t
apply(struct bench *b, uint64_t n)
{
	uint64_t took = 0, begin, end = b->at + n;

	while (b->at < end) {
		struct blklist_batch batch = {
			.rec = b->rec,
			.n = end - b->at < BATCH ? end - b->at : BATCH,
			.seq = b->at + 1,
			.near_ms = INT64_C(1) << 40,
			.cancel = b->of->pairs,
		};

		trace_records(b->trace, b->at, batch.n, b->rec);
		begin = now_ns();
#ifdef HAVE_JUDY
		if (b->of->judy)
			judy_apply(&b->judy, &batch);
		else
#endif
			blklist_apply(b->list, &batch);
		took += now_ns() - begin;
		b->at += batch.n;
		if (b->list != NULL && !b->of->alone) {
			begin = now_ns();
			blklist_prefault(b->list);
			b->ahead += now_ns() - begin;
		}
	}
	return took;
}

static size_t
window(const struct bench *b, enum blklist_order order, uint64_t offs)
{
	static struct blk rows[ROWS];

#ifdef HAVE_JUDY
	if (b->of->judy)
		return order == BLKLIST_BY_AGE ? 0 :
		    judy_window(&b->judy, offs, rows, ROWS);
#endif
	return blklist_window(b->list, order, false, offs, rows, ROWS);
}

static uint64_t
live(const struct bench *b)
{
#ifdef HAVE_JUDY
	if (b->of->judy)
		return judy_live(&b->judy);
#endif
	return blklist_counts(b->list)->aRecActive;
}

static int
compare(const void *va, const void *vb)
{
	const double *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

static double
median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return x[n / 2];
}

static struct spread
windows(struct bench *b, enum blklist_order order, bool cold)
{
	double us[WINDOWS];
	struct spread s;

	for (int i = 0; i < WINDOWS; i++) {
		uint64_t begin, offs = trace_rng() % live(b);

		if (cold) {
			apply(b, STIR);
			memset(evict, i, sizeof(evict));
		}
		begin = now_ns();
		window(b, order, offs);
		us[i] = (double)(now_ns() - begin) / 1000;
	}
	s.median = median(us, WINDOWS);
	s.max = us[WINDOWS - 1];
	return s;
}

/* The literal list cannot grow so far in time: it gets what another has. */
static void
copy(struct bench *b)
{
	struct bench *from = calloc(1, sizeof(*from));
	struct blk rows[256];
	unsigned layer = 0;
	uint64_t addr = 0;
	bool first = true;
	size_t n;

	if (from == NULL)
		abort();
	*from = (struct bench){ .of = &lists[0], .trace = b->trace };
	if (blklist_new(&from->list, BLKLIST_INDEXED, MAX) != 0)
		abort();
	apply(from, b->trace->timed);
	while ((n = blklist_after(from->list, first, layer, addr, rows,
	    256)) > 0) {
		for (size_t i = 0; i < n; i++)
			if (blklist_put(b->list, &rows[i]) != 0)
				abort();
		addr = rows[n - 1].addr;
		first = false;
	}
	blklist_free(from->list);
	free(from);
	b->at = b->trace->timed;
}

static void
grow(struct bench *b, struct result *r)
{
	uint64_t took, max = 0, sum = 0;

	while (b->at < b->trace->live) {
		uint64_t left = b->trace->live - b->at;

		took = apply(b, left < CYCLE_1M ? left : CYCLE_1M);
		sum += took;
		if (took > max)
			max = took;
	}
	r->growth_tick = (double)max / 1e6;
	r->growth = (double)sum / 1e6;
	r->ahead = (double)b->ahead / 1e6;
	apply(b, b->trace->timed - b->at);
}

static void
steady(struct bench *b, uint64_t end, struct result *r)
{
	size_t n = 0;
	double *ns = calloc((end - b->at) / SLICE + 1, sizeof(*ns));
	double cycle = 0;
	uint64_t in_cycle = 0;

	if (ns == NULL)
		abort();
	while (b->at < end) {
		uint64_t count = end - b->at < SLICE ? end - b->at : SLICE;
		double took = (double)apply(b, count);

		ns[n++] = took / (double)count;
		cycle += took;
		in_cycle += count;
		if (in_cycle < CYCLE_10M)
			continue;
		cycle *= (double)CYCLE_10M / (double)in_cycle / 1e6;
		if (cycle > r->cycle)
			r->cycle = cycle;
		cycle = 0;
		in_cycle = 0;
	}
	r->ns = median(ns, n);
	free(ns);
}

/* As a node makes it whose targets outlive it. */
static void
make_kept(struct bench *b)
{
	struct pmem *memory;

	if (pmem_new(&memory, "listbench", 0) != 0 ||
	    blklist_new_persistent(&b->list, MAX, memory) != 0)
		abort();
}

static void
measure(struct bench *b, struct result *r)
{
	double before = anonymous_bytes();
	const struct trace *t = b->trace;
	struct usage *usage = NULL;
	uint64_t events, end;

#ifdef HAVE_JUDY
	if (b->of->judy)
		judy_open(&b->judy, MAX);
	else
#endif
	if (b->of->kept)
		make_kept(b);
	else if (blklist_new(&b->list, b->of->kind,
	    b->of->kind == BLKLIST_LITERAL ? (uint32_t)t->live + 1 : MAX) != 0)
		abort();
	if (b->of->remembers && blklist_remember(b->list, REMEMBERED) != 0)
		abort();
	if (b->of->counted && (usage_new(&usage, USAGE_ROWS) != 0 ||
	    usage_watch(usage, b->list, NULL, NULL) != 0))
		abort();
	if (b->of->kind == BLKLIST_LITERAL)
		copy(b);
	else
		grow(b, r);
	events = t->n - t->timed - RESERVE;
	end = t->timed + (events < b->of->events ? events : b->of->events);
	steady(b, end, r);
	r->rss = (anonymous_bytes() - before) / (double)live(b);
#ifdef HAVE_JUDY
	if (b->of->judy)
		r->bytes = (double)judy_memory(&b->judy);
	else
#endif
		r->bytes = (double)blklist_memory(b->list);
	r->bytes /= (double)live(b);
	usage_free(usage);
	for (int order = 0; order < 2; order++)
		r->warm[order] = windows(b, order, false);
	for (int order = 0; order < 2 &&
	    b->of->kind != BLKLIST_LITERAL; order++)
		r->cold[order] = windows(b, order, true);
	if (b->list == NULL)
		return;
	if (blklist_counts(b->list)->unknown_free != 0 ||
	    blklist_counts(b->list)->duplicate != 0)
		abort();
}

static void
print_text(const struct list *of, const struct work *w,
    const struct result *r)
{
	static const char *const orders[] = { "age", "address" };

	printf("%-7s %-7s %8llu live  %7.1f ns %6.1f M/s  %5.1f (rss %5.1f) "
	    "B/block  growth %6.2f of %6.0f ms (%.0f ahead)  cycle %6.1f ms\n",
	    of->name, w->kind, (unsigned long long)w->live, r->ns, 1000 / r->ns,
	    r->bytes, r->rss, r->growth_tick, r->growth, r->ahead, r->cycle);
	for (int o = 1; o >= 0; o--)
		printf("%*s window by %-7s  warm %8.2f (%8.1f) us  cold "
		    "%8.2f (%8.1f) us\n", 26, "", orders[o],
		    r->warm[o].median, r->warm[o].max, r->cold[o].median,
		    r->cold[o].max);
	fflush(stdout);
}

static void
print_json(const struct list *of, const struct work *w,
    const struct result *r, bool first)
{
	static const char *const orders[] = { "age", "address" };

	printf("%s\n  {\"list\": \"%s\", \"trace\": \"%s\", \"live\": %llu, "
	    "\"ns\": %.2f, \"events_per_s\": %.0f, \"bytes_per_block\": %.2f, "
	    "\"rss_per_block\": %.2f, \"growth_tick_ms\": %.3f, "
	    "\"growth_ms\": %.1f, \"ahead_ms\": %.1f, "
	    "\"cycle_10M_ms\": %.2f", first ? "" : ",",
	    of->name, w->kind, (unsigned long long)w->live, r->ns,
	    1e9 / r->ns, r->bytes, r->rss, r->growth_tick, r->growth,
	    r->ahead, r->cycle);
	for (int o = 0; o < 2; o++)
		printf(", \"window_%s_us\": {\"warm\": %.2f, "
		    "\"warm_max\": %.2f, \"cold\": %.2f, \"cold_max\": %.2f}",
		    orders[o], r->warm[o].median, r->warm[o].max,
		    r->cold[o].median, r->cold[o].max);
	printf("}");
	fflush(stdout);
}

/* In a child, so that nothing of one list is left when the next is measured. */
static int
run(const struct list *of, const struct work *w, const struct trace *t,
    struct result *r)
{
	struct result *shared = mmap(NULL, sizeof(*shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bench *b;
	int status;
	pid_t pid;

	if (shared == MAP_FAILED)
		return -1;
	pid = fork();
	if (pid == 0) {
		b = calloc(1, sizeof(*b));
		if (b == NULL)
			abort();
		b->of = of;
		b->trace = t;
		memset(evict, 1, sizeof(evict));
		/* Ours, and no memory of the list's. */
		memset(b->rec, 1, sizeof(b->rec));
		measure(b, shared);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	*r = *shared;
	munmap(shared, sizeof(*shared));
	if (status != 0)
		fprintf(stderr, "listbench: %s with %s of %llu failed\n",
		    of->name, w->kind, (unsigned long long)w->live);
	return status != 0 ? -1 : 0;
}

struct options {
	bool quick, json;
	uint64_t events;
	const char *list, *file;
	struct work one;
};

static int
run_work(const struct work *w, const struct options *o, bool *first)
{
	uint64_t timed = o->events + RESERVE;
	const struct trace *t = trace_make(w->kind, w->live, timed, o->file);
	int err = 0;

	if (t == NULL) {
		perror("listbench: trace");
		return -1;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct list *of = &lists[i];
		struct result r;

		if (o->list != NULL ? strcmp(o->list, of->name) != 0 :
		    w->live > of->most)
			continue;
#ifndef HAVE_JUDY
		if (of->judy) {
			fprintf(stderr, "listbench: built without libjudy "
			    "(libjudy-dev), so there is nothing of it\n");
			continue;
		}
#endif
		if (run(of, w, t, &r) != 0) {
			err = -1;
			continue;
		}
		if (o->json)
			print_json(of, w, &r, *first);
		else
			print_text(of, w, &r);
		*first = false;
	}
	trace_drop(t, timed);
	return err;
}

int
main(int argc, char **argv)
{
	struct options o = { .events = 10000000 };
	bool first = true;
	int c, err = 0;

	blklist_start_prefault_thread();
	while ((c = getopt(argc, argv, "qje:l:k:n:f:")) != -1)
		switch (c) {
		case 'q': o.quick = true; o.events = 2000000; break;
		case 'j': o.json = true; break;
		case 'e': o.events = strtoull(optarg, NULL, 10) * 1000000; break;
		case 'l': o.list = optarg; break;
		case 'k': o.one.kind = optarg; break;
		case 'n': o.one.live = strtoull(optarg, NULL, 10); break;
		case 'f': o.file = optarg; break;
		default:
			fprintf(stderr, "usage: listbench [-q] [-j] [-e EVENTS] "
			    "[-l LIST] [-k TRACE -n LIVE] [-f FILE]\n");
			return 2;
		}
	if (o.json)
		printf("{\"bench\": \"list\", \"judy\": %s, \"rows\": [",
#ifdef HAVE_JUDY
		    "true"
#else
		    "false"
#endif
		    );
	if (o.one.kind != NULL && o.one.live != 0)
		err = run_work(&o.one, &o, &first);
	else
		for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
			if (works[i].quick || !o.quick)
				err |= run_work(&works[i], &o, &first);
	if (o.json)
		printf("\n]}\n");
	return err != 0;
}

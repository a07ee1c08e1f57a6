/*
 * keeperbench: what a record costs the keeper from the ring to the list, with
 * no process around it: feed, order, retained queue and block list.
 *
 *	few	64 live blocks, one thread: freed and allocated again at random.
 *	few2	the same in two rings whose records come in turn.
 *	larson	4,096 blocks of two threads; half of the frees are of the other's.
 *	mix	1M live: 80 % of the events in a pool of 256 young blocks, 20 %
 *		replace any block.
 *	burst	as few, in passes of 1,000 records: what a pass itself costs.
 *	grow	no live block to 10M at 67 k records a cycle; every fifth
 *		event is a free.  The longest cycle, in milliseconds, and
 *		how many page faults a cycle takes itself, which is the same
 *		on any machine.
 *	grow4	the same with four times as much in a cycle.
 *	range	1M blocks of an arena, which one record ends: the median and the
 *		longest time of that record, in milliseconds.
 *
 * Addresses are those of the real malloc.  The rings are filled and drained in
 * turn by one thread; only the draining is timed, in its own processor time.
 * Each figure is the median over the passes.
 *
 *	make build/bench/keeperbench
 *	build/bench/keeperbench [--json] [--quick] [--own] [TRACE...]
 *
 *	--json	an object on each line
 *	--quick	a fifth of the records, and grow to 2M
 *	--own	tables in memory of the process, not in such as outlives it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/alloclog/produce/produce.h"
#include "../src/base/base.h"
#include "../src/nodes/keeper/keeper.h"
#include "../src/nodes/keeper/node.h"

#define LIST_MAX (1u << 24)
#define PER_CYCLE 66667u	/* of 1M events a second, at 15 Hz */
#define YOUNG 256
#define WARM 4			/* passes that are not counted */
#define RESETS 9		/* of the arena */
#define ARENA UINT64_C(0x7f0000000000)

struct trace {
	const char *name;
	size_t live;
	unsigned rings;
	unsigned per_pass;
	uint64_t records;
	void (*run)(struct trace *);
	void (*step)(struct trace *);	/* of steady() */
	uint64_t random;
	void **block;
	uint64_t logged;
};

static struct node node;
static struct keeper *keeper;
static _Alignas(64) struct producer producer[2];
static bool json, quick, own;

/* --- events ------------------------------------------------------------- */

static uint64_t
draw(struct trace *t)
{
	uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ (z >> 31);
}

static void *
allocate(struct trace *t, unsigned ring)
{
	uint64_t r = draw(t);
	size_t size = 16 + ((r & 15) < 12 ? r >> 8 & 63 : r >> 8 & 255);
	void *p = malloc(size);

	if (p == NULL)
		abort();
	produce_alloc(&producer[ring], (uintptr_t)p, size, size + 8,
	    TYPE_MALLOC, 0, 0x401000 + (r >> 32 & 0xff0));
	t->logged++;
	return p;
}

static void
release(struct trace *t, unsigned ring, void *p)
{
	produce_free(&producer[ring], (uintptr_t)p, TYPE_FREE, 0, 0x402000);
	free(p);
	t->logged++;
}

static void
replace(struct trace *t, unsigned ring, size_t i)
{
	release(t, ring, t->block[i]);
	t->block[i] = allocate(t, ring);
}

static void
churn(struct trace *t)
{
	uint64_t r = draw(t);
	unsigned ring = r % t->rings;

	replace(t, ring, (r >> 32) % (t->live / 2) + ring * (t->live / 2));
}

static void
larson(struct trace *t)
{
	uint64_t r = draw(t);
	unsigned ring = r % t->rings;
	void *p = allocate(t, ring);
	size_t i = (r >> 32) % t->live;

	release(t, ring, t->block[i]);
	t->block[i] = p;
}

static void
mix(struct trace *t)
{
	uint64_t r = draw(t);

	if (r % 10 < 8)
		replace(t, 0, t->live - 1 - (r >> 32) % YOUNG);
	else
		replace(t, 0, (r >> 32) % t->live);
}

static void
fill(struct trace *t)
{
	t->block[t->live++] = allocate(t, 0);
	if (t->live % 4 == 0)
		replace(t, 0, draw(t) % t->live);
}

/* --- one keeper --------------------------------------------------------- */

static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Page faults of this thread. */
static long
faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_minflt;
}

static double
pass(void)
{
	double begin = seconds();
	uint64_t held;

	/* A pass may leave something for the next. */
	do {
		held = stream_feed_counts(keeper->feed)->records;
		keeper_pass(keeper, mono_ms(mono_now()));
	} while (stream_feed_counts(keeper->feed)->records != held);
	return seconds() - begin;
}

static void
keeper_up(unsigned rings)
{
	struct keeper_opts o = { .with_feed = true, .max = LIST_MAX };
	void *area, *tails;
	int fds[3];

	/* Any descriptor says that somebody would keep what outlives us. */
	node.store.fds.fd = own ? -1 : STDIN_FILENO;
	if (keeper_new(&keeper, &node, &o, fds) < 0)
		abort();
	TAILQ_INSERT_TAIL(&node.live, keeper, link);
	area = mmap(NULL, RING_ALIGN(ring_area_size()), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fds[0], 0);
	tails = mmap(NULL, RING_ALIGN(sizeof(struct keeper_area)), PROT_READ,
	    MAP_SHARED, fds[1], 0);
	if (area == MAP_FAILED || tails == MAP_FAILED)
		abort();
	close(fds[0]);
	close(fds[1]);
	if (!own)
		close(fds[2]);
	produce_attach(area, tails, 1);
	for (unsigned i = 0; i < rings; i++)
		produce_open(&producer[i], i + 1);
}

/* Nothing of it may have been lost, or the figure is of something else. */
static void
keeper_down(const struct trace *t)
{
	const struct blklist_counts *n = keeper_counts(keeper);

	if (keeper_lost(keeper) != 0 || n->unknown_free != 0 ||
	    n->duplicate != 0 || n->aRecActive != t->live ||
	    n->records != t->logged || keeper_next(keeper) != t->logged + 1) {
		fprintf(stderr, "keeperbench: %s: %llu logged, %llu taken, "
		    "%u live, %llu lost\n", t->name,
		    (unsigned long long)t->logged,
		    (unsigned long long)n->records, n->aRecActive,
		    (unsigned long long)keeper_lost(keeper));
		exit(1);
	}
	TAILQ_REMOVE(&node.live, keeper, link);
	keeper_unref(keeper);
}

static int
compare(const void *va, const void *vb)
{
	const double *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

/* --- traces ------------------------------------------------------------- */

static void
say_rate(const struct trace *t, const double *took, size_t n)
{
	double ns = took[n / 2], rate = 1e3 / ns;

	printf(json ? "{\"bench\": \"keeper\", \"trace\": \"%s\", "
	    "\"live\": %zu, \"rings\": %u, \"ns_per_record\": %.2f, "
	    "\"mrecords_per_s\": %.2f}\n" :
	    "%-7s %8zu live, %u rings  %6.2f ns/record  %6.1f M records/s\n",
	    t->name, t->live, t->rings, ns, rate);
	fflush(stdout);
}

static void
steady(struct trace *t)
{
	size_t passes = t->records / t->per_pass, n = 0;
	double *took = calloc(passes + 1, sizeof(*took));

	t->block = calloc(t->live, sizeof(*t->block));
	if (took == NULL || t->block == NULL)
		abort();
	keeper_up(t->rings);
	for (size_t i = 0; i < t->live; i++) {
		t->block[i] = allocate(t, 0);
		if (i % 65536 == 65535)
			pass();
	}
	pass();
	for (size_t k = 0; k < passes + WARM; k++) {
		uint64_t from = t->logged;
		double s;

		while (t->logged - from < t->per_pass)
			t->step(t);
		s = pass();
		if (k >= WARM)
			took[n++] = s / (double)(t->logged - from) * 1e9;
	}
	qsort(took, n, sizeof(*took), compare);
	say_rate(t, took, n);
	for (size_t i = 0; i < t->live; i++)
		release(t, 0, t->block[i]), t->logged--;
	keeper_down(t);
	free(took);
	free(t->block);
}

/* Cycles from nothing to t->live blocks. */
static void
grow(struct trace *t)
{
	size_t until = t->live, cycles = 0, worst_at = 0;
	size_t most = 2 * until / t->per_pass + 2;
	double *took = calloc(most, sizeof(*took));
	double *faulted = calloc(most, sizeof(*faulted));
	double worst = 0, sum = 0;

	t->block = calloc(until + 1, sizeof(*t->block));
	if (took == NULL || faulted == NULL || t->block == NULL)
		abort();
	keeper_up(1);
	t->live = 0;
	while (t->live < until) {
		uint64_t from = t->logged;
		double s = 0;
		long in_passes = 0;

		/* As a busy keeper is visited: some milliseconds each time. */
		while (t->logged - from < t->per_pass && t->live < until) {
			uint64_t part = t->logged;

			while (t->logged - part < 4096 && t->live < until)
				fill(t);
			in_passes -= faults();
			s += pass();
			in_passes += faults();
		}
		if (s > worst) {
			worst = s;
			worst_at = t->live;
		}
		sum += s;
		faulted[cycles] = (double)in_passes;
		took[cycles++] = s;
	}
	qsort(took, cycles, sizeof(*took), compare);
	qsort(faulted, cycles, sizeof(*faulted), compare);
	printf(json ? "{\"bench\": \"keeper\", \"trace\": \"%s\", "
	    "\"live\": %zu, \"per_cycle\": %u, \"worst_cycle_ms\": %.2f, "
	    "\"worst_at\": %zu, \"median_cycle_ms\": %.2f, "
	    "\"p99_cycle_ms\": %.2f, \"ns_per_record\": %.2f, "
	    "\"median_cycle_faults\": %.0f}\n" :
	    "%-7s %8zu live, %u a cycle: longest cycle %.2f ms (at %zu), "
	    "median %.2f, p99 %.2f; %.2f ns/record, %.0f faults a cycle\n",
	    t->name, t->live, t->per_pass, worst * 1e3, worst_at,
	    took[cycles / 2] * 1e3, took[cycles * 99 / 100] * 1e3,
	    sum / (double)t->logged * 1e9, faulted[cycles / 2]);
	fflush(stdout);
	for (size_t i = 0; i < t->live; i++)
		free(t->block[i]);
	keeper_down(t);
	free(took);
	free(faulted);
	free(t->block);
}

/* An arena that fills and is reset. */
static void
range(struct trace *t)
{
	const size_t live = t->live, object = 64;
	double took[RESETS];

	keeper_up(1);
	for (unsigned k = 0; k < RESETS; k++) {
		for (size_t i = 0; i < live; i++) {
			produce_alloc(&producer[0], ARENA + i * object, 48, 0,
			    TYPE_API_FIRST, REC_LAYER_API, 0x401000);
			if (++t->logged % 65536 == 0)
				pass();
		}
		pass();
		produce_range(&producer[0], ARENA, live * object, 0x402000);
		t->logged++;
		took[k] = pass() * 1e3;
	}
	qsort(took, RESETS, sizeof(*took), compare);
	printf(json ? "{\"bench\": \"keeper\", \"trace\": \"%s\", "
	    "\"blocks\": %zu, \"median_ms\": %.2f, \"worst_ms\": %.2f}\n" :
	    "%-7s %8zu blocks of an arena end: median %.2f ms, longest %.2f\n",
	    t->name, live, took[RESETS / 2], took[RESETS - 1]);
	t->live = 0;
	keeper_down(t);
}

static struct trace traces[] = {
	{ .name = "few", .run = steady, .live = 64, .rings = 1, .per_pass = 32768,
	    .records = 40000000, .step = churn },
	{ .name = "few2", .run = steady, .live = 64, .rings = 2, .per_pass = 32768,
	    .records = 40000000, .step = churn },
	{ .name = "burst", .run = steady, .live = 64, .rings = 1, .per_pass = 1000,
	    .records = 10000000, .step = churn },
	{ .name = "larson", .run = steady, .live = 4096, .rings = 2, .per_pass = 32768,
	    .records = 40000000, .step = larson },
	{ .name = "mix", .run = steady, .live = 1000000, .rings = 1, .per_pass = 32768,
	    .records = 20000000, .step = mix },
	{ .name = "grow", .run = grow, .live = 10000000, .rings = 1,
	    .per_pass = PER_CYCLE },
	{ .name = "grow4", .run = grow, .live = 10000000, .rings = 1,
	    .per_pass = 4 * PER_CYCLE },
	{ .name = "range", .run = range, .live = 1000000 },
};

/* A process joins a keeper once, so each trace gets one of its own. */
static bool
run(struct trace *t)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		t->run(t);
		exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool
asked(int argc, char **argv, const char *name)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		any = true;
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return !any;
}

int
main(int argc, char **argv)
{
	bool failed = false;

	blklist_start_prefault_thread();
	for (int i = 1; i < argc; i++) {
		json |= strcmp(argv[i], "--json") == 0;
		quick |= strcmp(argv[i], "--quick") == 0;
		own |= strcmp(argv[i], "--own") == 0;
	}
	TAILQ_INIT(&node.live);
	for (size_t i = 0; i < BASE_NELEM(traces); i++) {
		struct trace *t = &traces[i];

		if (!asked(argc, argv, t->name))
			continue;
		t->random = i + 1;
		if (quick) {
			t->records /= 5;
			if (t->run == grow)
				t->live /= 5;
		}
		failed |= !run(t);
	}
	return failed;
}

/*
 * The preload in the two modes that production needs: a sample of the blocks,
 * and dormant until it is armed.  Real programs, real library, real feed.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness.h"
#include "hello.h"

static const char *
built(const char *name)
{
	static char path[4][700];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/tests/%s", hello_build(), name);
	return p;
}

static const struct blklist_counts *
counts(const struct hello *h, unsigned i)
{
	return blklist_counts(h->images[i].list);
}

static uint64_t
controls(const struct hello *h, unsigned what)
{
	return h->images[0].controls[what];
}

/* What may never be, in whatever mode. */
static void
nothing_wrong(const struct hello *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		ck_assert_uint_eq(counts(h, i)->unknown_free, 0);
		ck_assert_uint_eq(counts(h, i)->duplicate, 0);
		ck_assert_uint_eq(counts(h, i)->late, 0);
		ck_assert_uint_eq(h->images[i].lost, 0);
	}
}

static void
watch(struct hello *h, struct hello_result *r, const char *target,
    const char *a, const char *b, const char *c)
{
	const char *argv[] = { built(target), a, b, c, NULL };

	hello_run(r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
}

/* What a target comes to without us. */
static int
status_of(const char *target, const char *a, const char *b)
{
	const char *argv[] = { built(target), a, b, NULL };
	struct hello_result r;

	hello_run(&r, &(struct hello_how) { .plain = true }, argv);
	return r.status;
}

/* --- what a program has, and what is listed of it ---------------------------- */

#define LEAST 20000	/* as in targets/modes.c: its blocks, and no others */
#define MOST 23000
#define LIVE_MAX 1024

struct live {
	uint64_t addr, size;
	bool must, listed;
};

struct lives {
	struct live at[LIVE_MAX];
	unsigned n;
};

static void
read_lives(struct lives *l, const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long addr, size;
	int must;

	ck_assert_ptr_nonnull(f);
	l->n = 0;
	while (fscanf(f, "%lx %lu %d", &addr, &size, &must) == 3) {
		ck_assert_uint_lt(l->n, LIVE_MAX);
		l->at[l->n++] = (struct live) {
			.addr = addr, .size = size, .must = must != 0,
		};
	}
	fclose(f);
	unlink(path);
}

/* Each listed block of the program's is one that it has. */
static void
compare(const struct hello *h, struct lives *l)
{
	struct blk b;
	bool start = true;
	uint64_t addr = 0;

	while (blklist_after(h->images[0].list, start, 0, addr, &b, 1) == 1) {
		unsigned k = 0;

		start = false;
		addr = b.addr;
		if (b.size < LEAST || b.size >= MOST)
			continue;
		while (k < l->n && l->at[k].addr != b.addr)
			k++;
		ck_assert_msg(k < l->n, "a ghost of %lu bytes",
		    (unsigned long)b.size);
		ck_assert_uint_eq(l->at[k].size, b.size);
		l->at[k].listed = true;
	}
}

static void
run_modes(struct hello *h, struct lives *l)
{
	char done[100], live[100];
	struct hello_result r;

	snprintf(done, sizeof(done), "%s/done", h->folder);
	snprintf(live, sizeof(live), "%s/live", h->folder);
	watch(h, &r, "targets/modes", done, live, "8");
	unlink(done);
	ck_assert_int_eq(r.status, 0);
	read_lives(l, live);
	ck_assert_int_eq(hello_value(&r, "live"), l->n);
	ck_assert_uint_gt(l->n, 300);
}

static void
say_done(const struct hello *h)
{
	char done[100];
	int fd;

	snprintf(done, sizeof(done), "%s/done", h->folder);
	fd = open(done, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	close(fd);
}

/* --- armed and sent to sleep at random ----------------------------------------- */

#define ARMINGS 1000

static unsigned flips;
static bool said;

static void
flip_at_random(struct hello *h)
{
	static uint64_t seed = 88172645463325252u;

	if (h->n == 0 || said)
		return;
	seed = seed * UINT64_C(6364136223846793005) + 1;
	if (seed >> 62 == 0)
		return;
	hello_arm(&h->images[0], !h->images[0].armed);
	if (++flips >= 2 * ARMINGS && h->images[0].armed) {
		say_done(h);
		said = true;
	}
}

/* By sampling too: then only what is listed can be compared. */
static const uint64_t samples[] = { 0, 40000, 500 };

CASE("armed", .seconds = 120);

LOOP_TEST(armed_a_thousand_times_the_list_is_true, 0,
    sizeof(samples) / sizeof(samples[0]))
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct lives *l = calloc(1, sizeof(*l));

	ck_assert_ptr_nonnull(l);
	h->dormant = true;
	h->sample = samples[_i];
	h->turn = flip_at_random;
	run_modes(h, l);
	ck_assert_uint_eq(h->n, 1);
	nothing_wrong(h);
	compare(h, l);
	for (unsigned k = 0; k < l->n && h->sample == 0; k++)
		ck_assert(l->at[k].listed || !l->at[k].must);
	ck_assert_uint_gt(stream_feed_counts(h->images[0].feed)->records, 0);
	free(l);
	hello_free(h);
}

/* --- dormant ----------------------------------------------------------------------- */

CASE("dormant", .seconds = 120);

LOOP_TEST(a_dormant_target_takes_no_ring_and_logs_nothing, 0, 2)
{
	const char *target = _i ? "targets/exact_operators" :
				  "targets/exact_threads";
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->dormant = true;
	watch(h, &r, target, NULL, NULL, NULL);
	ck_assert_int_eq(r.status, status_of(target, NULL, NULL));
	ck_assert_uint_eq(h->n, 1);
	ck_assert(stream_feed_counts(h->images[0].feed)->joined);
	ck_assert_uint_eq(stream_feed_counts(h->images[0].feed)->rings, 0);
	ck_assert_uint_eq(stream_feed_counts(h->images[0].feed)->dormant, 0);
	ck_assert_uint_eq(counts(h, 0)->allocs, 0);
	hello_free(h);
}

TEST(children_of_a_dormant_process_say_hello)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->dormant = true;
	watch(h, &r, "targets/exact_forks", NULL, NULL, NULL);
	ck_assert_int_eq(hello_value(&r, "forked"), 8);
	for (unsigned i = 0; i < h->n; i++)
		ck_assert_uint_eq(counts(h, i)->allocs + counts(h, i)->frees,
		    0);
	ck_assert_uint_ge(h->n, 2);
	hello_free(h);
}

/* Said while nobody listens, for who will: types, not blocks. */
TEST(types_are_told_by_a_dormant_process)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->dormant = true;
	watch(h, &r, "targets/named", NULL, NULL, NULL);
	ck_assert_int_eq(hello_value(&r, "errno_kept"), 1);
	ck_assert_uint_eq(controls(h, REC_CTL_TYPE), 1);
	ck_assert_uint_eq(controls(h, REC_CTL_TYPE_TEXT), 3);
	ck_assert_uint_eq(controls(h, REC_CTL_STOP), 1);
	ck_assert_uint_eq(controls(h, REC_CTL_REGION), 1);
	ck_assert_uint_eq(controls(h, REC_CTL_REGION_END), 1);
	ck_assert_uint_eq(controls(h, REC_CTL_MARK), 0);
	ck_assert_uint_eq(
	    stream_feed_counts(h->images[0].feed)->marks_untold, 1);
	ck_assert_uint_eq(counts(h, 0)->allocs, 0);
	hello_free(h);
}

/* --- sampled ------------------------------------------------------------------------- */

static const struct {
	const char *target, *a, *b;
} programs[] = {
	{ "targets/exact_family", NULL, NULL },
	{ "targets/exact_operators", NULL, NULL },
	{ "targets/exact_threads", "60000", "16" },
	{ "targets/exact_churn", "3", "160" },
	{ "targets/exact_realloc", "5000", NULL },
	{ "targets/exact_forks", NULL, NULL },
	{ "targets/signals", "300", NULL },
};

#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

CASE("sampled", .seconds = 120);

/* From nearly all blocks to few. */
LOOP_TEST(frees_of_a_sample_are_never_unknown, 0, 3 * PROGRAMS)
{
	static const uint64_t periods[] = { 1, 64, 4096 };
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	unsigned p = (unsigned)_i % PROGRAMS;

	h->sample = periods[(unsigned)_i / PROGRAMS];
	watch(h, &r, programs[p].target, programs[p].a, programs[p].b, NULL);
	ck_assert_int_eq(r.status, status_of(programs[p].target,
	    programs[p].a, programs[p].b));
	ck_assert_uint_ge(h->n, 1);
	nothing_wrong(h);
	hello_free(h);
}

/* Blocks of the shim's own pool never reach the real free, met or not. */
LOOP_TEST(blocks_of_the_pool_come_back_to_the_pool, 0, 4)
{
	static const uint64_t periods[] = { 0, 1, 4096, UINT64_C(1) << 40 };
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->sample = periods[_i];
	watch(h, &r, "targets/keeps", NULL, NULL, NULL);
	ck_assert_int_eq(r.status, 0);
	ck_assert_int_ge(hello_value(&r, "kept"), 5);
	ck_assert_int_eq(hello_value(&r, "same"), 1);
	ck_assert_uint_eq(h->n, 1);
	nothing_wrong(h);
	hello_free(h);
}

/* Nor is NULL a sampled block, whatever the filter says of address 0. */
TEST(free_of_nothing_is_no_event_of_a_sample)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->sample = 1;
	watch(h, &r, "targets/nothing", NULL, NULL, NULL);
	ck_assert_int_eq(r.status, 0);
	ck_assert_uint_ge(counts(h, 0)->allocs, 40000);
	nothing_wrong(h);
	hello_free(h);
}

/*
 * More sampled blocks than a target can remember: each is either listed until
 * its free or counted, and no ring was too small for any.
 */
TEST(blocks_beyond_the_set_are_counted_by_their_own_cause)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const struct stream_feed_counts *n;
	struct hello_result r;
	uint64_t allocs, frees;

	h->sample = 1;
	watch(h, &r, "../bench/load", "grow", "5500000", "1");
	ck_assert_int_eq(r.status, 0);
	n = stream_feed_counts(h->images[0].feed);
	ck_assert_uint_gt(n->lost[STREAM_SAMPLE_FULL], 100000);
	ck_assert_uint_eq(n->lost[STREAM_RING_FULL], 0);
	ck_assert_uint_eq(h->images[0].lost, n->lost[STREAM_SAMPLE_FULL]);
	allocs = h->images[0].by_type[REC_ALLOC][TYPE_MALLOC];
	frees = h->images[0].by_type[REC_FREE][TYPE_FREE];
	ck_assert_uint_ge(allocs + n->lost[STREAM_SAMPLE_FULL], 5490000);
	/* The free of each that was listed, and of no other. */
	ck_assert_uint_ge(allocs, frees);
	ck_assert_uint_le(allocs - frees, 100);
	hello_free(h);
}

static void
done_after_a_while(struct hello *h)
{
	if (h->n > 0 && !said &&
	    stream_feed_counts(h->images[0].feed)->records > 20000) {
		say_done(h);
		said = true;
	}
}

/*
 * No sampled block stays after its free; the estimate is within 5 sigma, for
 * each run draws otherwise.
 */
TEST(what_is_listed_of_a_sample_is_live_and_estimates_the_rest)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct lives *l = calloc(1, sizeof(*l));
	double truth = 0, estimate = 0, spread = 0;

	ck_assert_ptr_nonnull(l);
	h->sample = 40000;
	h->turn = done_after_a_while;
	run_modes(h, l);
	nothing_wrong(h);
	compare(h, l);
	for (unsigned k = 0; k < l->n; k++) {
		double size = (double)l->at[k].size, p = -expm1(-size / 40000);

		truth += size;
		spread += size * size * (1 - p) / p;
		if (l->at[k].listed)
			estimate += size / p;
	}
	ck_assert_double_lt(fabs(estimate - truth), 5 * sqrt(spread));
	free(l);
	hello_free(h);
}

TEST(failed_requests_are_logged_whole)
{
	struct hello *exact = hello_start(HELLO_SERVE);
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	watch(exact, &r, "targets/exact_family", NULL, NULL, NULL);
	h->sample = 524288;
	watch(h, &r, "targets/exact_family", NULL, NULL, NULL);
	ck_assert_uint_gt(counts(exact, 0)->failed, 0);
	ck_assert_uint_eq(counts(h, 0)->failed, counts(exact, 0)->failed);
	ck_assert_uint_lt(counts(h, 0)->allocs, counts(exact, 0)->allocs);
	hello_free(h);
	hello_free(exact);
}

/* Also those that are too small to be due. */
TEST(small_requests_that_fail_are_logged_too)
{
	struct hello *exact = hello_start(HELLO_SERVE);
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	watch(exact, &r, "targets/failing", NULL, NULL, NULL);
	h->sample = UINT64_C(1) << 40;
	watch(h, &r, "targets/failing", NULL, NULL, NULL);
	ck_assert_int_ge(hello_value(&r, "failed"), 21);
	/* libc's own among them. */
	ck_assert_uint_ge(counts(h, 0)->failed, 21);
	ck_assert_uint_eq(counts(h, 0)->failed, counts(exact, 0)->failed);
	ck_assert_uint_eq(counts(h, 0)->allocs, 0);
	hello_free(h);
	hello_free(exact);
}

TEST(blocks_of_the_api_are_logged_whole)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->sample = 524288;
	watch(h, &r, "targets/named", NULL, NULL, NULL);
	ck_assert_uint_eq(h->images[0].by_type[REC_ALLOC][0xc4], 5 + 2);
	ck_assert_uint_eq(h->images[0].by_type[REC_RANGE][0], 1);
	ck_assert_uint_eq(controls(h, REC_CTL_TYPE), 1);
	ck_assert_uint_eq(controls(h, REC_CTL_REQUESTER), 2);
	hello_free(h);
}

TEST(a_sampled_operator_goes_by_its_own_type)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	h->sample = 1;
	watch(h, &r, "targets/exact_operators", NULL, NULL, NULL);
	ck_assert_uint_ge(h->images[0].by_type[REC_ALLOC][TYPE_NEW], 20);
	ck_assert_uint_gt(h->images[0].by_type[REC_FREE][TYPE_DELETE], 0);
	ck_assert_uint_gt(h->images[0].by_type[REC_FREE][TYPE_DELETE_ARRAY],
	    0);
	hello_free(h);
}

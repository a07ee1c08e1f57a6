/*
 * Kept lists that can be taken up again, and that cannot.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "../src/blklist/blklist.h"
#include "blklist_both.h"
#include "harness.h"
#include "pmem_copy.h"

#define BATCH 4096

struct batch {
	struct rec rec[BATCH];
	struct blklist_batch b;
};

#define SMALL_MAX 100
#define SMALL_RING 16

static struct blklist *
small_list(struct pmem **kept)
{
	struct blklist *l;

	next_seq = 1;
	ck_assert_int_eq(pmem_new(kept, "test", 0), 0);
	ck_assert_int_eq(blklist_new_persistent(&l, SMALL_MAX, *kept), 0);
	ck_assert_int_eq(blklist_remember(l, SMALL_RING), 0);
	for (uint64_t i = 1; i <= 40; i++)
		APPLY(l, ALLOC(0x1000 * i, .ticket = (uint32_t)i));
	blklist_commit(l, 0);
	return l;
}

static int
small_resume(struct blklist **l, struct pmem *kept, uint64_t next)
{
	return blklist_resume(l, SMALL_MAX, SMALL_RING, kept, 0, next);
}

static void
free_some(struct blklist *l, unsigned n)
{
	for (uint64_t i = 1; i <= n; i++)
		APPLY(l, FREE(0x1000 * i, .ticket = 100));
}

static void spoil_nothing(struct blklist *l) { (void)l; }
static void spoil_put(struct blklist *l)
{
	ck_assert_int_eq(blklist_put(l, &(struct blk){ .addr = 9, .seq = 7,
	    .flags = REC_FLAGS(REC_ALLOC, 0) }), 0);
}
static void spoil_take(struct blklist *l)
{
	ck_assert_int_eq(blklist_take(l, 0, 0x1000), 0);
}
static void spoil_put_and_take(struct blklist *l)
{
	spoil_put(l);
	ck_assert_int_eq(blklist_take(l, 0, 9), 0);
}
static void spoil_clear(struct blklist *l) { blklist_clear(l); }
static void spoil_commits(struct blklist *l)
{
	blklist_commit(l, 1);
	blklist_commit(l, 1);
}
static void free_15(struct blklist *l) { free_some(l, SMALL_RING - 1); }
static void free_16(struct blklist *l) { free_some(l, SMALL_RING); }
static void free_40(struct blklist *l) { free_some(l, 40); }
static void commit_once(struct blklist *l) { blklist_commit(l, 1); }

static const struct {
	const char *what;
	void (*spoil)(struct blklist *);
	uint32_t max, remember;
	unsigned slot;
	int result;
} stale[] = {
	{ "nothing", spoil_nothing, SMALL_MAX, SMALL_RING, 0, 0 },
	{ "a ring nearly full", free_15, SMALL_MAX, SMALL_RING, 0, 0 },
	{ "the other one newer", commit_once, SMALL_MAX, SMALL_RING, 0, 0 },
	{ "no such commit", spoil_nothing, SMALL_MAX, SMALL_RING, 1, -ESTALE },
	{ "another length", spoil_nothing, SMALL_MAX - 1, SMALL_RING, 0, -ESTALE },
	{ "another ring", spoil_nothing, SMALL_MAX, SMALL_RING / 2, 0, -ESTALE },
	{ "no ring", spoil_nothing, SMALL_MAX, 0, 0, -ESTALE },
	{ "a put", spoil_put, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "a take", spoil_take, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "both", spoil_put_and_take, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "a clear", spoil_clear, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "two commits", spoil_commits, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "a ring gone round", free_16, SMALL_MAX, SMALL_RING, 0, -ESTALE },
	{ "and on", free_40, SMALL_MAX, SMALL_RING, 0, -ESTALE },
};

CASE("spoilt", .seconds = 60);

LOOP_TEST(what_cannot_be_exact_is_stale, 0, NELEM(stale))
{
	struct pmem *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	stale[_i].spoil(l);
	copy = pmem_copy(kept);
	ck_assert_msg(blklist_resume(&next, stale[_i].max, stale[_i].remember,
	    copy, stale[_i].slot, 41) == stale[_i].result, "%s",
	    stale[_i].what);
	if (stale[_i].result == 0) {
		sound(next);
		ck_assert_uint_eq(COUNT(next, aRecActive), 40);
		blklist_free(next);
	}
	pmem_free(copy);
	blklist_free(l);
	pmem_free(kept);
}

TEST(what_no_record_did_is_kept_by_the_next_commit)
{
	struct pmem *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	spoil_put(l);
	spoil_take(l);
	blklist_commit(l, 1);
	copy = pmem_copy(kept);
	ck_assert_int_eq(blklist_resume(&next, SMALL_MAX, SMALL_RING, copy, 1,
	    next_seq), 0);
	sound(next);
	ck_assert(listed(next, 0, 9));
	ck_assert(!listed(next, 0, 0x1000));
	ck_assert_uint_eq(COUNT(next, inherited), 1);
	blklist_free(next);
	pmem_free(copy);
	blklist_free(l);
	pmem_free(kept);
}

/* What was written over by those that have been taken back is not known. */
TEST(removed_blocks_that_were_overwritten_are_not_told)
{
	struct pmem *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	free_some(l, SMALL_RING);
	blklist_commit(l, 0);
	for (uint64_t i = 0; i < 5; i++)
		APPLY(l, FREE(0x1000 * (i + 20), .ticket = 100));
	copy = pmem_copy(kept);
	ck_assert_int_eq(small_resume(&next, copy, next_seq - 5), 0);
	/* Nor is the one where the next would have begun. */
	for (uint32_t k = 0; k < SMALL_RING - 6; k++)
		ck_assert_uint_eq(blklist_removed(next, k)->blk.addr,
		    0x1000 * (SMALL_RING - k));
	ck_assert_ptr_null(blklist_removed(next, SMALL_RING - 6));
	blklist_free(next);
	pmem_free(copy);
	blklist_free(l);
	pmem_free(kept);
}

TEST(used_memory_takes_no_new_list)
{
	struct pmem *kept, *copy;
	struct blklist *l = small_list(&kept), *next;

	copy = pmem_copy(kept);
	ck_assert_int_eq(blklist_new_persistent(&next, SMALL_MAX, copy), -EINVAL);
	pmem_free(copy);
	blklist_free(l);
	pmem_free(kept);
}

/* Whoever wrote it was a process like us, with a bug perhaps. */
TEST(spoilt_memory_does_no_harm)
{
	struct pmem *kept, *copy;
	struct blklist *l = small_list(&kept), *next;
	unsigned taken = 0;

	seed = check_seed(1);
	free_15(l);
	for (unsigned i = 0; i < 2000; i++) {
		off_t at = 0, end;
		unsigned page = below(40);
		uint64_t word;

		copy = pmem_copy(kept);
		do {
			at = lseek(pmem_fd(copy), at, SEEK_DATA);
			if (at < 0)
				at = lseek(pmem_fd(copy), 0, SEEK_DATA);
			end = at;
			at += 4096;
		} while (page-- > 0);
		/* But for the first page, which is not the list's. */
		word = below(2) == 0 ? rng() : below(100);
		end += below(512) / (1 + below(100)) * 8;
		if (end >= 4096)
			ck_assert_int_eq(pwrite(pmem_fd(copy), &word,
			    sizeof(word), end), sizeof(word));
		if (small_resume(&next, copy, 41) == 0) {
			sound(next);
			APPLY(next, ALLOC(0xabc0, .ticket = 200),
			    FREE(0xabc0, .ticket = 201));
			blklist_free(next);
			taken++;
		}
		pmem_free(copy);
	}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_lt(taken, 2000);
	blklist_free(l);
	pmem_free(kept);
}

/* --- many ------------------------------------------------------------------ */

#define MANY 1000000

TEST(a_million_blocks_are_taken_up)
{
	static struct batch batch;
	struct timespec begin, end;
	struct pmem *kept, *old;
	struct blklist *l;
	uint64_t seq = 1;

	ck_assert_int_eq(pmem_new(&kept, "test", 0), 0);
	ck_assert_int_eq(blklist_new_persistent(&l, 1 << 24, kept), 0);
	ck_assert_int_eq(blklist_remember(l, 1 << 16), 0);
	batch.b = (struct blklist_batch){ .rec = batch.rec };
	while (seq <= MANY) {
		for (batch.b.n = 0; batch.b.n < BATCH; batch.b.n++)
			batch.rec[batch.b.n] = ALLOC((seq + batch.b.n) * 7919 %
			    (1 << 26) * 0x40);
		batch.b.seq = seq;
		blklist_apply(l, &batch.b);
		seq += batch.b.n;
		if (seq <= MANY && seq + BATCH > MANY)
			blklist_commit(l, 0);
	}
	ck_assert_int_eq(pmem_open(&old, dup(pmem_fd(kept))), 0);
	blklist_free(l);
	pmem_free(kept);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ck_assert_int_eq(blklist_resume(&l, 1 << 24, 1 << 16, old, 0,
	    seq - BATCH), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%u blocks are taken up in %ld ms\n", COUNT(l, aRecActive),
	    (end.tv_sec - begin.tv_sec) * 1000 +
	    (end.tv_nsec - begin.tv_nsec) / 1000000);
	sound(l);
	blklist_free(l);
	pmem_free(old);
}

/*
 * What realloc() makes of blocks: moves of both lists, against what a program
 * of several threads did, written down while it did it.
 */
#include "harness.h"

#include <errno.h>

#include "blklist_both.h"

#define RING 65536
#define SLOTS 600
#define THREADS 7
#define ROUNDS 400
#define BATCH 160

#define BY_FREE(a, told_, ...) \
	REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = (a), .size = (told_), __VA_ARGS__)
#define BY_ALLOC(a, size_, ...) \
	REC(.op = REC_ALLOC, .type = TYPE_REALLOC, .addr = (a), .size = (size_), __VA_ARGS__)
#define UNDO(a, ...) \
	REC(.op = REC_UNDO, .type = TYPE_BY_REALLOC, .addr = (a), __VA_ARGS__)

static struct blklist *
following(enum blklist_kind kind)
{
	struct blklist *l = list_of(kind, 100);

	ck_assert_int_eq(blklist_follow_reallocs(l, 16), 0);
	return l;
}

static void
last_is(const struct blklist *l, uint64_t n, uint64_t from, uint64_t to,
    uint64_t size)
{
	struct blklist_realloc m;

	ck_assert_uint_eq(blklist_reallocs(l), n);
	ck_assert_int_eq(blklist_realloc_get(l, 0, &m), 0);
	ck_assert_uint_eq(m.from, from);
	ck_assert_uint_eq(m.to, to);
	ck_assert_uint_eq(m.from_size, size);
}

/* --- one rule each -------------------------------------------------------- */

CASE("Rules");

LOOP_TEST(nothing_is_followed_unless_told, BLKLIST_INDEXED, BLKLIST_LITERAL + 1)
{
	struct blklist *l = list_of(_i, 100);
	struct blklist_realloc m;

	APPLY(l, ALLOC(0x1000, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	ck_assert_int_eq(blklist_reallocs_since(l), 0);
	ck_assert_int_eq(blklist_realloc_get(l, 0, &m), -ENOENT);
	blklist_free(l);
}

LOOP_TEST(the_next_allocation_by_realloc_of_the_thread_is_the_block,
    BLKLIST_INDEXED, BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);
	struct blklist_realloc m;

	APPLY(l, ALLOC(0x1000, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    ALLOC(0x3000, .thread = 2),
	    ALLOC(0x4000, .thread = 1),
	    BY_ALLOC(0x5000, 40, .thread = 2),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	last_is(l, 1, 1, 6, 16);
	ck_assert_int_eq(blklist_realloc_get(l, 0, &m), 0);
	ck_assert_uint_eq(m.addr, 0x2000);
	ck_assert_uint_eq(m.layer, 0);
	ck_assert_uint_eq(blklist_reallocs_unmatched(l), 0);
	blklist_free(l);
}

LOOP_TEST(in_place_is_a_move_as_well, BLKLIST_INDEXED, BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, ALLOC(0x1000, .thread = 1),
	    BY_FREE(0x1000, rec_told(8), .thread = 1),
	    BY_ALLOC(0x1000, 8, .thread = 1));
	last_is(l, 1, 1, 3, 16);
	blklist_free(l);
}

LOOP_TEST(a_realloc_that_failed_moves_nothing, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, ALLOC(0x1000, .thread = 1), ALLOC(0x1100, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    UNDO(0x1000, .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	APPLY(l, BY_FREE(0x1100, rec_told(41), .thread = 1),
	    BY_ALLOC(0x3000, 41, .thread = 1));
	last_is(l, 1, 2, 7, 16);
	blklist_free(l);
}

/* realloc(p, 0), or one whose block went as half of a pair that nobody sent. */
LOOP_TEST(a_free_without_an_allocation_takes_no_other_one, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, ALLOC(0x1000, .thread = 1), ALLOC(0x1100, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_FREE(0x1100, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1),
	    BY_ALLOC(0x3000, 40, .thread = 1));
	last_is(l, 1, 2, 5, 16);
	blklist_free(l);
}

LOOP_TEST(the_half_of_a_pair_ends_its_realloc, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, ALLOC(0x1000, .thread = 1));
	APPLY_PAIRS(l, BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1),
	    FREE(0x2000, .thread = 1),
	    BY_ALLOC(0x3000, 40, .thread = 1));
	ck_assert_uint_eq(COUNT(l, cancelled), 1);
	last_is(l, 1, 1, 3, 16);
	blklist_free(l);
}

LOOP_TEST(what_was_not_told_is_not_followed, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, ALLOC(0x1000, .thread = 1), ALLOC(0x1100, .thread = 1),
	    BY_FREE(0x1000, 0, .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs_unmatched(l), 1);
	APPLY(l, BY_FREE(0x1100, rec_told(41), .thread = 1),
	    BY_ALLOC(0x3000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs_unmatched(l), 2);
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	blklist_free(l);
}

LOOP_TEST(threads_without_a_number_are_not_followed, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, ALLOC(0x1000), BY_FREE(0x1000, rec_told(40)),
	    BY_ALLOC(0x2000, 40));
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	ck_assert_uint_eq(blklist_reallocs_unmatched(l), 1);
	blklist_free(l);
}

LOOP_TEST(the_free_of_no_block_moves_none, BLKLIST_INDEXED, BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);

	APPLY(l, BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	ck_assert_uint_eq(blklist_reallocs_unmatched(l), 0);
	blklist_free(l);
}

LOOP_TEST(nothing_is_tied_across_a_gap, BLKLIST_INDEXED, BLKLIST_LITERAL + 1)
{
	const struct rec before[] = { BY_FREE(0x1000, 41, .thread = 1) };
	struct blklist *l;
	struct rec late[2];

	for (unsigned at = 0; at < 2; at++) {
		l = following(_i);
		late[0] = at == 0 ? FREE(0x9999) : before[0];
		late[1] = at == 0 ? BY_ALLOC(0x2000, 40, .thread = 1) :
		    FREE(0x9999);
		APPLY(l, ALLOC(0x1000, .thread = 1));
		if (at == 0)
			apply_batch(l, before, 1, false);
		struct blklist_batch b = { .rec = late, .n = 2, .gaps = true,
			.seq = next_seq, .near_ms = 1000 };

		blklist_apply(l, &b);
		next_seq += 2;
		APPLY(l, BY_ALLOC(0x3000, 40, .thread = 1));
		ck_assert_uint_eq(blklist_reallocs(l), 0);
		blklist_free(l);
	}
}

LOOP_TEST(a_sample_is_not_followed, BLKLIST_INDEXED, BLKLIST_LITERAL + 1)
{
	struct blklist *l = list_of(_i, 100);

	blklist_sample(l, 100);
	ck_assert_int_eq(blklist_follow_reallocs(l, 16), 0);
	APPLY(l, ALLOC(0x1000, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	blklist_free(l);
}

LOOP_TEST(the_oldest_moves_are_forgotten_and_counted, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);
	struct blklist_realloc m;

	APPLY(l, ALLOC(0x1000, .thread = 1));
	for (unsigned i = 0; i < 20; i++)
		APPLY(l, BY_FREE(0x1000 + i * 16, rec_told(16 + i),
		    .thread = 1),
		    BY_ALLOC(0x1000 + (i + 1) * 16, 16 + i, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs(l), 20);
	ck_assert_int_eq(blklist_realloc_get(l, 15, &m), 0);
	ck_assert_uint_eq(m.to, 1 + 2 * 5);
	ck_assert_int_eq(blklist_realloc_get(l, 16, &m), -ENOENT);
	blklist_free(l);
}

LOOP_TEST(following_anew_knows_nothing_of_before, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	struct blklist *l = following(_i);
	int64_t since = blklist_reallocs_since(l);

	APPLY(l, ALLOC(0x1000, .thread = 1), ALLOC(0x1100, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1),
	    BY_FREE(0x1100, rec_told(40), .thread = 1));
	if (_i == BLKLIST_LITERAL)
		ck_assert_int_eq(blklist_follow_reallocs(l, 32), 0);
	else
		blklist_clear(l);
	ck_assert_int_ne(blklist_reallocs_since(l), since);
	APPLY(l, BY_ALLOC(0x3000, 40, .thread = 1));
	ck_assert_uint_eq(blklist_reallocs(l), 0);
	blklist_free(l);
}

LOOP_TEST(an_illegal_type_is_counted_beside_moves, BLKLIST_INDEXED,
    BLKLIST_LITERAL + 1)
{
	uint8_t legal[32] = { 0 };
	struct blklist *l = following(_i);

	blklist_set_legal(l, legal);
	APPLY(l, ALLOC(0x1000, .thread = 1),
	    BY_FREE(0x1000, rec_told(40), .thread = 1),
	    BY_ALLOC(0x2000, 40, .thread = 1));
	ck_assert_uint_eq(COUNT(l, illegal_type), 2);
	last_is(l, 1, 1, 3, 16);
	blklist_free(l);
}

/* --- a program of several threads ----------------------------------------- */

struct block {
	bool live;
	uint64_t seq, size;
};

/* A thread between the two halves of a realloc. */
struct thread {
	bool busy;
	bool known;		/* the block was in the list */
	uint64_t addr;
	struct block was;
	uint64_t size;		/* that it asks for */
	unsigned era;
};

static struct block block[SLOTS];
static struct thread thread[THREADS];
static struct blklist_realloc expected[ROUNDS * BATCH];
static size_t nexpected, nuntold;
static uint64_t seq;
static unsigned era;		/* another one behind each gap */
static bool in_gap;

static uint64_t
slot_addr(unsigned at)
{
	return UINT64_C(0x5555000000) + at * 32u;
}

static unsigned
any_slot(bool live)
{
	unsigned at = below(SLOTS);

	while (block[at].live != live)
		at = (at + 1) % SLOTS;
	return at;
}

static struct rec
begins(unsigned t)
{
	struct thread *th = &thread[t];
	unsigned at = any_slot(true);

	*th = (struct thread){ .busy = true, .addr = slot_addr(at),
		.was = block[at], .size = 1 + below(4), .era = era };
	block[at].live = false;
	return BY_FREE(th->addr, rec_told(th->size), .thread = t + 1);
}

static struct rec
ends(unsigned t)
{
	struct thread *th = &thread[t];
	unsigned at = (unsigned)(th->addr - slot_addr(0)) / 32, how = below(10);

	th->busy = false;
	/* It fails, which is possible as long as nobody else has the place. */
	if (how == 0 && !block[at].live) {
		block[at] = th->was;
		return UNDO(th->addr, .thread = t + 1);
	}
	/* realloc(p, 0): what is written in its place has nothing to do with it. */
	if (how == 1)
		return FREE(0x10, .thread = t + 1);
	if (how < 6 || block[at].live)
		at = any_slot(false);
	block[at] = (struct block){ true, seq, th->size };
	if (th->era != era || in_gap)
		nuntold++;
	else
		expected[nexpected++] = (struct blklist_realloc){
			.from = th->was.seq, .to = seq,
			.from_size = th->was.size, .addr = slot_addr(at) };
	return BY_ALLOC(slot_addr(at), th->size, .thread = t + 1);
}

static struct rec
happens(unsigned live)
{
	unsigned t = below(THREADS), at;

	if (thread[t].busy)
		return ends(t);
	if (live > 20 && below(2) == 0)
		return begins(t);
	if (live > SLOTS / 2 || (live > 20 && below(2) == 0)) {
		at = any_slot(true);
		block[at].live = false;
		return FREE(slot_addr(at), .thread = t + 1);
	}
	at = any_slot(false);
	block[at] = (struct block){ true, seq, 1 + below(4) };
	return REC(.op = REC_ALLOC, .type = TYPE_MALLOC, .addr = slot_addr(at),
	    .size = block[at].size, .thread = t + 1);
}

static unsigned
live_now(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		n += block[i].live;
	return n;
}

static void
moves_are(const struct blklist *l)
{
	struct blklist_realloc m;

	ck_assert_uint_eq(blklist_reallocs(l), nexpected);
	for (size_t k = 0; k < nexpected && k < RING; k++) {
		const struct blklist_realloc *e = &expected[nexpected - 1 - k];

		ck_assert_int_eq(blklist_realloc_get(l, (uint32_t)k, &m), 0);
		ck_assert_uint_eq(m.from, e->from);
		ck_assert_uint_eq(m.to, e->to);
		ck_assert_uint_eq(m.from_size, e->from_size);
		ck_assert_uint_eq(m.addr, e->addr);
	}
	/* A gap may have hidden that there was nothing to be told. */
	ck_assert_uint_le(blklist_reallocs_unmatched(l), nuntold);
}

CASE("Program", .seconds = 60);

LOOP_TEST(moves_are_those_of_the_program, 0, 6)
{
	static struct rec rec[BATCH];
	struct both l;

	both_new(&l, 4096);
	ck_assert_int_eq(blklist_follow_reallocs(l.lit, RING), 0);
	ck_assert_int_eq(blklist_follow_reallocs(l.ix, RING), 0);
	memset(block, 0, sizeof(block));
	memset(thread, 0, sizeof(thread));
	seed = check_seed(UINT64_C(0x123456789abcdef) + (unsigned)_i);
	nexpected = nuntold = era = 0;
	seq = 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct blklist_batch b = { .rec = rec, .n = BATCH, .seq = seq,
			.near_ms = 1000, .cancel = _i % 2 == 1,
			.gaps = _i > 1 && below(10) == 0 };

		in_gap = b.gaps;
		era += in_gap;
		for (unsigned k = 0; k < BATCH; k++, seq++)
			rec[k] = happens(live_now());
		both_apply(&l, &b);
		era += in_gap;
	}
	sound_both(&l);
	ck_assert_uint_gt(nexpected, ROUNDS * BATCH / 20);
	moves_are(l.lit);
	moves_are(l.ix);
	both_free(&l);
}

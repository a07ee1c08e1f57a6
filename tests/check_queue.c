/*
 * The retained queue against a plain model that forgets nothing: an array of
 * what each sequence number was, a record or a loss and its cause.
 */
#include "../src/base/base.h"
#include "../src/stream/stream.h"
#include "harness.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SEQS (1u << 20)

/* By sequence number: the record's stamp, or 0 with the cause of its loss. */
struct model {
	uint64_t stamp[SEQS];
	uint8_t cause[SEQS];
	uint64_t next;
	uint64_t stamps;
};

static struct model model;
static struct stream_queue *queue;
static uint64_t state;

static void
setup(void)
{
	memset(&model, 0, sizeof(model));
	model.next = 1;
	state = check_seed(4711);
	queue = NULL;
}

static void
teardown(void)
{
	stream_queue_free(queue);
}

static unsigned
random_below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (unsigned)((state >> 33) % n);
}

static void
put(size_t n)
{
	static struct rec recs[8192];

	ck_assert_uint_le(n, BASE_NELEM(recs));
	ck_assert_uint_lt(model.next + n, SEQS);
	for (size_t i = 0; i < n; i++) {
		model.stamp[model.next++] = ++model.stamps;
		recs[i] = (struct rec) { .w = { model.stamps, 2, 3,
		    ~model.stamps } };
	}
	stream_queue_put(queue, recs, n);
}

static void
lose(unsigned cause, size_t n)
{
	ck_assert_uint_lt(model.next + n, SEQS);
	for (size_t i = 0; i < n; i++)
		model.cause[model.next++] = (uint8_t)cause;
	stream_queue_lose(queue, cause, n);
}

/* Check's own assertions talk to the runner each time: too slow for each record. */
static void
check_record(const struct rec *r, uint64_t seq)
{
	if (r->w[0] != model.stamp[seq] || r->w[3] != ~model.stamp[seq])
		ck_abort_msg("record %ju is %ju and not %ju", (uintmax_t)seq,
		    (uintmax_t)r->w[0], (uintmax_t)model.stamp[seq]);
}

/* Reads once and holds everything that came back against the model. */
static uint64_t
check_read(uint64_t from, size_t max)
{
	static struct rec recs[4096];
	static uint64_t seqs[4096];
	struct stream_range range;
	uint64_t oldest = stream_queue_oldest(queue), seq, sum = 0;
	uint64_t lost[STREAM_CAUSES] = { 0 };
	size_t n, k = 0;

	memset(seqs, 0, sizeof(seqs));
	n = stream_queue_read(queue, from, recs, seqs, max, &range);
	ck_assert_uint_le(n, max);
	ck_assert_uint_eq(range.from, from == 0 ? oldest : from);
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		sum += range.lost[c];
	ck_assert_uint_eq(range.next - range.from, n + sum);

	for (seq = range.from; seq < range.next; seq++) {
		if (seq < oldest) {
			lost[STREAM_OVERWRITTEN]++;
		} else if (model.cause[seq] != 0) {
			lost[model.cause[seq]]++;
		} else {
			if (k == n || seqs[k] != seq)
				ck_abort_msg("record %ju is missing",
				    (uintmax_t)seq);
			check_record(&recs[k++], seq);
		}
	}
	ck_assert_uint_eq(k, n);
	ck_assert_mem_eq(lost, range.lost, sizeof(lost));
	/* It stops early only because it is full. */
	if (n < max)
		ck_assert_uint_eq(range.next, model.next);
	return range.next;
}

static void
check_at(uint64_t seq)
{
	const struct rec *r = stream_queue_at(queue, seq);

	if (seq < stream_queue_oldest(queue) || seq >= model.next ||
	    model.cause[seq] != 0) {
		ck_assert_ptr_null(r);
		return;
	}
	ck_assert_ptr_nonnull(r);
	check_record(r, seq);
}

/* The records that are still there; at most `capacity` of them. */
static uint64_t
held(void)
{
	uint64_t n = 0;

	for (uint64_t s = stream_queue_oldest(queue); s < model.next; s++)
		n += model.cause[s] == 0;
	return n;
}

/* --- rules, one at a time ----------------------------------------------- */

CASE("Core", .setup = setup, .teardown = teardown);

TEST(queue_size_is_a_power_of_two)
{
	ck_assert_int_eq(stream_queue_new(&queue, 0), -EINVAL);
	ck_assert_int_eq(stream_queue_new(&queue, 3), -EINVAL);
	ck_assert_int_eq(stream_queue_new(&queue, 1u << 18 | 1), -EINVAL);
	ck_assert_ptr_null(queue);
	ck_assert_int_eq(stream_queue_new(&queue, 1), 0);
	put(3);
	ck_assert_uint_eq(stream_queue_oldest(queue), 3);
	check_read(0, 10);
}

TEST(empty_queue_reads_nothing)
{
	struct stream_range range;
	struct rec r;

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	ck_assert_uint_eq(stream_queue_next(queue), 1);
	ck_assert_uint_eq(stream_queue_oldest(queue), 1);
	ck_assert_uint_eq(stream_queue_read(queue, 0, &r, NULL, 1, &range), 0);
	ck_assert_uint_eq(range.from, 1);
	ck_assert_uint_eq(range.next, 1);
	ck_assert_ptr_null(stream_queue_at(queue, 0));
	ck_assert_ptr_null(stream_queue_at(queue, 1));
}

TEST(cursor_beyond_the_end_reads_nothing)
{
	struct stream_range range;
	struct rec r;

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(5);
	ck_assert_uint_eq(stream_queue_read(queue, 100, &r, NULL, 1, &range),
	    0);
	ck_assert_uint_eq(range.from, 6);
	ck_assert_uint_eq(range.next, 6);
	ck_assert_uint_eq(stream_queue_read(queue, UINT64_MAX, &r, NULL, 1,
	    &range), 0);
	ck_assert_uint_eq(range.next, 6);
}

TEST(what_fell_out_is_counted_as_overwritten)
{
	struct stream_range range;
	struct rec recs[8];

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(20);
	ck_assert_uint_eq(stream_queue_oldest(queue), 13);
	ck_assert_uint_eq(stream_queue_read(queue, 1, recs, NULL, 8, &range),
	    8);
	ck_assert_uint_eq(range.lost[STREAM_OVERWRITTEN], 12);
	ck_assert_uint_eq(range.next, 21);
}

TEST(loss_has_sequence_numbers_and_its_cause)
{
	struct stream_range range;
	struct rec recs[8];

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(2);
	lose(STREAM_RING_FULL, 412);
	put(3);
	ck_assert_uint_eq(stream_queue_read(queue, 1, recs, NULL, 8, &range),
	    5);
	ck_assert_uint_eq(range.lost[STREAM_RING_FULL], 412);
	ck_assert_uint_eq(range.next, 1 + 2 + 412 + 3);
	ck_assert_uint_eq(recs[2].w[0], 3);
	ck_assert_ptr_null(stream_queue_at(queue, 3));
	ck_assert_ptr_null(stream_queue_at(queue, 414));
	ck_assert_ptr_nonnull(stream_queue_at(queue, 415));
	/* A cursor in the middle of it is told of the rest of it. */
	check_read(100, 8);
}

TEST(loss_right_before_the_oldest_record_keeps_its_cause)
{
	struct stream_range range;
	struct rec recs[8];

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(3);
	lose(STREAM_RING_FULL, 4);
	put(8);
	ck_assert_uint_eq(stream_queue_oldest(queue), 4);
	ck_assert_uint_eq(stream_queue_read(queue, 1, recs, NULL, 8, &range),
	    8);
	ck_assert_uint_eq(range.lost[STREAM_OVERWRITTEN], 3);
	ck_assert_uint_eq(range.lost[STREAM_RING_FULL], 4);
	put(1);
	ck_assert_uint_eq(stream_queue_oldest(queue), 9);
	check_read(1, 8);
}

TEST(loss_at_the_end_is_read_at_once)
{
	struct stream_range range;
	struct rec r;

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(1);
	lose(STREAM_WRITER_DIED, 7);
	ck_assert_uint_eq(stream_queue_read(queue, 2, &r, NULL, 1, &range), 0);
	ck_assert_uint_eq(range.lost[STREAM_WRITER_DIED], 7);
	ck_assert_uint_eq(range.next, 9);
}

TEST(read_of_no_records_only_skips_losses)
{
	struct stream_range range;

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(1);
	lose(STREAM_RING_FULL, 7);
	put(1);
	ck_assert_uint_eq(stream_queue_read(queue, 2, NULL, NULL, 0, &range),
	    0);
	ck_assert_uint_eq(range.lost[STREAM_RING_FULL], 7);
	ck_assert_uint_eq(range.next, 9);
	ck_assert_uint_eq(stream_queue_read(queue, 9, NULL, NULL, 0, &range),
	    0);
	ck_assert_uint_eq(range.next, 9);
}

CASE("Limits", .setup = setup, .teardown = teardown);

TEST(too_many_losses_drop_the_oldest_and_are_still_counted)
{
	ck_assert_int_eq(stream_queue_new(&queue, 1u << 14), 0);
	for (int i = 0; i < STREAM_QUEUE_LOSSES; i++) {
		put(3);
		lose(STREAM_RING_FULL, 2);
	}
	ck_assert_uint_eq(stream_queue_oldest(queue), 1);
	put(3);
	check_read(1, 4096);
	lose(STREAM_RING_FULL, 2);
	/* The first three records and the loss after them have left. */
	ck_assert_uint_eq(stream_queue_oldest(queue), 6);
	check_read(1, 4096);
	check_read(0, 4096);
	check_at(5);
	check_at(6);
}

TEST(losses_of_one_cause_in_a_row_are_one_gap)
{
	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	put(1);
	for (int i = 0; i < 3 * STREAM_QUEUE_LOSSES; i++)
		lose(STREAM_RING_FULL, 1);
	put(1);
	ck_assert_uint_eq(stream_queue_oldest(queue), 1);
	check_read(1, 8);
}

TEST(absurd_loss_saturates_and_the_queue_goes_on)
{
	struct stream_range range;
	struct rec recs[8] = { 0 };
	uint64_t sum = 0;
	size_t n;

	ck_assert_int_eq(stream_queue_new(&queue, 8), 0);
	for (int i = 0; i < 10; i++) {
		stream_queue_put(queue, recs, 1);
		stream_queue_lose(queue, 1 + i % 2, UINT64_MAX);
	}
	n = stream_queue_read(queue, 1, recs, NULL, 8, &range);
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		sum += range.lost[c];
	ck_assert_uint_gt(range.next, UINT64_C(1) << 61);
	ck_assert_uint_lt(range.next, UINT64_C(1) << 63);
	ck_assert_uint_eq(range.next - range.from, n + sum);
	ck_assert_uint_eq(range.next, stream_queue_next(queue));
}

/* --- anything, in any order --------------------------------------------- */

static const struct {
	uint32_t capacity;
	unsigned batch;		/* most records of one put */
	unsigned losses;	/* in 100 steps */
	int steps;
} random_cases[] = {
	{ 1, 3, 30, 3000 },
	{ 64, 1, 50, 5000 },
	{ 64, 200, 10, 3000 },
	{ 1024, 300, 5, 4000 },
	{ 4096, 8192, 20, 200 },
	{ 1u << 14, 12, 95, 20000 },	/* the table of gaps runs over */
};

CASE("Random", .setup = setup, .teardown = teardown, .seconds = 600);

LOOP_TEST(next_less_from_is_always_count_and_lost, 0, BASE_NELEM(random_cases))
{
	const uint32_t capacity = random_cases[_i].capacity;
	const int steps = check_rounds(random_cases[_i].steps);
	uint64_t cursor = 1;

	ck_assert_int_eq(stream_queue_new(&queue, capacity), 0);
	for (int step = 0; step < steps; step++) {
		uint64_t oldest = stream_queue_oldest(queue);

		if (random_below(100) < random_cases[_i].losses)
			lose(1 + random_below(STREAM_CAUSES - 1),
			    random_below(4) == 0 ? random_below(100) : 1);
		if (random_below(100) < 60)
			put(random_below(random_cases[_i].batch + 1));

		ck_assert_uint_eq(stream_queue_next(queue), model.next);
		ck_assert_uint_ge(stream_queue_oldest(queue), oldest);
		if (step % 16 == 0)
			ck_assert_uint_le(held(), capacity);
		check_at(random_below((unsigned)model.next + 3));
		check_at(stream_queue_oldest(queue));
		check_read(1 + random_below((unsigned)model.next),
		    random_below(300));
		check_read(0, random_below(20));
		/* A reader that comes now and then sees everything once. */
		if (random_below(8) == 0)
			cursor = check_read(cursor, 1 + random_below(4000));
		if (model.next > SEQS - 20000)
			break;
	}
	while (cursor < model.next)
		cursor = check_read(cursor, 4096);
}

CASE("Core");

TEST(full_queue_holds_its_capacity)
{
	ck_assert_int_eq(stream_queue_new(&queue, 1024), 0);
	for (int i = 0; i < 50; i++) {
		put(100);
		if (i % 7 == 0)
			lose(STREAM_RING_FULL, 5);
	}
	ck_assert_uint_eq(held(), 1024);
}

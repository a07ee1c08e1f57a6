/*
 * The digest: what is left of batches, alone and as a page reads it.
 */
#include <endian.h>

#include "../src/blklist/blklist.h"
#include "chance.h"
#include "node_harness.h"

static uint64_t state = 88172645463325252u;

static uint64_t
draw(void)
{
	return chance_next(&state);
}

/* --- alone ---------------------------------------------------------------- */

static struct rec recs[KEEPER_BATCH];

static uint32_t
low_bits(const void *arg, uint64_t seq)
{
	(void)arg;
	return (uint16_t)seq;
}

/* A batch of n records of which `left` are left, somewhere. */
static void
put(struct stream_digest *d, uint64_t seq, size_t n, size_t left)
{
	uint64_t out[KEEPER_BATCH / 64] = { 0 };

	for (size_t i = 0; i < n; i++)
		recs[i].w[0] = seq + i;
	for (size_t gone = 0; gone < n - left;) {
		size_t i = draw() % n;

		gone += !(out[i / 64] >> i % 64 & 1);
		out[i / 64] |= UINT64_C(1) << i % 64;
	}
	stream_digest_put(d, seq, recs, n, out, low_bits, NULL);
}

static void
expect_batch(const struct stream_digest *d, uint64_t seq, size_t n,
    size_t left)
{
	struct stream_digest_batch b;
	uint64_t last = 0;

	ck_assert(stream_digest_find(d, seq, &b));
	ck_assert_uint_eq(b.seq, seq);
	ck_assert_uint_eq(b.end, seq + n);
	ck_assert_uint_eq(b.n, left);
	for (unsigned i = 0; i < b.n; i++) {
		const struct stream_digest_entry *e =
		    stream_digest_at(d, &b, i);

		ck_assert_uint_gt(e->seq, last);
		ck_assert_uint_ge(e->seq, seq);
		ck_assert_uint_lt(e->seq, b.end);
		ck_assert_uint_eq(e->rec.w[0], e->seq);
		ck_assert_uint_eq(e->tag, (uint16_t)e->seq);
		last = e->seq;
	}
}

static const struct {
	size_t n, left;
	bool kept;
} sizes[] = {
	{ 4096, 0, true }, { 4096, 512, true }, { 4096, 513, false },
	{ 1000, 500, true }, { 1000, 501, false }, { 64, 2, true },
	{ 63, 1, true }, { 65, 1, true }, { 2, 1, true }, { 2, 0, true },
	{ 2, 2, true }, { 1, 1, true }, { 128, 128, true },
	{ 129, 129, false },
};

CASE("alone", .seconds = 60);

LOOP_TEST(a_batch_is_kept_where_half_of_it_or_few_are_left, 0,
    sizeof(sizes) / sizeof(sizes[0]))
{
	struct stream_digest_batch b;
	struct stream_digest *d;

	ck_assert_int_eq(stream_digest_new(&d), 0);
	put(d, 7, sizes[_i].n, sizes[_i].left);
	if (sizes[_i].kept)
		expect_batch(d, 7, sizes[_i].n, sizes[_i].left);
	else
		ck_assert(!stream_digest_find(d, 0, &b));
	stream_digest_free(d);
}

TEST(the_first_batch_from_a_number_on_is_found)
{
	struct stream_digest_batch b;
	struct stream_digest *d;

	ck_assert_int_eq(stream_digest_new(&d), 0);
	put(d, 100, 50, 10);
	put(d, 150, 200, 200);		/* not kept */
	put(d, 350, 50, 10);
	ck_assert(stream_digest_find(d, 0, &b));
	ck_assert_uint_eq(b.seq, 100);
	ck_assert(stream_digest_find(d, 101, &b));
	ck_assert_uint_eq(b.seq, 350);
	ck_assert(!stream_digest_find(d, 351, &b));
	stream_digest_free(d);
}

/* Either table may be the one that is full: many records left, or few. */
LOOP_TEST(the_oldest_batches_go_whole_and_the_others_stay_right, 0, 2)
{
	size_t left = _i == 0 ? 512 : 1, n = 2 * left;
	size_t fit = _i == 0 ? STREAM_DIGEST_RECORDS / left :
	    STREAM_DIGEST_BATCHES;
	struct stream_digest_batch b;
	struct stream_digest *d;

	ck_assert_int_eq(stream_digest_new(&d), 0);
	for (size_t i = 0; i < fit + 77; i++)
		put(d, 1 + i * n, n, left);
	ck_assert(stream_digest_find(d, 0, &b));
	ck_assert_uint_eq(b.seq, 1 + 77 * n);
	for (size_t i = 77; i < fit + 77; i++)
		expect_batch(d, 1 + i * n, n, left);
	stream_digest_free(d);
}

/* --- as a page reads it --------------------------------------------------- */

#define SLOTS 20000

/* A heap that the keeper is told of, and a list as a page keeps it. */
struct model {
	struct page p;
	struct keeper *k;
	struct wire_msg read;
	struct blklist *list;
	bool live[SLOTS];
	uint64_t cancelled, replies;
	bool requesters;
	unsigned past;			/* one of so many blocks is freed past us; 0: none */
};

static void
model_up(struct model *m)
{
	struct wire_msg r;

	node_up(NULL);
	ck_assert_int_eq(keeper_new(&m->k, &node,
	    &(struct keeper_opts){ .max = 1u << 16 }, NULL), 0);
	m->k->stream = atomic_fetch_add(&node.last_stream, 1) + 1;
	ck_assert_int_eq(images_join(m->k, "ALLOCLOG"), 0);
	page_open(&m->p);
	page_greet(&m->p, WIRE_ROLE_READ);
	page_name(&m->p, "DSTRM", "ALLOCLOG", &r);
	m->read = (struct wire_msg){ .type = WIRE_READ, .read = {
		.index = r.named.index, .from = 1 } };
	memcpy(m->read.read.epoch, r.named.epoch, WIRE_EPOCH);
	ck_assert_int_eq(blklist_new(&m->list, BLKLIST_INDEXED, 1u << 16), 0);
}

static void
model_down(struct model *m)
{
	blklist_free(m->list);
	page_close(&m->p);
	node_down();
}

/* Among `near` slots blocks live shortly, among the others longer. */
static void
churn(struct model *m, size_t n, unsigned near, unsigned far_of_100)
{
	struct blklist_batch_info info[8] = { { .info = { .name = "rx" } } };
	size_t ninfo = 0;

	for (size_t i = 0; i < n; i++) {
		bool far = draw() % 100 < far_of_100;
		/* Freed, and nobody has logged it. */
		bool past = m->past != 0 && draw() % m->past == 0;
		size_t slot = far ? near + draw() % (SLOTS - near) :
		    draw() % near;
		uint64_t addr = 0x10000 + 16 * slot;

		if (past)
			m->live[slot] = false;
		recs[i] = m->live[slot] ? freeing(addr) :
		    allocation(addr, 1 + slot);
		m->live[slot] = !m->live[slot];
		if (m->requesters && m->live[slot] && ninfo < 8) {
			info[ninfo] = info[0];
			info[ninfo++].at = i;
		}
	}
	keeper_take(m->k, recs, n, 1000, NULL, info, ninfo);
}

/* One READ into the model's list; false when there was nothing. */
static bool
read_some(struct model *m, uint32_t max, bool whole)
{
	static struct rec got[WIRE_READ_MAX];
	static uint64_t seqs[WIRE_READ_MAX];
	struct blklist_batch b = { .rec = got, .seqs = seqs, .near_ms = 1000 };
	struct wire_msg r;

	m->read.read.max = max;
	m->read.read.whole = whole;
	page_ask(&m->p, &m->read, &r);
	ck_assert_uint_eq(r.type, WIRE_DATA);
	ck_assert_uint_eq(r.data.first, m->read.read.from);
	ck_assert_uint_eq(r.data.next - r.data.first,
	    r.data.count + r.data.cancelled);
	ck_assert_uint_le(r.data.count, max);
	if (whole)
		ck_assert_uint_eq(r.data.cancelled, 0);
	stream_wide_decode(r.data.records.p, r.data.count, got);
	for (size_t i = 0; i < r.data.count; i++) {
		uint32_t offset = htole32((uint32_t)i);

		if (r.data.offsets.len > 0)
			memcpy(&offset, r.data.offsets.p + 4 * i, 4);
		seqs[i] = r.data.first + le32toh(offset);
		if (i > 0)
			ck_assert_uint_gt(seqs[i], seqs[i - 1]);
	}
	b.n = r.data.count;
	blklist_apply(m->list, &b);
	/* No half of a pair was had without the other. */
	ck_assert_uint_eq(blklist_counts(m->list)->unknown_free, 0);
	if (m->past == 0)
		ck_assert_uint_eq(blklist_counts(m->list)->duplicate, 0);
	m->cancelled += r.data.cancelled;
	m->replies++;
	m->read.read.from = r.data.next;
	return r.data.next != r.data.first;
}

static void
expect_same(const struct model *m)
{
	static struct blk have[SLOTS], want[SLOTS];
	size_t n = blklist_window(m->k->list, BLKLIST_BY_AGE, false, 0, want,
	    SLOTS);

	ck_assert_uint_eq(m->read.read.from, keeper_next(m->k));
	ck_assert_uint_eq(blklist_window(m->list, BLKLIST_BY_AGE, false, 0,
	    have, SLOTS), n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(have[i].seq, want[i].seq);
		ck_assert_uint_eq(have[i].addr, want[i].addr);
		ck_assert_uint_eq(have[i].size, want[i].size);
	}
}

CASE("read", .seconds = 60);

LOOP_TEST(a_page_that_is_slow_misses_nothing_of_pairs_that_left_the_queue, 0, 2)
{
	static struct model m;

	model_up(&m);
	m.past = _i == 0 ? 0 : 5000;
	while (keeper_next(m.k) < 6 * STREAM_QUEUE_RECORDS)
		churn(&m, KEEPER_BATCH, 64, 2);
	ck_assert_uint_gt(keeper_oldest(m.k), 5 * STREAM_QUEUE_RECORDS);
	while (read_some(&m, WIRE_READ_MAX, false))
		continue;
	expect_same(&m);
	ck_assert_uint_gt(m.cancelled, 5 * STREAM_QUEUE_RECORDS);
	model_down(&m);
}

/* Whatever is asked for, and wherever the cursor is left. */
LOOP_TEST(replies_of_any_size_and_kind_give_the_same_list, 0, 4)
{
	static struct model m;

	model_up(&m);
	m.requesters = _i % 2;
	m.past = _i < 2 ? 0 : 50;
	for (int round = 0; round < check_rounds(300); round++) {
		size_t n = 1 + draw() % KEEPER_BATCH;
		uint64_t r = draw();

		churn(&m, n, r % 4 == 0 ? 2000 : 32, r % 8 == 1 ? 100 : r % 20);
		for (uint64_t k = draw() % 8; k > 0; k--)
			read_some(&m, 1 + (uint32_t)(draw() % (draw() % 2 ?
			    40 : WIRE_READ_MAX)), draw() % 4 == 0);
		if (round % 50 != 49)
			continue;
		while (read_some(&m, WIRE_READ_MAX, draw() % 2))
			continue;
		expect_same(&m);
		ck_assert_uint_eq(blklist_counts(m.list)->duplicate,
		    blklist_counts(m.k->list)->duplicate);
	}
	ck_assert((m.past != 0) == (blklist_counts(m.list)->duplicate != 0));
	model_down(&m);
}

/* A cursor within a batch that has left the queue: up to the next one it is lost. */
TEST(what_was_left_within_a_batch_is_lost_up_to_the_next_one)
{
	static struct model m;
	struct wire_msg r;
	uint64_t next;

	model_up(&m);
	churn(&m, KEEPER_BATCH, 64, 2);
	ck_assert(read_some(&m, 10, true));
	next = m.read.read.from;
	while (keeper_next(m.k) < 3 * STREAM_QUEUE_RECORDS)
		churn(&m, KEEPER_BATCH, 64, 2);
	m.read.read.max = WIRE_READ_MAX;
	m.read.read.whole = false;
	page_ask(&m.p, &m.read, &r);
	ck_assert_uint_eq(r.data.lost[STREAM_OVERWRITTEN].count,
	    KEEPER_BATCH + 1 - next);
	ck_assert_uint_eq(r.data.next - r.data.first, r.data.count +
	    r.data.cancelled + r.data.lost[STREAM_OVERWRITTEN].count);
	ck_assert_uint_gt(r.data.next, 2 * KEEPER_BATCH);
	model_down(&m);
}

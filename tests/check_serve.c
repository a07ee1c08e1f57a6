/*
 * What a node answers to its pages: READ and SNAP of wide streams.
 */
#include "node_harness.h"

/* --- READ and SNAP of wide streams -------------------------------------- */

static uint64_t
lost_in(const struct wire_data *d)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < 8; cause++)
		sum += d->lost[cause].count;
	return sum;
}

static uint64_t
addr_in(const struct wire_data *d, size_t i)
{
	struct rec rec;

	stream_wide_decode(d->records.p + 32 * i, 1, &rec);
	return rec_addr(&rec);
}

static uint64_t
seq_in(const struct wire_data *d, size_t i)
{
	const uint8_t *o;

	if (d->offsets.len == 0)
		return d->first + i;
	o = d->offsets.p + 4 * i;
	return d->first + (o[0] | o[1] << 8 | o[2] << 16 |
	    (uint32_t)o[3] << 24);
}

CASE("READ and SNAP", .seconds = 60);

TEST(pairs_within_one_reply_are_left_out_and_counted)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	take(k, allocation(0x1000, 1));
	take(k, allocation(0x2000, 2));
	take(k, freeing(0x1000));
	take(k, allocation(0x1000, 3));
	take(k, freeing(0x9000));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 3);
	ck_assert_uint_eq(r.data.cancelled, 2);
	ck_assert_uint_eq(r.data.next, 6);
	ck_assert_uint_eq(addr_in(&r.data, 0), 0x2000);
	ck_assert_uint_eq(addr_in(&r.data, 1), 0x1000);
	ck_assert_uint_eq(addr_in(&r.data, 2), 0x9000);
	ck_assert_uint_eq(seq_in(&r.data, 0), 2);
	ck_assert_uint_eq(seq_in(&r.data, 1), 4);
	ck_assert_uint_eq(seq_in(&r.data, 2), 5);
	m.read.whole = true;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 5);
	ck_assert_uint_eq(r.data.cancelled, 0);
	ck_assert_uint_eq(r.data.offsets.len, 0);
	page_close(&p);
	node_down();
}

TEST(what_an_undo_needs_is_not_left_out)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	take(k, allocation(0x1000, 1));
	take(k, record(REC_FREE, 0x1000, TYPE_BY_REALLOC, 0));
	take(k, record(REC_UNDO, 0x1000, 0, 0));
	take(k, freeing(0x1000));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 4);
	ck_assert_uint_eq(r.data.cancelled, 0);
	page_close(&p);
	node_down();
}

TEST(an_older_free_does_not_cancel_a_newer_allocation)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	struct rec late = freeing(0x1000);

	take(k, allocation(0x1000, 1));
	take(k, late);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 2);
	ck_assert_uint_eq(r.data.cancelled, 0);
	page_close(&p);
	node_down();
}

/* Every record of a pseudo-random stream is accounted for, whatever is lost. */
TEST(next_less_from_is_count_and_cancelled_and_lost)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	uint64_t x = 88172645463325252u, seen = 0, lost = 0;

	for (int i = 0; i < 300000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (x % 1000 == 0) {
			keeper_lose(k, STREAM_RING_FULL, 1 + x % 77);
			lost += 1 + x % 77;
		}
		take(k, x % 2 ? allocation(x % 512 * 16 + 16, i) :
		    freeing(x % 512 * 16 + 16));
	}
	while (m.read.from < keeper_next(k)) {
		m.read.max = 1 + (uint32_t)(m.read.from % 1024);
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.type, WIRE_DATA);
		ck_assert_uint_eq(r.data.first, m.read.from);
		ck_assert_uint_le(r.data.count, m.read.max);
		ck_assert_uint_gt(r.data.next, m.read.from);
		ck_assert_uint_eq(r.data.next - m.read.from,
		    r.data.count + r.data.cancelled + lost_in(&r.data));
		for (size_t i = 0; i < r.data.count; i++)
			ck_assert_uint_lt(seq_in(&r.data, i), r.data.next);
		seen += r.data.count + r.data.cancelled;
		m.read.from = r.data.next;
	}
	ck_assert_uint_eq(seen, STREAM_QUEUE_RECORDS);
	ck_assert_uint_eq(keeper_lost(k), lost);
	page_close(&p);
	node_down();
}

TEST(a_gap_that_no_offset_can_say_makes_a_reply_of_its_own)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	uint64_t gap = UINT64_C(1) << 33;

	keeper_lose(k, STREAM_RING_FULL, gap);
	take(k, allocation(0x1000, 1));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 0);
	ck_assert_uint_eq(r.data.next, 1 + gap);
	ck_assert_uint_eq(r.data.lost[STREAM_RING_FULL].count, gap);
	m.read.from = r.data.next;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 1);
	ck_assert_uint_eq(lost_in(&r.data), 0);
	page_close(&p);
	node_down();
}

TEST(a_cursor_beyond_the_end_reads_nothing)
{
	struct wire_msg r, m = { .type = WIRE_READ,
		.read = { .from = UINT64_C(1) << 40 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	take(k, allocation(0x1000, 1));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 0);
	ck_assert_uint_eq(r.data.next, 2);
	page_close(&p);
	node_down();
}

TEST(parts_of_a_snapshot_make_the_whole_list)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	uint64_t before = 0;
	size_t n = 0;

	for (int i = 3000; i > 0; i--)
		take(k, allocation((uint64_t)i * 64, (uint64_t)i));
	for (;;) {
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.type, WIRE_PART);
		ck_assert_uint_eq(r.part.total, 3000);
		ck_assert_uint_eq(r.part.as_of, 3000);
		for (size_t i = 0; i < r.part.count; i++) {
			const uint8_t *at = r.part.blocks.p +
			    i * (32 + WIRE_BLOCK_TAIL);
			struct rec rec;

			stream_wide_decode(at, 1, &rec);
			ck_assert_uint_gt(rec_addr(&rec), before);
			before = rec_addr(&rec);
			/* The tail: sequence number, little-endian. */
			ck_assert_uint_eq(at[32] | at[33] << 8,
			    3001 - before / 64);
		}
		n += r.part.count;
		m.snap.snapshot = r.part.snapshot;
		m.snap.from_start = false;
		m.snap.after = r.part.next;
		m.snap.after_layer = r.part.next_layer;
		if (r.part.last)
			break;
	}
	ck_assert_uint_eq(n, 3000);
	page_close(&p);
	node_down();
}

TEST(more_requesters_than_fit_end_the_reply_before_them)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct blklist_batch_info info = { .at = 0,
		.info = { .name = "MEMB" } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	size_t n = 0;

	for (uint64_t i = 1; i <= 300; i++) {
		struct rec rec = allocation(i * 16, i);

		keeper_take(k, &rec, 1, 1000, NULL, &info, 1);
	}
	while (m.read.from <= 300) {
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.data.count, r.data.ninfo);
		ck_assert_uint_le(r.data.ninfo, WIRE_INFO_MAX);
		ck_assert_uint_gt(r.data.count, 0);
		ck_assert_mem_eq(r.data.info[0].name.s, "MEMB", 4);
		n += r.data.count;
		m.read.from = r.data.next;
	}
	ck_assert_uint_eq(n, 300);
	page_close(&p);
	node_down();
}

TEST(a_lossy_stream_is_known_from_its_snapshot)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	keeper_lose(k, STREAM_RING_FULL, 3);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.part.since, WIRE_SINCE_UNKNOWN);
	ck_assert_uint_eq(r.part.as_of, 3);
	page_close(&p);
	node_down();
}

TEST(so_is_one_whose_list_was_full)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	int64_t ms = 1;

	for (uint64_t i = 0; i <= 4096; i++) {
		struct rec rec = { .w = {
			rec_w0(0x100000 + i * 64, REC_FLAGS(REC_ALLOC, 1),
			    TYPE_MALLOC),
			rec_w1(8, 1),
		} };

		if (i == 4096)
			ck_assert(keeper_complete(k));
		keeper_take(k, &rec, 1, ms, &ms, NULL, 0);
	}
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.part.since, WIRE_SINCE_UNKNOWN);
	page_close(&p);
	node_down();
}

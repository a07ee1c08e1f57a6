/*
 * What a node answers to WINDOW.
 */
#include "node_harness.h"

#define BLOCKS 1000

static struct page page;
static struct keeper *k;

/* Addresses fall as numbers rise, so that the two orders are not the same. */
static void
setup(void)
{
	node_up(NULL);
	k = new_keeper("ALLOCLOG", 0);
	page_open(&page);
	page_greet(&page, WIRE_ROLE_READ);
	for (uint64_t i = BLOCKS; i > 0; i--)
		take(k, allocation(i * 64, i));
}

static void
teardown(void)
{
	page_close(&page);
	node_down();
}

static void
ask(struct wire_window w, struct wire_msg *r)
{
	struct wire_msg m = { .type = WIRE_WINDOW, .window = w };

	memcpy(m.window.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&page, &m, r);
}

static const uint8_t *
row(const struct wire_rows *r, size_t i)
{
	return r->blocks.p + i * (REC_WIDE_SIZE + WIRE_BLOCK_TAIL);
}

static uint64_t
addr_in(const struct wire_rows *r, size_t i)
{
	struct rec rec;

	stream_wide_decode(row(r, i), 1, &rec);
	return rec_addr(&rec);
}

static uint64_t
seq_in(const struct wire_rows *r, size_t i)
{
	const uint8_t *tail = row(r, i) + REC_WIDE_SIZE;

	return tail[0] | (uint64_t)tail[1] << 8;
}

CASE("WINDOW", .setup = setup, .teardown = teardown, .seconds = 60);

LOOP_TEST(rows_are_those_of_the_list, 0, 4)
{
	bool reverse = (_i & 1) != 0;
	uint32_t order = _i & 2 ? WIRE_BY_ADDRESS : WIRE_BY_AGE;
	struct blk want[150];
	struct wire_msg r;

	for (uint64_t offs = 0; offs <= BLOCKS - 150; offs += 85) {
		ask((struct wire_window){ .order = order, .reverse = reverse,
		    .offset = offs, .max = 150 }, &r);
		ck_assert_uint_eq(r.type, WIRE_ROWS);
		ck_assert_uint_eq(r.rows.offset, offs);
		ck_assert_uint_eq(r.rows.as_of, BLOCKS);
		ck_assert_uint_eq(r.rows.count, 150);
		ck_assert_uint_eq(r.rows.state, WIRE_S_LIVE);
		blklist_window(k->list, order == WIRE_BY_AGE ? BLKLIST_BY_AGE :
		    BLKLIST_BY_ADDRESS, reverse, offs, want, 150);
		for (size_t i = 0; i < 150; i++) {
			ck_assert_uint_eq(addr_in(&r.rows, i), want[i].addr);
			ck_assert_uint_eq(seq_in(&r.rows, i), want[i].seq);
		}
	}
}

TEST(a_window_beyond_the_end_is_moved_into_the_list)
{
	struct wire_msg r;

	ask((struct wire_window){ .offset = UINT64_MAX, .max = 10 }, &r);
	ck_assert_uint_eq(r.rows.offset, BLOCKS - 10);
	ck_assert_uint_eq(r.rows.count, 10);
	ck_assert_uint_eq(seq_in(&r.rows, 9), BLOCKS);
	for (uint64_t i = 1; i <= BLOCKS - 5; i++)
		take(k, freeing(i * 64));
	ask((struct wire_window){ .offset = 3, .max = 10 }, &r);
	ck_assert_uint_eq(r.rows.offset, 0);
	ck_assert_uint_eq(r.rows.count, 5);
	ask((struct wire_window){ .offset = 3, .max = 0 }, &r);
	ck_assert_uint_eq(r.rows.count, 0);
	ck_assert_uint_eq(r.rows.n[WIRE_N_LIVE_BLOCKS], 5);
}

/* By age block seq is at seq - 1; by address the last one is the first. */
LOOP_TEST(a_window_goes_with_the_block_that_is_wanted, 0, 4)
{
	struct wire_window w = { .offset = 7, .max = 30, .before = 12,
		.order = _i & 2 ? WIRE_BY_ADDRESS : WIRE_BY_AGE,
		.reverse = (_i & 1) != 0, .seq = 450,
		.addr = (BLOCKS + 1 - 450) * 64 };
	struct wire_msg r;

	for (int n = 0; n < 3; n++) {
		ask(w, &r);
		ck_assert_uint_eq(addr_in(&r.rows, 12), w.addr);
		ck_assert_uint_eq(seq_in(&r.rows, 12), 450);
		/* What lies around it comes and goes. */
		for (uint64_t i = 0; i < 20; i++) {
			take(k, freeing((uint64_t)(20 * n + 1 + (int)i) * 64));
			take(k, freeing((BLOCKS - 20 * (uint64_t)n - i) * 64));
		}
	}
	/* Near an end there are not so many before it. */
	w.before = WIRE_WINDOW_MAX;
	ask(w, &r);
	ck_assert_uint_eq(r.rows.offset, 0);
	w.before = 12;
	take(k, freeing(w.addr));
	ask(w, &r);
	ck_assert_uint_eq(r.rows.offset, 7);
	/* Its address is in use again, and not by it. */
	take(k, allocation(w.addr, 1));
	ask(w, &r);
	ck_assert_uint_eq(r.rows.offset, 7);
}

TEST(requesters_are_named_once_and_numbered_beside_their_rows)
{
	struct blklist_batch_info info = { .at = 0 };
	struct wire_msg r;

	for (uint64_t i = 0; i < 300; i++) {
		struct rec rec = allocation(0x100000 + i * 16, 1);

		info.info = (struct blklist_info){ .node = 0xab80 };
		if (i % 3 == 1)
			strcpy(info.info.name, "MEMB");
		keeper_take(k, &rec, 1, 1000, NULL, &info, i % 3 != 2);
	}
	ask((struct wire_window){ .order = WIRE_BY_AGE, .offset = BLOCKS,
	    .max = 300 }, &r);
	ck_assert_uint_eq(r.rows.count, 300);
	ck_assert_uint_eq(r.rows.ninfo, 2);
	ck_assert_uint_eq(r.rows.info[0].node, 0xab80);
	ck_assert_uint_eq(r.rows.info[1].at, 1);
	ck_assert_mem_eq(r.rows.info[1].name.s, "MEMB", 4);
	ck_assert_uint_eq(r.rows.who.len, 300);
	for (size_t i = 0; i < 300; i++)
		ck_assert_uint_eq(r.rows.who.p[i], (i + 1) % 3);
	/* None of these has one. */
	ask((struct wire_window){ .max = 300 }, &r);
	ck_assert_uint_eq(r.rows.ninfo, 0);
	ck_assert_uint_eq(r.rows.who.len, 0);
}

TEST(more_requesters_than_can_be_named_end_the_rows_before_them)
{
	struct blklist_batch_info info = { .at = 0 };
	struct wire_msg r;

	for (uint64_t i = 0; i < 200; i++) {
		struct rec rec = allocation(0x100000 + i * 16, 1);

		info.info.node = (uint16_t)(i + 1);
		keeper_take(k, &rec, 1, 1000, NULL, &info, 1);
	}
	ask((struct wire_window){ .offset = BLOCKS, .max = 200 }, &r);
	ck_assert_uint_eq(r.rows.ninfo, WIRE_INFO_MAX);
	ck_assert_uint_eq(r.rows.count, WIRE_INFO_MAX);
	ck_assert_uint_eq(r.rows.who.p[WIRE_INFO_MAX - 1], WIRE_INFO_MAX);
}

TEST(totals_are_those_of_all_blocks_and_records)
{
	const struct blklist_counts *n = keeper_counts(k);
	struct wire_msg r;
	struct rec pair[2] = { allocation(0x900000, 5), freeing(0x900000) };

	keeper_take(k, pair, 2, 1000, NULL, NULL, 0);
	take(k, freeing(0x777000));
	keeper_lose(k, STREAM_RING_FULL, 11);
	ask((struct wire_window){ .max = 3 }, &r);
	ck_assert_uint_eq(r.rows.as_of, BLOCKS + 3 + 11);
	ck_assert_uint_eq(r.rows.n[WIRE_N_RECORDS], BLOCKS + 3);
	ck_assert_uint_eq(r.rows.n[WIRE_N_STAY], BLOCKS + 1);
	ck_assert_uint_eq(r.rows.n[WIRE_N_LIVE_BLOCKS], BLOCKS);
	ck_assert_uint_eq(r.rows.n[WIRE_N_LIVE_BYTES], n->live_bytes);
	ck_assert_uint_eq(r.rows.n[WIRE_N_UNKNOWN_FREE], 1);
	ck_assert_uint_eq(r.rows.n[WIRE_N_LOST], 11);
	ck_assert_uint_eq(r.rows.lost[STREAM_RING_FULL].count, 11);
}

TEST(a_stream_that_is_another_by_now_has_no_window)
{
	struct wire_msg r, m = { .type = WIRE_WINDOW, .window = { .max = 3 } };

	page_ask(&page, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	m.window.index = 9;
	page_ask(&page, &m, &r);
	expect_error(&r, WIRE_E_NAME);
}

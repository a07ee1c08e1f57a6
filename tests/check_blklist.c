/*
 * The rules of the block list that hold for every kind of it, one test each.
 */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "blklist_recs.h"

static const enum blklist_kind kinds[] = { BLKLIST_INDEXED, BLKLIST_LITERAL };

CASE("rules of every kind");

LOOP_TEST(limits_of_aRecMax_are_refused, 0, NELEM(kinds))
{
	struct blklist *l = NULL;

	ck_assert_int_eq(blklist_new(&l, kinds[_i], 0), -EINVAL);
	ck_assert_int_eq(blklist_new(&l, kinds[_i], (1u << 28) + 1), -EINVAL);
	ck_assert_ptr_null(l);
}

LOOP_TEST(block_keeps_all_that_its_record_says, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct rec r = { {
	    rec_w0(0xfedcba987654, REC_FLAGS(REC_ALLOC, REC_LAYER_API | 2), 0xc3),
	    rec_w1(0x123456789abc, 777), rec_w2(0x89abcdef, 900),
	    rec_w3(0x7f0123456789, 0xffff),
	} };
	struct blk b;

	apply_batch(l, &r, 1, false);
	ck_assert_int_eq(blklist_get(l, 1, 0xfedcba987654, &b), 0);
	ck_assert_uint_eq(b.addr, 0xfedcba987654);
	ck_assert_uint_eq(b.size, 0x123456789abc);
	ck_assert_uint_eq(b.seq, 1);
	ck_assert_int_eq(b.ms, 900);
	ck_assert_uint_eq(b.caller, 0x7f0123456789);
	ck_assert_uint_eq(b.ticket, 0x89abcdef);
	ck_assert_uint_eq(b.thread, 777);
	ck_assert_uint_eq(b.overhead, 0xffff);
	ck_assert_uint_eq(b.flags, 0xaa);
	ck_assert_uint_eq(b.type, 0xc3);
	ck_assert_uint_eq(b.info, 0);
	blklist_free(l);
}

LOOP_TEST(millisecond_widens_to_the_latest_not_after_near, 0, NELEM(kinds))
{
	static const struct { int64_t near; uint32_t ms; int64_t want; } t[] = {
		{ 1000, 900, 900 },
		{ 1000, 1000, 1000 },
		{ 0x500000003, 2, 0x500000002 },
		{ 0x500000003, 4, 0x400000004 },
		{ 0x500000000, 0xffffffff, 0x4ffffffff },
		{ 3, 4, 4 - (INT64_C(1) << 32) },
	};

	for (size_t i = 0; i < NELEM(t); i++) {
		struct blklist *l = list_of(kinds[_i], 8);
		struct rec r = ALLOC(0x10, .ms = t[i].ms);
		struct blklist_batch batch = {
			.rec = &r, .n = 1, .seq = 1, .near_ms = t[i].near,
		};
		struct blk b;

		blklist_apply(l, &batch);
		ck_assert_int_eq(blklist_get(l, 0, 0x10, &b), 0);
		ck_assert_int_eq(b.ms, t[i].want);
		blklist_free(l);
	}
}

LOOP_TEST(times_in_full_are_taken_as_they_are, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct rec r[] = { ALLOC(0x10, .ms = 5), ALLOC(0x20, .ms = 6) };
	int64_t ms[] = { INT64_C(1089725400000), -INT64_C(86400000) };
	struct blklist_batch batch = { .rec = r, .n = 2, .seq = 1, .ms = ms };
	struct blk b;

	blklist_apply(l, &batch);
	ck_assert_int_eq(blklist_get(l, 0, 0x10, &b), 0);
	ck_assert_int_eq(b.ms, ms[0]);
	ck_assert_int_eq(blklist_get(l, 0, 0x20, &b), 0);
	ck_assert_int_eq(b.ms, ms[1]);
	blklist_free(l);
}

LOOP_TEST(batch_may_carry_a_number_for_each_record, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct rec r[] = { ALLOC(0x10), ALLOC(0x20) };
	uint64_t seqs[] = { 7, 40 };
	struct blklist_batch batch = { .rec = r, .n = 2, .seqs = seqs };
	struct blk b;

	blklist_apply(l, &batch);
	ck_assert_int_eq(blklist_get(l, 0, 0x20, &b), 0);
	ck_assert_uint_eq(b.seq, 40);
	blklist_free(l);
}

LOOP_TEST(requester_beside_a_record_becomes_aInfo, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct rec r[] = { ALLOC(0x10), FREE(0x99), ALLOC(0x20), ALLOC(0x30) };
	struct blklist_batch_info info[] = {
		{ .at = 0, .info = { .name = "LOOPA" } },
		{ .at = 2, .info = { .node = 0xab86 } },
		{ .at = 3, .info = { .name = "LOOPA" } },
	};
	struct blklist_batch batch = {
		.rec = r, .n = 4, .seq = 1, .info = info, .ninfo = 3,
		.cancel = true,
	};
	struct blk a, b, c;

	blklist_apply(l, &batch);
	ck_assert_int_eq(blklist_get(l, 0, 0x10, &a), 0);
	ck_assert_int_eq(blklist_get(l, 0, 0x20, &b), 0);
	ck_assert_int_eq(blklist_get(l, 0, 0x30, &c), 0);
	ck_assert_uint_eq(a.info, c.info);
	ck_assert_str_eq(blklist_info_get(l, a.info)->name, "LOOPA");
	ck_assert_str_eq(blklist_info_get(l, b.info)->name, "");
	ck_assert_uint_eq(blklist_info_get(l, b.info)->node, 0xab86);
	ck_assert_ptr_null(blklist_info_get(l, 0));
	ck_assert_ptr_null(blklist_info_get(l, 3));
	blklist_free(l);
}

/* Late, in a pair, or for want of a record. */
LOOP_TEST(requester_of_what_is_not_listed_takes_no_place, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 2);
	struct rec r[] = {
		ALLOC(0x10, .ticket = 5), ALLOC(0x10, .ticket = 4),
		ALLOC(0x30, .ticket = 6), FREE(0x30, .ticket = 7),
		ALLOC(0x20, .ticket = 8), ALLOC(0x40, .ticket = 9),
		ALLOC(0x20, .ticket = 10),
	};
	struct blklist_batch_info info[] = {
		{ .at = 1, .info = { .name = "LATE" } },
		{ .at = 2, .info = { .name = "PAIR" } },
		{ .at = 5, .info = { .name = "FULL" } },
		{ .at = 6, .info = { .name = "LISTED" } },
	};
	struct blklist_batch batch = {
		.rec = r, .n = NELEM(r), .seq = 1, .info = info,
		.ninfo = NELEM(info), .cancel = true,
	};
	struct blk b;

	blklist_apply(l, &batch);
	ck_assert_uint_eq(COUNT(l, late), 1);
	ck_assert_uint_eq(COUNT(l, cancelled), 1);
	ck_assert_uint_eq(COUNT(l, full), 1);
	ck_assert_int_eq(blklist_get(l, 0, 0x20, &b), 0);
	ck_assert_str_eq(blklist_info_get(l, b.info)->name, "LISTED");
	ck_assert_uint_eq(b.info, 1);
	ck_assert_ptr_null(blklist_info_get(l, 2));
	blklist_free(l);
}

LOOP_TEST(requester_after_the_first_chunk_is_found, 0, NELEM(kinds))
{
	enum { N = 10000 };
	static struct rec r[N];
	struct blklist *l = list_of(kinds[_i], N);
	struct blklist_batch_info info[] = {
		{ .at = 5, .info = { .node = 5 } },
		{ .at = 4096, .info = { .node = 6 } },
		{ .at = N - 1, .info = { .node = 7 } },
	};
	struct blklist_batch batch = {
		.rec = r, .n = N, .seq = 1, .info = info, .ninfo = 3,
		.cancel = true,
	};
	struct blk b;

	for (unsigned i = 0; i < N; i++)
		r[i] = ALLOC(0x1000 + i * 16);
	blklist_apply(l, &batch);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(blklist_get(l, 0,
		    0x1000 + info[i].at * 16, &b), 0);
		ck_assert_uint_eq(blklist_info_get(l, b.info)->node, 5 + i);
	}
	ck_assert_int_eq(blklist_get(l, 0, 0x1010, &b), 0);
	ck_assert_uint_eq(b.info, 0);
	blklist_free(l);
}

LOOP_TEST(requesters_beyond_the_table_are_none, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blklist_info info = { .name = "" };

	ck_assert_uint_eq(blklist_info_intern(l, &info), 0);
	for (unsigned i = 1; i < 65536; i++) {
		info.node = (uint16_t)i;
		ck_assert_uint_eq(blklist_info_intern(l, &info), i);
	}
	strcpy(info.name, "12345678");
	ck_assert_uint_eq(blklist_info_intern(l, &info), 0);
	info.name[0] = '\0';
	info.node = 999;
	ck_assert_uint_eq(blklist_info_intern(l, &info), 999);
	blklist_free(l);
}

LOOP_TEST(free_of_unknown_addr_is_counted, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	APPLY(l, ALLOC(0x10), FREE(0x20), FREE(0x10), FREE(0x10));
	ck_assert_uint_eq(COUNT(l, unknown_free), 2);
	ck_assert_uint_eq(COUNT(l, frees), 3);
	ck_assert_uint_eq(COUNT(l, records), 4);
	ck_assert_uint_eq(COUNT(l, aRecActive), 0);
	blklist_free(l);
}

LOOP_TEST(unknown_free_since_click_is_earlier, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	blklist_set_since_click(l, true);
	APPLY(l, FREE(0x20));
	ck_assert_uint_eq(COUNT(l, unknown_free), 0);
	ck_assert_uint_eq(COUNT(l, earlier), 1);
	ck_assert_uint_eq(COUNT(l, frees), 1);
	blklist_free(l);
}

LOOP_TEST(duplicate_is_replaced_and_takes_the_new_number, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blk b, rows[2];

	ck_assert_int_eq(blklist_remember(l, 4), 0);
	APPLY(l, ALLOC(0x10, .ticket = 1), ALLOC(0x20, .ticket = 1),
	    REC(.op = REC_ALLOC, .addr = 0x10, .size = 100, .ticket = 2));
	ck_assert_uint_eq(COUNT(l, duplicate), 1);
	ck_assert_uint_eq(COUNT(l, allocs), 3);
	ck_assert_uint_eq(COUNT(l, aRecActive), 2);
	ck_assert_uint_eq(COUNT(l, live_bytes), 116);
	ck_assert_int_eq(blklist_get(l, 0, 0x10, &b), 0);
	ck_assert_uint_eq(b.seq, 3);
	ck_assert_uint_eq(b.size, 100);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 0, rows, 2), 2);
	ck_assert_uint_eq(rows[0].addr, 0x20);
	ck_assert_uint_eq(rows[1].addr, 0x10);
	ck_assert_uint_eq(blklist_removed(l, 0)->seq, 3);
	ck_assert_uint_eq(blklist_removed(l, 0)->blk.seq, 1);
	blklist_free(l);
}

/* Listed or not: a block that is freed in its batch counts too. */
LOOP_TEST(allocations_count_by_their_level, 0, NELEM(kinds))
{
	const struct rec r[] = {
		REC(.op = REC_ALLOC, .addr = 0x10, .size = 1, .ticket = 1),
		REC(.op = REC_ALLOC, .low = 1, .addr = 0x20, .size = 1, .ticket = 2),
		REC(.op = REC_FREE, .addr = 0x20, .ticket = 3),
		REC(.op = REC_ALLOC, .low = 2, .addr = 0x30, .size = 1, .ticket = 4),
		REC(.op = REC_ALLOC, .low = 5, .addr = 0x40, .size = 1, .ticket = 5),
		REC(.op = REC_ALLOC, .low = REC_LEVEL_FAILED, .size = 99),
	};
	const uint64_t want[8] = { 0, 1, 1, 0, 0, 1, 0, 0 };
	struct blklist *l = list_of(kinds[_i], 8);

	apply_batch(l, r, NELEM(r), true);
	ck_assert_mem_eq(blklist_counts(l)->by_level, want, sizeof want);
	ck_assert_uint_eq(COUNT(l, failed), 1);
	ck_assert_uint_eq(COUNT(l, allocs), 4);
	blklist_free(l);
}

LOOP_TEST(full_list_counts_and_goes_on, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 2);

	APPLY(l, ALLOC(0x10), ALLOC(0x20), ALLOC(0x30), ALLOC(0x10));
	ck_assert_uint_eq(COUNT(l, full), 1);
	ck_assert_uint_eq(COUNT(l, duplicate), 1);
	ck_assert_uint_eq(COUNT(l, aRecActive), 2);
	ck_assert_uint_eq(COUNT(l, live_bytes), 32);
	ck_assert(!listed(l, 0, 0x30));
	APPLY(l, FREE(0x10), ALLOC(0x30));
	ck_assert(listed(l, 0, 0x30));
	ck_assert_uint_eq(COUNT(l, full), 1);
	blklist_free(l);
}

LOOP_TEST(failed_request_is_counted_and_never_inserted, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	APPLY(l, REC(.op = REC_ALLOC, .low = REC_LEVEL_FAILED, .size = 99));
	ck_assert_uint_eq(COUNT(l, failed), 1);
	ck_assert_uint_eq(COUNT(l, allocs), 0);
	ck_assert_uint_eq(COUNT(l, aRecActive), 0);
	blklist_free(l);
}

LOOP_TEST(low_nibble_of_an_opaque_stream_says_nothing, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blk b;

	blklist_set_opaque(l, true);
	APPLY(l, ALLOC(0x10, .low = REC_LEVEL_FAILED), ALLOC(0x20, .low = 8),
	    FREE(0x20, .low = 1));
	ck_assert_uint_eq(COUNT(l, failed), 0);
	ck_assert_uint_eq(COUNT(l, unknown_free), 0);
	ck_assert_uint_eq(COUNT(l, aRecActive), 1);
	ck_assert_int_eq(blklist_get(l, 1, 0x10, &b), 0);
	ck_assert_uint_eq(b.flags, 0xa6);
	blklist_free(l);
}

LOOP_TEST(illegal_type_is_counted_and_the_block_listed, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	uint8_t legal[32] = { 0 };

	APPLY(l, REC(.op = REC_ALLOC, .type = 0x33, .addr = 0x10));
	ck_assert_uint_eq(COUNT(l, illegal_type), 0);
	legal[TYPE_MALLOC / 8] |= 1 << TYPE_MALLOC % 8;
	blklist_set_legal(l, legal);
	APPLY(l, ALLOC(0x20), REC(.op = REC_ALLOC, .type = 0x81, .addr = 0x30));
	APPLY_PAIRS(l, REC(.op = REC_ALLOC, .type = 0x7f, .addr = 0x40),
	    FREE(0x40));
	ck_assert_uint_eq(COUNT(l, illegal_type), 2);
	ck_assert(listed(l, 0, 0x30));
	blklist_free(l);
}

LOOP_TEST(older_ticket_does_not_touch_the_block, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blk b;

	/* 0xfffffffe was drawn before 1. */
	APPLY(l, ALLOC(0x10, .ticket = 1), FREE(0x10, .ticket = 0xfffffffe));
	ck_assert_uint_eq(COUNT(l, late), 1);
	APPLY(l, REC(.op = REC_ALLOC, .addr = 0x10, .size = 5,
	    .ticket = 0xffffffff));
	ck_assert_uint_eq(COUNT(l, late), 2);
	ck_assert_uint_eq(COUNT(l, duplicate), 0);
	APPLY(l, REC(.op = REC_UNDO, .addr = 0x10, .ticket = 0));
	ck_assert_uint_eq(COUNT(l, late), 3);
	ck_assert_uint_eq(COUNT(l, unknown_undo), 0);
	ck_assert_int_eq(blklist_get(l, 0, 0x10, &b), 0);
	ck_assert_uint_eq(b.size, 16);
	ck_assert_uint_eq(COUNT(l, frees), 1);
	ck_assert_uint_eq(COUNT(l, allocs), 2);
	APPLY(l, FREE(0x10, .ticket = 1));
	ck_assert_uint_eq(COUNT(l, aRecActive), 0);
	blklist_free(l);
}

LOOP_TEST(layers_are_separate_and_the_second_sorts_after, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blk rows[4];

	APPLY(l, ALLOC(0x10, .low = REC_LAYER_API),
	    ALLOC(0xffffffffffff), ALLOC(0x10));
	ck_assert_uint_eq(COUNT(l, aRecActive), 3);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_ADDRESS, false, 0, rows, 4), 3);
	ck_assert_uint_eq(rows[0].addr, 0x10);
	ck_assert_uint_eq(rows[0].flags & REC_LAYER_API, 0);
	ck_assert_uint_eq(rows[1].addr, 0xffffffffffff);
	ck_assert_uint_eq(rows[2].flags & REC_LAYER_API, REC_LAYER_API);
	APPLY(l, FREE(0x10, .low = REC_LAYER_API));
	ck_assert(listed(l, 0, 0x10));
	ck_assert(!listed(l, 1, 0x10));
	blklist_free(l);
}

LOOP_TEST(undo_puts_the_block_back_as_it_was, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blk before, after, rows[2];

	APPLY(l, ALLOC(0x10, .thread = 3, .ticket = 1, .caller = 0x77),
	    ALLOC(0x20));
	ck_assert_int_eq(blklist_get(l, 0, 0x10, &before), 0);
	APPLY(l, REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x10,
	    .thread = 9, .ticket = 2));
	ck_assert(!listed(l, 0, 0x10));
	APPLY(l, REC(.op = REC_UNDO, .addr = 0x10, .thread = 9, .ticket = 3));
	ck_assert_int_eq(blklist_get(l, 0, 0x10, &after), 0);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	ck_assert_uint_eq(COUNT(l, frees), 0);
	ck_assert_uint_eq(COUNT(l, live_bytes), 32);
	ck_assert_uint_eq(COUNT(l, unknown_undo), 0);
	blklist_window(l, BLKLIST_BY_AGE, false, 0, rows, 2);
	ck_assert_uint_eq(rows[0].addr, 0x10);
	blklist_free(l);
}

LOOP_TEST(undo_of_another_thread_or_block_is_unknown, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	APPLY(l, ALLOC(0x10), ALLOC(0x20),
	    REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x10, .thread = 9),
	    REC(.op = REC_UNDO, .addr = 0x10, .thread = 8),
	    REC(.op = REC_UNDO, .addr = 0x30, .thread = 9),
	    REC(.op = REC_UNDO, .addr = 0x20, .thread = 9));
	ck_assert_uint_eq(COUNT(l, unknown_undo), 3);
	ck_assert_uint_eq(COUNT(l, frees), 1);
	APPLY(l, REC(.op = REC_UNDO, .addr = 0x10, .thread = 9),
	    REC(.op = REC_UNDO, .addr = 0x10, .thread = 9));
	ck_assert_uint_eq(COUNT(l, unknown_undo), 4);
	ck_assert_uint_eq(COUNT(l, frees), 0);
	ck_assert_uint_eq(COUNT(l, aRecActive), 2);
	/* One free is taken back once. */
	APPLY(l, FREE(0x10), REC(.op = REC_UNDO, .addr = 0x10, .thread = 9));
	ck_assert_uint_eq(COUNT(l, unknown_undo), 5);
	ck_assert_uint_eq(COUNT(l, aRecActive), 1);
	blklist_free(l);
}

LOOP_TEST(undo_takes_back_the_count_of_an_unknown_free, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	APPLY(l, REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x10),
	    REC(.op = REC_UNDO, .addr = 0x10));
	ck_assert_uint_eq(COUNT(l, unknown_free), 0);
	blklist_set_since_click(l, true);
	APPLY(l, REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x10),
	    REC(.op = REC_UNDO, .addr = 0x10));
	ck_assert_uint_eq(COUNT(l, earlier), 0);
	ck_assert_uint_eq(COUNT(l, frees), 0);
	ck_assert_uint_eq(COUNT(l, unknown_undo), 0);
	ck_assert_uint_eq(COUNT(l, aRecActive), 0);
	blklist_free(l);
}

LOOP_TEST(undo_takes_back_the_count_of_a_late_free, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);

	APPLY(l, ALLOC(0x10, .ticket = 5),
	    REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x10,
	    .ticket = 4),
	    FREE(0x10, .ticket = 6),
	    REC(.op = REC_UNDO, .addr = 0x10, .ticket = 7));
	ck_assert_uint_eq(COUNT(l, late), 0);
	ck_assert_uint_eq(COUNT(l, frees), 1);
	ck_assert_uint_eq(COUNT(l, aRecActive), 0);
	blklist_free(l);
}

LOOP_TEST(range_ends_every_api_block_that_begins_in_it, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 16);

	APPLY(l, ALLOC(0x1000), ALLOC(0x0fff, .low = REC_LAYER_API),
	    ALLOC(0x1000, .low = REC_LAYER_API, .ticket = 50),
	    ALLOC(0x1001, .low = REC_LAYER_API),
	    ALLOC(0x1fff, .low = REC_LAYER_API),
	    ALLOC(0x2000, .low = REC_LAYER_API),
	    REC(.op = REC_RANGE, .low = REC_LAYER_API, .addr = 0x1000,
	    .size = 0x1000));
	ck_assert_uint_eq(COUNT(l, frees), 3);
	ck_assert_uint_eq(COUNT(l, late), 0);
	ck_assert_uint_eq(COUNT(l, aRecActive), 3);
	ck_assert(listed(l, 0, 0x1000));
	ck_assert(listed(l, 1, 0x0fff));
	ck_assert(listed(l, 1, 0x2000));
	APPLY(l, REC(.op = REC_RANGE, .low = REC_LAYER_API, .addr = 0x0,
	    .size = REC_ADDR_MASK));
	ck_assert_uint_eq(COUNT(l, aRecActive), 1);
	ck_assert_uint_eq(COUNT(l, unknown_free), 0);
	blklist_free(l);
}

/* More blocks than are looked up together; some of them in another order. */
LOOP_TEST(range_ends_blocks_of_the_whole_address_space, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 512);

	for (uint64_t i = 0; i < 200; i++)
		APPLY(l, ALLOC(0x100000 + i * 77 % 200 * 16,
		    .low = REC_LAYER_API));
	APPLY(l, ALLOC(1), ALLOC(REC_ADDR_MASK),
	    ALLOC(1, .low = REC_LAYER_API),
	    ALLOC(REC_ADDR_MASK, .low = REC_LAYER_API),
	    REC(.op = REC_RANGE, .low = REC_LAYER_API, .addr = 0x100001,
	    .size = 0x10));
	ck_assert_uint_eq(COUNT(l, frees), 1);
	APPLY(l, REC(.op = REC_RANGE, .low = REC_LAYER_API, .addr = 2,
	    .size = 0xffffe));
	ck_assert_uint_eq(COUNT(l, frees), 1);
	APPLY(l, REC(.op = REC_RANGE, .low = REC_LAYER_API, .addr = 1,
	    .size = REC_ADDR_MASK));
	ck_assert_uint_eq(COUNT(l, frees), 202);
	ck_assert_uint_eq(COUNT(l, aRecActive), 2);
	ck_assert(listed(l, 0, 1));
	ck_assert(listed(l, 0, REC_ADDR_MASK));
	blklist_free(l);
}

LOOP_TEST(loss_and_control_are_records_and_no_more, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blklist_counts want = { .records = 3, .aRecMax = 8 };

	APPLY(l, REC(.op = REC_LOSS, .addr = 0x10, .size = 5),
	    REC(.op = REC_CONTROL, .type = REC_CTL_MARK, .addr = 0x10),
	    REC(.op = 3, .addr = 0x10));
	ck_assert_mem_eq(blklist_counts(l), &want, sizeof(want));
	blklist_free(l);
}

LOOP_TEST(put_keeps_the_blocks_own_number, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 3);
	struct blk b = { .addr = 0x30, .size = 7, .seq = (uint64_t)-5,
		.ms = -9, .flags = 0xa0, .info = 4, .thread = 2 };
	struct blk got, rows[3];

	APPLY(l, ALLOC(0x10), ALLOC(0x20));
	ck_assert_int_eq(blklist_put(l, &b), 0);
	ck_assert_int_eq(blklist_put(l, &b), -EEXIST);
	ck_assert_int_eq(blklist_get(l, 0, 0x30, &got), 0);
	ck_assert_mem_eq(&got, &b, sizeof(b));
	ck_assert_uint_eq(COUNT(l, inherited), 1);
	ck_assert_uint_eq(COUNT(l, allocs), 2);
	ck_assert_uint_eq(COUNT(l, live_bytes), 39);
	/* Numbered back from 0: older than all that was logged. */
	blklist_window(l, BLKLIST_BY_AGE, false, 0, rows, 3);
	ck_assert_uint_eq(rows[0].addr, 0x30);
	b.addr = 0x40;
	ck_assert_int_eq(blklist_put(l, &b), -ENOSPC);
	ck_assert_uint_eq(COUNT(l, full), 1);
	ck_assert_int_eq(blklist_take(l, 0, 0x30), 0);
	ck_assert_int_eq(blklist_take(l, 0, 0x30), -ENOENT);
	ck_assert_uint_eq(COUNT(l, frees), 0);
	ck_assert_uint_eq(COUNT(l, live_bytes), 32);
	sound(l);
	blklist_free(l);
}

LOOP_TEST(windows_are_cut_at_the_ends, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 8);
	struct blk rows[8];

	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 0, rows, 8), 0);
	APPLY(l, ALLOC(0x30), ALLOC(0x10), ALLOC(0x20));
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 1, rows, 8), 2);
	ck_assert_uint_eq(rows[0].addr, 0x10);
	ck_assert_uint_eq(rows[1].addr, 0x20);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_ADDRESS, true, 0, rows, 2), 2);
	ck_assert_uint_eq(rows[0].addr, 0x30);
	ck_assert_uint_eq(rows[1].addr, 0x20);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, true, 2, rows, 8), 1);
	ck_assert_uint_eq(rows[0].addr, 0x30);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 3, rows, 8), 0);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, UINT64_MAX, rows, 8), 0);
	ck_assert_uint_eq(blklist_window(l, BLKLIST_BY_AGE, false, 0, rows, 0), 0);
	blklist_free(l);
}

LOOP_TEST(after_walks_the_whole_list_in_parts, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 64);
	struct blk row;
	unsigned layer = 0, n = 0;
	uint64_t addr = 0;
	bool start = true;

	for (unsigned i = 0; i < 20; i++)
		APPLY(l, ALLOC(0x10 * i), ALLOC(0x10 * i, .low = REC_LAYER_API));
	while (blklist_after(l, start, layer, addr, &row, 1) == 1) {
		layer = row.flags & REC_LAYER_API ? 1 : 0;
		addr = row.addr;
		start = false;
		ck_assert_uint_eq(layer, n / 20);
		ck_assert_uint_eq(addr, n % 20 * 0x10);
		ck_assert_int_eq(blklist_rank(l, BLKLIST_BY_ADDRESS, layer,
		    addr), n);
		n++;
	}
	ck_assert_uint_eq(n, 40);
	ck_assert_int_eq(blklist_rank(l, BLKLIST_BY_AGE, 1, 0x20), 5);
	ck_assert_int_eq(blklist_rank(l, BLKLIST_BY_AGE, 1, 0x21), -ENOENT);
	blklist_free(l);
}

LOOP_TEST(clear_takes_all_out_and_zeroes_the_counters, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 4);
	struct blklist_counts want = { .aRecMax = 4 };

	ck_assert_int_eq(blklist_remember(l, 4), 0);
	for (int round = 0; round < 3; round++) {
		APPLY(l, ALLOC(0x10), ALLOC(0x20), ALLOC(0x30), FREE(0x20),
		    REC(.op = REC_FREE, .type = TYPE_BY_REALLOC, .addr = 0x30));
		ck_assert_uint_eq(COUNT(l, unknown_free), 0);
		blklist_clear(l);
		ck_assert_mem_eq(blklist_counts(l), &want, sizeof(want));
		ck_assert_ptr_null(blklist_removed(l, 0));
		sound(l);
		APPLY(l, REC(.op = REC_UNDO, .addr = 0x30));
		ck_assert_uint_eq(COUNT(l, unknown_undo), 1);
		blklist_clear(l);
	}
	blklist_free(l);
}

LOOP_TEST(removed_blocks_are_remembered_last_first, 0, NELEM(kinds))
{
	struct blklist *l = list_of(kinds[_i], 16);

	APPLY(l, ALLOC(0x10), FREE(0x10));
	ck_assert_ptr_null(blklist_removed(l, 0));
	ck_assert_uint_eq(blklist_removals(l), 1);
	ck_assert_int_eq(blklist_remember(l, 4), 0);
	ck_assert_uint_eq(blklist_removals(l), 0);
	for (unsigned i = 0; i < 6; i++)
		APPLY(l, ALLOC(0x10 * i, .caller = i));
	for (unsigned i = 0; i < 6; i++)
		APPLY(l, FREE(0x10 * i));
	for (unsigned k = 0; k < 4; k++) {
		ck_assert_uint_eq(blklist_removed(l, k)->blk.caller, 5 - k);
		ck_assert_uint_eq(blklist_removed(l, k)->blk.seq, 8 - k);
		ck_assert_uint_eq(blklist_removed(l, k)->seq, 14 - k);
	}
	ck_assert_ptr_null(blklist_removed(l, 4));
	ck_assert_uint_eq(blklist_removals(l), 6);
	blklist_free(l);
}

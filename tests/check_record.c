/*
 * Records in their formats: the note's 16 bytes, the wide 32, and the tables
 * of names beside them.
 */
#include "../src/base/base.h"
#include "../src/stream/stream.h"
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- classic ------------------------------------------------------------ */

/* 2004-07-13 13:30:00, the first millisecond of cycle 0. */
static const uint8_t locreq[REC_CLASSIC_SIZE] = {
	0x00, 0x8e, 0x66, 0x28, 0x00, 0x30, 0xa0, 0x01,
	0x04, 0x07, 0x13, 0x13, 0x30, 0x00, 0x00, 0x00
};
#define LOCREQ_MS INT64_C(1089725400000)

CASE("Classic");

TEST(classic_record_decodes_field_by_field)
{
	struct rec r;
	int64_t ms;

	ck_assert_int_eq(stream_classic_decode(locreq, &r, &ms), 0);
	ck_assert_uint_eq(rec_addr(&r), 0x008e6628);
	ck_assert_uint_eq(rec_size(&r), 0x30);
	ck_assert_uint_eq(rec_op(&r), REC_ALLOC);
	ck_assert_uint_eq(rec_type(&r), TYPE_LOCREQ);
	ck_assert_uint_eq(rec_ticket(&r), 0);
	ck_assert_uint_eq(rec_caller(&r), 0);
	ck_assert_int_eq(ms, LOCREQ_MS);
}

/* Sets one byte of a good record. */
static const struct {
	size_t at;
	uint8_t byte;
	bool bad;
} byte_cases[] = {
	{ 6, 0xf0, false },	/* a free */
	{ 6, 0xaf, false },	/* the low nibble is opaque */
	{ 6, 0x00, true }, { 6, 0xc0, true }, { 6, 0xe0, true },
	{ 7, 0xff, false },	/* an unknown type is not a bad record */
	{ 8, 0x99, false }, { 8, 0x70, false }, { 8, 0x69, false },
	{ 8, 0x9a, true }, { 8, 0xa0, true },
	{ 9, 0x00, true }, { 9, 0x12, false }, { 9, 0x13, true },
	{ 9, 0x0a, true },
	{ 10, 0x00, true }, { 10, 0x31, false }, { 10, 0x32, true },
	{ 11, 0x23, false }, { 11, 0x24, true },
	{ 12, 0x59, false }, { 12, 0x60, true },
	{ 13, 0x59, false }, { 13, 0x60, true },
	{ 14, 0x14, false }, { 14, 0x15, true },
	{ 15, 0x66, false }, { 15, 0x67, true }, { 15, 0xff, true },
};

LOOP_TEST(bad_byte_makes_a_bad_record, 0, BASE_NELEM(byte_cases))
{
	uint8_t in[REC_CLASSIC_SIZE];
	struct rec r = { .w = { 1, 2, 3, 4 } };
	int64_t ms = 5;

	memcpy(in, locreq, sizeof(in));
	in[byte_cases[_i].at] = byte_cases[_i].byte;
	if (!byte_cases[_i].bad) {
		ck_assert_int_eq(stream_classic_decode(in, &r, &ms), 0);
		ck_assert_uint_eq(rec_flags(&r), in[6]);
		return;
	}
	ck_assert_int_eq(stream_classic_decode(in, &r, &ms), -EILSEQ);
	ck_assert_uint_eq(r.w[0], 1);
	ck_assert_int_eq(ms, 5);
}

/* Days at the ends of months, leap years and centuries. */
static const struct {
	uint8_t year, month, day;
	bool bad;
	int y;
} day_cases[] = {
	{ 0x70, 0x01, 0x01, false, 1970 },
	{ 0x99, 0x12, 0x31, false, 1999 },
	{ 0x00, 0x01, 0x01, false, 2000 },
	{ 0x00, 0x02, 0x29, false, 2000 },
	{ 0x69, 0x12, 0x31, false, 2069 },
	{ 0x04, 0x02, 0x29, false, 2004 },
	{ 0x05, 0x02, 0x29, true, 0 },
	{ 0x05, 0x02, 0x28, false, 2005 },
	{ 0x04, 0x02, 0x30, true, 0 },
	{ 0x04, 0x04, 0x31, true, 0 },
	{ 0x04, 0x11, 0x31, true, 0 },
};

LOOP_TEST(day_is_one_that_its_month_has, 0, BASE_NELEM(day_cases))
{
	uint8_t in[REC_CLASSIC_SIZE], out[REC_CLASSIC_SIZE];
	struct rec r;
	struct tm tm;
	int64_t ms;
	time_t s;

	memcpy(in, locreq, sizeof(in));
	in[8] = day_cases[_i].year;
	in[9] = day_cases[_i].month;
	in[10] = day_cases[_i].day;
	if (day_cases[_i].bad) {
		ck_assert_int_eq(stream_classic_decode(in, &r, &ms), -EILSEQ);
		return;
	}
	ck_assert_int_eq(stream_classic_decode(in, &r, &ms), 0);
	s = (time_t)(ms / 1000);
	gmtime_r(&s, &tm);
	ck_assert_int_eq(tm.tm_year + 1900, day_cases[_i].y);
	ck_assert_int_eq(stream_classic_encode(&r, ms, out), 0);
	ck_assert_mem_eq(in, out, sizeof(in));
}

TEST(every_millisecond_of_a_second_comes_back)
{
	struct rec r, back;
	uint8_t out[REC_CLASSIC_SIZE];
	int64_t ms;

	ck_assert_int_eq(stream_classic_decode(locreq, &r, &ms), 0);
	for (int64_t t = LOCREQ_MS; t < LOCREQ_MS + 1000; t++) {
		ck_assert_int_eq(stream_classic_encode(&r, t, out), 0);
		ck_assert_int_eq(stream_classic_decode(out, &back, &ms), 0);
		ck_assert_int_eq(ms, t);
		ck_assert_mem_eq(&r, &back, sizeof(r));
	}
	/* Its last one, written out. */
	ck_assert_uint_eq(out[14], 0x14);
	ck_assert_uint_eq(out[15], 0x66);
}

TEST(time_never_goes_back_from_cycle_to_cycle)
{
	uint8_t in[REC_CLASSIC_SIZE];
	int64_t last = 0, ms;
	struct rec r;

	memcpy(in, locreq, sizeof(in));
	for (int cycle = 0; cycle < 15; cycle++) {
		for (int t = 0; t <= 66; t++) {
			in[14] = (uint8_t)(cycle / 10 << 4 | cycle % 10);
			in[15] = (uint8_t)(t / 10 << 4 | t % 10);
			ck_assert_int_eq(stream_classic_decode(in, &r, &ms), 0);
			ck_assert_int_ge(ms, last);
			ck_assert_int_lt(ms, LOCREQ_MS + 1000);
			last = ms;
		}
	}
}

static const struct {
	uint64_t addr, size;
	unsigned op;
	int64_t ms;
	int error;
} encode_cases[] = {
	{ 0xffffffff, 0xffff, REC_ALLOC, LOCREQ_MS, 0 },
	{ 0x100000000, 0x10, REC_ALLOC, LOCREQ_MS, -ERANGE },
	{ 0x10, 0x10000, REC_ALLOC, LOCREQ_MS, -ERANGE },
	{ 0x10, 0x10, REC_ALLOC, 0, 0 },
	{ 0x10, 0x10, REC_ALLOC, -1, -ERANGE },
	{ 0x10, 0x10, REC_FREE, INT64_C(3155759999999), 0 },
	{ 0x10, 0x10, REC_FREE, INT64_C(3155760000000), -ERANGE },
	{ 0x10, 0x10, REC_FREE, INT64_MAX, -ERANGE },
	{ 0x10, 0x10, REC_FREE, INT64_MIN, -ERANGE },
	{ 0x10, 0x10, REC_CONTROL, LOCREQ_MS, -EINVAL },
	{ 0x10, 0x10, REC_RANGE, LOCREQ_MS, -EINVAL },
};

LOOP_TEST(what_the_format_cannot_hold_is_refused, 0, BASE_NELEM(encode_cases))
{
	const struct rec r = { .w = {
		rec_w0(encode_cases[_i].addr,
		    REC_FLAGS(encode_cases[_i].op, 0), TYPE_LOCREQ),
		rec_w1(encode_cases[_i].size, 0),
	} };
	uint8_t out[REC_CLASSIC_SIZE], was[REC_CLASSIC_SIZE];
	struct rec back;
	int64_t ms;

	memset(out, 0x5a, sizeof(out));
	memcpy(was, out, sizeof(out));
	ck_assert_int_eq(stream_classic_encode(&r, encode_cases[_i].ms, out),
	    encode_cases[_i].error);
	if (encode_cases[_i].error != 0) {
		ck_assert_mem_eq(out, was, sizeof(out));
		return;
	}
	ck_assert_int_eq(stream_classic_decode(out, &back, &ms), 0);
	ck_assert_mem_eq(&r, &back, sizeof(r));
	ck_assert_int_eq(ms, encode_cases[_i].ms);
}

TEST(any_sixteen_bytes_decode_or_are_refused)
{
	uint64_t state = 1;

	for (int i = 0; i < 200000; i++) {
		uint8_t in[REC_CLASSIC_SIZE], out[REC_CLASSIC_SIZE];
		struct rec r;
		int64_t ms, again;

		memcpy(in, locreq, sizeof(in));
		for (int k = 0; k < 3; k++) {
			state = state * UINT64_C(6364136223846793005) + 1;
			in[state >> 33 & 15] = (uint8_t)(state >> 48);
		}
		if (stream_classic_decode(in, &r, &ms) < 0)
			continue;
		ck_assert_int_eq(stream_classic_encode(&r, ms, out), 0);
		ck_assert_mem_eq(in, out, 14);
		ck_assert_int_eq(stream_classic_decode(out, &r, &again), 0);
		ck_assert_int_eq(ms, again);
	}
}

/* --- wide --------------------------------------------------------------- */

CASE("Wide");

TEST(wide_record_is_little_endian_on_the_wire)
{
	const struct rec r = { .w = {
		rec_w0(0x7f3c04001040, REC_FLAGS(REC_ALLOC, 1), TYPE_MALLOC),
		rec_w1(65536, 0x0203),
		rec_w2(0x11223344, 0x55667788),
		rec_w3(0x5581deadbeef, 0x0102),
	} };
	static const uint8_t want[REC_WIDE_SIZE] = {
		0x40, 0x10, 0x00, 0x04, 0x3c, 0x7f, 0xa1, 0x80,
		0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x02,
		0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55,
		0xef, 0xbe, 0xad, 0xde, 0x81, 0x55, 0x02, 0x01,
	};
	uint8_t out[2 * REC_WIDE_SIZE + 1];
	struct rec two[2] = { { .w = { 1, 2, 3, 4 } }, r }, back[2];

	/* One byte off, as it may stand in a frame. */
	stream_wide_encode(two, 2, out + 1);
	ck_assert_mem_eq(out + 1 + REC_WIDE_SIZE, want, sizeof(want));
	stream_wide_decode(out + 1, 2, back);
	ck_assert_mem_eq(two, back, sizeof(two));
	ck_assert_uint_eq(rec_addr(&back[1]), 0x7f3c04001040);
	ck_assert_uint_eq(rec_thread(&back[1]), 0x0203);
	ck_assert_uint_eq(rec_ms(&back[1]), 0x55667788);
	ck_assert_uint_eq(rec_overhead(&back[1]), 0x0102);
}

static const struct {
	uint64_t bytes;
	unsigned code;
	uint64_t back;
} overheads[] = {
	{ 0, 0, 0 }, { 1, 1, 1 }, { 0x7fff, 0x7fff, 0x7fff },
	{ 0x8000, 0x8000, 0x8000 }, { 0x8001, 0x8000, 0x8000 },
	{ 0x800f, 0x8000, 0x8000 }, { 0x8010, 0x8001, 0x8020 },
	{ 0x8020, 0x8001, 0x8020 }, { 1081279, 0xfffe, 1081280 },
	{ 1081295, 0xfffe, 1081280 }, { 1081296, 0xffff, 1081312 },
	{ 1081312, 0xffff, 1081312 }, { 1081313, 0xffff, 1081312 },
	{ UINT64_C(1) << 32, 0xffff, 1081312 }, { INT64_MAX, 0xffff, 1081312 },
};

LOOP_TEST(overhead_is_exact_below_32_kib_and_within_16_beyond, 0,
    BASE_NELEM(overheads))
{
	ck_assert_uint_eq(rec_overhead_code(overheads[_i].bytes),
	    overheads[_i].code);
	ck_assert_uint_eq(rec_overhead_bytes(overheads[_i].code),
	    overheads[_i].back);
}

TEST(every_code_of_an_overhead_is_that_of_its_bytes)
{
	for (unsigned code = 0; code <= REC_OVERHEAD_MOST; code++)
		ck_assert_uint_eq(rec_overhead_code(rec_overhead_bytes(code)),
		    code);
}

/* --- names -------------------------------------------------------------- */

static const struct {
	unsigned code;
	const char *name;
	bool classic;
} name_cases[] = {
	{ 0x01, "LOCREQ", true }, { 0x09, "AHDRMSG", true },
	{ 0x0c, "ACREQ", true }, { 0x0e, "INTPTRS", true },
	{ 0x10, "LASTAT", false }, { 0x11, "NETBUF", false },
	{ 0x12, "DSTREAM", false }, { 0x80, "malloc", false },
	{ 0x81, "calloc", false }, { 0x82, "realloc", false },
	{ 0x83, "aligned", false }, { 0x84, "new", false },
	{ 0x85, "new[]", false }, { 0x86, "newnt", false },
	{ 0x87, "new[]nt", false },
};

static bool
is_legal(const struct stream_types *types, unsigned code)
{
	uint8_t legal[32];

	stream_types_legal(types, legal);
	return legal[code / 8] >> code % 8 & 1;
}

CASE("Names");

TEST(table_begins_with_these_types_and_no_more)
{
	struct stream_types own, classic;
	unsigned named_own = 0, named_classic = 0;

	stream_types_init(&own);
	stream_types_init_classic(&classic);
	for (size_t i = 0; i < BASE_NELEM(name_cases); i++) {
		unsigned code = name_cases[i].code;

		ck_assert_str_eq(own.by_code[code].name, name_cases[i].name);
		ck_assert_str_eq(classic.by_code[code].name,
		    name_cases[i].classic ? name_cases[i].name : "");
	}
	for (unsigned code = 0; code < 256; code++) {
		ck_assert_uint_eq(own.by_code[code].code, code);
		named_own += is_legal(&own, code);
		named_classic += is_legal(&classic, code);
	}
	ck_assert_uint_eq(named_own, BASE_NELEM(name_cases));
	ck_assert_uint_eq(named_classic, 4);
}

TEST(way_of_freeing_is_no_type_of_block)
{
	struct stream_types types;

	stream_types_init(&types);
	for (unsigned code = TYPE_FREE; code <= TYPE_BY_REALLOC; code++)
		ck_assert(!is_legal(&types, code));
}

TEST(only_the_codes_of_the_api_can_be_named)
{
	struct stream_types types;

	stream_types_init(&types);
	for (unsigned code = 0; code < 300; code++) {
		bool api = code >= 0xc0 && code <= 0xfe;

		ck_assert_int_eq(stream_types_name(&types, code, "CONN", NULL),
		    api ? 0 : -EINVAL);
	}
	ck_assert(is_legal(&types, 0xc0));
	ck_assert(is_legal(&types, 0xfe));
	ck_assert(!is_legal(&types, 0xff));
	ck_assert_str_eq(types.by_code[TYPE_MALLOC].name, "malloc");
	ck_assert_int_eq(stream_types_name(&types, 0xc4, "", "x"), -EINVAL);
	ck_assert_str_eq(types.by_code[0xc4].name, "CONN");
}

TEST(long_name_is_clipped_at_a_whole_character)
{
	struct stream_types types;

	stream_types_init(&types);
	ck_assert_int_eq(stream_types_name(&types, 0xc4, "connec\xc3\xafon",
	    "0123456789012345678901234567890123456789too long"), 0);
	ck_assert_str_eq(types.by_code[0xc4].name, "connec");
	ck_assert_uint_eq(strlen(types.by_code[0xc4].text), 40);
	/* The name is shorter now, and nothing of the old one is left. */
	ck_assert_int_eq(stream_types_name(&types, 0xc4, "c", NULL), 0);
	ck_assert_mem_eq(types.by_code[0xc4].name, "c\0\0\0\0\0\0\0", 8);
}

TEST(every_cause_has_words)
{
	ck_assert_str_eq(stream_cause_text(0), "?");
	for (unsigned cause = 1; cause < STREAM_CAUSES; cause++)
		ck_assert_str_ne(stream_cause_text(cause), "?");
	ck_assert_str_eq(stream_cause_text(STREAM_CAUSES), "?");
	ck_assert_str_eq(stream_cause_text(STREAM_RING_FULL), "ring full");
}

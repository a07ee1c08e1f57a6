/*
 * check_frames: maps out of a byte stream, however it is cut.
 */
#include <errno.h>

#include "../src/base/base.h"
#include "harness.h"
#include "wire_samples.h"

static uint8_t frame[SAMPLE_FRAME_MAX];

static size_t
encoded(const struct wire_msg *m, uint8_t *out, size_t cap)
{
	size_t len = 0;

	ck_assert_int_eq(wire_encode(m, out, cap, &len), 0);
	return len;
}

static void
feed(struct wire_frames *f, const uint8_t *p, size_t len)
{
	uint8_t *to;
	size_t room;

	while (len > 0) {
		to = wire_frames_space(f, len, &room);
		ck_assert_ptr_nonnull(to);
		ck_assert_uint_ge(room, 1);
		ck_assert_uint_le(room, len);
		memcpy(to, p, room);
		wire_frames_add(f, room);
		p += room;
		len -= room;
	}
}

/* Takes what is whole; maps must be those of sample_types, from `n` on. */
static size_t
take(struct wire_frames *f, size_t n)
{
	uint8_t expected[1024];
	struct wire_msg m;
	const uint8_t *map;
	size_t len, size;
	int more;

	while ((more = wire_frames_next(f, &map, &len)) == 1) {
		sample_get_some(sample_types[n++], &m);
		size = encoded(&m, expected, sizeof expected);
		ck_assert_uint_eq(len, size - 4);
		ck_assert_mem_eq(map, expected + 4, len);
	}
	ck_assert_int_eq(more, 0);
	return n;
}

/* One frame of every type, one behind the other. */
static size_t
all_frames(uint8_t *out, size_t cap)
{
	struct wire_msg m;
	size_t i, len = 0;

	for (i = 0; i < SAMPLE_TYPES; i++) {
		sample_get_some(sample_types[i], &m);
		len += encoded(&m, out + len, cap - len);
	}
	return len;
}

CASE("Core", .seconds = 120);

TEST(frames_split_at_any_byte_come_out_whole)
{
	uint8_t all[8192];
	size_t n, at, len = all_frames(all, sizeof all);
	struct wire_frames f;

	for (at = 0; at <= len; at++) {
		ck_assert_int_eq(wire_frames_init(&f, WIRE_REQUEST_MAX), 0);
		feed(&f, all, at);
		n = take(&f, 0);
		feed(&f, all + at, len - at);
		ck_assert_uint_eq(take(&f, n), SAMPLE_TYPES);
		wire_frames_fini(&f);
	}
}

TEST(frames_in_pieces_of_any_size_come_out_whole)
{
	uint8_t all[8192];
	size_t n, at, size, piece, len = all_frames(all, sizeof all);
	struct wire_frames f;

	for (piece = 1; piece < len; piece += piece < 80 ? 1 : 97) {
		ck_assert_int_eq(wire_frames_init(&f, WIRE_REPLY_MAX), 0);
		for (n = 0, at = 0; at < len; at += size) {
			size = piece < len - at ? piece : len - at;
			feed(&f, all + at, size);
			n = take(&f, n);
		}
		ck_assert_uint_eq(n, SAMPLE_TYPES);
		wire_frames_fini(&f);
	}
}

CASE("Limits");

LOOP_TEST(frame_above_the_limit_is_refused_before_it_comes, 0, 5)
{
	static const uint8_t heads[][4] = {
		{ 0, 0, 16, 1 }, { 0, 1, 0, 0 }, { 127, 255, 255, 255 },
		{ 128, 0, 0, 0 }, { 255, 255, 255, 255 },
	};
	struct wire_frames f;
	const uint8_t *map;
	size_t len;

	ck_assert_int_eq(wire_frames_init(&f, WIRE_REQUEST_MAX), 0);
	feed(&f, heads[_i], 3);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), 0);
	feed(&f, heads[_i] + 3, 1);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), -EMSGSIZE);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), -EMSGSIZE);
	wire_frames_fini(&f);
}

CASE("Core");

TEST(frame_of_exactly_the_limit_comes_out)
{
	uint8_t head[4] = { 0, 0, WIRE_REQUEST_MAX >> 8, 0 };
	const uint8_t *map;
	struct wire_frames f;
	size_t len;

	memset(frame, 0x55, WIRE_REQUEST_MAX);
	ck_assert_int_eq(wire_frames_init(&f, WIRE_REQUEST_MAX), 0);
	feed(&f, head, 4);
	feed(&f, frame, WIRE_REQUEST_MAX - 1);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), 0);
	feed(&f, frame, 1);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), 1);
	ck_assert_uint_eq(len, WIRE_REQUEST_MAX);
	ck_assert_mem_eq(map, frame, len);
	wire_frames_fini(&f);
}

TEST(empty_frame_is_a_frame_and_no_message)
{
	struct wire_frames f;
	const uint8_t *map;
	struct wire_msg m;
	size_t len;

	ck_assert_int_eq(wire_frames_init(&f, WIRE_REQUEST_MAX), 0);
	feed(&f, (const uint8_t *)"\0\0\0\0", 4);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), 1);
	ck_assert_uint_eq(len, 0);
	ck_assert_int_eq(wire_decode(map, len, &m), -EBADMSG);
	ck_assert_int_eq(wire_frames_next(&f, &map, &len), 0);
	wire_frames_fini(&f);
}

CASE("Limits");

TEST(buffer_is_bounded_whatever_is_asked_for)
{
	static const size_t limits[] = {
		WIRE_REQUEST_MAX, WIRE_REPLY_MAX, 1000, 5,
	};
	struct wire_frames f;
	size_t i, room, total;

	for (i = 0; i < BASE_NELEM(limits); i++) {
		ck_assert_int_eq(wire_frames_init(&f, limits[i]), 0);
		total = 0;
		while (wire_frames_space(&f, SIZE_MAX, &room) != NULL) {
			wire_frames_add(&f, room);
			total += room;
			ck_assert_uint_le(total, 2 * limits[i]);
		}
		ck_assert_uint_ge(total, 4 + limits[i]);
		wire_frames_fini(&f);
	}
	ck_assert_int_eq(wire_frames_init(&f, 0), -EINVAL);
	ck_assert_int_eq(wire_frames_init(&f, SIZE_MAX), -EINVAL);
}

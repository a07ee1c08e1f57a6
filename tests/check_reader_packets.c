/*
 * What goes between the reader and who asks it: whole packets, and no other way.
 */
#include "symbol_rig.h"

#include "../src/symbol/packet.h"

#include <errno.h>

/* --- packets ------------------------------------------------------------ */

static struct packet_request
sample_request(void)
{
	return (struct packet_request) {
		.place = {
			.path = "/usr/lib/x.so",
			.pid = 4711,
			.by_offset = true,
			.build_id_len = 3,
			.build_id = { 1, 2, 3 },
			.inode = 99,
			.mapped_ns = -5,
		},
		.debug = "/d",
		.n = 2,
		.address = { 1, UINT64_MAX },
	};
}

static struct packet_answer
sample_answer(void)
{
	struct packet_answer a = {
		.file = SYMBOL_LINE,
		.bare = true,
		.build_id_len = 2,
		.build_id = { 7, 8 },
		.n = 2,
	};

	a.words[0] = (struct symbol_words) {
		.known = SYMBOL_LINE, .address = 5, .n = 2,
		.line = {
			{ strdup("f(int)"), strdup("a.c"), 3 },
			{ strdup("\xff\033g"), NULL, 0 },
		},
		.type = strdup("app::Row"), .type_from = SYMBOL_TYPE_CALL,
	};
	a.words[1] = (struct symbol_words) {
		.known = SYMBOL_NO_SYMBOL, .address = UINT64_MAX };
	return a;
}

CASE("Packets");

TEST(request_comes_through_whole_and_no_other_way)
{
	struct packet_request r = sample_request(), got;
	struct packet_out out = { 0 };

	ck_assert_int_eq(packet_put_request(&out, &r), 0);
	for (size_t len = 0; len <= out.len - 4; len++) {
		/* Of its own size, so that a sanitizer sees the end. */
		uint8_t *copy = malloc(len + 1);

		memcpy(copy, out.byte + 4, len);
		ck_assert_int_eq(packet_get_request(copy, len, &got),
		    len == out.len - 4 ? 0 : -EBADMSG);
		if (len < out.len - 4) {
			free(copy);
			continue;
		}
		ck_assert_str_eq(got.place.path, r.place.path);
		ck_assert_str_eq(got.debug, r.debug);
		ck_assert_int_eq(got.place.pid, 4711);
		ck_assert(got.place.by_offset);
		ck_assert_uint_eq(got.place.build_id_len, 3);
		ck_assert_uint_eq(got.place.inode, 99);
		ck_assert_int_eq(got.place.mapped_ns, -5);
		ck_assert_uint_eq(got.n, 2);
		ck_assert_uint_eq(got.address[1], UINT64_MAX);
		free(copy);
	}
	packet_out_fini(&out);
}

TEST(answer_comes_through_whole_and_no_other_way)
{
	struct packet_answer a = sample_answer(), got;
	struct packet_out out = { 0 };

	ck_assert_int_eq(packet_put_answer(&out, &a), 0);
	for (size_t len = 0; len <= out.len - 4; len++) {
		uint8_t *copy = malloc(len + 1);

		memcpy(copy, out.byte + 4, len);
		ck_assert_int_eq(packet_get_answer(copy, len, &got),
		    len == out.len - 4 ? 0 : -EBADMSG);
		free(copy);
	}
	ck_assert_str_eq(got.words[0].line[0].function, "f(int)");
	ck_assert_str_eq(got.words[0].line[1].function, "\xff\033g");
	ck_assert_ptr_null(got.words[0].line[1].file);
	ck_assert_uint_eq(got.words[1].address, UINT64_MAX);
	ck_assert(got.bare);
	packet_answer_fini(&got);
	packet_answer_fini(&a);
	packet_out_fini(&out);
}

TEST(packet_with_any_byte_changed_is_taken_or_refused)
{
	struct packet_answer a = sample_answer(), got;
	struct packet_request r = sample_request(), got_r;
	struct packet_out out = { 0 };

	ck_assert_int_eq(packet_put_answer(&out, &a), 0);
	for (size_t i = 4; i < out.len; i++) {
		for (unsigned x = 1; x < 256; x += x < 4 ? 1 : 36) {
			out.byte[i] ^= (uint8_t)x;
			if (packet_get_answer(out.byte + 4, out.len - 4,
			    &got) == 0)
				packet_answer_fini(&got);
			out.byte[i] ^= (uint8_t)x;
		}
	}
	ck_assert_int_eq(packet_put_request(&out, &r), 0);
	for (size_t i = 4; i < out.len; i++) {
		for (unsigned x = 1; x < 256; x += x < 4 ? 1 : 36) {
			out.byte[i] ^= (uint8_t)x;
			packet_get_request(out.byte + 4, out.len - 4, &got_r);
			out.byte[i] ^= (uint8_t)x;
		}
	}
	packet_answer_fini(&a);
	packet_out_fini(&out);
}

/*
 * check_wire: messages.  What a right shape is, and what happens to a wrong
 * one, is in check_shape.c.
 */
#include <dirent.h>
#include <errno.h>

#include "../src/base/base.h"
#include "../src/stream/wire/table.h"
#include "harness.h"
#include "wire_same.h"
#include "wire_samples.h"

static uint8_t frame[SAMPLE_FRAME_MAX], again[SAMPLE_FRAME_MAX];

/* --- round trips -------------------------------------------------------- */

/*
 * In a buffer of exactly its size, so that a sanitizer sees a byte read beyond
 * it, and freed before the message is looked at: it borrows nothing.
 */
static int
decode_copy(const uint8_t *map, size_t len, struct wire_msg *m)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	int err;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, map, len);
	err = wire_decode(copy, len, m);
	memset(copy, 0xee, len);
	free(copy);
	return err;
}

static size_t
encoded(const struct wire_msg *m, uint8_t *out)
{
	size_t len = 0;

	ck_assert_int_eq(wire_encode(m, out, SAMPLE_FRAME_MAX, &len), 0);
	ck_assert_uint_ge(len, 5);
	ck_assert_uint_eq(len - 4, (size_t)out[0] << 24 |
	    (size_t)out[1] << 16 | (size_t)out[2] << 8 | out[3]);
	return len;
}

static void
round_trip(const struct wire_msg *m)
{
	size_t len = encoded(m, frame);
	struct wire_msg out;

	ck_assert_int_eq(decode_copy(frame + 4, len - 4, &out), 0);
	same(m, &out);
	ck_assert_uint_eq(encoded(&out, again), len);
	ck_assert_mem_eq(frame, again, len);
	wire_msg_fini(&out);
}

START_TEST(ordinary_messages_come_back_the_same)
{
	round_trip(&sample_ordinary[sample_types[_i]]);
}
END_TEST

START_TEST(largest_messages_fit_and_come_back_the_same)
{
	struct wire_msg m;

	sample_get_largest(sample_types[_i], &m);
	round_trip(&m);
}
END_TEST

START_TEST(messages_of_zeros_come_back_the_same)
{
	round_trip(&(struct wire_msg) { .type = sample_types[_i] });
}
END_TEST

START_TEST(requests_fit_into_a_request)
{
	static const uint32_t requests[] = {
		WIRE_HELLO, WIRE_NAME, WIRE_READ, WIRE_SNAP, WIRE_STAT,
		WIRE_SYM, WIRE_TYPES, WIRE_END, WIRE_SITE, WIRE_FRAME,
		WIRE_ARM, WIRE_LIMIT, WIRE_LISTINGS, WIRE_LGET, WIRE_REGIONS,
	};
	struct wire_msg m;

	sample_get_largest(requests[_i], &m);
	ck_assert_uint_le(encoded(&m, frame), WIRE_LENGTH_SIZE + WIRE_REQUEST_MAX);
}
END_TEST

START_TEST(last_part_has_no_next)
{
	struct wire_msg out, m = sample_ordinary[WIRE_PART];
	size_t len;

	m.part.last = true;
	len = encoded(&m, frame);
	ck_assert_int_eq(decode_copy(frame + 4, len - 4, &out), 0);
	ck_assert_int_eq(out.part.last, true);
	ck_assert_uint_eq(out.part.next, 0);
	wire_msg_fini(&out);
}
END_TEST

START_TEST(message_cut_at_any_byte_is_refused)
{
	size_t n, len = encoded(&sample_ordinary[sample_types[_i]], frame);
	struct wire_msg out;

	for (n = 0; n < len - 4; n++)
		ck_assert_int_eq(decode_copy(frame + 4, n, &out), -EBADMSG);
}
END_TEST

START_TEST(largest_message_cut_at_any_byte_is_refused)
{
	struct wire_msg m, out;
	size_t n, len;

	sample_get_largest(sample_types[_i], &m);
	len = encoded(&m, frame);
	for (n = 0; n < len - 4; n += n < 512 || len - n < 2048 ? 1 : 61)
		ck_assert_int_eq(decode_copy(frame + 4, n, &out), -EBADMSG);
}
END_TEST

START_TEST(buffer_short_by_any_byte_is_no_room)
{
	const struct wire_msg *m = &sample_ordinary[sample_types[_i]];
	size_t cap, out = 4711, len = encoded(m, frame);
	uint8_t *buf;

	for (cap = 0; cap < len; cap++) {
		buf = malloc(cap > 0 ? cap : 1);
		ck_assert_int_eq(wire_encode(m, buf, cap, &out), -ENOBUFS);
		ck_assert_uint_eq(out, 4711);
		free(buf);
	}
	ck_assert_int_eq(wire_encode(m, frame, len, &out), 0);
}
END_TEST

/* --- what is refused, and what is not ----------------------------------- */

START_TEST(shape_without_a_message_is_refused)
{
	size_t len = sample_raw_get(&sample_wrong[_i], frame);
	struct wire_msg m = { .type = 99 };

	ck_assert_msg(wire_check_shape(frame, len) == 0, "%s: shape",
	    sample_wrong[_i].name);
	ck_assert_msg(decode_copy(frame, len, &m) == -EBADMSG, "%s",
	    sample_wrong[_i].name);
	ck_assert_uint_eq(m.type, 99);
}
END_TEST

START_TEST(unknown_type_can_be_answered)
{
	size_t len = sample_raw_get(&sample_unknown[_i], frame);
	struct wire_msg m;

	ck_assert_int_eq(decode_copy(frame, len, &m), -ENOMSG);
	ck_assert_uint_eq(m.id, 1);
	ck_assert_int_eq(wire_encode(&m, frame, sizeof frame, &len), -EINVAL);
}
END_TEST

START_TEST(unknown_key_is_skipped)
{
	/* The first 14 bytes are a HELLO: the rest is a key of no meaning. */
	size_t len = sample_raw_get(&sample_edges[_i], frame);
	struct wire_msg m;

	ck_assert_msg(decode_copy(frame, len, &m) == 0, "%s",
	    sample_edges[_i].name);
	ck_assert_uint_eq(m.hello.min, 1);
	ck_assert_uint_eq(m.hello.roles, 1);
	ck_assert_uint_eq(m.hello.client.len, 1);
	ck_assert_mem_eq(m.hello.client.s, "x", 1);
	wire_msg_fini(&m);
}
END_TEST

START_TEST(key_without_must_may_be_absent)
{
	const struct sample_raw stats = {
		.head = "a5000b010104000b010794", .fill = "05", .times = 20,
	};
	size_t len = sample_raw_get(&stats, frame);
	struct wire_msg m;

	ck_assert_int_eq(decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_FIRST - 1], 5);
	ck_assert_uint_eq(m.stats.comm.len, 0);
	ck_assert_int_eq(m.stats.status, 0);
	wire_msg_fini(&m);
}
END_TEST

START_TEST(numbers_of_a_later_version_are_skipped)
{
	const struct sample_raw stats = {
		.head = "a5000b010104000b0107982f", .fill = "05", .times = 45,
		.tail = "8101f6",
	};
	size_t len = sample_raw_get(&stats, frame);
	struct wire_msg m;

	ck_assert_int_eq(decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_COUNT - 1], 5);
	wire_msg_fini(&m);
}
END_TEST

START_TEST(numbers_that_an_earlier_version_does_not_have_are_0)
{
	const struct sample_raw stats = {
		.head = "a5000b010104000b010794", .fill = "05", .times = 20,
	};
	size_t len = sample_raw_get(&stats, frame);
	struct wire_msg m;

	ck_assert_int_eq(decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_FIRST], 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_COUNT - 1], 0);
	wire_msg_fini(&m);
	frame[10]--;	/* 19 numbers, then a byte too many */
	ck_assert_int_eq(decode_copy(frame, len - 1, &m), -EBADMSG);
}
END_TEST

START_TEST(loss_of_unknown_cause_is_still_counted)
{
	const struct sample_raw data = {
		/* {0: [1, true], 1: [2, true], 9: [3, true], 200: [4, false]} */
		.head = "a8000501010600070009000a0008400ba4"
		    "008201f5" "018202f5" "098203f5" "18c88204f4",
	};
	size_t len = sample_raw_get(&data, frame);
	struct wire_msg m;

	ck_assert_int_eq(decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.data.lost[0].count, 8);
	ck_assert(!m.data.lost[0].exact);
	ck_assert_uint_eq(m.data.lost[1].count, 2);
	ck_assert(m.data.lost[1].exact);
	wire_msg_fini(&m);
}
END_TEST

START_TEST(losses_beyond_64_bits_are_not_exact)
{
	const struct sample_raw data = {
		.head = "a8000501010600070009000a0008400ba2"
		    "00821bfffffffffffffffff5" "098201f5",
	};
	size_t len = sample_raw_get(&data, frame);
	struct wire_msg m;

	ck_assert_int_eq(decode_copy(frame, len, &m), 0);
	ck_assert(m.data.lost[0].count == UINT64_MAX);
	ck_assert(!m.data.lost[0].exact);
	wire_msg_fini(&m);
}
END_TEST

START_TEST(no_loss_is_not_sent)
{
	struct wire_msg m = sample_ordinary[WIRE_DATA];
	size_t len;

	memset(m.data.lost, 0, sizeof m.data.lost);
	len = encoded(&m, frame);
	m.data.lost[1].exact = true;
	ck_assert_uint_eq(encoded(&m, again), len);
	ck_assert_mem_eq(frame, again, len);
}
END_TEST

static void
refuses(const struct wire_msg *m)
{
	size_t len = 0;

	ck_assert_int_eq(wire_encode(m, frame, sizeof frame, &len), -EINVAL);
}

#define BREAKS(type_, member, value) \
	do { \
		struct wire_msg m; \
		sample_get_largest(type_, &m); \
		m.member = (value); \
		refuses(&m); \
	} while (0)

START_TEST(message_beyond_a_limit_is_not_sent)
{
	refuses(&(struct wire_msg) { .type = WIRE_REGIONED + 1 });
	BREAKS(WIRE_HELLO, hello.max, 0);
	BREAKS(WIRE_HELLO, hello.client.len, WIRE_TEXT_MAX + 1);
	BREAKS(WIRE_NAMED, named.state, WIRE_S_DORMANT + 1);
	BREAKS(WIRE_READ, read.max, WIRE_READ_MAX + 1);
	BREAKS(WIRE_READ, read.wait_ms, WIRE_WAIT_MAX + 1);
	BREAKS(WIRE_DATA, data.count, WIRE_READ_MAX + 1);
	BREAKS(WIRE_DATA, data.records.len, WIRE_READ_MAX * 32 - 1);
	BREAKS(WIRE_DATA, data.offsets.len, 4);
	BREAKS(WIRE_DATA, data.ninfo, WIRE_INFO_MAX + 1);
	BREAKS(WIRE_DATA, data.info[3].at, WIRE_READ_MAX);
	BREAKS(WIRE_DATA, data.info[3].name.len, WIRE_INFO_NAME_MAX + 1);
	BREAKS(WIRE_PART, part.count, WIRE_READ_MAX - 1);
	BREAKS(WIRE_PART, part.info[127].at, WIRE_READ_MAX);
	BREAKS(WIRE_PART, part.since, WIRE_SINCE_UNKNOWN + 1);
	BREAKS(WIRE_SNAP, snap.after_layer, 2);
	BREAKS(WIRE_SYM, sym.n, WIRE_SYMS_MAX + 1);
	BREAKS(WIRE_SYMS, syms.n, WIRE_SYMS_MAX + 1);
	BREAKS(WIRE_SYMS, syms.name[63].len, WIRE_TEXT_MAX + 1);
	BREAKS(WIRE_TYPED, typed.types.len, WIRE_TYPED_SIZE + 1);
	BREAKS(WIRE_SITE, site.n, WIRE_SYMS_MAX + 1);
	BREAKS(WIRE_SITED, sited.n, WIRE_SYMS_MAX - 1);
	BREAKS(WIRE_SITED, sited.sites.len, 6 + 64 * 8 + 1);
	BREAKS(WIRE_FRAME, frame.n, WIRE_SYMS_MAX + 1);
	BREAKS(WIRE_FRAMED, framed.n, 0);
	BREAKS(WIRE_FRAMED, framed.words.len, 17);
	BREAKS(WIRE_FRAMED, framed.fetch.len, WIRE_TEXT_MAX + 1);
	BREAKS(WIRE_ARM, arm.arming, WIRE_ARM_HOLD + 1);
	BREAKS(WIRE_WINDOW, window.order, WIRE_BY_ADDRESS + 1);
	BREAKS(WIRE_WINDOW, window.max, WIRE_WINDOW_MAX + 1);
	BREAKS(WIRE_WINDOW, window.layer, 2);
	BREAKS(WIRE_ROWS, rows.count, WIRE_WINDOW_MAX - 1);
	BREAKS(WIRE_ROWS, rows.who.len, 1);
	BREAKS(WIRE_ROWS, rows.ninfo, WIRE_INFO_MAX - 1);
	BREAKS(WIRE_ROWS, rows.info[127].at, WIRE_WINDOW_MAX);
	BREAKS(WIRE_ROWS, rows.state, WIRE_S_DORMANT + 1);
	BREAKS(WIRE_LPUT, lput.part, 0x100);
	BREAKS(WIRE_LPUT, lput.parts, WIRE_LISTING_PARTS - 1);
	BREAKS(WIRE_LPUT, lput.at, WIRE_LISTING_PART);
	BREAKS(WIRE_LPUT, lput.at, 0);	/* a sum before the last bytes */
	BREAKS(WIRE_LPUT, lput.total, WIRE_LISTING_PART + 1);
	BREAKS(WIRE_LPUT, lput.bytes.len, WIRE_LISTING_BYTES + 1);
	BREAKS(WIRE_LPUT, lput.sha256.len, WIRE_SHA256 - 1);
	BREAKS(WIRE_LACK, lack.stored, WIRE_LISTING_PART + 1);
	BREAKS(WIRE_LGET, lget.max, WIRE_LISTING_BYTES + 1);
	BREAKS(WIRE_LGOT, lgot.bytes.len, WIRE_LISTING_BYTES + 1);
	BREAKS(WIRE_LGOT, lgot.at, 0);	/* a sum before the last bytes */
	BREAKS(WIRE_LGOT, lgot.sha256.len, WIRE_SHA256 - 1);
	BREAKS(WIRE_REGIONED, regioned.regions.len, WIRE_REGION_SIZE + 1);
}
END_TEST

START_TEST(packed_region_comes_back_the_same)
{
	static const struct wire_region regions[] = {
		{ 0x8e0000, 0x10000, 8, 8, "region 1" },
		{ 0, 0, 0, 0, "" },
		{ UINT64_MAX, UINT64_MAX, UINT16_MAX, UINT16_MAX,
		    "twelve bytes" },
	};
	uint8_t packed[WIRE_REGION_SIZE];
	struct wire_region r;

	wire_region_put(packed, &regions[_i]);
	memset(&r, 0xff, sizeof r);
	wire_region_get(&r, packed);
	ck_assert_uint_eq(r.base, regions[_i].base);
	ck_assert_uint_eq(r.size, regions[_i].size);
	ck_assert_uint_eq(r.head, regions[_i].head);
	ck_assert_uint_eq(r.align, regions[_i].align);
	ck_assert_str_eq(r.name, regions[_i].name);
}
END_TEST

START_TEST(name_that_is_no_utf8_does_not_spoil_its_message)
{
	struct wire_msg out, m = sample_ordinary[WIRE_STATS];
	size_t len;

	m.stats.comm = wire_text("a\xff" "b\xc3");
	len = encoded(&m, frame);
	ck_assert_int_eq(decode_copy(frame + 4, len - 4, &out), 0);
	ck_assert_uint_eq(out.stats.comm.len, 4);
	ck_assert_mem_eq(out.stats.comm.s, "a?b?", 4);
	wire_msg_fini(&out);
}
END_TEST

START_TEST(long_text_is_clipped_between_characters)
{
	char s[WIRE_TEXT_MAX + 8] = { 0 };
	size_t lead;

	ck_assert_uint_eq(wire_text(NULL).len, 0);
	ck_assert_uint_eq(wire_text("").len, 0);
	for (lead = WIRE_TEXT_MAX - 5; lead <= WIRE_TEXT_MAX; lead++) {
		memset(s, 'x', lead);
		strcpy(s + lead, FOUR_BYTES);
		ck_assert_uint_eq(wire_text(s).len,
		    lead + 4 <= WIRE_TEXT_MAX ? lead + 4 : lead);
	}
}
END_TEST

START_TEST(keys_of_a_message_are_distinct)
{
	const struct wire_layout *l = wire_layout(sample_types[_i]);
	bool seen[256] = { [WIRE_KEY_TYPE] = true, [WIRE_KEY_ID] = true };
	size_t i;

	ck_assert_uint_lt(l->nfields, 32);
	for (i = 0; i < l->nfields; i++) {
		ck_assert_msg(!seen[l->fields[i].key], "%s",
		    l->fields[i].name);
		seen[l->fields[i].key] = true;
	}
}
END_TEST

/* --- the stored corpus -------------------------------------------------- */

#define CORPUS "tests/corpus/wire/"

static size_t
read_file(const char *name)
{
	char path[300];
	size_t len;
	FILE *f;

	snprintf(path, sizeof path, CORPUS "%s", name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	len = fread(frame, 1, sizeof frame, f);
	fclose(f);
	return len;
}

/* good- is of our encoder's making, edge- of another's. */
START_TEST(stored_messages_mean_what_they_meant)
{
	struct wire_msg m;
	struct dirent *e;
	unsigned good = 0;
	size_t len;
	DIR *d = opendir(CORPUS);
	int err;

	ck_assert_msg(d != NULL, "run from the top of the tree");
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		len = read_file(e->d_name);
		err = decode_copy(frame, len, &m);
		if (strncmp(e->d_name, "bomb-", 5) == 0 ||
		    strncmp(e->d_name, "wrong-", 6) == 0)
			ck_assert_msg(err == -EBADMSG, "%s: %d", e->d_name, err);
		else if (strncmp(e->d_name, "unknown-", 8) == 0)
			ck_assert_msg(err == -ENOMSG, "%s: %d", e->d_name, err);
		else if (strncmp(e->d_name, "good-", 5) == 0 ||
		    strncmp(e->d_name, "edge-", 5) == 0)
			ck_assert_msg(err == 0, "%s: %d", e->d_name, err);
		if (err == 0 && strncmp(e->d_name, "good-", 5) == 0) {
			good++;
			ck_assert_uint_eq(encoded(&m, again), len + 4);
			ck_assert_mem_eq(again + 4, frame, len);
		}
		if (err == 0)
			wire_msg_fini(&m);
	}
	closedir(d);
	ck_assert_uint_ge(good, 2 * SAMPLE_TYPES);
}
END_TEST

static Suite *
wire_suite(void)
{
	Suite *s = suite_create("wire");
	TCase *core = tcase_create("Core");
	TCase *errors = tcase_create("Errors");

	tcase_set_timeout(core, 120);
	tcase_set_timeout(errors, 120);
	suite_add_tcase(s, core);
	suite_add_tcase(s, errors);
#define EACH_TYPE(tc, test) tcase_add_loop_test(tc, test, 0, SAMPLE_TYPES)
#define EACH_OF(tc, test, table) \
	tcase_add_loop_test(tc, test, 0, BASE_NELEM(table))
	EACH_TYPE(core, ordinary_messages_come_back_the_same);
	EACH_TYPE(core, largest_messages_fit_and_come_back_the_same);
	EACH_TYPE(core, messages_of_zeros_come_back_the_same);
	tcase_add_loop_test(core, requests_fit_into_a_request, 0, 15);
	tcase_add_test(core, last_part_has_no_next);
	EACH_OF(core, unknown_key_is_skipped, sample_edges);
	tcase_add_test(core, key_without_must_may_be_absent);
	tcase_add_test(core, numbers_of_a_later_version_are_skipped);
	tcase_add_test(core,
	    numbers_that_an_earlier_version_does_not_have_are_0);
	tcase_add_test(core, loss_of_unknown_cause_is_still_counted);
	tcase_add_test(core, losses_beyond_64_bits_are_not_exact);
	tcase_add_test(core, no_loss_is_not_sent);
	tcase_add_loop_test(core, packed_region_comes_back_the_same, 0, 3);
	tcase_add_test(core, name_that_is_no_utf8_does_not_spoil_its_message);
	tcase_add_test(core, long_text_is_clipped_between_characters);
	EACH_TYPE(core, keys_of_a_message_are_distinct);
	tcase_add_test(core, stored_messages_mean_what_they_meant);
	EACH_TYPE(errors, message_cut_at_any_byte_is_refused);
	EACH_TYPE(errors, largest_message_cut_at_any_byte_is_refused);
	EACH_TYPE(errors, buffer_short_by_any_byte_is_no_room);
	EACH_OF(errors, shape_without_a_message_is_refused, sample_wrong);
	EACH_OF(errors, unknown_type_can_be_answered, sample_unknown);
	tcase_add_test(errors, message_beyond_a_limit_is_not_sent);
	return s;
}

CHECK_MAIN(wire_suite)

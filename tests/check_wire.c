/*
 * check_wire: messages.  What a right shape is, and what happens to a wrong
 * one, is in check_wire_shape.c.
 */
#include <dirent.h>
#include <errno.h>

#include "../src/base/base.h"
#include "harness.h"
#include "wire_copy.h"
#include "wire_same.h"
#include "wire_samples.h"

static uint8_t frame[SAMPLE_FRAME_MAX], again[SAMPLE_FRAME_MAX];

/* --- round trips -------------------------------------------------------- */

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

	ck_assert_int_eq(wire_decode_copy(frame + 4, len - 4, &out), 0);
	ck_assert_msg(wire_difference(m, &out) == NULL, "%s",
	    wire_difference(m, &out));
	ck_assert_uint_eq(encoded(&out, again), len);
	ck_assert_mem_eq(frame, again, len);
}

CASE("Core", .seconds = 120);

LOOP_TEST(messages_with_some_of_all_come_back_the_same, 0, SAMPLE_TYPES)
{
	struct wire_msg m;

	sample_get_some(sample_types[_i], &m);
	round_trip(&m);
}

LOOP_TEST(largest_messages_fit_and_come_back_the_same, 0, SAMPLE_TYPES)
{
	struct wire_msg m;

	sample_get_most(sample_types[_i], &m);
	round_trip(&m);
}

LOOP_TEST(messages_of_zeros_come_back_the_same, 0, SAMPLE_TYPES)
{
	round_trip(&(struct wire_msg) { .type = sample_types[_i] });
}

LOOP_TEST(requests_fit_into_a_request, 0, SAMPLE_TYPES)
{
	const struct wire_layout *l = wire_layout(sample_types[_i]);
	struct wire_msg m;

	if (!l->request || sample_types[_i] == WIRE_LPUT)
		return;
	sample_get_most(sample_types[_i], &m);
	ck_assert_uint_le(encoded(&m, frame),
	    WIRE_LENGTH_SIZE + WIRE_REQUEST_MAX);
}

LOOP_TEST(requests_have_a_reply_as_their_answer, 0, SAMPLE_TYPES)
{
	const struct wire_layout *l = wire_layout(sample_types[_i]);

	if (l->request && sample_types[_i] != WIRE_LIMIT)
		ck_assert(!wire_layout(l->answer)->request);
}

TEST(last_part_has_no_next)
{
	struct wire_msg out, m;
	size_t len;

	sample_get_some(WIRE_PART, &m);
	m.part.last = true;
	len = encoded(&m, frame);
	ck_assert_int_eq(wire_decode_copy(frame + 4, len - 4, &out), 0);
	ck_assert_int_eq(out.part.last, true);
	ck_assert_uint_eq(out.part.next, 0);
}

CASE("Errors", .seconds = 120);

LOOP_TEST(message_cut_at_any_byte_is_refused, 0, SAMPLE_TYPES)
{
	struct wire_msg m, out;
	size_t n, len;

	sample_get_some(sample_types[_i], &m);
	len = encoded(&m, frame);
	for (n = 0; n < len - 4; n++)
		ck_assert_int_eq(wire_decode_copy(frame + 4, n, &out), -EBADMSG);
}

LOOP_TEST(largest_message_cut_at_any_byte_is_refused, 0, SAMPLE_TYPES)
{
	struct wire_msg m, out;
	size_t n, len;

	sample_get_most(sample_types[_i], &m);
	len = encoded(&m, frame);
	for (n = 0; n < len - 4; n += n < 512 || len - n < 2048 ? 1 : 61)
		ck_assert_int_eq(wire_decode_copy(frame + 4, n, &out), -EBADMSG);
}

LOOP_TEST(buffer_short_by_any_byte_is_no_room, 0, SAMPLE_TYPES)
{
	size_t cap, out = 4711, len;
	struct wire_msg m;
	uint8_t *buf;

	sample_get_some(sample_types[_i], &m);
	len = encoded(&m, frame);
	for (cap = 0; cap < len; cap++) {
		buf = malloc(cap > 0 ? cap : 1);
		ck_assert_int_eq(wire_encode(&m, buf, cap, &out), -ENOBUFS);
		ck_assert_uint_eq(out, 4711);
		free(buf);
	}
	ck_assert_int_eq(wire_encode(&m, frame, len, &out), 0);
}

/* --- fields, each as wire.def has it -------------------------------------- */

#define PAIRS 24

/* A key with its value, as encoded. */
struct pair {
	const uint8_t *p;
	size_t len;
};

/* The bytes of an item with all that is in it. */
static size_t
item_len(const uint8_t *p)
{
	unsigned major = p[0] >> 5, info = p[0] & 0x1f;
	size_t n = 1, i, wide = info < 24 ? 0 : (size_t)1 << (info - 24);
	uint64_t arg = info < 24 ? info : 0;

	for (i = 0; i < wide; i++)
		arg = arg << 8 | p[n++];
	if (major == 2 || major == 3)
		return n + (size_t)arg;
	if (major == 4 || major == 5)
		for (arg *= major - 3; arg > 0; arg--)
			n += item_len(p + n);
	return n;
}

/* The pairs of a message with something in every field. */
static size_t
split_some(uint32_t type, struct pair *pairs)
{
	size_t i, n, len;
	const uint8_t *p;
	struct wire_msg m;

	sample_get_some(type, &m);
	len = encoded(&m, frame);
	n = frame[WIRE_LENGTH_SIZE] & 0x1f;
	p = frame + WIRE_LENGTH_SIZE + 1;
	ck_assert_uint_eq(n, wire_layout(type)->nfields + 2);
	ck_assert_uint_lt(n, PAIRS);
	for (i = 0; i < n; i++, p += pairs[i - 1].len) {
		size_t key = item_len(p);

		pairs[i] = (struct pair) { p, key + item_len(p + key) };
	}
	ck_assert_ptr_eq(p, frame + len);
	return n;
}

/* The map of n of them from the one at `first` on, in a row without an end. */
static size_t
join(const struct pair *pairs, size_t n, size_t of, size_t first)
{
	size_t i, len = 0;

	again[len++] = (uint8_t)(0xa0 | n);
	for (i = 0; i < n; i++) {
		const struct pair *pair = &pairs[(first + i) % of];

		memcpy(again + len, pair->p, pair->len);
		len += pair->len;
	}
	return len;
}

static const struct wire_field *
field_of(const struct wire_layout *l, const struct pair *pair)
{
	const struct wire_layout *of = pair->p[0] <= WIRE_KEY_ID ?
	    &wire_common : l;
	size_t i;

	for (i = 0; of->fields[i].key != pair->p[0]; i++)
		ck_assert_uint_lt(i + 1, of->nfields);
	return &of->fields[i];
}

/* The verdict on a message of which one pair has another value. */
static int
verdict_on(const struct pair *pairs, size_t n, size_t at, const uint8_t *value,
    size_t len)
{
	static uint8_t bytes[SAMPLE_FRAME_MAX];
	struct pair changed[PAIRS];
	struct wire_msg m;

	memcpy(changed, pairs, n * sizeof *pairs);
	bytes[0] = pairs[at].p[0];
	memcpy(bytes + 1, value, len);
	changed[at] = (struct pair) { bytes, len + 1 };
	return wire_decode_copy(again, join(changed, n, n, 0), &m);
}

CASE("Core");

LOOP_TEST(keys_may_come_in_any_order, 0, SAMPLE_TYPES)
{
	struct pair pairs[PAIRS], back[PAIRS];
	size_t i, n = split_some(sample_types[_i], pairs);
	struct wire_msg m, out;

	sample_get_some(sample_types[_i], &m);
	for (i = 0; i < n; i++)
		back[n - 1 - i] = pairs[i];
	for (i = 0; i < 2 * n; i++) {
		size_t len = join(i < n ? pairs : back, n, n, i % n);

		ck_assert_int_eq(wire_decode_copy(again, len, &out), 0);
		ck_assert_msg(wire_difference(&m, &out) == NULL, "%s",
		    wire_difference(&m, &out));
	}
}

LOOP_TEST(fields_that_must_be_there_must_be_there_and_no_others, 0,
    SAMPLE_TYPES)
{
	/* Others of these messages mean nothing without them. */
	static const char *const needed[] = { "rows.info", "lput.at",
		"lgot.at" };
	const struct wire_layout *l = wire_layout(sample_types[_i]);
	struct pair pairs[PAIRS];
	struct wire_msg m;
	size_t i, n, len;

	n = split_some(sample_types[_i], pairs);
	for (i = 0; i < n; i++) {
		const struct wire_field *f = field_of(l, &pairs[i]);
		bool must = f->must;

		for (size_t k = 0; k < BASE_NELEM(needed); k++)
			must |= strcmp(f->name, needed[k]) == 0;
		len = join(pairs, n - 1, n, i + 1);
		ck_assert_msg(wire_decode_copy(again, len, &m) ==
		    (must ? -EBADMSG : 0), "%s", f->name);
	}
}

CASE("Errors");

LOOP_TEST(value_of_another_kind_is_refused, 0, SAMPLE_TYPES)
{
	/* 0, -1, "" as bytes and as text, [], {}, false, null */
	static const uint8_t values[] = { 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0,
		0xf4, 0xf6 };
	static const char *const takes[] = {
		[WIRE_V_UINT] = "\x01", [WIRE_V_INT] = "\x01\x20",
		[WIRE_V_BOOL] = "\xf4", [WIRE_V_TEXT] = "\x60",
		[WIRE_V_BYTES] = "\x40", [WIRE_V_ID] = "", [WIRE_V_UINTS] = "",
		[WIRE_V_LIST] = "\x80", [WIRE_V_TEXTS] = "\x80",
		[WIRE_V_INFO] = "\x80", [WIRE_V_LOST] = "\xa0",
		[WIRE_V_OR_LAST] = "\x01\xf6",
	};
	const struct wire_layout *l = wire_layout(sample_types[_i]);
	struct pair pairs[PAIRS];
	size_t i, k, n = split_some(sample_types[_i], pairs);

	for (i = 0; i < n; i++) {
		const struct wire_field *f = field_of(l, &pairs[i]);

		for (k = 0; k < sizeof values; k++)
			if (strchr(takes[f->kind], values[k] == 0 ? 1 :
			    values[k]) == NULL)
				ck_assert_msg(verdict_on(pairs, n, i,
				    &values[k], 1) == -EBADMSG, "%s: %02x",
				    f->name, values[k]);
	}
}

/* A head whose argument has 8 bytes if it is an integer, else 4. */
static size_t
put_head(uint8_t *out, unsigned major, uint64_t arg)
{
	size_t i, n = major < 2 ? 8 : 4;

	out[0] = (uint8_t)(major << 5 | (major < 2 ? 27 : 26));
	for (i = 0; i < n; i++)
		out[1 + i] = (uint8_t)(arg >> 8 * (n - 1 - i));
	return 1 + n;
}

/* A string or array of so many zeros of a byte each. */
static size_t
put_zeros(uint8_t *out, unsigned major, size_t n, uint8_t zero)
{
	size_t len = put_head(out, major, n);

	memset(out + len, zero, n);
	return len + n;
}

/* The value of a field that is just too large, or 0 if none is. */
static size_t
put_beyond(uint8_t *out, const struct wire_field *f)
{
	uint64_t limit = sample_limit(f);
	size_t len;

	switch (f->kind) {
	case WIRE_V_UINT:
	case WIRE_V_OR_LAST:
		return limit == UINT64_MAX ? 0 : put_head(out, 0, limit + 1);
	case WIRE_V_INT:
		return put_head(out, f->key & 1, limit / 2 + 1);
	case WIRE_V_TEXT:
		return put_zeros(out, 3, f->max + 1, 0);
	case WIRE_V_BYTES:
		return put_zeros(out, 2, f->max + 1, 0);
	case WIRE_V_ID:
		return put_zeros(out, 2, f->size + 1, 0);
	case WIRE_V_UINTS:
	case WIRE_V_LIST:
		if (limit == UINT64_MAX)
			return f->kind == WIRE_V_LIST ?
			    put_zeros(out, 4, f->n + 1, 0) :
			    put_zeros(out, 4, f->least - 1, 0);
		len = put_zeros(out, 4, f->least > 0 ? f->least : 1, 0) - 1;
		return len + put_head(out + len, 0, limit + 1);
	case WIRE_V_TEXTS:
		return put_zeros(out, 4, f->n + 1, 0x60);
	case WIRE_V_INFO:
		return put_zeros(out, 4, 2 * (f->n + 1), 0);
	case WIRE_V_BOOL:
	case WIRE_V_LOST:
		break;
	}
	return 0;
}

LOOP_TEST(value_beyond_its_limit_is_refused, 0, SAMPLE_TYPES)
{
	static uint8_t value[SAMPLE_FRAME_MAX];
	const struct wire_layout *l = wire_layout(sample_types[_i]);
	struct pair pairs[PAIRS];
	size_t i, n = split_some(sample_types[_i], pairs), len;

	for (i = 0; i < n; i++) {
		const struct wire_field *f = field_of(l, &pairs[i]);

		len = put_beyond(value, f);
		if (len > 0)
			ck_assert_msg(verdict_on(pairs, n, i, value, len) ==
			    -EBADMSG, "%s", f->name);
	}
}

static void
refuses(const struct wire_msg *m, const char *name)
{
	size_t len = 0;

	ck_assert_msg(wire_encode(m, again, sizeof again, &len) == -EINVAL,
	    "%s", name);
}

/* The member gets a value that is just too large; false if none is. */
static bool
set_beyond(struct wire_msg *m, const struct wire_field *f)
{
	void *member = (char *)m + f->at;
	size_t n = (size_t)f->n + 1;

	switch (f->kind) {
	case WIRE_V_UINT:
		wire_member_set(member, f->size, f->max + 1);
		return wire_member_get(member, f->size) > f->max;
	case WIRE_V_TEXT:
		((struct wire_text *)member)->len = f->max + 1;
		return true;
	case WIRE_V_BYTES:
		((struct wire_bytes *)member)->len = f->max + 1;
		return true;
	case WIRE_V_LIST:
	case WIRE_V_TEXTS:
	case WIRE_V_INFO:
		memcpy((char *)m + f->at2, &n, sizeof n);
		return true;
	default:
		return false;
	}
}

LOOP_TEST(message_beyond_a_limit_is_not_sent, 0, SAMPLE_TYPES)
{
	const struct wire_layout *l = wire_layout(sample_types[_i]);
	struct wire_msg m;
	size_t i;

	for (i = 0; i < l->nfields; i++) {
		const struct wire_field *f = &l->fields[i];

		sample_get_some(sample_types[_i], &m);
		if (set_beyond(&m, f))
			refuses(&m, f->name);
		sample_get_some(sample_types[_i], &m);
		if (f->kind == WIRE_V_INFO) {
			((struct wire_info *)(void *)((char *)&m + f->at))
			    ->name.len = WIRE_INFO_NAME_MAX + 1;
			refuses(&m, f->name);
		} else if (f->kind == WIRE_V_TEXTS) {
			((struct wire_text *)(void *)((char *)&m + f->at))
			    ->len = WIRE_TEXT_MAX + 1;
			refuses(&m, f->name);
		}
	}
}

/* --- what is refused, and what is not ----------------------------------- */

LOOP_TEST(shape_without_a_message_is_refused, 0, BASE_NELEM(sample_wrong))
{
	size_t len = sample_raw_get(&sample_wrong[_i], frame);
	struct wire_msg m = { .type = 99 };

	ck_assert_msg(wire_decode_copy(frame, len, &m) == -EBADMSG, "%s",
	    sample_wrong[_i].name);
	ck_assert_uint_eq(m.type, 99);
}

LOOP_TEST(unknown_type_can_be_answered, 0, BASE_NELEM(sample_unknown))
{
	size_t len = sample_raw_get(&sample_unknown[_i], frame);
	struct wire_msg m;

	ck_assert_int_eq(wire_decode_copy(frame, len, &m), -ENOMSG);
	ck_assert_uint_eq(m.id, 1);
	ck_assert_int_eq(wire_encode(&m, frame, sizeof frame, &len), -EINVAL);
}

CASE("Core");

LOOP_TEST(unknown_key_is_skipped, 0, BASE_NELEM(sample_edges))
{
	/* The first 14 bytes are a HELLO: the rest is a key of no meaning. */
	size_t len = sample_raw_get(&sample_edges[_i], frame);
	struct wire_msg m;

	ck_assert_msg(wire_decode_copy(frame, len, &m) == 0, "%s",
	    sample_edges[_i].name);
	ck_assert_uint_eq(m.hello.min, 1);
	ck_assert_uint_eq(m.hello.roles, 1);
	ck_assert_uint_eq(m.hello.client.len, 1);
	ck_assert_mem_eq(m.hello.client.s, "x", 1);
}

TEST(key_without_must_may_be_absent)
{
	const struct sample_raw stats = {
		.head = "a5000b010104000b010794", .fill = "05", .times = 20,
	};
	size_t len = sample_raw_get(&stats, frame);
	struct wire_msg m;

	ck_assert_int_eq(wire_decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_FIRST - 1], 5);
	ck_assert_uint_eq(m.stats.comm.len, 0);
	ck_assert_int_eq(m.stats.status, 0);
}

TEST(numbers_of_a_later_version_are_skipped)
{
	const struct sample_raw stats = {
		.head = "a5000b010104000b01079840", .fill = "05", .times = 62,
		.tail = "8101f6",
	};
	size_t len = sample_raw_get(&stats, frame);
	struct wire_msg m;

	ck_assert_int_eq(wire_decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_COUNT - 1], 5);
	ck_assert_uint_eq(m.stats.sent, WIRE_STATS_COUNT);
}

TEST(numbers_that_an_earlier_version_does_not_have_are_0)
{
	const struct sample_raw stats = {
		.head = "a5000b010104000b010794", .fill = "05", .times = 20,
	};
	size_t len = sample_raw_get(&stats, frame);
	struct wire_msg m;

	ck_assert_int_eq(wire_decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_FIRST], 0);
	ck_assert_uint_eq(m.stats.n[WIRE_STATS_COUNT - 1], 0);
	ck_assert_uint_eq(m.stats.sent, WIRE_STATS_FIRST);
	frame[10]--;	/* 19 numbers, then a byte too many */
	ck_assert_int_eq(wire_decode_copy(frame, len - 1, &m), -EBADMSG);
}

TEST(loss_of_unknown_cause_is_still_counted)
{
	const struct sample_raw data = {
		/* {0: [1, true], 1: [2, true], 9: [3, true], 200: [4, false]} */
		.head = "a8000501010600070009000a0008400ba4"
		    "008201f5" "018202f5" "098203f5" "18c88204f4",
	};
	size_t len = sample_raw_get(&data, frame);
	struct wire_msg m;

	ck_assert_int_eq(wire_decode_copy(frame, len, &m), 0);
	ck_assert_uint_eq(m.data.lost[0].count, 8);
	ck_assert(!m.data.lost[0].exact);
	ck_assert_uint_eq(m.data.lost[1].count, 2);
	ck_assert(m.data.lost[1].exact);
}

TEST(losses_beyond_64_bits_are_not_exact)
{
	const struct sample_raw data = {
		.head = "a8000501010600070009000a0008400ba2"
		    "00821bfffffffffffffffff5" "098201f5",
	};
	size_t len = sample_raw_get(&data, frame);
	struct wire_msg m;

	ck_assert_int_eq(wire_decode_copy(frame, len, &m), 0);
	ck_assert(m.data.lost[0].count == UINT64_MAX);
	ck_assert(!m.data.lost[0].exact);
}

TEST(no_loss_is_not_sent)
{
	struct wire_msg m;
	size_t len;

	sample_get_some(WIRE_DATA, &m);
	memset(m.data.lost, 0, sizeof m.data.lost);
	len = encoded(&m, frame);
	m.data.lost[1].exact = true;
	ck_assert_uint_eq(encoded(&m, again), len);
	ck_assert_mem_eq(frame, again, len);
}

#define BREAKS(type_, member, value) \
	do { \
		struct wire_msg m; \
		sample_get_most(type_, &m); \
		m.member = (value); \
		refuses(&m, #member); \
	} while (0)

CASE("Errors");

TEST(message_that_does_not_agree_with_itself_is_not_sent)
{
	refuses(&(struct wire_msg) { .type = UINT32_MAX }, "type");
	BREAKS(WIRE_HELLO, hello.max, 0);
	BREAKS(WIRE_DATA, data.records.len, WIRE_READ_MAX * 32 - 1);
	BREAKS(WIRE_DATA, data.offsets.len, 4);
	BREAKS(WIRE_DATA, data.info[3].at, WIRE_READ_MAX);
	BREAKS(WIRE_PART, part.count, WIRE_READ_MAX - 1);
	BREAKS(WIRE_PART, part.info[127].at, WIRE_READ_MAX);
	BREAKS(WIRE_TYPED, typed.types.len, WIRE_TYPED_SIZE + 1);
	BREAKS(WIRE_SITED, sited.n, WIRE_SYMS_MAX - 1);
	BREAKS(WIRE_SITED, sited.sites.len, 6 + 64 * 8 + 1);
	BREAKS(WIRE_FRAMED, framed.n, 0);
	BREAKS(WIRE_FRAMED, framed.words.len, 17);
	BREAKS(WIRE_ROWS, rows.count, WIRE_WINDOW_MAX - 1);
	BREAKS(WIRE_ROWS, rows.who.len, 1);
	BREAKS(WIRE_ROWS, rows.ninfo, WIRE_INFO_MAX - 1);
	BREAKS(WIRE_ROWS, rows.info[127].at, WIRE_WINDOW_MAX);
	BREAKS(WIRE_LPUT, lput.part, 0x100);
	BREAKS(WIRE_LPUT, lput.parts, WIRE_LISTING_PARTS - 1);
	BREAKS(WIRE_LPUT, lput.at, WIRE_LISTING_PART);
	BREAKS(WIRE_LPUT, lput.at, 0);	/* a sum before the last bytes */
	BREAKS(WIRE_LPUT, lput.sha256.len, WIRE_SHA256 - 1);
	BREAKS(WIRE_LGOT, lgot.at, 0);	/* a sum before the last bytes */
	BREAKS(WIRE_LGOT, lgot.sha256.len, WIRE_SHA256 - 1);
	BREAKS(WIRE_REGIONED, regioned.regions.len, WIRE_REGION_SIZE + 1);
	BREAKS(WIRE_MARKED, marked.marks.len, WIRE_MARK_SIZE + 1);
}

CASE("Core");

LOOP_TEST(packed_region_comes_back_the_same, 0, 3)
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

LOOP_TEST(packed_mark_comes_back_the_same, 0, 3)
{
	struct wire_named_mark m, full = { UINT64_MAX, INT64_MAX, INT64_MIN, 1,
		UINT64_MAX, 2, 3, 4, 5, true, "", "" };
	const struct wire_named_mark marks[] = { { .seq = 7, .ms = -8,
	    .wall_ms = 1795781007000, .blocks = 1, .bytes = 2, .est_blocks = 3,
	    .est_bytes = 4, .lost = 5, .full = 6, .name = "deploy-42",
	    .who = "0590 linac-a, anna" }, { .seq = 0 }, full };
	uint8_t packed[WIRE_MARK_SIZE];

	if (_i == 2)
		memset(full.name, 'n', WIRE_MARK_NAME);
	wire_named_mark_put(packed, _i == 2 ? &full : &marks[_i]);
	memset(&m, 0xff, sizeof m);
	wire_named_mark_get(&m, packed);
	ck_assert_uint_eq(m.seq, marks[_i].seq);
	ck_assert_int_eq(m.ms, marks[_i].ms);
	ck_assert_int_eq(m.wall_ms, marks[_i].wall_ms);
	ck_assert_uint_eq(m.bytes, marks[_i].bytes);
	ck_assert_uint_eq(m.full, marks[_i].full);
	ck_assert_int_eq(m.by_target, marks[_i].by_target);
	ck_assert_str_eq(m.name, _i == 2 ? full.name : marks[_i].name);
	ck_assert_str_eq(m.who, marks[_i].who);
}

TEST(name_that_is_no_utf8_does_not_spoil_its_message)
{
	struct wire_msg out, m;
	size_t len;

	sample_get_some(WIRE_STATS, &m);
	m.stats.comm = wire_text("a\xff" "b\xc3");
	len = encoded(&m, frame);
	ck_assert_int_eq(wire_decode_copy(frame + 4, len - 4, &out), 0);
	ck_assert_uint_eq(out.stats.comm.len, 4);
	ck_assert_mem_eq(out.stats.comm.s, "a?b?", 4);
}

TEST(long_text_is_clipped_between_characters)
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

LOOP_TEST(keys_of_a_message_are_distinct, 0, SAMPLE_TYPES)
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
TEST(stored_messages_mean_what_they_meant)
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
		err = wire_decode_copy(frame, len, &m);
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
	}
	closedir(d);
	ck_assert_uint_ge(good, 2 * SAMPLE_TYPES);
}

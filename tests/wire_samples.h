/*
 * Messages and bytes that the tests of the wire share with its fuzz corpus.
 *
 * Vocabulary
 *	some	a message of a type with something in every field.
 *	most	every field at its limit.
 *	zero	nothing set but the type.
 *	raw	bytes that no encoder of ours writes: a head, something
 *		repeated, a tail, each in hexadecimal.
 *
 * Values come from wire.def; only what one field cannot say of another is
 * written here by hand (sample_agree_some, sample_agree_most).
 */
#ifndef TESTS_WIRE_SAMPLES_H
#define TESTS_WIRE_SAMPLES_H

#include <stdio.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/stream/record.h"
#include "../src/stream/ring.h"
#include "../src/stream/wire/table.h"

#define SAMPLE_FRAME_MAX (WIRE_LENGTH_SIZE + WIRE_REPLY_MAX)

static const uint32_t sample_types[] = {
#define REQUEST(NAME, ...) WIRE_##NAME,
#define REPLY(NAME, ...) WIRE_##NAME,
#include "../src/stream/wire/wire.def"
};

#define SAMPLE_TYPES (sizeof sample_types / sizeof sample_types[0])

/* 63 characters of four bytes, one of two and one of one: 255 bytes. */
#define FOUR_BYTES "\xf4\x8f\xbf\xbf"
#define SEVEN(s) s s s s s s s
#define NINE(s) s s s s s s s s s
static const char sample_text[] = SEVEN(NINE(FOUR_BYTES)) "\xc3\xbf" "x";
static const struct wire_text sample_full_text = { sample_text, WIRE_TEXT_MAX };
static uint8_t sample_bytes[WIRE_PACKED_MAX];
static uint8_t sample_who[WIRE_WINDOW_MAX];

/* --- values of a field ---------------------------------------------------- */

static inline uint64_t
sample_limit(const struct wire_field *f)
{
	uint64_t fits = f->size >= 8 ? UINT64_MAX :
	    (UINT64_C(1) << 8 * f->size) - 1;

	return f->kind == WIRE_V_UINT && f->max < fits ? f->max : fits;
}

/* The i-th of `most`: at its limit; else one that has any number of bytes. */
static inline uint64_t
sample_number(const struct wire_field *f, size_t i, bool most)
{
	uint64_t limit = sample_limit(f);

	if (most)
		return limit;
	if (limit <= 255)
		return (limit + 1) / 2;
	return (limit >> (f->key * 3 % (8 * f->size - 8))) / 3 + 1 + i;
}

static inline void
sample_set_info(struct wire_info *info, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		info[i] = (struct wire_info) { .at = (uint32_t)i,
			.node = UINT16_MAX };
		if (i % 2 != 0)
			info[i] = (struct wire_info) { .at = (uint32_t)i,
				.name = { sample_text, WIRE_INFO_NAME_MAX } };
	}
}

static inline void
sample_set_lost(struct wire_lost *lost, size_t n, bool most)
{
	for (size_t i = 0; i < n; i++)
		if (most || i % 3 == 1)
			lost[i] = (struct wire_lost) {
				most ? UINT64_MAX : 11 * i, i % 2 == 0 };
}

static inline void
sample_set_field(struct wire_msg *m, const struct wire_field *f, bool most)
{
	char *member = (char *)m + f->at, *second = (char *)m + f->at2;
	struct wire_text text = most ? sample_full_text : wire_text(f->name);
	size_t n = most ? f->n : 2;
	uint64_t v = sample_number(f, 0, most);

	switch (f->kind) {
	case WIRE_V_UINT:
	case WIRE_V_OR_LAST:
		wire_member_set(member, f->size, v);
		return;
	case WIRE_V_INT:
		/* The lowest is -1 less the highest. */
		v = most ? v >> 1 : UINT64_C(10000) + f->key;
		wire_member_set(member, f->size, f->key % 2 == 0 ? v : ~v);
		return;
	case WIRE_V_BOOL:
		*(bool *)member = true;
		return;
	case WIRE_V_TEXT:
		memcpy(member, &text, sizeof text);
		return;
	case WIRE_V_BYTES:
		*(struct wire_bytes *)(void *)member = (struct wire_bytes) {
			sample_bytes, most || f->max < 9 ? f->max : 9 };
		return;
	case WIRE_V_ID:
		memset(member, most ? 255 : f->key, f->size);
		return;
	case WIRE_V_UINTS:
		for (size_t i = 0; i < f->n; i++)
			wire_member_set(member + i * f->size, f->size,
			    most ? v : 1 + 70 * i);
		return;
	case WIRE_V_LIST:
		for (size_t i = 0; i < n; i++)
			wire_member_set(member + i * f->size, f->size,
			    sample_number(f, i, false));
		break;
	case WIRE_V_TEXTS:
		/* The second of two is empty. */
		for (size_t i = 0; i < n && (most || i == 0); i++)
			((struct wire_text *)(void *)member)[i] = text;
		break;
	case WIRE_V_INFO:
		sample_set_info((void *)member, n);
		break;
	case WIRE_V_LOST:
		sample_set_lost((void *)member, f->n, most);
		return;
	}
	memcpy(second, &n, sizeof n);
}

/* --- what one field says of another --------------------------------------- */

/* Stacks and words with every member at its limit. */
static inline void
sample_get_stack(struct wire_stack *st)
{
	size_t i;

	*st = (struct wire_stack) { .site = UINT32_MAX,
		.depth = RING_STACK_MAX, .end = RING_END_STUCK };
	for (i = 0; i < RING_STACK_MAX; i++)
		st->frame[i] = UINT64_MAX - i;
}

static inline void
sample_get_words(struct wire_words *w)
{
	size_t i;

	*w = (struct wire_words) { .frame = UINT64_MAX,
		.known = WIRE_KNOWN - 1, .fetching = true,
		.offset = UINT64_MAX, .module = sample_full_text,
		.n = WIRE_INLINES_MAX };
	for (i = 0; i < WIRE_INLINES_MAX; i++)
		w->line[i] = (struct wire_inline) {
			.function = sample_full_text, .file = sample_full_text,
			.line = UINT32_MAX };
}

/* As many stacks as one message may have; as many words as it has room for. */
static inline void
sample_pack_most(struct wire_msg *m)
{
	static uint8_t packed[WIRE_PACKED_MAX];
	struct wire_stack st;
	struct wire_words w;
	size_t i, len = 0;

	if (m->type == WIRE_SITED) {
		sample_get_stack(&st);
		for (i = 0; i < WIRE_SYMS_MAX; i++)
			wire_sited_put(packed, sizeof packed, &len, &st);
		m->sited.sites = (struct wire_bytes) { packed, len };
	} else {
		sample_get_words(&w);
		for (m->framed.n = 0; wire_framed_put(packed, sizeof packed,
		    &len, &w); )
			m->framed.n++;
		m->framed.words = (struct wire_bytes) { packed, len };
		/* Both together have the room of the words alone. */
		m->framed.types.len = 0;
	}
}

static const struct wire_stack sample_stacks[] = {
	{ .site = 1, .depth = 2, .end = RING_END_DEPTH,
	    .frame = { 0x0001000000401199, 0x00027f2211122390 } },
	{ .site = 70000 },
};

static const struct wire_words sample_words[] = {
	{ .frame = 0x0001000000401199, .known = WIRE_K_LINE, .fetching = true,
	    .offset = 0x1199, .module = { "/bin/", 5 }, .n = 2, .line = {
		{ { "max", 3 }, { "a.h", 3 }, 7 },
		{ { "main", 4 }, { NULL, 0 }, 0 } } },
	{ .frame = 0x7f2211122390, .known = WIRE_K_NO_MODULE },
};

static inline void
sample_pack_some(struct wire_msg *m)
{
	static uint8_t packed[256], types[64];
	size_t i, len = 0, told = 0;

	for (i = 0; i < 2 && m->type == WIRE_SITED; i++)
		wire_sited_put(packed, sizeof packed, &len, &sample_stacks[i]);
	for (i = 0; i < 2 && m->type == WIRE_FRAMED; i++)
		wire_framed_put(packed, sizeof packed, &len, &sample_words[i]);
	if (m->type == WIRE_SITED) {
		m->sited.n = 2;
		m->sited.sites = (struct wire_bytes) { packed, len };
	} else {
		m->framed.n = 2;
		m->framed.words = (struct wire_bytes) { packed, len };
		wire_told_put(types, sizeof types, &told, 1,
		    &(struct wire_words){ .type = wire_text("app::Row"),
			.type_from = WIRE_TYPE_TEMPLATE });
		m->framed.types = (struct wire_bytes) { types, told };
	}
}

/* Two records or blocks of each, and pieces that lie at the end of a part. */
static inline void
sample_agree_some(struct wire_msg *m)
{
	static const uint8_t who[] = { 2, 1 };

	switch (m->type) {
	case WIRE_DATA:
		m->data.count = 2;
		m->data.records.len = 2 * REC_WIDE_SIZE;
		m->data.offsets.len = 2 * 4;
		break;
	case WIRE_PART:
		m->part.count = 2;
		m->part.blocks.len = 2 * (REC_CLASSIC_SIZE + WIRE_BLOCK_TAIL);
		break;
	case WIRE_ROWS:
		m->rows.count = 2;
		m->rows.blocks.len = 2 * (REC_WIDE_SIZE + WIRE_BLOCK_TAIL);
		m->rows.who = (struct wire_bytes) { who, sizeof who };
		break;
	case WIRE_LPUT:
		m->lput.at = m->lput.total - (uint32_t)m->lput.bytes.len;
		m->lput.sha256.len = WIRE_SHA256;
		break;
	case WIRE_LGOT:
		m->lgot.at = m->lgot.size - (uint32_t)m->lgot.bytes.len;
		m->lgot.sha256.len = WIRE_SHA256;
		break;
	case WIRE_TYPED:
		m->typed.types.len = WIRE_TYPED_SIZE;
		break;
	case WIRE_REGIONED:
		m->regioned.regions.len = WIRE_REGION_SIZE;
		break;
	case WIRE_MARKED:
		m->marked.marks.len = WIRE_MARK_SIZE;
		break;
	case WIRE_USED:
		m->used.rows.len = WIRE_USAGE_SIZE;
		break;
	case WIRE_TOUCHED:
		m->touched.counters = 2;
		m->touched.rows.len = 2 * WIRE_TOUCH_ROW(2);
		m->touched.ranges.len = WIRE_TOUCH_RANGE;
		break;
	case WIRE_MEMORIES:
		m->memories.rows.len = WIRE_MEMORY_SIZE;
		break;
	case WIRE_SITED:
	case WIRE_FRAMED:
		sample_pack_some(m);
		break;
	default:
		break;
	}
}

static inline void
sample_agree_most(struct wire_msg *m)
{
	switch (m->type) {
	case WIRE_ROWS:
		memset(sample_who, WIRE_INFO_MAX, sizeof sample_who);
		m->rows.who.p = sample_who;
		break;
	case WIRE_LPUT:
		m->lput.at = m->lput.total - (uint32_t)m->lput.bytes.len;
		break;
	case WIRE_LGOT:
		m->lgot.at = m->lgot.size - (uint32_t)m->lgot.bytes.len;
		break;
	case WIRE_TOUCHED:
		m->touched.rows.len -= m->touched.rows.len %
		    WIRE_TOUCH_ROW(WIRE_TOUCH_COUNTERS);
		break;
	case WIRE_SITED:
	case WIRE_FRAMED:
		sample_pack_most(m);
		break;
	default:
		break;
	}
}

static inline void
sample_get(uint32_t type, bool most, struct wire_msg *m)
{
	const struct wire_layout *l = wire_layout(type);
	size_t i;

	if (sample_bytes[1] == 0)
		for (i = 0; i < sizeof sample_bytes; i++)
			sample_bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	*m = (struct wire_msg) { .type = type,
		.id = most ? UINT32_MAX : 70000 + type };
	for (i = 0; i < l->nfields; i++)
		sample_set_field(m, &l->fields[i], most);
	if (most)
		sample_agree_most(m);
	else
		sample_agree_some(m);
}

static inline void
sample_get_some(uint32_t type, struct wire_msg *m)
{
	sample_get(type, false, m);
}

static inline void
sample_get_most(uint32_t type, struct wire_msg *m)
{
	sample_get(type, true, m);
}

/* --- raw bytes ---------------------------------------------------------- */

struct sample_raw {
	const char *name;
	const char *head, *fill;
	unsigned times;
	const char *tail;
};

/* HELLO with one key more, of which the value follows. */
#define HELLO_AND "a600000101028201010361780401"
#define IN_HELLO HELLO_AND "18c8"

/* Wrong shapes: refused before libcbor sees them. */
static const struct sample_raw sample_bombs[] = {
	{ .name = "nothing", .head = "" },
	{ .name = "array-claims-2-gib", .head = "9a0fffffff" },
	{ .name = "map-claims-2-gib", .head = "ba07ffffff" },
	{ .name = "array-claims-2-gib-inside", .head = IN_HELLO "9a0fffffff" },
	{ .name = "map-claims-2-gib-inside", .head = IN_HELLO "ba07ffffff" },
	{ .name = "map-count-times-two-wraps", .head = IN_HELLO "ba80000001" },
	{ .name = "arrays-claim-1-mib-each", .head = IN_HELLO,
	    .fill = "9a00020000", .times = 100 },
	{ .name = "arrays-nested-200", .head = IN_HELLO, .fill = "81",
	    .times = 200 },
	{ .name = "maps-nested-200", .head = IN_HELLO, .fill = "a100",
	    .times = 200 },
	{ .name = "array-2-32-plus-1", .head = IN_HELLO "9b0000000100000001",
	    .tail = "00" },
	{ .name = "map-2-32-plus-1", .head = IN_HELLO "bb0000000100000001",
	    .tail = "0000" },
	{ .name = "bytes-2-32-plus-2", .head = IN_HELLO "5b0000000100000002",
	    .tail = "0000" },
	{ .name = "text-2-32-plus-2", .head = IN_HELLO "7b0000000100000002",
	    .tail = "6161" },
	{ .name = "outer-map-2-32-plus-1", .head = "bb0000000100000001",
	    .tail = "0000" },
	{ .name = "array-short-in-8-bytes", .head = IN_HELLO
	    "9b0000000000000001", .tail = "00" },
	{ .name = "bytes-claim-2-gib", .head = IN_HELLO "5a7fffffff" },
	{ .name = "bytes-claim-one-too-many", .head = IN_HELLO "430000" },
	{ .name = "text-claims-4-gib", .head = IN_HELLO "7affffffff" },
	{ .name = "indefinite-array", .head = IN_HELLO "9f00ff" },
	{ .name = "indefinite-map", .head = IN_HELLO "bf0000ff" },
	{ .name = "indefinite-bytes", .head = IN_HELLO "5f4100ff" },
	{ .name = "indefinite-text", .head = IN_HELLO "7f6161ff" },
	{ .name = "indefinite-outer-map", .head = "bf00000101ff" },
	{ .name = "break-alone", .head = IN_HELLO "ff" },
	{ .name = "duplicate-key", .head = HELLO_AND "0401" },
	{ .name = "duplicate-type", .head = HELLO_AND "0000" },
	{ .name = "duplicate-key-in-a-longer-form", .head = HELLO_AND
	    "1b000000000000000401" },
	{ .name = "duplicate-key-inside", .head = IN_HELLO "a203000300" },
	{ .name = "duplicate-key-255", .head =
	    "a70000010102820101036178040118ff0018ff00" },
	{ .name = "duplicate-cause", .head =
	    "a8000501010600070009000a0008400ba2" "018201f5" "018201f5" },
	{ .name = "cause-256", .head =
	    "a8000501010600070009000a0008400ba1" "1901008201f5" },
	{ .name = "depth-5-in-later-numbers", .head =
	    "a5000b010104000b0107982e", .fill = "05", .times = 45,
	    .tail = "81818100" },
	{ .name = "key-256", .head = HELLO_AND "19010000" },
	{ .name = "key-256-inside", .head = IN_HELLO "a119010000" },
	{ .name = "key-2-64", .head = HELLO_AND "1bffffffffffffffff00" },
	{ .name = "key-negative", .head = HELLO_AND "2000" },
	{ .name = "key-text", .head = HELLO_AND "616100" },
	{ .name = "key-bytes", .head = HELLO_AND "416100" },
	{ .name = "key-array", .head = HELLO_AND "8000" },
	{ .name = "key-null", .head = HELLO_AND "f600" },
	{ .name = "utf8-continuation-alone", .head = IN_HELLO "6180" },
	{ .name = "utf8-cut-short", .head = IN_HELLO "62e282" },
	{ .name = "utf8-overlong-nul", .head = IN_HELLO "62c080" },
	{ .name = "utf8-overlong-slash", .head = IN_HELLO "63e080af" },
	{ .name = "utf8-surrogate", .head = IN_HELLO "63eda080" },
	{ .name = "utf8-beyond-unicode", .head = IN_HELLO "64f4908080" },
	{ .name = "utf8-five-bytes", .head = IN_HELLO "65f888808080" },
	{ .name = "utf8-ff", .head = IN_HELLO "61ff" },
	{ .name = "items-513", .head = IN_HELLO "9901f2", .fill = "00",
	    .times = 498 },
	{ .name = "depth-5", .head = IN_HELLO "8181818100" },
	{ .name = "depth-5-maps", .head = IN_HELLO "a100a100a100a10000" },
	{ .name = "text-256", .head = IN_HELLO "790100", .fill = "61",
	    .times = 256 },
	{ .name = "trailing-byte", .head = IN_HELLO "00", .tail = "00" },
	{ .name = "two-maps", .head = IN_HELLO "00", .tail = "a0" },
	{ .name = "value-missing", .head = HELLO_AND "18c8" },
	{ .name = "pair-missing", .head = HELLO_AND },
	{ .name = "float-half", .head = IN_HELLO "f93c00" },
	{ .name = "float-single", .head = IN_HELLO "fa3f800000" },
	{ .name = "float-double", .head = IN_HELLO "fb3ff0000000000000" },
	{ .name = "tag-time", .head = IN_HELLO "c100" },
	{ .name = "tag-in-8-bytes", .head = IN_HELLO "dbffffffffffffffff00" },
	{ .name = "undefined", .head = IN_HELLO "f7" },
	{ .name = "simple-unassigned", .head = IN_HELLO "e0" },
	{ .name = "simple-in-a-byte", .head = IN_HELLO "f8ff" },
	{ .name = "simple-false-in-a-byte", .head = IN_HELLO "f814" },
	{ .name = "reserved-uint-28", .head = IN_HELLO "1c" },
	{ .name = "reserved-negative-30", .head = IN_HELLO "3e" },
	{ .name = "reserved-uint-31", .head = IN_HELLO "1f" },
	{ .name = "reserved-bytes-28", .head = IN_HELLO "5c" },
	{ .name = "reserved-text-29", .head = IN_HELLO "7d" },
	{ .name = "reserved-array-30", .head = IN_HELLO "9e" },
	{ .name = "reserved-map-28", .head = IN_HELLO "bc" },
	{ .name = "uint-cut-short", .head = IN_HELLO "1b00000000000000" },
	{ .name = "outermost-array", .head = "820000" },
	{ .name = "outermost-number", .head = "00" },
	{ .name = "outermost-text", .head = "6161" },
};

/* Just within the shape; all but the last of them a HELLO. */
static const struct sample_raw sample_edges[] = {
	{ .name = "items-512", .head = IN_HELLO "9901f1", .fill = "00",
	    .times = 497 },
	{ .name = "depth-4", .head = IN_HELLO "81818100" },
	{ .name = "depth-4-empty-map", .head = IN_HELLO "8181a0" },
	{ .name = "text-255", .head = IN_HELLO "78ff", .fill = "61",
	    .times = 255 },
	{ .name = "text-nul", .head = IN_HELLO "6100" },
	{ .name = "text-last-character", .head = IN_HELLO "64f48fbfbf" },
	{ .name = "text-length-in-4-bytes", .head = IN_HELLO "7a0000000161" },
	{ .name = "number-in-8-bytes", .head = IN_HELLO "1b0000000000000001" },
	{ .name = "negative-2-64", .head = IN_HELLO "3bffffffffffffffff" },
	{ .name = "key-255-in-8-bytes", .head = HELLO_AND
	    "1b00000000000000ff00" },
	{ .name = "same-key-in-two-maps", .head = IN_HELLO "82a10000a10000" },
	{ .name = "false", .head = IN_HELLO "f4" },
	{ .name = "null", .head = IN_HELLO "f6" },
	{ .name = "bytes-300", .head = IN_HELLO "59012c", .fill = "ff",
	    .times = 300 },
	{ .name = "keys-in-another-order", .head =
	    "a504010361780282010101010000" },
	{ .name = "counts-in-longer-forms", .head =
	    "ba0000000500000101029a0000000201010361780401" },
};

/*
 * A right shape, and yet no message; for what wire.def says of one field see
 * check_wire.c.
 */
static const struct sample_raw sample_wrong[] = {
	{ .name = "empty-map", .head = "a0" },
	{ .name = "no-type", .head = "a10101" },
	{ .name = "no-id", .head = "a10012" },
	{ .name = "type-text", .head = "a20061780101" },
	{ .name = "type-2-32", .head = "a2001b00000001000000000101" },
	{ .name = "id-2-32", .head = "a20012011b0000000100000000" },
	{ .name = "id-negative", .head = "a200120120" },
	{ .name = "hello-one-version", .head = "a5000001010281010361780401" },
	{ .name = "hello-min-above-max", .head =
	    "a500000101028202010361780401" },
	{ .name = "data-one-byte-short", .head = "a70005010106000701" "09000a00"
	    "084f", .fill = "00", .times = 15 },
	{ .name = "data-count-too-small", .head = "a70005010106000701"
	    "09000a00" "085830", .fill = "00", .times = 48 },
	{ .name = "data-bytes-without-count", .head = "a70005010106000700"
	    "09000a00" "0850", .fill = "00", .times = 16 },
	{ .name = "data-offsets-of-3", .head = "a80005010106000701" "09000a00"
	    "0850", .fill = "00", .times = 16, .tail = "0e43000000" },
	{ .name = "data-info-odd", .head = "a80005010106000701" "09000a00"
	    "0850", .fill = "00", .times = 16, .tail = "0d8100" },
	{ .name = "data-info-beside-nothing", .head = "a80005010106000701"
	    "09000a00" "0850", .fill = "00", .times = 16, .tail = "0d820101" },
	{ .name = "data-info-name-empty", .head = "a80005010106000701"
	    "09000a00" "0850", .fill = "00", .times = 16, .tail = "0d820060" },
	{ .name = "data-lost-of-three", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0ba1018301f500" },
	{ .name = "data-lost-exact-1", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0ba101820101" },
	{ .name = "data-lost-array", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0b820101" },
	{ .name = "data-now-2-63", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0f1b8000000000000000" },
	{ .name = "data-now-minus-2-63-minus-1", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0f3b8000000000000000" },
	{ .name = "part-classic-without-tail", .head =
	    "a90007010106010701" "09f6" "0a000b010e01" "0850",
	    .fill = "00", .times = 16 },
	{ .name = "stats-19-numbers", .head = "a5000b0101" "04000b0107" "93",
	    .fill = "00", .times = 19 },
	{ .name = "stats-a-number-is-text", .head = "a5000b0101" "04000b0107"
	    "94", .fill = "00", .times = 19, .tail = "6100" },
	{ .name = "stats-status-2-31", .head = "a6000b0101" "04000b01"
	    "051a80000000" "0794", .fill = "00", .times = 20 },
	{ .name = "syms-a-name-is-a-number", .head = "a4000e0101" "0400"
	    "068101" },
	{ .name = "typed-of-49", .head = "a400100101" "0400" "085831",
	    .fill = "00", .times = 49 },
	{ .name = "sited-one-byte-short", .head = "a500140101" "0400" "0701"
	    "084d" "01000000" "01" "01", .fill = "00", .times = 7 },
	{ .name = "sited-one-byte-over", .head = "a500140101" "0400" "0701"
	    "084f" "01000000" "01" "01", .fill = "00", .times = 9 },
	{ .name = "sited-more-than-n", .head = "a500140101" "0400" "0700"
	    "0846" "010000000000" },
	{ .name = "sited-less-than-n", .head = "a500140101" "0400" "0702"
	    "0846" "010000000000" },
	{ .name = "sited-depth-65", .head = "a500140101" "0400" "0701"
	    "08590210" "01000000" "41" "01", .fill = "00", .times = 522 },
	{ .name = "sited-depth-255-of-nothing", .head = "a500140101" "0400"
	    "0701" "0846" "01000000" "ff" "01" },
	{ .name = "sited-end-unknown", .head = "a500140101" "0400" "0701"
	    "0846" "01000000" "00" "07" },
	{ .name = "rows-of-a-byte", .head = "a800181a0101" "06000700"
	    "0841000e01" "1001" "0994", .fill = "00", .times = 20 },
	{ .name = "rows-who-of-another-length", .head = "a900181a0101"
	    "06000700" "08400e00" "1001" "0c4100" "0994", .fill = "00",
	    .times = 20 },
	{ .name = "rows-who-is-not-there", .head = "a900181a0101" "06000700"
	    "0e01" "1001" "0c4101" "0994"
	    "0000000000000000000000000000000000000000" "085820",
	    .fill = "00", .times = 32 },
	{ .name = "framed-no-module", .head = "a500160101" "0400" "0701"
	    "0852", .fill = "00", .times = 18 },
	{ .name = "framed-text-claims-255", .head = "a500160101" "0400" "0701"
	    "0854", .fill = "00", .times = 18, .tail = "ff00" },
	{ .name = "framed-line-missing", .head = "a500160101" "0400" "0701"
	    "0854", .fill = "00", .times = 18, .tail = "0001" },
	{ .name = "framed-17-lines", .head = "a500160101" "0400" "0701"
	    "08587a" "000000000000000000000000000000000000" "00" "11",
	    .fill = "00", .times = 102 },
	{ .name = "framed-known-unknown", .head = "a500160101" "0400" "0701"
	    "0854" "0000000000000000" "09" "00", .fill = "00", .times = 10 },
	{ .name = "framed-flag-unknown", .head = "a500160101" "0400" "0701"
	    "0854" "0000000000000000" "00" "02", .fill = "00", .times = 10 },
	{ .name = "framed-no-utf8", .head = "a500160101" "0400" "0701"
	    "0855", .fill = "00", .times = 18, .tail = "01" "ff" "00" },
};

/* Types that this version does not know. */
static const struct sample_raw sample_unknown[] = {
	{ .name = "with-a-key", .head = "a30018f00101" "036161" },
	{ .name = "type-240", .head = "a20018f00101" },
	{ .name = "type-255", .head = "a20018ff0101" },
	{ .name = "type-2-32-minus-1", .head = "a2001affffffff0101" },
};

static inline size_t
sample_hex(const char *hex, uint8_t *out)
{
	unsigned byte;
	size_t n;

	for (n = 0; hex != NULL && hex[2 * n] != '\0'; n++) {
		sscanf(hex + 2 * n, "%2x", &byte);
		out[n] = (uint8_t)byte;
	}
	return n;
}

/* The bytes of an entry, without a frame; returns how many. */
static inline size_t
sample_raw_get(const struct sample_raw *b, uint8_t *out)
{
	size_t n = sample_hex(b->head, out);
	unsigned i;

	for (i = 0; i < b->times; i++)
		n += sample_hex(b->fill, out + n);
	return n + sample_hex(b->tail, out + n);
}

#endif

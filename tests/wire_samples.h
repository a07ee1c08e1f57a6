/*
 * Messages and bytes that the tests of the wire share with its fuzz corpus.
 *
 * Vocabulary
 *	ordinary	a message of a type as it might really be sent.
 *	largest		every member at its limit.
 *	zero		nothing set but the type.
 *	raw		bytes that no encoder of ours writes: a head, something
 *			repeated, a tail, each in hexadecimal.
 */
#ifndef TESTS_WIRE_SAMPLES_H
#define TESTS_WIRE_SAMPLES_H

#include <stdio.h>
#include <string.h>

#include "../src/stream/ring.h"
#include "../src/stream/wire/wire.h"

#define SAMPLE_FRAME_MAX (WIRE_LENGTH_SIZE + WIRE_REPLY_MAX)

static const uint32_t sample_types[] = {
	WIRE_HELLO, WIRE_WELCOME, WIRE_NAME, WIRE_NAMED, WIRE_READ, WIRE_DATA,
	WIRE_SNAP, WIRE_PART, WIRE_STAT, WIRE_STATS, WIRE_ERR, WIRE_SYM,
	WIRE_SYMS, WIRE_TYPES, WIRE_TYPED, WIRE_END, WIRE_ENDED, WIRE_SITE,
	WIRE_SITED, WIRE_FRAME, WIRE_FRAMED, WIRE_ARM, WIRE_ARMED,
	WIRE_WINDOW, WIRE_ROWS, WIRE_LIMIT, WIRE_LPUT, WIRE_LACK,
	WIRE_LISTINGS, WIRE_LISTED, WIRE_LGET, WIRE_LGOT, WIRE_REGIONS,
	WIRE_REGIONED,
};

#define SAMPLE_TYPES (sizeof sample_types / sizeof sample_types[0])

#define TEXT(s_) { .s = (s_), .len = sizeof(s_) - 1 }
#define BYTES(s_) { .p = (const uint8_t *)(s_), .len = sizeof(s_) - 1 }
#define ID "0123456789abcde\xff"

static const char sample_records[] =
    "\x28\x66\x8e\x00\x00\x00\xa1\x80\x40\x00\x00\x00\x00\x00\x07\x00"
    "\x01\x00\x00\x00\x10\x27\x00\x00\x99\x11\x40\x00\x00\x00\x01\x00"
    "\x28\x66\x8e\x00\x00\x00\xf1\x90\x00\x00\x00\x00\x00\x00\x07\x00"
    "\x02\x00\x00\x00\x53\x27\x00\x00\x9f\x11\x40\x00\x00\x00\x00\x00";

static const struct wire_msg sample_ordinary[] = {
	[WIRE_HELLO] = { .type = WIRE_HELLO, .id = 1, .hello = {
		.min = 1, .max = 1, .client = TEXT("pagek 0.1"),
		.roles = WIRE_ROLE_READ | WIRE_ROLE_CONTROL, .node = 0x0509 } },
	[WIRE_WELCOME] = { .type = WIRE_WELCOME, .id = 1, .welcome = {
		.version = 1, .node_name = TEXT("0590"),
		.node_number = 0x0590, .node_id = ID, .boot = ID,
		.roles = WIRE_ROLE_READ, .mono_ns = 88123456789,
		.utc_ns = 1794786000000000000 } },
	[WIRE_NAME] = { .type = WIRE_NAME, .id = 2, .name = {
		.table = TEXT("DSTRM"), .name = TEXT("ALLOCLOG") } },
	[WIRE_NAMED] = { .type = WIRE_NAMED, .id = 2, .named = {
		.index = 3, .epoch = ID, .format = WIRE_WIDE,
		.record_size = 32, .oldest = 1, .next = 4711,
		.address_bits = 48, .state = WIRE_S_LIVE,
		.name = TEXT("ALLOCLOG"), .entries = 4, .levels = 1 } },
	[WIRE_READ] = { .type = WIRE_READ, .id = 70000, .read = {
		.index = 3, .epoch = ID, .from = 4711, .max = 1024,
		.wait_ms = 50, .whole = true } },
	[WIRE_DATA] = { .type = WIRE_DATA, .id = 70000, .data = {
		.first = 4711, .count = 2, .next = 4728, .oldest = 12,
		.records = { (const uint8_t *)sample_records, 64 },
		.lost = { [1] = { 3, true }, [2] = { 8, false } },
		.cancelled = 4, .offsets = BYTES("\1\0\0\0\5\0\0\0"),
		.info = {
			{ .at = 0, .node = 0xab86 },
			{ .at = 1, .name = TEXT("rx-0") } },
		.ninfo = 2, .now_ms = 10067, .state = WIRE_S_LIVE } },
	[WIRE_SNAP] = { .type = WIRE_SNAP, .id = 5, .snap = {
		.index = 3, .epoch = ID, .snapshot = 9, .after_layer = 1,
		.after = 0x7fffdeadbee0, .max = 512 } },
	[WIRE_PART] = { .type = WIRE_PART, .id = 5, .part = {
		.snapshot = 9, .as_of = 4700, .count = 1,
		.blocks = { (const uint8_t *)sample_records, 48 },
		.next_layer = 1, .next = 0x8e6628, .total = 1204331,
		.since = WIRE_SINCE_START,
		.info = { { .at = 0, .name = TEXT("redis\xc3\xa9") } },
		.ninfo = 1, .now_ms = -1 } },
	[WIRE_STAT] = { .type = WIRE_STAT, .id = 6, .stat = {
		.index = UINT32_MAX } },
	[WIRE_STATS] = { .type = WIRE_STATS, .id = 6, .stats = {
		.index = 3, .pid = 4242, .comm = TEXT("redis-server"),
		.state = WIRE_S_ENDED, .status = -1,
		.reason = TEXT("its image has ended"),
		.n = { [WIRE_N_RECORDS] = 4711, [WIRE_N_HELD] = 9,
		    [WIRE_N_SITES_FULL] = 70000, [WIRE_N_WALKS] = 8 },
		.targets_live = 2, .ppid = 4241,
		.ended_ms = 1794786000123, .output = TEXT("/tmp/out.1"),
		.socket = TEXT("/tmp/run.1") } },
	[WIRE_ERR] = { .type = WIRE_ERR, .id = 70001, .err = {
		.code = WIRE_E_EPOCH, .text = TEXT("stale epoch"),
		.retry_ms = 250, .epoch = ID } },
	[WIRE_SYM] = { .type = WIRE_SYM, .id = 8, .sym = {
		.index = 3, .kind = WIRE_SYM_THREAD,
		.addr = { 1, 65535 }, .n = 2 } },
	[WIRE_SYMS] = { .type = WIRE_SYMS, .id = 8, .syms = {
		.index = 3, .kind = WIRE_SYM_THREAD,
		.name = { TEXT("rx-0"), { .len = 0 } }, .n = 2 } },
	[WIRE_TYPES] = { .type = WIRE_TYPES, .id = 9, .types = {
		.index = 3 } },
	[WIRE_TYPED] = { .type = WIRE_TYPED, .id = 9, .typed = {
		.index = 3,
		.types = BYTES("\x80malloc\0\0""a block from malloc"
		    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") } },
	[WIRE_END] = { .type = WIRE_END, .id = 10, .end = {
		.index = 3, .epoch = ID } },
	[WIRE_ENDED] = { .type = WIRE_ENDED, .id = 10 },
	[WIRE_SITE] = { .type = WIRE_SITE, .id = 11, .site = {
		.index = 3, .epoch = ID, .site = { 1, 70000 }, .n = 2 } },
	[WIRE_SITED] = { .type = WIRE_SITED, .id = 11, .sited = {
		.index = 3, .n = 2, .sites = BYTES(
		    "\x01\0\0\0" "\x02" "\x01"
		    "\x99\x11\x40\0\0\0" "\x01\0"
		    "\x90\x23\x12\x11\x22\x7f" "\x02\0"
		    "\x70\x11\x01\0" "\0" "\0") } },
	[WIRE_FRAME] = { .type = WIRE_FRAME, .id = 12, .frame = {
		.index = 3, .epoch = ID,
		.frame = { 0x0001000000401199, 0x7f2211122390 }, .n = 2 } },
	[WIRE_FRAMED] = { .type = WIRE_FRAMED, .id = 12, .framed = {
		.index = 3, .n = 2, .fetched_kb = 812, .fetch_kb = 4096,
		.fetch = TEXT("/usr/lib/libfoo.so"), .words = BYTES(
		    "\x99\x11\x40\0\0\0" "\x01\0" "\x01" "\x01"
		    "\x99\x11\0\0\0\0\0\0" "\x05" "/bin/" "\x02"
		    "\x03" "max" "\x03" "a.h" "\x07\0\0\0"
		    "\x04" "main" "\0" "\0\0\0\0"
		    "\x90\x23\x12\x11\x22\x7f" "\0\0" "\x04" "\0"
		    "\x90\x23\x12\x11\x22\x7f\0\0" "\0" "\0") } },
	[WIRE_ARM] = { .type = WIRE_ARM, .id = 13, .arm = {
		.index = 3, .epoch = ID, .arming = WIRE_ARM_WATCH } },
	[WIRE_ARMED] = { .type = WIRE_ARMED, .id = 13 },
	[WIRE_LIMIT] = { .type = WIRE_LIMIT, .id = 0, .limit = {
		.roles = WIRE_ROLE_READ, .node = 0x0509, .away = true,
		.origin = TEXT("192.0.2.7") } },
	[WIRE_LPUT] = { .type = WIRE_LPUT, .id = 15, .lput = {
		.title = TEXT("0590 acqd[4711]"), .name = TEXT("20261121-1"),
		.part = 2, .parts = 2, .total = 9, .at = 4,
		.bytes = BYTES("00 1\n"),
		.sha256 = BYTES(ID ID) } },
	[WIRE_LACK] = { .type = WIRE_LACK, .id = 15, .lack = {
		.name = TEXT("20261121-1"), .part = 2, .stored = 9 } },
	[WIRE_LISTINGS] = { .type = WIRE_LISTINGS, .id = 16, .listings = {
		.after = TEXT("20261121-1") } },
	[WIRE_LISTED] = { .type = WIRE_LISTED, .id = 16, .listed = {
		.name = TEXT("20261121-2"), .origin = TEXT("0509 linac-b"),
		.title = TEXT("0590 acqd[4711]"), .parts = 2,
		.bytes = 1048585, .wall_ms = 1794786000123, .whole = true } },
	[WIRE_LGET] = { .type = WIRE_LGET, .id = 17, .lget = {
		.name = TEXT("20261121-2"), .part = 1, .at = 61440,
		.max = 61440 } },
	[WIRE_LGOT] = { .type = WIRE_LGOT, .id = 17, .lgot = {
		.at = 61440, .size = 61444, .bytes = BYTES("0 1\n"),
		.sha256 = BYTES(ID ID) } },
	[WIRE_REGIONS] = { .type = WIRE_REGIONS, .id = 18, .regions = {
		.index = 3, .epoch = ID } },
	[WIRE_REGIONED] = { .type = WIRE_REGIONED, .id = 18, .regioned = {
		.index = 3, .no = 2, .why = TEXT("lost"), .regions = BYTES(
		    "\0\0\x8e\0\0\0\0\0\0\0\1\0\0\0\0\0\10\0\10\0"
		    "region 1\0\0\0\0") } },
	[WIRE_WINDOW] = { .type = WIRE_WINDOW, .id = 14, .window = {
		.index = 3, .epoch = ID, .order = WIRE_BY_ADDRESS,
		.reverse = true, .offset = 70000, .max = 150, .layer = 1,
		.addr = 0x7fffdeadbee0, .seq = 4699, .before = 60 } },
	[WIRE_ROWS] = { .type = WIRE_ROWS, .id = 14, .rows = {
		.offset = 69990, .as_of = 4700, .count = 1,
		.blocks = { (const uint8_t *)sample_records, 48 },
		.who = BYTES("\1"), .info = { { .at = 0, .node = 0xab86 } },
		.ninfo = 1, .n = { [WIRE_N_RECORDS] = 4711,
		    [WIRE_N_STAY] = 4000 },
		.lost = { [1] = { 11, true } }, .now_ms = 10067,
		.state = WIRE_S_LIVE } },
};

#define U32 UINT32_MAX
#define U64 UINT64_MAX
#define FULL_TEXT { .s = sample_text, .len = WIRE_TEXT_MAX }
#define FULL_BYTES(n_) { .p = sample_bytes, .len = (n_) }
#define FULL_ID { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, \
	255, 255, 255, 255 }

/* 63 characters of four bytes, one of two and one of one: 255 bytes. */
#define FOUR_BYTES "\xf4\x8f\xbf\xbf"
#define SEVEN(s) s s s s s s s
#define NINE(s) s s s s s s s s s
static const char sample_text[] = SEVEN(NINE(FOUR_BYTES)) "\xc3\xbf" "x";
static uint8_t sample_bytes[WIRE_LISTING_BYTES];
static uint8_t sample_who[WIRE_WINDOW_MAX];

static const struct wire_msg sample_largest[] = {
	[WIRE_HELLO] = { .type = WIRE_HELLO, .id = U32, .hello = {
		.min = U32, .max = U32, .client = FULL_TEXT, .roles = U32,
		.node = UINT16_MAX } },
	[WIRE_WELCOME] = { .type = WIRE_WELCOME, .id = U32, .welcome = {
		.version = U32, .node_name = FULL_TEXT,
		.node_number = UINT16_MAX, .node_id = FULL_ID,
		.boot = FULL_ID, .roles = U32, .mono_ns = U64,
		.utc_ns = U64 } },
	[WIRE_NAME] = { .type = WIRE_NAME, .id = U32, .name = {
		.table = FULL_TEXT, .name = FULL_TEXT, .index = U32 } },
	[WIRE_NAMED] = { .type = WIRE_NAMED, .id = U32, .named = {
		.index = U32, .epoch = FULL_ID, .format = 255,
		.record_size = 255, .oldest = U64, .next = U64,
		.address_bits = 64, .state = WIRE_S_EXECED,
		.name = FULL_TEXT, .entries = U32, .levels = 1 } },
	[WIRE_READ] = { .type = WIRE_READ, .id = U32, .read = {
		.index = U32, .epoch = FULL_ID, .from = U64,
		.max = WIRE_READ_MAX, .wait_ms = WIRE_WAIT_MAX,
		.whole = true } },
	[WIRE_DATA] = { .type = WIRE_DATA, .id = U32, .data = {
		.first = U64, .count = WIRE_READ_MAX,
		.records = FULL_BYTES(WIRE_READ_MAX * 32), .next = U64,
		.oldest = U64,
		.lost = { { U64, true }, { U64, false }, { U64, true },
			{ U64, false }, { U64, true }, { U64, false },
			{ U64, true }, { U64, false } },
		.cancelled = U64, .offsets = FULL_BYTES(WIRE_READ_MAX * 4),
		.ninfo = WIRE_INFO_MAX, .now_ms = INT64_MIN,
		.state = WIRE_S_EXECED } },
	[WIRE_SNAP] = { .type = WIRE_SNAP, .id = U32, .snap = {
		.index = U32, .epoch = FULL_ID, .snapshot = U32,
		.from_start = true, .after_layer = 1, .after = U64,
		.max = WIRE_READ_MAX } },
	[WIRE_PART] = { .type = WIRE_PART, .id = U32, .part = {
		.snapshot = U32, .as_of = U64, .count = WIRE_READ_MAX,
		.blocks = FULL_BYTES(WIRE_READ_MAX * (32 + WIRE_BLOCK_TAIL)),
		.next_layer = 1, .next = U64, .total = U64,
		.since = WIRE_SINCE_UNKNOWN, .ninfo = WIRE_INFO_MAX,
		.now_ms = INT64_MAX } },
	[WIRE_STAT] = { .type = WIRE_STAT, .id = U32, .stat = {
		.index = U32 } },
	[WIRE_STATS] = { .type = WIRE_STATS, .id = U32, .stats = {
		.index = U32, .pid = U32, .comm = FULL_TEXT,
		.state = WIRE_S_EXECED, .status = INT32_MIN,
		.reason = FULL_TEXT,
		.n = { U64, U64, U64, U64, U64, U64, U64, U64, U64, U64, U64,
			U64, U64, U64, U64, U64, U64, U64 },
		.targets_live = U32, .ppid = U32, .ended_ms = INT64_MIN,
		.output = FULL_TEXT, .socket = FULL_TEXT } },
	[WIRE_ERR] = { .type = WIRE_ERR, .id = U32, .err = {
		.code = 255, .text = FULL_TEXT, .retry_ms = U32,
		.epoch = FULL_ID } },
	[WIRE_SYM] = { .type = WIRE_SYM, .id = U32, .sym = {
		.index = U32, .kind = WIRE_SYM_THREAD, .n = WIRE_SYMS_MAX } },
	[WIRE_SYMS] = { .type = WIRE_SYMS, .id = U32, .syms = {
		.index = U32, .kind = WIRE_SYM_THREAD, .n = WIRE_SYMS_MAX } },
	[WIRE_TYPES] = { .type = WIRE_TYPES, .id = U32, .types = {
		.index = U32 } },
	[WIRE_TYPED] = { .type = WIRE_TYPED, .id = U32, .typed = {
		.index = U32,
		.types = FULL_BYTES(WIRE_TYPED_MAX * WIRE_TYPED_SIZE) } },
	[WIRE_END] = { .type = WIRE_END, .id = U32, .end = {
		.index = U32, .epoch = FULL_ID } },
	[WIRE_ENDED] = { .type = WIRE_ENDED, .id = U32 },
	[WIRE_SITE] = { .type = WIRE_SITE, .id = U32, .site = {
		.index = U32, .epoch = FULL_ID, .n = WIRE_SYMS_MAX } },
	[WIRE_SITED] = { .type = WIRE_SITED, .id = U32, .sited = {
		.index = U32, .n = WIRE_SYMS_MAX } },
	[WIRE_FRAME] = { .type = WIRE_FRAME, .id = U32, .frame = {
		.index = U32, .epoch = FULL_ID, .n = WIRE_SYMS_MAX } },
	[WIRE_FRAMED] = { .type = WIRE_FRAMED, .id = U32, .framed = {
		.index = U32, .fetched_kb = U32, .fetch_kb = U32,
		.fetch = FULL_TEXT } },
	[WIRE_ARM] = { .type = WIRE_ARM, .id = U32, .arm = {
		.index = U32, .epoch = FULL_ID, .arming = WIRE_ARM_HOLD } },
	[WIRE_ARMED] = { .type = WIRE_ARMED, .id = U32 },
	[WIRE_LIMIT] = { .type = WIRE_LIMIT, .id = U32, .limit = {
		.roles = U32, .node = UINT16_MAX, .away = true,
		.origin = FULL_TEXT } },
	[WIRE_LPUT] = { .type = WIRE_LPUT, .id = U32, .lput = {
		.title = FULL_TEXT, .name = FULL_TEXT,
		.part = WIRE_LISTING_PARTS, .parts = WIRE_LISTING_PARTS,
		.total = WIRE_LISTING_PART,
		.at = WIRE_LISTING_PART - WIRE_LISTING_BYTES,
		.bytes = FULL_BYTES(WIRE_LISTING_BYTES),
		.sha256 = FULL_BYTES(WIRE_SHA256) } },
	[WIRE_LACK] = { .type = WIRE_LACK, .id = U32, .lack = {
		.name = FULL_TEXT, .part = WIRE_LISTING_PARTS,
		.stored = WIRE_LISTING_PART } },
	[WIRE_LISTINGS] = { .type = WIRE_LISTINGS, .id = U32, .listings = {
		.after = FULL_TEXT } },
	[WIRE_LISTED] = { .type = WIRE_LISTED, .id = U32, .listed = {
		.name = FULL_TEXT, .origin = FULL_TEXT, .title = FULL_TEXT,
		.parts = WIRE_LISTING_PARTS, .bytes = U64,
		.wall_ms = INT64_MIN, .whole = true } },
	[WIRE_LGET] = { .type = WIRE_LGET, .id = U32, .lget = {
		.name = FULL_TEXT, .part = WIRE_LISTING_PARTS,
		.at = WIRE_LISTING_PART, .max = WIRE_LISTING_BYTES } },
	[WIRE_LGOT] = { .type = WIRE_LGOT, .id = U32, .lgot = {
		.at = WIRE_LISTING_PART - WIRE_LISTING_BYTES,
		.size = WIRE_LISTING_PART,
		.bytes = FULL_BYTES(WIRE_LISTING_BYTES),
		.sha256 = FULL_BYTES(WIRE_SHA256) } },
	[WIRE_REGIONS] = { .type = WIRE_REGIONS, .id = U32, .regions = {
		.index = U32, .epoch = FULL_ID } },
	[WIRE_REGIONED] = { .type = WIRE_REGIONED, .id = U32, .regioned = {
		.index = U32, .no = U32, .why = FULL_TEXT,
		.regions = FULL_BYTES(WIRE_REGIONS_MAX * WIRE_REGION_SIZE) } },
	[WIRE_WINDOW] = { .type = WIRE_WINDOW, .id = U32, .window = {
		.index = U32, .epoch = FULL_ID, .order = WIRE_BY_ADDRESS,
		.reverse = true, .offset = U64, .max = WIRE_WINDOW_MAX,
		.layer = 1, .addr = U64, .seq = U64,
		.before = WIRE_WINDOW_MAX } },
	[WIRE_ROWS] = { .type = WIRE_ROWS, .id = U32, .rows = {
		.offset = U64, .as_of = U64, .count = WIRE_WINDOW_MAX,
		.blocks = FULL_BYTES(WIRE_WINDOW_MAX *
		    (32 + WIRE_BLOCK_TAIL)),
		.who = { sample_who, WIRE_WINDOW_MAX },
		.ninfo = WIRE_INFO_MAX,
		.n = { U64, U64, U64, U64, U64, U64, U64, U64, U64, U64, U64,
			U64, U64, U64, U64, U64, U64, U64, U64, U64, U64, U64,
			U64, U64, U64 },
		.lost = { { U64, true }, { U64, false }, { U64, true },
			{ U64, false }, { U64, true }, { U64, false },
			{ U64, true }, { U64, false } },
		.now_ms = INT64_MIN, .state = WIRE_S_DORMANT } },
};

static inline void
sample_fill_info(struct wire_info *info, uint32_t count)
{
	size_t i;

	for (i = 0; i < WIRE_INFO_MAX; i++) {
		info[i] = (struct wire_info) {
			.at = count - 1 - (uint32_t)i,
			.node = UINT16_MAX,
		};
		if (i % 2 != 0)
			info[i] = (struct wire_info) {
				.at = (uint32_t)i,
				.name = { sample_text, WIRE_INFO_NAME_MAX },
			};
	}
}

/* Stacks and words with every member at its limit. */
static inline void
sample_get_stack(struct wire_stack *st)
{
	size_t i;

	*st = (struct wire_stack) { .site = U32, .depth = RING_STACK_MAX,
		.end = RING_END_STUCK };
	for (i = 0; i < RING_STACK_MAX; i++)
		st->frame[i] = U64 - i;
}

static inline void
sample_get_words(struct wire_words *w)
{
	size_t i;

	*w = (struct wire_words) { .frame = U64, .known = WIRE_KNOWN - 1,
		.fetching = true, .offset = U64, .module = FULL_TEXT,
		.n = WIRE_INLINES_MAX };
	for (i = 0; i < WIRE_INLINES_MAX; i++)
		w->line[i] = (struct wire_inline) { .function = FULL_TEXT,
			.file = FULL_TEXT, .line = U32 };
}

/* As many stacks as one message may have; as many words as it has room for. */
static inline void
sample_fill_packed(struct wire_msg *m)
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
		while (wire_framed_put(packed, sizeof packed, &len, &w))
			m->framed.n++;
		m->framed.words = (struct wire_bytes) { packed, len };
	}
}

/* The largest message of a type; its arrays are too long for a table. */
static inline void
sample_get_largest(uint32_t type, struct wire_msg *m)
{
	size_t i;

	for (i = 0; i < sizeof sample_bytes; i++)
		sample_bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	*m = sample_largest[type];
	switch (type) {
	case WIRE_DATA:
		sample_fill_info(m->data.info, WIRE_READ_MAX);
		break;
	case WIRE_PART:
		sample_fill_info(m->part.info, WIRE_READ_MAX);
		break;
	case WIRE_ROWS:
		sample_fill_info(m->rows.info, WIRE_WINDOW_MAX);
		memset(sample_who, WIRE_INFO_MAX, sizeof sample_who);
		break;
	case WIRE_SYM:
		for (i = 0; i < WIRE_SYMS_MAX; i++)
			m->sym.addr[i] = U64 - i;
		break;
	case WIRE_SYMS:
		for (i = 0; i < WIRE_SYMS_MAX; i++)
			m->syms.name[i] = (struct wire_text) FULL_TEXT;
		break;
	case WIRE_SITE:
		for (i = 0; i < WIRE_SYMS_MAX; i++)
			m->site.site[i] = U32 - (uint32_t)i;
		break;
	case WIRE_FRAME:
		for (i = 0; i < WIRE_SYMS_MAX; i++)
			m->frame.frame[i] = U64 - i;
		break;
	case WIRE_SITED:
	case WIRE_FRAMED:
		sample_fill_packed(m);
		break;
	default:
		break;
	}
}

#undef U32
#undef U64
#undef TEXT
#undef BYTES
#undef ID

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

/* A right shape, and yet no message. */
static const struct sample_raw sample_wrong[] = {
	{ .name = "empty-map", .head = "a0" },
	{ .name = "no-type", .head = "a10101" },
	{ .name = "no-id", .head = "a10012" },
	{ .name = "type-text", .head = "a20061780101" },
	{ .name = "type-2-32", .head = "a2001b00000001000000000101" },
	{ .name = "id-2-32", .head = "a20012011b0000000100000000" },
	{ .name = "id-negative", .head = "a200120120" },
	{ .name = "hello-no-client", .head = "a400000101028201010401" },
	{ .name = "hello-one-version", .head = "a5000001010281010361780401" },
	{ .name = "hello-min-above-max", .head =
	    "a500000101028202010361780401" },
	{ .name = "hello-client-bytes", .head =
	    "a500000101028201010341780401" },
	{ .name = "hello-roles-2-32", .head =
	    "a50000010102820101036178041b0000000100000000" },
	{ .name = "end-epoch-of-15", .head = "a4001101010400054f",
	    .fill = "00", .times = 15 },
	{ .name = "end-epoch-of-17", .head = "a40011010104000551",
	    .fill = "00", .times = 17 },
	{ .name = "end-epoch-text", .head = "a40011010104000570",
	    .fill = "61", .times = 16 },
	{ .name = "read-max-1025", .head = "a60004010104000550",
	    .fill = "00", .times = 16, .tail = "0600" "07190401" },
	{ .name = "read-wait-1001", .head = "a70004010104000550",
	    .fill = "00", .times = 16, .tail = "0600" "0701" "081903e9" },
	{ .name = "read-whole-1", .head = "a70004010104000550",
	    .fill = "00", .times = 16, .tail = "0600" "0701" "0901" },
	{ .name = "snap-layer-2", .head = "a70006010104000550",
	    .fill = "00", .times = 16, .tail = "0600" "0801" "0902" },
	{ .name = "data-one-byte-short", .head = "a70005010106000701" "09000a00"
	    "084f", .fill = "00", .times = 15 },
	{ .name = "data-count-too-small", .head = "a70005010106000701"
	    "09000a00" "085830", .fill = "00", .times = 48 },
	{ .name = "data-bytes-without-count", .head = "a70005010106000700"
	    "09000a00" "0850", .fill = "00", .times = 16 },
	{ .name = "data-count-1025", .head = "a7000501010600" "07190401"
	    "09000a00" "0840" },
	{ .name = "data-offsets-of-3", .head = "a80005010106000701" "09000a00"
	    "0850", .fill = "00", .times = 16, .tail = "0e43000000" },
	{ .name = "data-info-odd", .head = "a80005010106000701" "09000a00"
	    "0850", .fill = "00", .times = 16, .tail = "0d8100" },
	{ .name = "data-info-beside-nothing", .head = "a80005010106000701"
	    "09000a00" "0850", .fill = "00", .times = 16, .tail = "0d820101" },
	{ .name = "data-info-node-65536", .head = "a80005010106000701"
	    "09000a00" "0850", .fill = "00", .times = 16,
	    .tail = "0d82001a00010000" },
	{ .name = "data-info-name-of-9", .head = "a80005010106000701"
	    "09000a00" "0850", .fill = "00", .times = 16,
	    .tail = "0d820069616161616161616161" },
	{ .name = "data-info-name-empty", .head = "a80005010106000701"
	    "09000a00" "0850", .fill = "00", .times = 16, .tail = "0d820060" },
	{ .name = "data-lost-of-three", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0ba1018301f500" },
	{ .name = "data-lost-exact-1", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0ba101820101" },
	{ .name = "data-lost-array", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0b820101" },
	{ .name = "data-state-7", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "1007" },
	{ .name = "data-now-2-63", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0f1b8000000000000000" },
	{ .name = "data-now-minus-2-63-minus-1", .head = "a80005010106000700"
	    "09000a00" "0840", .tail = "0f3b8000000000000000" },
	{ .name = "part-next-false", .head =
	    "a900070101060107010840" "09f4" "0a000b010e00" },
	{ .name = "part-since-4", .head =
	    "a900070101060107010840" "09f6" "0a000b040e00" },
	{ .name = "part-classic-without-tail", .head =
	    "a90007010106010701" "09f6" "0a000b010e01" "0850",
	    .fill = "00", .times = 16 },
	{ .name = "stats-19-numbers", .head = "a5000b0101" "04000b0107" "93",
	    .fill = "00", .times = 19 },
	{ .name = "stats-a-number-is-text", .head = "a5000b0101" "04000b0107"
	    "94", .fill = "00", .times = 19, .tail = "6100" },
	{ .name = "stats-status-2-31", .head = "a6000b0101" "04000b01"
	    "051a80000000" "0794", .fill = "00", .times = 20 },
	{ .name = "sym-65", .head = "a4000d0101" "0400" "069841",
	    .fill = "00", .times = 65 },
	{ .name = "syms-65", .head = "a4000e0101" "0400" "069841",
	    .fill = "60", .times = 65 },
	{ .name = "syms-a-name-is-a-number", .head = "a4000e0101" "0400"
	    "068101" },
	{ .name = "typed-of-49", .head = "a400100101" "0400" "085831",
	    .fill = "00", .times = 49 },
	{ .name = "site-65", .head = "a500130101" "0400" "0550"
	    "00000000000000000000000000000000" "069841",
	    .fill = "00", .times = 65 },
	{ .name = "site-without-epoch", .head = "a400130101" "0400" "0680" },
	{ .name = "site-2-32", .head = "a500130101" "0400" "0550",
	    .fill = "00", .times = 16, .tail = "06811b0000000100000000" },
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
	{ .name = "arm-arming-3", .head = "a500170101" "0400" "0603"
	    "0550", .fill = "00", .times = 16 },
	{ .name = "arm-no-arming", .head = "a400170101" "0400" "0550",
	    .fill = "00", .times = 16 },
	{ .name = "sited-end-unknown", .head = "a500140101" "0400" "0701"
	    "0846" "01000000" "00" "07" },
	{ .name = "window-order-2", .head = "a7001819010104000550",
	    .fill = "00", .times = 16, .tail = "0600" "0702" "0801" },
	{ .name = "window-max-513", .head = "a7001819010104000550",
	    .fill = "00", .times = 16, .tail = "0600" "0700" "08190201" },
	{ .name = "rows-of-a-byte", .head = "a800181a0101" "06000700"
	    "0841000e01" "1001" "0994", .fill = "00", .times = 20 },
	{ .name = "rows-who-of-another-length", .head = "a900181a0101"
	    "06000700" "08400e00" "1001" "0c4100" "0994", .fill = "00",
	    .times = 20 },
	{ .name = "rows-who-is-not-there", .head = "a900181a0101" "06000700"
	    "0e01" "1001" "0c4101" "0994"
	    "0000000000000000000000000000000000000000" "085820",
	    .fill = "00", .times = 32 },
	{ .name = "rows-state-7", .head = "a800181a0101" "06000700"
	    "08400e00" "1007" "0994", .fill = "00", .times = 20 },
	{ .name = "frame-65", .head = "a500150101" "0400" "0550"
	    "00000000000000000000000000000000" "069841",
	    .fill = "00", .times = 65 },
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
	{ .name = "with-a-key", .head = "a30018220101" "036161" },
	{ .name = "type-34", .head = "a20018220101" },
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

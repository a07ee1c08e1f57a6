/*
 * wire: messages between a node and a page.  A new message is a row of wire.def; a
 * request also needs its answer_NAME() in nodes/serve.  A new field is a FIELD of its
 * message there, with a key of its own and MAY: nodes/serve sets it, nodes/session
 * reads it, and pagek-protocol(7) has it.  Another total of USED is a row of enum
 * wire_usage_total; the numbers of its rows are usage_row_put() of usage/usage.h, those
 * of TOUCHED refcnt_row_put() of refcnt/refcnt.h.
 *
 *	table.c		the tables that wire.def makes
 *	encode.c	a message to a frame
 *	decode.c	a frame to a message
 *	packed.c	stacks, names of frames and regions, as byte strings
 *	frames.c	frames from the bytes of a link
 *
 * Vocabulary
 *	frame	a length, u32 big-endian, then exactly one CBOR map of that
 *		many bytes.
 *	shape	what a map must look like, whatever it says:
 *		definite lengths, no tags, no floats, depth at most 4, at most
 *		512 items, keys small unsigned integers without duplicates,
 *		text at most 255 bytes of valid UTF-8, nothing left over, and
 *		no head byte of major types 2 to 5 with additional information
 *		27 or 31 (libcbor 0.8 on 32 bits cuts such lengths).
 *	message	struct wire_msg: one map, decoded.
 *	epoch	16 random bytes made with a stream; an index means a stream
 *		only together with its epoch.
 *
 * Example
 *	struct wire_msg m = { .type = WIRE_READ, .id = ++id };
 *	m.read.index = 3; m.read.from = cursor; m.read.max = 1024;
 *	wire_encode(&m, buf, sizeof buf, &len);		frame and all
 *
 *	p = wire_frames_space(&in, sizeof chunk, &room);
 *	n = read(fd, p, room);
 *	wire_frames_add(&in, n);
 *	while ((r = wire_frames_next(&in, &map, &len)) == 1)
 *		if (wire_decode(map, len, &m) == 0)
 *			...				m until the next read
 *
 * A message borrows: texts and byte strings given to wire_encode stay the
 * caller's; those of a decoded message lie in the map that it was decoded from.
 * Unknown keys are skipped, unknown types are -ENOMSG.
 * Decoded text is valid UTF-8 and nothing more: it may hold NUL and control
 * characters, and goes through base_safe_text() on its way to any terminal.
 * pagek-protocol(7) has every type, as the tables of wire.def have them.
 */
#ifndef STREAM_WIRE_H
#define STREAM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 1
#define WIRE_LENGTH_SIZE 4	/* before each map, big-endian */
#define WIRE_REQUEST_MAX 4096
#define WIRE_REPLY_MAX 65536
#define WIRE_ITEMS_MAX 512
#define WIRE_DEPTH_MAX 4
#define WIRE_TEXT_MAX 255
#define WIRE_WAIT_MAX 1000	/* milliseconds that a READ or STRESS may wait */
#define WIRE_READ_MAX 1024	/* records of one DATA, blocks of one PART */
#define WIRE_WINDOW_MAX 512	/* rows of one ROWS */
#define WIRE_SYMS_MAX 64	/* threads of one SYM, stacks of one SITE, frames of one FRAME */
#define WIRE_INLINES_MAX 16	/* lines of one frame */
#define WIRE_PACKED_MAX 65024	/* bytes of the packed answers of SITED, and of FRAMED with its types */
#define WIRE_TOLD_MAX (WIRE_SYMS_MAX * (3 + WIRE_TEXT_MAX))	/* bytes of the packed types of FRAMED */
#define WIRE_INFO_MAX 128	/* requesters beside one DATA, PART or ROWS */
#define WIRE_CAUSES 9		/* of losses; enum stream_cause */
#define WIRE_INFO_NAME_MAX 8	/* bytes of a requester's name */
#define WIRE_TYPED_MAX 256	/* entries of one TYPED */
#define WIRE_TYPED_SIZE 50	/* code u8, name 8 bytes, text 41 bytes, NUL-padded */
#define WIRE_EPOCH 16
#define WIRE_LISTING_PART (1u << 20)	/* bytes of a listing's part, each a file of its own */
#define WIRE_LISTING_PARTS 64
#define WIRE_LISTING_BYTES 61440	/* of them in one LPUT or LGOT */
#define WIRE_SHA256 32
#define WIRE_REGIONS_MAX 64
#define WIRE_REGION_SIZE 32	/* see wire_region_put() */
#define WIRE_REGION_NAME 12
#define WIRE_MARKS_MAX 64
#define WIRE_MARK_SIZE 264	/* see wire_named_mark_put() */
#define WIRE_MARK_NAME 128	/* bytes of a mark's name: 32 characters */
#define WIRE_MARK_WHO 56	/* bytes of who has set it */
#define WIRE_USAGE_ROWS 500	/* of one USED */
#define WIRE_USAGE_SIZE 98	/* usage_row_put() */
#define WIRE_STRESS_SIZE 512	/* bytes of a sample: stress_put() */
#define WIRE_STRESS_WHY 8	/* sentences beside it */
#define WIRE_KERNEL_LINES 49000	/* bytes of the lines of one KERNEL_ROWS */
#define WIRE_COUNT_PERIOD 3600000	/* milliseconds, at most */
#define WIRE_TOUCH_COUNTERS 64	/* of a row of TOUCHED */
#define WIRE_TOUCH_BYTES 49000	/* of its rows; refcnt_row_put() */
#define WIRE_TOUCH_ROW(counters) (74 + 8 * (size_t)(counters))
#define WIRE_TOUCH_RANGES 400	/* of one TOUCHED */
#define WIRE_TOUCH_RANGE 25	/* see wire_touch_range_put() */
#define WIRE_MEMORY_NODES 512	/* nodes of one MEMORIES */
#define WIRE_MEMORY_SIZE 80	/* see wire_memory_node_put() */
#define WIRE_MEMORY_NAME 28
#define WIRE_BLOCK_TAIL 16	/* after each record of a PART or ROWS: sequence number, then ms, little-endian */

enum wire_type {
#define REQUEST(NAME, name, number, ...) WIRE_##NAME = (number),
#define REPLY(NAME, name, number, ...) WIRE_##NAME = (number),
#include "wire.def"
	WIRE_NO_ANSWER = WIRE_HELLO,	/* which is no answer */
};

enum wire_role {
	WIRE_ROLE_NONE = 0,
	WIRE_ROLE_READ = 1,
	WIRE_ROLE_LIST_PUT = 2,
	WIRE_ROLE_CONTROL = 4,
};

enum wire_error {
	WIRE_E_FRAME = 1,
	WIRE_E_VERSION = 2,
	WIRE_E_AUTH = 3,
	WIRE_E_NAME = 4,
	WIRE_E_EPOCH = 5,
	WIRE_E_BUSY = 6,
	WIRE_E_QUOTA = 7,
	WIRE_E_BIG = 8,
	WIRE_E_INTERNAL = 9,
	WIRE_E_DAMAGED = 10,
};

enum wire_format {
	WIRE_CLASSIC = 1,
	WIRE_WIDE = 3,		/* 2: with overheads in units of 16 bytes */
};

/* How a stream is doing: NAMED and STATS. */
enum wire_state {
	WIRE_S_LIVE = 1,
	WIRE_S_ENDED = 2,	/* its image has ended */
	WIRE_S_CORRUPT = 3,	/* detached: it wrote what no producer writes */
	WIRE_S_NO_DATA = 4,	/* a process without a stream; reason says why */
	WIRE_S_EXECED = 5,	/* ended by exec: the same pid may have a newer stream */
	WIRE_S_DORMANT = 6,	/* joined, and logs nothing until it is armed */
};

/* In the order of STATS and ROWS.  A new one comes last; 0 if not sent. */
enum wire_number {
	WIRE_N_RECORDS,
	WIRE_N_ALLOCS,
	WIRE_N_FREES,
	WIRE_N_FAILED,
	WIRE_N_INHERITED,
	WIRE_N_LIVE_BLOCKS,
	WIRE_N_LIVE_BYTES,
	WIRE_N_PEAK_BYTES,
	WIRE_N_MAX,		/* aRecMax */
	WIRE_N_LOST,
	WIRE_N_DUPLICATE,
	WIRE_N_UNKNOWN_FREE,
	WIRE_N_EARLIER,
	WIRE_N_ILLEGAL_TYPE,
	WIRE_N_FULL,
	WIRE_N_BAD,		/* bad records */
	WIRE_N_CYCLE_US,	/* the keeper's last pass */
	WIRE_N_HELD,		/* held back now */
	WIRE_N_SITES_FULL,	/* events whose stack found no room: they have their caller alone */
	WIRE_N_WALKS,		/* events whose stack the target had to walk */
	WIRE_N_SAMPLE,		/* mean bytes between samples; 0: every event is logged */
	WIRE_N_EST_BLOCKS,	/* live blocks and bytes as estimated from the sampled ones; */
	WIRE_N_EST_BYTES,	/* without sampling the same as LIVE_BLOCKS and LIVE_BYTES */
	WIRE_N_ARMED_MS,	/* wall clock of the last arming, ms since 1970; 0: logged since its start */
	WIRE_N_EST_PEAK_BYTES,	/* the highest that EST_BYTES has been */
	WIRE_N_STAY,		/* records that were not cancelled within their batch: what a READ of all would have */
	WIRE_N_SKIPPED,		/* bytes of a device that are in no record */
	/* Of the node alone: */
	WIRE_N_FRIENDLY_HITS,	/* numbers of nodes that were translated before */
	WIRE_N_FRIENDLY_MISSES,	/* ... and that had to be looked up */
	WIRE_N_FRIENDLY_UNKNOWN,	/* ... in vain: shown raw */
	WIRE_N_FRIENDLY_OLDEST_S,	/* age of the oldest translation that is kept, in seconds */
	WIRE_N_REQUESTS,	/* pages' requests for data that are served now */
	WIRE_N_REQUESTS_LAPSED,	/* ... that ended because nothing more was asked */
	WIRE_N_LISTINGS,	/* listings stored */
	WIRE_N_LISTINGS_REFUSED,
	WIRE_N_UP_S,		/* seconds since it was started; 0: it does not say */
	WIRE_N_GONE,		/* images that have ended and no longer have a row */
	WIRE_N_GONE_PEAK,	/* ... the highest that one of them has held, as estimated */
	WIRE_N_GONE_LOST,	/* ... their lost records */
	WIRE_N_GONE_MISSED,	/* ... those of them that had no stream */
	/* Of a target again: */
	WIRE_N_PAIRS,		/* allocations and their frees that shared a record of the target's */
	WIRE_N_UNSURE,		/* enum stream_doubt: why its list may be wrong */
	WIRE_N_GONE_FULL,	/* of the node: blocks that full lists of images without a row refused */
	WIRE_N_PEAK_MOST,	/* more than that the target never held at once; 0: not told */
	WIRE_N_GONE_PEAK_MOST,	/* of the node: the highest of those of images without a row */
	WIRE_N_UNFINISHED,	/* of a target again: calls of the allocator whose end is not known */
	WIRE_N_RECORDINGS,	/* captures that get its events; of the node: all that it writes */
	WIRE_N_RECORDING_BYTES,	/* of the node: events that wait to be written for them */
	WIRE_N_USAGE_ROWS,	/* of a target again: rows of counts by caller, type and size; ... */
	WIRE_N_USAGE_BYTES,	/* ... and the node's memory for them; 0: nobody has asked */
	WIRE_N_REPLAY,		/* of a target again: enum wire_replay_state; 0: it is no replay */
	WIRE_N_REPLAY_BEGIN,	/* the time line, on the clock of the records, in ms ... */
	WIRE_N_REPLAY_END,
	WIRE_N_REPLAY_SPEED,	/* ... thousandths of the clock's */
	WIRE_N_REPLAY_EVENT,	/* number of the next event ... */
	WIRE_N_REPLAY_GOAL,	/* ... and of that which it goes to; 0: it stays or plays */
	WIRE_N_LEVEL_1,		/* of a target again: allocations that tell this level, ... */
	WIRE_N_LEVEL_2,
	WIRE_N_LEVEL_3,
	WIRE_N_LEVEL_4,
	WIRE_N_LEVEL_5,		/* ... of level 6 are those of FAILED */
	WIRE_N_LOST_BEFORE,	/* events that a capture lacks before the list it goes on from */
	WIRE_STATS_COUNT
};

#define WIRE_STATS_FIRST (WIRE_N_WALKS + 1)	/* as many as the first version had */

/* Since when a snapshot is complete. */
enum wire_since {
	WIRE_SINCE_START = 1,
	WIRE_SINCE_ATTACH = 2,
	WIRE_SINCE_UNKNOWN = 3,	/* records were lost before the keeper, or its list was full */
};

struct wire_text {
	const char *s;		/* not NUL-terminated when decoded */
	size_t len;
};

struct wire_bytes {
	const uint8_t *p;
	size_t len;
};

/* Records lost by one cause, at least `count` unless exact; 0 is not sent. */
struct wire_lost {
	uint64_t count;
	bool exact;
};

/* A requester beside record `at` of DATA or PART: a name, or a node number. */
struct wire_info {
	uint32_t at;
	uint16_t node;
	struct wire_text name;	/* len 0: it is the number */
};

enum wire_order {
	WIRE_BY_AGE = 0,
	WIRE_BY_ADDRESS = 1,
};

/* 0 was return addresses: they are asked for with FRAME. */
enum wire_sym_kind {
	WIRE_SYM_THREAD = 1,	/* thread indices: the threads' names */
};

enum wire_arming {
	WIRE_ARM_OFF = 0,	/* dormant, whoever else has armed it */
	WIRE_ARM_WATCH = 1,	/* as long as this connection lasts, and a minute more */
	WIRE_ARM_HOLD = 2,	/* until it is sent to sleep */
};

enum wire_record_action {
	WIRE_RECORD_BEGIN = 0,
	WIRE_RECORD_LOOK = 1,	/* how is it doing? */
	WIRE_RECORD_END = 2,
};

enum wire_record_state {
	WIRE_RECORD_NONE = 0,	/* there is no recording */
	WIRE_RECORD_ON = 1,
	WIRE_RECORD_STOPPED = 2,	/* nothing is written now, as with a full disk */
	WIRE_RECORD_ENDING = 3,	/* the last events are being written */
	WIRE_RECORD_ENDED = 4,
	WIRE_RECORD_CUT = 5,	/* ended, and its last events are not in the file */
};

enum wire_count_action {
	WIRE_COUNT_OFF = 0,
	WIRE_COUNT_ON = 1,
	WIRE_COUNT_MOVE = 2,
};

/* Sums of USED, but for the last four.  A new one comes last; 0 if not sent. */
enum wire_usage_total {
	WIRE_U_ALLOCS,
	WIRE_U_FREES,
	WIRE_U_ALLOC_BYTES,
	WIRE_U_LIVE,
	WIRE_U_LIVE_BYTES,
	WIRE_U_BRIEF,
	WIRE_U_PEAK,		/* blocks and bytes held when these were highest */
	WIRE_U_PEAK_BYTES,
	WIRE_U_CROWDED,		/* allocations in rows of several sizes */
	WIRE_U_RSS,		/* bytes of the target in memory; 0: not known */
	WIRE_USAGE_TOTALS
};

enum wire_replay_state {
	WIRE_REPLAY_PAUSED = 1,
	WIRE_REPLAY_PLAYING = 2,
	WIRE_REPLAY_GOING = 3,	/* to a later moment, as fast as it can */
};
/* Begins the reason of a capture in which damage was found; the damage follows. */
#define WIRE_REPLAY_DAMAGED "the file is damaged: "
/* ... of a moment among missing events, or behind them; when they began follows. */
#define WIRE_REPLAY_MISSING "events are missing from "

enum wire_replay_action {
	WIRE_REPLAY_PAUSE = 0,
	WIRE_REPLAY_PLAY = 1,
	WIRE_REPLAY_TOGGLE = 2,	/* pause or play */
	WIRE_REPLAY_STEP = 3,	/* `by` events, and pause */
	WIRE_REPLAY_MOVE = 4,	/* by milliseconds */
	WIRE_REPLAY_AT = 5,	/* to the moment that `at` names */
	WIRE_REPLAY_SPEED = 6,	/* `by` thousandths of the clock's */
};

/* How much is known of a frame, and why not more. */
enum wire_known {
	WIRE_K_PENDING = 0,	/* nothing yet: ask again */
	WIRE_K_LINE,		/* function, file and line */
	WIRE_K_NO_LINE,		/* the file has no line for it: no debug information */
	WIRE_K_NO_SYMBOL,	/* no symbol there */
	WIRE_K_NO_MODULE,	/* code in no file: made at run time, or unmapped */
	WIRE_K_NO_FILE,		/* the file is not there, or not to be read */
	WIRE_K_OTHER_FILE,	/* another build of it lies there now */
	WIRE_K_DAMAGED,		/* its tables make no sense */
	WIRE_K_NO_READER,	/* the node has no reader of symbols */
	WIRE_KNOWN		/* one more than the last */
};

/* The source of a type's name. */
enum wire_type_from {
	WIRE_TYPE_UNKNOWN = 0,
	WIRE_TYPE_TEMPLATE = 1,	/* debug information: a template argument of a function that allocates */
	WIRE_TYPE_CALL = 2,	/* debug information: the call itself */
	WIRE_TYPE_SYMBOL = 3,	/* a symbol's name alone */
	WIRE_TYPE_NEW = 4,	/* debug information: the constructor that new calls */
	WIRE_TYPE_OWN,		/* the program's registration; not on the wire */
	WIRE_TYPE_SOURCES	/* one more than the last */
};

struct wire_inline {
	struct wire_text function;	/* demangled; outside text */
	struct wire_text file;		/* empty: not known */
	uint32_t line;			/* 0: not known */
};

/* Functions at a frame: those inlined first, the call's own last. */
struct wire_words {
	uint64_t frame;
	uint32_t known;			/* enum wire_known */
	bool fetching;			/* its debug file is on its way: ask again later */
	uint64_t offset;		/* address in its module's tables */
	struct wire_text module;	/* path or name of it; empty: none */
	size_t n;			/* 0 without a symbol */
	struct wire_inline line[WIRE_INLINES_MAX];	/* innermost first */
	/* Type that the frame requests memory for, if its callee only passes requests on. */
	struct wire_text type;		/* empty: not known; an outside text */
	uint32_t type_from;		/* enum wire_type_from */
};

/* Memory whose blocks are all in the stream: the rest of it is free. */
struct wire_region {
	uint64_t base, size;
	uint16_t head;			/* bytes before each block that are the allocator's */
	uint16_t align;			/* blocks are rounded up to it; 0 and 1: not at all */
	char name[WIRE_REGION_NAME + 1];
};

/* A moment of a stream with a name. */
struct wire_named_mark {
	uint64_t seq;			/* of the last record then */
	int64_t ms, wall_ms;		/* on the node's clocks */
	uint64_t blocks, bytes;		/* in the list; of a sample as listed */
	uint64_t est_blocks, est_bytes;	/* what these stand for */
	uint64_t lost;			/* records lost for good until then */
	uint64_t full;			/* blocks that had no room in the list until then */
	bool by_target;			/* by alloclog_mark() */
	char name[WIRE_MARK_NAME + 1];
	char who[WIRE_MARK_WHO + 1];
};

/* A range of a target's memory whose pages are counted. */
struct wire_touch_range {
	uint64_t vaddr, len;
	int64_t since_ms;		/* on the node's clock */
	uint8_t source;			/* enum refcnt_source */
};

/* A node of the machine, and the counters for its memory. */
struct wire_memory_node {
	uint64_t bytes, pages, sets, counters, base_pages;
	uint32_t node, slots, cpus;
	char name[WIRE_MEMORY_NAME + 1];
};

#define MEMBER_UINT(type, member, max) type member;
#define MEMBER_INT(type, member) type member;
#define MEMBER_BOOL(member) bool member;
#define MEMBER_TEXT(member) struct wire_text member;
#define MEMBER_BYTES(member, max) struct wire_bytes member;
#define MEMBER_ID(member) uint8_t member[WIRE_EPOCH];
#define MEMBER_PAIR(type, first, second) type first, second;
#define MEMBER_NUMBERS(member, count) \
	uint64_t member[WIRE_STATS_COUNT]; size_t count;
#define MEMBER_LIST(type, member, count, max) type member[max]; size_t count;
#define MEMBER_TEXTS(member, count, max) \
	struct wire_text member[max]; size_t count;
#define MEMBER_INFO(member, count) \
	struct wire_info member[WIRE_INFO_MAX]; size_t count;
#define MEMBER_LOST(member) struct wire_lost member[WIRE_CAUSES];
#define MEMBER_OR_LAST(type, member, last) type member; bool last;

/* The bodies; wire.def says what their members are. */
#define REQUEST(NAME, name, ...) struct wire_##name {
#define REPLY(NAME, name, ...) struct wire_##name {
#define FIELD(name, key, need, kind, ...) MEMBER_##kind(__VA_ARGS__)
#define NO_FIELDS char no_fields;	/* C has no empty struct */
#define END_FIELDS };
#include "wire.def"

struct wire_msg {
	uint32_t type;
	uint32_t id;
	union {
#define REQUEST(NAME, name, ...) struct wire_##name name;
#define REPLY(NAME, name, ...) struct wire_##name name;
#include "wire.def"
	};
};

/* Borrows s, clipped to WIRE_TEXT_MAX bytes, whole characters; NULL: empty. */
struct wire_text wire_text(const char *s);

/*
 * Encodes length and map; WIRE_LENGTH_SIZE + WIRE_REPLY_MAX bytes hold any
 * message.  -ENOBUFS when it needs more than cap, -EINVAL when the message
 * breaks a limit above or has no place in this version.  Bytes of a text that
 * are no UTF-8 go out as '?'.  `out` may have been written to on failure.
 */
int wire_encode(const struct wire_msg *, uint8_t *out, size_t cap, size_t *len);

/*
 * -EBADMSG for a wrong shape, a missing key or a value out of range; -ENOMSG
 * for a type that this version does not know, and then type and id are set, so
 * that it can be answered.  Texts and byte strings of the message lie in
 * `map`: it lives no longer than that, and a receiver that keeps more copies
 * it.  Allocates nothing.
 *
 * Guarantees for a decoded message: counts and enumerations are within their
 * limits; records.len is count * 16 or count * 32, blocks.len the same with
 * WIRE_BLOCK_TAIL; offsets has 0 or 4 * count bytes, who 0 or count, none of
 * them above ninfo; info[].at < count; the packed bytes of SITED and FRAMED are
 * n entries and nothing else.  Which of the two sizes, and that sequence
 * numbers add up, is for the receiver.
 */
int wire_decode(const uint8_t *map, size_t len, struct wire_msg *);

/*
 * The packed answers of SITED and FRAMED.  put appends at *len and is false
 * when there is no room (what is there stays whole); texts are clipped to
 * whole characters of WIRE_TEXT_MAX bytes, and bytes that are no UTF-8 go out
 * as '?'.  next takes the entry at *at and moves on: 1, 0 at the end, -EBADMSG
 * for bytes that are no entry, and then nothing is changed; frames are copied
 * out, texts borrowed from the bytes.
 */
struct wire_stack {
	uint32_t site;
	uint8_t depth, end;
	uint64_t frame[64];
};
bool wire_sited_put(uint8_t *out, size_t cap, size_t *len,
    const struct wire_stack *);
int wire_sited_next(struct wire_bytes, size_t *at, struct wire_stack *);
bool wire_framed_put(uint8_t *out, size_t cap, size_t *len,
    const struct wire_words *);
int wire_framed_next(struct wire_bytes, size_t *at, struct wire_words *);

/*
 * The types beside the words of FRAMED, of those frames that tell one, in their
 * order: *frame is the number among the words.  put writes nothing of words
 * without a type; next fills in type and type_from alone.
 */
bool wire_told_put(uint8_t *out, size_t cap, size_t *len, uint32_t frame,
    const struct wire_words *);
int wire_told_next(struct wire_bytes, size_t *at, uint32_t *frame,
    struct wire_words *);

/*
 * One packed region of REGIONED: base u64, size u64, head u16, align u16, all
 * little-endian, then its name, NUL-padded; bytes of the name that are no
 * UTF-8 stay what they are.
 */
void wire_region_put(uint8_t out[WIRE_REGION_SIZE], const struct wire_region *);
void wire_region_get(struct wire_region *, const uint8_t in[WIRE_REGION_SIZE]);

/*
 * One packed mark of MARKED: its numbers in the order of struct wire_named_mark,
 * u64 or i64 each and all little-endian, 1 if the target itself has set it, then
 * name and who, NUL-padded; bytes that are no UTF-8 stay what they are.
 */
void wire_named_mark_put(uint8_t out[WIRE_MARK_SIZE],
    const struct wire_named_mark *);
void wire_named_mark_get(struct wire_named_mark *,
    const uint8_t in[WIRE_MARK_SIZE]);

/*
 * One packed range of TOUCHED: vaddr, len and since_ms, u64 or i64, and source u8;
 * one packed node of MEMORIES: the numbers of struct wire_memory_node in their order, and
 * the name, NUL-padded.  All numbers are little-endian.
 */
void wire_touch_range_put(uint8_t out[WIRE_TOUCH_RANGE],
    const struct wire_touch_range *);
void wire_touch_range_get(struct wire_touch_range *,
    const uint8_t in[WIRE_TOUCH_RANGE]);
void wire_memory_node_put(uint8_t out[WIRE_MEMORY_SIZE], const struct wire_memory_node *);
void wire_memory_node_get(struct wire_memory_node *, const uint8_t in[WIRE_MEMORY_SIZE]);

/* The rule for a mark's name, which nodes and pages hold. */
#define WIRE_MARK_RULE "a mark's name has 1 to 32 printable characters and no " \
	"space at its ends"
bool wire_is_mark_name(const char *name, size_t len);

/* A splitter of a byte stream into frames; the buffer is its own. */
struct wire_frames {
	uint8_t *buf;
	size_t start, len, cap;
	size_t limit;			/* of one map */
};

/* `limit`: WIRE_REQUEST_MAX or WIRE_REPLY_MAX.  -EINVAL beyond the latter. */
int wire_frames_init(struct wire_frames *, size_t limit);
void wire_frames_fini(struct wire_frames *);
/*
 * Room for up to `want` more bytes, at least 1; NULL: -ENOMEM, or full of
 * frames not taken with next.  The buffer never has more than twice the limit.
 */
uint8_t *wire_frames_space(struct wire_frames *, size_t want, size_t *room);
void wire_frames_add(struct wire_frames *, size_t n);
/*
 * 1 with the next map, borrowed until the next call of space; 0 when more bytes
 * are needed; -EMSGSIZE for good when a frame is larger than the limit.
 */
int wire_frames_next(struct wire_frames *, const uint8_t **map, size_t *len);

#endif

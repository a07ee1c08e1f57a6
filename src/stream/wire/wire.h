/*
 * wire: what a node and a page say to each other.
 *
 * Vocabulary
 *	frame	a length, u32 big-endian, then exactly one CBOR map of that
 *		many bytes.
 *	shape	what a map must look like before libcbor sees a byte of it:
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
 *		if (wire_decode(map, len, &m) == 0) {
 *			...
 *			wire_msg_fini(&m);
 *		}
 *
 * A message borrows: texts and byte strings given to wire_encode stay the
 * caller's; those of a decoded message lie in the message's own store
 * (wire_msg_fini).  Unknown keys are skipped, unknown types are -ENOMSG.
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
#define WIRE_WAIT_MAX 1000	/* milliseconds that a READ may wait */
#define WIRE_READ_MAX 1024	/* records of one DATA, blocks of one PART */
#define WIRE_WINDOW_MAX 512	/* rows of one ROWS */
#define WIRE_SYMS_MAX 64	/* threads of one SYM, stacks of one SITE, frames of one FRAME */
#define WIRE_INLINES_MAX 16	/* lines of one frame */
#define WIRE_PACKED_MAX 65024	/* bytes of the packed answers of SITED and FRAMED */
#define WIRE_INFO_MAX 128	/* requesters beside one DATA, PART or ROWS */
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
#define WIRE_BLOCK_TAIL 16	/* after each record of a PART or ROWS: sequence number, then ms, little-endian */

enum wire_type {
	WIRE_HELLO = 0,
	WIRE_WELCOME = 1,
	WIRE_NAME = 2,
	WIRE_NAMED = 3,
	WIRE_READ = 4,
	WIRE_DATA = 5,
	WIRE_SNAP = 6,
	WIRE_PART = 7,
	WIRE_LPUT = 8,		/* role list-put: store this piece of a listing */
	WIRE_LACK = 9,
	WIRE_STAT = 10,
	WIRE_STATS = 11,
	WIRE_ERR = 12,
	WIRE_SYM = 13,		/* what are these threads called? */
	WIRE_SYMS = 14,
	WIRE_TYPES = 15,	/* what types does this stream have? */
	WIRE_TYPED = 16,
	WIRE_END = 17,		/* role control: end this target (SIGTERM) */
	WIRE_ENDED = 18,
	WIRE_SITE = 19,		/* which frames have these stacks? */
	WIRE_SITED = 20,
	WIRE_FRAME = 21,	/* what lies at these frames? */
	WIRE_FRAMED = 22,
	WIRE_ARM = 23,		/* role control: arm this target, or let it sleep again */
	WIRE_ARMED = 24,
	WIRE_WINDOW = 25,	/* these rows of the list, and its totals */
	WIRE_ROWS = 26,
	WIRE_LIMIT = 27,	/* before HELLO: who stands between grants no more; no reply */
	WIRE_LISTINGS = 28,	/* which listing comes after this one? */
	WIRE_LISTED = 29,
	WIRE_LGET = 30,		/* a piece of a stored listing */
	WIRE_LGOT = 31,
	WIRE_REGIONS = 32,	/* which memory of this stream is wholly known? */
	WIRE_REGIONED = 33,
};

enum wire_role {
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
	WIRE_WIDE = 2,
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

/*
 * The numbers of STATS and ROWS, in this order.  A new one comes last: those
 * that an older node does not send are 0.
 */
enum wire_stat {
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
	WIRE_N_UNSURE,		/* 1: its list began with what is not known to be right */
	WIRE_N_GONE_FULL,	/* of the node: blocks that full lists of images without a row refused */
	WIRE_N_PEAK_MOST,	/* more than that the target never held at once; 0: not told */
	WIRE_N_GONE_PEAK_MOST,	/* of the node: the highest of those of images without a row */
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

/*
 * Records lost by one cause: `count` of them or, when not exact, at least so
 * many.  A count of 0 says that none are known to be lost and is not sent:
 * who knows of a loss but not how large it is says 1, not exact.
 */
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

struct wire_hello {
	uint32_t min, max;		/* versions */
	struct wire_text client;
	uint32_t roles;
	uint16_t node;			/* that the page is on; 0: none said */
};

struct wire_welcome {
	uint32_t version;
	struct wire_text node_name;
	uint16_t node_number;
	uint8_t node_id[WIRE_EPOCH];
	uint8_t boot[WIRE_EPOCH];
	uint32_t roles;
	uint64_t mono_ns;
	uint64_t utc_ns;
};

/* Look up `name` in `table`, or the entry `index` of it when name is empty. */
struct wire_name {
	struct wire_text table;		/* "DSTRM" */
	struct wire_text name;
	uint32_t index;
};

struct wire_named {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint32_t format;		/* enum wire_format */
	uint32_t record_size;
	uint64_t oldest, next;		/* sequence numbers */
	uint32_t address_bits;
	uint32_t state;			/* enum wire_state */
	struct wire_text name;		/* of the entry */
	uint32_t entries;		/* of the table: indexes are below it, with gaps */
	uint32_t levels;		/* 1: the low nibble holds levels; 0: opaque */
};

struct wire_read {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint64_t from;
	uint32_t max;
	uint32_t wait_ms;
	bool whole;			/* leave no cancelled pairs out */
};

struct wire_data {
	uint64_t first;			/* == from */
	uint32_t count;
	struct wire_bytes records;
	uint64_t next, oldest;
	struct wire_lost lost[9];	/* by enum stream_cause; [0]: of causes that we do not know */
	uint64_t cancelled;		/* records left out: pairs * 2 */
	struct wire_bytes offsets;	/* u32 LE each: sequence number - first; empty: consecutive */
	struct wire_info info[WIRE_INFO_MAX];
	size_t ninfo;
	int64_t now_ms;			/* the node's clock, as records have it */
	uint32_t state;			/* enum wire_state */
};

struct wire_snap {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint32_t snapshot;		/* 0: a new one */
	bool from_start;
	unsigned after_layer;
	uint64_t after;
	uint32_t max;
};

struct wire_part {
	uint32_t snapshot;
	uint64_t as_of;			/* exact as of this sequence number */
	uint32_t count;
	struct wire_bytes blocks;	/* each: record as on the wire, then WIRE_BLOCK_TAIL */
	bool last;
	unsigned next_layer;
	uint64_t next;			/* where the next part goes on, unless last */
	uint64_t total;			/* blocks active now */
	uint32_t since;			/* enum wire_since */
	struct wire_info info[WIRE_INFO_MAX];
	size_t ninfo;
	int64_t now_ms;
};

enum wire_order {
	WIRE_BY_AGE = 0,
	WIRE_BY_ADDRESS = 1,
};

/*
 * Rows [offset, offset + max) of the list in an order.  When block (layer,
 * addr, seq) is wanted and listed, the window lies so that `before` rows of it
 * come before that block, wherever it is by now.  A window that reaches beyond
 * the end is moved until it does not, or begins with the first row.
 */
struct wire_window {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint32_t order;			/* enum wire_order */
	bool reverse;
	uint64_t offset;
	uint32_t max;
	unsigned layer;
	uint64_t addr, seq;		/* 0: none is wanted */
	uint32_t before;
};

/* All of it as of one moment. */
struct wire_rows {
	uint64_t offset;		/* of the first row, in the order that was asked for */
	uint64_t as_of;			/* the last sequence number so far */
	uint32_t count;
	struct wire_bytes blocks;	/* as those of PART */
	struct wire_bytes who;		/* for each row 0, or 1 + its requester's place in info; empty: none has one */
	struct wire_info info[WIRE_INFO_MAX];	/* each once, at its first row */
	size_t ninfo;
	uint64_t n[WIRE_STATS_COUNT];	/* as those of STATS */
	struct wire_lost lost[9];	/* before the keeper since the start, by cause; [0] as in wire_data */
	int64_t now_ms;
	uint32_t state;			/* enum wire_state */
};

/* About one stream (index), or about the node with index UINT32_MAX. */
struct wire_stat_req {
	uint32_t index;
};

struct wire_stats {
	uint32_t index;
	uint32_t pid;
	struct wire_text comm;
	uint32_t state;
	int32_t status;			/* wait status when it ended; -1 not known */
	struct wire_text reason;
	uint64_t n[WIRE_STATS_COUNT];
	uint32_t targets_live;		/* of the node: processes of the tree that live */
	uint32_t ppid;
	int64_t ended_ms;		/* wall clock, ms since 1970; 0 while it lives */
	struct wire_text output;	/* of the node: where the target's output goes, if to a file */
	struct wire_text socket;	/* of the node: where a page can come back to */
};

/* 0 was return addresses: they are asked for with FRAME. */
enum wire_sym_kind {
	WIRE_SYM_THREAD = 1,	/* thread indices: the threads' names */
};

struct wire_sym {
	uint32_t index;
	uint32_t kind;
	uint64_t addr[WIRE_SYMS_MAX];
	size_t n;
};

struct wire_syms {
	uint32_t index;
	uint32_t kind;
	struct wire_text name[WIRE_SYMS_MAX];	/* in the order asked; empty: not known yet */
	size_t n;
};

struct wire_types {
	uint32_t index;
};

/* Sites of a stream, and their frames, innermost first. */
struct wire_site {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint32_t site[WIRE_SYMS_MAX];
	size_t n;
};

/*
 * The answer, in the order asked, to as many as there was room for, one at
 * least.  Packed: for each, site u32, depth u8 (0: no such site), end u8 (enum
 * ring_end), then depth frames u64, all little-endian; wire_sited_next()
 * takes them apart.
 */
struct wire_sited {
	uint32_t index;
	uint32_t n;
	struct wire_bytes sites;
};

/*
 * Frames of a stream: as a site has them, or a plain return address (module
 * 0), which is looked up among what is mapped now.
 */
struct wire_frame {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint64_t frame[WIRE_SYMS_MAX];
	size_t n;
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

struct wire_inline {
	struct wire_text function;	/* demangled; outside text */
	struct wire_text file;		/* empty: not known */
	uint32_t line;			/* 0: not known */
};

/* What lies at a frame: the call's function last, what is inlined in it before. */
struct wire_words {
	uint64_t frame;
	uint32_t known;			/* enum wire_known */
	bool fetching;			/* its debug file is on its way: ask again later */
	uint64_t offset;		/* address in its module's tables */
	struct wire_text module;	/* path or name of it; empty: none */
	size_t n;			/* 0 without a symbol */
	struct wire_inline line[WIRE_INLINES_MAX];	/* innermost first */
};

/* The answer, as with SITED; wire_framed_next() takes them apart. */
struct wire_framed {
	uint32_t index;
	uint32_t n;
	uint32_t fetched_kb;		/* of a debug file on its way; 0 none is */
	uint32_t fetch_kb;		/* its size, when known */
	struct wire_text fetch;		/* its module */
	struct wire_bytes words;
};

struct wire_typed {
	uint32_t index;
	struct wire_bytes types;	/* packed entries of WIRE_TYPED_SIZE */
};

struct wire_end {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
};

enum wire_arming {
	WIRE_ARM_OFF = 0,	/* dormant, whoever else has armed it */
	WIRE_ARM_WATCH = 1,	/* as long as this connection lasts, and a minute more */
	WIRE_ARM_HOLD = 2,	/* until it is sent to sleep */
};

/* A stream that is armed begins anew: new epoch, empty list. */
struct wire_arm {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
	uint32_t arming;		/* enum wire_arming */
};

/*
 * The roles that may be granted over this connection, which each LIMIT can
 * only take from.  Whoever passes a page's bytes on says it before the first
 * of them, and after HELLO there is none: the page cannot undo it.
 */
struct wire_limit {
	uint32_t roles;
	uint16_t node;			/* the page is this one's, and no other HELLO is believed; 0: any */
	bool away;			/* its bytes come from another machine */
	struct wire_text origin;	/* of them, as sshd says; empty: not known */
};

/*
 * A piece of a listing.  The first one of part 1 has no name, and the reply
 * says which one the node has chosen; all others go by it, in order, one part
 * after the other.
 */
struct wire_lput {
	struct wire_text title;
	struct wire_text name;
	uint32_t part, parts;		/* from 1 */
	uint32_t total;			/* bytes of this part */
	uint32_t at;			/* of these bytes in it */
	struct wire_bytes bytes;
	struct wire_bytes sha256;	/* of the whole part, with its last bytes; else empty */
};

struct wire_lack {
	struct wire_text name;
	uint32_t part;
	uint32_t stored;		/* bytes of it */
};

struct wire_listings {
	struct wire_text after;		/* empty: the oldest */
};

/* One entry; an empty name: there is no more. */
struct wire_listed {
	struct wire_text name;
	struct wire_text origin;	/* who sent it, as the node knows, not as he says */
	struct wire_text title;
	uint32_t parts;
	uint64_t bytes;
	int64_t wall_ms;		/* of its first piece, ms since 1970 */
	bool whole;			/* all parts are there */
};

struct wire_lget {
	struct wire_text name;
	uint32_t part;
	uint32_t at;
	uint32_t max;
};

struct wire_lgot {
	uint32_t at;
	uint32_t size;			/* of the part */
	struct wire_bytes bytes;	/* none: beyond its end */
	struct wire_bytes sha256;	/* of the whole part as it was stored, with its last bytes; else empty */
};

/*
 * Memory of which every block is in the stream, so that what lies between them
 * is free.
 */
struct wire_region {
	uint64_t base, size;
	uint16_t head;			/* bytes before each block that are the allocator's */
	uint16_t align;			/* blocks are rounded up to it; 0 and 1: not at all */
	char name[WIRE_REGION_NAME + 1];
};

struct wire_regions {
	uint32_t index;
	uint8_t epoch[WIRE_EPOCH];
};

struct wire_regioned {
	uint32_t index;
	uint32_t no;			/* another one when they have changed */
	struct wire_text why;		/* none are told; empty: there are no others */
	struct wire_bytes regions;	/* packed, WIRE_REGION_SIZE each */
};

struct wire_err {
	uint32_t code;
	struct wire_text text;
	uint32_t retry_ms;
	uint8_t epoch[WIRE_EPOCH];	/* with WIRE_E_EPOCH: the new one */
};

struct wire_msg {
	uint32_t type;
	uint32_t id;
	union {
		struct wire_hello hello;
		struct wire_welcome welcome;
		struct wire_name name;
		struct wire_named named;
		struct wire_read read;
		struct wire_data data;
		struct wire_snap snap;
		struct wire_part part;
		struct wire_stat_req stat;
		struct wire_stats stats;
		struct wire_sym sym;
		struct wire_syms syms;
		struct wire_types types;
		struct wire_typed typed;
		struct wire_site site;
		struct wire_sited sited;
		struct wire_frame frame;
		struct wire_framed framed;
		struct wire_end end;	/* ENDED and ARMED have no keys */
		struct wire_arm arm;
		struct wire_window window;
		struct wire_rows rows;
		struct wire_limit limit;
		struct wire_lput lput;
		struct wire_lack lack;
		struct wire_listings listings;
		struct wire_listed listed;
		struct wire_lget lget;
		struct wire_lgot lgot;
		struct wire_regions regions;
		struct wire_regioned regioned;
		struct wire_err err;
	};
	void *store;			/* what a decoded message's texts lie in */
};

/* Borrows s; clipped to whole characters of WIRE_TEXT_MAX bytes. NULL: empty. */
struct wire_text wire_text(const char *s);

/*
 * Encodes length and map; WIRE_LENGTH_SIZE + WIRE_REPLY_MAX bytes hold any
 * message.  -ENOBUFS when it needs more than cap, -EINVAL when the message
 * breaks a limit above or has no place in this version.  Bytes of a text that
 * are no UTF-8 go out as '?'.  `out` may have been written to on failure.
 */
int wire_encode(const struct wire_msg *, uint8_t *out, size_t cap, size_t *len);

/*
 * The shape check alone: 0, or -EBADMSG.  Allocates nothing, reads each byte
 * once, and is all that stands between a stranger's bytes and libcbor.
 */
int wire_check_shape(const uint8_t *map, size_t len);

/*
 * Shape check, then decode.  -EBADMSG for a wrong shape, a missing key or a
 * value out of range; -ENOMSG for a type that this version does not know, and
 * then type and id are set, so that it can be answered; -ENOMEM.  On success
 * the caller ends it with wire_msg_fini(); the message borrows nothing from
 * `map`.
 *
 * What holds of a decoded message: counts and enumerations are within their
 * limits; records.len is count * 16 or count * 32, blocks.len the same with
 * WIRE_BLOCK_TAIL; offsets has 0 or 4 * count bytes, who 0 or count, none of
 * them above ninfo; info[].at < count; the packed bytes of SITED and FRAMED are
 * n entries and nothing else.  Which of the two sizes, and that sequence
 * numbers add up, is for the receiver.
 */
int wire_decode(const uint8_t *map, size_t len, struct wire_msg *);
void wire_msg_fini(struct wire_msg *);

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
 * One packed region of REGIONED: base u64, size u64, head u16, align u16, all
 * little-endian, then its name, NUL-padded; bytes of the name that are no
 * UTF-8 stay what they are.
 */
void wire_region_put(uint8_t out[WIRE_REGION_SIZE], const struct wire_region *);
void wire_region_get(struct wire_region *, const uint8_t in[WIRE_REGION_SIZE]);

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
 * Room for up to `want` more bytes and how much there is of it, at least 1;
 * NULL: -ENOMEM, or full of frames that have not been taken with next.  The
 * buffer never holds more than twice the limit.
 */
uint8_t *wire_frames_space(struct wire_frames *, size_t want, size_t *room);
void wire_frames_add(struct wire_frames *, size_t n);
/*
 * 1 with the next map, borrowed until the next call of space; 0 when more
 * bytes are needed; -EMSGSIZE when a frame announces more than the limit: no
 * frame comes after it.
 */
int wire_frames_next(struct wire_frames *, const uint8_t **map, size_t *len);

#endif

/*
 * record: the records of a data stream, in two formats.
 *
 * Vocabulary
 *	classic	16 bytes, big-endian, the 2004 note's: rAddr 4, rSize 2,
 *		rFlag 1, rType 1, rTime 8 in BCD.
 *	wide	32 bytes, four words, little-endian on the wire and in the
 *		machine's own order in memory (struct rec).
 *	op	what happened, the high nibble of rFlag: enum rec_op.
 *	level	low three bits of the low nibble: the attempt of the allocator that
 *		succeeded, 1 to 5; 6 a failed request; 0 not known.
 *	layer	the fourth bit of the low nibble: 0 the heap, 1 blocks named
 *		through the API.  Both may hold a block at one address.
 *	ticket	the number that the record drew in the shard of its address;
 *		per shard, tickets are the true order.
 *	caller	who asked for the block: a return address or, with stacks, a
 *		site.
 *	site	the number of a call stack that the target has stored once
 *		(ring.h).  Sites are a window of 4 GiB of addresses at 2^47,
 *		where no user code is mapped; a return address in there counts
 *		as not known.
 *
 * Words of a wide record, from bit 0:
 *	w[0]	address 48, flags 8 (level 3, layer 1, op 4), type 8
 *	w[1]	size 48 (in the free of a realloc: see rec_told), thread index 16
 *	w[2]	ticket 32, keeper's millisecond 32
 *	w[3]	caller 48, overhead 16 (usable minus requested bytes, as
 *		rec_overhead_code() has them)
 */
#ifndef STREAM_RECORD_H
#define STREAM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define REC_ADDR_BITS 48
#define REC_ADDR_MASK ((UINT64_C(1) << REC_ADDR_BITS) - 1)
#define REC_OP_MASK (UINT64_C(0xf) << 52)	/* of w[0] */
#define REC_WIDE_SIZE 32
#define REC_CLASSIC_SIZE 16

enum rec_op {
	REC_LOSS = 0x0,		/* never in a ring: size records of cause type are lost here */
	REC_PAIR = 0x4,		/* this and the next two only in a ring: an allocation, and its free
				   with the next ticket, of type TYPE_FREE + op - REC_PAIR */
	REC_PAIR_LAST = 0x6,
	REC_ALLOC = 0xa,
	REC_CONTROL = 0xc,	/* type is one of rec_control; takes no ticket */
	REC_UNDO = 0xd,		/* the realloc whose free this thread logged has failed */
	REC_RANGE = 0xe,	/* every block of the layer in [addr, addr + size) is free; its
				   ticket is that of addr's shard, the others follow it in the ring */
	REC_FREE = 0xf,
};

#define REC_LEVEL_FAILED 6	/* with REC_ALLOC: a failed request, no address, no ticket */
#define REC_LEVEL_MASK 0x7
#define REC_LAYER_API 0x8

/* Types of control records, which use all other bits as they like. */
enum rec_control {
	REC_CTL_THREAD = 1,	/* a thread begins: address is its tid, or 0: it has ended; w[2], w[3]: its
				   name, or 0 */
	REC_CTL_REQUESTER = 2,	/* w[2]: up to 8 bytes of name, or w[1] size 1: number in w[2] */
	REC_CTL_MARK = 3,	/* w[2]: up to 8 bytes of text */
	REC_CTL_STOP = 4,	/* allocations are not logged from here on */
	REC_CTL_START = 5,	/* allocations are logged again */
	REC_CTL_TYPE = 6,	/* size: type code; w[2]: its name, up to 7 bytes */
	REC_CTL_TYPE_TEXT = 7,	/* size: code | part << 8; w[2]: 8 bytes of its description */
	REC_CTL_REGION = 8,	/* address and size of memory that is wholly known; w[2]: its
				   number and shape; w[3]: up to 8 bytes of name */
	REC_CTL_TOLD = 10,	/* each block that the target had when this stream began has been told */
	REC_CTL_REGION_END = 9,	/* the region with that number in w[2] has ended */
	REC_CTL_REFCNT = 11,	/* address and size: count references there, or no longer; w[2]:
				   rec_refcnt() */
};

/* w[2] of REC_CTL_REFCNT: enum refcnt_source 8, on 1. */
static inline uint64_t
rec_refcnt(uint8_t source, bool on)
{
	return source | (uint64_t)on << 8;
}

/* w[2] of the two above: head 16, align 16, number 32. */
static inline uint64_t
rec_region_shape(uint16_t head, uint16_t align, uint32_t no)
{
	return head | (uint64_t)align << 16 | (uint64_t)no << 32;
}

/* Block types, one byte; types.c has their names. */
enum rec_type {
	TYPE_LOCREQ = 0x01,
	TYPE_AHDRMSG = 0x09,
	TYPE_ACREQ = 0x0c,
	TYPE_INTPTRS = 0x0e,
	TYPE_LASTAT = 0x10,
	TYPE_NETBUF = 0x11,
	TYPE_DSTREAM = 0x12,
	TYPE_MALLOC = 0x80,
	TYPE_CALLOC = 0x81,
	TYPE_REALLOC = 0x82,
	TYPE_ALIGNED = 0x83,
	TYPE_NEW = 0x84,
	TYPE_NEW_ARRAY = 0x85,
	TYPE_NEW_NOTHROW = 0x86,
	TYPE_NEW_ARRAY_NOTHROW = 0x87,
	TYPE_FREE = 0x90,
	TYPE_DELETE = 0x91,
	TYPE_DELETE_ARRAY = 0x92,
	TYPE_BY_REALLOC = 0x93,
	TYPE_API_FIRST = 0xc0,
	TYPE_API_LAST = 0xfe,
};

/*
 * In a ring only: a type with this bit is that of a told block, which the target
 * logs late, from its memory debug data.  The record's time is that of the
 * allocation, with the highest bit inverted, so that no other record looks like it.
 */
#define REC_TOLD 0x20
#define REC_TOLD_MS UINT32_C(0x80000000)
#define TYPE_TOLD_FIRST (TYPE_MALLOC | REC_TOLD)
#define TYPE_TOLD_LAST (TYPE_NEW_ARRAY_NOTHROW | REC_TOLD)
#define TYPE_TOLD_VOID (TYPE_TOLD_LAST + 1)	/* a ticket without a block */

struct rec {
	uint64_t w[4];
};

#define REC_SITE_BASE (UINT64_C(1) << 47)

static inline bool
rec_is_site(uint64_t caller)
{
	return caller >> 32 == REC_SITE_BASE >> 32;
}

/* A return address as a caller; 0 if it looks like a site. */
static inline uint64_t
rec_plain_caller(uint64_t pc)
{
	return rec_is_site(pc) ? 0 : pc;
}

/* Sites are numbered from 1. */
static inline uint32_t rec_site(uint64_t caller) { return (uint32_t)caller; }
static inline uint64_t rec_site_caller(uint32_t site) { return REC_SITE_BASE | site; }

static inline uint64_t rec_addr(const struct rec *r) { return r->w[0] & REC_ADDR_MASK; }
static inline unsigned rec_flags(const struct rec *r) { return (unsigned)(r->w[0] >> 48) & 0xff; }
static inline unsigned rec_op(const struct rec *r) { return (unsigned)(r->w[0] >> 52) & 0xf; }
static inline unsigned rec_level(const struct rec *r) { return (unsigned)(r->w[0] >> 48) & REC_LEVEL_MASK; }
static inline unsigned rec_layer(const struct rec *r) { return (unsigned)(r->w[0] >> 51) & 1; }
static inline unsigned rec_type(const struct rec *r) { return (unsigned)(r->w[0] >> 56); }
static inline uint64_t rec_size(const struct rec *r) { return r->w[1] & REC_ADDR_MASK; }
static inline unsigned rec_thread(const struct rec *r) { return (unsigned)(r->w[1] >> 48); }
static inline uint32_t rec_ticket(const struct rec *r) { return (uint32_t)r->w[2]; }
static inline uint32_t rec_ms(const struct rec *r) { return (uint32_t)(r->w[2] >> 32); }
static inline uint64_t rec_caller(const struct rec *r) { return r->w[3] & REC_ADDR_MASK; }
/* The code; see rec_overhead_bytes(). */
static inline unsigned rec_overhead(const struct rec *r) { return (unsigned)(r->w[3] >> 48); }

/* In full: the latest time with its low bits that is not after near_ms. */
static inline int64_t
rec_ms_near(const struct rec *r, int64_t near_ms)
{
	return (int64_t)((uint64_t)near_ms - ((uint32_t)near_ms - rec_ms(r)));
}

/* The flags of w[0]: op << 4 | layer | level. */
#define REC_FLAGS(op, low) (((unsigned)(op) << 4) | (unsigned)(low))

static inline uint64_t
rec_w0(uint64_t addr, unsigned flags, unsigned type)
{
	return (addr & REC_ADDR_MASK) | (uint64_t)flags << 48 |
	    (uint64_t)type << 56;
}

static inline uint64_t
rec_op_bits(enum rec_op op)
{
	return rec_w0(0, REC_FLAGS(op, 0), 0);
}

static inline uint64_t
rec_w1(uint64_t size, unsigned thread)
{
	return (size > REC_ADDR_MASK ? REC_ADDR_MASK : size) |
	    (uint64_t)thread << 48;
}

/*
 * The size field of a free by realloc: it ties the thread's next allocation by
 * realloc to it.  0: not told, as of a size just below a multiple of 4 GiB.
 */
static inline uint32_t
rec_told(uint64_t size)
{
	return (uint32_t)size + 1;
}

static inline uint64_t
rec_w2(uint32_t ticket, uint32_t ms)
{
	return ticket | (uint64_t)ms << 32;
}

static inline uint64_t
rec_w3(uint64_t caller, unsigned overhead)
{
	return (caller & REC_ADDR_MASK) | (uint64_t)overhead << 48;
}

/*
 * An overhead in 16 bits: below REC_OVERHEAD_EXACT the bytes themselves, from
 * there on the nearest multiple of 32.  REC_OVERHEAD_MOST stands for all larger
 * ones, too.  Bytes are below 2^63.
 */
#define REC_OVERHEAD_EXACT 0x8000
#define REC_OVERHEAD_MOST 0xffff

static inline unsigned
rec_overhead_code(uint64_t bytes)
{
	uint64_t code;

	if (__builtin_expect(bytes < REC_OVERHEAD_EXACT, 1))
		return (unsigned)bytes;
	code = REC_OVERHEAD_EXACT + (bytes - REC_OVERHEAD_EXACT + 16) / 32;
	return code < REC_OVERHEAD_MOST ? (unsigned)code : REC_OVERHEAD_MOST;
}

static inline uint64_t
rec_overhead_bytes(unsigned code)
{
	return code < REC_OVERHEAD_EXACT ? code :
	    REC_OVERHEAD_EXACT + (uint64_t)(code - REC_OVERHEAD_EXACT) * 32;
}

/*
 * Shards: 1,024 ticket counters.  An address always falls into the same one,
 * whatever its layer; neighbours of any stride spread evenly.
 */
#define REC_SHARDS 1024

static inline unsigned
rec_shard(uint64_t addr)
{
	return (unsigned)(((addr >> 4) * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}

#endif

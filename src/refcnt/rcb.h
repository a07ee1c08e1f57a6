/*
 * rcb: the layout of refcnt.nodeN, for writer and readers: refcnt(5).
 * Little-endian.
 *
 *	0		struct rcb_head, RCB_HEAD bytes of the first page
 *	4096		the slots: u64 base, u64 size
 *	counters	u32 for each counter of each set: the extended counters
 *	sequences	u32 a set, odd while the set is written
 *	states		u32 a set: flags, then a byte for the source and one for the
 *			size of the page as a power of two
 *	checks		u32 a set: of its number and all that the file has of it; 0 for a
 *			page that is not counted, whose state is 0, too
 *	hardware	as counters
 *	wide		as counters, but u64
 *
 * Parts begin on pages of 4096 bytes; those of uncounted pages are holes.
 * Whole 32-bit stores; a set's are releases and readers' loads acquires: a
 * reader that sees a new word sees the odd number, too.
 */
#ifndef REFCNT_RCB_H
#define REFCNT_RCB_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RCB_MAGIC "pkrefcnt"
#define RCB_ENDIAN UINT32_C(0x01020304)
#define RCB_VERSION 1u
#define RCB_PAGE 4096u
#define RCB_COUNTERS 64u
#define RCB_NODES 512u

#define RCB_FLAGS UINT32_C(0x1ff)	/* of a state: REFCNT_VALID and so on */
#define RCB_VALID 1u
#define RCB_NO_PADDR 4u
#define RCB_SATURATED 32u
#define RCB_NO_HOME UINT32_C(0x8000)	/* the page's home node is not known */

/* Offsets of the fields of the head. */
enum {
	RCB_AT_MAGIC = 0,
	RCB_AT_ENDIAN = 8,
	RCB_AT_VERSION = 12,
	RCB_AT_LEN = 16,		/* u64 */
	RCB_AT_SETS = 24,
	RCB_AT_COUNTERS_PER_SET = 28,
	RCB_AT_COUNTER_SIZE = 32,
	RCB_AT_BASE_PAGES = 36,
	RCB_AT_BASE_PAGE_SIZE = 40,
	RCB_AT_CNODEID = 44,
	RCB_AT_BASE_PADDR = 48,		/* u64 */
	RCB_AT_GRANULARITY = 56,
	RCB_AT_HW_MAX = 60,
	RCB_AT_DIFF = 64,
	RCB_AT_ABS = 68,
	RCB_AT_SLOTS = 72,
	RCB_AT_NODES = 76,
	RCB_AT_PID = 80,
	RCB_AT_ENDED = 84,		/* this one and the next change */
	RCB_AT_PERIODS = 88,
	RCB_AT_CHECK = 92,		/* of the others and the slots */
	RCB_AT_STARTED = 96,		/* u64, of the process: /proc/PID/stat's */
	RCB_AT_PARTS = 104,		/* u64 for each part */
	RCB_HEAD = 160,
};

enum rcb_part {
	RCB_SLOTS,
	RCB_COUNTERS_PART,
	RCB_SEQUENCES,
	RCB_STATES,
	RCB_CHECKS,
	RCB_HARDWARE,
	RCB_WIDE,
	RCB_PARTS,
};

struct rcb_layout {
	uint64_t at[RCB_PARTS];
	uint64_t len;
};

static inline uint64_t
rcb_pages(uint64_t bytes)
{
	return (bytes + RCB_PAGE - 1) & ~(uint64_t)(RCB_PAGE - 1);
}

static inline struct rcb_layout
rcb_lay_out(uint32_t sets, uint32_t counters, uint32_t slots)
{
	const uint64_t size[RCB_PARTS] = {
		[RCB_SLOTS] = (uint64_t)slots * 16,
		[RCB_COUNTERS_PART] = (uint64_t)sets * counters * 4,
		[RCB_SEQUENCES] = (uint64_t)sets * 4,
		[RCB_STATES] = (uint64_t)sets * 4,
		[RCB_CHECKS] = (uint64_t)sets * 4,
		[RCB_HARDWARE] = (uint64_t)sets * counters * 4,
		[RCB_WIDE] = (uint64_t)sets * counters * 8,
	};
	struct rcb_layout l = { .len = RCB_PAGE };

	for (int i = 0; i < RCB_PARTS; i++) {
		l.at[i] = l.len;
		l.len += rcb_pages(size[i]);
	}
	return l;
}

static inline uint32_t
rcb_load(const uint8_t *p)
{
	return le32toh(__atomic_load_n((const uint32_t *)(const void *)p,
	    __ATOMIC_ACQUIRE));
}

static inline uint64_t
rcb_load64(const uint8_t *p)
{
	return rcb_load(p) | (uint64_t)rcb_load(p + 4) << 32;
}

static inline void
rcb_store(uint8_t *p, uint32_t n)
{
	__atomic_store_n((uint32_t *)(void *)p, htole32(n), __ATOMIC_RELEASE);
}

static inline void
rcb_store64(uint8_t *p, uint64_t n)
{
	rcb_store(p, (uint32_t)n);
	rcb_store(p + 4, (uint32_t)(n >> 32));
}

static inline uint32_t
rcb_mix(uint32_t h, uint32_t word)
{
	h = (h ^ word) * UINT32_C(0x9e3779b1);
	return h ^ h >> 15;
}

/* A set, as the file has it. */
struct rcb_set {
	uint32_t state;
	uint32_t ext[RCB_COUNTERS], hw[RCB_COUNTERS];
	uint64_t wide[RCB_COUNTERS];
};

static inline uint32_t
rcb_check_of(uint32_t set, const struct rcb_set *s, uint32_t counters)
{
	uint32_t h = rcb_mix(rcb_mix(1, set), s->state);

	for (uint32_t i = 0; i < counters; i++) {
		h = rcb_mix(h, s->ext[i]);
		h = rcb_mix(h, s->hw[i]);
		h = rcb_mix(h, (uint32_t)s->wide[i]);
		h = rcb_mix(h, (uint32_t)(s->wide[i] >> 32));
	}
	return h;
}

/* The checksum of the head without the words that change, and of the slots. */
static inline uint32_t
rcb_head_check(const uint8_t *file, uint32_t slots)
{
	uint32_t h = 1;

	for (uint32_t at = 0; at < RCB_HEAD; at += 4)
		if (at < RCB_AT_ENDED || at > RCB_AT_CHECK)
			h = rcb_mix(h, rcb_load(file + at));
	for (uint64_t at = RCB_PAGE; at < RCB_PAGE + (uint64_t)slots * 16; at += 4)
		h = rcb_mix(h, rcb_load(file + at));
	return h;
}

#endif

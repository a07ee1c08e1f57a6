/*
 * ring: the shared memory between a target and its keeper, layout only.  The
 * target side includes this header and no other of the room but record.h.
 *
 * Vocabulary
 *	ring area	one memfd, sealed against shrinking, growing and further
 *			sealing.  The target writes it; the keeper maps it
 *			read-only, copies every word once and checks the copy.
 *	keeper area	a second memfd, written by the keeper alone.  Sealed with
 *			F_SEAL_FUTURE_WRITE or, where the next keeper must write
 *			it too, given to the target by a descriptor that can only
 *			read.
 *	ring		a single-producer, single-consumer queue of struct rec.
 *			head counts records published, tail records delivered,
 *			both since the area was made; an index is the count
 *			modulo the capacity, a power of two.
 *	common ring	the one ring with many producers, of struct ring_slot:
 *			for re-entry from a signal handler, for threads past
 *			their destructors and when every ring is taken.
 *	frame		one return address of a call stack, and its module:
 *			frame_pc(), frame_module().  An address that a signal has
 *			interrupted is stored plus one, so that the byte before a
 *			frame's address is always in the instruction.
 *	site		a call stack stored once: its frames lie in a row,
 *			innermost first, and end for a reason.
 *	module		an object that had code mapped when one of its frames
 *			was first seen.  It keeps its number, so that an address
 *			keeps its meaning when another object is mapped there.
 *	dormant		a target that has joined and logs nothing until its
 *			keeper arms it: keeper_area.armed has a clear bit
 *			RING_AWAKE.  A producer reads
 *			that word when an event begins and the millisecond when
 *			it logs it; a keeper that arms sets the word first and
 *			then publishes a millisecond that no record has yet.
 *	left		a dormant target whose keeper has gone and has said so in
 *			the same word: unlike other dormant ones it looks for a
 *			new keeper.
 *	sampled		only one allocation in so many bytes is logged, each byte
 *			being equally likely to be met, and the frees of those.
 *	gone		a keeper whose state says so, or whose heartbeat has not
 *			moved for RING_GONE_MS by the target's own clock.  Its
 *			target says hello again, and goes over to two new areas
 *			and to tickets that begin at 0.  An event in progress
 *			ends in the old areas or nowhere: it began before the new
 *			stream, which misses nothing by that.
 *	locked		a target one of whose threads has entered a seccomp(2)
 *			filter since the target said hello.  It may be killed for
 *			a system call that it did not make before, and to ask the
 *			kernel would be such a call.  So its keeper looks, at the
 *			hello unless that tells, and then about once a second;
 *			the target says hello again only when the last look found
 *			it free.
 *	unseen		a process that cannot say hello, a child of one that is
 *			watched.  It leaves a word in struct ring_unseen.
 *	cut		a border between two mappings of the target that differ
 *			in nothing but their advice on access (madvise(2)): the
 *			kernel tells mapping by mapping whether one was referenced.
 *			The keeper asks for cuts, and a thread of the target makes
 *			some at each look at its tail.
 *	in flight	a thread between its ticket and its record: its ring's
 *			inflight word is shard + 1, RING_INFLIGHT_ALL while it
 *			writes what is not of one shard, otherwise 0.
 *
 * Order of a producer's steps: inflight word, room, ticket, record, head
 * (release), inflight 0.  An allocation does all of it after the real call, a
 * free all of it before.
 *
 * Pairs: most blocks are freed soon by the thread that got them.  If the free's
 * ticket is the next one of its shard, the free may change the allocation's
 * record into a pair, by one store of its first word and then ring_head.pairs.
 * The keeper may have read the record or not: for the next RING_PAIRS records
 * it is neither overwritten nor forgotten.  The pair has both tickets, so the
 * order of each address, a fork's cut and the records of a killed thread are as
 * without pairs.  It does not tell what else was held when the free came.  So
 * large blocks make no pairs, and the peak of a target is too low by at most
 * RING_PAIRS times RING_PAIR_SIZE for each thread; keeper_area.no_pairs avoids
 * that.
 *
 * Layout of the ring area, from offset 0: struct ring_area, then the slots of
 * the common ring, then the records of ring 0, 1, 2 ... in the order of
 * ring_classes, then the sites, the frames and the modules.  Both sides compute
 * offsets from these constants; there is no offset and no pointer in the shared
 * memory.
 *
 * Sites, frames and modules are only ever added, from number 1 on (entry 0 of
 * each is not used), by the thread that meets them first: it takes numbers and
 * room by counting up, writes the content and stores the word that makes it
 * valid last, with release, before any record names it.  A number may stay
 * unused. Without room for its stack an event carries its return address alone,
 * and sites_full counts it; without room for its module a frame has number 0.
 *
 * The tickets of a REC_RANGE are in the slots right behind it,
 * RING_RANGE_TICKETS in each, in ascending order of the shards of
 * ring_range_shards(), low half of a word first.  Such a slot is no record.
 * All become visible at once, by the one store of the head; in the common ring
 * by the lap of the REC_RANGE, which is stored last, while the laps behind it
 * carry RING_LAP_MORE.
 */
#ifndef STREAM_RING_H
#define STREAM_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "record.h"

#define RING_MAGIC UINT32_C(0x506b5231) /* "PkR1" */
#define RING_VERSION 9

/* Instead of RING_MAGIC: the target has gone over to another keeper. */
#define RING_MAGIC_LEFT UINT32_C(0x506b5230) /* "PkR0" */

/* Of the ring area's memfd, as /proc/PID/maps shows it. */
#define RING_AREA_NAME "pagek-ring"

/*
 * The rings of one target, 64 MiB of records in all.  A thread begins with a
 * small one, and takes a larger one beside it when that is full; both are its
 * own until it ends.  It writes into one of them at a time, and ring_head.after
 * ties the two together: an undo needs the order of its thread, and a control
 * record has no ticket at all.
 *
 * Pages are taken only as they are used, and given back by a thread that has
 * become calm.  Small rings come first, for a keeper looks at each ring up to
 * the last that has ever been taken.  There are four times as many small ones
 * as others: a thread with two must not leave another without any.
 */
#define RING_SMALL 2048		/* records: 64 KiB */
#define RING_MIDDLE 32768	/* 1 MiB */
#define RING_LARGE 131072	/* 4 MiB */

#define RING_CLASS_LIST(X) \
	X(8, RING_SMALL) \
	X(8, RING_LARGE) \
	X(24, RING_MIDDLE) \
	X(120, RING_SMALL)

/*
 * A free may make a pair of one of the last so many records of its thread's
 * ring. They are not overwritten: that part of a ring's capacity is not used.
 */
#define RING_PAIRS 256
#define RING_PAIR_SIZE 1024	/* and is of a block with fewer bytes than this */

#define RING_COUNT 160		/* sum of the first column */
#define RING_COMMON RING_COUNT	/* index of the common ring in rings[] and tails[] */
#define RING_COMMON_SLOTS 8192

struct ring_class {
	uint32_t rings;
	uint32_t capacity;	/* records, a power of two */
};

static const struct ring_class ring_classes[] = {
#define X(rings, capacity) { rings, capacity },
	RING_CLASS_LIST(X)
#undef X
};

#define RING_STACK_MAX 64	/* frames of a site */
#define RING_SITES (1u << 17)
#define RING_FRAMES (1u << 21)	/* 16 MiB of address space; pages as they are used */
#define RING_MODULES 1024
#define RING_PATH 448

/* Why a site has no more frames. */
enum ring_end {
	RING_END_OUTERMOST = 1,	/* nobody called the last one: the stack is whole */
	RING_END_DEPTH,		/* no more were asked for */
	RING_END_NO_TABLE,	/* code without an unwind table, made at run time perhaps */
	RING_END_RULE,		/* a table with a rule that we do not follow */
	RING_END_MEMORY,	/* the stack goes on where there is no memory */
	RING_END_STUCK,		/* a frame that does not lie further out: a damaged stack */
	RING_END_ALONE,		/* a return address without a site; for a viewer, never in a site */
	RING_ENDS		/* one more than the last */
};

/* word: where its frames begin, how many, and why they end; 0: not valid. */
struct ring_site {
	_Atomic uint64_t word;
};

static inline uint64_t
ring_site_word(uint32_t at, unsigned depth, enum ring_end end)
{
	return at | (uint64_t)depth << 32 | (uint64_t)end << 40;
}

static inline uint32_t ring_site_at(uint64_t word) { return (uint32_t)word; }
static inline unsigned ring_site_depth(uint64_t word) { return (word >> 32) & 0xff; }
static inline unsigned ring_site_end(uint64_t word) { return (unsigned)(word >> 40); }

/* A frame: return address 48 bits, number of its module 16 (0 not known). */
static inline uint64_t
frame_make(uint64_t pc, unsigned module)
{
	return (pc & REC_ADDR_MASK) | (uint64_t)module << 48;
}

static inline uint64_t frame_pc(uint64_t frame) { return frame & REC_ADDR_MASK; }
static inline unsigned frame_module(uint64_t frame) { return (unsigned)(frame >> 48); }

/*
 * A module.  An address less `bias` is the address in its file's tables.  path
 * is what the loader was told: "" the program itself; cut if it has no NUL.
 */
struct ring_module {
	_Atomic uint32_t valid;		/* 1, stored last */
	uint32_t build_id_len;		/* 0: has none */
	uint8_t build_id[32];
	uint64_t start, end;		/* what it has mapped */
	uint64_t bias;
	char path[RING_PATH];
};

#define RING_INFLIGHT_ALL (REC_SHARDS + 1)

/* ring_head.after: a ring of the same thread, first up to a count. */
#define RING_AFTER_SHIFT 48

static inline uint64_t
ring_after(unsigned ring, uint64_t end)
{
	return (uint64_t)(ring + 1) << RING_AFTER_SHIFT |
	    (end & ((UINT64_C(1) << RING_AFTER_SHIFT) - 1));
}

static inline unsigned
ring_after_ring(uint64_t after)
{
	return (unsigned)(after >> RING_AFTER_SHIFT) - 1;
}

static inline uint64_t
ring_after_end(uint64_t after)
{
	return after & ((UINT64_C(1) << RING_AFTER_SHIFT) - 1);
}

/*
 * Written by the producer of one ring.  A cache line of its own.
 *
 * `from` and then `after` are written before the first record that they concern
 * is published, and only when all records that their old values concern have
 * been delivered.
 */
struct ring_head {
	_Alignas(64) _Atomic uint64_t head;	/* records published; common ring: slots claimed */
	_Atomic uint32_t inflight;		/* shard + 1, RING_INFLIGHT_ALL, or 0 */
	_Atomic uint32_t owner;			/* tid of the owner; 0: free */
	_Atomic uint64_t dropped;		/* records this ring had no room for, ever */
	_Atomic uint32_t waiting;		/* producers that sleep on ring_tail.space */
	_Atomic uint32_t thread;		/* thread index of the owner */
	_Atomic uint64_t after;			/* ring_after(), or 0: no other ring's */
	_Atomic uint64_t from;			/* the first count that comes after those */
	_Atomic uint32_t pairs;			/* allocations made pairs, ever; stored after the record */
};

/* Written by the target. */
struct ring_area {
	_Atomic uint32_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t bell;		/* futex; counted up when a ring is a quarter full */
	_Atomic uint32_t threads;	/* thread indices given out; index 0 is never given */
	_Atomic uint64_t far_addresses;	/* events whose address has more than 48 bits */
	_Atomic uint32_t next_ring;	/* rings from here on have never been taken */
	_Atomic uint32_t sites;		/* numbers taken, 0 included; may pass RING_SITES */
	_Atomic uint32_t frames;	/* words taken, word 0 included; likewise */
	_Atomic uint32_t modules;	/* numbers taken, 0 included; likewise */
	_Atomic uint64_t sites_full;	/* events whose stack found no room */
	_Atomic uint64_t walks;		/* stacks that were walked, not recognised */
	_Atomic uint64_t sample_full;	/* sampled blocks that could not be remembered, and are not logged */
	_Atomic uint64_t marks_untold;	/* calls of alloclog_mark() while dormant */
	_Atomic uint32_t exited;	/* 1: it has called exit(3) or _exit(2) */
	_Atomic uint32_t unsure;	/* calls of the allocator whose end is not known */
	_Atomic uint32_t passed;	/* threads at the gate that stopped waiting for a fork */
	_Atomic uint32_t past;		/* enum ring_past, a bit each */
	_Atomic uint32_t cuts;		/* of ring_cuts.number: carried out */
	struct ring_head rings[RING_COUNT + 1];
};

/* How calls of the target go past the library. */
enum ring_past {
	RING_PAST_NAMESPACE = 1,	/* objects with a C library of their own: dlmopen(3) */
};

/*
 * A slot of the common ring: valid by itself.  `lap` is the count (from 1) of
 * the slot's claim, stored last with release: slot index i holds claim n when
 * lap == n + 1 and n % RING_COMMON_SLOTS == i.
 */
struct ring_slot {
	_Alignas(64) struct rec rec;
	_Atomic uint64_t lap;
};

#define RING_LAP_MORE (UINT64_C(1) << 63) /* the slot holds tickets of a range */

/* Written by the keeper, one line for each ring. */
struct ring_tail {
	_Alignas(64) _Atomic uint64_t tail;	/* records delivered */
	_Atomic uint32_t space;			/* futex; counted up when a waiting producer has room */
	_Atomic uint32_t pairs;			/* of ring_head.pairs: delivered */
};

enum ring_keeper_state {
	RING_KEEPER_READY = 1,		/* drains; a full ring may wait for it */
	RING_KEEPER_NO_WAIT = 2,	/* drains; a full ring drops at once */
	RING_KEEPER_GONE = 3,		/* will not drain again: drop and count */
};

enum ring_sandbox {
	RING_SANDBOX_UNKNOWN = 0,	/* no look yet, or it failed */
	RING_SANDBOX_FREE = 1,		/* as it was when it said hello */
	RING_SANDBOX_LOCKED = 2,
};

/*
 * While the target is dormant the word is a robust futex of a process that
 * outlives its keeper: it holds that one's thread id, or 0.  If that process
 * dies, the kernel itself stores RING_LEFT.
 */
#define RING_AWAKE UINT32_C(0x40000000)	/* FUTEX_OWNER_DIED; clear: dormant */

enum ring_arming {
	RING_LEFT = RING_AWAKE,		/* log nothing, and look for another keeper */
	RING_ARMED = 0x60000000,	/* no thread's id, or the kernel would change it */
};

/* The advice for a part of a mapping, other than that of the parts beside it. */
enum ring_advice {
	RING_NORMAL,
	RING_RANDOM,
	RING_SEQUENTIAL,
};

#define RING_ADVICE_BITS 2
#define RING_ADVICES 4		/* of even parts, of odd ones, of the last but one, of the last */
#define RING_CUTS 112		/* of one request: they fit in the area's last page */
#define RING_CUT_RANGES 128	/* with cuts, that a target remembers */
#define RING_CUTS_MS 2000	/* a request that nobody has asked for since then only undoes cuts */
#define RING_PAGE 4096

/*
 * Cuts a range into parts of `stripe` pages, the last one with the rest.  stripe 0:
 * undoes the cuts in the range.  pages 0: undoes all cuts of the process; with
 * RING_CUT_FLUSH instead: no processor holds an address of it in its TLB; with
 * RING_CUT_WRITES or RING_CUT_GUARD: the process sends a struct ring_writes.
 */
#define RING_CUT_FLUSH 1	/* stripe */
#define RING_CUT_WRITES 2
#define RING_CUT_GUARD 3

struct ring_cut {
	uint64_t at;	/* address of a page; in its low bits RING_ADVICES of enum ring_advice */
	uint32_t pages;
	uint32_t stripe;
};

static inline uint64_t
ring_cut_address(const struct ring_cut *c)
{
	return c->at & ~(uint64_t)(RING_PAGE - 1);
}

/* The advice for part i of n. */
static inline enum ring_advice
ring_cut_advice(const struct ring_cut *c, uint32_t i, uint32_t n)
{
	unsigned which = i + 1 == n ? 3 : i + 2 == n ? 2 : i & 1;

	return (enum ring_advice)(c->at >> which * RING_ADVICE_BITS & 3);
}

static inline uint32_t
ring_cut_parts(const struct ring_cut *c)
{
	return c->stripe == 0 ? 0 : c->pages / c->stripe +
	    (c->pages % c->stripe != 0);
}

/* The keeper writes it only while the target has carried out the number before. */
struct ring_cuts {
	_Atomic uint32_t number;	/* of the request, stored last */
	uint32_t n;
	_Atomic uint64_t ms;		/* when it was made, or asked for again */
	struct ring_cut cut[RING_CUTS];
};

struct keeper_area {
	_Atomic uint32_t magic;
	_Atomic uint32_t state;		/* enum ring_keeper_state */
	_Atomic uint64_t ms;		/* monotonic milliseconds; also the heartbeat */
	_Atomic uint32_t armed;		/* enum ring_arming, or dormant */
	_Atomic uint32_t stack;		/* frames wanted, 0: return addresses alone; RING_STACK_FREES */
	_Atomic uint64_t sample;	/* mean bytes between samples, 0: every event; set once, at first */
	_Atomic uint64_t armings;	/* changes of `armed`, counted before each; for the next keeper */
	_Atomic uint32_t sandbox;	/* enum ring_sandbox: of the target, when last looked at */
	_Atomic uint64_t looks;		/* at all of its threads since the hello; stored after `sandbox` */
	_Atomic uint32_t no_pairs;	/* make no pairs: heeded from a thread's next look at its tail on */
	_Atomic uint32_t armed_ms;	/* records from before it are void; stored before `armed`; 0: never was dormant */
	struct ring_tail tails[RING_COUNT + 1];
	struct ring_cuts cuts;
};

#define RING_STACK_FREES 0x100	/* in keeper_area.stack: those of frees too */

/* The futex call for our struct timespec. */
#ifdef SYS_futex_time64
#define RING_SYS_FUTEX SYS_futex_time64
#else
#define RING_SYS_FUTEX SYS_futex
#endif

/* How long a producer waits for room after the heartbeat last moved. */
#define RING_STALL_MS 100

/* A keeper without a heartbeat for so long is gone. */
#define RING_GONE_MS 2000

/* The same for targets and keepers of all compilers and pointer sizes. */
_Static_assert(sizeof(struct ring_head) == 64 &&
    sizeof(struct ring_tail) == 64 && sizeof(struct ring_slot) == 64 &&
    sizeof(struct ring_module) == 64 + RING_PATH &&
    offsetof(struct ring_area, far_addresses) == 16 &&
    offsetof(struct ring_area, sites_full) == 40 &&
    offsetof(struct ring_area, unsure) == 76 &&
    offsetof(struct ring_area, cuts) == 88 &&
    offsetof(struct ring_area, rings) == 128 &&
    offsetof(struct keeper_area, ms) == 8 &&
    offsetof(struct keeper_area, sample) == 24 &&
    offsetof(struct keeper_area, armings) == 32 &&
    offsetof(struct keeper_area, sandbox) == 40 &&
    offsetof(struct keeper_area, looks) == 48 &&
    offsetof(struct keeper_area, no_pairs) == 56 &&
    offsetof(struct keeper_area, armed_ms) == 60 &&
    offsetof(struct keeper_area, tails) == 64 &&
    offsetof(struct ring_cuts, cut) == 16 && sizeof(struct ring_cut) == 16,
    "layout of shared memory");

#define RING_ALIGN(n) (((n) + 4095) & ~(size_t)4095)
#define RING_SLOTS_OFFSET RING_ALIGN(sizeof(struct ring_area))
#define RING_RECS_OFFSET \
	RING_ALIGN(RING_SLOTS_OFFSET + RING_COMMON_SLOTS * sizeof(struct ring_slot))

/* Capacity in records of ring i, and the offset of its first record. */
static inline uint32_t
ring_place(unsigned i, size_t *offset)
{
	size_t off = RING_RECS_OFFSET;
	uint32_t capacity = 0;

	for (size_t c = 0; c < sizeof(ring_classes) / sizeof(ring_classes[0]); c++) {
		capacity = ring_classes[c].capacity;
		if (i < ring_classes[c].rings)
			break;
		i -= ring_classes[c].rings;
		off += (size_t)ring_classes[c].rings * capacity *
		    sizeof(struct rec);
	}
	*offset = off + (size_t)i * capacity * sizeof(struct rec);
	return capacity;
}

/* Bytes of the rings larger than RING_SMALL, which lie together. */
static inline size_t
ring_larger(size_t *offset)
{
	size_t bytes = 0, none;

	*offset = 0;
	for (unsigned i = 0; i < RING_COUNT; i++) {
		size_t records = ring_place(i, bytes == 0 ? offset : &none);

		if (records > RING_SMALL)
			bytes += records * sizeof(struct rec);
	}
	return bytes;
}

/* Records of all rings but the common one. */
enum {
#define X(rings, capacity) + (rings) * (capacity)
	RING_RECS = 0 RING_CLASS_LIST(X)
#undef X
};

/* The sites begin behind the records of the last ring. */
static inline size_t
ring_sites_offset(void)
{
	return RING_ALIGN(RING_RECS_OFFSET + RING_RECS * sizeof(struct rec));
}

static inline size_t
ring_frames_offset(void)
{
	return ring_sites_offset() + RING_SITES * sizeof(struct ring_site);
}

static inline size_t
ring_modules_offset(void)
{
	return ring_frames_offset() + RING_FRAMES * sizeof(uint64_t);
}

static inline size_t
ring_area_size(void)
{
	return ring_modules_offset() +
	    RING_MODULES * sizeof(struct ring_module);
}

#define RING_RANGE_TICKETS 8
#define RING_RANGE_SLOTS (REC_SHARDS / RING_RANGE_TICKETS) /* at most, behind the record */
#define RING_RANGE_WORDS (REC_SHARDS / 64)

/*
 * Marks in `set` the shards that an address in [addr, addr + len) can fall
 * into and returns their number.  A long range marks all of them: a superset
 * costs only tickets.  len is not 0.
 */
static inline unsigned
ring_range_shards(uint64_t addr, uint64_t len, uint64_t set[RING_RANGE_WORDS])
{
	uint64_t granule = addr >> 4, last = (addr + len - 1) >> 4;
	unsigned n = 0;

	if (last - granule >= 8 * REC_SHARDS) {
		for (unsigned i = 0; i < RING_RANGE_WORDS; i++)
			set[i] = UINT64_MAX;
		return REC_SHARDS;
	}
	for (unsigned i = 0; i < RING_RANGE_WORDS; i++)
		set[i] = 0;
	for (; granule <= last; granule++) {
		unsigned s = rec_shard(granule << 4);

		n += !(set[s / 64] >> s % 64 & 1);
		set[s / 64] |= UINT64_C(1) << s % 64;
	}
	return n;
}

/*
 * Greeting of a target, one SOCK_SEQPACKET message, answered by one struct
 * ring_welcome with the two descriptors (ring area, keeper area) beside it, and
 * a third one (struct ring_unseen) if the target takes it and the node has it.
 * The keeper takes pid and uid from the socket, not from here.
 */
#define RING_HELLO_MAGIC UINT32_C(0x506b4831) /* "PkH1" */

enum ring_hello_flags {
	RING_HELLO_FORKED = 1,	/* tickets[] and parent are set */
	RING_HELLO_AGAIN = 2,	/* its keeper is gone; parent is the stream that it had */
	RING_HELLO_ARMED = 4,	/* with AGAIN: it was armed */
	RING_HELLO_FREE = 8,	/* without AGAIN: it is in no sandbox (seccomp) */
	RING_HELLO_CRAMPED = 16,	/* its address space is limited: it wants no rings */
	RING_HELLO_UNSEEN = 32,	/* it takes the page of struct ring_unseen too */
	RING_HELLO_UNMAPPED = 64,	/* it has not mapped the areas of stream `parent`, 0 if it asked
					   for none: `unsure` is why, an enum ring_unseen_why; any
					   answer will do */
};

struct ring_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t unsure;	/* FORKED: threads that may have been in the allocator */
	uint64_t parent;		/* stream id that the parent, or this image before, was given */
	char allocator[32];		/* soname of the object that the real malloc is in */
	uint32_t tickets[REC_SHARDS];	/* next ticket of each shard at the fork */
};

struct ring_welcome {
	uint32_t magic;		/* RING_HELLO_MAGIC */
	uint32_t version;	/* RING_VERSION, or the keeper's own: then no descriptors come */
	uint64_t stream;	/* id of this image's stream */
};

/*
 * A userfaultfd(2) of a target, with which its keeper counts writes, or the memfd of
 * a struct guard_area comes beside this message to the socket for hellos; nothing
 * answers it.
 */
#define RING_WRITES_MAGIC UINT32_C(0x506b5731) /* "PkW1" */

struct ring_writes {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;		/* 1: of a struct guard_area; where a hello has its flags */
	uint32_t error;		/* errno, if it got no descriptor */
	uint64_t stream;	/* of the target */
};

/*
 * For children that cannot say hello: a page in a memfd of the node that all
 * its targets map.  Forks inherit it, so a child has it even if its parent is
 * not watched or has ended.  The node takes a word by storing 0.
 */
#define RING_UNSEEN_NAME "pagek-unseen"	/* as /proc/PID/maps shows it */
#define RING_UNSEEN_WORDS 384

enum ring_unseen_why {
	RING_UNSEEN_NOT = 0,
	RING_UNSEEN_DESCRIPTORS,	/* no descriptor was left for a socket */
	RING_UNSEEN_SOCKET,		/* it got no socket for another reason */
	RING_UNSEEN_CONNECT,		/* nobody listens where its parent found the node */
	RING_UNSEEN_BUSY,		/* the node took no connection in time */
	RING_UNSEEN_PEER,		/* the socket is another user's */
	RING_UNSEEN_MEMORY,
	RING_UNSEEN_SANDBOX,		/* a hello might have it killed */
	RING_UNSEEN_PARENT,		/* its parent was unseen, too */
	RING_UNSEEN_USER,	/* the node's socket is not open to its user */
	RING_UNSEEN_SPACE,	/* RLIMIT_AS */
	RING_UNSEEN_FOREIGN,	/* its malloc is not the library's */
	RING_UNSEEN_WHYS
};

struct ring_unseen {
	_Atomic uint32_t changes;	/* counted up after each change of the others */
	uint32_t pad;
	_Atomic uint64_t word[RING_UNSEEN_WORDS];	/* ring_unseen_word(), 0: free */
	_Atomic uint64_t counted[RING_UNSEEN_WHYS];	/* that left no word, since the start */
};

/* Process ids have 22 bits at most. */
static inline uint64_t
ring_unseen_word(enum ring_unseen_why why, uint32_t pid, uint32_t parent)
{
	return (uint64_t)why << 44 | (uint64_t)(parent & 0x3fffff) << 22 |
	    (pid & 0x3fffff);
}

static inline unsigned ring_unseen_why(uint64_t word) { return (unsigned)(word >> 44); }
static inline uint32_t ring_unseen_parent(uint64_t word) { return word >> 22 & 0x3fffff; }
static inline uint32_t ring_unseen_pid(uint64_t word) { return word & 0x3fffff; }

_Static_assert(sizeof(struct ring_unseen) <= 4096, "one page");
_Static_assert(sizeof(struct ring_hello) == 56 + 4 * REC_SHARDS &&
    sizeof(struct ring_welcome) == 16, "layout of the greeting");

#endif
